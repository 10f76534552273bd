"""Numbers, sentences and clauses in the text of a page."""

import html
import re


NUMBER = r"(-?[\d ]+(?:\.\d+)?(?:e-?\d+)?)"
# Three significant digits are shown: half a unit of the third is half a percent at most.
ROUNDING = 0.0051


def number(text):
    return float(text.replace(" ", ""))


def near(shown, value, tolerance=ROUNDING):
    # Values below 1 are shown with two decimals.
    decimals = 0.00501 if abs(value) < 1 else 1e-9
    return abs(shown - value) <= max(tolerance * max(abs(value), abs(shown)), decimals)


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


def split_clauses(text):
    """Clauses are parted by semicolons; names of jobs in brackets may hold them, too."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += {"(": 1, ")": -1}.get(c, 0)
        if c == ";" and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return parts + [text[start:].strip()]


UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}
