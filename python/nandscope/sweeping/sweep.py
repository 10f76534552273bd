"""`sweep`: all points of a space, each run once, and the table of their outcomes."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from nandscope._native import Job, PointMaker, Result, SweepPoint, Table, run_points
from nandscope.errors import Error
from nandscope.sweeping.executors import run_all
from nandscope.sweeping.point import Outcome, Point, point_row
from nandscope.sweeping.space import Range, Value, points
from nandscope.sweeping.store import Store

Workload = Job | str | os.PathLike[str]
DEFAULT_METRICS = ("waf", "iops", "mean", "p99")
_OWN = ("profile", "host", "precondition", "workload")


class Sweep:
    """The points of a sweep and their outcomes, in the order of the space."""

    def __init__(self, all_points: Sequence[Point], outcomes: Sequence[Outcome]) -> None:
        self.points = list(all_points)
        self.outcomes = list(outcomes)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each point: parameters, seed, metrics, whether it is complete, key."""
        return [point_row(p, o) for p, o in zip(self.points, self.outcomes, strict=True)]

    @property
    def table(self) -> Table:
        """The rows as a table."""
        rows = self.rows
        names = list(dict.fromkeys(name for row in rows for name in row))
        return Table({name: [row.get(name) for row in rows] for name in names})

    @property
    def results(self) -> list[Result]:
        """The result of each point."""
        return [Result.from_json(outcome.document) for outcome in self.outcomes]

    def to_polars(self) -> Any:
        """The rows as a polars DataFrame."""
        return self.table.to_polars()

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame."""
        return self.table.to_pandas()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self.points)

    def pareto(self, minimize: Sequence[str] = (), maximize: Sequence[str] = ()) -> list[dict[str, Any]]:
        """The rows that no other row surpasses: as good in all of these metrics and better in one.

        Rows without one of the metrics are left out.
        """
        signs = [(name, 1.0) for name in minimize] + [(name, -1.0) for name in maximize]
        if not signs:
            raise Error("pareto needs metrics to minimize or to maximize")
        rows = [row for row in self.rows if all(row.get(name) is not None for name, _ in signs)]
        cost = [tuple(sign * row[name] for name, sign in signs) for row in rows]

        def surpassed(one: tuple[float, ...]) -> bool:
            return any(other != one and all(o <= c for o, c in zip(other, one, strict=True)) for other in cost)

        return [row for row, one in zip(rows, cost, strict=True) if not surpassed(one)]

    def effects(self, metric: str) -> dict[str, dict[Value, float]]:
        """The mean of a metric for each value of each parameter, over all other parameters and seeds."""
        sums: dict[str, dict[Value, list[float]]] = {}
        for row, point in zip(self.rows, self.points, strict=True):
            value = row.get(metric)
            if value is None:
                continue
            for name, chosen in point.parameters:
                sums.setdefault(name, {}).setdefault(chosen, []).append(value)
        return {name: {v: sum(all_of) / len(all_of) for v, all_of in of.items()} for name, of in sums.items()}

    def _repr_html_(self) -> str:
        return self.table._repr_html_()

    def __repr__(self) -> str:
        return f"<nandscope.Sweep: {len(self)} points>"


def sweep(
    space: Mapping[str, Sequence[Value] | Range | Value],
    workload: Workload | Mapping[str, Workload],
    executor: Any = None,
    *,
    profile: str | os.PathLike[str] | None = None,
    host: str | os.PathLike[str] | None = None,
    precondition: str = "none",
    seeds: int | Iterable[int] = 1,
    metrics: Sequence[str] = DEFAULT_METRICS,
    method: str = "grid",
    samples: int | None = None,
    sample_seed: int = 1,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Sweep:
    """Runs the workload at all points of a space and gives their table.

    `space` has lists of values, or ranges (`uniform`), by name: a dotted key of the profile
    (`ftl.over_provisioning`), an option of the job (`job.iodepth`), or `profile`, `host`, `precondition`. Several
    workloads are a mapping from names to jobs, and one more axis, `workload`. `seeds` is a number of seeds from 1
    on, or the seeds. Before a point runs, its device is brought into a state (`precondition`, as `Device.precondition`
    names them: `"random:80"`, `"overwritten:2"`, `"steady"`); points with the same device share that.

    `metrics` are those of `nandscope sweep --metric`.

    `method` is `"grid"` for all points, or `"random"` or `"latin"` (Latin hypercube) for as many as `samples` says, drawn with
    `sample_seed` as `nandscope sweep --sample` draws them.

    `executor` is `None` for threads (`jobs` of them, or one per processor), a `concurrent.futures.Executor`, a
    `dask.distributed.Client`, the module `ray`, a `submitit` executor or a `joblib.Parallel`. The outcomes are the same
    everywhere, to the byte.

    With `out` each point is kept in that folder as soon as it is done, and a point that is there is not run again,
    whether Python or `nandscope sweep` ran it. `progress` is called with the numbers of done and of all points;
    `nandscope.ProgressBar("sweep")` draws them.
    """
    fixed = _Fixed(profile, host, precondition, tuple(metrics))
    workloads = _workloads(workload)
    if jobs is not None and (executor is not None or jobs < 1):
        raise Error(f"jobs is {jobs}; give a number of threads, 1 at least, and no executor")
    described = _points(space, workloads, fixed, _seeds(seeds), method, samples, sample_seed)
    run = _Run(described, out, progress)
    if run.left:
        if executor is None:
            run.on_threads(jobs)
        else:
            for outcome in run_all(executor, run.left):
                run.add(outcome)
    return Sweep(run.points, [run.outcomes[point.key] for point in run.points])


class _Run:
    """The points of a sweep with what is known of them."""

    def __init__(
        self,
        described: Iterable[Point],
        out: str | os.PathLike[str] | None,
        progress: Callable[[int, int], object] | None,
    ) -> None:
        self._maker = PointMaker()
        self._progress = progress
        self._native: dict[str, SweepPoint] = {}
        self._by_key: dict[str, list[Point]] = {}
        self.points: list[Point] = []
        self.outcomes: dict[str, Outcome] = {}
        for point in described:
            native = point.made(self._maker)
            point = point.keyed(native)
            self.points.append(point)
            self._native[native.key] = native
            self._by_key.setdefault(native.key, []).append(point)
        self._store = None if out is None else Store(out, self._by_key)
        for key, native in self._native.items():
            found = None if self._store is None else self._store.find(key, native)
            if found is not None:
                self.outcomes[key] = found
        self._tell(len(self.outcomes))

    @property
    def left(self) -> list[Point]:
        """Points that are not done; those of one device follow each other, so that few devices are in memory."""
        left = (points[0] for key, points in self._by_key.items() if key not in self.outcomes)
        return sorted(left, key=lambda point: point.device_key)

    def on_threads(self, jobs: int | None) -> None:
        """Runs what is left on the pool of threads."""
        left, found = self.left, len(self.outcomes)
        told = found

        def tell(_share: float | None, done: int, _elapsed_s: float) -> None:
            nonlocal told
            if found + done > told:
                told = found + done
                self._tell(told)

        native = [self._native[point.key] for point in left]
        store = None if self._store is None else self._store.native
        ran = run_points(native, self._maker.device_memory, jobs=jobs, store=store, progress=tell)
        for point, measured in zip(left, ran, strict=True):
            outcome = Outcome.of(point, measured)
            self.outcomes[point.key] = outcome
            if self._store is not None:
                self._store.add_rows(self._native[point.key], outcome)
        if told < len(self.outcomes):
            self._tell(len(self.outcomes))

    def add(self, outcome: Outcome) -> None:
        """Takes the outcome of a point that ran on an executor."""
        if self._store is not None:
            self._store.add(self._native[outcome.key], outcome)
        self.outcomes[outcome.key] = outcome
        self._tell(len(self.outcomes))

    def _tell(self, done: int) -> None:
        if self._progress is not None:
            self._progress(done, len(self._by_key))


class _Fixed:
    """What all points have in common."""

    def __init__(self, profile: Any, host: Any, precondition: str, metrics: tuple[str, ...]) -> None:
        self.profile = None if profile is None else os.fspath(profile)
        self.host = None if host is None else os.fspath(host)
        self.precondition = precondition
        self.metrics = metrics


def _seeds(seeds: int | Iterable[int]) -> list[int]:
    if isinstance(seeds, int):
        if seeds < 1:
            raise Error(f"seeds is {seeds}; give a number of seeds, 1 at least, or the seeds")
        return list(range(1, seeds + 1))
    return list(seeds)


def _workloads(workload: Workload | Mapping[str, Workload]) -> dict[str, Job]:
    def job(one: Workload) -> Job:
        return one if isinstance(one, Job) else Job.from_file(one)

    if isinstance(workload, Mapping):
        if not workload:
            raise Error("there is no workload; give a job, or a mapping from names to jobs")
        return {name: job(one) for name, one in workload.items()}
    return {"": job(workload)}


def _points(
    space: Mapping[str, Sequence[Value] | Range | Value],
    workloads: Mapping[str, Job],
    fixed: _Fixed,
    seeds: Sequence[int],
    method: str,
    samples: int | None,
    sample_seed: int,
) -> list[Point]:
    if "workload" in space:
        raise Error("`workload` is no axis of the space; give a mapping from names to jobs as the workload")
    every: list[Point] = []
    for chosen in points(space, method, samples, sample_seed):
        for name, job in workloads.items():
            for seed in seeds:
                every.append(_point(chosen, name, job, seed, fixed))
    return every


def _point(chosen: Mapping[str, Value], name: str, job: Job, seed: int, fixed: _Fixed) -> Point:
    profile = chosen.get("profile", fixed.profile)
    if profile is None:
        raise Error("no device: give sweep(profile=…), or `profile` as an axis of the space")
    options = tuple((key.removeprefix("job."), value) for key, value in chosen.items() if key.startswith("job."))
    overrides = tuple(
        (key, value) for key, value in chosen.items() if not key.startswith("job.") and key not in _OWN
    )
    host = chosen.get("host", fixed.host)
    parameters = tuple(chosen.items()) + ((("workload", name),) if name else ())
    return Point(
        profile=str(profile),
        host=None if host is None else str(host),
        overrides=overrides,
        precondition=str(chosen.get("precondition", fixed.precondition)),
        job_name=job.name,
        job_file=job.place,
        job_text=job.text,
        job_options=options,
        seed=seed,
        metrics=fixed.metrics,
        parameters=parameters,
    )
