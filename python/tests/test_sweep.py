"""Sweeps: the same outcomes on every executor, each point once, interrupted sweeps that go on."""

import concurrent.futures
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import joblib
import polars
import pytest
from conftest import writes

import nandscope
from nandscope.sweeping import Outcome, run_point, space

SPACE: dict[str, list[int]] = {"controller.cores": [1, 2, 4], "job.iodepth": [1, 8]}


def run(profile: str, executor: object = None, **options: object) -> nandscope.Sweep:
    return nandscope.sweep(
        SPACE, writes(), executor, profile=profile, seeds=2, precondition="random:80", documents=True, **options
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
    files = sorted(tmp_path.glob("version=*/device=*/seed=*/*.parquet"))
    assert [f.stem for f in files] == [f.stem for f in sorted(files)] and len(files) == 12
    before = {f: (f.stat().st_mtime_ns, f.read_bytes()) for f in files}
    for lost in files[:3]:
        lost.unlink()
    told.clear()
    again = run(tiny, out=tmp_path, progress=lambda *t: told.append(t))
    assert told[0] == (9, 12)
    assert again.outcomes == first.outcomes == expected
    for file, (changed, content) in before.items():
        assert file.read_bytes() == content and (file in files[:3]) == (file.stat().st_mtime_ns != changed)
    metadata = polars.read_parquet_metadata(files[0])
    assert metadata["nandscope.version"] == nandscope.__version__ and metadata["nandscope.key"] == files[0].stem
    table = nandscope.load(tmp_path)
    assert isinstance(table, polars.LazyFrame)
    frame = table.sort("controller.cores", "job.iodepth", "seed").collect()
    assert frame["key"].to_list() == [point.key for point in first.points]
    assert frame["p99"].to_list() == [row["p99"] for row in first.rows]
    files[0].write_bytes(b"PAR1")
    with pytest.raises(nandscope.Error, match="remove it to run its point again"):
        run(tiny, out=tmp_path)
    with pytest.raises(nandscope.Error, match="no points of a sweep"):
        nandscope.load(files[0].parent)
    with pytest.raises(nandscope.FileError, match="not a folder"):
        nandscope.load(tmp_path / "nothing")


def test_a_killed_sweep_goes_on(tiny: str, expected: list[Outcome], tmp_path: Path) -> None:
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_sweep import run
run({tiny!r}, out={str(tmp_path)!r})
"""
    for delay in (0.8, 1.0, 1.2, 1.5, 2.0):
        child = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL)
        time.sleep(delay)
        child.kill()
        child.wait()
        # What is there is whole.
        for file in tmp_path.glob("version=*/**/*.parquet"):
            if not file.name.startswith("."):
                assert len(polars.read_parquet(file)) == 1
    assert run(tiny, out=tmp_path).outcomes == expected
    assert len(list(tmp_path.glob("version=*/device=*/seed=*/[!.]*.parquet"))) == 12


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
    sweep = nandscope.sweep(SPACE, jobs, profile=tiny, metrics=("iops", "write.p99", "read.p99", "erases"))
    assert len(sweep) == 12 and set(sweep.table["workload"]) == {"random", "in order"}
    assert set(sweep.table["read.p99"]) == {None} and None not in sweep.table["erases"]
    front = sweep.pareto(minimize=["write.p99"], maximize=["iops"])
    best = max(sweep.rows, key=lambda row: row["iops"])
    assert any(row["iops"] == best["iops"] for row in front)
    effects = sweep.effects("iops")
    assert set(effects) == {"controller.cores", "job.iodepth", "workload"} and set(effects["job.iodepth"]) == {1, 8}
    assert effects["job.iodepth"][8] > effects["job.iodepth"][1]
    assert len(sweep.to_polars()) == len(polars.DataFrame(sweep)) == len(sweep.to_pandas()) == 12
    assert "<table>" in sweep._repr_html_()
    with pytest.raises(nandscope.Error, match="needs metrics"):
        sweep.pareto()


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
