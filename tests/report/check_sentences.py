#!/usr/bin/env python3
"""Recomputes every sentence of a report's verdict from the result document, and fails where one is false.

    check_sentences.py [--shelf SHELF] FOLDER...

Each folder holds result.json and report.html; SHELF is the shelf that the reports were compared with. Nothing of the product
is used: sentences are read from the page, numbers from the documents and, for ranks without a shelf, from the table of the
library's reviews. A sentence that no rule here knows is a fault, too. Exit status 0 where all are true, 1 with a list of
faults otherwise.
"""

import argparse
import glob
import html
import json
import os
import re
import statistics
import sys
import tomllib

NUMBER = r"(-?[\d ]+(?:\.\d+)?(?:e-?\d+)?)"
# Three significant digits are shown: half a unit of the third is half a percent at most.
ROUNDING = 0.0051


def number(text):
    return float(text.replace(" ", ""))


def near(shown, value, tolerance=ROUNDING):
    # Values below 1 are shown with two decimals.
    decimals = 0.00501 if abs(value) < 1 else 1e-9
    return abs(shown - value) <= max(tolerance * max(abs(value), abs(shown)), decimals)


MOST_SENTENCES = 3


def paragraphs(page, part):
    """Lead and text of each paragraph of a part of the page: its verdict, its findings, or what is unusual."""
    box = re.search(rf'<div class="{part}">(.*?)</div>', page, re.S)
    if not box:
        return []
    found = re.findall(r"<p><strong[^>]*>(.*?)\.</strong> (.*?)</p>", box.group(1), re.S)
    plain = lambda text: html.unescape(re.sub(r"<a .*?</a>\.", "", text)).replace("\u202f", " ").strip()
    return [(plain(lead), plain(text)) for lead, text in found]


def sentences(text):
    """How many sentences a text has; names in brackets are none."""
    while (shorter := re.sub(r"\([^()]*\)", "", text)) != text:
        text = shorter
    return len(re.findall(r"[.!?](?=\s+[A-Z]|\s*$)", text))


class Document:
    """A result document, and what sentences are about."""

    def __init__(self, data):
        self.data = data
        self.steps = data["steps"]
        self.modes = list(dict.fromkeys(step.get("mode") for step in self.steps))

    def mode(self, name):
        if name is None:
            return self.modes[0] if len(self.modes) == 1 else None
        return name if name in self.modes else None

    def of_mode(self, mode):
        return [step for step in self.steps if step.get("mode") == mode]

    def figures(self, mode):
        own = [f for f in self.data["figures"] if f.get("mode") == mode]
        return own + [f for step in self.of_mode(mode) for f in step["figures"]]

    def figure(self, ending, mode):
        return next((f["value"] for f in self.figures(mode) if f["id"].endswith("." + ending)), None)

    def peak(self, name, mode):
        values = [v for step in self.of_mode(mode) for s in step["series"] if s["name"] == name for v in s["v"]]
        return max((v for v in values if v is not None), default=None)


def fastest(document, mode, kind):
    """The greatest bandwidth of all figures and jobs of a mode, MB/s."""
    speeds = []
    for step in document.of_mode(mode):
        for figure in step["figures"]:
            parts = figure["id"].split(".")
            is_of_kind = kind in parts or (kind == "write" and "fill" in parts)
            if figure["unit"] == "MB/s" and is_of_kind and parts[-1] not in ("high", "low"):
                speeds.append(figure["value"])
        for job in step["jobs"]:
            for direction in job["directions"]:
                if direction["kind"] == kind and direction["bytes"]:
                    speeds.append(direction["bandwidth_bytes_per_s"] / 1e6)
    return max(speeds, default=None)


