#!/usr/bin/env bash
# The checks of `make test`, one after the other; the first that fails ends it. Slow tests (ignored here, by name `slow_…`)
# are those of test-long.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/stages.sh

reports_in_a_browser() {
    if command -v python3 >/dev/null && command -v chromium >/dev/null; then
        scripts/browser.sh "$target/debug/nandscope" "$work"
    else
        "$target/debug/nandscope" review sim:sm2708-250gb --quick -o "$work/report" >/dev/null
        skip "the browser check needs python3 and chromium"
    fi
}

stage "format, links, places of planted faults"
cargo fmt --all --check
rustfmt --edition 2024 --check fuzz/src/*.rs fuzz/fuzz_targets/*.rs
scripts/check-links.py
scripts/bench.py --check
scripts/planted-bugs.py --check

stage "documentation site"
if command -v mdbook >/dev/null; then
    mdbook build --dest-dir "$work/book"
    scripts/check-book.py "$work/book"
else
    skip "mdbook is missing"
fi

stage "lints"
cargo clippy --workspace --all-targets -- -D warnings

stage "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

stage "build of the tests"
cargo test --workspace --no-run

stage "kernel for real file systems (from the cache where it was built before)"
"$target/debug/nandscope" kernel build

# Tests wait for served cards, disks and processes as often as they work: reports are looked at meanwhile.
stage "tests; report in a browser"
looks=$work/browser.log
reports_in_a_browser >"$looks" 2>&1 &
browser=$!
trap '[[ -z $browser ]] || kill "$browser" 2>/dev/null || true; rm -rf "$work"' EXIT
tests default
wait "$browser" || { cat "$looks"; exit 1; }
# Its number may be that of another process from now on.
browser=
cat "$looks"

stage "examples in the documentation"
cargo test --workspace --doc 2>&1 | tee -a "$log"

summary "make test"
