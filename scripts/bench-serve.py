#!/usr/bin/env python3
"""Compares `nandscope serve --speed max` with nbdkit's memory plugin and writes the section of docs/performance.md.

Both serve 1 GiB from memory over a Unix socket to the same client, fio's nbd engine, in alternating runs, so that other
load on the machine affects both. Each run has a fixed number of operations; a run whose operations, bytes or queue depth
differ ends the comparison with an error. Fails if a ratio of the medians is below 0.8.

    scripts/bench-serve.py [--pairs 9] [--seconds 2] [--binary target/release/nandscope] [--dry-run] [--quick]

`--quick` runs one short pair of each job and checks the work only: no ratio is required and no figure is written.
"""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import page_section
from same_work import LEAST_DEPTH, LEAST_DEPTH_BUSY, Work, demand

ROOT = pathlib.Path(__file__).resolve().parent.parent
CARD = "sim:reference-nvme-64gb"
LEAST = 0.8
CASES = [
    ("4 KiB random read, QD32", {"rw": "randread", "bs": "4k", "iodepth": 32}),
    ("1 MiB sequential read, QD8", {"rw": "read", "bs": "1m", "iodepth": 8}),
]


def fio(socket, options):
    """The JSON of the job of one run, and its megabytes per second."""
    command = ["fio", "--name=bench", "--ioengine=nbd", f"--uri=nbd+unix:///?socket={socket}", "--size=1g",
               "--norandommap", "--output-format=json"]
    done = subprocess.run(command + [f"--{k}={v}" for k, v in options.items()], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"fio failed:\n{done.stdout}{done.stderr}")
    # The engine says that it is connected before the document begins.
    job = json.loads(done.stdout[done.stdout.index("{\n"):])["jobs"][0]
    part = job["read"] if job["read"]["total_ios"] else job["write"]
    return job, part["bw_bytes"] / 1e6


def block_size(options):
    """Bytes of an operation."""
    return int(options["bs"][:-1]) << {"k": 10, "m": 20}[options["bs"][-1]]


def compare(case, options, sockets, arguments):
    """One row, and the ratio."""
    size, depth = block_size(options), options["iodepth"]
    # As many operations as the slower server does in the time, by a short run.
    timed = {**options, "time_based": 1, "runtime": "200ms"}
    rate = min(fio(socket, timed)[1] for socket in sockets.values()) * 1e6 / size
    operations = max(int(rate * arguments.seconds) // depth, 8) * depth
    fixed = {**options, "io_size": operations * size}
    runs = {name: [] for name in sockets}
    for number in range(arguments.pairs):
        order = list(sockets) if number % 2 == 0 else list(sockets)[::-1]
        works = {}
        for name in order:
            job, rate = fio(sockets[name], fixed)
            works[name] = Work.of_fio(job)
            runs[name].append(rate)
        demand(case, works, operations, size, depth, LEAST_DEPTH_BUSY if arguments.quick else LEAST_DEPTH)
    theirs, ours = (statistics.median(runs[name]) for name in ("nbdkit", "nandscope"))
    ratios = [a / b for a, b in zip(runs["nandscope"], runs["nbdkit"])]
    print(f"{case}: nbdkit {theirs:.0f} MB/s, nandscope {ours:.0f} MB/s, {ours / theirs:.2f}", flush=True)
    row = f"| {case} | {theirs:.0f} MB/s | {ours:.0f} MB/s | {ours / theirs:.2f} | {min(ratios):.2f} to {max(ratios):.2f} |"
    return row, ours / theirs


def section(rows, arguments, load):
    def version(program):
        return subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()

    return "\n".join([
        f"Measured on {datetime.date.today().isoformat()} with {version('fio')} and {version('nbdkit')} on "
        f"{os.cpu_count()} processors",
        f"(Linux {os.uname().release}), load average {load:.1f} at the start: {arguments.pairs} pairs of runs of about "
        f"{arguments.seconds:g} s, in alternating order, with the same operations at the same queue depth. Medians.",
        "",
        f"| job | nbdkit memory | nandscope {CARD} | ratio | single pairs |",
        "|---|---|---|---|---|",
        *rows,
    ])


def measure(arguments, folder):
    sockets = {name: folder / f"{name}.sock" for name in ("nbdkit", "nandscope")}
    commands = [
        ["nbdkit", "--foreground", "--unix", sockets["nbdkit"], "memory", "1G"],
        [arguments.binary, "serve", CARD, "--nbd", f"unix:{sockets['nandscope']}", "--speed", "max"],
    ]
    servers = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for command in commands]
    try:
        while not all(socket.exists() for socket in sockets.values()):
            if any(server.poll() is not None for server in servers):
                sys.exit("a server ended before it was used")
            time.sleep(0.05)
        for socket in sockets.values():
            fio(socket, {"rw": "write", "bs": "1m", "iodepth": 4})
        load = os.getloadavg()[0]
        found = [compare(case, options, sockets, arguments) for case, options in CASES]
        return section([row for row, _ in found], arguments, load), min(ratio for _, ratio in found)
    finally:
        for server in servers:
            server.terminate()
            server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "target/release/nandscope")
    parser.add_argument("--dry-run", action="store_true", help="print the section instead of writing it")
    parser.add_argument("--quick", action="store_true", help="check the work in one short pair of runs each; write nothing")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.pairs, arguments.seconds = 1, 0.3
    arguments.binary = arguments.binary.resolve()
    with tempfile.TemporaryDirectory(prefix="nandscope-bench-") as folder:
        text, least = measure(arguments, pathlib.Path(folder))
    if arguments.quick:
        print("the work with both servers is the same in every job")
        return
    if arguments.dry_run:
        print(text)
    else:
        page_section.replace(page_section.PERFORMANCE, "bench-serve", text)
    if least < LEAST:
        sys.exit(f"the ratio {least:.2f} is below {LEAST}")


if __name__ == "__main__":
    main()
