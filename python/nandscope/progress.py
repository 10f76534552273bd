"""A progress bar for `Device.run`, of plain text: no library is needed, and notebooks show it too."""

import sys
import time
from typing import TextIO


class ProgressBar:
    """Shows how far a run has come: ``device.run(job, progress=ProgressBar())``.

    It writes one line to `file` (standard error by default), at most ten times a second.
    """

    def __init__(self, title: str = "run", file: TextIO | None = None, width: int = 30) -> None:
        self.title = title
        self.file = file
        self.width = max(1, width)
        self._last = 0.0

    def __call__(self, fraction: float | None, operations: int, elapsed_s: float) -> None:
        """Called by `Device.run`: share that is done, operations, seconds on the device's clock."""
        now = time.monotonic()
        if now - self._last < 0.1:
            return
        self._last = now
        if fraction is None:
            bar, share = "·" * self.width, ""
        else:
            full = min(self.width, max(0, round(fraction * self.width)))
            bar, share = "█" * full + "·" * (self.width - full), f"{fraction:4.0%} "
        line = f"\r{self.title}: {bar} {share}{operations:,} operations, {elapsed_s:.1f} s of device time"
        file = self.file or sys.stderr
        file.write(line)
        file.flush()
