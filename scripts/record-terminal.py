#!/usr/bin/env python3
"""Records real commands in a terminal and writes an animated SVG picture of it.

    pip install pyte
    scripts/record-terminal.py target/release/nandscope docs/images/terminal.svg

Each command is typed, run in a pseudo-terminal of 80 columns, and shown with the delays that its output had. Only longer
pauses are cut to MOST_PAUSE. The picture is animated with CSS and needs no script."""

import codecs
import fcntl
import html
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

import pyte

COMMANDS = [
    "nandscope probe sim:kingston-8gb | grep -e unit -e avoid -A 1",
    "nandscope verify sim:sandisk-ultra-16gb --fault 'fake 2GiB wrap' | head -8",
    "nandscope review sim:samsung-evo-16gb --quick -o evo",
]
COLUMNS, ROWS = 80, 26
MOST_PAUSE = 0.8  # seconds
TYPING = 0.035  # seconds per letter
READING = 4.0  # seconds after each command
CELL_WIDTH, CELL_HEIGHT, MARGIN = 8.43, 18, 12
COLOURS = {
    "default": "#d8dee9", "red": "#ff7b72", "green": "#7ee787", "brown": "#e3b341", "blue": "#79c0ff",
    "magenta": "#d2a8ff", "cyan": "#76e3ea", "white": "#ffffff", "black": "#6e7681",
}


def record(program):
    """What the terminal shows, as (seconds since the frame before, text that was written to it)."""
    folder = tempfile.mkdtemp()
    bin_folder = Path(folder, "bin")
    bin_folder.mkdir()
    (bin_folder / "nandscope").symlink_to(Path(program).resolve())
    environment = dict(os.environ, PATH=f"{bin_folder}:{os.environ['PATH']}", TERM="xterm-256color", XDG_STATE_HOME=folder)
    for name in ("COLUMNS", "LINES", "NO_COLOR"):
        environment.pop(name, None)
    pieces = []
    for command in COMMANDS:
        pieces += [(0.6, "\x1b[1;32m$\x1b[0m ")] + [(TYPING, letter) for letter in command] + [(0.4, "\r\n")]
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        process = subprocess.Popen(
            ["bash", "-c", command], stdin=slave, stdout=slave, stderr=slave, cwd=folder, env=environment, start_new_session=True
        )
        os.close(slave)
        # A character may be parted between two reads.
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        last = time.monotonic()
        while True:
            if not select.select([master], [], [], 0.1)[0]:
                continue
            try:
                data = os.read(master, 65536)
            except OSError:
                break
            if not data:
                break
            now = time.monotonic()
            pieces.append((min(now - last, MOST_PAUSE), decoder.decode(data)))
            last = now
        process.wait()
        os.close(master)
        pieces.append((READING, ""))
    shutil.rmtree(folder)
    return pieces


def frames(pieces):
    """Distinct screens, as (seconds that one is shown, its rows of (text, colour, bold) runs)."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.Stream(screen)
    shown = []
    for delay, text in pieces:
        if shown:
            shown[-1][0] += delay
        stream.feed(text)
        rows = tuple(tuple(runs(screen.buffer[y])) for y in range(ROWS))
        if not shown or shown[-1][1] != rows:
            shown.append([0.0, rows])
    # A frame that nobody can see belongs to the next one.
    merged = []
    for seconds, rows in shown:
        if merged and merged[-1][0] < 0.03:
            merged[-1] = [merged[-1][0] + seconds, rows]
        else:
            merged.append([seconds, rows])
    return merged


def runs(line):
    """Cells of equal style in a row: (column, text, colour, bold)."""
    found = []
    for x in range(COLUMNS):
        cell = line[x]
        style = (cell.fg, cell.bold)
        if found and found[-1][2:] == style and found[-1][0] + len(found[-1][1]) == x:
            found[-1] = (found[-1][0], found[-1][1] + cell.data, *style)
        else:
            found.append((x, cell.data, *style))
    found = [(x, text.rstrip(), *style) for x, text, *style in found]
    return [run for run in found if run[1]]


def draw(shown):
    width = COLUMNS * CELL_WIDTH + 2 * MARGIN
    height = ROWS * CELL_HEIGHT + 2 * MARGIN
    total = sum(seconds for seconds, _ in shown)
    names, rows_drawn = {}, []
    for _, rows in shown:
        for row in rows:
            if row and row not in names:
                names[row] = f"r{len(names)}"
                spans = ""
                for x, text, colour, bold in row:
                    weight = ' font-weight="bold"' if bold else ""
                    fill = COLOURS.get(colour, COLOURS["default"])
                    # The width holds in fonts other than the one that was drawn with.
                    place = f'x="{x * CELL_WIDTH:.1f}" textLength="{len(text) * CELL_WIDTH:.1f}"'
                    spans += f'<tspan {place} fill="{fill}"{weight}>{html.escape(text)}</tspan>'
                rows_drawn.append(f'<text id="{names[row]}" xml:space="preserve">{spans}</text>')
    film, keys, at = [], [], 0.0
    for place, (seconds, rows) in enumerate(shown):
        uses = "".join(
            f'<use href="#{names[row]}" y="{(y + 1) * CELL_HEIGHT - 5}"/>' for y, row in enumerate(rows) if row
        )
        film.append(f'<g transform="translate(0 {place * height:.0f})">{uses}</g>')
        keys.append(f"{100 * at / total:.3f}%{{transform:translateY(-{place * height:.0f}px)}}")
        at += seconds
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" role="img" aria-label="A terminal in which nandscope probes, verifies and reviews simulated cards">
<style>
text {{ font: 14px "DejaVu Sans Mono", Menlo, Consolas, monospace; }}
#film {{ animation: film {total:.2f}s steps(1, end) infinite; }}
@keyframes film {{ {"".join(keys)} }}
</style>
<defs>{"".join(rows_drawn)}</defs>
<rect width="100%" height="100%" rx="8" fill="#161b22"/>
<svg x="{MARGIN}" y="{MARGIN}" width="{width - 2 * MARGIN:.0f}" height="{height - 2 * MARGIN:.0f}"><g id="film">{"".join(film)}</g></svg>
</svg>
"""


def main():
    program, picture = sys.argv[1:]
    shown = frames(record(program))
    Path(picture).write_text(draw(shown))
    print(f"{picture}: {len(shown)} frames, {sum(s for s, _ in shown):.1f} s, {Path(picture).stat().st_size} bytes")


if __name__ == "__main__":
    main()
