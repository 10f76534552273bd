#!/usr/bin/env bash
# `make dist`: everything that a release consists of, in target/dist: static binaries, man pages and completions in
# archives, Debian packages, Python wheels, checksums. The version comes from Cargo.toml, through the command itself.
# MACHINES and PROFILE limit and speed up a trial: MACHINES=x86_64 PROFILE=dev make dist.
set -euo pipefail
cd "$(dirname "$0")/.."
machines=${MACHINES:-x86_64 aarch64}
profile=${PROFILE:-release}
dist=$PWD/target/dist
part() { printf '\n-- %s (%s s)\n' "$*" "$SECONDS"; }
rm -rf "$dist"
mkdir -p "$dist"

part "static binaries"
MACHINES=$machines PROFILE=$profile scripts/static.sh
# The command that this machine can run writes the pages.
command=target/static/nandscope-$(uname -m)
version=$("$command" --version | cut -d' ' -f2)
# No file of archives and packages differs from build to build.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$command" help --man "$work/man" > /dev/null
mkdir "$work/completions"
for shell in bash zsh fish; do "$command" completions "$shell" > "$work/completions/nandscope.$shell"; done

tree=target/dist-tree
# The files of archive and package in $tree, with the binary of machine $1.
tree() {
    rm -rf "$tree"
    install -D -m 755 "target/static/nandscope-$1" "$tree/bin/nandscope"
    install -D -m 644 "$work/completions/nandscope.bash" "$tree/share/bash-completion/completions/nandscope"
    install -D -m 644 "$work/completions/nandscope.zsh" "$tree/share/zsh/vendor-completions/_nandscope"
    install -D -m 644 "$work/completions/nandscope.fish" "$tree/share/fish/vendor_completions.d/nandscope.fish"
    mkdir -p "$tree/share/man/man1" "$tree/share/man/man7" "$tree/share/doc/nandscope"
    for page in "$work"/man/*.[17]; do
        gzip -9nc "$page" > "$tree/share/man/man${page##*.}/$(basename "$page").gz"
    done
    cat LICENSE-MIT LICENSE-APACHE > "$tree/share/doc/nandscope/copyright"
    gzip -9nc CHANGELOG.md > "$tree/share/doc/nandscope/changelog.gz"
    find "$tree" -type d -exec chmod 755 {} +
}

part "cargo-deb"
cargo install --quiet --locked --root target/dist-tools 'cargo-deb@^3'

for machine in $machines; do
    part "archive and Debian package, $machine"
    tree "$machine"
    tar -C "$tree" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
        -czf "$dist/nandscope-$version-$machine-linux.tar.gz" .
    target/dist-tools/bin/cargo-deb --quiet --package nandscope --target "$machine-unknown-linux-musl" --no-build --no-strip \
        --deb-version "$version" --output "$dist/"
done

part "wheels"
venv=target/dist-venv
[[ -x $venv/bin/pip ]] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet 'maturin[zig]>=1.11,<2'
for machine in $machines; do
    target=$machine-unknown-linux-gnu
    rustup --quiet target add "$target"
    # zig has the C library of the manylinux baseline for each machine. Asked to remove debug information, its linker removes
    # the symbols too by which maturin finds the stubs.
    CARGO_PROFILE_RELEASE_STRIP=none PATH="$PWD/$venv/bin:$PATH" \
        "$venv/bin/maturin" build --profile "$profile" --quiet --zig --target "$target" \
        --compatibility manylinux_2_28 --generate-stubs --manifest-path python/Cargo.toml --out "$dist"
done

(cd "$dist" && sha256sum -- * > SHA256SUMS && ls -l)
printf '\nmake dist: %s s\n' "$SECONDS"
