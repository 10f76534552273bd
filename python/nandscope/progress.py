"""Progress bars for runs and sweeps: one line of plain text in a terminal or a notebook.

A bar appears by default when a person watches: standard error is a terminal, or the code runs in the kernel of a notebook.
The environment variable ``NANDSCOPE_PROGRESS=0`` turns these default bars off.
"""

import os
import shutil
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TextIO

DELAY_S = 0.5
"""Default bars appear only for work that takes longer, s."""
_INTERVAL_S = 0.1


class ProgressBar:
    """Shows the progress of a run or a sweep: ``device.run(job, progress=ProgressBar())``.

    It writes one line to `file` (standard error by default), at most ten times a second. Work that ends within `delay_s`
    seconds shows nothing. With `erase=True` the line disappears at the end.
    """

    def __init__(
        self,
        title: str = "run",
        file: TextIO | None = None,
        width: int = 30,
        *,
        delay_s: float = 0.0,
        erase: bool = False,
    ) -> None:
        self.title = title
        self.file = file
        self.width = max(1, width)
        self.erase = erase
        self._next = time.monotonic() + delay_s if delay_s > 0 else 0.0
        self._shown = ""

    def __call__(self, done: float | None, of: int, elapsed_s: float | None = None) -> None:
        """`Device.run` passes the fraction that is done, the number of operations, and seconds on the device's clock;
        `sweep` passes the number of finished points and the number of all points.
        """
        if elapsed_s is not None:
            # The clock stands still while a device is preconditioned, and `of` counts units of its map.
            operations = f"{of:,} operations, " if of else ""
            self.show(done, f"{operations}{elapsed_s:.1f} s of device time" if elapsed_s else "")
        elif done is not None:
            self.show(done / max(1, of), f"{done} of {of} points", is_last=done >= of)

    def show(self, share: float | None, text: str, *, is_last: bool = False) -> None:
        """Draws the bar at a share from 0 to 1 (`None` if unknown), followed by a text; `is_last` closes it."""
        now = time.monotonic()
        if now >= self._next or (is_last and self._shown):
            self._next = now + _INTERVAL_S
            if share is None:
                bar, percent = "·" * self.width, ""
            else:
                full = min(self.width, max(0, round(share * self.width)))
                bar, percent = "█" * full + "·" * (self.width - full), f"{share:4.0%} "
            self._draw(f"{self.title}: {bar} {percent}{text}".rstrip())
        if is_last:
            self.close()

    def close(self) -> None:
        """Ends the line of the bar, or erases it."""
        if self._shown:
            self._end()
            self._shown = ""

    def _draw(self, line: str) -> None:
        file = self.file or sys.stderr
        if file.isatty():
            # A line that wraps could not be overwritten.
            line = line[: max(1, shutil.get_terminal_size().columns - 1)]
        file.write("\r" + line.ljust(len(self._shown)))
        file.flush()
        self._shown = line

    def _end(self) -> None:
        file = self.file or sys.stderr
        file.write("\r" + " " * len(self._shown) + "\r" if self.erase else "\n")
        file.flush()


class _NotebookBar(ProgressBar):
    """A bar in the output of a notebook cell, where an erased line of standard error would leave a coloured box."""

    _display: Any = None

    def _draw(self, line: str) -> None:
        content = {"text/plain": line}
        if self._display is None:
            from IPython.display import display

            self._display = display(content, raw=True, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._display.update(content, raw=True)
        self._shown = line or " "

    def _end(self) -> None:
        self._draw("")


def chosen(progress: Callable[..., object] | bool | None, title: str) -> Callable[..., object] | None:
    """The callable for the argument `progress` of a call, or `None` for no progress.

    `None` stands for a bar if a person watches, `True` for a bar, `False` for none.
    """
    if progress is None:
        progress = is_watched()
    if callable(progress):
        return progress
    if not isinstance(progress, bool):
        raise TypeError(f"progress is a {type(progress).__name__}; give True, False, or a callable such as ProgressBar()")
    if not progress:
        return None
    return (_NotebookBar if _in_notebook() else ProgressBar)(title, delay_s=DELAY_S, erase=True)


def finish(progress: Callable[..., object] | None) -> None:
    """Closes a bar at the end of the work; other callables stay as they are."""
    if isinstance(progress, ProgressBar):
        progress.close()


def is_watched() -> bool:
    """Whether bars are shown by default: in a notebook or a terminal, in the main thread only, as bars of several threads
    would overwrite each other.
    """
    if os.environ.get("NANDSCOPE_PROGRESS") == "0" or threading.current_thread() is not threading.main_thread():
        return False
    return _in_notebook() or (sys.stderr is not None and not sys.stderr.closed and sys.stderr.isatty())


def _in_notebook() -> bool:
    """Whether IPython runs in a kernel, as it does in notebooks; its terminal has none."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None
