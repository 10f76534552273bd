"""The rates that a suite is for, the fastest jobs of a run, weaknesses, and what a format brings back."""

import re

from .document import Document
from .operations import best, direction, iops, is_short, is_test, is_too_short, jobs, mb_s, mean, of_table, runs
from .power import throttled
from .ranks import last_places
from .text import NUMBER, near, number, split_clauses

CDM = r" %s, run \d+"


def card(row, rate, step="cdm-fresh"):
    """The best of the counted runs of a row of CrystalDiskMark."""
    return lambda d, m, kind: best(rate(j, kind) for j in runs(d, m, step, re.escape(row) + CDM % kind))


def copied(folder):
    """The mean over the passes; jobs of a pass run one after the other, or at once."""
    return lambda d, m, kind: mean([mb_s(j, kind) for j in runs(d, m, "folder-" + folder.lower(), rf"{folder} {kind}, pass \d+")])


def whole(step, job=".*", rate=mb_s):
    """Bytes or operations over the time of the only job of a step."""
    return lambda d, m, kind: best(rate(j, kind) for j in runs(d, m, step.format(kind), job.format(kind)))


def slowest_area(d, m, kind):
    return of_table(d, m, "speed-class-unfragmented", "Rate of each area", lambda rows: min(r["cells"][0] for r in rows))


def half_in_use(d, m, kind):
    half = lambda rows: next(r["cells"][0] for r in rows if r["label"] == "50 %")
    return of_table(d, m, "speed-class-fragmented", "Recording units of 64 KiB", half)


# The tests of each suite: name, whether it is read and written, unit, and how the rate follows from the operations.
SUITES = {
    "card review": [
        ("SEQ1M Q8T1, fresh, best run", ("read", "write"), "MB/s", card("SEQ1M Q8T1", mb_s)),
        ("RND4K Q1T1, fresh, best run", ("read", "write"), "IOPS", card("RND4K Q1T1", iops)),
    ],
    "folder review": [
        ("folder copy, Home", ("read", "write"), "MB/s", copied("Home")),
        ("folder copy, ISOs", ("read", "write"), "MB/s", copied("ISOs")),
    ],
    "fill": [
        ("first fill, mean", ("write",), "MB/s", whole("fill-1")),
        ("second fill, mean", ("write",), "MB/s", whole("fill-2")),
    ],
    "iometer": [("128 KiB sequential, QD32", ("read", "write"), "MB/s", whole("iometer-{}"))],
    "plain": [
        ("sequential", ("read", "write"), "MB/s", whole("plain-{}", "{}")),
        ("4 KiB random", ("read", "write"), "MB/s", whole("plain-random-{}")),
    ],
    "solid-state drive": [
        ("4 KiB random, queue depth 32", ("read", "write"), "MB/s", whole("sustained-{}-qd32")),
        ("4 KiB random, queue depth 1", ("read", "write"), "MB/s", whole("sustained-{}-qd1")),
    ],
    "speed-class": [
        ("recording into empty areas, slowest", ("write",), "MB/s", slowest_area),
        ("recording into areas half in use, 64 KiB, slowest", ("write",), "MB/s", half_in_use),
        ("4 KiB random, queue depth 1", ("read", "write"), "IOPS", whole("speed-class-a1-like", "{}", iops)),
    ],
    "flashbench": [],
    "flashbench-whole": [],
    "probe": [],
}
SUITES["solid-state drives side by side"] = SUITES["solid-state drive"]

ONE = rf"(?:(?:reads|writes) at (?:up to )?{NUMBER} (?:MB/s|IOPS)(?: and )?)+ \((?:[^()]|\([^()]*\))*\)"


def expected(document, mode):
    """Name, kind, rate, unit and whether others are slower, of every rate that must be named."""
    tests = SUITES.get(document.data["procedure"])
    found = []
    if tests is None:
        for kind in ("read", "write"):
            rates = [direction(j, kind)["bytes"] / j["runtime_s"] / 1e6 for s, j in jobs(document, mode)
                     if is_test(s, j) and not is_short(j) and direction(j, kind) and direction(j, kind)["bytes"]]
            if rates:
                found.append((None, kind, max(rates), "MB/s", len(rates) > 1))
        return found
    document = Document({**document.data, "steps": [s for s in document.steps if not is_too_short(s)]})
    for name, kinds, unit, rate in tests:
        for kind in kinds:
            value = rate(document, mode, kind)
            if value is not None:
                found.append((name, kind, value, unit, False))
    return found


UNTOLD = "Not stated, as each job took less than 0.5 s and moved less than 50 MB."


