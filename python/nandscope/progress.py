"""A progress bar for runs and sweeps, of plain text: no library is needed, and notebooks show it too."""

import sys
import time
from typing import TextIO


class ProgressBar:
    """Shows how far a run or a sweep has come: ``device.run(job, progress=ProgressBar())``.

    It writes one line to `file` (standard error by default), at most ten times a second.
    """

    def __init__(self, title: str = "run", file: TextIO | None = None, width: int = 30) -> None:
        self.title = title
        self.file = file
        self.width = max(1, width)
        self._last = 0.0

    def __call__(self, done: float | None, of: int, elapsed_s: float | None = None) -> None:
        """Called by `Device.run` with the share that is done, operations, and seconds on the device's clock; by `sweep`
        with the number of points that are done and that of all points.
        """
        if elapsed_s is not None:
            self._draw(done, f"{of:,} operations, {elapsed_s:.1f} s of device time", is_last=False)
        elif done is not None:
            self._draw(done / max(1, of), f"{done} of {of} points", is_last=done >= of)

    def _draw(self, share: float | None, text: str, *, is_last: bool) -> None:
        now = time.monotonic()
        if now - self._last < 0.1 and not is_last:
            return
        self._last = now
        if share is None:
            bar, percent = "·" * self.width, ""
        else:
            full = min(self.width, max(0, round(share * self.width)))
            bar, percent = "█" * full + "·" * (self.width - full), f"{share:4.0%} "
        file = self.file or sys.stderr
        file.write(f"\r{self.title}: {bar} {percent}{text}" + ("\n" if is_last else ""))
        file.flush()
