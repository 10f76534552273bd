"""What the command writes, read by programs of others."""

import csv
import gzip
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet
import pytest
from test_run import command as the_command

JOBS = """
[global]
ioengine=libaio
direct=1
rw=randread
bs=4k
size=1m
time_based
runtime=2
log_avg_msec=100
"""


@pytest.fixture(scope="module")
def command(repository: Path) -> str:
    return str(the_command(repository))


def run(command: str, folder: Path, *arguments: str) -> str:
    done = subprocess.run([command, *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_series_are_a_parquet_table(command: str, tiny: str, tmp_path: Path) -> None:
    (tmp_path / "job.fio").write_text(JOBS + "[a]\n[b]\nrw=write\nstonewall\n")
    run(command, tmp_path, "run", "job.fio", f"sim:{tiny}", "--result", "r.json")
    run(command, tmp_path, "report", "r.json", "-o", "report")
    table = pyarrow.parquet.read_table(tmp_path / "report/series.parquet").to_pylist()
    with open(tmp_path / "report/series-index.csv", newline="") as file:
        index = list(csv.DictReader(file))
    with open(tmp_path / "report/series.csv", newline="") as file:
        values = list(csv.DictReader(file))
    names = {line["series"]: (line["step"], line["name"]) for line in index}
    expected = [(*names[v["series"]], float(v["x"]), float(v["y"])) for v in values]
    assert [(row["step"], row["name"], row["x"], row["value"]) for row in table] == expected
    assert {row["mode"] for row in table} == {None}
    # Percentiles of each interval are in their order.
    at = {(row["step"], row["name"], row["x"]): row["value"] for row in table}
    places = [(step, x) for step, name, x in at if name == "read latency p50"]
    assert len(places) >= 10
    for step, x in places:
        p50, p99, p999, most = (at[step, f"read latency {q}", x] for q in ("p50", "p99", "p99.9", "max"))
        assert 0 < p50 <= p99 <= p999 <= most


def test_fio_plot_draws_results_and_logs(command: str, tiny: str, tmp_path: Path) -> None:
    fio_plot = shutil.which("fio-plot", path=Path(sys.executable).parent)
    if fio_plot is None:
        pytest.skip("fio-plot is not installed (pip install fio-plot)")
    data = tmp_path / "data"
    data.mkdir()
    for depth in (1, 4):
        # The names by which fio-plot finds files: those of its own benchmark script.
        name = f"randread-iodepth-{depth}-numjobs-1"
        logs = "".join(f"write_{kind}_log={name}\n" for kind in ("bw", "iops", "lat"))
        (tmp_path / "job.fio").write_text(f"{JOBS}[a]\niodepth={depth}\n{logs}")
        arguments = ["run", "job.fio", f"sim:{tiny}", "--output-format=json", "--log-dir", str(data)]
        (data / f"randread-{depth}-1.json").write_text(run(command, tmp_path, *arguments))
    common = ["-i", str(data), "-T", "tiny", "-r", "randread"]
    for name, kind in (
        ("bars", ["-l", "-d", "1", "4", "-n", "1"]),
        ("histogram", ["-H", "-d", "4", "-n", "1"]),
        ("log", ["-g", "-t", "iops", "-d", "1", "4", "-n", "1"]),
        ("latencies", ["-g", "-t", "lat", "-d", "4", "-n", "1"]),
    ):
        run(fio_plot, tmp_path, *common, *kind, "-o", f"{name}.png")
        picture = (tmp_path / f"{name}.png").read_bytes()
        assert picture.startswith(b"\x89PNG") and len(picture) > 10_000, name


def scripts_of_fio(name: str, folder: Path) -> Path:
    """A script that Debian's fio has among its documents."""
    packed = Path(f"/usr/share/doc/fio/{name}.gz")
    if not packed.exists():
        pytest.skip(f"{packed} is missing")
    script = folder / name
    script.write_bytes(gzip.decompress(packed.read_bytes()))
    return script


def test_fiologparser_reads_the_logs_as_it_reads_those_of_fio(command: str, tiny: str, tmp_path: Path) -> None:
    script = scripts_of_fio("fiologparser.py", tmp_path)
    (tmp_path / "job.fio").write_text(JOBS + "[ours]\nwrite_bw_log=ours\n")
    run(command, tmp_path, "run", "job.fio", f"sim:{tiny}")
    if shutil.which("fio"):
        run("fio", tmp_path, "--name=fios", "--ioengine=null", "--size=1m", "--write_bw_log=fios", "--output=out.txt")
    # It expects the four columns that logs had before fio 3: those of fio 3.33 it refuses, and so it does these.
    for log in (path.name for path in tmp_path.glob("*_bw.1.log")):
        done = subprocess.run([sys.executable, script, log], cwd=tmp_path, capture_output=True, text=True)
        assert "too many values to unpack" in done.stderr, log
    lines = (tmp_path / "ours_bw.1.log").read_text().splitlines()
    fields = [line.split(", ") for line in lines]
    (tmp_path / "four.log").write_text("".join(", ".join(line[:4]) + "\n" for line in fields))
    mean = float(run(sys.executable, tmp_path, str(script), "four.log"))
    # The last line may be of an interval that ends with the job.
    assert abs(mean / statistics.median(float(line[1]) for line in fields) - 1) < 0.02


def test_fiologparser_hist_reads_the_histograms(command: str, tiny: str, tmp_path: Path) -> None:
    script = scripts_of_fio("fiologparser_hist.py", tmp_path)
    (tmp_path / "job.fio").write_text(JOBS + "[a]\nwrite_hist_log=a\nlog_hist_msec=500\n")
    run(command, tmp_path, "run", "job.fio", f"sim:{tiny}", "--result", "r.json")
    done = subprocess.run(
        [sys.executable, script, "--job-file", "job.fio", "a_clat_hist.1.log"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    if "No module named" in done.stderr or "has no attribute" in done.stderr:
        pytest.skip("fiologparser_hist.py of fio 3.33 does not run with these libraries: " + done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 3, done.stdout
