"""Reads the points of sweeps, of one machine or many, as one lazy table."""

import os
from pathlib import Path
from typing import Any

from nandscope.errors import Error, FileError


def load(folder: str | os.PathLike[str]) -> Any:
    """The points that sweeps wrote into `folder`, as a polars LazyFrame.

    The files are Parquet in folders ``version=…/device=…/seed=…``; these become columns, and only what a query
    needs is read. Needs polars. Copy folders of several machines into one to read them together: a point has the
    same name everywhere. A folder that only the command line wrote has a table in `points.csv`, which is read instead.
    """
    path = Path(folder)
    if not path.is_dir():
        raise FileError(f"{path} is not a folder; name the one that sweep(out=…) wrote")
    parquet = next(path.glob("version=*/**/*.parquet"), None) is not None
    table = parquet or (path / "points.csv").is_file()
    if not table and next(path.glob("points/*.json"), None) is not None:
        raise Error(f"{path} has results but no table of them; install polars and run the same sweep again, which only writes it")
    if not table:
        raise Error(f"{path} has no points of a sweep; name the folder that sweep(out=…) or `nandscope sweep` wrote")
    try:
        import polars
    except ImportError as missing:
        raise ImportError("polars is not installed; `pip install polars`") from missing
    if not parquet:
        return polars.scan_csv(path / "points.csv", infer_schema_length=None)
    return polars.scan_parquet(
        path / "version=*" / "**" / "*.parquet",
        hive_partitioning=True,
        hive_schema={"version": polars.String, "device": polars.String, "seed": polars.UInt64},
        missing_columns="insert",
        extra_columns="ignore",
    )
