"""The points of a parameter space: grids, random samples, Latin hypercubes. The same seed gives the same points
here and in `nandscope sweep`."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from nandscope._native import sample
from nandscope.errors import Error

Value = str | int | float | bool
MOST_POINTS = 1_000_000


def text_of(value: Value) -> str:
    """The value as it is written in tables."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Range:
    """All numbers from `low` to `high`; on a logarithmic scale with `log`."""

    low: float
    high: float
    log: bool = False


def uniform(low: float, high: float, *, log: bool = False) -> Range:
    """A range for `method="random"` and `method="latin"`."""
    if not (low < high and math.isfinite(high - low)) or (log and (low <= 0 or not math.isfinite(high / low))):
        raise Error(f"uniform({low}, {high}) is not a range; give two finite numbers, the smaller first"
                    " (above 0 for log=True)")
    return Range(float(low), float(high), log)


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
        yield from _sampled(axes, f"{'lhs' if method == 'latin' else method}:{samples}", seed)
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
    if math.prod(len(axis) for axis in lists) > MOST_POINTS:
        raise Error(f"the grid has more than {MOST_POINTS} points; use method=\"latin\" with samples")
    for values in itertools.product(*lists):
        yield dict(zip(axes, values, strict=True))


def _sampled(axes: Mapping[str, list[Value] | Range], how: str, seed: int) -> Iterator[dict[str, Value]]:
    """The points that `nandscope sweep --sample` draws with the same seed and the parameters in the same order."""
    ranges = [(axis.low, axis.high, axis.log) if isinstance(axis, Range) else None for axis in axes.values()]
    for numbers in sample(how, ranges, seed):
        yield {
            key: number if isinstance(axis, Range) else axis[min(int(number * len(axis)), len(axis) - 1)]
            for (key, axis), number in zip(axes.items(), numbers, strict=True)
        }
