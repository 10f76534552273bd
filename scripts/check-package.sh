#!/usr/bin/env bash
# Runs every command of the README and the documentation with the program of an archive or a Debian package of `make dist`. The
# commands of a tutorial run in an empty folder, so that nothing of the sources is at hand.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tools.sh
[[ $# -eq 1 && -f $1 ]] || { echo "usage: scripts/check-package.sh target/dist/ARCHIVE.tar.gz|PACKAGE.deb" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
case $1 in
*.deb) dpkg-deb --extract "$1" "$work" ;;
*) tar -C "$work" -xzf "$1" ;;
esac
program=$(find "$work" -type f -name nandscope -perm -u+x -path '*/bin/*')
"$program" --version
NANDSCOPE_PROGRAMS=$(dirname "$program") cargo test --workspace --test it pages::commands_print
