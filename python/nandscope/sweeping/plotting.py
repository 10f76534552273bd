"""`Sweep.plot`: a metric over an axis of the space, drawn with matplotlib."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nandscope.errors import Error
from nandscope.sweeping.names import axis_label, metric_label
from nandscope.sweeping.space import text_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from nandscope.sweeping.sweep import Sweep

# More entries make a legend unreadable.
_MOST_LINES = 12
_MOST_TICKS = 12
# Numbers that span at least this factor get a logarithmic axis.
_LOG_SPAN = 16
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kmgt]?)i?b?", re.IGNORECASE)


class _Group(NamedTuple):
    """The points of one line: a place on the horizontal axis for each, and the values there."""

    label: str | None
    color: Any
    values: dict[Any, list[float]]


def draw(
    sweep: "Sweep", metric: str | None, x: str | None, by: str | None, ax: "Axes | None", style: dict[str, Any]
) -> "Axes":
    """Draws what `Sweep.plot` describes, and returns the Axes."""
    rows, axes = sweep.rows, sweep.axes
    if metric is None and not sweep.metrics:
        raise Error("the sweep has no metrics to plot")
    metric = next(iter(sweep.metrics)) if metric is None else sweep.find(metric)
    varied = [name for name in axes if len(_distinct(row.get(name) for row in rows)) > 1]
    is_sampled = _is_sampled(rows, varied)
    x = _default_x(varied) if x is None else sweep.find(x)
    if by is not None:
        by = sweep.find(by)
    elif x not in sweep.metrics:
        fit = [n for n in varied if n != x and (not is_sampled or _is_text(row.get(n) for row in rows))]
        by = next(iter(fit), None)
    rows = [row for row in rows if row.get(metric) is not None and row.get(x) is not None]
    if not rows:
        raise Error(f"no point has a value of `{metric}`" + (f" and `{x}`" if x in sweep.metrics else ""))

    if _is_text(row[metric] for row in rows):
        raise Error(f"`{metric}` is an axis of texts, which has no height; name a metric, and the axis as x or by")
    pyplot = _pyplot()
    groups = _groups(rows, metric, x, by, axes, pyplot)
    # A new figure has room for the legend beside the Axes; Axes of the user may have neighbours.
    legend: dict[str, Any] = {"loc": "best"}
    if ax is None:
        _, ax = pyplot.subplots(figsize=(7.5, 4), layout="constrained")
        legend = {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "borderaxespad": 0}
    places = _ordered(row[x] for row in rows)
    label = metric_label(x) if x in sweep.metrics else axis_label(axes.get(x, x), is_number=not _is_text(places))
    one_by_one = is_sampled or x in sweep.metrics
    averaged = [] if one_by_one else [axes[name] for name in varied if name not in (x, by)]
    seeds = 1 if one_by_one or "seed" in (x, by) else len({row["seed"] for row in rows})
    if one_by_one:
        _scatter(ax, groups, style)
    elif _is_text(places) and not _are_sizes(places):
        _bars(ax, groups, places, style, with_range=not averaged)
    else:
        _lines(ax, groups, places, style, with_range=not averaged)
    ax.set_xlabel(label)
    ax.set_ylabel(metric_label(metric) if metric in sweep.metrics else axis_label(axes.get(metric, metric)))
    if min(row[metric] for row in rows) >= 0:
        _start_at_zero(ax)
    if by is not None:
        is_number = not _is_text(row.get(by) for row in rows)
        ax.legend(title=axis_label(axes.get(by, by), is_number=is_number), **legend)
    over = averaged if seeds == 1 else [*averaged, f"{seeds} seeds"]
    if over:
        ax.set_title(f"mean over {' and '.join(over)}", fontsize="medium")
    ax.grid(visible=True, alpha=0.3)
    ax.set_axisbelow(True)
    return ax


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as missing:
        raise ImportError("matplotlib is not installed; `pip install matplotlib`") from missing
    return pyplot


def _distinct(values: Iterable[Any]) -> list[Any]:
    """The values in the order of their first appearance."""
    return list(dict.fromkeys(values))


def _ordered(values: Iterable[Any]) -> list[Any]:
    """The distinct values: numbers and sizes from the smallest on, texts as they appear."""
    distinct = _distinct(values)
    if not _is_text(distinct):
        return sorted(distinct)
    return sorted(distinct, key=_size) if _are_sizes(distinct) else distinct


def _are_sizes(values: Iterable[Any]) -> bool:
    return all(_SIZE.fullmatch(text_of(value)) for value in values)


def _size(value: Any) -> float:
    number, prefix = re.match(_SIZE, text_of(value)).groups()  # type: ignore[union-attr]
    return float(number) * 1024.0 ** " kmgt".index(prefix.lower() or " ")


def _is_text(values: Iterable[Any]) -> bool:
    return any(isinstance(value, str | bool) for value in values)


def _is_sampled(rows: Sequence[Mapping[str, Any]], varied: Sequence[str]) -> bool:
    """Whether combinations of the values are absent, as in random and Latin hypercube samples."""
    combinations = {tuple(row.get(name) for name in varied) for row in rows}
    return math.prod(len({c[i] for c in combinations}) for i in range(len(varied))) > len(combinations)


def _default_x(varied: Sequence[str]) -> str:
    if not varied:
        raise Error("no axis of the sweep has several values; name a metric as x")
    return varied[0]


def _groups(
    rows: Sequence[Mapping[str, Any]], metric: str, x: str, by: str | None, axes: Mapping[str, str], pyplot: Any
) -> list[_Group]:
    """The rows by the value of the axis `by`."""
    chosen = [None] if by is None else _ordered(row.get(by) for row in rows)
    if len(chosen) > _MOST_LINES:
        raise Error(f"`{axes.get(str(by), str(by))}` has {len(chosen)} values, and a plot has {_MOST_LINES} lines at most;"
                    " name another axis with by=…")
    numbers = by is not None and (not _is_text(chosen) or _are_sizes(chosen))
    groups = []
    for position, value in enumerate(chosen):
        values: dict[Any, list[float]] = {}
        for row in rows:
            if by is None or row.get(by) == value:
                values.setdefault(row[x], []).append(row[metric])
        # Numbers have colours in their order, from dark to light.
        color = pyplot.get_cmap("viridis")(0.85 * position / max(1, len(chosen) - 1)) if numbers else f"C{position % 10}"
        groups.append(_Group(None if by is None else _text(value), color, values))
    return groups


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else text_of(value)


def _scatter(ax: "Axes", groups: Sequence[_Group], style: dict[str, Any]) -> None:
    for group in groups:
        points = [(place, value) for place, values in group.values.items() for value in values]
        xs, ys = zip(*points, strict=True)
        ax.scatter(xs, ys, **{"color": group.color, "label": group.label, **style})


def _lines(
    ax: "Axes", groups: Sequence[_Group], places: Sequence[Any], style: dict[str, Any], *, with_range: bool
) -> None:
    if _is_text(places):
        position = {place: float(number) for number, place in enumerate(places)}
    else:
        position = {place: float(place) for place in places}
    for group in groups:
        known = sorted(group.values, key=position.__getitem__)
        xs = [position[place] for place in known]
        means = [sum(group.values[place]) / len(group.values[place]) for place in known]
        ax.plot(xs, means, **{"color": group.color, "label": group.label, "marker": "o", "markersize": 4, **style})
        if with_range and any(len(values) > 1 for values in group.values.values()):
            low, high = ([bound(group.values[place]) for place in known] for bound in (min, max))
            ax.fill_between(xs, low, high, color=group.color, alpha=0.15, linewidth=0)
    if _is_text(places):
        ax.set_xticks(range(len(places)), [text_of(place) for place in places])
    else:
        _scale(ax, sorted(position.values()))


def _scale(ax: "Axes", places: Sequence[float]) -> None:
    """A logarithmic axis for numbers that span much, and a tick at each number where there is room."""
    is_log = places[0] > 0 and places[-1] / places[0] >= _LOG_SPAN
    if is_log:
        ax.set_xscale("log", base=2 if all(math.log2(place).is_integer() for place in places) else 10)
    if len(places) <= _MOST_TICKS and (is_log or _are_apart(places)):
        ax.set_xticks(places, [f"{place:.6g}" for place in places])
        ax.minorticks_off()


def _are_apart(places: Sequence[float]) -> bool:
    """Whether labels at these numbers do not overlap on a linear axis."""
    steps = [after - before for before, after in zip(places, places[1:], strict=False)]
    return not steps or min(steps) >= (places[-1] - places[0]) / _MOST_TICKS


def _start_at_zero(ax: "Axes") -> None:
    """Makes the vertical axis start at 0 without fixed limits: a logarithmic scale that is set later starts at the data."""
    ax.update_datalim([(0, 0)], updatex=False)
    for artist in (*ax.lines, *ax.collections):
        artist.sticky_edges.y.append(0)
    ax.autoscale_view()


def _bars(
    ax: "Axes", groups: Sequence[_Group], places: Sequence[Any], style: dict[str, Any], *, with_range: bool
) -> None:
    width = 0.8 / len(groups)
    for number, group in enumerate(groups):
        known = [place for place in places if place in group.values]
        xs = [places.index(place) + (number - (len(groups) - 1) / 2) * width for place in known]
        means = [sum(group.values[place]) / len(group.values[place]) for place in known]
        ax.bar(xs, means, width, **{"color": group.color, "label": group.label, **style})
        if with_range and any(len(values) > 1 for values in group.values.values()):
            below = [mean - min(group.values[place]) for place, mean in zip(known, means, strict=True)]
            above = [max(group.values[place]) - mean for place, mean in zip(known, means, strict=True)]
            ax.errorbar(xs, means, (below, above), fmt="none", ecolor="black", capsize=3)
    labels = [text_of(place) for place in places]
    ax.set_xticks(range(len(places)), labels)
    if sum(map(len, labels)) > 50:
        ax.tick_params(axis="x", rotation=20)
