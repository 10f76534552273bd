"""Purge by the commands that devices offer: NVMe format, discards of an SD card; none behind USB."""

import json

import devices
from commands import destroy
from devices import path
from machine import Failed


def methods(vm, name):
    """Possible methods of a disk, and the reasons against the others."""
    listed = vm.run(f"nandscope purge {path(vm, name)} --json").demand(0).json()["methods"]
    possible = [m["method"] for m in listed if m["why_not"] is None]
    return possible, {m["method"]: m["why_not"] for m in listed if m["why_not"]}


def purged(vm, name, options):
    outcome = vm.run(f"nandscope purge {destroy(path(vm, name), name)} --json {options}", 300).demand(0)
    return outcome.json()["purged"]


def formats_one_namespace(vm):
    """The contents are gone; those of the other namespace of the controller are not."""
    possible, reasons = methods(vm, "hot")
    if possible[:1] != ["format"]:
        raise Failed(f"no format of the NVMe drive: {possible}, {reasons}")
    result = purged(vm, "hot", "")
    if result["method"] != "format" or result["contents"]["kept"] or not result["after"]:
        raise Failed(json.dumps(result))
    target = destroy(path(vm, "nvme2"), "nvme2")
    vm.run(f"nandscope run {target} -- --name=a --rw=write --bs=64k --size=4m").demand(0)
    other = devices.checksum(vm, "nvme2")
    if "format" in methods(vm, "nvme1")[0]:
        result = purged(vm, "nvme1", "--no-speed --method format")
        if result["contents"]["kept"]:
            raise Failed(json.dumps(result))
    if devices.checksum(vm, "nvme2") != other:
        raise Failed("the purge of one namespace changed another")


def discards_a_card(vm):
    result = purged(vm, "sd", "--no-speed")
    if result["method"] != "discard" or result["contents"]["kept"]:
        raise Failed(json.dumps(result))


def is_refused_behind_usb(vm):
    possible, reasons = methods(vm, "usb")
    if "security-erase" in possible or "bridge" not in reasons["security-erase"]:
        raise Failed(f"{possible}, {reasons}")
    if not possible:
        vm.run(f"nandscope purge {destroy(path(vm, 'usb'), 'usb')}").demand(2, says="no way to purge")
