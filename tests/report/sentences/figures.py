"""Figures of a document recomputed from its operations, as far as they are rates: sentences on publications rest on them."""

import re

from .operations import best, iops, mb_s, mean, runs

ROWS = {"seq1m-q8t1": "SEQ1M Q8T1", "seq1m-q1t1": "SEQ1M Q1T1", "rnd4k-q32t1": "RND4K Q32T1", "rnd4k-q1t1": "RND4K Q1T1"}
# The document has all digits.
EXACT = 1e-6


def recomputed(document, figure):
    """The value of a figure from the jobs of its step; None for figures of other kinds."""
    mode, ending = figure.get("mode"), figure["id"]
    if match := re.search(r"(?:^|\.)cdm\.(\w+)\.([\w-]+)\.(read|write)(\.iops)?$", ending):
        state, row, kind, counted = match.groups()
        if row not in ROWS:
            return None
        jobs = runs(document, mode, f"cdm-{state}", re.escape(f"{ROWS[row]} {kind}") + r", run \d+")
        return best((iops if counted else mb_s)(job, kind) for job in jobs)
    if match := re.search(r"(?:^|\.)fill\.pass-(\d+)$", ending):
        return mean([mb_s(job, "write") for job in runs(document, mode, f"fill-{match[1]}", ".*")])
    return None


def figures_hold(document):
    """Figures that do not follow from the operations."""
    faults, seen = [], 0
    for figure in [f for s in document.steps if not s["incomplete"] for f in s["figures"]]:
        value = recomputed(document, figure)
        if value is None:
            continue
        seen += 1
        if abs(value - figure["value"]) > EXACT * abs(value):
            faults.append(f"{figure['id']} is {value}, not {figure['value']}")
    if document.data["procedure"] == "card review" and not seen:
        faults.append("no figure was recomputed")
    return faults