def speed(document, text):
    faults = []
    clause = rf"(?:in (?P<mode>[^;]+?) it )?(?P<rest>(?:reads|writes) at up to {NUMBER} MB/s .*)"
    for part in split_clauses(text.rstrip(".")):
        match = re.fullmatch(clause, part[0].lower() + part[1:])
        mode = document.mode(match["mode"]) if match else None
        if not match or (match["mode"] and mode is None):
            faults.append(f"not understood: {part}")
            continue
        told = re.findall(rf"(reads|writes) at up to {NUMBER} MB/s", match["rest"])
        for verb, shown in told:
            best = fastest(document, mode, verb[:-1])
            if best is None or not near(number(shown), best, 0.011):
                faults.append(f"{verb} at up to {shown} MB/s, but the greatest is {best}")
        for kind in ("read", "write"):
            if fastest(document, mode, kind) and kind + "s" not in [verb for verb, _ in told]:
                faults.append(f"nothing is said of the fastest {kind} in {mode}")
    return faults


def split_clauses(text):
    """Clauses are parted by semicolons; names of jobs in brackets may hold them, too."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += {"(": 1, ")": -1}.get(c, 0)
        if c == ";" and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return parts + [text[start:].strip()]


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


def power_and_heat(document, text):
    faults = []
    body = text.removeprefix("It ").rstrip(".")
    for part in body.split("; it "):
        if part.startswith("draws "):
            faults += extremes(document, part[6:], "W", "power.peak", "power", ("power.mean", "on average"))
        elif part.startswith("reports "):
            faults += extremes(document, part[8:], "°C", "temperature.device.max", "device temperature", ("temperature.surface.max", "surface"))
        elif part == "does not throttle at any time that was recorded":
            if throttled(document) > 0:
                faults.append("it does throttle")
        elif match := re.fullmatch(rf"throttles for (less than )?{NUMBER} % of the time that was recorded", part):
            share = throttled(document)
            if (share >= 0.1 if match[1] else not near(number(match[2]), share)):
                faults.append(f"it throttles for {share} %")
        else:
            faults.append(f"not understood: {part}")
    return faults


def throttled(document):
    whole = slow = 0.0
    for step in document.steps:
        for series in step["series"]:
            if series["name"] == "throttle":
                full = 100.0 if series["unit"] == "%" else 1.0
                weight = series["interval_s"] or 1.0
                whole += weight * len(series["v"])
                slow += weight * sum(v < full * 0.999 for v in series["v"])
    return slow / whole * 100 if whole else 0.0


def extremes(document, text, unit, figure, series, second):
    faults = []
    for part in re.split(r", (?=up to )", text):
        match = re.fullmatch(rf"up to {NUMBER} {unit}(?: in (?P<mode>.*?))?(?: \((?:surface )?{NUMBER} {unit}(?: on average)?\))?", part)
        mode = document.mode(match["mode"]) if match else None
        if not match or (match["mode"] and mode is None):
            faults.append(f"not understood: {part}")
            continue
        value = document.figure(figure, mode)
        value = document.peak(series, mode) if value is None else value
        if value is None or not near(number(match[1]), value):
            faults.append(f"{part}: it is {value}")
        if match[3]:
            other = document.figure(second[0], mode)
            other = document.peak("surface temperature", mode) if other is None and second[1] == "surface" else other
            if other is None or not near(number(match[3]), other):
                faults.append(f"{part}: {second[1]} it is {other}")
    return faults


def formatting(document, text):
    faults = []
    if text == "It changes nothing." and len(document.modes) > 1:
        gains = [document.figure("format.gain", mode) for mode in document.modes]
        return [f"{text} The gain is {gain}" for gain in gains if gain is not None and gain >= 1.5]
    # One clause for each mode; commas part them.
    for part in re.split(r", (?=brings|changes)", text.removeprefix("It ").rstrip(".")):
        match = re.fullmatch(rf"(?P<what>brings (?:the )?write speed (?:of a used device )?back|changes nothing)(?: in (?P<mode>.*?))?(?: \({NUMBER}× what it was before\))?", part)
        mode = document.mode(match["mode"]) if match else None
        if not match or (match["mode"] and mode is None):
            faults.append(f"not understood: {part}")
            continue
        gain = document.figure("format.gain", mode)
        if match["what"].startswith("brings") != (gain >= 1.5):
            faults.append(f"{part}: the gain is {gain}")
        if match[3] and not near(number(match[3]), gain):
            faults.append(f"{part}: the gain is {gain}")
    return faults


def publication(document, text):
    seen, published = set(), []
    for figure in document.data["figures"] + [f for s in document.steps for f in s["figures"]]:
        key = (figure["id"], figure.get("mode"))
        if figure.get("published") and key not in seen:
            published.append(figure["published"])
        seen.add(key)
    met = sum(p["met"] for p in published)
    if match := re.match(r"(\d+) of (\d+) published", text):
        right = (int(match[1]), int(match[2])) == (met, len(published)) and met < len(published)
    elif match := re.match(r"All (\d+) published", text):
        right = int(match[1]) == met == len(published)
    else:
        right = text.startswith("The published figure") and met == len(published) == 1
    faults = [] if right else [f"{met} of {len(published)} are met: {text}"]
    predicted = [p["met"] for p in published if p["predicted"]]
    if re.search(r"None is a prediction", text):
        told = (0, 0)
    elif match := re.search(r"One is a prediction, .*; it is (not )?met\.", text):
        told = (0 if match[1] else 1, 1)
    elif match := re.search(r"(\d+) are predictions, .*; (\d+) of these are met\.", text):
        told = (int(match[2]), int(match[1]))
    else:
        return faults + [f"not understood: {text}"]
    if told != (sum(predicted), len(predicted)):
        faults.append(f"{sum(predicted)} of {len(predicted)} predictions are met: {text}")
    return faults


def fullness(document, text):
    curves = [c for s in document.steps for c in s["curves"] if c["x_name"] == "fullness" and c["y_unit"] == "µs"]
    match = re.fullmatch(rf"Mean latency on the fullest device is {NUMBER}(?: to {NUMBER})? times that on the emptiest; "
                         rf"(?:none of (\d+) curves has a threshold|(\d+) of (\d+) curves have a threshold, at {NUMBER}(?: to {NUMBER})? %)\.", text)
    if not match:
        return [f"not understood: {text}"]
    changes = [c["y"][-1] / c["y"][0] for c in curves]
    places = [c["threshold"] for c in curves if c["threshold"] is not None]
    faults = []
    if not near(number(match[1]), min(changes)) or not near(number(match[2] or match[1]), max(changes)):
        faults.append(f"latency changes by {min(changes)} to {max(changes)}")
    told = int(match[4] or 0), int(match[3] or match[5])
    if told != (len(places), len(curves)):
        faults.append(f"{len(places)} of {len(curves)} have a threshold")
    if places and (number(match[6]) != min(places) or number(match[7] or match[6]) != max(places)):
        faults.append(f"thresholds lie at {places}")
    return faults


def inside(document, text):
    names = {"allocation unit": "probe.unit", "page": "probe.page", "open allocation units": "probe.open-linear",
             "write buffer": "probe.buffer", "slc cache": "probe.slc", "pattern to avoid": "probe.worst"}
    if document.data["procedure"].startswith("flashbench"):
        names = {"allocation unit": "align.allocation-unit", "page": "align.page",
                 "open allocation units": "open-au.linear", "open in random order": "open-au.random"}
    modes = [re.sub(r"[^a-z0-9]+", "-", (m or "").lower()).strip("-") + "." for m in document.modes]
    answers = {c["id"].removeprefix(modes[0]): c["answer"] for s in document.steps for c in s["conclusions"]}
    told, _, unknown = re.sub("^C(?=annot tell)", "c", text).partition("cannot tell: ")
    faults = []
    for name, key in names.items():
        if key not in answers:
            continue
        short = answers[key].rsplit(" (", 1)[0]
        if answers[key].startswith("cannot tell"):
            if name not in unknown.lower():
                faults.append(f"it is not said that the {name} is unknown")
        elif f"{name} {short}".lower() not in told.lower():
            faults.append(f"the {name} is {short}")
    return faults


def verification(document, text):
    """The verdict of a verification: where tagged blocks were kept says where the device ends."""
    step = document.steps[0]
    figure = {f["id"]: f["value"] for f in step["figures"]}
    claimed, real = figure["verify.claimed"], figure.get("verify.real")
    kept = next(c for c in step["curves"] if c["y_name"].startswith("block kept"))
    wrong = sum(v == 0 for v in kept["y"])
    aliases = [row["cells"] for t in step["tables"] if "another address" in t["title"] for row in t["rows"]]
    verdict = next(c for c in step["conclusions"] if c["id"] == "verify.verdict")
    faults = []
    for table in step["tables"]:
        for row in table["rows"]:
            if row["label"].startswith("beyond") and row["cells"][2] != 0:
                faults.append(f"{row['cells'][2]} blocks are said to be kept beyond the end")
    expected = "genuine" if not wrong and not aliases and real == claimed else "fake" if aliases or (real and real < claimed) else "failing"
    if verdict["answer"] != expected:
        faults.append(f"the blocks say {expected}, the verdict {verdict['answer']}")
    known = [
        (r"(\d+) tagged blocks all over the device were right, and none came up elsewhere",
         lambda m: int(m[1]) == len(kept["y"]) and not wrong and not aliases),
        (r"writes past the end alias to addresses [\d.]+ \w+ \((\d+) bytes\) lower: (\d+) tagged blocks were found at another address",
         lambda m: min(int(m[2]), 20) == len(aliases) > 0 and all(abs(a - b) == d and d * 512 % int(m[1]) == 0 for a, b, d in aliases)),
        (r"writes past the end are lost", lambda m: wrong > 0 and not aliases),
        (r"past the end (the device answers with what was there before|every operation fails)", lambda m: wrong > 0 and not aliases),
        (r"past the end only a cache of \d+ blocks answers, and forgets", lambda m: wrong > 0 and not aliases),
        (r"the end is at [\d.]+ \w+ \((\d+) bytes\)",
         lambda m: real is not None and near(int(m[1]) / 1e9, real, 1e-9) and near(kept["threshold"], real, 1e-9)
         and not any(v for x, v in zip(kept["x"], kept["y"]) if x >= real)),
        (r"(\d+) of (\d+) tagged blocks were wrong, \d+ changed when they were read again; the device goes on after them",
         lambda m: int(m[1]) == wrong and int(m[2]) == len(kept["y"]) and kept["y"][-1] == 1),
    ]
    rest = text[0].lower() + text[1:]
    for pattern, holds in known:
        match = re.search(pattern, rest)
        if match and not holds(match):
            faults.append(f"{match[0]}: {wrong} of {len(kept['y'])} blocks were not kept, {len(aliases)} listed elsewhere, end at {real} GB")
        if match:
            rest = rest.replace(match[0], "")
    if rest.strip(" .;"):
        faults.append(f"not understood: {rest}")
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


def compared(documents):
    """Values of each document by the identifier and unit of the figure and the mode in which all have it."""
    first = [d.modes[0] if d.modes else None for d in documents]
    common = [m for m in documents[0].modes if m is not None and all(m in d.modes for d in documents)]
    found = []
    for document, own in zip(documents, first):
        values = {}
        for figure in document.data["figures"] + [f for s in document.steps for f in s["figures"]]:
            mode = figure.get("mode")
            if mode is not None and (mode not in common if common else mode != own):
                continue
            prefix = re.sub(r"[^a-z0-9]+", "-", (mode or "").lower()).strip("-") + "."
            name = figure["id"].removeprefix(prefix)
            values.setdefault((name, figure["unit"], mode if common else None), (figure["title"], figure["value"]))
        per_watt = efficiency(document, common[0] if common else own)
        if per_watt is not None:
            values[("efficiency", "MB/s/W", None)] = ("Sequential write, power efficiency", per_watt)
        found.append(values)
    return found


def test_of(document):
    quick = any(n["text"].startswith("Quick ") for n in document.data["notices"])
    return document.data["procedure"] + (", quick" if quick else "")


def shelf_rivals(document):
    """Documents of the shelf with the same test, of other targets."""
    return [d for d in SHELF if test_of(d) == test_of(document)
            and d.data["target"]["name"] != document.data["target"]["name"]]


def path_rate(mode):
    """MB/s of the slowest stage of a path."""
    rates = [float(m[1]) for stage in mode["path"] if (m := re.search(r"[ (]([\d.]+) MB/s\)$", stage))]
    return min(rates, default=0)


def widest(document):
    """The mode whose path carries most, of several the one with the fewest stages; None for a real device."""
    modes = document.data["target"]["modes"]
    return max(modes, key=lambda m: (path_rate(m), -len(m["path"])), default=None)


def links(document):
    return [p["value"].strip('"') for p in document.data["target"]["parameters"]
            if (p["group"], p["name"]) == ("interface", "link")]


def kind(document):
    """`card` or `ssd`; None where the document does not say it."""
    target = document.data["target"]
    if target["kind"] == "simulated":
        names = links(document)
        if any(n.startswith("sd-") for n in names) or names[0].startswith(("uhs2-", "emmc-")):
            return "card"
        return "ssd"
    transport = document.data["environment"].get("transport") if target["kind"] == "block device" else None
    return {"SD": "card", "eMMC": "card", "NVMe": "ssd", "ATA": "ssd"}.get(transport)


def library_table(document):
    """Path of the table with the results of the library's devices in the procedure of the document."""
    return os.path.join(LIBRARY, document.data["procedure"].replace(" ", "-") + ".tsv")


