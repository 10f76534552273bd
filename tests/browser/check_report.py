#!/usr/bin/env python3
"""Looks at a report as readers do, in a headless Chromium, and fails where something is wrong.

    check_report.py REPORT.html OUTPUT_FOLDER [--browser CHROMIUM]

At 1440, 768 and 390 px, light and dark: no script errors, no requests, nothing wider than the screen,
no text on other text or clipped, none smaller than 11 px, enough contrast, every plot drawn with a unit on each axis. Then hover,
zoom, keyboard, tabs, folding, theme, saving plots as SVG and PNG, and printing. Screenshots and the printed page go to the
output folder. Exit status 0 where all is well, 1 with a list of faults otherwise.
"""

import argparse
import base64
import os
import shutil
import sys
import time
from xml.etree import ElementTree

from devtools import Browser, BrowserError

HERE = os.path.dirname(os.path.abspath(__file__))
SCREENS = {"desktop": (1440, 900, 1, False), "tablet": (768, 1024, 1, True), "phone": (390, 844, 2, True)}
# A report is light enough for a phone, and short enough to be printed.
MOST_BYTES = 3_000_000
MOST_PAGES = 12
# Width and height of a sheet of A4 within its margins of 12 mm, in CSS pixels.
PAPER = (703, 1031)
# A screenshot higher than this is more than the browser's surface can hold; it is cut into parts.
PART = 6000
# Plots that are tried with the pointer; more would show the same again.
TRIED = 6
# Seconds in which a plot must show what the pointer has done and a file must be saved, on a machine that does other
# things as well.
LONGEST_WAIT = 60


def numbers(seen):
    """The values that a plot shows at its cursor."""
    return [v for v in seen["values"] if any(c.isdigit() for c in v)]


