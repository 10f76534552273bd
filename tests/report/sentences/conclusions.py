"""What a document concludes: published figures, fullness, internals, verdicts, tests and file systems."""

import re

from .figures import figures_hold
from .text import NUMBER, UNITS, near, number, split_clauses


def is_met(figure):
    """Whether the value of a figure has the published relation to the published value."""
    value, p = figure["value"], figure["published"]
    bounds = {"<": value < p["value"], "<=": value <= p["value"], ">": value > p["value"], ">=": value >= p["value"]}
    if p["op"] in bounds:
        return bounds[p["op"]]
    return abs(value - p["value"]) <= p["tolerance"] * (abs(p["value"]) if p["tolerance_kind"] == "relative" else 1)


def publication(document, text):
    seen, published = set(), []
    for figure in document.data["figures"] + [f for s in document.steps for f in s["figures"]]:
        key = (figure["id"], figure.get("mode"))
        if figure.get("published") and key not in seen:
            published.append({**figure["published"], "met": is_met(figure)})
        seen.add(key)
    met = sum(p["met"] for p in published)
    if match := re.match(r"(\d+) of (\d+) published", text):
        right = (int(match[1]), int(match[2])) == (met, len(published)) and met < len(published)
    elif match := re.match(r"All (\d+) published", text):
        right = int(match[1]) == met == len(published)
    else:
        right = text.startswith("The published figure") and met == len(published) == 1
    faults = figures_hold(document) + ([] if right else [f"{met} of {len(published)} are met: {text}"])
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
    states = next(c for c in step["curves"] if c["y_name"].startswith("state of the block (3 genuine, "))
    kept = {**states, "y": [int(v == 3) for v in states["y"]]}
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
        (r"writes past the end alias to addresses [\d.]+\s\w+ \((\d+) bytes\) lower: (\d+) tagged blocks were found at another address",
         lambda m: min(int(m[2]), 20) == len(aliases) > 0 and all(abs(a - b) == d and d * 512 % int(m[1]) == 0 for a, b, d in aliases)),
        (r"writes past the end are lost", lambda m: wrong > 0 and not aliases),
        (r"(reads past the end return old contents|past the end every operation fails)", lambda m: wrong > 0 and not aliases),
        (r"past the end only a cache of \d+ blocks holds data, and loses it", lambda m: wrong > 0 and not aliases),
        (r"the end is at [\d.]+\s\w+ \((\d+) bytes\)",
         lambda m: real is not None and near(int(m[1]) / 1e9, real, 1e-9) and near(kept["threshold"], real, 1e-9)
         and not any(v for x, v in zip(kept["x"], kept["y"]) if x >= real)),
        (r"(\d+) of (\d+) tagged blocks were wrong, \d+ changed when they were read again; the device has good blocks at higher addresses",
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