def library_rivals(document):
    """Lines of the table for the same test and kind, without the device itself."""
    with open(library_table(document), encoding="utf-8") as file:
        head, *lines = [line.rstrip("\n").split("\t") for line in file]
    run = "quick" if test_of(document).endswith(", quick") else "whole"
    found = []
    for cells in lines:
        line = dict(zip(head, cells))
        own = document.data["target"]["name"] == "sim:" + line["name"] or document.data["title"] == line["title"]
        if (line["run"], line["kind"]) == (run, kind(document)) and not own:
            values = {tuple(name.split(" ")): float(value) for name, value in line.items() if " " in name and value != "-"}
            found.append((line, values))
    return found


def host_limit(document):
    """MB/s of the path where it is slower than the best link of the device; None otherwise."""
    mode = widest(document)
    if mode is None:
        rate = document.data["target"].get("link_bytes_per_s")
        return rate and rate / 1e6
    last = {"path": mode["path"][-1:]}
    if last["path"][0].startswith(links(document)[0] + " ") and path_rate(last) == path_rate(mode):
        return None
    return path_rate(mode)


def in_library(document):
    """The figures of the document and of its rivals that are ranked, in the form of `compared`, and those that are not."""
    mode = widest(document)
    name = mode and mode["name"]
    rivals = library_rivals(document)
    prefix = re.sub(r"[^a-z0-9]+", "-", (name or "").lower()).strip("-") + "."
    own = {(f["id"].removeprefix(prefix), f["unit"]): (f["title"], f["value"]) for f in document.figures(name)}
    limit, limited = host_limit(document), {}
    for key in [k for k in own if any(k in values for _, values in rivals)]:
        factor = {"MB/s": 1, "IOPS": 4096e-6}.get(key[1])
        near_limit = limit and factor and own[key][1] * factor >= 0.8 * limit
        if near_limit and any(values.get(key, 0) > own[key][1] for _, values in rivals):
            limited[key] = own.pop(key)
    others = [{k + (None,): (own[k][0], v) for k, v in values.items() if k in own} for _, values in rivals]
    return {k + (None,): v for k, v in own.items()}, others, limited