def speed(document, text):
    faults, told = [], {}
    if text == UNTOLD:
        long = [j["name"] for m in document.modes for s, j in jobs(document, m) if not is_short(j) and is_test(s, j)]
        return [f"these were long enough: {long}"] if long else []
    for part in split_clauses(text.rstrip(".")):
        match = re.fullmatch(r"(?:in (?P<mode>[^;]+?) it )?(?P<rest>(?:reads|writes) at .*)", part[0].lower() + part[1:])
        mode = document.mode(match["mode"]) if match else None
        if not match or (match["mode"] and mode is None):
            faults.append(f"not understood: {part}")
            continue
        clauses = re.findall(ONE, match["rest"])
        whole_tests = [m[0] for m in re.finditer(ONE, match["rest"])]
        if not clauses or ", ".join(whole_tests) != match["rest"]:
            faults.append(f"not understood: {match['rest']}")
            continue
        for test in whole_tests:
            rates, name = re.match(r"(.*?) \((.*)\)$", test).groups()
            for verb, most, value, unit in re.findall(rf"(read|write)s at (up to )?{NUMBER} (MB/s|IOPS)", rates):
                told.setdefault(mode, []).append((name, verb, number(value), unit, bool(most)))
    for mode in document.modes:
        wanted = expected(document, mode)
        shown = told.get(mode, [])
        if len(shown) != len(wanted):
            faults.append(f"{mode}: {len(shown)} rates are named of {len(wanted)}")
        for name, kind, value, unit, most in wanted:
            fits = [s for s in shown if s[1] == kind and s[3] == unit and (name is None or s[0] == name)]
            if not any(near(s[2], value) and s[4] == most for s in fits):
                faults.append(f"{mode}: {name or 'the fastest'} {kind}s at {value} {unit}, not {[s[2] for s in fits]}")
    return faults


def slow(document, mode, kind):
    """Least and greatest rate of 4 KiB at random, one at a time."""
    rates = []
    for step, job in jobs(document, mode):
        o = job["options"]
        if (is_test(step, job) and o.get("rw") == "rand" + kind and o.get("bs") in ("4k", "4096")
                and o.get("iodepth", "1") == "1" and direction(job, kind)):
            rates.append(iops(job, kind))
    return (min(rates), max(rates)) if rates and min(rates) < 100 else None


def weaknesses(document, text):
    """What is weak is said, and nothing else."""
    faults, named = [], set()
    rest = text.rstrip(".")
    for part in split_clauses(rest[0].lower() + rest[1:]):
        match = re.fullmatch(rf"(?:in (?P<mode>.+?) )?{NUMBER}(?: to {NUMBER})? IOPS in 4 KiB random (read|write)s at queue depth 1 "
                             r"\(a hard disk: about 100\)", part)
        if match:
            mode, kind = document.mode(match["mode"]), match[4]
            found = slow(document, mode, kind)
            low, high = number(match[2]), number(match[3] or match[2])
            if not found or not near(low, found[0]) or not near(high, found[1]):
                faults.append(f"{part}: it is {found}")
            named.add((mode, kind))
        elif part.startswith("last place in "):
            named.add("last")
            faults += last_places(document, part.removeprefix("last place in "))
        elif match := re.fullmatch(rf"throttles for (less than )?{NUMBER} % of the time that was recorded", part):
            named.add("throttles")
            share = throttled(document)
            if share <= 0 or (share >= 0.1 if match[1] else not near(number(match[2]), share)):
                faults.append(f"it throttles for {share} %")
        else:
            faults.append(f"not understood: {part}")
    return faults + left_out(document, named)


def left_out(document, named):
    """Weak rates that no sentence names; the jobs of a run may be slow on purpose."""
    if document.data["procedure"] in ("run", "fio", "verify", "fs"):
        return []
    if throttled(document) > 0 and "throttles" not in named:
        return ["it is not said that the device throttles"]
    weak = [(m, k) for m in document.modes for k in ("read", "write") if slow(document, m, k)]
    return [f"{mode}: slow {kind}s are not named: {slow(document, mode, kind)}" for mode, kind in weak if (mode, kind) not in named]


def formatting(document, text):
    """The best sequential write of CrystalDiskMark after the format over that before it."""
    rate = lambda mode, state: card("SEQ1M Q8T1", mb_s, f"cdm-{state}")(document, mode, "write")
    gain = {}
    for mode in document.modes:
        used, refreshed = rate(mode, "used"), rate(mode, "refreshed")
        if used and refreshed:
            gain[mode] = refreshed / used
    if text == "It changes nothing.":
        return [f"{text} The gain is {g}" for g in gain.values() if g >= 1.5]
    faults = []
    # One clause for each mode; commas part them.
    for part in re.split(r", (?=brings|changes)", text.removeprefix("It ").rstrip(".")):
        match = re.fullmatch(rf"(?P<what>brings (?:the )?write speed (?:of a used device )?back|changes nothing)(?: in (?P<mode>.*?))?(?: \({NUMBER}× what it was before\))?", part)
        mode = document.mode(match["mode"]) if match else None
        if not match or (match["mode"] and mode is None):
            faults.append(f"not understood: {part}")
            continue
        if match["what"].startswith("brings") != (gain[mode] >= 1.5):
            faults.append(f"{part}: the gain is {gain[mode]}")
        if match[3] and not near(number(match[3]), gain[mode]):
            faults.append(f"{part}: the gain is {gain[mode]}")
    return faults
