"""What garbage collection did in a step."""

import html
import re

from .text import NUMBER, UNITS, near, number


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