MORE = ["MB/s", "IOPS", "MB/s/W", "GB/s"]


def place(own, others, key):
    """Place, number of drives, and the best of the others; values within 1 % share a place."""
    values = [(o[key][1], i) for i, o in enumerate(others) if key in o]
    value = own[key][1]
    more = key[1] in MORE
    ahead = sum(v > value * 1.01 if more else v * 1.01 < value for v, _ in values)
    return 1 + ahead, 1 + len(values), (max if more else min)((v for v, _ in values), default=None)


def ranks(document, page):
    """Every line of the table of ranks, and the sentences around it."""
    section = re.search(r'<section id="ranks".*?</section>', page, re.S)
    if not section:
        known = os.path.exists(library_table(document)) and document.data["target"]["kind"] != "simulated"
        return ["nothing is said of ranks"] if known and not SHELF else []
    plain = lambda text: html.unescape(re.sub(r"<[^>]*>", "", text)).replace("\u202f", " ").strip()
    part = lambda pattern: [plain(m) for m in re.findall(pattern, section[0], re.S)]
    intro = " ".join(part(r'<p class="ranks-intro">(.*?)</p>'))
    limited = part(r'<p class="ranks-limited">(.*?)</p>')
    names = part(r"<li>(.*?)</li>")
    meaning = r" Rank 1 is the highest rate, or the lowest time, power or energy; values within 1 % share a rank\."
    simulated = document.data["target"]["kind"] == "simulated"
    if re.fullmatch(r"Not ranked among the simulated devices of the library: the result does not say whether this is a memory "
                    r"card or an SSD\. --shelf DIR ranks it among the drives of a shelf\.", intro):
        return [] if kind(document) is None and not simulated else ["the document says what the device is"]
    if match := re.fullmatch(rf"Places among (\d+) other drives? of the shelf in the same test \((.+?)\)\.{meaning}", intro):
        rivals = shelf_rivals(document)
        own, *others = compared([document] + rivals)
        titles = [d.title + (" (simulated)" if d.data["target"]["kind"] == "simulated" else "") for d in rivals]
        expected, fewest, left_out = titles, 1, {}
    elif match := re.fullmatch(r"Places among (\d+) (?:cards and eMMCs|SSDs) of the library, all simulated, in the same test "
                               rf"\((.+?)\), each on the fastest host of its profile(?:, this drive in (.+?))?\.( This drive was measured\.)?{meaning}", intro):
        rivals = library_rivals(document)
        own, others, left_out = in_library(document)
        titles = [line["title"] for line, _ in rivals]
        expected, fewest = [f"{line['title']}, {line['mode']}" for line, _ in rivals], 3
        modes = document.data["target"]["modes"]
        if match[3] != (widest(document)["name"] if len(modes) > 1 else None):
            return [f"another mode is compared: {intro}"]
        if bool(match[4]) == simulated or ("SSDs of" in intro) != (kind(document) == "ssd"):
            return [f"not true of this device: {intro}"]
    else:
        return [f"not understood: {intro}"]
    faults = []
    if int(match[1]) != len(rivals) or match[2] != test_of(document) or names != expected:
        faults.append(f"the rivals in {test_of(document)} are {expected}")
    if left_out:
        shown = re.fullmatch(rf"Not ranked: (.*)\. The path from host to device carries {NUMBER} MB/s and may limit them\.", "".join(limited))
        if not shown or not near(number(shown[2]), host_limit(document)) or len(shown[1].split("; ")) != len(left_out) \
                or not all(any(title in t for t in shown[1].split("; ")) for title, _ in left_out.values()):
            faults.append(f"not ranked are {left_out}: {limited}")
    elif limited:
        faults.append(f"nothing is limited: {limited}")
    rows = re.findall(r'<th scope="row">(.*?)</th><td[^>]*>(.*?)</td><td[^>]*><b>(\d+)</b> of (\d+)</td><td[^>]*>(.*?): ([^:]*?)</td>', section[0])
    if section[0].count('<th scope="row">') != len(rows):
        faults.append("a row is not understood")
    quantity = rf"{NUMBER} (\S+)"
    for title, value, at, of, best, best_value in rows:
        title, best = plain(title), plain(best)
        value, best_value = re.fullmatch(quantity, plain(value)), re.fullmatch(quantity, plain(best_value))
        if not value or not best_value or value[2] != best_value[2]:
            faults.append(f"not understood: the values of {title}")
            continue
        def holds(key):
            position, count, top = place(own, others, key)
            named = [o[key][1] for o, t in zip(others, titles) if key in o and t == best]
            return ((position, count) == (int(at), int(of)) and count > fewest and near(number(best_value[1]), top) and top in named)
        keys = [k for k, (name, v) in own.items() if (title.endswith(name) or name in title) and k[1] == value[2] and near(number(value[1]), v)]
        if not any(holds(k) for k in keys):
            faults.append(f"{title}: rank {at} of {of} behind {best} does not hold: {[place(own, others, k) for k in keys]}")
    return faults


