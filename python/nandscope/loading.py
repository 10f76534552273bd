"""Reads the points of sweeps, of one machine or many, as one lazy table."""

import os
from pathlib import Path
from typing import Any

from nandscope.errors import Error, FileError
from nandscope.sweeping.names import metric_column


def load(folder: str | os.PathLike[str]) -> Any:
    """The points that sweeps of Python and of the command line wrote into `folder`, as a polars LazyFrame.

    The files are Parquet in folders ``version=…/device=…/seed=…``; these become columns, and only what a query
    needs is read. The axes have their full names (`job.iodepth`), since sweeps with other axes may be in the folder;
    the metrics have their units, as in `Sweep.table` (`p99_us`). Columns that a sweep did not have are empty in its
    rows. Needs polars. Copy folders of several machines into one to read them together: a result has the same name
    everywhere.
    """
    path = Path(folder)
    if not path.is_dir():
        raise FileError(f"{path} is not a folder; name the one that sweep(out=…) wrote")
    files = sorted(path.glob("version=*/device=*/seed=*/[!.]*.parquet"))
    if not files and next(path.glob("points/*.json"), None) is not None:
        raise Error(f"{path} has results but no table of them; run the same sweep again, which only writes it")
    if not files:
        raise Error(f"{path} has no points of a sweep; name the folder that sweep(out=…) or `nandscope sweep -o` wrote")
    try:
        import polars
    except ImportError as missing:
        raise ImportError("polars is not installed; `pip install polars`") from missing
    # Sweeps with other values of a parameter may have another type of its column.
    alike: dict[str, list[Path]] = {}
    for file in files:
        alike.setdefault(str(polars.read_parquet_schema(file)), []).append(file)
    tables = [
        polars.scan_parquet(
            some,
            hive_partitioning=True,
            hive_schema={"version": polars.String, "device": polars.String, "seed": polars.UInt64},
        )
        for some in alike.values()
    ]
    table = polars.concat(tables, how="diagonal_relaxed")
    return table.rename(metric_column)
