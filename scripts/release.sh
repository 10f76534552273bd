#!/usr/bin/env bash
# `make release TAG=vX.Y.Z`: checks that sources, changelog and addresses belong to this release, then makes what it
# consists of (dist.sh), and its notes from the changelog in target/dist-notes.md. It pushes and publishes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
fault() { printf 'release: %s\n' "$*" >&2; exit 1; }

tag=${1:-}
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
[[ $tag == "v$version" ]] || fault "the tag is '$tag', and Cargo.toml has version $version: call make release TAG=v$version"
grep -q "^version: $version\$" CITATION.cff || fault "CITATION.cff has another version than Cargo.toml, $version"

# The addresses that only the publisher knows, each in one place.
repository=$(sed -n '/^\[workspace.package\]/,/^\[/s/^repository = "\(.*\)"/\1/p' Cargo.toml)
[[ $repository == https://*/* && $repository != *example.org* ]] ||
    fault "repository in Cargo.toml is the placeholder '$repository': set the address of the repository"
maintainer=$(sed -n 's/^maintainer = "\(.*\)"/\1/p' crates/cli/Cargo.toml)
[[ $maintainer != *@localhost* && $maintainer != *example.org* ]] ||
    fault "maintainer in crates/cli/Cargo.toml is the placeholder '$maintainer': set an address that is read"

notes=target/dist-notes.md
mkdir -p target
awk -v version="$version" '
    /^## / { inside = index($0, "## " version ",") == 1; if (inside) { heading = $0; next } }
    inside
    END { if (heading == "" || heading ~ /not yet released/) exit 1 }
' CHANGELOG.md >"$notes" || fault "CHANGELOG.md has no section '## $version, YYYY-MM-DD'"
[[ -z $(git status --porcelain) ]] || fault "the working tree has changes: commit them first"

scripts/dist.sh
printf '\nNotes of the release: %s\n' "$notes"
