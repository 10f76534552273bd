#!/bin/sh
# Static binaries for x86-64 and 64-bit ARM (a Raspberry Pi beside the card), linked with musl and the
# linker that comes with Rust: no cross compiler is needed. They end in target/static. MACHINES and PROFILE limit and
# speed up a trial: MACHINES=x86_64 PROFILE=dev make static.
set -eu
cd "$(dirname "$0")/.."
built=${CARGO_TARGET_DIR:-target}
profile=${PROFILE:-release}
folder=$profile
[ "$profile" != dev ] || folder=debug
mkdir -p target/static
for machine in ${MACHINES:-x86_64 aarch64}; do
    target=$machine-unknown-linux-musl
    rustup --quiet target add "$target"
    variable=CARGO_TARGET_$(echo "$target" | tr 'a-z-' 'A-Z_')
    upper=$(echo "$profile" | tr 'a-z' 'A-Z')
    env "${variable}_LINKER=rust-lld" "CARGO_PROFILE_${upper}_STRIP=true" \
        cargo build --profile "$profile" --quiet --package nandscope --target "$target"
    cp "$built/$target/$folder/nandscope" "target/static/nandscope-$machine"
    ls -l "target/static/nandscope-$machine" | awk -v name="$machine" '{ printf "target/static/nandscope-%s: %.1f MB\n", name, $5 / 1e6 }'
done
