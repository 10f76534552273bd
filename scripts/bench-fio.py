#!/usr/bin/env python3
"""Holds the real engine against fio and writes the section of docs/performance.md.

Both do the same job on the same target, a loop device with direct I/O over a file in a tmpfs, in
alternating runs, so that what else the machine does hits both. fio runs with io_uring, fixed
buffers and registered files. Then both generators run on a target that does nothing.

A loop device has a worker thread in the kernel. Whether the scheduler puts it beside the generator or
on another processor changes the result of one and the same tool threefold, and by chance; so the
kernel's workers are kept on processor 0 while a single job is compared, which gets a processor of its
own, but at queue depth 1, where one of both always waits, the same.

Root only: it mounts a tmpfs, attaches a loop device and restricts the kernel's workers, and takes all
back again.

    scripts/bench-fio.py [--pairs 9] [--seconds 2] [--binary target/release/nandscope] [--dry-run]
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


def run_fio(target, options, milliseconds, _folder, _binary):
    command = ["fio", "--name=bench", f"--filename={target}", "--ioengine=io_uring", "--direct=1",
               "--fixedbufs", "--registerfiles", "--norandommap", f"--size={SIZE}", "--time_based",
               f"--runtime={milliseconds}ms", "--group_reporting", "--thread", "--lat_percentiles=1",
               "--clat_percentiles=0", "--percentile_list=50:99", "--output-format=json"]
    text, cpu = processor_time(command + [f"--{k}={v}" for k, v in options.items()])
    job = json.loads(text[text.index("{"):])["jobs"][0]
    part = job["read"] if job["read"]["total_ios"] else job["write"]
    points = part["lat_ns"]["percentile"]
    return {"ops": part["total_ios"], "iops": part["iops"], "cpu": cpu,
            "p50": points["50.000000"], "p99": points["99.000000"]}


def run_nandscope(target, options, milliseconds, folder, binary):
    job = folder / "bench.fio"
    lines = [f"{k}={v}" for k, v in options.items()]
    job.write_text("\n".join(["[bench]", "norandommap", f"size={SIZE}", "time_based", "group_reporting",
                              "percentile_list=50:99", f"runtime={milliseconds}ms", *lines, ""]))
    result = folder / "bench.json"
    _, cpu = processor_time([binary, "run", job, target, f"--destroy-data={pathlib.Path(target).name}", "--yes-destroy",
                             pathlib.Path(target).name, "-o", result])
    document = json.loads(result.read_text())
    part = document["steps"][0]["jobs"][0]["directions"][0]
    points = dict(part["latency"]["percentiles"])
    return {"ops": part["operations"], "iops": part["iops"], "cpu": cpu, "p50": points[50.0], "p99": points[99.0],
            "null": float(document["environment"]["generator cost"].split()[0])}


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
    # What a program takes before and after the job is not the price of an operation.
    start = {tool: statistics.median(tool(target, options, 1, folder, arguments.binary)["cpu"] for _ in range(3))
             for tool in tools}
    pairs = []
    for number in range(arguments.pairs):
        order = tools if number % 2 == 0 else tools[::-1]
        got = {tool: tool(target, options, int(arguments.seconds * 1000), folder, arguments.binary) for tool in order}
        for tool, run in got.items():
            run["cpu_op"] = max(run["cpu"] - start[tool], 0.0) / run["ops"] * 1e6
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
    command = ["fio", "--name=null", "--ioengine=null", "--rw=randread", "--bs=4k", "--size=16g", "--iodepth=32",
               "--thread", "--output-format=json"]

    def once(operations):
        return processor_time(command + [f"--number_ios={operations}"])[1]

    costs = []
    for _ in range(arguments.pairs):
        costs.append((once(NULL_OPERATIONS) - once(1)) / NULL_OPERATIONS * 1e9)
    return statistics.median(costs)


def section(rows, theirs, ours, arguments, load):
    version = subprocess.run(["fio", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    today = datetime.date.today().isoformat()
    return "\n".join([
        f"Measured on {today} with {version} on {os.cpu_count()} processors (Linux {os.uname().release}), load average "
        f"{load:.1f} at the start:",
        f"{arguments.pairs} pairs of runs of {arguments.seconds:g} s, in alternating order, on a loop device with direct "
        "I/O over a tmpfs. Medians (fio / nandscope);",
        "ratios are medians of those of the pairs. CPU: user and system time.",
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
            for _ in range(1024):
                file.write(os.urandom(1 << 20))
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
        # A loop device lets go of its file a little after it was detached.
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
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("a loop device needs root")
    if os.cpu_count() < 2:
        sys.exit("the comparison needs two processors: one for the kernel's worker, one for the generator")
    arguments.binary = arguments.binary.resolve()
    with tempfile.TemporaryDirectory(prefix="nandscope-bench-") as folder:
        text = with_target(arguments, pathlib.Path(folder))
    if arguments.dry_run:
        print(text)
    else:
        page_section.replace(page_section.PERFORMANCE, "bench-fio", text)


if __name__ == "__main__":
    main()
