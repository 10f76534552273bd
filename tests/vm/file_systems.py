"""`nandscope fs` on SD cards: all file systems of the kernel, two workloads each."""

from commands import complete, destroy
from devices import path
from machine import Failed
from unplug import another_card

ALL = ["ext4", "f2fs", "nilfs2", "vfat", "exfat", "btrfs"]
# On small cards FAT32 needs clusters smaller than the default, and NILFS2 shorter segments. XFS discards nothing, as its card is
# large; see `devices.SIZES`.
OPTIONS = "--mkfs 'vfat:-s 1' --mkfs 'nilfs2:-B 1024' --mkfs 'xfs:-K' --workload log,sqlite --setting LOG_LINES=20 --setting SQLITE_INSERTS=10"


def run_on_the_card(vm):
    run(vm, "sd", ALL)
    with another_card(vm, "sd-large.img", "sd-large"):
        run(vm, "sd-large", ["xfs"])


def run(vm, name, systems):
    target = destroy(path(vm, name), "sd")
    before = vm.run("cat /proc/mounts").out
    ran = vm.run(f"nandscope fs {target} --fs {','.join(systems)} {OPTIONS} -o systems", 900).demand(0)
    figures = {f["id"]: f["value"] for f in complete(vm, "systems/result.json")["figures"]}
    for fs in systems:
        for workload in ["log", "sqlite"]:
            if not figures.get(f"fs.{workload}-{fs}.time", 0) > 0:
                raise Failed(f"no time of {workload} on {fs}:\n{ran}")
    if vm.run("cat /proc/mounts").out != before:
        raise Failed("something is mounted that was not")
    vm.run("rm -rf systems")
