#!/usr/bin/env bash
# The checks of `make test`, one after the other; the first that fails ends it. Slow tests (ignored here, by name `slow_…`)
# are those of test-long.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/stages.sh

stage "format, links, places of planted faults"
cargo fmt --all --check
rustfmt --edition 2024 --check fuzz/src/*.rs fuzz/fuzz_targets/*.rs
scripts/check-links.py
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

stage "tests"
tests default

stage "examples in the documentation"
cargo test --workspace --doc 2>&1 | tee -a "$log"

stage "report in a browser"
"$target/debug/nandscope" review sim:sm2708-250gb --quick -o "$work/report" >/dev/null
if command -v python3 >/dev/null && command -v chromium >/dev/null; then
    python3 tests/browser/check_report.py "$work/report/report.html" "$work/screens"
    "$target/debug/nandscope" probe sim:kingston-8gb -o "$work/probe" >/dev/null
    "$target/debug/nandscope" verify sim:kingston-8gb --fault 'fake 2GiB wrap' -o "$work/verify" >/dev/null || [ $? -eq 10 ]
    "$target/debug/nandscope" fs sim:samsung-evo-16gb --fs ext4,f2fs --workload log --set LOG_LINES=20 -o "$work/fs" >/dev/null
    for kind in probe verify fs; do
        python3 tests/browser/check_report.py "$work/$kind/report.html" "$work/screens-$kind"
    done
    "$target/debug/nandscope" review sim:samsung-evo-16gb --quick -o "$work/other" >/dev/null
    "$target/debug/nandscope" compare "$work/report/result.json" "$work/other/result.json" --html "$work/compare.html" >/dev/null
    python3 tests/browser/check_report.py "$work/compare.html" "$work/screens-compare"
    "$target/debug/nandscope" review sim:kingston-8gb --quick -o "$work/third" >/dev/null
    "$target/debug/nandscope" shelf add --shelf "$work/shelf" "$work"/{report,other,third}/result.json
    "$target/debug/nandscope" shelf site --shelf "$work/shelf" -o "$work/site"
    python3 tests/browser/check_shelf.py "$work/site" "$work/screens-site"
    printf '[reads]\nrw=randread\nbs=4k\nioengine=libaio\ndirect=1\ntime_based\nruntime=100ms\n' >"$work/reads.fio"
    "$target/debug/nandscope" sweep "$work/reads.fio" sim:reference-nvme-64gb --set controller.cores=1,2 --set job.iodepth=1,8,64 \
        --precondition random --metric iops,p99 -o "$work/sweep" >/dev/null
    python3 tests/browser/check_report.py "$work/sweep/report.html" "$work/screens-sweep"
else
    skip "the browser check needs python3 and chromium"
fi

summary "make test"
