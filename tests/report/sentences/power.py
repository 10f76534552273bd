"""Power, temperatures and throttling."""

import re

from .text import NUMBER, near, number


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
