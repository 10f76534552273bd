"""Finished points in a folder: result documents in `points/KEY.json`, as `nandscope sweep` keeps them, and their table as
Parquet, in folders by version, device and seed.

A sweep of the command line continues one of Python in the same folder, and the reverse. Machines may write into the
same folder: a file has the key of its result as its name, and appears complete or not at all. The table follows from the
documents.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from nandscope._native import PointRows, PointStore, SweepPoint
from nandscope.sweeping.point import Outcome, Point
from nandscope.sweeping.space import text_of


class Store:
    """The store of a sweep, of which `by_key` has all points: those with the same key have one result."""

    def __init__(self, folder: str | os.PathLike[str], by_key: Mapping[str, Sequence[Point]]) -> None:
        self._by_key = by_key
        path = Path(folder)
        self.native = PointStore(path)
        everything = [point for points in by_key.values() for point in points]
        names = [name for name, _ in everything[0].parameters] if everything else []
        self._rows = PointRows(path, names, [_texts(point) for point in everything])

    def find(self, key: str, native: SweepPoint) -> Outcome | None:
        """The outcome of a point that is done, whose rows are written then; `None` otherwise."""
        measured = self.native.find(native)
        if measured is None:
            return None
        outcome = Outcome.of(self._by_key[key][0], measured)
        self.add_rows(native, outcome)
        return outcome

    def add(self, native: SweepPoint, outcome: Outcome) -> None:
        """Keeps the outcome of a point that ran elsewhere, and its rows."""
        self.native.keep(native, outcome.document)
        self.add_rows(native, outcome)

    def add_rows(self, native: SweepPoint, outcome: Outcome) -> None:
        """Writes the rows of a point, unless they are there."""
        points = self._by_key[outcome.key]
        metrics = [outcome.metrics[name] for name in points[0].metrics]
        self._rows.write(native, [_texts(point) for point in points], metrics, outcome.complete)


def _texts(point: Point) -> list[str]:
    return [text_of(value) for _, value in point.parameters]
