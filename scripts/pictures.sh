#!/usr/bin/env bash
# Makes the pictures of the documentation, with the release build: chart and report of a review, and the recorded terminal. Needs
# chromium, and pyte for Python (pip install pyte). The text of the report is kept, too: `make test-long` compares it, and the chart.
set -euo pipefail
cd "$(dirname "$0")/.."
program=${1:-target/release/nandscope}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$program" review sim:sm2708-250gb -o "$work/report" >/dev/null
shoot() { # PICTURE WIDTH HEIGHT
    chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --virtual-time-budget=5000 \
        --window-size="$2,$3" --screenshot="$PWD/docs/images/$1" "file://$work/report/report.html" 2>/dev/null
}
shoot report.png 1280 1640
python3 tests/report/page_text.py "$work/report/report.html" >docs/images/report.txt
cp "$work/report/plots/fill-data.svg" docs/images/fill.svg
scripts/record-terminal.py "$program" docs/images/terminal.svg
