"""One way to run points on the executors that exist: every one gives outcomes as they become ready."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from typing import Any, Protocol, cast

from nandscope.errors import Error
from nandscope.sweeping.point import Outcome, Point, run_point


class Future(Protocol):
    """What executors give for a task that runs elsewhere."""

    def done(self) -> bool:
        """Whether the task is over."""
        ...

    def result(self) -> Any:
        """The result of the task, or its exception."""
        ...


def run_all(executor: Any, points: Sequence[Point]) -> Iterator[Outcome]:
    """The outcomes of all points, as they become ready.

    `executor` is a `concurrent.futures.Executor` (process pools, MPI), a `dask.distributed.Client`,
    the module `ray`, a `submitit` executor, or a `joblib.Parallel`.
    """
    if getattr(executor, "__name__", None) == "ray":
        yield from _as_ready([_on_ray(executor, point) for point in points])
    elif hasattr(executor, "get_executor"):
        # Dask: a task whose worker dies is started again on another one. Its own futures, for those of
        # its `get_executor` fail when a worker dies between the end of a task and the fetch of its result.
        yield from _as_ready([executor.submit(run_point, point, pure=False, retries=3) for point in points])
    elif hasattr(executor, "submit"):
        yield from _as_ready([executor.submit(run_point, point) for point in points])
    elif callable(executor):
        # joblib: what its `delayed` makes is this triple.
        yield from executor((run_point, (point,), {}) for point in points)
    else:
        raise Error(f"{type(executor).__name__} is no executor; give a concurrent.futures.Executor, a dask Client,"
                    " the module ray, a submitit executor or a joblib.Parallel")


def _on_ray(ray: Any, point: Point) -> Future:
    # A task whose worker dies is started again.
    task = ray.remote(max_retries=3, num_cpus=1)(run_point)
    return cast(Future, task.remote(point).future())


def _as_ready(tasks: Sequence[Future]) -> Iterator[Outcome]:
    try:
        if all(isinstance(task, futures.Future) for task in tasks):
            known = cast("Sequence[futures.Future[Outcome]]", tasks)
            for task in futures.as_completed(known):
                yield task.result()
        else:
            yield from _polled(list(tasks), time.sleep)
    finally:
        for left in tasks:
            if hasattr(left, "cancel") and not left.done():
                left.cancel()


def _polled(tasks: list[Future], sleep: Callable[[float], None]) -> Iterator[Outcome]:
    """Of tasks that `concurrent.futures` cannot wait for together, such as those of Dask and submitit."""
    while tasks:
        ready = [task for task in tasks if task.done()]
        for task in ready:
            tasks.remove(task)
            yield task.result()
        if not ready:
            sleep(0.1)
