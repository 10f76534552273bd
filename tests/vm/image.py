"""The guest's kernel and initramfs: Debian's kernel and busybox packages, unpacked into the cache folder.

The initramfs loads the drivers, mounts the host's root read-only over 9p below an overlay in memory, and starts `agent.sh`
there. So the guest has all programs of the host, and cannot change its files.
"""

import gzip
import os
import pathlib
import re
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "nandscope" / "vm"
MODULES = """
    virtio_pci 9pnet_virtio 9p overlay loop
    nvme ahci sd_mod xhci_pci usb_storage uas sdhci_pci mmc_block virtio_scsi drivetemp
    dm_mod raid1 crc32_generic crc32c_generic xxhash_generic blake2b_generic
    nls_cp437 nls_ascii nls_utf8 nls_iso8859_1 vfat exfat ext4 f2fs nilfs2 btrfs xfs
""".split()
# Programs of the host that the tests run in the guest.
PROGRAMS = """
    blkid dmsetup mkfs.btrfs mkfs.exfat mkfs.ext4 mkfs.f2fs mkfs.nilfs2 mkfs.vfat mkfs.xfs mkswap perl setpriv smartctl sqlite3
    strip wipefs
""".split()


class Missing(Exception):
    """Something without which no machine can be started; the text is the reason to skip."""


def output(*command):
    """Standard output of a command; `Missing` if it fails."""
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=CACHE).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        said = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        raise Missing(f"{command[0]} failed: {said[-1] if said else 'without a message'}") from error


def kernel():
    """Folder of the unpacked kernel package; downloads it unless it is in the cache."""
    CACHE.mkdir(parents=True, exist_ok=True)
    depends = output("apt-cache", "depends", "linux-image-amd64")
    package = re.search(r"linux-image-[0-9]\S*", depends)
    present = sorted(CACHE.glob("linux-image-*/complete"))
    if package and (CACHE / package[0] / "complete").exists():
        return CACHE / package[0]
    if not package:
        if present:
            return present[-1].parent
        raise Missing("apt knows no package linux-image-amd64")
    folder = CACHE / package[0]
    shutil.rmtree(folder, ignore_errors=True)
    try:
        output("apt-get", "download", "-qq", package[0], "busybox-static")
    except Missing:
        if present:
            return present[-1].parent
        raise
    for name in [package[0], "busybox-static"]:
        file = max(CACHE.glob(f"{name}_*.deb"), key=lambda f: f.stat().st_mtime)
        output("dpkg-deb", "-x", str(file), str(folder))
        file.unlink()
    output(str(folder / "bin/busybox"), "depmod", "-b", str(folder), release(folder))
    (folder / "complete").touch()
    return folder


def release(folder):
    """Version of the kernel in a folder."""
    return next((folder / "lib/modules").iterdir()).name


def in_order(folder):
    """Files of MODULES and of all that they need, each after what it needs."""
    needs = {}
    top = folder / "lib/modules" / release(folder)
    for line in (top / "modules.dep").read_text().splitlines():
        file, _, others = line.partition(":")
        needs[file] = others.split()
    by_name = {pathlib.Path(file).name.split(".ko")[0].replace("-", "_"): file for file in needs}
    order = []

    def add(file):
        for other in needs[file]:
            add(other)
        if top / file not in order:
            order.append(top / file)

    for name in MODULES:
        # A module that is not in the list is built into the kernel.
        if name in by_name:
            add(by_name[name])
    return order


def initramfs(folder, to):
    """Writes the initramfs with the modules of `folder` to the file `to`."""
    root = to.with_suffix(".root")
    (root / "bin").mkdir(parents=True)
    (root / "modules").mkdir()
    shutil.copy(folder / "bin/busybox", root / "bin/busybox")
    shutil.copy(HERE / "init.sh", root / "init")
    (root / "init").chmod(0o755)
    files = in_order(folder)
    for file in files:
        shutil.copy(file, root / "modules" / file.name)
    (root / "modules/order").write_text("".join(f"{file.name}\n" for file in files))
    names = subprocess.run(["find", "."], cwd=root, capture_output=True, check=True).stdout
    packed = subprocess.run([root / "bin/busybox", "cpio", "-o", "-H", "newc"], cwd=root, input=names,
                            capture_output=True, check=True).stdout
    to.write_bytes(gzip.compress(packed, 1))
    shutil.rmtree(root)
