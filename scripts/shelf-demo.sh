#!/usr/bin/env bash
# Fills a shelf with all simulated devices and makes a site of it: a quick card review of each, and two fills of each drive of
# 60 GB and more, one per processor at a time. Usage: scripts/shelf-demo.sh OUT; it writes OUT/shelf and OUT/site.
# NANDSCOPE names the binary (default: target/release/nandscope).
set -euo pipefail
out=${1:?name a folder for the shelf and the site}
binary=$(realpath "${NANDSCOPE:-$(dirname "$0")/../target/release/nandscope}")
mkdir -p "$out"
cd "$out"
work=$(mktemp -d "$PWD/reviews.XXXXXX")
trap 'rm -rf "$work"' EXIT

review() {
    # Device and suite.
    local folder="$work/$1-$2" quick=--quick
    [ "$2" = card ] || quick=
    "$binary" review "sim:$1" --suite "$2" $quick -o "$folder" >/dev/null 2>"$folder.log" || {
        echo "the $2 review of $1 failed:" >&2
        cat "$folder.log" >&2
        return 255
    }
}
export -f review
export binary work

# The largest devices first: they take longest.
devices=$("$binary" devices --json | python3 -c '
import json, sys
for device in sorted(json.load(sys.stdin)["simulated"], key=lambda d: -d["capacity_bytes"]):
    if device["capacity_bytes"] >= 60e9:
        print(device["name"], "fill")
    print(device["name"], "card")')
echo "$devices" | xargs -P "$(nproc)" -n 2 bash -c 'review "$@"' review
"$binary" shelf add --shelf shelf --replace "$work"/*/result.json 2>/dev/null
"$binary" shelf site --shelf shelf -o site
