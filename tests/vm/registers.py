"""`inspect` of each device: what Linux' driver shows."""

from devices import path
from machine import Failed

# Disk: kind of attachment, serial number, and the beginning of the link, if it has one.
EXPECTED = {
    "nvme1": ("NVMe", "NVME0001", "PCIe "),
    "nvme2": ("NVMe", "NVME0001", "PCIe "),
    # The controller of the slot is a PCIe device; the card is not.
    "sd": ("SD", "0xdeadbeef", None),
    "usb": ("USB", "USB00001", "USB at "),
    "uas": ("USB", "UAS00001", "USB at "),
    "sata": ("ATA", "SATA0001", "SATA at "),
    "slow": ("virtual disk", "SCSISLOW", None),
}


def each_device_is_described(vm):
    paths = {name: path(vm, name) for name in EXPECTED}
    for name, (attached, serial, link) in EXPECTED.items():
        ran = vm.run(f"nandscope inspect {paths[name]}").demand(0)
        rows = dict(line.strip().split(None, 1) for line in ran.out.splitlines() if len(line.split(None, 1)) == 2)
        if (rows.get("attached"), rows.get("serial")) != (attached, serial):
            raise Failed(f"{name} should be attached by {attached} with serial number {serial}:\n{ran}")
        shown = rows.get("link")
        if (link is None) != (shown is None) or not (shown or "").startswith(link or ""):
            raise Failed(f"{name} should have a link `{link}`:\n{ran}")
    vm.run(f"nandscope inspect {paths['sd']}").demand(0, says=["manufacturer 0xaa", "02/2006", "134 MB"])
    vm.run(f"nandscope inspect {paths['nvme1']}").demand(0, says=["temperature before", "passed, up to"])
