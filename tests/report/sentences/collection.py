"""What garbage collection did in a step."""

import html
import re

from .text import NUMBER, UNITS, near, number


def collection(document, page):
    """What garbage collection did in a step: some step has these numbers. The 99.99th percentile takes 10,000 writes."""
    faults = []
    known = []
    for step in document.steps:
        counters = step["counters"]
        writes = [d for j in step["jobs"] for d in j["directions"] if d["kind"] == "write" and d["operations"]]
        if writes and counters.get("host_written_bytes", 0) > 0 and counters.get("collected_bytes", 0) >= 0.01 * counters["host_written_bytes"]:
            defined = all(d["operations"] >= 10_000 for d in writes)
            tail = max(ns for d in writes for p, ns in d["latency"]["percentiles"] if p == 99.99) if defined else None
            count = None if defined else sum(d["operations"] for d in writes)
            longest = max(d["latency"]["max_ns"] for d in writes)
            known.append((counters["collected_bytes"], counters["host_written_bytes"], tail, count, longest))
    found = [html.unescape(t).replace("\u202f", " ") for t in re.findall(r'<p class="collection">(.*?)</p>', page)]
    value = rf"{NUMBER} ([kMGT]?B|[nµm]?s)"
    for text in found:
        match = re.fullmatch(rf"Garbage collection moved {value} while the host wrote {value}\. "
                             rf"(?:99\.99 % of the writes(?: of each job)? took at most {value}, the longest|The longest of (?P<count>[\d ]+) writes took) {value}\.", text)
        if not match:
            faults.append(f"not understood: {text}")
            continue
        told = [number(match[i]) * UNITS[match[i + 1]] if match[i] else None for i in (1, 3, 5, 8)]
        told.insert(3, number(match["count"]) if match["count"] else None)
        same = lambda a, b: a is None and b is None or a is not None and b is not None and near(a, b)
        if not any(all(same(a, b) for a, b in zip(told, values)) for values in known):
            faults.append(f"no step has these numbers: {text}")
    if len(found) != len(known):
        faults.append(f"{len(known)} steps have garbage collection, {len(found)} say so")
    return faults
