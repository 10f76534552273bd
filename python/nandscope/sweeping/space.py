"""The points of a parameter space: grids, random samples, Latin hypercubes. The same seed gives the same points."""

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nandscope.errors import Error

Value = str | int | float | bool


@dataclass(frozen=True)
class Range:
    """All numbers from `low` to `high`; on a logarithmic scale with `log`."""

    low: float
    high: float
    log: bool = False

    def at(self, share: float) -> float:
        """The number at this share of the range, 0 to 1."""
        if self.log:
            return float(self.low * (self.high / self.low) ** share)
        return self.low + (self.high - self.low) * share


def uniform(low: float, high: float, *, log: bool = False) -> Range:
    """A range for `method="random"` and `method="latin"`."""
    if not (math.isfinite(low) and math.isfinite(high) and low < high) or (log and low <= 0):
        raise Error(f"uniform({low}, {high}) is no range; give two finite numbers, the smaller first"
                    " (above 0 for log=True)")
    return Range(low, high, log)


def points(
    space: Mapping[str, Sequence[Value] | Range | Value],
    method: str,
    samples: int | None,
    seed: int,
) -> Iterator[dict[str, Value]]:
    """The points of a space, as one value for each key, in a fixed order."""
    axes = {key: _axis(key, values) for key, values in space.items()}
    if method == "grid":
        if samples is not None:
            raise Error("samples is for random and latin; a grid has all points")
        yield from _grid(axes)
    elif method in ("random", "latin"):
        if samples is None or samples < 1:
            raise Error(f"method {method} needs samples, the number of points")
        yield from _sampled(axes, samples, seed, stratified=method == "latin")
    else:
        raise Error(f"unknown method `{method}`; use grid, random or latin")


def _axis(key: str, values: Sequence[Value] | Range | Value) -> list[Value] | Range:
    if isinstance(values, Range):
        return values
    if isinstance(values, str | int | float | bool):
        return [values]
    listed = [v.item() if hasattr(v, "item") else v for v in values]
    if not listed:
        raise Error(f"`{key}` has no values; give one at least")
    for value in listed:
        if not isinstance(value, str | int | float | bool):
            raise TypeError(f"`{key}` has a {type(value).__name__}; give numbers, texts or bools")
    return listed


def _grid(axes: Mapping[str, list[Value] | Range]) -> Iterator[dict[str, Value]]:
    lists: list[list[Value]] = []
    for key, axis in axes.items():
        if isinstance(axis, Range):
            raise Error(f"`{key}` is a range, and a grid needs a list; or use method=\"latin\" with samples")
        lists.append(axis)
    for values in itertools.product(*lists):
        yield dict(zip(axes, values, strict=True))


def _sampled(
    axes: Mapping[str, list[Value] | Range], samples: int, seed: int, *, stratified: bool
) -> Iterator[dict[str, Value]]:
    """Latin hypercube: each axis is cut into as many parts as there are samples, and each part is used once."""
    source = random.Random(seed)
    columns: dict[str, list[Value]] = {}
    for key, axis in axes.items():
        shares = [source.random() for _ in range(samples)]
        if stratified:
            order = list(range(samples))
            source.shuffle(order)
            shares = [(part + share) / samples for part, share in zip(order, shares, strict=True)]
        if isinstance(axis, Range):
            columns[key] = [axis.at(share) for share in shares]
        else:
            columns[key] = [axis[min(int(share * len(axis)), len(axis) - 1)] for share in shares]
    for number in range(samples):
        yield {key: column[number] for key, column in columns.items()}
