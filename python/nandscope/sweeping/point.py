"""One point of a sweep: a pure function of its description, wherever it runs.

A `Point` holds texts and numbers only, so that it can be pickled and hashed. `run_point` gives the same outcome in any
process on any machine. Devices that were conditioned stay in the process; each point gets a copy.
"""

import os
import threading
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import Any

from nandscope._native import Device, PointMaker, SweepPoint
from nandscope.sweeping.space import Value


@dataclass(frozen=True)
class Point:
    """What is run: a device in a state, a job, a seed."""

    profile: str
    host: str | None
    overrides: tuple[tuple[str, Value], ...]
    precondition: str
    job_name: str
    job_file: str
    """Beside which includes and traces are looked for."""
    job_text: str
    """In fio's grammar."""
    job_options: tuple[tuple[str, Value], ...]
    """Options that are set on every job."""
    seed: int
    metrics: tuple[str, ...]
    parameters: tuple[tuple[str, Value], ...]
    """The values of the sweep's axes, for the table."""
    device_key: str = field(default="", compare=False)
    key: str = field(default="", compare=False)

    def made(self, maker: PointMaker) -> SweepPoint:
        """The point, checked. Raises `Error` if the device, the job or a metric is impossible."""
        return maker.point(self.profile, self.host, dict(self.overrides), self.precondition, self.job_name,
                           self.job_file, self.job_text, dict(self.job_options), self.seed, list(self.metrics))

    def keyed(self, native: SweepPoint) -> "Point":
        """The point with the keys of its native form."""
        return replace(self, device_key=native.device_key, key=native.key)


@dataclass(frozen=True)
class Outcome:
    """The result of a point."""

    key: str
    metrics: dict[str, float | None]
    failure: str | None
    """Why the run did not come to its end."""
    document: str
    """The result document without its wall clock."""

    @property
    def complete(self) -> bool:
        """Whether the run came to its end."""
        return self.failure is None

    @classmethod
    def of(cls, point: Point, measured: tuple[list[float | None], str | None, str]) -> "Outcome":
        """What the native part gives for a point."""
        values, failure, document = measured
        return cls(point.key, dict(zip(point.metrics, values, strict=True)), failure, document)


def run_point(point: Point) -> Outcome:
    """Runs a point; the same point gives the same outcome, to the byte."""
    native = point.made(PointMaker())
    return Outcome.of(point, native.run(_conditioned.fork(native)))


class _Conditioned:
    """The devices of this process that were brought into the state of a point, the last used ones."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._devices: OrderedDict[str, _Entry] = OrderedDict()

    def fork(self, point: SweepPoint) -> Device:
        """A copy of the device of a point; the first point of a device conditions it, others wait."""
        with self._lock:
            entry = self._devices.setdefault(point.device_key, _Entry())
            self._devices.move_to_end(point.device_key)
            while len(self._devices) > max(2, os.cpu_count() or 1):
                self._devices.popitem(last=False)
        with entry.lock:
            if entry.device is None:
                entry.device = point.condition()
            return entry.device.fork()


class _Entry:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.device: Device | None = None


_conditioned = _Conditioned()


def point_row(point: Point, outcome: Outcome) -> dict[str, Any]:
    """A row of the table of points: parameters, seed, metrics, key."""
    row: dict[str, Any] = dict(point.parameters)
    row |= {"seed": point.seed, **outcome.metrics, "complete": outcome.complete, "key": point.key}
    return row
