#!/usr/bin/env bash
# Makes the pictures of the README anew, with the release build: the report of a review, and the recorded terminal. Needs chromium, and
# pyte for Python (pip install pyte).
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
scripts/record-terminal.py "$program" docs/images/terminal.svg
