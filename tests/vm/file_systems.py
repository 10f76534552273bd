"""`nandscope fs` on SD cards: all file systems of the kernel, two workloads each; two names of one file on FAT."""

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


def one_file_of_fat_has_one_role(vm):
    """A difference in case is refused before the run; other names of one file before the second output replaces the first."""
    vm.run("truncate -s 8M fat.img && mkfs.vfat fat.img && mkdir fat && mount -o loop fat.img fat").demand(0)
    job = "--name=a --rw=randread --bs=4k --size=1m"
    for result, save, left in [("Q.json", "q.json", 0), ("q.json", "q.json.", 1), ("longresult.json", "LONGRE~1.JSO", 1)]:
        line = f"nandscope run sim:kingston-8gb --result fat/{result} --save fat/{save} -- {job}"
        vm.run(line).demand(2, says=[f"fat/{result}", f"fat/{save}", "the same file"])
        count = int(vm.run("ls fat | wc -l").demand(0).out)
        if count != left:
            raise Failed(f"{count} files instead of {left} after {line}")
        if left:
            complete(vm, f"fat/{result}")
        vm.run("rm -f fat/*")
    vm.run("umount fat && rm -rf fat fat.img").demand(0)
