"""A card that is changed for another of the same size."""

import random
import shutil

import devices
from commands import destroy
from devices import MIB, SERIAL, path
from machine import Failed
from unplug import COMMANDS, VERIFY, WRITES, another_card, begin


def changed_while_a_journal_waits(vm):
    """The other card is not written; the data of the first is put back when it returns."""
    other = vm.folder / "other.img"
    with open(other, "wb") as file:
        file.write(random.Random("other").randbytes(2 * MIB))
        file.truncate(devices.SIZES["sd"] * MIB)
    device = path(vm, "sd")
    before = devices.checksum(vm, "sd")
    verify = f"nandscope verify {device} --yes {SERIAL['sd']} --journal unplug.journal"
    job = begin(vm, verify, device, int(VERIFY * COMMANDS["verify"][2]), WRITES)
    job.signal("KILL")
    job.wait()
    if devices.checksum(vm, "sd") == before:
        raise Failed("verify was killed before it had written")
    with another_card(vm, "other.img", "sd"):
        with_other = devices.file_checksum(other)
        # Both cards of QEMU have the same serial number: only the contents distinguish them.
        ran = vm.run(f"{verify} --restore")
        if ran.code == 0 or devices.file_checksum(other) != with_other:
            raise Failed(f"the other card was taken for the first:\n{ran}")
        ran.demand(13, says="not the device")
    vm.run(f"{verify} --restore").demand(0)
    if devices.checksum(vm, "sd") != before:
        raise Failed("the data of the first card is not what it was")
    other.unlink()


def changed_between_file_systems(vm):
    """A card that is taken out and put back during a run is not formatted again by it."""
    device = path(vm, "sd")
    script = f"nandscope fs {destroy(device, 'sd')} --fs ext4 --workload log --setting LOG_LINES=5000 --seeds 2"
    image = vm.folder / "fresh.img"
    with open(image, "wb") as file:
        file.truncate(devices.SIZES["sd"] * MIB)
    before = devices.file_checksum(image)
    job = begin(vm, script, device, 200)
    with another_card(vm, "fresh.img", "sd"):
        job.wait(200).demand(1)
        if devices.file_checksum(image) != before:
            raise Failed("the second card was written")
    image.unlink()