def unusual(document, text):
    match = re.match(rf"(\d+) (drives of the shelf|simulated devices of the library) are similar: half to twice {NUMBER} (MB/s) in (.+?)\. ", text)
    if not match:
        return [f"not understood: {text}"]
    if match[2] == "drives of the shelf":
        own, *others = compared([document] + shelf_rivals(document))
    else:
        own, others, _ = in_library(document)

    def candidates(title, shown, unit):
        return [key for key, (name, value) in own.items() if title.endswith(name) or name in title
                if key[1] == unit and near(shown, value)]

    def similar(key):
        rate = own[key][1]
        return [o for o in others if key in o and rate / 2 <= o[key][1] <= rate * 2]

    references = [k for k in candidates(match[5], number(match[3]), match[4]) if len(similar(k)) == int(match[1])]
    if not references:
        return [f"no rate of {match[3]} MB/s has {match[1]} similar drives: {match[5]}"]
    faults = []
    rest = text[match.end():]
    pattern = rf"(.+?): {NUMBER} (\S+), {NUMBER}× the median of (\d+) similar drives, which have {NUMBER} to {NUMBER} (\S+?)\.(?: |$)"
    while rest:
        part = re.match(pattern, rest)
        if not part:
            return faults + [f"not understood: {rest}"]
        rest = rest[part.end():]
        holds = False
        for reference in references:
            for key in candidates(part[1], number(part[2]), part[3]):
                values = [o[key][1] for o in similar(reference) if key in o and o[key][1] > 0]
                if len(values) < 4 or len(values) != int(part[5]):
                    continue
                ratio = own[key][1] / statistics.median(values)
                holds |= (near(number(part[4]), ratio) and near(number(part[6]), min(values)) and near(number(part[7]), max(values))
                          and not min(values) <= own[key][1] <= max(values) and max(ratio, 1 / ratio) >= 2)
        if not holds:
            faults.append(f"{part[0]} does not follow from the shelf")
    return faults


