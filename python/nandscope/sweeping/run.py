"""`sweep`: runs all points of a space, each once, and makes the table of their outcomes."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from nandscope._native import Job, PointMaker, SweepPoint, run_points
from nandscope.errors import Error
from nandscope.progress import ProgressBar, chosen, finish
from nandscope.sweeping.executors import run_all
from nandscope.sweeping.point import Outcome, Point
from nandscope.sweeping.space import Range, Value, points
from nandscope.sweeping.store import Store
from nandscope.sweeping.sweep import Sweep

Workload = Job | str | os.PathLike[str]
DEFAULT_METRICS = ("waf", "iops", "mean", "p99")
_OWN = ("profile", "host", "precondition", "workload")


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
    progress: Callable[[int, int], object] | bool | None = None,
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
    whether Python or `nandscope sweep` ran it.

    Without `progress` a sweep that takes more than half a second shows a progress bar if standard error is a terminal, or
    in a notebook; `True` always shows it, `False` never. A callable is called with the numbers of done and of all points.
    """
    fixed = _Fixed(profile, host, precondition, tuple(metrics))
    workloads = _workloads(workload)
    if jobs is not None and (executor is not None or jobs < 1):
        raise Error(f"jobs is {jobs}; give a number of threads, 1 at least, and no executor")
    described = _points(space, workloads, fixed, _seeds(seeds), method, samples, sample_seed)
    shown = chosen(progress, "sweep")
    try:
        run = _Run(described, out, shown)
        if run.left:
            if executor is None:
                run.on_threads(jobs)
            else:
                for outcome in run_all(executor, run.left):
                    run.add(outcome)
    finally:
        finish(shown)
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

        def tell(share: float | None, done: int, _elapsed_s: float) -> None:
            nonlocal told
            if isinstance(self._progress, ProgressBar) and share is not None and found + done <= told:
                # Points that run move the bar, too.
                total = len(self._by_key)
                self._progress.show((found + share * len(left)) / total, f"{told} of {total} points")
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
