"""A card that is changed for another of the same size."""

import random
import shutil

import devices
from commands import destroy
from devices import MIB, SERIAL, path
from machine import Failed
from unplug import begin, insert, remove


def changed_while_a_journal_waits(vm):
    """The other card is not written; the data of the first is put back when it returns."""
    other = vm.folder / "other.img"
    with open(other, "wb") as file:
        file.write(random.Random("other").randbytes(2 * MIB))
        file.truncate(devices.SIZES["sd"] * MIB)
    device = path(vm, "sd")
    before = devices.checksum(vm, "sd")
    verify = f"nandscope verify {device} --yes {SERIAL['sd']} --journal unplug.journal"
    job = begin(vm, verify, device, 3000)
    job.signal("KILL")
    job.wait()
    if devices.checksum(vm, "sd") == before:
        raise Failed("verify was killed before it had written")
    remove(vm, "sd")
    vm.run(f"until ! [ -e {device} ]; do sleep 0.1; done", 60)
    insert(vm, "sd", "other.img")
    path(vm, "sd")
    with_other = devices.file_checksum(other)
    # Both cards of QEMU have the same serial number: only the contents distinguish them.
    ran = vm.run(f"{verify} --restore")
    if ran.code == 0 or devices.file_checksum(other) != with_other:
        raise Failed(f"the other card was taken for the first:\n{ran}")
    ran.demand(13, says="not the device")
    remove(vm, "sd")
    vm.run(f"until ! [ -e {device} ]; do sleep 0.1; done", 60)
    insert(vm, "sd")
    path(vm, "sd")
    vm.run(f"{verify} --restore").demand(0)
    if devices.checksum(vm, "sd") != before:
        raise Failed("the data of the first card is not what it was")
    other.unlink()


def changed_between_file_systems(vm):
    """A card that is taken out and put back during a run is not formatted again by it."""
    device = path(vm, "sd")
    script = f"nandscope fs {destroy(device, 'sd')} --fs ext4 --workload log --setting LOG_LINES=40 --seeds 2"
    job = begin(vm, script, device, 200)
    remove(vm, "sd")
    vm.run(f"until ! [ -e {device} ]; do sleep 0.1; done", 60)
    image = vm.folder / "fresh.img"
    with open(image, "wb") as file:
        file.truncate(devices.SIZES["sd"] * MIB)
    before = devices.file_checksum(image)
    insert(vm, "sd", "fresh.img")
    job.wait(200).demand(1)
    if devices.file_checksum(image) != before:
        raise Failed("the second card was written")
    remove(vm, "sd")
    insert(vm, "sd")
    path(vm, "sd")
    image.unlink()
