"""Writing is refused to what is in use, through all kinds of users, and nothing is written then."""

from devices import path

JOB = "-- --name=a --rw=write --bs=64k --size=1m"


def refused(vm, target, word, serial):
    """Each command that writes refuses `target`, whose message has `word`."""
    disk = target.rsplit("/", 1)[-1]
    yes = f"--yes {serial}"
    everything = f"--destroy-data={disk} {yes}"
    ran = vm.run(f"""
        before=$(sha256sum <{target})
        nandscope run {target} {everything} {JOB}; echo "run: $?"
        nandscope verify {target} {yes}; echo "verify: $?"
        nandscope fs {target} {everything} --fs ext4 --workload log; echo "fs: $?"
        [ "$before" = "$(sha256sum <{target})" ] && echo unchanged
    """)
    ran.demand(0, says=["run: 2", "verify: 2", "fs: 2", "unchanged"])
    if ran.out.count(word) < 3:
        ran.demand(0, says=[f"{word} (three times)"])


def mounted(vm):
    device = path(vm, "spare1")
    # Read-only, so that the file system itself writes nothing meanwhile.
    vm.run(f"mkfs.ext4 -q {device} && mkdir -p /tmp/m && mount -r {device} /tmp/m").demand(0)
    refused(vm, device, "mounted", "SCSISPARE1")
    # Another node of the same number.
    vm.run(f"cp -a {device} /dev/alias").demand(0)
    refused(vm, "/dev/alias", "mounted", "SCSISPARE1")
    vm.run(f"umount /tmp/m && rm /dev/alias && wipefs -aq {device}").demand(0)


def swap(vm):
    device = path(vm, "nvme2")
    vm.run(f"mkswap -q {device} && swapon {device}").demand(0)
    refused(vm, device, "swap", "NVME0001")
    vm.run(f"swapoff {device} && wipefs -aq {device}").demand(0)


def device_mapper(vm):
    device = path(vm, "spare1")
    vm.run(f"dmsetup create --noudevsync over --table \"0 2048 linear {device} 0\"").demand(0)
    refused(vm, device, "dm-0", "SCSISPARE1")
    vm.run("dmsetup remove --noudevsync over").demand(0)


def raid(vm):
    one, two = path(vm, "spare2"), path(vm, "spare3")
    vm.run(f"""set -e
        echo md_t >/sys/module/md_mod/parameters/new_array
        cd /sys/block/md_t/md
        echo none >metadata_version; echo raid1 >level; echo 2 >raid_disks
        for d in {one} {two}; do cat /sys/block/${{d##*/}}/dev >new_dev; done
        echo 32768 >component_size
        for d in dev-*; do [ "$(cat $d/slot)" = none ] && echo $((n++)) >$d/slot; done
        echo active >array_state
    """).demand(0)
    refused(vm, one, "md_t", "SCSISPARE2")
    vm.run("echo clear >/sys/block/md_t/md/array_state").demand(0)


def read_only(vm):
    device = path(vm, "protected")
    refused(vm, device, "read-only", "SCSIPROTECTED")
