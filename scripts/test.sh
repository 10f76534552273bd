#!/usr/bin/env bash
# All checks, one after the other; the first that fails ends it. `make test` comes here.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/tests.log

stage() {
    printf '\n== %s (%s s)\n' "$*" "$SECONDS"
}

stage "layout of the code"
cargo fmt --all --check
rustfmt --edition 2024 --check fuzz/src/*.rs fuzz/fuzz_targets/*.rs

stage "lints"
cargo clippy --workspace --all-targets -- -D warnings

stage "tests (among them: every kind of input changed at random for 20 s)"
cargo test --workspace --no-fail-fast 2>&1 | tee "$log"
if grep -q '^slow' crates/device/Cargo.toml; then
    stage "slow tests of the device"
    cargo test -p nandscope-device --features slow 2>&1 | tee -a "$log"
fi

stage "every other name of what must not be written"
cargo test --workspace --features nandscope-inspect/slow --test guard_names -- slow 2>&1 | tee -a "$log"

stage "slow tests of served cards, in real time"
cargo test -p nandscope --features slow --test serve_file --test serve_faults --test serve_guest --test serve_hostile -- slow 2>&1 | tee -a "$log"
cargo test -p nandscope --features slow --bin nandscope -- slow 2>&1 | tee -a "$log"

stage "every kind of input changed 20,000 times, within 1 GiB and 2 s each"
cargo test -p nandscope --features slow --test mutate_all -- slow 2>&1 | tee -a "$log"

stage "release build"
cargo build --release

stage "the same results from the debug and the release build"
scripts/determinism.sh "$target/debug/nandscope" "$target/release/nandscope"

nandscope=$target/release/nandscope

stage "real file systems in virtual time, in a kernel that is built for it"
XDG_CACHE_HOME=$work/cache "$nandscope" kernel build
XDG_CACHE_HOME=$work/cache cargo test --workspace --test fs --test fs_host --test cuts --test layout 2>&1 | tee -a "$log"
XDG_CACHE_HOME=$work/cache cargo test -p nandscope --features slow --test fs_served -- slow 2>&1 | tee -a "$log"

stage "a report in a browser"
"$nandscope" review sim:sm2708-250gb --quick -o "$work/report" >/dev/null
if command -v python3 >/dev/null && command -v chromium >/dev/null; then
    python3 tests/browser/check_report.py "$work/report/report.html" "$work/screens"
else
    echo "SKIPPED: the browser check needs python3 and chromium" >&2
fi

stage "generated documents are up to date"
"$nandscope" validate --check docs/validation.md
"$nandscope" validate --cards facts --check docs/cards.md

awk -v seconds="$SECONDS" '
    /^test result:/ { passed += $4; failed += $6; ignored += $8 }
    END {
        printf "\nall checks done in %d s\n", seconds
        printf "%d passed, %d failed, %d skipped\n", passed, failed, ignored
    }
' "$log"
