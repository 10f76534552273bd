#!/usr/bin/env python3
"""Executes notebooks from the first cell to the last and compares their text outputs with the committed ones.

`--write` renews the outputs in place instead. Pictures are not compared, as their bytes depend on the version of matplotlib,
but a cell has as many as before. A notebook has text outputs and a picture; it has no asserts (python/tests has them), no
messages on standard error and no paths or addresses of this machine.
"""

import argparse
import difflib
import importlib
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from traitlets.config import Config

LIMIT_S = 300
# Mime types that are compared as text; others are pictures.
TEXTS = ("text/plain", "text/html", "text/markdown")
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
LOCAL_PATH = re.compile(r"(?<![\w./])/(?:home|root|tmp|work|Users|usr|opt)/\S+|0x[0-9a-f]{6,}")


def execute(path: Path) -> Any:
    """The notebook with new outputs, without timestamps and without the versions of Python and matplotlib."""
    notebook = nbformat.read(path, as_version=4)
    # Sockets in a private folder instead of TCP ports, which other users of the machine could reach.
    with tempfile.TemporaryDirectory(prefix="notebook-") as folder:
        kernel = Config(KernelManager={"transport": "ipc", "ip": f"{folder}/kernel"})
        client = NotebookClient(notebook, timeout=LIMIT_S, kernel_name="python3", record_timing=False, config=kernel)
        try:
            # The folder of the notebook, as in Jupyter.
            client.execute(cwd=str(path.parent))
        except CellExecutionError as error:
            sys.exit(f"{path}: a cell fails:\n{error}")
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in code_cells(notebook):
        cell.outputs = [clean(output) for output in joined(cell.outputs)]
    return notebook


def code_cells(notebook: Any) -> list[Any]:
    """The cells with code."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def joined(outputs: list[Any]) -> list[Any]:
    """The outputs with the pieces of a stream joined: the kernel cuts them by time."""
    whole: list[Any] = []
    for output in outputs:
        if output.output_type == "stream" and whole and whole[-1].get("name") == output.name:
            whole[-1].text += output.text
        else:
            whole.append(output)
    return whole


def clean(output: Any) -> Any:
    """The output without metadata, which differ between versions of the kernel."""
    if "metadata" in output:
        output.metadata = {}
    return output


def texts(notebook: Any) -> list[str]:
    """The outputs as lines; a picture is one line with its type."""
    lines = []
    for number, cell in enumerate(code_cells(notebook), 1):
        lines.append(f"[code cell {number}]")
        for output in joined(cell.outputs):
            if output.output_type == "stream":
                lines += [f"{output.name}: {line}" for line in output.text.splitlines()]
                continue
            for kind, content in sorted(output.get("data", {}).items()):
                lines += [f"{kind}: {line}" for line in content.splitlines()] if kind in TEXTS else [f"({kind})"]
    return lines


def faults(notebook: Any) -> list[str]:
    """Reasons why a notebook cannot be committed."""
    cells = code_cells(notebook)
    found = [f"code cell {number} has an assert; move it to python/tests"
             for number, cell in enumerate(cells, 1) if re.search(r"^\s*assert\b", cell.source, re.MULTILINE)]
    shown = texts(notebook)
    found += [f"standard error: {line}" for line in shown if line.startswith("stderr: ")]
    found += [f"text of this machine: {line}" for line in shown if LOCAL_PATH.search(line)]
    if not any(line.startswith("(image/") for line in shown):
        found.append("no picture")
    return found


def differences(committed: Any, executed: Any) -> list[str]:
    """The text outputs that differ, as lines of a diff."""
    old, new = texts(committed), texts(executed)
    return list(difflib.unified_diff(old, new, "committed", "executed", lineterm="", n=2))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--write", action="store_true", help="renew the outputs in place")
    parser.add_argument("notebooks", nargs="+", type=Path, metavar="NOTEBOOK")
    options = parser.parse_args(arguments)
    # Builds matplotlib's cache of fonts here: the first import anywhere reports it on standard error.
    importlib.import_module("matplotlib.font_manager")
    # Bars appear after a wall-clock time.
    os.environ["NANDSCOPE_PROGRESS"] = "0"
    # The kernel chooses the backend that embeds pictures.
    os.environ.pop("MPLBACKEND", None)
    failed = False
    for path in options.notebooks:
        began = time.monotonic()
        committed = nbformat.read(path, as_version=4)
        executed = execute(path)
        problems = faults(executed)
        if options.write and not problems:
            nbformat.write(executed, path)
        elif not options.write:
            problems += differences(committed, executed)
        for problem in problems:
            print(problem, file=sys.stderr)
        if problems:
            failed = True
            print(f"{path}: outputs differ from the committed ones, or cannot be committed (see above); fix the notebook,"
                  f" or renew its outputs with `scripts/run-notebooks.py --write {path}`", file=sys.stderr)
        else:
            print(f"{path}: {len(code_cells(executed))} cells, {time.monotonic() - began:.1f} s")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
