"""Ranks among other drives, and what is unusual beside similar ones."""

import html
import os
import re
import statistics

from .rivals import (PLURALS, SHELF, compared, family, host, host_limit, in_library, kind, library_rivals, library_table,
                     lines_of_library, shared_hosts, shelf_rivals, test_of, widest)
from .text import NUMBER, near, number


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
    # Ranks among other kinds follow from the same functions.
    section = section and [re.sub(r'<details class="inner on-screen wider">.*?</details>', "", section[0], flags=re.S)]
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
                    r"card or an SSD\. --ranks all ranks it among devices of all kinds, --shelf DIR among the drives of a shelf\.", intro):
        return [] if family(document) is None and not simulated else ["the document says what the device is"]
    if match := re.fullmatch(rf"Places among the (\d+) (?P<kind>.+?) of the shelf with the same test \((.+?)\)"
                             rf"(?:, (?:on (?P<host>.+?)|each on the (?P<first>first) host of its result))?, this one included\.{meaning}", intro):
        rivals = shelf_rivals(document)
        own, *others = compared([document] + rivals)
        shared, across = shared_hosts([document] + rivals)
        named = host(document, shared[0][0])[1] if not across and len(shared) == 1 else None
        if bool(match["first"]) != across or match["host"] != named:
            return [f"the host is {named}, {'none' if across else len(shared)} shared: {intro}"]
        titles = [d.title + (" (simulated)" if d.data["target"]["kind"] == "simulated" else "") for d in rivals]
        if across:
            titles = [f"{t}, {host(d, m)[1]}" for t, d, m in zip(titles, rivals, shared[0][1:])]
        expected, fewest, left_out = titles, 1, {}
        hosts = [host(document, modes[0])[1] or "" for modes in shared]
        if match["kind"] != PLURALS.get(kind(document), match["kind"]):
            return [f"not drives of this kind: {intro}"]
        match = (match[0], int(match[1]) - 1, match[3])
    elif match := re.fullmatch(r"(?P<few>The library has too few other .+? \(\d\)\. )?Places among this drive and (\d+) (?P<kind>.+?) of the "
                               r"library, all simulated, in the same test "
                               rf"\((.+?)\), each on the fastest host of its profile(?:, this drive in (.+?))?\.( This drive was measured\.)?{meaning}", intro):
        rivals, among = library_rivals(document)
        own, others, left_out = in_library(document)
        titles = [line["title"] for line, _ in rivals]
        expected, fewest = [f"{line['title']}, {line['mode']}" for line, _ in rivals], 3
        modes, hosts = document.data["target"]["modes"], [""]
        alike = sum(line["kind"] == kind(document) for line, _ in lines_of_library(document))
        few = f"The library has too few other {PLURALS.get(kind(document))} ({alike}). "
        if (match["few"] or "") != (few if alike < 3 and kind(document) else ""):
            return [f"there are {alike} of this kind: {intro}"]
        if match[5] != (widest(document)["name"] if len(modes) > 1 else None):
            return [f"another mode is compared: {intro}"]
        if bool(match[6]) == simulated or match["kind"] != PLURALS[among]:
            return [f"not true of this device: {intro}"]
        match = (match[0], match[2], match[4])
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
    faults += speed_index(part, [own] + others, [document.data["title"]] + titles, hosts)
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
        if at == of and int(of) >= 5 and "last place in" not in page.lower():
            faults.append(f"{title}: the last place of {of} is not in the verdict")
        if not any(holds(k) for k in keys):
            faults.append(f"{title}: rank {at} of {of} behind {best} does not hold: {[place(own, others, k) for k in keys]}")
    return faults


SPEEDS = ["MB/s", "IOPS", "GB/s", "ns", "µs", "ms", "s"]


def speed_index(part, drives, titles, hosts):
    """The index of speed of every drive: the geometric mean of its ratios to the medians in the tests that are named."""
    verdict, formula = " ".join(part(r'<p class="index-verdict">(.*?)</p>')), " ".join(part(r'<p class="index-formula">(.*?)</p>'))
    if not verdict:
        return []
    named = re.search(r"in \d+ tests?: (.*?)\. Of a time", formula)[1].split("; ")
    shared = [k for k in drives[0] if k[1] in SPEEDS and sum(k in d for d in drives) >= 4]
    is_named = lambda k, n: drives[0][k][0] in n and (len(hosts) == 1 or n.endswith(hosts[k[2] or 0]))
    tests = [k for k in shared if any(is_named(k, n) for n in named)]
    if len(tests) != len(named):
        return [f"not understood: {named}, {tests}"]

    def index(drive):
        ratios = []
        for key in (k for k in tests if k in drive):
            middle = statistics.median(d[key][1] for d in drives if key in d)
            ratios.append(drive[key][1] / middle if key[1] in MORE else middle / drive[key][1])
        return statistics.geometric_mean(ratios) if ratios and 2 * len(ratios) >= len(tests) else None

    expected = sorted(((i, t) for d, t in zip(drives, titles) if (i := index(d)) is not None), reverse=True)
    own = index(drives[0])
    shown = re.fullmatch(rf"Index {NUMBER} \(1 is the median of these drives\), place (\d+) of (\d+)\.", verdict)
    place_of_own = 1 + sum(i > own for i, _ in expected)
    if not shown or not near(number(shown[1]), own) or (int(shown[2]), int(shown[3])) != (place_of_own, len(expected)):
        return [f"the index is {own}, place {place_of_own} of {len(expected)}: {verdict}"]
    bars = part(r'<span class="bars-value">([^<]*?)×')
    if len(bars) != len(expected) or not all(near(number(b), i) for b, (i, _) in zip(bars, expected)):
        return [f"the indices are {expected}: {bars}"]
    return []


def last_places(document, text):
    """Figures in which all others are better: title, value and place."""
    rivals = shelf_rivals(document)
    if rivals:
        own, *others = compared([document] + rivals)
    else:
        own, others, _ = in_library(document)
    named = re.findall(rf"(?:^|, )(.+?) \({NUMBER} (\S+), (\d+) of (\d+)\)", re.sub(r" and \d+ more$", "", text))
    faults = [] if named else [f"not understood: {text}"]
    for title, value, unit, at, of in named:
        keys = [k for k, (name, v) in own.items() if (title.endswith(name) or name in title) and k[1] == unit and near(number(value), v)]
        if not any(place(own, others, k)[:2] == (int(at), int(of)) and at == of and int(of) >= 5 for k in keys):
            faults.append(f"{title}: {at} of {of} is not the last place: {[place(own, others, k) for k in keys]}")
    return faults


def unusual(document, text):
    match = re.match(rf"(\d+) (drives of the shelf|simulated devices of the library) are similar: half to twice {NUMBER} (MB/s) in (.+?)\. ", text)
    if not match:
        return [f"not understood: {text}"]
    if match[2] == "drives of the shelf":
        own, *others = compared([document] + shelf_rivals(document))
    else:
        own, others, _ = in_library(document, wide=True)

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
