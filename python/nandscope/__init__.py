"""An open laboratory for flash storage: simulated devices, fio jobs, results and sweeps.

>>> import nandscope
>>> drive = nandscope.Device("reference-nvme-64gb", overrides={"ftl.over_provisioning": 0.28})
>>> result = drive.run(nandscope.Job(rw="randread", bs="4k", size="1g", number_ios=1000, iodepth=8))
>>> result.complete
True

Times are in the unit that the name says (``_ns``, ``_us``, ``_s``), sizes in bytes, MB/s is 10^6 bytes per second.
"""

import os
from typing import Any

from nandscope._native import (
    Completion,
    Device,
    Job,
    Plot,
    Plots,
    Result,
    Table,
    __version__,
    review,
    validate,
)
from nandscope.errors import BusyError, Error, FileError, InternalError
from nandscope.loading import load
from nandscope.progress import ProgressBar
from nandscope.sweeping import Point, Sweep, sweep, uniform

__all__ = [
    "BusyError",
    "Completion",
    "Device",
    "Error",
    "FileError",
    "InternalError",
    "Job",
    "Plot",
    "Plots",
    "Point",
    "ProgressBar",
    "Result",
    "Sweep",
    "Table",
    "__version__",
    "load",
    "review",
    "sweep",
    "trace",
    "uniform",
    "validate",
]


def trace(path: str | os.PathLike[str], **options: Any) -> Job:
    """A job that replays a trace: a file, or one of the library (``nandscope trace list``).

    Options are fio's, such as ``iodepth=8`` or ``replay_no_stall=1``.
    """
    name = os.fspath(path)
    return Job(name=name.rsplit("/", 1)[-1], read_iolog=name, **options)
