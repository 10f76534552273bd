#!/usr/bin/env python3
"""Compares the real engine with fio and writes the section of docs/performance.md.

Both run the same job on the same target, a loop device with direct I/O over a file in a tmpfs, in
alternating runs, so that other load on the machine affects both. The job has a fixed number of
operations; a run whose operations, bytes or queue depth differ ends the comparison with an error.
fio runs with fixed buffers and registered files. Then both generators run on a target that does nothing.

A loop device has a worker thread in the kernel. Whether the scheduler puts it beside the generator or
on another processor changes the result of one and the same tool threefold, and by chance. Therefore the
kernel's workers are kept on processor 0 while a single job is compared. The job has processor 1; at
queue depth 1, where generator and worker wait for each other, it has processor 0 as well.

Root only: it mounts a tmpfs, attaches a loop device and restricts the kernel's workers, and reverts all
of it at the end.

    scripts/bench-fio.py [--pairs 9] [--seconds 2] [--binary target/release/nandscope] [--dry-run] [--quick]

`--quick` runs one short pair of each job and checks the work only: no figure is written.
"""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import page_section
from same_work import LEAST_DEPTH, LEAST_DEPTH_BUSY, Work, demand

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIZE = "1g"
CASES = [
    ("4 KiB random read, QD1", {"rw": "randread", "bs": "4k", "iodepth": 1, "cpus_allowed": 0}),
    ("4 KiB random read, QD32", {"rw": "randread", "bs": "4k", "iodepth": 32, "cpus_allowed": 1}),
    ("128 KiB sequential read, QD8", {"rw": "read", "bs": "128k", "iodepth": 8, "cpus_allowed": 1}),
    ("128 KiB sequential write, QD8", {"rw": "write", "bs": "128k", "iodepth": 8, "cpus_allowed": 1}),
    ("4 KiB random read, 4 jobs at QD16", {"rw": "randread", "bs": "4k", "iodepth": 16, "numjobs": 4}),
]
NULL_OPERATIONS = 4_000_000


def processor_time(command, **options):
    """Runs a command; gives what it wrote and the processor seconds it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, **options)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


ENGINE = "io_uring"
# Options that only fio has: its fastest way to the device, and the latency that nandscope reports.
FIO_ONLY = ["fixedbufs", "registerfiles", "thread", "lat_percentiles=1", "clat_percentiles=0"]


def block_size(options):
    """Bytes of an operation."""
    return int(options["bs"].removesuffix("k")) << 10


def job_file(folder, options, more):
    """The job of both sides, with further lines."""
    lines = [f"ioengine={ENGINE}", "direct=1", "norandommap", f"size={SIZE}", "group_reporting",
             "percentile_list=50:99", *(f"{k}={v}" for k, v in options.items())]
    path = folder / "bench.fio"
    path.write_text("\n".join(["[bench]", *lines, *more, ""]))
    return path


def fio_job(target, options, more, folder):
    """The JSON of fio's job, and its processor seconds."""
    job = job_file(folder, options, [f"filename={target}", *FIO_ONLY, *more])
    text, cpu = processor_time(["fio", "--output-format=json", job])
    return json.loads(text[text.index("{"):])["jobs"][0], cpu


def run_fio(target, options, operations, folder, _binary):
    job, cpu = fio_job(target, options, [fixed(options, operations)], folder)
    part = job["read"] if job["read"]["total_ios"] else job["write"]
    points = part["lat_ns"]["percentile"]
    return {"work": Work.of_fio(job), "iops": part["iops"], "cpu": cpu,
            "p50": points["50.000000"], "p99": points["99.000000"]}


def run_nandscope(target, options, operations, folder, binary):
    # The clones share the device as those of fio do.
    job = job_file(folder, options, [f"filename={target}", fixed(options, operations)])
    result = folder / "bench.json"
    serial = pathlib.Path(target).name
    _, cpu = processor_time([binary, "run", job, target, f"--destroy-data={serial}", "--yes", serial, "--result", result])
    document = json.loads(result.read_text())
    part = document["steps"][0]["jobs"][0]["directions"][0]
    points = dict(part["latency"]["percentiles"])
    return {"work": Work.of_nandscope(document), "iops": part["iops"], "cpu": cpu, "p50": points[50.0],
            "p99": points[99.0], "null": float(document["environment"]["generator cost"].split()[0])}


def fixed(options, operations):
    """The line of a job that ends each of its clones after its share of the operations."""
    return f"io_size={operations // options.get('numjobs', 1) * block_size(options)}"


