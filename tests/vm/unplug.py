"""Devices that are unplugged, and commands that are ended, at moments of the work: nothing hangs, nothing stays mounted."""

import contextlib

import devices
from devices import SERIAL, path
from machine import Failed

# Commands, the exit codes that are documented for a device that fails (docs/exit-codes.md), and operations of a whole run. `run`
# and `fs` would go on for minutes: the host needs a moment to see how far they are.
COMMANDS = {
    "run": ("nandscope run {d} --destroy-data={n} --yes {s} --result unplug.json -- "
            "--name=a --rw=randrw --bs=4k --size=4m --time_based=1 --runtime=300", [1], 1000),
    "review": ("nandscope review {d} --quick --suite speed-class --destroy-data={n} --yes {s} -o unplug-review", [1], 1500),
    # Exit code 13: blocks under the tags cannot be restored while the device is away, so that the journal is kept. It writes about
    # 780 tags, reads them, and restores as many blocks, which an NVMe drive does within a second.
    "verify": ("nandscope verify {d} --yes {s} --journal unplug.journal", [13], 780),
    "fs": ("nandscope fs {d} --destroy-data={n} --yes {s} --fs ext4 --workload log --setting LOG_LINES=5000 -o unplug-fs",
           [1], 500),
}
# Columns of the `stat` of a disk: finished reads, writes and flushes.
ALL, WRITES = "c[0] + c[4] + c[15]", "c[4]"
# Share of the tags that `verify` has written when it is disturbed.
VERIFY = 0.1
GONE = ["is gone", "No such device", "disappeared", "input/output error (EIO)", "Input/output error"]
CLEAN = "rm -rf unplug*"
MOUNTS = "cat /proc/mounts; grep -lE '{n}|/run/disk' /proc/[0-9]*/mounts; ls /sys/block/loop*/loop 2>/dev/null; true"


def command(name, kind, device):
    text, codes, whole = COMMANDS[kind]
    return text.format(d=device, n=device.rsplit("/", 1)[-1], s=SERIAL[name]), codes, whole


def remove(vm, name):
    if name == "sd":
        vm.ask("blockdev-remove-medium", id="sd-card")
    else:
        vm.unplug(f"{name}-disk")


def insert(vm, name, image=None):
    if name == "sd":
        vm.ask("blockdev-change-medium", id="sd-card", filename=str(vm.folder / (image or "sd.img")), format="raw")
    else:
        devices.plug(vm, name)


@contextlib.contextmanager
def another_card(vm, image, name):
    """Within the block another card is in the SD slot: the disk `name`, whose file is `image`."""
    exchange(vm, image)
    try:
        path(vm, name)
        yield
    finally:
        exchange(vm, "sd.img")
        path(vm, "sd")


def exchange(vm, image):
    remove(vm, "sd")
    vm.run("until ! grep -q . /sys/block/mmcblk*/size; do sleep 0.1; done 2>/dev/null", 60)
    insert(vm, "sd", image)


def begin(vm, script, device, operations, counted=ALL):
    """A job that runs `script`, once `device` has done this many operations since its start, or the job has ended."""
    stat = f"/sys/block/{device.rsplit('/', 1)[-1]}/stat"
    count = f"read -r -a c <{stat} && n=$(({counted}))"
    start = vm.run(f"{CLEAN}; {count}; echo $n").demand(0).out
    job = vm.start(f"exec {script}")
    vm.run(f"until {count} && [ $n -ge {int(start) + operations} ]; do [ -e /share/{job.number}.rc ] && break; sleep 0.02; done")
    return job


def mounts(vm, device):
    return vm.run(MOUNTS.format(n=device.rsplit("/", 1)[-1])).out


def unplug(vm, name, kind, share, counted=ALL):
    """Unplugs a device after a share of the operations of a whole run. Returns the ended job."""
    device = path(vm, name)
    script, codes, whole = command(name, kind, device)
    before = mounts(vm, device)
    job = begin(vm, script, device, int(whole * share), counted)
    if job.has_ended():
        raise Failed(f"it ended before the device was unplugged:\n{job.wait()}")
    remove(vm, name)
    try:
        ran = job.wait(150).demand(*codes)
        if not any(text in ran.out for text in GONE):
            raise Failed(f"nothing says that the device is gone:\n{ran}")
        if mounts(vm, device) != before:
            raise Failed(f"mounted after {ran}:\n{mounts(vm, device)}")
    finally:
        # Later tests need it.
        insert(vm, name)
    path(vm, name)
    return ran


def during(kind, names, shares):
    def test(vm):
        for share in shares:
            for name in names:
                ran = unplug(vm, name, kind, share)
                if kind == "run" and name == "hot":
                    ran.demand(1, says="the target is gone")
                if kind == "fs":
                    ran.demand(1, says="is gone; connect it again")
    return test


def data_is_put_back_after_verify_was_unplugged(vm):
    for name in ["usb", "hot"]:
        before = devices.checksum(vm, name)
        unplug(vm, name, "verify", VERIFY, WRITES)
        device = path(vm, name)
        vm.run(f"nandscope verify {device} --yes {SERIAL[name]} --restore --journal unplug.journal").demand(0)
        if devices.checksum(vm, name) != before:
            raise Failed(f"the data of {name} is not what it was")


def file_systems_are_unmounted_when_interrupted(vm):
    """By SIGTERM and SIGKILL, at moments from mkfs to fsck."""
    device = path(vm, "sd")
    script, _, whole = command("sd", "fs", device)
    # So short that the last moments are after the workload.
    script = script.replace("LOG_LINES=5000", "LOG_LINES=60")
    before = mounts(vm, device)
    for share, signal in [(0.1, "TERM"), (0.4, "KILL"), (0.6, "TERM"), (0.8, "KILL")]:
        job = begin(vm, script, device, int(whole * share))
        job.signal(signal)
        ran = job.wait()
        if signal == "TERM":
            ran.demand(130)
        # The kernel ends the namespaces of a killed run a little later.
        vm.until(lambda: mounts(vm, device) == before, 60, "the end of what was mounted")
