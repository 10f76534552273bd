#!/usr/bin/env python3
"""`make bench-python`: the Python package beside the command, two threads beside one, the memory of tables, a sweep on two
threads. It needs the package in target/python-venv and the command of the same build (`make python`), and writes a
section of docs/performance.md. A comparison whose sides differ in operations, bytes or queue depth is an error.

Processor times are those of the kernel for a process and its children, so that other load on the machine counts little;
wall times are printed where processor times say nothing, with the load average.

`--quick` runs each comparison once, with little work, and checks the work only: no figure is written.
"""

import argparse
import datetime
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import page_section
from same_work import Work, demand

ROOT = Path(__file__).resolve().parent.parent
DRIVE = "reference-nvme-64gb"
DEPTH = 32
SIZE = 4096
READS = "[reads]\nrw=randread\nbs=4k\nioengine=libaio\niodepth=32\nnumber_ios={count}\n"
WRITES = "[writes]\nrw=randwrite\nbs=4k\nioengine=libaio\niodepth=32\nnumber_ios={count}\n"

# Each is run in an interpreter of its own.
IN_PYTHON = """
import nandscope, sys
drive = nandscope.Device("{drive}")
drive.precondition("sequential")
print(drive.run(nandscope.Job.from_file("job.fio")).json())
"""
IN_THREADS = """
import nandscope, sys, threading, time, resource, json
drive = nandscope.Device("{drive}")
drive.precondition("sequential")
job = nandscope.Job.from_file("job.fio")
done = []
def measure(threads):
    forks = [[drive.fork() for _ in range(2 // threads)] for _ in range(threads)]
    def work(own):
        for fork in own:
            done.append(sum(fork.run(job).jobs["operations"]))
    all = [threading.Thread(target=work, args=(own,)) for own in forks]
    used, began = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    for thread in all: thread.start()
    for thread in all: thread.join()
    now = resource.getrusage(resource.RUSAGE_SELF)
    return time.monotonic() - began, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
print(json.dumps([measure(1), measure(2), done]))
"""
IN_TABLES = """
import json, resource
import nandscope, polars
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
def now():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
drive = nandscope.Device("{drive}")
drive.precondition("sequential")
polars.DataFrame({{"warm": [1]}}).sum()
result = drive.run(nandscope.Job.from_file("job.fio"), operations=True)
del drive
operations = result.operations
run, before = peak(), now()
frame = polars.DataFrame(operations)
rows, size, after, top = frame.height, frame.estimated_size(), now(), peak()
print(json.dumps([rows, size, before, after, run, top]))
"""


def run(arguments: list[str], folder: Path) -> tuple[float, float, str]:
    """Wall and processor time of a process, and what it printed."""
    used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(arguments, cwd=folder, check=True, capture_output=True, text=True)
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return time.monotonic() - began, cpu, done.stdout


def beside_the_command(command: Path, folder: Path, pairs: int, count: int) -> str:
    (folder / "job.fio").write_text(READS.format(count=count))
    theirs, ours = [], []
    for _ in range(pairs):
        line = [str(command), "run", "job.fio", f"sim:{DRIVE}", "--precondition", "sequential", "--result", "r.json"]
        theirs.append(run(line, folder)[1])
        _, cpu, text = run([sys.executable, "-c", IN_PYTHON.format(drive=DRIVE)], folder)
        ours.append(cpu)
        documents = {"command": (folder / "r.json").read_text(), "Python": text}
        sides = {name: Work.of_nandscope(json.loads(text)) for name, text in documents.items()}
        demand("reads in Python", sides, count, SIZE, DEPTH)
    ratio = statistics.median(o / t for o, t in zip(ours, theirs, strict=True))
    return (f"| {count / 1e6:g} million 4 KiB random reads, processor time: command, Python "
            f"| {statistics.median(theirs):.2f} s, {statistics.median(ours):.2f} s | {ratio:.3f} | ≤ 1.05 |")