def operations_in(seconds, target, options, folder):
    """Operations that fio does in this time: a multiple of the clones and of the depth."""
    job, _ = fio_job(target, options, ["time_based", f"runtime={max(int(seconds * 1000), 100)}ms"], folder)
    part = job["read"] if job["read"]["total_ios"] else job["write"]
    step = options.get("numjobs", 1) * options["iodepth"]
    return max(int(part["iops"] * seconds) // step, 8) * step


WORKERS = pathlib.Path("/sys/devices/virtual/workqueue/cpumask")


@contextlib.contextmanager
def workers_kept():
    """Keeps the kernel's unbound workers on processor 0 meanwhile."""
    before = WORKERS.read_text()
    WORKERS.write_text("1")
    try:
        yield
    finally:
        WORKERS.write_text(before)


def compare(case, options, arguments, target, folder):
    """One row: medians, and the median of the ratios of the pairs."""
    tools = [run_fio, run_nandscope]
    size = block_size(options)
    depth = options["iodepth"] * options.get("numjobs", 1)
    operations = operations_in(arguments.seconds, target, options, folder)
    # A program's start and end are not part of the cost of an operation.
    few, times = options.get("numjobs", 1), 1 if arguments.quick else 3
    start = {tool: statistics.median(tool(target, options, few, folder, arguments.binary)["cpu"] for _ in range(times))
             for tool in tools}
    pairs = []
    for number in range(arguments.pairs):
        order = tools if number % 2 == 0 else tools[::-1]
        got = {tool: tool(target, options, operations, folder, arguments.binary) for tool in order}
        sides = {"fio": got[run_fio]["work"], "nandscope": got[run_nandscope]["work"]}
        demand(case, sides, operations, size, depth, LEAST_DEPTH_BUSY if arguments.quick else LEAST_DEPTH)
        for tool, run in got.items():
            run["cpu_op"] = max(run["cpu"] - start[tool], 0.0) / operations * 1e6
        pairs.append((got[run_fio], got[run_nandscope]))

    def ratio(key):
        return statistics.median(ours[key] / theirs[key] for theirs, ours in pairs if theirs[key])

    def median(which, key):
        return statistics.median(pair[which][key] for pair in pairs)

    print(f"{case}: IOPS {ratio('iops'):.3f}, CPU {ratio('cpu_op'):.3f}, "
          f"p50 {ratio('p50'):.3f}, p99 {ratio('p99'):.3f}", flush=True)
    row = (f"| {case} | {median(0, 'iops') / 1e3:.1f} k / {median(1, 'iops') / 1e3:.1f} k | {ratio('iops'):.2f} "
           f"| {median(0, 'cpu_op'):.2f} / {median(1, 'cpu_op'):.2f} µs | {ratio('cpu_op'):.2f} "
           f"| {ratio('p50'):.2f} | {ratio('p99'):.2f} |")
    return row, [ours["null"] for _, ours in pairs]


def null_engine(arguments):
    """Processor time per operation of fio on its null engine, ns."""
    count = NULL_OPERATIONS // (20 if arguments.quick else 1)
    command = ["fio", "--name=null", "--ioengine=null", "--rw=randread", "--bs=4k", "--size=16g", "--iodepth=32",
               "--thread", "--output-format=json"]

    def once(operations):
        return processor_time(command + [f"--number_ios={operations}"])[1]

    costs = []
    for _ in range(arguments.pairs):
        costs.append((once(count) - once(1)) / count * 1e9)
    return statistics.median(costs)


def section(rows, theirs, ours, arguments, load):
    version = subprocess.run(["fio", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    today = datetime.date.today().isoformat()
    return "\n".join([
        f"Measured on {today} with {version} on {os.cpu_count()} processors (Linux {os.uname().release}), load average "
        f"{load:.1f} at the start:",
        f"{arguments.pairs} pairs of runs of about {arguments.seconds:g} s, in alternating order, on a loop device with direct "
        "I/O over a tmpfs. Medians (fio / nandscope);",
        "ratios are medians of those of the pairs. CPU: user and system time. In each pair both did the same operations at the",
        "same queue depth.",
        "",
        "| job | IOPS | ratio | CPU per operation | ratio | p50 ratio | p99 ratio |",
        "|---|---|---|---|---|---|---|",
        *rows,
        "",
        f"4 KiB random reads at QD32 on a target that does nothing: fio's null engine {theirs:.0f} ns, nandscope {ours:.0f} ns "
        "of processor time per operation.",
    ])


def with_target(arguments, folder):
    mount = folder / "tmpfs"
    mount.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1200m", "tmpfs", mount], check=True)
    try:
        backing = mount / "backing"
        with open(backing, "wb") as file:
            block = os.urandom(1 << 20)
            for _ in range(1024):
                file.write(block)
        loop = subprocess.run(["losetup", "--find", "--show", "--direct-io=on", backing],
                              capture_output=True, text=True, check=True).stdout.strip()
        try:
            load = os.getloadavg()[0]
            rows, costs = [], []
            for case, options in CASES:
                with workers_kept() if "cpus_allowed" in options else contextlib.nullcontext():
                    row, null = compare(case, options, arguments, loop, folder)
                rows.append(row)
                costs += null
            theirs = null_engine(arguments)
            print(f"null: fio {theirs:.0f} ns, nandscope {statistics.median(costs):.0f} ns")
            return section(rows, theirs, statistics.median(costs), arguments, load)
        finally:
            subprocess.run(["losetup", "--detach", loop], check=False)
    finally:
        # A loop device releases its file a little after it was detached.
        for _ in range(50):
            if subprocess.run(["umount", mount], capture_output=True).returncode == 0:
                break
            time.sleep(0.1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "target/release/nandscope")
    parser.add_argument("--dry-run", action="store_true", help="print the section instead of writing it")
    parser.add_argument("--quick", action="store_true", help="check the work in one short pair of runs each; write nothing")
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.pairs, arguments.seconds = 1, 0.1
    if os.geteuid() != 0:
        sys.exit("a loop device needs root")
    if os.cpu_count() < 2:
        sys.exit("the comparison needs two processors: one for the kernel's worker, one for the generator")
    arguments.binary = arguments.binary.resolve()
    with tempfile.TemporaryDirectory(prefix="nandscope-bench-") as folder:
        text = with_target(arguments, pathlib.Path(folder))
    if arguments.quick:
        print("the work of both sides is the same in every job")
    elif arguments.dry_run:
        print(text)
    else:
        page_section.replace(page_section.PERFORMANCE, "bench-fio", text)


if __name__ == "__main__":
    main()
