"""Writing without pause: rates by amount of data, and the write cache; all from the series and the operations."""

import re
import statistics

from .operations import intervals
from .text import NUMBER, near, number, split_clauses

# A shorter write gives no verdict: seconds, and 10^9 bytes.
LEAST_S, LEAST_GB = 20, 0.05
PACING = ("rate", "rate_iops", "thinktime", "nandscope_duty_cycle")


def long_writes(document, mode):
    """Steps that are one run of sequential writing, with their intervals."""
    for step in document.of_mode(mode):
        jobs = step["jobs"]
        if len(jobs) != 1 or jobs[0]["options"].get("rw", jobs[0]["options"].get("readwrite")) != "write":
            continue
        if jobs[0]["idle_s"] or any(o in jobs[0]["options"] for o in PACING):
            continue
        data = intervals(step, "write bandwidth")
        if data:
            yield step, data


def amount(data):
    return sum(v * dt for v, dt in data) / 1e3


def length(data):
    return sum(dt for _, dt in data)


def tells(data):
    return length(data) >= LEAST_S and amount(data) >= LEAST_GB


def rate_of_first(data, seconds):
    """Mean rate of the first seconds."""
    left, sum_ = seconds, 0.0
    for v, dt in data:
        part = min(dt, left)
        sum_, left = sum_ + v * part, left - part
    return sum_ / (seconds - left)


def sustained(document, text):
    faults, named = [], set()
    for part in split_clauses(text.rstrip(".")):
        if match := re.fullmatch(rf"(?:[iI]n (?P<mode>.+?) )?[cC]annot tell, as the longest sequential write was {NUMBER} GB in "
                                 rf"(?P<time>.+?), and it takes 20\.0 s and 50\.0 MB at least", part):
            mode = document.mode(match["mode"])
            writes = [data for _, data in long_writes(document, mode)]
            if any(tells(data) for data in writes):
                faults.append(f"a write is long enough: {part}")
            if not any(near(number(match[2]), amount(data)) and near_time(match["time"], length(data)) for data in writes):
                faults.append(f"no write is so long: {part}")
            named.add(mode)
            continue
        match = re.fullmatch(
            rf"(?:[iI]n (?P<mode>.+?) )?(?P<rates>{NUMBER} MB/s.*?), {NUMBER} MB/s in the slowest tenth of the time"
            rf"(?:, (?P<end>[\d .]+) MB/s in the last quarter)?, over (?P<all>[\d .]+) GB in (?P<time>[^,]+?)"
            rf"(?P<cache>, consistent with a fast write cache of about (?P<size>[\d .e-]+) GB)?", part)
        mode = document.mode(match["mode"]) if match else None
        if not match or (match["mode"] and mode is None):
            faults.append(f"not understood: {part}")
            continue
        named.add(mode)
        fits = [(step, data) for step, data in long_writes(document, mode)
                if near(number(match["all"]), amount(data)) and near_time(match["time"], length(data))]
        fits = [(step, data) for step, data in fits if near(number(match["all"]), written(step))]
        if not fits:
            faults.append(f"no sequential write of {match['all']} GB in {match['time']}: {part}")
            continue
        results = [write_faults(step, data, match) for step, data in fits]
        if all(results):
            faults += results[0]
    for mode in document.modes:
        if mode not in named and any(tells(data) for _, data in long_writes(document, mode)):
            faults.append(f"nothing is said of the long write of {mode}")
    return faults


def written(step):
    """What the operations wrote, 10^9 bytes."""
    return sum(d["bytes"] for d in step["jobs"][0]["directions"] if d["kind"] == "write") / 1e9


def near_time(text, seconds):
    """Whether a time in words is so many seconds; its last part is rounded."""
    scale = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600}
    parts = re.findall(r"([\d.]+) (ns|µs|ms|s|min|h)", text)
    shown = sum(float(n) * scale[unit] for n, unit in parts)
    return bool(parts) and abs(shown - seconds) <= max(0.0051 * seconds, scale[parts[-1][1]] / 2 if len(parts) > 1 else 0)


