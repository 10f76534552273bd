"""The table of a sweep for people: short names, units in the headings, three significant digits, the start of each key."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from nandscope.sweeping.names import metric_heading, metric_unit

# Characters of a key that are shown; the tables for programs have it in full.
KEY_LENGTH = 12
# Rows that are shown of a long table, half of them at either end.
_SHOWN = 20
_NARROW_SPACE = "\u202f"


def shown_columns(
    rows: Sequence[Mapping[str, Any]], axes: Mapping[str, str], metrics: Sequence[str]
) -> dict[str, list[str]]:
    """The cells by heading. The seed appears if there are several, `complete` if a point is not."""
    columns: dict[str, list[str]] = {}
    for name, short in axes.items():
        columns[short] = [_cell(row.get(name)) for row in rows]
    if len({row["seed"] for row in rows}) > 1:
        columns["seed"] = [str(row["seed"]) for row in rows]
    for name in metrics:
        is_count = name != "waf" and not metric_unit(name)
        columns[metric_heading(name)] = [_number(row.get(name), is_count=is_count) for row in rows]
    if not all(row["complete"] for row in rows):
        columns["complete"] = ["yes" if row["complete"] else "no" for row in rows]
    columns["key"] = [str(row["key"])[:KEY_LENGTH] for row in rows]
    return columns


def text_table(columns: Mapping[str, Sequence[str]]) -> str:
    """The cells as aligned lines of text, without the middle rows of a long table."""
    lines = [list(columns), *([*cells] for cells in zip(*columns.values(), strict=True))]
    if len(lines) > _SHOWN + 1:
        lines[1 + _SHOWN // 2 : -_SHOWN // 2] = [["…"] * len(columns)]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    padded = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    return "\n".join(line.rstrip() for line in padded)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else "–" if value is None else str(value)


def _number(value: float | None, *, is_count: bool) -> str:
    """A number with three significant digits and its thousands apart; whole counts in full."""
    if value is None or not math.isfinite(value):
        return "–"
    rounded = abs(float(f"{value:.2e}"))
    if rounded == 0 or rounded >= 100 or (is_count and value.is_integer()):
        # As the command does, thousands are apart from five digits on.
        return f"{value:,.0f}".replace(",", _NARROW_SPACE if rounded >= 10_000 else "")
    if rounded < 1e-3:
        return f"{value:.2e}"
    return f"{value:.{2 - math.floor(math.log10(rounded))}f}"
