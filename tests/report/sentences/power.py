"""Power, temperatures and throttling."""

import re

from .operations import intervals
from .text import NUMBER, near, number

# A meter on the bus resolves no shorter interval, seconds.
METER_S = 0.5


def power_and_heat(document, text):
    faults = []
    body = text.removeprefix("It ").rstrip(".")
    for part in body.split("; it "):
        if part.startswith("draws "):
            faults += extremes(document, part[6:], "W", highest_power, mean_power)
        elif part.startswith("reports "):
            faults += extremes(document, part[8:], "°C", peak("device temperature"), peak("surface temperature"))
        elif part == "shows no throttling in the recorded time":
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
        unit = next((s["unit"] for s in step["series"] if s["name"] == "throttle"), None)
        full = 100.0 if unit == "%" else 1.0
        for v, length in intervals(step, "throttle"):
            whole += length
            slow += length * (v < full * 0.999)
    return slow / whole * 100 if whole else 0.0


def peak(name):
    return lambda document, mode: document.peak(name, mode)


def powers(document, mode):
    return [sample for step in document.of_mode(mode) for sample in intervals_since_start(step)]


def intervals_since_start(step):
    """Power and length of each interval of a step."""
    series = next((s for s in step["series"] if s["name"] == "power"), {"t_s": [], "v": []})
    starts = [step["start_s"]] + series["t_s"]
    return [(v, t - before) for before, t, v in zip(starts, series["t_s"], series["v"])]


def highest_power(document, mode):
    """What a meter shows, where the procedure looked for it; otherwise the highest value of all."""
    if document.figure("power.peak", mode) is None:
        return document.peak("power", mode)
    return max((v for v, length in powers(document, mode) if length >= METER_S), default=None)


def mean_power(document, mode):
    time = sum(length for _, length in powers(document, mode))
    return sum(v * length for v, length in powers(document, mode)) / time if time else None


def extremes(document, text, unit, first, second):
    faults = []
    for part in re.split(r", (?=up to )", text):
        match = re.fullmatch(rf"up to {NUMBER} {unit}(?: in (?P<mode>.*?))?(?: \((?:surface )?{NUMBER} {unit}(?: on average)?\))?", part)
        mode = document.mode(match["mode"]) if match else None
        if not match or (match["mode"] and mode is None):
            faults.append(f"not understood: {part}")
            continue
        value = first(document, mode)
        if value is None or not near(number(match[1]), value):
            faults.append(f"{part}: it is {value}")
        if match[3]:
            other = second(document, mode)
            if other is None or not near(number(match[3]), other):
                faults.append(f"{part}: in brackets it is {other}")
    return faults
