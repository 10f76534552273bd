"""Claims of the notebooks about devices, and their committed form. `scripts/run-notebooks.py` executes them."""

import base64
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
import pytest

import nandscope

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))
FILL = nandscope.Job(rw="write", bs="1m", size="12g", iodepth=8)


@pytest.fixture(scope="module")
def script(repository: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_notebooks", repository / "scripts" / "run-notebooks.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_have_outputs_and_pictures(path: Path, script: ModuleType) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert script.faults(notebook) == []
    pictures = [output["data"]["image/png"] for cell in script.code_cells(notebook) for output in cell.outputs
                if "image/png" in output.get("data", {})]
    assert pictures and all(base64.b64decode(png).startswith(b"\x89PNG") for png in pictures)
    assert [cell.id for cell in notebook.cells] == [f"cell-{number}" for number in range(len(notebook.cells))]
    assert notebook.metadata == script.METADATA and not any(cell.metadata for cell in notebook.cells)


def notebook_of(source: str, *outputs: dict[str, Any]) -> Any:
    cell = nbformat.v4.new_code_cell(source, outputs=[nbformat.v4.new_output(**output) for output in outputs])
    return nbformat.v4.new_notebook(cells=[cell])


def test_text_outputs_are_compared_and_pictures_are_not(script: ModuleType) -> None:
    def shown(text: str, png: str) -> Any:
        return notebook_of("plot()", {"output_type": "stream", "name": "stdout", "text": text},
                           {"output_type": "display_data", "data": {"image/png": png, "text/plain": "<Figure>"}})

    assert script.differences(shown("a\n", "one"), shown("a\n", "two")) == []
    assert "+stdout: b" in script.differences(shown("a\n", "one"), shown("b\n", "one"))
    assert "-(image/png)" in script.differences(shown("a\n", "one"), notebook_of("plot()"))
    assert script.faults(shown("a\n", "one")) == []
    assert script.faults(shown("in /home/someone/x\n", "one")) == ["text of this machine: stdout: in /home/someone/x"]
    assert script.faults(notebook_of("assert 1")) == ["code cell 1 has an assert; move it to python/tests", "no picture"]
    warned = notebook_of("x", {"output_type": "stream", "name": "stderr", "text": "no font\n"})
    assert script.faults(warned)[0] == "standard error: stderr: no font"


def test_more_places_than_open_aus_are_slow() -> None:
    cards = {"kingston-class10-32gb": 1, "toshiba-class10-16gb": 2, "samsung-evo-16gb": 7, "toshiba-exceria-32gb": 8}
    job = nandscope.Job(rw="write", bs="64k", io_size="4m", size="256m", offset_increment="256m", group_reporting=1)
    sweep = nandscope.sweep({"profile": list(cards), "job.numjobs": [1, 2, 3, 6, 7, 8, 10]}, job,
                            precondition="sequential", metrics=("bw",))
    for card, places in cards.items():
        speeds = {row["job.numjobs"]: row["bw"] for row in sweep.rows if row["profile"] == card}
        for count, speed in speeds.items():
            assert (speed < speeds[1] / 10) == (count > places), (card, count)


def test_over_provisioning_lowers_write_amplification() -> None:
    space = {"ftl.over_provisioning": [0.07, 0.12, 0.28], "nand.word_lines": [8]}
    job = nandscope.Job(rw="randwrite", bs="4k", iodepth=32, number_ios=100_000)
    sweep = nandscope.sweep(space, job, profile="reference-nvme-64gb", precondition="steady", metrics=("waf", "iops"))
    wafs = [row["waf"] for row in sweep.rows]
    assert wafs == sorted(wafs, reverse=True) and wafs[0] > 2 * wafs[1]
    assert [row["iops"] for row in sweep.rows] == sorted(row["iops"] for row in sweep.rows)
    assert len(sweep.pareto(minimize=["waf", "over_provisioning"])) == len(sweep)
    drive = nandscope.Device("reference-nvme-64gb", overrides={"nand.word_lines": 8, "ftl.over_provisioning": 0.07})
    drive.precondition("sequential:80")
    part = nandscope.Job(rw="randwrite", bs="4k", iodepth=32, size="80%", norandommap=1, number_ios=2_000_000)

    def waf() -> float:
        counters = drive.run(part).counters
        return dict(zip(counters["name"], counters["value"], strict=True))["write_amplification"]

    first, second = waf(), waf()
    assert abs(second - first) < 0.1 * second < 0.1 * wafs[0] / 5


def test_the_slc_cache_makes_a_cliff_and_is_folded_when_idle() -> None:
    card = nandscope.Device("sm2708-250gb")
    result = card.run(FILL)
    series = result.series
    speeds = [value for name, value in zip(series["name"], series["value"], strict=True) if name == "write bandwidth"]
    assert max(speeds) > 3 * speeds[-1]
    counters = dict(zip(result.counters["name"], result.counters["value"], strict=True))
    assert counters["folded_bytes"] == 0 and result.events["kind"][0] == "cache exhausted"
    rested = card.fork()
    rested.advance(until=rested.now_ns + 120 * 10**9)
    assert rested.counters["folded"] > card.counters["folded"]
    again = nandscope.Job(rw="write", bs="1m", size="2g", iodepth=8)
    at_once, after_pause = (device.run(again).figure("group-1.job.write.bandwidth") for device in (card, rested))
    assert after_pause > at_once
    sweep = nandscope.sweep({"ftl.slc_cache.dynamic_gb": [2.0, 5.5, 9.0]}, FILL, profile="sm2708-250gb", metrics=("bw",))
    assert [row["bw"] for row in sweep.rows] == sorted(row["bw"] for row in sweep.rows)