def two_threads(folder: Path, pairs: int, count: int) -> list[str]:
    (folder / "job.fio").write_text(READS.format(count=count))
    all_of = [json.loads(run([sys.executable, "-c", IN_THREADS.format(drive=DRIVE)], folder)[2]) for _ in range(pairs)]
    if any(done != [count] * 4 for _, _, done in all_of):
        sys.exit(f"two threads: runs did other than {count} operations: {[done for _, _, done in all_of]}")
    wall = [one[0] / two[0] for one, two, _ in all_of]
    cpu = [2 * one[1] / two[1] for one, two, _ in all_of]
    return [f"| two runs on two threads: speed-up, wall time | median {statistics.median(wall):.2f} "
            f"| {max(wall):.2f} at best | ≥ 1.9 |",
            "| the same from processor time (2 × one thread / two threads) "
            f"| median {statistics.median(cpu):.2f} | {max(cpu):.2f} at best | ≥ 1.9 |"]


def tables(folder: Path, rows: int) -> str:
    # More operations than the drive has units.
    more = f"norandommap=1\nio_size={4096 * rows}\n"
    (folder / "job.fio").write_text(READS.format(count=rows) + more)
    out = run([sys.executable, "-c", IN_TABLES.format(drive=DRIVE)], folder)[2]
    wanted, (rows, size, before, after, run_peak, top) = rows, json.loads(out)
    if rows != wanted:
        sys.exit(f"tables: {rows} operations instead of {wanted}")
    return (f"| {rows:.0e} operations ({size / 1e9:.2f} GB of buffers) to polars: growth of memory "
            f"| {(after - before) / 1e6:.1f} MB | {100 * (after - before) / size:.2f} % of the buffers; "
            f"peak {100 * max(0, top - run_peak) / size:.2f} % above that of the run | ≤ 5 % |")


def sweep(command: Path, folder: Path, points: int, count: int) -> list[str]:
    (folder / "job.fio").write_text(WRITES.format(count=count))
    shares = ",".join(str(round(0.1 + 0.05 * n, 2)) for n in range(4))
    depths = ",".join(str(1 + n) for n in range(points // 4))
    line = [str(command), "sweep", "job.fio", f"sim:{DRIVE}", "--param", f"ftl.over_provisioning={shares}", "--job",
            f"iodepth={depths}", "--precondition", "steady", "--metric", "waf,p99"]
    alone = run([*line[:2], "job.fio", *line[3:], "--threads", "1", "-o", "one"], folder)
    both = run([*line, "--threads", "2", "-o", "two"], folder)
    same = (folder / "one/points.csv").read_bytes() == (folder / "two/points.csv").read_bytes()
    if not same:
        sys.exit("sweep: the number of threads changed the table")
    return [f"| sweep of {points} points ({count:,} writes each, steady state): processor time with one "
            f"thread, with two | {alone[1]:.1f} s, {both[1]:.1f} s | {both[1] / alone[1]:.3f} | ≤ 1.1 |",
            f"| the same: wall time with two threads, half of the processor time with one | {both[0]:.1f} s, {alone[1] / 2:.1f} s "
            f"| {2 * both[0] / alone[1]:.2f} | ≤ 1.1 |"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--reads", type=int, default=10_000_000)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--writes", type=int, default=1_000_000)
    parser.add_argument("--print-only", action="store_true", help="leave docs/performance.md as it is")
    parser.add_argument("--quick", action="store_true", help="check the work with little of it; write nothing")
    options = parser.parse_args()
    if options.quick:
        options.pairs, options.reads, options.rows, options.points, options.writes = 1, 100_000, 500_000, 4, 1000
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    built = [target / profile / "nandscope" for profile in ("release", "debug")]
    command = max((path for path in built if path.exists()), key=lambda path: path.stat().st_mtime)
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = [beside_the_command(command, folder, options.pairs, options.reads)]
        lines += two_threads(folder, options.pairs, options.reads)
        lines.append(tables(folder, options.rows))
        lines += sweep(command, folder, options.points, options.writes)
    if options.quick:
        print("the work of both sides is the same in every comparison")
        return
    profile = "release" if command.parent.name == "release" else "development"
    text = (
        f"Measured on {datetime.date.today()} on {os.cpu_count()} processors (Linux {platform.release()}) with the {profile} build, "
        f"load average {load:.1f} at the start and {os.getloadavg()[0]:.1f} at the end.\n\n"
        "| what | measured | ratio | required |\n|---|---|---|---|\n" + "\n".join(lines)
    )
    print(text)
    if not options.print_only:
        page_section.replace(page_section.PERFORMANCE, "bench-python", text)


if __name__ == "__main__":
    main()
