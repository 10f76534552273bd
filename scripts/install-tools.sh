#!/usr/bin/env bash
# Installs what the checks need beside Rust, on Debian and as root, where it is missing. Elsewhere
# it says what is missing; the checks that need it say so again. cargo-deny is not installed: it takes ten minutes to build.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tools.sh
export DEBIAN_FRONTEND=noninteractive

packages=()
need() { # COMMAND PACKAGE
    command -v "$1" >/dev/null || packages+=("$2")
}
need cc build-essential
need fio fio
need nbdinfo libnbd-bin
need qemu-img qemu-utils
need flashbench flashbench
need f3probe f3
need nbdsh python3-libnbd
need nbdkit nbdkit
need qemu-system-x86_64 qemu-system-x86
need python3 python3
# Imported by the programs of fio's package that plot and convert its logs.
python3 -c 'import six' 2>/dev/null || packages+=(python3-six)
# `make python` makes a virtual environment.
python3 -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3-venv)
need chromium chromium
need strip binutils
need mount mount
need losetup mount
need kill procps
# Makers of the file systems and volumes that `inspect` must recognise, and blkid to compare with.
need wipefs util-linux
need mkfs.ext4 e2fsprogs
need mkfs.vfat dosfstools
need mkfs.exfat exfatprogs
need mkfs.xfs xfsprogs
need mkfs.btrfs btrfs-progs
need mkfs.f2fs f2fs-tools
need mkfs.nilfs2 nilfs-tools
need pvcreate lvm2
need dmsetup dmsetup
need cryptsetup cryptsetup-bin
need sgdisk gdisk
need parted parted
# Programs that build the kernel of `nandscope fs`, and the programs of its workloads.
need make make
need flex flex
need bison bison
need bc bc
need patch patch
need xz xz-utils
need setpriv util-linux
need smartctl smartmontools
need sfdisk fdisk
need postmark postmark
need sqlite3 sqlite3

if ((${#packages[@]} > 0)); then
    if [[ $(id -u) -eq 0 ]] && command -v apt-get >/dev/null; then
        echo "installing: ${packages[*]}"
        apt-get update -qq
        apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
    else
        echo "missing, please install: ${packages[*]}" >&2
    fi
fi
if command -v rustup >/dev/null; then
    for component in rustfmt clippy; do
        rustup component add "$component" >/dev/null 2>&1 || true
    done
fi

# Built without optimisation, which takes a quarter of the time.
cargo_tool() { # NAME OPTION…
    command -v "$1" >/dev/null && return
    echo "installing: $1 in $tools"
    env -u CARGO_TARGET_DIR CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_DEV_OPT_LEVEL=0 \
        cargo install --debug --quiet --locked --root "$tools" "$@" || echo "missing: $1 could not be built" >&2
}
cargo_tool cargo-nextest --no-default-features --features default-no-update
cargo_tool mdbook --no-default-features --features search