def write_faults(step, data, match):
    faults = []
    if not tells(data):
        faults.append(f"a verdict from {length(data)} s and {amount(data)} GB")
    mean, time = amount(data) * 1e3 / length(data), length(data)
    slowest = rate_of_first(sorted(data), time / 10)
    fastest = rate_of_first(sorted(data, reverse=True), time / 10)
    last = rate_of_first(list(reversed(data)), time / 4)
    if not near(number(match[4]), slowest):
        faults.append(f"the slowest tenth has {slowest}, not {match[4]} MB/s")
    rates = match["rates"]
    if one := re.fullmatch(rf"{NUMBER} MB/s (throughout|on average)", rates):
        if not near(number(one[1]), mean):
            faults.append(f"the mean is {mean}, not {one[1]} MB/s")
        even = abs(slowest - mean) <= 0.1 * mean and abs(fastest - mean) <= 0.1 * mean
        if (one[2] == "throughout") != even:
            faults.append(f"{one[2]}, but it goes from {slowest} to {fastest} MB/s")
        if bool(match["end"]) != (one[2] == "on average" and abs(last / mean - 1) > 0.1):
            faults.append(f"the last quarter has {last} MB/s of {mean}: {match[0]}")
        if match["end"] and not near(number(match["end"]), last):
            faults.append(f"the last quarter has {last}, not {match['end']} MB/s")
    else:
        faults += region_faults(data, rates)
    if match["cache"]:
        faults += cache_faults(step, data, number(match["size"]))
    return faults


def between(data, start, end):
    """Rates of the samples whose middle lies between two amounts of data, GB."""
    out, done = [], 0.0
    for v, dt in data:
        middle = done + v * dt / 2e3
        done += v * dt / 1e3
        if start <= middle < end:
            out.append(v)
    return out


def cache_faults(step, data, size):
    faults = []
    used = [s for s in step["series"] if s["name"] == "SLC cache used"]
    if used and all(v == 0 for v in used[0]["v"]):
        faults.append("a cache is named, but the device reports that none is in use")
    fast, slow = between(data, 0, size), between(data, size, amount(data))
    if not fast or not slow or statistics.median(fast) < 1.5 * statistics.median(slow):
        faults.append(f"the first {size} GB are no faster than the rest")
    above = sum(v > statistics.median(slow) for v in fast) if slow else 0
    if above < 0.9 * len(fast):
        faults.append("the fast part is not beyond the noise")
    return faults


def time_until(data, gb):
    """Seconds after which so much was written."""
    done = time = 0.0
    for v, dt in data:
        more = v * dt / 1e3
        if done + more > gb:
            return time + dt * (gb - done) / more
        done, time = done + more, time + dt
    return time


def region_faults(data, rates):
    """Each rate is what was written between two amounts of data, divided by the time."""
    if not rates.endswith(" for the rest"):
        return [f"not understood: {rates}"]
    pieces = re.split(r", then | and |, ", rates.removesuffix(" for the rest"))
    faults, start = [], 0.0
    for i, piece in enumerate(pieces):
        match = re.fullmatch(rf"{NUMBER} MB/s(?: (?:for the first|up to) {NUMBER} GB)?", piece)
        if not match or (match[2] is None) != (i + 1 == len(pieces)):
            return [f"not understood: {piece} in {rates}"]
        end = amount(data) if match[2] is None else number(match[2])
        time = time_until(data, end) - time_until(data, start)
        # Bounds are shown with three digits: the rate is that of bounds within half a unit of the third.
        slack = 0.005 * (start + end) / max(end - start, 1e-9)
        mean = (end - start) * 1e3 / time
        if not near(number(match[1]), mean, 0.0051 + slack):
            faults.append(f"{piece}: the mean there is {mean}")
        start = end
    return faults


def efficiency(document, mode):
    """Rate over power of the first long sequential write."""
    for step, data in long_writes(document, mode):
        power = intervals(step, "power")
        if power and len(data) > 2:
            return (amount(data) / length(data)) / (amount(power) / length(power))
    return None
