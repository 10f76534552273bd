"""Figures of a document and of the drives that it is compared with."""

import os
import re

from .sustained import efficiency

# Documents of the shelf.
SHELF = []
# The results of the library's devices, a table for each procedure.
LIBRARY = os.path.join(os.path.dirname(__file__), "../../../crates/report/src/shelf/library")


def host(document, mode):
    """Title of the host of a mode, its name, and whether it is simulated; a run has one host, which its steps do not name."""
    data = document.data
    simulated = data["target"]["kind"] == "simulated"
    modes = data["target"]["modes"]
    if mode is None:
        info = modes[0] if len(modes) == 1 else None
    else:
        info = next((m for m in modes if m["name"] == mode), None)
    title = info.get("host", "") if info else "" if simulated else data["environment"].get("processor", "")
    return title, mode or (info and info["name"]) or title or None, simulated


def is_same(a, b):
    if a[2] != b[2]:
        return False
    return a[0] == b[0] if a[0] and b[0] else a[1] == b[1] or not a[2]


def shared_hosts(documents):
    """For each host that all documents have, the mode of each; else the first mode of each, and that they share none."""
    of_each = [d.modes or [None] for d in documents]
    found = []
    for mode in of_each[0]:
        own = host(documents[0], mode)
        modes = [next((m for m in ms if is_same(own, host(d, m))), "none") for d, ms in zip(documents, of_each)]
        if "none" not in modes:
            found.append(modes)
    return (found, False) if found else ([[ms[0] for ms in of_each]], True)


def compared(documents):
    """Values of each document by the identifier and unit of the figure and the host on which all have it."""
    shared, _ = shared_hosts(documents)
    found = []
    for i, document in enumerate(documents):
        values = {}
        for figure in document.data["figures"] + [f for s in document.steps for f in s["figures"]]:
            mode = figure.get("mode")
            at = next((n for n, modes in enumerate(shared) if modes[i] == mode), None)
            if mode is not None and at is None:
                continue
            prefix = re.sub(r"[^a-z0-9]+", "-", (mode or "").lower()).strip("-") + "."
            name = figure["id"].removeprefix(prefix)
            values.setdefault((name, figure["unit"], at or None), (figure["title"], figure["value"]))
        per_watt = efficiency(document, shared[0][i])
        if per_watt is not None:
            values[("efficiency", "MB/s/W", None)] = ("Sequential write, power efficiency", per_watt)
        found.append(values)
    return found


def test_of(document):
    quick = any(n["text"].startswith("Quick ") for n in document.data["notices"])
    return document.data["procedure"] + (", quick" if quick else "")


def shelf_rivals(document):
    """Documents of the shelf with the same test, of other targets: those of the same kind, or else all."""
    rivals = [d for d in SHELF if test_of(d) == test_of(document)
              and d.data["target"]["name"] != document.data["target"]["name"]]
    return [d for d in rivals if kind(d) == kind(document)] or rivals


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


PLURALS = {"sd": "SD cards without UHS", "uhs-1": "UHS-I cards", "uhs-2": "UHS-II cards", "sd-express": "SD Express cards",
           "emmc": "eMMCs", "sata": "SATA SSDs", "pcie": "PCIe SSDs", "card": "cards and eMMCs", "ssd": "SSDs"}


def kind(document):
    """The kind of interface; None where the document does not say it."""
    target = document.data["target"]
    if target["kind"] == "simulated":
        has = lambda *words: any(n.startswith(words) for n in links(document))
        if not links(document):
            return None
        if has("sd-"):
            return ("sd-express" if has("pcie-") else "uhs-2" if has("uhs2-") else
                    "uhs-1" if has("sd-sdr50", "sd-sdr104", "sd-ddr50") else "sd")
        return "uhs-2" if has("uhs2-") else "emmc" if has("emmc-") else "sata" if has("sata-") else "pcie"
    transport = document.data["environment"].get("transport") if target["kind"] == "block device" else None
    rate = target.get("link_bytes_per_s")
    if transport == "SD":
        return None if rate is None else "sd" if rate <= 25e6 else "uhs-1" if rate <= 104e6 else "uhs-2"
    return {"eMMC": "emmc", "NVMe": "pcie", "ATA": "sata"}.get(transport)


def family_of(kind):
    return None if kind is None else "ssd" if kind in ("sata", "pcie") else "card"


def family(document):
    """`card` or `ssd`; None where the document does not say it."""
    is_card = document.data["target"]["kind"] == "block device" and document.data["environment"].get("transport") == "SD"
    return family_of(kind(document)) or ("card" if is_card else None)


def library_table(document):
    """Path of the table with the results of the library's devices in the procedure of the document."""
    return os.path.join(LIBRARY, document.data["procedure"].replace(" ", "-") + ".tsv")


def lines_of_library(document):
    """Lines of the table for the same test and family, without the device itself."""
    with open(library_table(document), encoding="utf-8") as file:
        head, *lines = [line.rstrip("\n").split("\t") for line in file]
    run = "quick" if test_of(document).endswith(", quick") else "whole"
    found = []
    for cells in lines:
        line = dict(zip(head, cells))
        own = document.data["target"]["name"] == "sim:" + line["name"] or document.data["title"] == line["title"]
        if line["run"] == run and family_of(line["kind"]) == family(document) and not own:
            values = {tuple(name.split(" ")): float(value) for name, value in line.items() if " " in name and value != "-"}
            found.append((line, values))
    return found


def library_rivals(document, wide=False):
    """Lines of the same kind if there are three, and of the family otherwise or if `wide`; and the name of the kind or family."""
    lines = lines_of_library(document)
    own = [(line, values) for line, values in lines if line["kind"] == kind(document)]
    return (lines, family(document)) if wide or len(own) < 3 else (own, kind(document))


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


def in_library(document, wide=False):
    """The figures of the document and of its rivals that are ranked, in the form of `compared`, and those that are not."""
    mode = widest(document)
    name = mode and mode["name"]
    rivals, _ = library_rivals(document, wide)
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
