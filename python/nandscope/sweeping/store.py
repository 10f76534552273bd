"""The points of sweeps in a folder: result documents in `points/KEY.json`, as `nandscope sweep` keeps them, and a row of
the table for each as Parquet, in folders by version, device and seed.

A sweep of the command line continues one of Python in the same folder, and the reverse. Machines may write into the
same folder: a file has the key of its point as its name, and appears complete or not at all. The rows follow from the
documents; they need polars, and are left out without it.
"""

import io
import os
import tempfile
from pathlib import Path
from typing import Any

from nandscope._native import PointStore, SweepPoint, __version__
from nandscope.errors import FileError
from nandscope.sweeping.point import Outcome, Point, point_row


class Store:
    """See the module's text."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder)
        self.native = PointStore(self._folder)
        try:
            import polars

            self._polars: Any = polars
        except ImportError:
            self._polars = None

    def find(self, point: Point, native: SweepPoint) -> Outcome | None:
        """The outcome of a point that is done, with its row; `None` otherwise."""
        measured = self.native.find(native)
        if measured is None:
            return None
        outcome = Outcome.of(point, measured)
        self.add_row(point, outcome)
        return outcome

    def add(self, point: Point, native: SweepPoint, outcome: Outcome) -> None:
        """Keeps the outcome of a point that ran elsewhere, and its row."""
        self.native.keep(native, outcome.document)
        self.add_row(point, outcome)

    def add_row(self, point: Point, outcome: Outcome) -> None:
        """Writes the row of a point, unless it is there."""
        if self._polars is None:
            return
        row: dict[str, Any] = point_row(point, outcome)
        # The folder's name has the seed.
        del row["seed"]
        frame = self._polars.DataFrame(
            {name: [value] for name, value in row.items()},
            schema_overrides={name: self._polars.Float64 for name in point.metrics},
        )
        metadata = {"nandscope.version": __version__, "nandscope.key": point.key,
                    "nandscope.device": point.device_key, "nandscope.seed": str(point.seed)}
        parquet = io.BytesIO()
        frame.write_parquet(parquet, metadata=metadata)
        parts = f"version={__version__}", f"device={point.device_key[:16]}", f"seed={point.seed}"
        _write(self._folder.joinpath(*parts, f"{point.key}.parquet"), parquet.getvalue())


def _write(path: Path, content: bytes) -> None:
    """A file that is there complete or not at all; it is left alone if it has this content."""
    try:
        if path.is_file() and path.read_bytes() == content:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise FileError(f"cannot write {path}: {error}") from error