def tests(document, text):
    """Every test is named once, under its answer."""
    faults = []
    passed, _, failed = re.sub("^F(?=ailed: )", "f", text).partition("failed: ")
    named = {True: passed.removeprefix("Passed: ").strip(" .;").split(", "), False: failed.rstrip(".").split(", ")}
    several = len(document.modes) > 1
    for conclusion in (c for s in document.steps for c in s["conclusions"] if c.get("passed") is not None):
        question = conclusion["question"] + (f", {conclusion['mode']}" if several and conclusion.get("mode") else "")
        if question.split(", ")[0] not in named[conclusion["passed"]]:
            faults.append(f"{question} is not under its answer: {conclusion['answer']}")
    count = sum(c.get("passed") is not None for s in document.steps for c in s["conclusions"])
    if not several and count != sum(len([n for n in names if n]) for names in named.values()):
        faults.append(f"{count} tests, but other names: {text}")
    return faults


UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}


def collection(document, page):
    """What garbage collection did in a step: some step has these numbers."""
    faults = []
    known = []
    for step in document.steps:
        counters = step["counters"]
        writes = [d["latency"] for j in step["jobs"] for d in j["directions"] if d["kind"] == "write"]
        tails = [ns for l in writes for p, ns in l["percentiles"] if p == 99.99]
        if tails and counters.get("host_written_bytes", 0) > 0 and counters.get("collected_bytes", 0) >= 0.01 * counters["host_written_bytes"]:
            known.append([counters["collected_bytes"], counters["host_written_bytes"], max(tails), max(l["max_ns"] for l in writes)])
    found = [html.unescape(t).replace("\u202f", " ") for t in re.findall(r'<p class="collection">(.*?)</p>', page)]
    value = rf"{NUMBER} ([kMGT]?B|[nµm]?s)"
    for text in found:
        match = re.fullmatch(rf"Garbage collection moved {value} while the host wrote {value}\. "
                             rf"99\.99 % of the writes(?: of each job)? took at most {value}, the longest {value}\.", text)
        if not match:
            faults.append(f"not understood: {text}")
            continue
        told = [number(match[i]) * UNITS[match[i + 1]] for i in (1, 3, 5, 7)]
        if not any(all(near(a, b) for a, b in zip(told, values)) for values in known):
            faults.append(f"no step has these numbers: {text}")
    if len(found) != len(known):
        faults.append(f"{len(known)} steps have garbage collection, {len(found)} say so")
    return faults


