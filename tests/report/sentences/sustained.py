"""Writing without pause: speeds by amount of data, and the write cache."""

import re
import statistics

from .text import NUMBER, near, number, split_clauses


def long_writes(document, mode):
    """Samples (MB/s, seconds) of the steps that are one run of sequential writing."""
    for step in document.of_mode(mode):
        jobs = step["jobs"]
        if len(jobs) != 1 or jobs[0]["options"].get("rw", jobs[0]["options"].get("readwrite")) != "write":
            continue
        for series in step["series"]:
            if series["name"] == "write bandwidth":
                yield step, series


def samples(series):
    out, before = [], None
    for t, v in zip(series["t_s"], series["v"]):
        dt = series["interval_s"] or (t - before if before is not None else 0)
        before = t
        if v is not None:
            out.append((v, dt))
    return out


def sustained(document, text):
    faults = []
    for part in split_clauses(text.rstrip(".")):
        match = re.fullmatch(
            rf"(?:[iI]n (?P<mode>.+?) )?(?P<speeds>{NUMBER} MB/s.*), over (?P<all>[\d .]+) (?P<unit>[GMT]B) written without pause"
            rf"(?P<cache>, consistent with a fast write cache of about (?P<size>[\d .e-]+) GB)?", part)
        mode = document.mode(match["mode"]) if match else None
        if not match or (match["mode"] and mode is None):
            faults.append(f"not understood: {part}")
            continue
        written = number(match["all"])
        fits = [(step, samples(s)) for step, s in long_writes(document, mode)]
        fits = [(step, s) for step, s in fits if near(written, sum(v * dt for v, dt in s) / 1e3)]
        if not fits:
            faults.append(f"no sequential write of {written} GB in one run: {part}")
            continue
        results = [write_faults(step, s, match["speeds"], match["size"]) for step, s in fits]
        if all(results):
            faults += results[0]
    return faults


def between(data, start, end):
    """Rates of the samples whose middle lies between two amounts of data, GB."""
    out, written = [], 0.0
    for v, dt in data:
        middle = written + v * dt / 2e3
        written += v * dt / 1e3
        if start <= middle < end:
            out.append(v)
    return out


def write_faults(step, data, speeds, cache):
    faults = []
    if match := re.fullmatch(rf"{NUMBER} MB/s at the start and {NUMBER} MB/s (at the end, with no lasting drop|in the last quarter of the time)", speeds):
        start, end = number(match[1]), number(match[2])
        faults += ends(data, start, end)
        if "no lasting" in match[3] and end < 0.89 * start:
            faults.append(f"a drop from {start} to {end} MB/s is called none")
    elif match := re.fullmatch(rf"{NUMBER} MB/s for about the first {NUMBER} GB and {NUMBER} MB/s in the last quarter of the time", speeds):
        faults += ends(data, number(match[1]), number(match[3]))
        fast = between(data, 0, number(match[2]))
        if not fast or statistics.mean(fast) < 0.75 * number(match[1]):
            faults.append(f"the first {match[2]} GB are not fast")
    else:
        faults += region_faults(data, speeds)
    if cache:
        size, total = number(cache), sum(v * dt for v, dt in data) / 1e3
        used = [s for s in step["series"] if s["name"] == "SLC cache used"]
        if used and all(v == 0 for v in used[0]["v"]):
            faults.append("a cache is named, but the device reports that none is in use")
        fast, slow = between(data, 0, size), between(data, size, total)
        if not fast or not slow or statistics.median(fast) < 1.5 * statistics.median(slow):
            faults.append(f"the first {size} GB are no faster than the rest")
        above = sum(v > statistics.median(slow) for v in fast) if slow else 0
        if above < 0.9 * len(fast):
            faults.append("the fast part is not beyond the noise")
    return faults


def ends(data, start, end):
    means = [statistics.mean(v for v, _ in data[i:i + 3]) for i in range(len(data) - 2)]
    burst = max(means[:max(len(means) // 10, 1)])
    left = sum(dt for _, dt in data) / 4
    total = amount = 0.0
    for v, dt in reversed(data):
        if left <= 0:
            break
        amount, total, left = amount + v * dt, total + dt, left - dt
    faults = []
    if not near(start, burst):
        faults.append(f"it starts at {burst}, not {start} MB/s")
    if not near(end, amount / total):
        faults.append(f"it ends at {amount / total}, not {end} MB/s")
    return faults


def region_faults(data, speeds):
    rest = re.sub(r" throughout$| for the rest$", "", speeds)
    pieces = re.split(r", then | and |, ", rest)
    faults, start = [], 0.0
    for i, piece in enumerate(pieces):
        match = re.fullmatch(rf"{NUMBER} MB/s(?: (?:for the first|up to) {NUMBER} GB)?", piece)
        if not match:
            return [f"not understood: {piece} in {speeds}"]
        last = i + 1 == len(pieces)
        end = float("inf") if match[2] is None else number(match[2])
        if match[2] is None and not last:
            return [f"a region without an end: {piece}"]
        rates = between(data, start, end)
        # Rounded bounds move a few samples from one region to the next.
        if not rates or not near(number(match[1]), statistics.median(rates), 0.03):
            faults.append(f"{piece}: the median there is {statistics.median(rates) if rates else None}")
        start = end
    return faults


def efficiency(document, mode):
    """Rate over power of the first long sequential write."""
    for step, series in long_writes(document, mode):
        power = next((s for s in step["series"] if s["name"] == "power"), None)
        if power and len(series["v"]) > 2:
            return mean_over_time(series) / mean_over_time(power)
    return None


def mean_over_time(series):
    data = samples(series)
    return sum(v * dt for v, dt in data) / sum(dt for _, dt in data)
