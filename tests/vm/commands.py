"""Each command to its end on NVMe and on the SD card, on failing, slow and protected disks."""

import json

import devices
from devices import MIB, SERIAL, path
from machine import Failed


def destroy(device, name):
    return f"{device} --destroy-data={device.rsplit('/', 1)[-1]} --yes {SERIAL[name]}"


def complete(vm, file):
    """The result document in a file of the guest, which must be complete."""
    document = vm.run(f"cat {file}").demand(0).json()
    if document["complete"] is not True:
        raise Failed(f"{file} is incomplete")
    return document


def run_writes_and_reads(vm):
    for name in ["nvme1", "sd", "uas"]:
        job = "--name=w --rw=write --bs=64k --size=1m --name=r --stonewall --rw=randread --bs=4k --size=1m --number_ios=64"
        vm.run(f"nandscope run {destroy(path(vm, name), name)} --result r.json -- {job}").demand(0)
        steps = complete(vm, "r.json")["steps"]
        if len(steps) != 2:
            raise Failed(f"{len(steps)} steps instead of two on {name}")
        vm.run("rm -f r.json*")


def verify_restores_the_data(vm):
    for name in ["nvme1", "sd"]:
        before = devices.checksum(vm, name)
        vm.run(f"nandscope verify {path(vm, name)} --yes {SERIAL[name]}").demand(0, says=["Genuine", "restored"])
        if devices.checksum(vm, name) != before:
            raise Failed(f"the data of {name} is not what it was")


def probe_ends(vm):
    """It may spend its budget of time before the last question."""
    for name in ["hot", "sd"]:
        vm.run(f"nandscope probe {destroy(path(vm, name), name)} --time 20s -o probe").demand(0, 1, says="Cannot tell")
        vm.run("rm -rf probe")


def review_ends(vm):
    for name, suite in [("hot", "speed-class"), ("sd", "speed-class")]:
        target = destroy(path(vm, name), name)
        vm.run(f"nandscope review {target} --quick --suite {suite} --plan").demand(0)
        vm.run(f"nandscope review {target} --quick --suite {suite} -o review", 400).demand(0)
        document = complete(vm, "review/result.json")
        notices = json.dumps(document)
        if "virtual machine" not in notices:
            raise Failed("the result does not say that it was measured in a virtual machine")
        vm.run("rm -rf review")


def failing_sectors_are_reported(vm):
    """Writes to them fail: a run stops there, and goes on with `continue_on_error`."""
    target = destroy(path(vm, "bad"), "bad")
    job = "--name=a --rw=write --bs=64k --offset=38m --size=4m"
    says = ["input/output error (EIO)", f"byte {devices.BAD_FROM}"]
    vm.run(f"nandscope run {target} -- {job}").demand(1, says=says)
    ran = vm.run(f"nandscope run {target} --output-format json -- {job} --continue_on_error=all").demand(1)
    errors = ran.json()["jobs"][0]["total_err"]
    if errors != 2:
        raise Failed(f"{errors} errors instead of 2:\n{ran}")


def a_full_storage_is_reported(vm):
    """Writes to a thin volume whose storage is full fail with a message of their own; reads go on."""
    target = destroy(path(vm, "thin"), "thin")
    job = "--name=a --rw=write --bs=64k --offset=8m --size=4m"
    vm.run(f"nandscope run {target} -- {job}").demand(1, says=["no space left (ENOSPC)", f"byte {devices.FULL_FROM}"])
    vm.run(f"nandscope run {path(vm, 'thin')} -- --name=a --rw=read --bs=64k --offset=8m --size=4m").demand(0)
    # The page cache turns it into an input/output error for mkfs.
    vm.run(f"nandscope fs {target} --fs ext4 --workload log").demand(1, says="error: log on ext4: mkfs.ext4")


def health_is_what_smart_says(vm):
    """Values of NVMe's health log; the bytes written grow with what is written. An SD card has no such register."""
    device = path(vm, "nvme1")
    before = vm.run(f"nandscope health {device} --json").demand(0).json()["reading"]
    smart = vm.run(f"smartctl --json -A {device}").demand(0).json()
    log = smart["nvme_smart_health_information_log"]
    for name, value in [("used_percent", log["percentage_used"]), ("temperature_c", smart["temperature"]["current"]),
                        ("spare_percent", log["available_spare"]), ("media_errors", log["media_errors"])]:
        if before[name] != value:
            raise Failed(f"{name} is {before[name]} instead of {value}")
    job = "--name=a --rw=write --bs=1m --size=16m"
    vm.run(f"nandscope run {destroy(device, 'nvme1')} -- {job}").demand(0)
    after = vm.run(f"nandscope health {device} --json").demand(0).json()["reading"]
    written = after["host_written"] - before["host_written"]
    # It counts in units of 512,000 bytes.
    if abs(written - 16 * MIB) > 1_024_000:
        raise Failed(f"{written} bytes written instead of 16 MiB")
    vm.run(f"nandscope health {path(vm, 'sd')}").demand(15, says="no standard register")


def protected_disks_are_read(vm):
    vm.run(f"nandscope run {path(vm, 'protected')} -- --name=a --rw=randread --bs=4k --size=1m --number_ios=50").demand(0)


def a_slow_disk_is_as_slow_as_it_is(vm):
    """The disk is throttled to 4 MB/s; it can only be slower."""
    job = "--name=a --rw=read --bs=64k --size=8m"
    ran = vm.run(f"nandscope run {path(vm, 'slow')} --output-format json -- {job}").demand(0)
    rate = ran.json()["jobs"][0]["read"]["bw_bytes"]
    if rate > 4.8e6:
        raise Failed(f"{rate / 1e6:.2f} MB/s on a disk of 4 MB/s:\n{ran}")


def discards_reach_the_disk(vm):
    for name in ["nvme1", "spare1"]:
        target = destroy(path(vm, name), name)
        job = "--name=a --rw={} --bs=1m --offset=16m --size=8m"
        vm.run(f"nandscope run {target} -- {job.format('write')}").demand(0)
        full = (vm.folder / f"{name}.img").stat().st_blocks * 512
        vm.run(f"nandscope run {target} -- {job.format('trim')}").demand(0)
        freed = full - (vm.folder / f"{name}.img").stat().st_blocks * 512
        if freed < 7 * MIB:
            raise Failed(f"discards of 8 MiB freed {freed} bytes of the file of {name}")
