#!/usr/bin/env python3
"""Uses the site of a shelf as readers do, in a headless Chromium, and fails where something is wrong.

    check_shelf.py SITE OUTPUT_FOLDER [--browser CHROMIUM] [--most-mb 40]

Looks at the index, the comparison and the report of a drive at 1440, 768 and 390 px, light and dark (nothing wider than the
screen, no text on other text or clipped, none smaller than 11 px, enough contrast). Then searches, filters, sorts, chooses
a chart, picks two drives and compares them, swaps them, saves charts as SVG and PNG, opens a drive and goes back. Any JavaScript error and any request
that leaves the site is a fault. Screenshots go to the output folder. Exit status 0 where all is well, 1 with a list of
faults otherwise.
"""

import argparse
import os
import sys

from check_report import Check, SCREENS, verdict

PAGES = ["index.html", "compare.html"]


class ShelfCheck(Check):
    """A site in one browser, and what was found wrong."""

    def __init__(self, browser, site, out):
        super().__init__(browser, "", out)
        self.site = "file://" + site

    def go(self, page, screen="desktop", dark=False):
        self.url = f"{self.site}/{page}"
        self.open(screen, dark)

    def expect(self, where, script, wanted):
        found = self.browser.run(script)
        if found != wanted:
            self.note(where, [f"{script.strip()[:120]} gives {found!r}, not {wanted!r}"])

    def put(self, field, value):
        """Types or chooses a value as a person would: the page hears of it."""
        self.browser.run(f"(() => {{ const f = document.getElementById({field!r}); f.value = {value!r};"
                         "f.dispatchEvent(new Event('input', { bubbles: true })); return 0; })()")

    def click(self, script):
        """Clicks the middle of the element that a script gives, with the mouse; of its first line if it has several."""
        at = self.browser.run(f"(() => {{ const e = {script}; e.scrollIntoView({{ block: 'center', behavior: 'instant' }});"
                              "const r = e.getClientRects()[0]; return { x: r.left + r.width / 2, y: r.top + r.height / 2 }; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, at["x"], at["y"], button="left", clickCount=1)

    def seen(self, selector):
        """Texts of the elements that are in sight, by attribute data-title or else by text."""
        return self.browser.run(f"""[...document.querySelectorAll({selector!r})].filter(e => e.checkVisibility())
            .map(e => e.dataset.title || e.textContent.trim())""")

    def looks(self, page, name):
        for screen in SCREENS:
            for dark in (False, True):
                self.go(page, screen, dark)
                where = f"{name}, {screen}, {'dark' if dark else 'light'}"
                run = self.browser.run
                self.note(where, run(f"reportChecks.sideways({SCREENS[screen][0]})"))
                for check in ("overlaps", "texts", "contrast", "plots"):
                    self.note(where, run(f"reportChecks.{check}()"))
                if not dark:
                    self.note(where, run("reportChecks.structure()"))
                self.picture(f"{name}-{screen}-{'dark' if dark else 'light'}")

    def index(self):
        self.go("index.html")
        rows = "#drives tbody tr"
        titles = self.seen(rows)
        if len(titles) < 3:
            self.note("index", [f"only {len(titles)} drives; the check needs three"])
            return None
        self.search(rows, titles)
        self.filter(rows, titles)
        self.sort(rows, titles)
        self.charts(len(titles))
        return self.pick(rows)

    def search(self, rows, titles):
        word = titles[-1].split()[0].lower()
        self.put("search", word)
        found = self.seen(rows)
        missing = [t for t in titles if word in t.lower() and t not in found]
        if missing or not found or (len(found) == len(titles) and not all(word in t.lower() for t in titles)):
            self.note("search", [f"`{word}` finds {len(found)} of {len(titles)}, without {missing[:3]}"])
        bars = self.seen(".shelf-chart:not([hidden]) .shelf-row")
        if len(bars) > len(found):
            self.note("search", [f"the chart shows {len(bars)} bars for {len(found)} drives"])
        self.put("search", "no drive has this name")
        if self.seen(rows) or not self.seen("#none"):
            self.note("search", ["a search without a match is not said to have none"])
        self.put("search", "")
        if len(self.seen(rows)) != len(titles):
            self.note("search", ["an empty search does not show all drives"])

    def filter(self, rows, titles):
        total = 0
        for value in self.browser.run("[...document.getElementById('capacity').options].map(o => o.value)")[1:]:
            self.put("capacity", value)
            total += len(self.seen(rows))
        self.put("capacity", "")
        if total != len(titles):
            self.note("filter", [f"the capacities hold {total} drives of {len(titles)}"])
        kinds = 0
        for value in ("simulated", "measured"):
            self.put("kind", value)
            shown = self.seen(rows)
            kinds += len(shown)
            wrong = self.browser.run(f"[...document.querySelectorAll('{rows}')].filter(r => r.checkVisibility() && r.dataset.kind !== {value!r}).length")
            if wrong:
                self.note("filter", [f"{wrong} drives shown are not {value}"])
        self.put("kind", "")
        if kinds != len(titles):
            self.note("filter", [f"simulated and measured are {kinds} drives of {len(titles)}"])

    def sort(self, rows, titles):
        self.put("sort", "capacity")
        capacities = self.browser.run(f"[...document.querySelectorAll('{rows}')].map(r => +r.dataset.capacity)")
        if capacities != sorted(capacities, reverse=True):
            self.note("sort", [f"capacities are not sorted: {capacities[:5]}"])
        if self.browser.run("[...document.getElementById('sort').options].some(o => o.value === 'v0')"):
            self.put("sort", "v0")
            values = self.browser.run(f"[...document.querySelectorAll('{rows}')].map(r => r.dataset.v0)")
            numbers = [float(v) for v in values if v]
            if numbers != sorted(numbers, reverse=True) or "" in values[:len(numbers)]:
                self.note("sort", [f"the first figure is not sorted: {values[:5]}"])
        self.put("sort", "title")
        if self.seen(rows)[0] != titles[0]:
            self.note("sort", ["sorting by name again gives another order than at first"])

    def charts(self, drives):
        shown = "[...document.querySelectorAll('.shelf-chart')].filter(c => c.checkVisibility()).map(c => c.id)"
        count = self.browser.run("document.getElementById('test').options.length")
        if count < 3:
            self.note("charts", [f"there are only {count}"])
        first = self.browser.run(shown)
        self.click("document.getElementById('later')")
        second = self.browser.run(shown)
        self.click("document.getElementById('earlier')")
        if len(first) != 1 or len(second) != 1 or first == second or self.browser.run(shown) != first:
            self.note("charts", [f"one chart at a time: {first}, then {second}, then {self.browser.run(shown)}"])
        unsorted = self.browser.run("""[...document.querySelectorAll('.shelf-chart')].filter(c => {
            const w = [...c.querySelectorAll('.bars-fill')].map(b => parseFloat(b.style.width));
            const up = w.every((x, i) => i === 0 || x >= w[i - 1]), down = w.every((x, i) => i === 0 || x <= w[i - 1]);
            return !up && !down; }).map(c => c.id)""")
        self.note("charts", [f"{chart} is not sorted" for chart in unsorted])
        most = self.browser.run("Math.max(...[...document.querySelectorAll('.shelf-chart')].map(c => c.querySelectorAll('.shelf-row').length))")
        if most > drives:
            self.note("charts", [f"a chart has {most} bars for {drives} drives"])

    def pick(self, rows):
        """Ticks the first, the second and the third drive: the last two are compared."""
        names = self.browser.run(f"[...document.querySelectorAll('{rows}')].slice(0, 3).map(r => r.dataset.name)")
        for i in range(3):
            self.click(f"document.querySelectorAll('{rows} input')[{i}]")
        self.expect("pick", "document.querySelectorAll('#drives input:checked').length", 2)
        self.expect("pick", "document.getElementById('compare').getAttribute('href')", f"compare.html#{names[1]},{names[2]}")
        self.picture("index-picked")
        self.click("document.getElementById('compare')")
        self.browser.wait("document.readyState === 'complete' && !!document.getElementById('pair')", "opening the comparison")
        return names[1:]

    def pair(self, names):
        bars = "document.querySelectorAll('#pair .pair-row').length"
        chosen = "['first', 'second'].map(f => document.getElementById(f).selectedOptions[0].textContent)"
        if self.browser.run(bars) < 3:
            self.note("comparison", [f"only {self.browser.run(bars)} figures are drawn"])
        before, verdict = self.browser.run(chosen), self.browser.run("document.getElementById('verdict').textContent")
        if not verdict.startswith("Of ") or "is better in" not in verdict:
            self.note("comparison", [f"the verdict is {verdict!r}"])
        if before[0] == before[1]:
            self.note("comparison", [f"a drive is compared with itself: {before}"])
        self.click("document.getElementById('swap')")
        if self.browser.run(chosen) != before[::-1]:
            self.note("comparison", ["swapping does not swap"])
        self.expect("comparison", "decodeURIComponent(location.hash)", f"#{names[1]},{names[0]}")
        self.browser.run("document.querySelectorAll('#pair details').forEach(d => { d.open = true; }); 0")
        wrong = self.browser.run("""[...document.querySelectorAll('#pair table tbody tr')].filter(r => {
            const best = r.querySelectorAll('td.better').length; return best > 1; }).length""")
        if wrong:
            self.note("comparison", [f"both drives are the better one in {wrong} figures"])

    def whole(self):
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.browser.call(f"{domain}.enable")
        for page in PAGES:
            self.looks(page, page.removesuffix(".html"))
        names = self.index()
        if names:
            self.pair(names)
            self.looks(f"compare.html#{names[0]},{names[1]}", "pair")
            for page in ("index.html", f"compare.html#{names[0]},{names[1]}"):
                self.go(page)
                self.exports()
            self.drive()
        self.requests()

    def drive(self):
        """Opens the report of a drive from the chart, and goes back."""
        self.go("index.html")
        self.click("[...document.querySelectorAll('.shelf-chart')].find(c => c.checkVisibility()).querySelector('a')")
        self.browser.wait("document.readyState === 'complete' && !!document.getElementById('title')", "opening a drive")
        page = self.browser.run("location.href").removeprefix(self.site + "/")
        if not self.browser.run("!!document.getElementById('ranks')"):
            self.note("drive", [f"{page} has no ranks"])
        self.looks(page, "drive")
        self.click("document.querySelector('.bar a.tool')")
        self.browser.wait("document.readyState === 'complete' && !!document.getElementById('drives')", "going back")

    def requests(self):
        """Script errors, and requests that leave the site."""
        inside = self.site + "/"
        for event in self.browser.events:
            if event["method"] == "Network.requestWillBeSent":
                url = event["params"]["request"]["url"]
                if not url.startswith((inside, "data:", "about:", "blob:")):
                    self.note("network", [f"the site asks for {url}"])
        self.browser.events = [e for e in self.browser.events if e["method"] != "Network.requestWillBeSent"]
        self.reports()


def size(site):
    return sum(os.path.getsize(os.path.join(folder, f)) for folder, _, files in os.walk(site) for f in files)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("site")
    parser.add_argument("out")
    parser.add_argument("--browser", help="path of Chromium, where it is not on the search path")
    parser.add_argument("--most-mb", type=float, default=40, help="largest site, in MB")
    arguments = parser.parse_args()
    site = os.path.abspath(arguments.site)
    if not os.path.isfile(os.path.join(site, "index.html")):
        print(f"{site}: there is no index.html", file=sys.stderr)
        return 1
    megabytes = size(site) / 1e6

    def run(browser):
        check = ShelfCheck(browser, site, arguments.out)
        if megabytes > arguments.most_mb:
            check.note("size", [f"the site has {megabytes:.1f} MB, more than {arguments.most_mb:g}"])
        check.whole()
        return check

    return verdict(site, arguments, run, f" ({megabytes:.1f} MB)")


if __name__ == "__main__":
    sys.exit(main())
