"""One point of a sweep: a pure function of its description, wherever it runs.

A `Point` holds texts and numbers only, so that it can be pickled and hashed. `run_point` gives the same outcome in any
process on any machine. Devices that were conditioned stay in the process; each point gets a fork.
"""

import hashlib
import json
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from nandscope._native import Device, Job, Result, __version__, device_texts
from nandscope.errors import Error
from nandscope.sweeping.space import Value


@dataclass(frozen=True)
class Point:
    """What is run: a device in a state, a job, a seed."""

    profile: str
    host: str | None
    overrides: tuple[tuple[str, Value], ...]
    precondition: str
    overwrite: float
    """How many times the capacity is overwritten at random before the run."""
    job_name: str
    job_text: str
    """In fio's grammar, with the options of the point set."""
    seed: int
    metrics: tuple[str, ...]
    parameters: tuple[tuple[str, Value], ...]
    """The values of the sweep's axes, for the table."""
    device_key: str = field(default="", compare=False)
    key: str = field(default="", compare=False)

    def keyed(self) -> "Point":
        """The point with its keys. Raises `Error` if the device or an override is impossible."""
        profile, host = device_texts(self.profile, self.host, dict(self.overrides))
        device = _digest(version=__version__, profile=profile, host=host, seed=self.seed,
                         precondition=self.precondition, overwrite=self.overwrite, name=self.profile)
        key = _digest(device=device, job=self.job_text, job_name=self.job_name)
        fields = asdict(self) | {"device_key": device, "key": key}
        fields["overrides"], fields["parameters"] = self.overrides, self.parameters
        fields["metrics"] = self.metrics
        return Point(**fields)


def _digest(**parts: Value | None) -> str:
    text = json.dumps(parts, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Outcome:
    """The result of a point."""

    key: str
    metrics: dict[str, float | None]
    complete: bool
    document: str
    """The result document without its wall clock."""


def run_point(point: Point, progress: Callable[[float | None, int, float], object] | None = None) -> Outcome:
    """Runs a point; the same point gives the same outcome, to the byte."""
    device = _conditioned.fork(point)
    job = Job(point.job_text, name=point.job_name)
    result = device.run(job, progress=progress)
    metrics = {name: metric(result, name) for name in point.metrics}
    return Outcome(point.key, metrics, result.complete, result.json(wall=False))


def metric(result: Result, name: str) -> float | None:
    """One number of a result: `waf`, `iops`, `mb_per_s`, `energy_j`, `mean` and `p50`, `p99`, `p99.9` … in µs,
    all operations together or one (`read.p99`, `write.iops`), a counter (`erases`) or the id of a figure.

    `None` if the run has nothing of the kind.
    """
    operation, _, what = name.rpartition(".") if name.split(".")[0] in _OPERATIONS else ("", "", name)
    if what.startswith("p") and _is_number(what[1:]):
        return result.percentile(float(what[1:]), operation or None)
    if what == "waf" and not operation:
        return _last(result, "write_amplification")
    if what in ("iops", "mb_per_s", "mean"):
        return _rate(result, operation, what)
    if not operation:
        counted = _last(result, what)
        if counted is not None:
            return counted
        figures = result.figures
        if name in figures["id"]:
            return float(result.figure(name))
        known = sorted(set(result.counters["name"]))
        if what not in _COUNTERS and what not in known:
            raise Error(f"unknown metric `{name}`; use waf, iops, mb_per_s, mean, p50, p99, p99.9, with read. or write."
                        f" before them, a counter ({', '.join(known)}) or the id of a figure")
    return None


_OPERATIONS = ("read", "write", "trim", "flush")
_COUNTERS = ("energy_j", "write_amplification")


def _is_number(text: str) -> bool:
    try:
        return 0 <= float(text) <= 100
    except ValueError:
        return False


def _last(result: Result, name: str) -> float | None:
    """A counter of the last step that has it."""
    table = result.counters
    values = [v for n, v in zip(table["name"], table["value"], strict=True) if n == name]
    return float(values[-1]) if values else None


def _rate(result: Result, operation: str, what: str) -> float | None:
    """Sums of rates, or the mean latency weighted by operations, over the jobs of the last step."""
    table = result.jobs
    steps = table["step"]
    rows = [
        row for row in range(len(table))
        if steps[row] == steps[-1]
        and table["operation"][row] in ((operation,) if operation else ("read", "write", "trim"))
    ]
    if not rows:
        return None
    if what == "mean":
        count = sum(table["operations"][row] for row in rows)
        total = sum(table["operations"][row] * table["mean_us"][row] for row in rows)
        return float(total / count) if count else None
    return float(sum(table[what][row] for row in rows))


class _Conditioned:
    """The devices of this process that were brought into the state of a point, the last used ones."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._devices: OrderedDict[str, _Entry] = OrderedDict()

    def fork(self, point: Point) -> Device:
        """A copy of the device of a point; the first point of a device conditions it, others wait."""
        with self._lock:
            entry = self._devices.setdefault(point.device_key, _Entry())
            self._devices.move_to_end(point.device_key)
            while len(self._devices) > max(2, os.cpu_count() or 1):
                self._devices.popitem(last=False)
        with entry.lock:
            if entry.device is None:
                entry.device = self._condition(point)
            return entry.device.fork()

    def clear(self) -> None:
        """Forgets the devices, which may take gigabytes."""
        with self._lock:
            self._devices.clear()

    @staticmethod
    def _condition(point: Point) -> Device:
        device = Device(point.profile, point.host, point.seed, overrides=dict(point.overrides))
        device.precondition(point.precondition)
        if point.overwrite > 0:
            device.overwrite_randomly(point.overwrite)
        return device


class _Entry:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.device: Device | None = None


_conditioned = _Conditioned()


def forget_devices() -> None:
    """Frees the devices that this process has conditioned."""
    _conditioned.clear()


def point_row(point: Point, outcome: Outcome) -> dict[str, Any]:
    """A row of the table of points: parameters, seed, metrics, key."""
    row: dict[str, Any] = dict(point.parameters)
    row |= {"seed": point.seed, **outcome.metrics, "complete": outcome.complete, "key": point.key}
    return row
