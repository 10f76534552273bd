"""Progress bars: shown to people by default, and only to them."""

import io
import os
import pty
import subprocess
import sys
import threading
import types
from typing import Any

import pytest
from conftest import reads, writes

import nandscope
from nandscope import progress

LONG = reads(size="1g", io_size="8g", number_ios=3_000_000)
# A fast machine ends this work within the delay of a bar; what is shown must not depend on the machine.
PROGRAM = """
import nandscope
nandscope.progress.DELAY_S = 0.001
job = nandscope.Job(rw="randread", bs="4k", size="1g", io_size="8g", number_ios=3_000_000, iodepth=4)
{code}
"""


class Terminal(io.StringIO):
    """A standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


def watched(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Makes standard error a terminal. Not a fixture: pytest replaces standard error between fixtures and tests."""
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.delenv("NANDSCOPE_PROGRESS", raising=False)
    monkeypatch.setattr(progress, "DELAY_S", 0.001)
    return shown


def on_a_terminal(code: str, **environment: str) -> str:
    """What a program writes to a standard error that is a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", PROGRAM.format(code=code)], stderr=theirs, env=os.environ | environment):
        os.close(theirs)
        pieces = []
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:
                break
            if not piece:
                break
            pieces.append(piece)
    os.close(ours)
    return b"".join(pieces).decode()


def test_a_terminal_shows_runs_and_sweeps() -> None:
    run = on_a_terminal('nandscope.Device("reference-nvme-64gb").run(job)')
    assert "\rrun: " in run and " operations, " in run and run.endswith(" \r") and "\n" not in run
    swept = on_a_terminal('nandscope.sweep({"job.iodepth": [1, 4]}, job, profile="reference-nvme-64gb")')
    assert "\rsweep: " in swept and "2 points" in swept and swept.endswith(" \r")


def test_progress_can_be_turned_off() -> None:
    run = 'nandscope.Device("reference-nvme-64gb").run(job{})'
    assert on_a_terminal(run.format(", progress=False")) == ""
    assert on_a_terminal(run.format(""), NANDSCOPE_PROGRESS="0") == ""
    # Without a terminal no bar appears unless the call requests one.
    for option, is_shown in (("", False), (", progress=True", True)):
        code = PROGRAM.format(code=run.format(option))
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert ("run: " in ran.stderr) == is_shown, option


def test_every_long_call_shows_a_bar(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = watched(monkeypatch)
    drive = nandscope.Device("reference-nvme-64gb")
    drive.precondition("random:90")
    assert "\rprecondition: " in terminal.getvalue() and "operations" not in terminal.getvalue()
    nandscope.Device("sm2708-250gb").probe(time_s=60)
    nandscope.review("sm2708-250gb", quick=True)
    shown = terminal.getvalue()
    assert "\rprobe: " in shown and "\rreview: " in shown and "\n" not in shown and shown.endswith(" \r")


def test_the_argument_decides(tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def call(*_: object) -> None:
        pass

    terminal = watched(monkeypatch)
    assert progress.chosen(call, "run") is call and progress.chosen(False, "run") is None
    assert isinstance(progress.chosen(None, "run"), nandscope.ProgressBar)
    with pytest.raises(TypeError, match="progress is a int; give True, False, or a callable"):
        progress.chosen(3, "run")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="progress is a int"):
        nandscope.Device(tiny).run(writes(), progress=3)
    # Bars of several threads would overwrite each other.
    seen: list[bool] = []
    thread = threading.Thread(target=lambda: seen.append(progress.is_watched()))
    thread.start()
    thread.join()
    assert seen == [False] and progress.is_watched() and terminal.getvalue() == ""


def test_a_bar_of_a_run_ends_its_line() -> None:
    shown = io.StringIO()
    nandscope.Device("reference-nvme-64gb").run(LONG, progress=nandscope.ProgressBar("reads", shown))
    assert shown.getvalue().startswith("\rreads: ") and shown.getvalue().count("\n") == 1
    assert shown.getvalue().endswith("\n")


def test_short_work_shows_nothing_and_long_lines_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    shown = Terminal()
    bar = nandscope.ProgressBar("run", shown, delay_s=60, erase=True)
    bar(0.5, 1000, 1.0)
    bar.close()
    assert shown.getvalue() == ""
    bar = nandscope.ProgressBar("run", shown, erase=True)
    bar(0.5, 1000, 1.0)
    assert len(shown.getvalue()) == 40
    bar.close()
    assert shown.getvalue().endswith("\r" + " " * 39 + "\r")


def test_a_notebook_shows_a_bar_and_removes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, content: dict[str, str], raw: bool) -> None:
            shown.append(content["text/plain"])

    def display(content: dict[str, str], **_: Any) -> Handle:
        shown.append(content["text/plain"])
        return Handle()

    ipython: Any = types.ModuleType("IPython")
    ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    shell: Any = types.ModuleType("IPython.display")
    shell.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", shell)
    monkeypatch.delenv("NANDSCOPE_PROGRESS", raising=False)
    monkeypatch.setattr(progress, "DELAY_S", 0.0)
    assert progress.is_watched()
    bar = progress.chosen(None, "sweep")
    assert bar is not None
    bar(1, 4)
    progress.finish(bar)
    progress.finish(bar)
    assert shown == ["sweep: " + "█" * 8 + "·" * 22 + "  25% 1 of 4 points", ""]
