"""Names in tables of sweeps: short axes, units of metrics, what people are shown."""

import re
import subprocess
from pathlib import Path

import pytest
from conftest import command, writes

import nandscope
from nandscope.sweeping import display, names


def test_short_names_are_unambiguous() -> None:
    axes = ["job.iodepth", "ftl.over_provisioning", "ftl.slc_cache.dynamic_gb", "nand.native.program_us", "profile"]
    assert list(names.short_names(axes).values()) == [
        "iodepth", "over_provisioning", "slc_cache.dynamic_gb", "native.program_us", "profile",
    ]
    # Two keys with the same rest, a name that is taken, a list of tables, and what reads as a measured time.
    for kept in (["job.size", "card.size"], ["job.seed"], ["interface.0.active_dies"], ["controller.read_us"]):
        assert list(names.short_names(kept, ["seed"]).values()) == kept
    assert names.short_names(["job.profile", "profile"]) == {"job.profile": "job.profile", "profile": "profile"}


def test_units_are_those_of_the_command_line(repository: Path, tiny: str, tmp_path: Path) -> None:
    (tmp_path / "job.fio").write_text(writes(number_ios=20, rw="randrw").text)
    metrics = ["waf", "iops", "bw", "mean", "p50", "p99.9", "read.p99", "write.iops", "read.bw", "energy", "erases"]
    metrics += [f"group-1.job.write.{what}" for what in ("iops", "bandwidth", "latency.mean")] + ["group-1.energy-per-gb"]
    arguments = ["sweep", "job.fio", f"sim:{tiny}", "--job", "iodepth=1,2", "--metric", ",".join(metrics), "-o", "out"]
    subprocess.run([command(repository), *arguments], cwd=tmp_path, check=True, capture_output=True)
    headings = (tmp_path / "out" / "points.csv").read_text().splitlines()[0]
    for metric in metrics:
        assert f",{names.metric_heading(metric)}," in f"{headings},", metric


@pytest.mark.parametrize(
    ("metric", "column", "label"),
    [
        ("waf", "waf", "WAF"),
        ("iops", "iops", "IOPS"),
        ("write.iops", "write.iops", "write IOPS"),
        ("bw", "bw_mb_per_s", "bandwidth (MB/s)"),
        ("read.p99.9", "read.p99.9_us", "read p99.9 latency (µs)"),
        ("mean", "mean_us", "mean latency (µs)"),
        ("energy", "energy_j_per_gb", "energy (J/GB)"),
        ("folded_bytes", "folded_bytes", "folded (bytes)"),
        ("erases", "erases", "erases"),
        ("group-1.job.read.latency.p99", "group-1.job.read.latency.p99_us", "group-1.job.read.latency.p99 (µs)"),
        ("group-1.energy-per-gb", "group-1.energy-per-gb_j", "group-1.energy-per-gb (J/GB)"),
    ],
)
def test_metrics_have_units(metric: str, column: str, label: str) -> None:
    assert names.metric_column(metric) == column and names.metric_label(metric) == label


def test_axes_have_units_at_plots() -> None:
    assert names.axis_label("slc_cache.dynamic_gb") == "slc_cache.dynamic (GB)"
    assert names.axis_label("native.program_us") == "native.program (µs)" and names.axis_label("cores") == "cores"
    assert names.axis_label("bs") == "bs (bytes)" and names.axis_label("bs", is_number=False) == "bs"


def test_people_are_shown_short_names_and_units(tiny: str) -> None:
    space = {"controller.cores": [1, 2], "job.bs": ["4k"], "controller.read_us": [1.5]}
    sweep = nandscope.sweep(space, writes(), profile=tiny, metrics=("iops", "p99", "read.p99", "erases"))
    assert sweep.axes == {"controller.cores": "cores", "job.bs": "bs", "controller.read_us": "controller.read_us"}
    assert sweep.table.columns == [
        "cores", "bs", "controller.read_us", "seed", "iops", "p99_us", "read.p99_us", "erases", "complete", "key",
    ]
    assert sweep.table["p99_us"] == [row["p99"] for row in sweep.rows] and len(sweep.table["key"][0]) == 64
    lines = str(sweep).splitlines()
    headings = ["cores", "bs", "controller.read_us", "iops (IOPS)", "p99 (µs)", "read.p99 (µs)", "erases", "key"]
    assert re.split(r"  +", lines[0]) == headings
    assert re.fullmatch(r"1 +4k +1.5 +[\d\u202f]+ +[\d\u202f.]+ +– +\d+ +" + sweep.points[0].key[:12], lines[1])
    html = sweep._repr_html_()
    assert "<th>p99 (µs)</th>" in html and "<th>seed</th>" not in html and sweep.points[0].key not in html
    assert repr(sweep) == "<nandscope.Sweep: 2 points>"
    seeds = nandscope.sweep({}, writes(number_ios=9), profile=tiny, seeds=25, metrics=("p99",))
    assert "<th>seed</th>" in seeds._repr_html_() and str(seeds).splitlines()[11].split() == ["…", "…", "…"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.0, "0"), (1.0, "1.00"), (9.996, "10.0"), (99.96, "100"), (1234.4, "1234"), (0.01234, "0.0123"),
     (-56_789.0, "-56\u202f789"), (1.2e-5, "1.20e-05"), (float("nan"), "–")],
)
def test_numbers_have_three_digits(value: float | None, text: str) -> None:
    assert display._number(value, is_count=False) == text
