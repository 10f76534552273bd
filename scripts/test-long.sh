#!/usr/bin/env bash
# The checks of `make test-long`: libraries, the oldest compiler, ARM; fault campaigns, power cuts, served cards in real time,
# determinism across builds, the Python package, generated documents.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/stages.sh

stage "libraries: licences, sources, advisories"
if cargo deny --version >/dev/null 2>&1; then
    cargo deny check licenses bans sources
    if cargo deny fetch db 2>&1; then
        cargo deny check advisories
    else
        skip "advisories: their database cannot be fetched"
    fi
else
    skip "cargo-deny is missing: cargo install --locked cargo-deny"
fi

stage "oldest compiler, for 64-bit ARM"
# One check for both: of the source, only a few lines differ between processors.
oldest=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
arm=aarch64-unknown-linux-musl
if command -v rustup >/dev/null && rustup toolchain install "$oldest" --profile minimal >/dev/null 2>&1; then
    platform=(--target "$arm")
    if ! rustup target add --toolchain "$oldest" "$arm" >/dev/null 2>&1; then
        skip "the standard library of $arm cannot be had for Rust $oldest"
        platform=()
    fi
    CARGO_TARGET_DIR=$target/oldest cargo "+$oldest" check --workspace --all-targets --quiet "${platform[@]}"
else
    skip "Rust $oldest cannot be had"
fi

stage "packages of the published crates"
published=(units files device workload result)
# Files outside the package come through links; a package without them fails only when it is compiled.
for folder in device/profiles workload/traces; do
    listed=$(cargo package --list --allow-dirty -p "nandscope-${folder%/*}" | grep -c "^${folder#*/}/")
    there=$(find -L "crates/$folder" -type f | wc -l)
    [[ $listed -eq $there ]] || { echo "the package of ${folder%/*} has $listed of $there files of ${folder#*/}" >&2; exit 1; }
done
# Compiling them takes minutes: without --no-verify before a release.
if ! cargo publish --dry-run --no-verify --allow-dirty "${published[@]/#/-pnandscope-}" 2>&1 | tee "$work/publish"; then
    grep -q "Could not resolve\|ould not connect\|network failure\|download of config.json failed" "$work/publish" || exit 1
    skip "the crates cannot be packaged without the registry"
fi

stage "build of the tests"
cargo test --workspace --no-run

stage "kernel for real file systems (from the cache where it was built before)"
"$target/debug/nandscope" kernel build

stage "slow tests"
tests slow

stage "release build"
# With the features of the Python package too, which is then built from the same libraries.
cargo build --release -p nandscope -p nandscope-python --bins

stage "benchmarks: the same work on both sides"
if [[ $(id -u) -eq 0 ]] && command -v fio >/dev/null && losetup --find >/dev/null 2>&1; then
    scripts/bench-fio.py --quick --binary "$target/release/nandscope"
else
    skip "the comparison with fio needs fio, root and a loop device"
fi
if command -v fio >/dev/null && command -v nbdkit >/dev/null; then
    scripts/bench-serve.py --quick --binary "$target/release/nandscope"
else
    skip "the comparison with nbdkit needs fio and nbdkit"
fi

stage "the same results from the debug and the release build"
scripts/determinism.sh "$target/debug/nandscope" "$target/release/nandscope"

# Its tests and notebooks use one processor at a time: the next stages use the other.
package=$work/python.log
if python3 -c 'import ensurepip, venv' 2>/dev/null; then
    { make python && "$target/python-venv/bin/python" scripts/bench-python.py --quick; } >"$package" 2>&1 &
    python=$!
    trap '[[ -z $python ]] || kill "$python" 2>/dev/null || true; rm -rf "$work"' EXIT
else
    python=
    skip "the Python package needs python3-venv"
fi

stage "planted faults, some of them"
scripts/planted-bugs.py --some 24

stage "generated documents are up to date"
"$target/release/nandscope" validate --check docs/validation.md
# The chart of the README and the text of the report in its picture must be those that a review produces now.
"$target/release/nandscope" review sim:sm2708-250gb -o "$work/pictured" >/dev/null
cmp "$work/pictured/plots/fill-data.svg" docs/images/fill.svg || { echo "the pictures are out of date: make pictures" >&2; exit 1; }
if command -v python3 >/dev/null; then
    python3 tests/report/page_text.py "$work/pictured/report.html" >"$work/pictured.txt"
    diff docs/images/report.txt "$work/pictured.txt" || { echo "the pictures are out of date: make pictures" >&2; exit 1; }
else
    skip "the text of the README's picture needs python3"
fi

stage "Python package"
if [[ -n $python ]]; then
    wait "$python" || { cat "$package"; exit 1; }
    # Its number may be that of another process from now on.
    python=
    cat "$package"
fi

summary "make test-long"
