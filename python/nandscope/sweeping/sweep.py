"""`Sweep`: the points of a sweep and their outcomes, as tables and plots."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nandscope._native import Result, Table
from nandscope.errors import Error
from nandscope.sweeping import names, plotting
from nandscope.sweeping.display import shown_columns, text_table
from nandscope.sweeping.point import Outcome, Point, point_row
from nandscope.sweeping.space import Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Sweep:
    """The points of a sweep and their outcomes, in the order of the space.

    A notebook, and `print`, show a table with units. Methods take the names of axes in full (`job.iodepth`) or short
    (`iodepth`).
    """

    def __init__(self, all_points: Sequence[Point], outcomes: Sequence[Outcome]) -> None:
        self.points = list(all_points)
        self.outcomes = list(outcomes)

    @property
    def axes(self) -> dict[str, str]:
        """The axes of the space, with the short name of each: `{"job.iodepth": "iodepth"}`."""
        keys = dict.fromkeys(name for point in self.points for name, _ in point.parameters)
        return names.short_names(keys, [*self.metrics, *self.metrics.values(), "seed", "complete", "key"])

    @property
    def metrics(self) -> dict[str, str]:
        """The metrics, with the column of each in tables: `{"p99": "p99_us"}`."""
        return {name: names.metric_column(name) for point in self.points[:1] for name in point.metrics}

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each point, by the names that `sweep` got: parameters, seed, metrics, `complete`, key."""
        return [point_row(p, o) for p, o in zip(self.points, self.outcomes, strict=True)]

    @property
    def table(self) -> Table:
        """The rows as a table. Its columns are the short names of the axes, `seed`, the metrics with their units
        (`p99_us`, `bw_mb_per_s`), `complete` and `key`.
        """
        rows = self.rows
        columns = {**self.axes, "seed": "seed", **self.metrics, "complete": "complete", "key": "key"}
        return Table({column: [row.get(name) for row in rows] for name, column in columns.items()} if rows else {})

    @property
    def results(self) -> list[Result]:
        """The result of each point."""
        return [Result.from_json(outcome.document) for outcome in self.outcomes]

    def to_polars(self) -> Any:
        """The table as a polars DataFrame."""
        return self.table.to_polars()

    def to_pandas(self) -> Any:
        """The table as a pandas DataFrame."""
        return self.table.to_pandas()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self.points)

    def plot(
        self,
        metric: str | None = None,
        *,
        x: str | None = None,
        by: str | None = None,
        ax: "Axes | None" = None,
        **style: Any,
    ) -> "Axes":
        """Draws a metric over an axis of the space with matplotlib, and returns the matplotlib Axes.

        Without names it draws the first metric over the first axis that has several values (`x`), and a line for each
        value of the second one (`by`), which the legend lists. `x` may be a metric, too, for the trade between two
        metrics. The lines are means over the other axes and over the seeds; a band, or a bar of errors, reaches from
        the smallest to the largest seed. Axes of texts have bars; the points of random and Latin hypercube samples
        are drawn one by one.

        `ax` are the Axes to draw on; without them there is a new figure. `style` goes to `Axes.plot`, `bar` or `scatter`.
        Needs matplotlib.
        """
        return plotting.draw(self, metric, x, by, ax, style)

    def pareto(self, minimize: Sequence[str] = (), maximize: Sequence[str] = ()) -> list[dict[str, Any]]:
        """The rows that no other row surpasses: as good in all of these metrics and better in one.

        Rows without one of the metrics are left out.
        """
        signs = [(self.find(name), 1.0) for name in minimize] + [(self.find(name), -1.0) for name in maximize]
        if not signs:
            raise Error("pareto needs metrics to minimize or to maximize")
        rows = [row for row in self.rows if all(row.get(name) is not None for name, _ in signs)]
        cost = [tuple(sign * row[name] for name, sign in signs) for row in rows]

        def surpassed(one: tuple[float, ...]) -> bool:
            return any(other != one and all(o <= c for o, c in zip(other, one, strict=True)) for other in cost)

        return [row for row, one in zip(rows, cost, strict=True) if not surpassed(one)]

    def effects(self, metric: str) -> dict[str, dict[Value, float]]:
        """The mean of a metric for each value of each parameter, over all other parameters and seeds."""
        metric = self.find(metric)
        sums: dict[str, dict[Value, list[float]]] = {}
        for row, point in zip(self.rows, self.points, strict=True):
            value = row.get(metric)
            if value is None:
                continue
            for name, chosen in point.parameters:
                sums.setdefault(name, {}).setdefault(chosen, []).append(value)
        return {name: {v: sum(all_of) / len(all_of) for v, all_of in of.items()} for name, of in sums.items()}

    def find(self, name: str) -> str:
        """The full name of an axis or a metric, as `rows` has it, from its full or short name or its column.

        Raises `Error` if there is none.
        """
        return names.resolve(name, self.axes, self.metrics)

    def _repr_html_(self) -> str:
        return Table(self._shown())._repr_html_()

    def __str__(self) -> str:
        return text_table(self._shown()) if self.points else repr(self)

    def __repr__(self) -> str:
        count = len(self)
        return f"<nandscope.Sweep: {count} point{'' if count == 1 else 's'}>"

    def _shown(self) -> dict[str, list[str]]:
        return shown_columns(self.rows, self.axes, list(self.metrics))
