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

# The files of a package below $1, with the binary of machine $2.
tree() {
    install -D -m 755 "target/static/nandscope-$2" "$1/usr/bin/nandscope"
    install -D -m 644 "$work/completions/nandscope.bash" "$1/usr/share/bash-completion/completions/nandscope"
    install -D -m 644 "$work/completions/nandscope.zsh" "$1/usr/share/zsh/vendor-completions/_nandscope"
    install -D -m 644 "$work/completions/nandscope.fish" "$1/usr/share/fish/vendor_completions.d/nandscope.fish"
    mkdir -p "$1/usr/share/man/man1" "$1/usr/share/man/man7" "$1/usr/share/doc/nandscope"
    for page in "$work"/man/*.[17]; do
        gzip -9nc "$page" > "$1/usr/share/man/man${page##*.}/$(basename "$page").gz"
    done
    cat LICENSE-MIT LICENSE-APACHE > "$1/usr/share/doc/nandscope/copyright"
    gzip -9nc CHANGELOG.md > "$1/usr/share/doc/nandscope/changelog.gz"
}

for machine in $machines; do
    part "archive and Debian package, $machine"
    case $machine in x86_64) arch=amd64 ;; aarch64) arch=arm64 ;; *) echo "unknown machine $machine" >&2; exit 2 ;; esac
    root=$work/$machine
    tree "$root" "$machine"
    find "$root" -type d -exec chmod 755 {} +
    tar -C "$root/usr" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
        -czf "$dist/nandscope-$version-$machine-linux.tar.gz" .
    mkdir "$root/DEBIAN"
    cat > "$root/DEBIAN/control" <<CONTROL
Package: nandscope
Version: $version
Architecture: $arch
Maintainer: The nandscope authors <nandscope@localhost>
Section: utils
Priority: optional
Installed-Size: $(du -sk "$root/usr" | cut -f1)
Description: open laboratory for flash storage
 Runs storage reviews and flash-card surveys on real and simulated devices,
 and writes a publishable report. The binary is static and has no dependencies.
CONTROL
    dpkg-deb --root-owner-group --build "$root" "$dist/nandscope_${version}_$arch.deb" > /dev/null
done

part "wheels"
venv=target/dist-venv
[[ -x $venv/bin/pip ]] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet 'maturin[zig]>=1.11,<2'
for machine in $machines; do
    target=$machine-unknown-linux-gnu
    rustup --quiet target add "$target"
    # zig has the C library of the manylinux baseline for each machine.
    PATH="$PWD/$venv/bin:$PATH" "$venv/bin/maturin" build --profile "$profile" --quiet --zig --target "$target" \
        --compatibility manylinux_2_28 --generate-stubs --manifest-path python/Cargo.toml --out "$dist"
done

(cd "$dist" && sha256sum -- * > SHA256SUMS && ls -l)
printf '\nmake dist: %s s\n' "$SECONDS"