class Check:
    """One report in one browser, and what was found wrong."""

    def __init__(self, browser, url, out):
        self.browser = browser
        self.url = url
        self.out = out
        self.faults = []

    def note(self, where, faults):
        for fault in faults:
            line = f"{where}: {fault}"
            if line not in self.faults:
                self.faults.append(line)

    def open(self, screen, dark):
        width, height, scale, mobile = SCREENS[screen]
        call = self.browser.call
        call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=mobile)
        call("Emulation.setEmulatedMedia", media="", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
        ])
        call("Page.navigate", url="about:blank")
        call("Page.navigate", url=self.url)
        self.browser.wait("document.readyState === 'complete' && !!window.nandscope", "loading the report")
        with open(os.path.join(HERE, "page_checks.js"), encoding="utf-8") as file:
            self.browser.run(file.read() + ";0")
        self.settle()

    def settle(self):
        """Draws what waits to come into sight, and lets the page come to rest."""
        self.browser.run("""(async () => {
            for (let y = 0; y < document.documentElement.scrollHeight; y += 800) {
                scrollTo({ top: y, behavior: "instant" });
                // The page hears of what came into sight with the next frame, which a busy machine draws late.
                await new Promise(r => requestAnimationFrame(() => setTimeout(r, 0)));
            }
            scrollTo({ top: 0, behavior: "instant" });
            return true;
        })()""", timeout=300)
        self.browser.wait("nandscope.idle()", "drawing the plots")
        self.browser.wait("document.getAnimations().every(a => a.playState !== 'running')", "the end of transitions")
        # Changes of one frame may be laid out in the next one.
        self.browser.run("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(true))))")

    def read_plot(self, i, is_expected):
        """What a plot shows: as soon as it is expected, or after a while as it is."""
        until = time.monotonic() + LONGEST_WAIT
        while True:
            seen = self.browser.run(f"reportChecks.read({i})")
            if is_expected(seen) or time.monotonic() > until:
                return seen
            time.sleep(0.02)

    def picture(self, name):
        size = self.browser.call("Page.getLayoutMetrics")["cssContentSize"]
        height = int(size["height"])
        parts = range(0, height, PART)
        for i, top in enumerate(parts):
            clip = {"x": 0, "y": top, "width": size["width"], "height": min(PART, height - top), "scale": 1}
            shot = self.browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
            suffix = f"-{i + 1}" if len(parts) > 1 else ""
            self.write(f"{name}{suffix}.png", shot["data"])

    def write(self, name, data):
        with open(os.path.join(self.out, name), "wb") as file:
            file.write(base64.b64decode(data))

    def look(self, screen, state):
        """Everything that can be seen without touching the page."""
        width = SCREENS[screen][0]
        where = f"{screen}, {state}"
        run = self.browser.run
        self.note(where, run(f"reportChecks.sideways({width})"))
        self.note(where, run("reportChecks.overlaps()"))
        self.note(where, run("reportChecks.texts()"))
        self.note(where, run("reportChecks.contrast()"))
        self.note(where, run("reportChecks.plots()"))
        self.note(where, run("reportChecks.drawnTexts()"))

    def mouse(self, kind, x, y, **more):
        self.browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def touch_plots(self, screen):
        """Hover, zoom by dragging, reset by double click, on some of the plots."""
        count = self.browser.run("reportChecks.count()")
        step = max(1, count // TRIED)
        for i in range(0, count, step):
            at = self.browser.run(f"reportChecks.aim({i})")
            self.mouse("mouseMoved", at["x"] - 8, at["y"])
            self.mouse("mouseMoved", at["x"], at["y"])
            seen = self.read_plot(i, lambda seen: seen["together"] and numbers(seen))
            where = f"{screen}, {seen['id']}"
            shown = numbers(seen)
            if not shown:
                self.note(where, [f"hovering shows no value: {seen['values']}"])
            elif not all(v.endswith(seen["unit"]) for v in shown):
                self.note(where, [f"a value has no unit: {shown}, expected {seen['unit']}"])
            if not seen["together"]:
                self.note(where, ["the plots of the step do not share the cursor"])
            self.zoom(i, at, seen, where)

    def zoom(self, i, at, before, where):
        self.drag(at["left"] + at["width"] * 0.3, at["left"] + at["width"] * 0.6, at["y"])
        whole = before["max"] - before["min"]
        is_zoomed = lambda seen: seen["max"] - seen["min"] < whole * 0.7
        is_alike = lambda seen: max(seen["zoomed"]) - min(seen["zoomed"]) <= 1e-6 * whole
        after = self.read_plot(i, lambda seen: is_zoomed(seen) and is_alike(seen))
        part = after["max"] - after["min"]
        if not is_zoomed(after):
            self.note(where, [f"dragging does not zoom: {whole:g} became {part:g}"])
        if not is_alike(after):
            self.note(where, [f"the plots of the step do not zoom together: {after['zoomed']}"])
        for clicks in (1, 2):
            self.mouse("mousePressed", at["x"], at["y"], button="left", clickCount=clicks)
            self.mouse("mouseReleased", at["x"], at["y"], button="left", clickCount=clicks)
        is_whole = lambda seen: abs((seen["max"] - seen["min"]) - whole) <= 0.02 * whole
        if not is_whole(self.read_plot(i, is_whole)):
            self.note(where, ["double click does not reset the zoom"])

    def drag(self, start, end, y):
        self.mouse("mouseMoved", start, y)
        self.mouse("mousePressed", start, y, button="left", clickCount=1)
        for k in range(1, 6):
            self.mouse("mouseMoved", start + (end - start) * k / 5, y, button="left", buttons=1)
        self.mouse("mouseReleased", end, y, button="left", clickCount=1)

    def keyboard(self):
        if not self.browser.run("reportChecks.count()"):
            return
        self.browser.run("document.querySelectorAll('.plot-area')[0].focus(); 0")
        self.browser.run("""['ArrowRight', 'ArrowRight'].forEach(key =>
            [...document.querySelectorAll('.plot-area')].find(a => a.uplot).dispatchEvent(new KeyboardEvent('keydown', { key })))""")
        if not any(c.isdigit() for c in self.browser.run("document.getElementById('live').textContent")):
            self.note("keyboard", ["arrow keys in a plot read out no values"])

    def theme(self):
        ground = "getComputedStyle(document.body).backgroundColor"
        click = "document.getElementById('theme').click(); 0"
        first = self.browser.run(ground)
        self.browser.run(click)
        second = self.browser.run(ground)
        self.settle()
        self.note("after the theme was changed", self.browser.run("reportChecks.plots()"))
        self.browser.run(click)
        if first == second or self.browser.run(ground) != first:
            self.note("theme", [f"the button does not switch: {first}, {second}, {self.browser.run(ground)}"])
        self.browser.run("localStorage.clear(); 0")

    def tabs(self, screen):
        count = self.browser.run("document.querySelectorAll('[role=tab]').length")
        for i in range(count):
            self.browser.run(f"document.querySelectorAll('[role=tab]')[{i}].click(); 0")
            hidden = self.browser.run(
                "(() => { const t = document.querySelectorAll('[role=tab]')[%d];"
                "return document.getElementById(t.getAttribute('aria-controls')).hidden; })()" % i
            )
            if hidden:
                self.note("tabs", [f"tab {i} does not show its part"])
        self.settle()
        self.look(screen, "last tab of each chapter")

    def exports(self):
        """Saves a plot, a bar chart and a drawing of the page as SVG and PNG by a click, and looks into the files."""
        folder = os.path.abspath(os.path.join(self.out, "saved"))
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        self.browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)
        figures = self.browser.run("reportChecks.figures()")
        self.note("export", [f"{f['name']} cannot be saved" for f in figures if f["buttons"] != ["SVG", "PNG"]][:5])
        for kind in ("plot", "bars", "drawing"):
            of_kind = [f for f in figures if f["kind"] == kind]
            of_kind.sort(key=lambda f: not f["visible"])
            for index in [f["index"] for f in of_kind][:1]:
                for form in ("SVG", "PNG"):
                    self.export(folder, kind, index, form)

    def export(self, folder, kind, index, form):
        before = set(os.listdir(folder))
        at = self.browser.run(f"reportChecks.aimSave({index}, '{form}')")
        for event in ("mousePressed", "mouseReleased"):
            self.mouse(event, at["x"], at["y"], button="left", clickCount=1)
        saved, size = None, 0
        for _ in range(10 * LONGEST_WAIT):
            names = os.listdir(folder)
            new = [n for n in names if n not in before and n.endswith("." + form.lower())]
            # The browser makes the file first, and fills it then.
            if new and not any(n.endswith(".crdownload") for n in names):
                last, size = size, os.path.getsize(os.path.join(folder, new[0]))
                if size > 0 and size == last:
                    saved = os.path.join(folder, new[0])
                    break
            time.sleep(0.1)
        if saved is None:
            self.note("export", [f"a click on {form} of a {kind} saves nothing"])
            return
        with open(saved, "rb") as file:
            data = file.read()
        where = f"export, {os.path.basename(saved)}"
        if form == "SVG":
            plain = lambda text: " ".join((text or "").split())
            texts = [plain(t.text) for t in ElementTree.fromstring(data).iter("{http://www.w3.org/2000/svg}text")]
            missing = [t for t in at["texts"] if not any(plain(t) in text for text in texts)]
            self.note(where, [f"the file does not have the text {t!r}" for t in missing[:5]])
            return
        look = self.browser.run(f"reportChecks.picture('{base64.b64encode(data).decode()}')")
        if look["width"] < 1200 or look["height"] < 150:
            self.note(where, [f"it has only {look['width']} by {look['height']} pixels"])
        if not 0.004 < look["ink"] < 0.8 or look["colours"] < 4:
            self.note(where, [f"it is blank: {look['ink']:.4f} of it is not white, in {look['colours']} colours"])

    def printing(self):
        """Prints the page: nothing folded, nothing cut, every plot drawn, few pages; and the page is as it was."""
        before = self.browser.run("reportChecks.folds()")
        self.browser.run("dispatchEvent(new Event('beforeprint')); 0")
        self.browser.call("Emulation.setEmulatedMedia", media="print")
        self.note("print", self.browser.run("reportChecks.printed()"))
        self.note("print", self.browser.run(f"reportChecks.cut({PAPER[0]}, {PAPER[1]})"))
        self.browser.call("Emulation.setEmulatedMedia", media="")
        self.browser.run("dispatchEvent(new Event('afterprint')); 0")
        pdf = self.browser.call("Page.printToPDF", timeout=300, printBackground=False, preferCSSPageSize=True)
        self.write("report.pdf", pdf["data"])
        pages = base64.b64decode(pdf["data"]).count(b"/Type /Page\n")
        if pages > MOST_PAGES:
            self.note("print", [f"the report takes {pages} pages, more than {MOST_PAGES}"])
        if len(pdf["data"]) < 20_000:
            self.note("print", ["the printed page is nearly empty"])
        if self.browser.run("'print' in document.documentElement.dataset || !!document.querySelector('svg.printed, [data-unprinted]')"):
            self.note("print", ["the page stays in its printed form"])
        if self.browser.run("reportChecks.folds()") != before:
            self.note("print", ["what was folded stays open after printing"])
        self.settle()

    def reports(self):
        """Errors and requests that the page caused, from the browser's own events."""
        for event in self.browser.events:
            method, parameters = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                self.note("script", [details.get("exception", {}).get("description", details["text"])])
            elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
                self.note("console", [" ".join(str(a.get("value", "")) for a in parameters["args"])])
            elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                # The check itself reads the canvases back, of which the browser warns.
                if "getImageData" in parameters["entry"]["text"]:
                    continue
                self.note("log", [parameters["entry"]["text"]])
            elif method == "Network.requestWillBeSent":
                url = parameters["request"]["url"]
                if url.split("#")[0] != self.url and not url.startswith(("data:", "about:", "blob:")):
                    self.note("network", [f"the page asks for {url}"])

    def size(self, path):
        size = os.path.getsize(path)
        if size > MOST_BYTES:
            self.note("size", [f"the page has {size} bytes, more than {MOST_BYTES}"])

    def whole(self):
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.browser.call(f"{domain}.enable")
        for screen in SCREENS:
            for dark in (False, True):
                state = "dark" if dark else "light"
                self.open(screen, dark)
                self.look(screen, state)
                self.picture(f"{screen}-{state}")
                if dark:
                    continue
                self.note(screen, self.browser.run("reportChecks.structure()"))
                self.touch_plots(screen)
                if screen == "desktop":
                    self.keyboard()
                    self.theme()
                    self.printing()
                    self.exports()
                self.tabs(screen)
                self.browser.run("document.getElementById('fold').click(); 0")
                self.settle()
                self.look(screen, "unfolded")
        self.reports()


