#!/usr/bin/env bash
# Tests with Linux' own drivers for NVMe, SD cards, USB, SATA and SCSI, in a virtual machine (tests/vm). PART selects tests:
#   scripts/test-vm.sh [PART…]
set -euo pipefail
cd "$(dirname "$0")/.."
# As `make test` builds it, so that nothing is built twice.
cargo test --quiet --workspace --no-run
only=()
for part in "$@"; do only+=(--only "$part"); done
exec python3 tests/vm/run.py "${CARGO_TARGET_DIR:-target}/debug/nandscope" "${only[@]}"
