"""`nandscope fs` on the SD card: all file systems of the kernel, two workloads each."""

from commands import complete, destroy
from devices import path
from machine import Failed

ALL = ["ext4", "f2fs", "nilfs2", "vfat", "exfat", "btrfs", "xfs"]
# FAT32 needs clusters smaller than the default on a card of this size.
OPTIONS = "--mkfs 'vfat:-s 1' --workload log,sqlite --setting LOG_LINES=20 --setting SQLITE_INSERTS=10"


def run_on_the_card(vm):
    target = destroy(path(vm, "sd"), "sd")
    before = vm.run("cat /proc/mounts").out
    ran = vm.run(f"nandscope fs {target} --fs {','.join(ALL)} {OPTIONS} -o systems", 900).demand(0)
    figures = {f["id"]: f["value"] for f in complete(vm, "systems/result.json")["figures"]}
    for fs in ALL:
        for workload in ["log", "sqlite"]:
            if not figures.get(f"fs.{workload}-{fs}.time", 0) > 0:
                raise Failed(f"no time of {workload} on {fs}:\n{ran}")
    if vm.run("cat /proc/mounts").out != before:
        raise Failed("something is mounted that was not")
    vm.run("rm -rf systems")
