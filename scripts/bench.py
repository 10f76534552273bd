#!/usr/bin/env python3
"""`make bench`: measures the simulator on one machine, writes docs/performance.csv, and quotes it in docs/performance.md and
README.md. No other text states the speed of the simulator, so that all figures are from one machine and one day.

    scripts/bench.py             measure, write the file and the pages
    scripts/bench.py --pages     write the pages from the file
    scripts/bench.py --check     fail if a page differs from the file
    scripts/bench.py --dry-run   measure and print the file
"""

import argparse
import csv
import datetime
import io
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import textwrap

import page_section

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs/performance.csv"
README = ROOT / "README.md"
COLUMNS = ["figure", "unit", "median", "least", "greatest", "machine", "date"]
WIDTH = 130

# A line of `cargo bench`: name, median, unit, least and greatest of several runs.
REPEATED = re.compile(r"(?P<figure>[^:]+): (?P<median>[\d.]+) (?P<unit>million/s|s for 250 GB|s|us) "
                      r"\((?P<least>[\d.]+) to (?P<greatest>[\d.]+)\)")
# A line with one value, and the name that its row has.
SINGLE = [
    (re.compile(r"(?P<figure>.+): write amplification (?P<median>[\d.]+)"), "{}, write amplification", ""),
    (re.compile(r"(?P<figure>.+): overwriting without time: (?P<median>[\d.]+) million/s"), "{}, without time", "million/s"),
    (re.compile(r"(?P<figure>memory .+): .*, (?P<median>[\d.]+) bytes per 4 KiB"), "{}", "bytes per 4 KiB"),
]
# Titles of the figures in the page, in its order.
TITLES = {
    "random read": "4 KiB random reads, QD32, full drive of 64 GiB",
    "random write, 12.5 % spare": "4 KiB random writes, steady state, 12.5 % spare",
    "random write, 12.5 % spare, write amplification": "the same: write amplification",
    "random write, 12.5 % spare, without time": "random overwrites without time, 12.5 % spare",
    "random write, 28 % spare": "4 KiB random writes, steady state, 28 % spare",
    "random write, 28 % spare, write amplification": "the same: write amplification",
    "random write, 28 % spare, without time": "random overwrites without time, 28 % spare",
    "fill, reference-nvme-64gb sequential": "64 GiB filled in sequence",
    "fill, reference-nvme-64gb random": "64 GiB filled at random",
    "card sequential write, recorded-sandisk-sl08g": "4 KiB sequential writes to a card with linear AUs",
    "card sequential write, recorded-kingston-sd-8gb": "the same with logged AUs",
    "card sequential write, recorded-samsung-sd-16gb": "the same with page-mapped AUs",
    "sequential, sm2708-250gb write": "250 GB written in 128 KiB, QD1, sm2708-250gb",
    "sequential, sm2708-250gb read": "the same read",
    "fork, reference-nvme-64gb": "fork of a full drive",
    "memory reference-nvme-64gb": "memory of a full drive, reference-nvme-64gb",
    "memory sm2708-250gb": "memory of a full drive, sm2708-250gb",
    "random read, random map, QD32": "the runner alone: random reads that visit each block once, QD32",
    "random read, no map, QD32": "the same without a map of visited blocks",
    "run of 10 million random reads": "`run` of 10 million 4 KiB random reads, processor time",
    "review of sm2708-250gb": "`review` of sm2708-250gb in two modes, processor time",
    "review of sm2708-250gb, memory": "the same: memory",
}
READS = "[reads]\nrw=randread\nbs=4k\nioengine=libaio\niodepth=32\nnumber_ios=10000000\n"


def machine():
    """Name of the processor and number of processors."""
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            name = re.sub(r"\((R|TM)\)", "", line.split(":", 1)[1])
            return f"{' '.join(name.split())}, {os.cpu_count()} processors"
    return f"{os.uname().machine}, {os.cpu_count()} processors"


def parsed(line):
    """The row of one line of `cargo bench`; `None` for other lines."""
    found = REPEATED.fullmatch(line)
    if found:
        return found.groupdict()
    for pattern, name, unit in SINGLE:
        found = pattern.fullmatch(line)
        if found:
            return {"figure": name.format(found["figure"]), "unit": unit, "median": found["median"]}
    return None


