#!/usr/bin/env bash
# Fuzzes every target for FUZZ_SECONDS (60) each. With a nightly compiler and cargo-fuzz (both are
# installed where that is possible) libFuzzer does it; otherwise the same checks run on seeds with
# random changes, for as long, with the compiler at hand.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${FUZZ_SECONDS:-60}
declare -A seeds=(
    [profile]="profiles fuzz/seeds/profile" [host]=profiles/hosts [job]="jobs fuzz/seeds/job"
    [iolog]=fuzz/seeds/iolog [blkparse]=fuzz/seeds/blkparse [csv]=fuzz/seeds/csv
    [nstrace]=traces [result]=fuzz/seeds/result
    [fio]="crates/measure/tests/data fuzz/seeds/fio" [snapshot]=fuzz/seeds/snapshot
    [flashbench]=fuzz/seeds/flashbench [linux]=fuzz/seeds/linux
    [registers]=fuzz/seeds/registers [mountinfo]=fuzz/seeds/mountinfo [smart]=fuzz/seeds/smart
    [meter]=fuzz/seeds/meter [signatures]=fuzz/seeds/signatures
    [nbd]=fuzz/seeds/nbd [fuse]=fuzz/seeds/fuse [vhost]=fuzz/seeds/vhost
    [virtio]=fuzz/seeds/virtio [journal]=fuzz/seeds/journal
    [steps]=fuzz/seeds/steps
    [undo]=fuzz/seeds/undo
)

nightly() {
    cargo +nightly --version >/dev/null 2>&1 ||
        rustup toolchain install nightly --profile minimal >/dev/null 2>&1
}
cargo_fuzz() {
    cargo fuzz --version >/dev/null 2>&1 || cargo install --quiet --locked cargo-fuzz
}

if ! { nightly && cargo_fuzz; }; then
    echo "no nightly compiler or cargo-fuzz: changing seeds at random instead"
    NANDSCOPE_MUTATE_SECONDS=$((seconds * ${#seeds[@]})) \
        cargo test --release -p nandscope --test it -- mutate:: --nocapture
    exit
fi
# Everything here is safe code, so that the address sanitizer would find nothing.
cargo +nightly fuzz build --sanitizer none
for target in "${!seeds[@]}"; do
    mkdir -p "fuzz/corpus/$target"
    echo "== $target"
    # Several folders on purpose.
    # shellcheck disable=SC2086
    cargo +nightly fuzz run --sanitizer none "$target" "fuzz/corpus/$target" ${seeds[$target]} -- \
        -max_total_time="$seconds" -timeout=20 -rss_limit_mb=4096 2>&1 | tail -4
done
