"""Sweeps: the same outcomes on every executor, each point once, interrupted sweeps that go on."""

import concurrent.futures
import io
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import duckdb
import joblib
import polars as pl
import pyarrow.parquet as pq
import pytest
from conftest import command, writes

import nandscope
from nandscope.sweeping import Outcome, run_point, space

SPACE: dict[str, list[int]] = {"controller.cores": [1, 2, 4], "job.iodepth": [1, 8]}


def run(profile: str, executor: object = None, **options: object) -> nandscope.Sweep:
    return nandscope.sweep(
        SPACE, writes(), executor, profile=profile, seeds=2, precondition="random:80", **options
    )


@pytest.fixture(scope="module")
def expected(tiny: str) -> list[Outcome]:
    """In a single thread."""
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        return run(tiny, executor).outcomes


def test_points_are_run_as_they_would_be_by_hand(tiny: str, expected: list[Outcome]) -> None:
    sweep = run(tiny)
    assert sweep.outcomes == expected and len(sweep) == 12
    assert len({point.key for point in sweep.points}) == 12
    point = sweep.points[5]
    assert dict(point.parameters) == {"controller.cores": 2, "job.iodepth": 1} and point.seed == 2
    drive = nandscope.Device(tiny, seed=2, overrides={"controller.cores": 2})
    drive.precondition("random:80")
    result = drive.run(writes(iodepth=1))
    row = sweep.rows[5]
    assert row["p99"] == result.percentile(99) and row["iops"] == sum(result.jobs["iops"])
    assert row["waf"] > 0 and row["complete"] is True
    assert sweep.results[5].jobs.to_dict() == result.jobs.to_dict()
    # To the byte, but for the words about the precondition, which the sweep has as an option of the run.
    whole = nandscope.Device(tiny, seed=2, overrides={"controller.cores": 2}).run(
        writes().set(iodepth=1), precondition="random:80"
    )
    assert sweep.outcomes[5].document == whole.json(wall=False)


def test_process_pools_and_joblib_give_the_same(tiny: str, expected: list[Outcome]) -> None:
    with concurrent.futures.ProcessPoolExecutor(2) as executor:
        assert run(tiny, executor).outcomes == expected
    assert run(tiny, joblib.Parallel(n_jobs=2, return_as="generator_unordered")).outcomes == expected
    with pytest.raises(nandscope.Error, match="int is no executor"):
        run(tiny, 3)


class Polled:
    """As submitit's executors: `submit` gives jobs that can only be asked."""

    class Job:
        def __init__(self, outcome: Outcome) -> None:
            self.outcome = outcome
            self.left = 2

        def done(self) -> bool:
            self.left -= 1
            return self.left <= 0

        def result(self) -> Outcome:
            return self.outcome

    def submit(self, function: object, point: nandscope.Point) -> "Polled.Job":
        assert function is run_point
        return Polled.Job(run_point(point))


def test_executors_without_futures_are_polled(tiny: str, expected: list[Outcome]) -> None:
    assert run(tiny, Polled()).outcomes == expected


