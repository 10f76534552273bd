#!/usr/bin/env python3
"""Executes notebooks from their first cell to the last; the files stay as they are, without outputs."""

import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient

LIMIT_S = 300


def main(paths: list[str]) -> None:
    for path in map(Path, paths):
        began = time.monotonic()
        notebook = nbformat.read(path, as_version=4)
        if any(cell.get("outputs") for cell in notebook.cells if cell.cell_type == "code"):
            sys.exit(f"{path} holds outputs; remove them before it is committed")
        NotebookClient(notebook, timeout=LIMIT_S, kernel_name="python3").execute()
        print(f"{path}: {sum(cell.cell_type == 'code' for cell in notebook.cells)} cells, {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