def verdict(name, arguments, run, more=""):
    """Carries out a check in a browser of its own and prints what it found; gives the exit status. `run` makes the check
    for a browser, does it, and returns it; `more` is said of what has no faults."""
    os.makedirs(arguments.out, exist_ok=True)
    browser = None
    try:
        browser = Browser(arguments.browser)
        check = run(browser)
    except BrowserError as error:
        print(f"{name}: the check could not be finished: {error}", file=sys.stderr)
        return 1
    finally:
        if browser:
            browser.close()
    for fault in check.faults:
        print(fault, file=sys.stderr)
    if check.faults:
        print(f"{name}: {len(check.faults)} faults; screenshots are in {arguments.out}", file=sys.stderr)
        return 1
    print(f"{name}: no faults{more}; screenshots are in {arguments.out}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("report")
    parser.add_argument("out")
    parser.add_argument("--browser", help="path of Chromium, where it is not on the search path")
    arguments = parser.parse_args()
    path = os.path.abspath(arguments.report)
    if not os.path.isfile(path):
        print(f"{path}: there is no such file", file=sys.stderr)
        return 1

    def run(browser):
        check = Check(browser, "file://" + path, arguments.out)
        check.size(path)
        check.whole()
        return check

    return verdict(path, arguments, run)


if __name__ == "__main__":
    sys.exit(main())