def test_a_sweep_is_kept_and_goes_on(tiny: str, expected: list[Outcome], tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    first = run(tiny, out=tmp_path, progress=lambda *t: told.append(t))
    assert told[0] == (0, 12) and told[-1] == (12, 12)
    points = sorted((tmp_path / "points").glob("*.json"))
    rows = sorted(tmp_path.glob("version=*/device=*/seed=*/*.parquet"))
    assert len(points) == 12 and {f.stem for f in rows} == {f.stem for f in points}
    before = {f: (f.stat().st_mtime_ns, f.read_bytes()) for f in points + rows}
    for lost in points[:3] + rows[5:7]:
        lost.unlink()
    told.clear()
    again = run(tiny, out=tmp_path, progress=lambda *t: told.append(t))
    assert told[0] == (9, 12) and told[-1] == (12, 12)
    assert again.outcomes == first.outcomes == expected
    for file, (changed, content) in before.items():
        assert file.read_bytes() == content
        assert (file in points[:3] + rows[5:7]) == (file.stat().st_mtime_ns != changed)
    metadata = pl.read_parquet_metadata(rows[0])
    assert metadata["nandscope.version"] == nandscope.__version__ and metadata["nandscope.key"] == rows[0].stem
    assert metadata["nandscope.seed"] in ("1", "2")
    table = nandscope.load(tmp_path)
    assert isinstance(table, pl.LazyFrame)
    frame = table.sort("controller.cores", "job.iodepth", "seed").collect()
    assert frame["key"].to_list() == [point.key for point in first.points]
    assert frame["p99_us"].to_list() == [row["p99"] for row in first.rows]
    # The table was removed; the results are there.
    bare = tmp_path / "bare"
    shutil.copytree(tmp_path / "points", bare / "points")
    with pytest.raises(nandscope.Error, match="has results but no table"):
        nandscope.load(bare)
    # A damaged file is no result: its point is run again.
    points[0].write_bytes(b"{")
    assert run(tiny, out=tmp_path).outcomes == expected
    with pytest.raises(nandscope.Error, match="no points of a sweep"):
        nandscope.load(rows[0].parent)
    with pytest.raises(nandscope.FileError, match="not a folder"):
        nandscope.load(tmp_path / "nothing")


def test_the_command_line_and_python_continue_each_other(
    repository: Path, tiny: str, expected: list[Outcome], tmp_path: Path
) -> None:
    (tmp_path / "job.fio").write_text(writes().text)
    job = nandscope.Job.from_file(tmp_path / "job.fio")
    options = {"profile": tiny, "seeds": 2, "precondition": "random:80", "metrics": ("waf", "p99", "iops")}
    arguments = ["sweep", "job.fio", f"sim:{tiny}", "--seeds", "2", "--precondition", "random:80"]
    arguments += ["--metric", "waf,p99,iops", "--param", "controller.cores=1,2,4", "--job"]

    def command_line(out: str, depths: str) -> str:
        ran = subprocess.run(
            [command(repository), *arguments, f"iodepth={depths}", "-o", out], cwd=tmp_path, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stderr

    def files(out: str) -> dict[str, bytes]:
        return {f.name: f.read_bytes() for f in (tmp_path / out / "points").iterdir()}

    # The command line first, Python goes on.
    command_line("one", "1")
    assert len(files("one")) == 6
    told: list[tuple[int, int]] = []
    ours = nandscope.sweep(SPACE, job, out=tmp_path / "one", progress=lambda *t: told.append(t), **options)
    assert told[0] == (6, 12)
    # Python first, the command line goes on.
    nandscope.sweep({**SPACE, "job.iodepth": [8]}, job, out=tmp_path / "two", **options)
    assert "12 of 12 points are done, 6 of them by earlier runs" in command_line("two", "1,8")
    assert files("one") == files("two") and len(files("one")) == 12
    # Its table has the metrics of Python.
    theirs = pl.read_csv(tmp_path / "two" / "points.csv").sort("key")
    rows = ours.to_polars().sort("key")
    assert theirs["key"].to_list() == rows["key"].to_list()
    for name, column in (("waf", "waf"), ("p99_us", "p99 (µs)"), ("iops", "iops (IOPS)")):
        assert theirs[column].to_list() == rows[name].to_list()
    # The same documents as everywhere else, but for the name of the job.
    assert [o.metrics["p99"] for o in ours.outcomes] == [o.metrics["p99"] for o in expected]
    # Either writes the same table.
    names = ["controller.cores", "job.iodepth", "seed", "waf", "p99_us", "iops", "key"]
    rows = rows.rename({short: full for full, short in ours.axes.items()})
    one, two = (nandscope.load(tmp_path / out).sort("key").collect() for out in ("one", "two"))
    assert one.equals(two) and one.height == 12
    assert one.select(names).equals(rows.select(pl.col(n).cast(one.schema[n]) for n in names))
    assert one.schema["controller.cores"] == pl.Int64 and one.schema["complete"] == pl.Boolean
    assert set(one["version"]) == {nandscope.__version__}
    tables = {out: {str(f.relative_to(tmp_path / out)): f.read_bytes() for f in (tmp_path / out).glob("version=*/**/*.parquet")}
             for out in ("one", "two")}
    assert tables["one"] == tables["two"] and len(tables["one"]) == 12


def test_the_command_lines_table_is_read_by_every_library(repository: Path, tiny: str, tmp_path: Path) -> None:
    (tmp_path / "job.fio").write_text(writes().text)

    def command_line(*space: str) -> None:
        arguments = ["sweep", "job.fio", f"sim:{tiny}", "--metric", "waf,p99,read.p99", "-o", "out"]
        ran = subprocess.run(
            [command(repository), *arguments, *space], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stderr

    # Two sweeps in one folder, with other parameters, and another type of one of them.
    command_line("--job", "bs=4k,8k", "--param", "controller.read_us=1,2.5", "--seeds", "2")
    command_line("--job", "bs=4096", "--job", "ioengine=psync", "--job", "iodepth=1,2")
    table = nandscope.load(tmp_path / "out")
    assert isinstance(table, pl.LazyFrame)
    frame = table.collect()
    # Nine results, one of them for two points: a synchronous engine has no queue.
    assert frame.height == 10 and frame["key"].n_unique() == 9
    assert frame["read.p99_us"].null_count() == 10 and frame["waf"].null_count() == 0
    assert frame["controller.read_us"].to_list().count(2.5) == 4 and frame["job.iodepth"].null_count() == 8
    assert sorted(set(frame["job.bs"])) == ["4096", "4k", "8k"]
    assert table.filter(pl.col("seed") == 2).select("p99_us").collect().height == 4
    pattern = str(tmp_path / "out" / "version=*" / "**" / "*.parquet")
    counted = duckdb.sql(f"select count(*), count(distinct key) from read_parquet('{pattern}', union_by_name=true)")
    assert counted.fetchall() == [(10, 9)]
    for file in (tmp_path / "out").glob("version=*/**/*.parquet"):
        whole = pq.read_table(file, partitioning=None)
        metadata = {k.decode(): v.decode() for k, v in whole.schema.metadata.items()}
        assert metadata["nandscope.key"] == file.stem == whole["key"][0].as_py()
        assert metadata["nandscope.version"] == nandscope.__version__
        assert file.parent.name == "seed=" + metadata["nandscope.seed"]
        assert metadata["nandscope.device"].startswith(file.parent.parent.name.removeprefix("device="))
        assert whole["complete"].to_pylist() == [True] * len(whole)


@pytest.mark.parametrize(("how", "method"), [("lhs", "latin"), ("random", "random")])
def test_samples_are_those_of_the_command_line(repository: Path, tiny: str, tmp_path: Path, how: str, method: str) -> None:
    (tmp_path / "job.fio").write_text(writes(number_ios=20).text)
    arguments = ["sweep", "job.fio", f"sim:{tiny}", "--sample", f"{how}:9", "--seed", "7", "--metric", "waf", "-o", "out"]
    arguments += ["--param", "controller.read_us=0.5..20", "--param", "controller.cores=1..4", "--job", "bs=4k,8k,16k"]
    arguments += ["--param", "nand.reliability.rber_fresh=1e-8..1e-5:log"]
    ran = subprocess.run([command(repository), *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    space = {
        "controller.read_us": nandscope.uniform(0.5, 20),
        "controller.cores": [1, 2, 3, 4],
        "job.bs": ["4k", "8k", "16k"],
        "nand.reliability.rber_fresh": nandscope.uniform(1e-8, 1e-5, log=True),
    }
    told: list[tuple[int, int]] = []
    ours = nandscope.sweep(space, tmp_path / "job.fio", profile=tiny, seeds=[7], metrics=("waf",), method=method, samples=9,
                           sample_seed=7, out=tmp_path / "out", progress=lambda *t: told.append(t))
    # Every point is there.
    assert told == [(9, 9)]
    theirs = nandscope.load(tmp_path / "out").sort("key").collect()
    mine = ours.to_polars().sort("key")
    for name in space:
        assert theirs[name].to_list() == mine[ours.axes[name]].to_list(), name


def test_keys_follow_the_command_line_for_texts_and_shares(repository: Path, tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text("[a]\nrw=randwrite\nbs=4k\nioengine=libaio\niodepth=4\nnumber_ios=200\n")
    arguments = ["sweep", "job.fio", "sim:reference-nvme-64gb", "--param", "ftl.over_provisioning=0.07,0.28"]
    arguments += ["--param", "ftl.collection=greedy,fifo", "--metric", "waf", "-o", "out"]
    subprocess.run([command(repository), *arguments], cwd=tmp_path, check=True, capture_output=True)
    told: list[tuple[int, int]] = []
    space = {"ftl.collection": ["greedy", "fifo"], "ftl.over_provisioning": [0.07, 0.28]}
    nandscope.sweep(space, job, profile="reference-nvme-64gb", metrics=("waf",), out=tmp_path / "out",
                    progress=lambda *t: told.append(t))
    assert told == [(4, 4)]


def test_a_killed_sweep_goes_on(tiny: str, expected: list[Outcome], tmp_path: Path) -> None:
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_sweep import run
run({tiny!r}, out={str(tmp_path)!r})
"""
    for delay in (0.3, 0.6, 0.8, 1.0, 1.2, 1.5):
        child = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
        time.sleep(delay)
        child.kill()
        child.wait()
        # Every file under its final name is complete.
        for file in (tmp_path / "points").glob("[!.]*.json"):
            nandscope.Result.load(file)
        for file in tmp_path.glob("version=*/**/[!.]*.parquet"):
            assert len(pl.read_parquet(file)) == 1
    assert run(tiny, out=tmp_path).outcomes == expected
    assert len(list(tmp_path.glob("version=*/device=*/seed=*/[!.]*.parquet"))) == 12
    assert len(list((tmp_path / "points").glob("[!.]*.json"))) == 12


def test_a_bar_shows_how_far_a_sweep_has_come(tiny: str) -> None:
    shown = io.StringIO()
    run(tiny, progress=nandscope.ProgressBar("sweep", shown, width=12))
    lines = shown.getvalue().split("\r")
    assert lines[1] == "sweep: ············   0% 0 of 12 points"
    assert lines[-1] == "sweep: ████████████ 100% 12 of 12 points\n"


def test_threads_give_the_same(tiny: str, expected: list[Outcome]) -> None:
    for jobs in (1, 2, 5):
        assert run(tiny, jobs=jobs).outcomes == expected
    for wrong, executor in ((0, None), (2, concurrent.futures.ThreadPoolExecutor(1))):
        with pytest.raises(nandscope.Error, match="give a number of threads"):
            run(tiny, executor, jobs=wrong)


def test_ctrl_c_ends_a_sweep_and_keeps_what_is_done(tiny: str, tmp_path: Path) -> None:
    endless = nandscope.Job("[a]\nrw=randread\nbs=4k\ntime_based=1\nruntime=1000000\nioengine=libaio\n")
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        nandscope.sweep({"job.bs": ["4k", "8k"]}, endless, profile=tiny, out=tmp_path)
    assert time.monotonic() - begun < 60
    assert list((tmp_path / "points").glob("*.json")) == []


def test_steady_devices_are_swept(tiny: str) -> None:
    sweep = nandscope.sweep({"precondition": ["none", "overwritten:3", "steady"]}, writes(number_ios=4000),
                            profile=tiny, metrics=("waf",))
    fresh, overwritten, steady = (row["waf"] for row in sweep.rows)
    assert fresh < overwritten and steady == pytest.approx(overwritten, rel=0.1)
    assert "write amplification was level" in sweep.results[2].notices[0]


def test_spaces() -> None:
    drawn = [
        space.points({"a": nandscope.uniform(1, 100, log=True), "b": ["x", "y"]}, "latin", 20, seed)
        for seed in (1, 1, 2)
    ]
    first, same, other = (list(points) for points in drawn)
    assert first == same != other and len(first) == 20
    assert sorted(point["b"] for point in first) == ["x"] * 10 + ["y"] * 10
    # Each part of the range once.
    assert sorted(int(math.log(float(p["a"]), 100) * 20) for p in first) == list(range(20))
    assert len(list(space.points({"a": nandscope.uniform(0, 1)}, "random", 7, 1))) == 7


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"space": {"controller.core": [1]}}, "did you mean `controller.cores`"),
        ({"space": {"controller.cores": [1, -1]}}, "controller.cores=-1"),
        ({"space": {"controller.cores": [float("nan")]}}, "controller.cores"),
        ({"space": {"controller.cores": []}}, "has no values"),
        ({"space": {"controller.cores": nandscope.uniform(1, 2)}}, "is a range, and a grid needs a list"),
        ({"space": {"job.bogus": [1]}}, "bogus"),
        ({"space": {"workload": ["a"]}}, "no axis"),
        ({"profile": None}, "no device"),
        ({"profile": "nothing"}, "unknown device `nothing`"),
        ({"seeds": 0}, "seeds is 0"),
        ({"method": "bend"}, "unknown method `bend`"),
        ({"method": "random"}, "needs samples"),
        ({"samples": 3}, "a grid has all points"),
        ({"metrics": ["bogus"]}, "unknown metric `bogus`"),
        ({"precondition": "half"}, "unknown state"),
        ({"workload": {}}, "no workload"),
    ],
)
def test_a_wrong_sweep_is_refused(tiny: str, change: dict[str, object], message: str) -> None:
    options: dict[str, object] = {"space": {}, "workload": writes(), "profile": tiny, **change}
    with pytest.raises(nandscope.Error, match=message):
        nandscope.sweep(**options)  # type: ignore[arg-type]


def test_the_table_answers_questions(tiny: str) -> None:
    jobs = {"random": writes(), "in order": writes(rw="write")}
    sweep = nandscope.sweep(SPACE, jobs, profile=tiny, metrics=("iops", "write.p99", "read.p99", "page_reads"))
    assert len(sweep) == 12 and set(sweep.table["workload"]) == {"random", "in order"}
    assert set(sweep.table["read.p99_us"]) == {None} and None not in sweep.table["page_reads"]
    front = sweep.pareto(minimize=["write.p99"], maximize=["iops"])
    best = max(sweep.rows, key=lambda row: row["iops"])
    assert any(row["iops"] == best["iops"] for row in front)
    effects = sweep.effects("iops")
    assert set(effects) == {"controller.cores", "job.iodepth", "workload"} and set(effects["job.iodepth"]) == {1, 8}
    assert effects["job.iodepth"][8] > effects["job.iodepth"][1]
    assert len(sweep.to_polars()) == len(pl.DataFrame(sweep)) == len(sweep.to_pandas()) == 12
    assert "<table>" in sweep._repr_html_()
    with pytest.raises(nandscope.Error, match="needs metrics"):
        sweep.pareto()
    # Short names are as good as full ones.
    assert sweep.pareto(minimize=["write.p99_us"], maximize=["iops", "cores"]) == sweep.pareto(
        minimize=["write.p99"], maximize=["iops", "controller.cores"]
    )
    with pytest.raises(nandscope.Error, match="the sweep has no `depth`; it has the axes cores, iodepth, workload and"):
        sweep.pareto(minimize=["depth"])


@pytest.mark.cluster
def test_dask_with_a_killed_worker(tiny: str, expected: list[Outcome], tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        victims = [worker.process.pid for worker in cluster.workers.values()]
        killed: list[int] = []

        def kill(done: int, _of: int) -> None:
            if done == 4:
                killed.append(victims[0])
                os.kill(victims[0], signal.SIGKILL)

        sweep = run(tiny, client, out=tmp_path, progress=kill)
    assert killed and sweep.outcomes == expected
    assert len(list(tmp_path.glob("version=*/device=*/seed=*/*.parquet"))) == 12


@pytest.mark.cluster
def test_ray_with_a_killed_worker(tiny: str, expected: list[Outcome], tmp_path: Path) -> None:
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        worker_of = ray.remote(lambda: os.getpid())
        killed: list[int] = []

        def kill(done: int, _of: int) -> None:
            if done == 4:
                # A process that runs tasks, as the tasks themselves say.
                killed.append(ray.get(worker_of.remote()))
                os.kill(killed[0], signal.SIGKILL)

        sweep = run(tiny, ray, out=tmp_path, progress=kill)
    finally:
        ray.shutdown()
    assert killed and sweep.outcomes == expected
    assert len(list(tmp_path.glob("version=*/device=*/seed=*/*.parquet"))) == 12
