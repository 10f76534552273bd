"""The disks of the guest, each of a size of its own, by which the tests find it."""

import errno
import hashlib
import json
import random

MIB = 1 << 20

# MiB of each disk. Those of the SD slot are powers of two, as QEMU demands. `sd` is small, because QEMU's SD card writes discarded
# data sector by sector: mkfs, which discards all of it, takes 12 s for 512 MiB. XFS needs 300 MiB and has a card of its own.
SIZES = {
    "nvme1": 256, "nvme2": 40, "hot": 48, "sd": 128, "sd-large": 512, "usb": 64, "uas": 56, "sata": 36, "bad": 60,
    "protected": 44, "slow": 52, "spare1": 33, "spare2": 34, "spare3": 35, "thin": 42,
}
SERIAL = {
    "nvme1": "NVME0001", "nvme2": "NVME0001", "hot": "NVMEHOT1", "sd": "0xdeadbeef", "usb": "USB00001", "uas": "UAS00001",
    "sata": "SATA0001",
} | {name: f"SCSI{name.upper()}" for name in ["bad", "slow", "spare1", "spare2", "spare3", "protected", "thin"]}
# Disks that no test writes.
BYSTANDERS = ["sata", "protected"]
# Byte of the first bad sector of `bad`.
BAD_FROM = 40 * MIB
# Byte from which the storage behind `thin` has no space left.
FULL_FROM = 10 * MIB


def create(folder):
    """Creates the disks' files: sparse, with random data on the bystanders."""
    for name, size in SIZES.items():
        with open(folder / f"{name}.img", "wb") as file:
            if name in BYSTANDERS:
                file.write(random.Random(name).randbytes(2 * MIB))
            file.truncate(size * MIB)


def node(folder, name, **more):
    """Argument of a block node for the file of a disk. QEMU does not sync it: the host does not lose power."""
    file = {"driver": "file", "filename": str(folder / f"{name}.img")}
    raw = {"driver": "raw", "node-name": name, "file": file, "discard": "unmap", "cache": {"no-flush": True}} | more
    return ["-blockdev", json.dumps(raw)]


def failing(folder, name, sectors, error):
    """A disk of which these sectors cannot be written."""
    inside = {"driver": "raw", "file": {"driver": "file", "filename": str(folder / f"{name}.img")}}
    errors = [{"event": "none", "iotype": "write", "errno": error, "sector": s} for s in sectors]
    return ["-blockdev", json.dumps({"driver": "blkdebug", "node-name": name, "image": inside, "inject-error": errors})]


def each_mib(name, start):
    """A sector of each MiB of a disk from byte `start` on."""
    return range(start // 512, SIZES[name] * MIB // 512, 2048)


def arguments(folder, served):
    """QEMU's arguments for all disks; `served` is the socket of a served card."""
    scsi = ["bad", "slow", "spare1", "spare2", "spare3", "protected", "thin"]
    plain = ["nvme1", "nvme2", "hot", "usb", "uas", "sata", "spare1", "spare2", "spare3"]
    all_of = []
    for name in plain:
        all_of += node(folder, name)
    all_of += node(folder, "protected", **{"read-only": True})
    all_of += failing(folder, "bad", each_mib("bad", BAD_FROM), errno.EIO)
    all_of += failing(folder, "thin", each_mib("thin", FULL_FROM), errno.ENOSPC)
    all_of += ["-object", "throttle-group,id=group,x-bps-total=4000000"]
    all_of += node(folder, "slow", **{"node-name": "slow-file"})
    all_of += ["-blockdev", json.dumps({"driver": "throttle", "node-name": "slow", "throttle-group": "group", "file": "slow-file"})]
    all_of += ["-blockdev", json.dumps({"driver": "raw", "node-name": "served", "file": {
        "driver": "nbd", "server": {"type": "unix", "path": str(served)}}})]
    all_of += ["-drive", f"if=none,id=sd0,file={folder}/sd.img,format=raw,cache=unsafe"]
    for port in range(1, 5):
        all_of += ["-device", f"pcie-root-port,id=rp{port},chassis={port}"]
    for device in [
        "nvme,id=nvme-a,serial=NVME0001,bus=rp1",
        "nvme-ns,id=nvme1-ns,drive=nvme1,bus=nvme-a,nsid=1",
        "nvme-ns,id=nvme2-ns,drive=nvme2,bus=nvme-a,nsid=2",
        "nvme,id=nvme-s,serial=SERVED01,bus=rp2",
        "nvme-ns,id=served-ns,drive=served,bus=nvme-s,nsid=1",
        HOT["hot"],
        "sdhci-pci,id=sdhci,bus=rp4",
        "sd-card,id=sd-card,drive=sd0",
        "qemu-xhci,id=xhci",
        HOT["usb"],
        "usb-uas,id=uas-bridge,bus=xhci.0",
        "scsi-hd,id=uas-disk,drive=uas,bus=uas-bridge.0,serial=UAS00001",
        "ide-hd,id=sata-disk,drive=sata,bus=ide.0,serial=SATA0001",
        "virtio-scsi-pci,id=scsi",
    ]:
        all_of += ["-device", device]
    for number, name in enumerate(scsi):
        # QEMU would stop the machine where the storage of a disk is full.
        device = f"scsi-hd,id={name}-disk,drive={name},bus=scsi.0,scsi-id={number},serial={SERIAL[name]},werror=report"
        all_of += ["-device", device]
    return all_of


# Devices that tests unplug and plug in again.
HOT = {
    "hot": "nvme,id=hot-disk,drive=hot,serial=NVMEHOT1,bus=rp3",
    "usb": "usb-storage,id=usb-disk,drive=usb,bus=xhci.0,serial=USB00001",
}


def plug(machine, name):
    """Plugs in a device of HOT."""
    driver, *properties = HOT[name].split(",")
    machine.ask("device_add", driver=driver, **dict(p.split("=") for p in properties))


def path(machine, name, limit=60):
    """The guest's name of a disk, once it is there."""
    sectors = SIZES[name] * MIB // 512
    script = f"for i in $(seq {limit * 5}); do f=$(grep -lx {sectors} /sys/block/*/size) && break; sleep 0.2; done; " \
             "f=${f%/size}; echo \"/dev/${f##*/}\"; [ -b \"/dev/${f##*/}\" ]"
    return machine.run(script).demand(0).out.strip()


def file_checksum(file):
    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def checksum(vm, name):
    """Checksum of what a disk holds: QEMU has no cache of its own."""
    return file_checksum(vm.folder / f"{name}.img")
