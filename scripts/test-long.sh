#!/usr/bin/env bash
# The checks of `make test-long`: fault campaigns, power cuts, served cards in real time, determinism across builds, generated
# documents. They take about half an hour on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/stages.sh

stage "build of the tests"
cargo test --workspace --no-run

stage "kernel for real file systems (from the cache where it was built before)"
"$target/debug/nandscope" kernel build

stage "slow tests"
echo "SKIPPED: slow_fio_on_a_served_drive: it wants a quiet machine; cargo test --release --test it serve_fio:: -- --ignored" >&2
echo "SKIPPED: verify beside f3probe at the card's own speed: a quarter of an hour; cargo test --test it verify_served:: -- --ignored" >&2
tests -- --ignored --skip slow_fio_on_a_served_drive --skip slow_verify_is_five_times_as_fast

stage "release build"
cargo build --release

stage "the same results from the debug and the release build"
scripts/determinism.sh "$target/debug/nandscope" "$target/release/nandscope"

stage "generated documents are up to date"
"$target/release/nandscope" validate --check docs/validation.md
"$target/release/nandscope" validate --cards facts --check docs/cards.md

summary "make test-long"