def benches():
    """Rows of `cargo bench`, whose output is passed on."""
    process = subprocess.Popen(["cargo", "bench", "--workspace"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        print(line, end="", flush=True)
        row = parsed(line.strip())
        if row:
            yield row
    if process.wait() != 0:
        sys.exit("cargo bench failed")


def used(command, folder):
    """Processor seconds and greatest resident bytes of a process."""
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(map(str, command))} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def commands():
    """Rows of whole commands of the release build."""
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=ROOT, check=True)
    binary = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/nandscope"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "job.fio").write_text(READS)
        run = [binary, "run", "job.fio", "sim:reference-nvme-64gb", "--precondition", "sequential", "--result", "run.json"]
        review = [binary, "review", "sim:sm2708-250gb", "-o", "review"]
        for figure, command in [("run of 10 million random reads", run), ("review of sm2708-250gb", review)]:
            runs = [used(command, folder) for _ in range(3)]
            seconds = [one[0] for one in runs]
            yield {"figure": figure, "unit": "s", "median": f"{statistics.median(seconds):.2f}",
                   "least": f"{min(seconds):.2f}", "greatest": f"{max(seconds):.2f}"}
        yield {"figure": "review of sm2708-250gb, memory", "unit": "GB", "median": f"{max(r[1] for r in runs) / 1e9:.2f}"}


def measured():
    """The text of the file."""
    about = {"machine": machine(), "date": datetime.date.today().isoformat()}
    rows = [{column: row.get(column, "") for column in COLUMNS} | about for row in [*benches(), *commands()]]
    figures = {row["figure"] for row in rows}
    if figures != set(TITLES):
        sys.exit(f"only in the benchmarks or only in `TITLES`: {', '.join(sorted(figures ^ set(TITLES)))}")
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def short(number):
    """At most three significant digits, and none that was not measured."""
    digits = len(number.replace(".", "").lstrip("0"))
    return number if digits <= 3 else f"{float(number):#.3g}".removesuffix(".")


def read():
    """Rows of the file by figure, with the machine and the date of all of them."""
    rows = list(csv.DictReader(io.StringIO(FIGURES.read_text())))
    for column in ("machine", "date"):
        if len({row[column] for row in rows}) != 1:
            sys.exit(f"{FIGURES}: the rows differ in `{column}`; run `make bench`")
    unknown = {row["figure"] for row in rows} - set(TITLES)
    if unknown:
        sys.exit(f"{FIGURES}: no title in scripts/bench.py for: {', '.join(sorted(unknown))}")
    return {row["figure"]: row for row in rows}, rows[0]["machine"], rows[0]["date"]


def section(rows, where, day):
    """The table of docs/performance.md."""
    lines = [
        f"Measured on {day} on one core ({where}): median, least and greatest of several runs. [performance.csv](performance.csv) has",
        "the figures.",
        "",
        "| what | median | least to greatest | unit |",
        "|---|---|---|---|",
    ]
    for figure, title in TITLES.items():
        row = rows.get(figure)
        if row:
            spread = f"{short(row['least'])} to {short(row['greatest'])}" if row["least"] else "–"
            unit = {"us": "µs"}.get(row["unit"], row["unit"])
            lines.append(f"| {title} | {short(row['median'])} | {spread} | {unit or '–'} |")
    return "\n".join(lines)


def sentence(rows, where, day):
    """The item of README.md."""
    value = {figure: short(row["median"]) for figure, row in rows.items()}
    amplification = value["random write, 12.5 % spare, write amplification"]
    text = (f"- One core ({where.split(',')[0]}) simulates {value['random read']} million random reads or "
            f"{value['random write, 12.5 % spare']} million random writes (write amplification {amplification}) per second. "
            "A review in two modes (3.9 TB of I/O, 14 hours of device time) takes "
            f"{value['review of sm2708-250gb']} s there and {value['review of sm2708-250gb, memory']} GB "
            "([docs/performance.md](docs/performance.md)).")
    return textwrap.fill(text, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def pages():
    """Path and text of each page with the figures of the file."""
    figures = read()
    performance = page_section.with_section(page_section.PERFORMANCE, "bench", section(*figures))
    item = re.compile(r"^- One core \(.*?(?=\n- |\n\n)", re.DOTALL | re.MULTILINE)
    readme, count = item.subn(lambda _: sentence(*figures), README.read_text())
    if count != 1:
        sys.exit(f"{README} has {count} items that begin with `- One core (`, instead of one")
    return {page_section.PERFORMANCE: performance, README: readme}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--pages", action="store_true", help="write the pages from the file")
    what.add_argument("--check", action="store_true", help="fail if a page differs from the file")
    what.add_argument("--dry-run", action="store_true", help="measure and print the file")
    arguments = parser.parse_args()
    if arguments.dry_run:
        print(measured())
        return
    if not arguments.check and not arguments.pages:
        FIGURES.write_text(measured())
    for page, text in pages().items():
        if not arguments.check:
            page.write_text(text)
        elif page.read_text() != text:
            sys.exit(f"{page.relative_to(ROOT)} has other figures than docs/performance.csv; run `scripts/bench.py --pages`")


if __name__ == "__main__":
    main()
