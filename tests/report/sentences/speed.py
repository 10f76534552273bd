"""The greatest speeds, and what a format brings back."""

import re

from .text import NUMBER, near, number, split_clauses


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
