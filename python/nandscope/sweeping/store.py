"""The points of sweeps in a folder: one Parquet file for each, in folders by version, device and seed.

Machines may write into the same folder: a file has the key of its point as its name, and appears complete or not at
all. The file's metadata has the version, the hash and the seed, too.
"""

import io
import os
import tempfile
from pathlib import Path
from typing import Any

from nandscope._native import __version__
from nandscope.errors import Error, FileError
from nandscope.sweeping.point import Outcome, Point, point_row


class Store:
    """See the module's text."""

    def __init__(self, folder: str | os.PathLike[str], *, documents: bool) -> None:
        try:
            import polars
        except ImportError as missing:
            raise ImportError("sweep(out=…) writes Parquet with polars; `pip install polars`") from missing
        self._polars = polars
        self._folder = Path(folder)
        self._documents = documents
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"cannot make the folder {folder}: {error}") from error

    def _path(self, point: Point, kind: str) -> Path:
        parts = f"version={__version__}", f"device={point.device_key[:16]}", f"seed={point.seed}"
        return self._folder.joinpath(*parts, f"{point.key}.{kind}")

    def find(self, point: Point) -> Outcome | None:
        """The outcome of a point that is done, with all metrics that are wanted; `None` otherwise."""
        path = self._path(point, "parquet")
        if not path.is_file():
            return None
        try:
            rows = self._polars.read_parquet(path, hive_partitioning=False).to_dicts()
        except Exception as error:
            raise Error(f"{path} cannot be read: {error}; remove it to run its point again") from error
        row = rows[0]
        if any(name not in row for name in point.metrics):
            return None
        document = self._path(point, "json")
        if self._documents and not document.is_file():
            return None
        text = document.read_text(encoding="utf-8") if document.is_file() else ""
        return Outcome(point.key, {name: row[name] for name in point.metrics}, bool(row["complete"]), text)

    def add(self, point: Point, outcome: Outcome) -> None:
        """Writes the outcome of a point."""
        path = self._path(point, "parquet")
        row: dict[str, Any] = point_row(point, outcome)
        # The folder's name has the seed.
        del row["seed"]
        frame = self._polars.DataFrame(
            {name: [value] for name, value in row.items()},
            schema_overrides={name: self._polars.Float64 for name in point.metrics},
        )
        metadata = {"nandscope.version": __version__, "nandscope.key": point.key,
                    "nandscope.device": point.device_key, "nandscope.seed": str(point.seed)}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if self._documents:
                _write(self._path(point, "json"), outcome.document.encode())
            parquet = io.BytesIO()
            frame.write_parquet(parquet, metadata=metadata)
            _write(path, parquet.getvalue())
        except OSError as error:
            raise FileError(f"cannot write {path}: {error}") from error


def _write(path: Path, content: bytes) -> None:
    """A file that is there complete or not at all."""
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