def file_systems(document, text):
    """The fastest file systems of each workload, as many as are named, in the order of their times."""
    places = {}
    for conclusion in (c for s in document.steps for c in s["conclusions"]):
        workload, at, place = conclusion["question"].partition(": place ")
        if at:
            places.setdefault(workload, {})[int(place)] = conclusion["answer"]
    faults, named = [], []
    for clause in split_clauses(text.rstrip(".")):
        workload, _, answers = clause.partition(": ")
        named.append(workload)
        answers = re.split(r"(?<=\)), ", answers)
        if [places.get(workload, {}).get(i + 1) for i in range(len(answers))] != answers:
            faults.append(f"{clause}: the document has {places.get(workload)}")
        times = [seconds(answer) for answer in answers]
        if None not in times and times != sorted(times):
            faults.append(f"{clause}: the fastest is not first")
    if named != list(places):
        faults.append(f"{list(places)} were run, {named} are named")
    return faults


def seconds(answer):
    """The time in brackets behind a name; None where it has another form."""
    match = re.search(rf"\({NUMBER} ?([µm]?s)\)$", answer)
    return number(match[1]) * UNITS[match[2]] / 1e9 if match else None


# Documents of the shelf.
SHELF = []
# The results of the library's devices, a table for each procedure.
LIBRARY = os.path.join(os.path.dirname(__file__), "../../crates/report/src/shelf/library")

