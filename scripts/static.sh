#!/bin/sh
# Static binaries for x86-64 and 64-bit ARM (a Raspberry Pi beside the card), linked with musl and the
# linker that comes with Rust: no cross compiler is needed. They end in target/static.
set -eu
cd "$(dirname "$0")/.."
built=${CARGO_TARGET_DIR:-target}
mkdir -p target/static
for machine in x86_64 aarch64; do
    target=$machine-unknown-linux-musl
    rustup --quiet target add "$target"
    variable=CARGO_TARGET_$(echo "$target" | tr 'a-z-' 'A-Z_')
    env "${variable}_LINKER=rust-lld" CARGO_PROFILE_RELEASE_STRIP=true \
        cargo build --release --quiet --package nandscope --target "$target"
    cp "$built/$target/release/nandscope" "target/static/nandscope-$machine"
    ls -l "target/static/nandscope-$machine" | awk -v name="$machine" '{ printf "target/static/nandscope-%s: %.1f MB\n", name, $5 / 1e6 }'
done
