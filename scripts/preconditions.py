#!/usr/bin/env python3
"""Measures how long the states of `--precondition` take on every device of the library, and whether a long one is announced.

Writes docs/preconditions.csv: the processor time of `nandscope run` with a single read after the preparation, in seconds, and
the time that the command announced beforehand on standard error, which is no terminal. Rows of devices and states that are not
chosen stay. A device that reaches its end of life on the way is noted.

A time over a minute that was not announced, and an announced time that is wrong by more than a factor of 2 of the processor
time, are errors (`--check` reads the table only).
"""

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs/preconditions.csv"
STATES = ["sequential", "random", "overwritten", "steady"]
JOB = "[read]\nrw=read\nbs=4k\nioengine=libaio\ndirect=1\nnumber_ios=1\n"
HEADER = ["device", "GB", "state", "processor s", "announced s", "note"]
# Seconds over which a preparation must be announced, and the largest error of the announced time.
LONG = 60.0
FACTOR = 2.0
UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}


def announced(text: str) -> float | None:
    """The announced time in seconds."""
    found = re.search(r"takes about ([0-9.]+) (\w+)", text)
    return float(found[1]) * UNITS[found[2]] if found else None


def measure(binary: Path, device: str, state: str, folder: Path) -> tuple[float, float | None, str]:
    """Processor time of the preparation, the announced time, and a note on a device that did not reach the state."""
    job = folder / "job.fio"
    job.write_text(JOB)
    command = [binary, "run", job, f"sim:{device}", "--precondition", state]
    said_to = folder / "said"
    with said_to.open("w") as file:
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=file)
        _, status, used = os.wait4(process.pid, 0)
    # The process is waited for already.
    process.returncode = os.waitstatus_to_exitcode(status)
    said = said_to.read_text()
    worn = process.returncode == 1 and "reached its end of life" in said
    if process.returncode != 0 and not worn:
        raise RuntimeError(f"{device}, {state}: exit code {process.returncode}\n{said}")
    return used.ru_utime + used.ru_stime, announced(said), "end of life" if worn else ""


def in_a_folder(binary: Path, device: str, state: str) -> tuple[float, float | None, str]:
    """As `measure`, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return measure(binary, device, state, Path(folder))


def row(device: dict, state: str, spent: float, said: float | None, note: str) -> dict[str, str]:
    """The row of a device and a state."""
    print(f"{device['name']} {state} {spent:.2f} s, announced: {said}", flush=True)
    return {
        "device": device["name"],
        "GB": f"{device['capacity_bytes'] / 1e9:.0f}",
        "state": state,
        "processor s": f"{spent:.1f}",
        "announced s": "" if said is None else f"{said:.0f}",
        "note": note,
    }


def faults(rows: list[dict[str, str]]) -> list[str]:
    """Rows that are not announced as they must be."""
    all = []
    for row in rows:
        what = f"{row['device']}, {row['state']}"
        spent, said = float(row["processor s"]), row["announced s"]
        if not said:
            if spent > LONG:
                all.append(f"{what}: {spent:.0f} s were not announced")
        elif not 1 / FACTOR <= float(said) / spent <= FACTOR:
            all.append(f"{what}: {said} s were announced, and {spent:.0f} s spent")
    return all


def read() -> dict[tuple[str, str], dict[str, str]]:
    if not TABLE.exists():
        return {}
    with TABLE.open() as file:
        return {(row["device"], row["state"]): row for row in csv.DictReader(file)}


def write(rows: list[dict[str, str]]) -> None:
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, HEADER, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=ROOT / "target/release/nandscope")
    parser.add_argument("--devices", nargs="*", help="devices to measure [default: all]")
    parser.add_argument("--states", nargs="*", choices=STATES, default=STATES)
    parser.add_argument("--jobs", type=int, default=2, help="devices that are measured at once [default: 2]")
    parser.add_argument("--check", action="store_true", help="measure nothing, check the table")
    arguments = parser.parse_args()
    if arguments.check and not TABLE.exists():
        sys.exit(f"{TABLE} does not exist; without --check it is measured")
    rows = read()
    if not arguments.check:
        listed = subprocess.run([arguments.binary, "devices", "--json"], capture_output=True, text=True, check=True)
        library = json.loads(listed.stdout)["simulated"]
        chosen = [d for d in library if not arguments.devices or d["name"] in arguments.devices]
        order = {entry["name"]: i for i, entry in enumerate(library)}
        with ThreadPoolExecutor(arguments.jobs) as pool:
            pairs = {
                pool.submit(in_a_folder, arguments.binary.resolve(), device["name"], state): (device, state)
                for device in chosen
                for state in arguments.states
            }
            for done in as_completed(pairs):
                device, state = pairs[done]
                rows[device["name"], state] = row(device, state, *done.result())
                known = [row for row in rows.values() if row["device"] in order]
                write(sorted(known, key=lambda row: (order[row["device"]], STATES.index(row["state"]))))
    wrong = faults(list(read().values()))
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