RULES = {
    **{lead: verification for lead in ("Genuine", "Fake", "Failing")},
    "Fastest first": file_systems,
    "Tests": tests,
    "Unusual": unusual,
    "Inside": inside,
    "Fullness": fullness,
    "Speed": speed,
    "Sustained write": sustained,
    "Power and heat": power_and_heat,
    "Formatting": formatting,
    "Against publication": publication,
}


def check(folder):
    with open(os.path.join(folder, "result.json"), encoding="utf-8") as file:
        document = Document(json.load(file))
    with open(os.path.join(folder, "report.html"), encoding="utf-8") as file:
        page = file.read()
    verdict = paragraphs(page, "verdict")
    found = verdict + paragraphs(page, "findings") + paragraphs(page, "unusual")
    faults = [] if verdict else ["there is no verdict"]
    count = sum(sentences(text) for _, text in verdict)
    if count > MOST_SENTENCES:
        faults.append(f"the verdict has {count} sentences: {verdict}")
    faults += collection(document, page) + ranks(document, page)
    for lead, text in found:
        rule = RULES.get(lead)
        found_faults = rule(document, text) if rule else [f"no rule for: {lead}"]
        faults += [f"{lead}: {fault}" for fault in found_faults]
    return len(found), faults


def name_drives(paths):
    """Calls each document of the shelf as its owner calls the drive, or else by its first result; with the name of its
    folder where drives share a title."""
    titles = {}
    for path, document in zip(paths, SHELF):
        folder = os.path.dirname(path)
        about = os.path.join(folder, "drive.toml")
        own = {}
        if os.path.exists(about):
            with open(about, "rb") as file:
                own = tomllib.load(file)
        titles.setdefault(folder, own.get("title", document.data["title"]))
    for path, document in zip(paths, SHELF):
        folder = os.path.dirname(path)
        shared = list(titles.values()).count(titles[folder]) > 1
        document.title = titles[folder] + (f" ({os.path.basename(folder)})" if shared else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--shelf", help="folder of the shelf")
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    arguments = parser.parse_args()
    paths = sorted(glob.glob(os.path.join(arguments.shelf, "*", "*.json"))) if arguments.shelf else []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            SHELF.append(Document(json.load(file)))
    name_drives(paths)
    false = 0
    for folder in arguments.folders:
        count, faults = check(folder)
        print(f"{folder}: {count} paragraphs, {len(faults)} faults")
        for fault in faults:
            print(f"  {fault}")
        false += len(faults)
    return 1 if false else 0


if __name__ == "__main__":
    sys.exit(main())
