#!/usr/bin/env python3
"""Tests of nandscope with Linux' own drivers, in a virtual machine (QEMU).

    tests/vm/run.py target/debug/nandscope [--only PART]…

Prints a line per test, and ends with 1 if one failed. Prints `SKIPPED:` with the reason if no machine can be started;
with NANDSCOPE_DEMAND_TOOLS set, that is a failure.
"""

import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import commands
import devices
import file_systems
import guard
import image
import media
import purge
import registers
import reset
import served
import unplug
from machine import Failed, Machine, accelerator

TESTS = {
    "registers: each device is described": registers.each_device_is_described,
    "guard: a mounted disk": guard.mounted,
    "guard: swap": guard.swap,
    "guard: device mapper": guard.device_mapper,
    "guard: a member of a RAID": guard.raid,
    "guard: a read-only disk": guard.read_only,
    "commands: run writes and reads": commands.run_writes_and_reads,
    "commands: verify restores the data": commands.verify_restores_the_data,
    "commands: probe ends": commands.probe_ends,
    "commands: review ends": commands.review_ends,
    "commands: failing sectors are reported": commands.failing_sectors_are_reported,
    "commands: a full storage is reported": commands.a_full_storage_is_reported,
    "commands: health of an NVMe drive": commands.health_is_what_smart_says,
    "commands: protected disks are read": commands.protected_disks_are_read,
    "commands: a slow disk": commands.a_slow_disk_is_as_slow_as_it_is,
    "commands: discards reach the disk": commands.discards_reach_the_disk,
    "purge: formats": purge.formats_one_namespace,
    "purge: discards": purge.discards_a_card,
    "purge: refused": purge.is_refused_behind_usb,
    "file systems: all on the SD card": file_systems.run_on_the_card,
    "file systems: one file of FAT has one role": file_systems.one_file_of_fat_has_one_role,
    "file systems: interrupted": unplug.file_systems_are_unmounted_when_interrupted,
    "unplug: run": unplug.during("run", ["hot", "usb", "sd"], [0.2, 0.6]),
    "unplug: review": unplug.during("review", ["usb", "hot"], [0.3]),
    "unplug: verify": unplug.data_is_put_back_after_verify_was_unplugged,
    "unplug: fs": unplug.during("fs", ["usb", "hot", "sd"], [0.2, 0.7]),
    "media: changed while a journal waits": media.changed_while_a_journal_waits,
    "media: changed during a run": media.changed_between_file_systems,
    "served: rates of the simulated card": served.is_as_fast_as_in_virtual_time,
    "reset: a review continues": reset.review_continues,
}


def skip(reason):
    print(f"SKIPPED: tests in a virtual machine: {reason}", file=sys.stderr)
    return 1 if os.environ.get("NANDSCOPE_DEMAND_TOOLS") else 0


def tests(running, boot, chosen):
    """Runs the tests, and returns how many failed. `running` has the machine, which a test may replace by a new one."""
    failed = 0
    for name, test in chosen.items():
        machine = running[-1]
        began = time.monotonic()
        before = {name: devices.checksum(machine, name) for name in devices.BYSTANDERS}
        try:
            if name.startswith("reset"):
                test(machine, lambda: running.append(boot()) or running[-1])
            else:
                test(machine)
            for disk, checksum in before.items():
                if devices.checksum(machine, disk) != checksum:
                    raise Failed(f"the disk {disk} was written")
            verdict = "ok"
        except Failed as error:
            verdict = f"FAILED\n{error}"
            failed += 1
        print(f"{name} ({time.monotonic() - began:.0f} s): {verdict}", flush=True)
        if not running[-1].is_running():
            running.append(boot())
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--only", action="append", metavar="PART", help="tests whose name has this part")
    arguments = parser.parse_args()
    chosen = {n: t for n, t in TESTS.items() if not arguments.only or any(part in n for part in arguments.only)}
    if os.uname().machine != "x86_64":
        return skip("they are for x86-64")
    if os.geteuid() != 0:
        return skip("they need root: the guest reads all files of the host")
    if not shutil.which("qemu-system-x86_64"):
        return skip("qemu-system-x86_64 is missing: apt-get install qemu-system-x86")
    missing = [program for program in image.PROGRAMS if not shutil.which(program)]
    if missing:
        return skip(f"{', '.join(missing)} missing: scripts/install-tools.sh installs them")
    try:
        kernel = image.kernel()
    except image.Missing as missing:
        return skip(str(missing))
    with tempfile.TemporaryDirectory(prefix="nandscope-vm-", dir="/var/tmp") as name:
        folder = pathlib.Path(name)
        devices.create(folder)
        # Without debug information: the guest copies it.
        binary = folder / "nandscope"
        subprocess.run(["strip", "-o", binary, arguments.binary], check=True)
        card = folder / "card.sock"
        # Ends QEMU and the server as Ctrl-C does.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        server = subprocess.Popen([binary, "serve", served.CARD, "--speed", str(served.SPEED), "--nbd", f"unix:{card}"], stdout=subprocess.DEVNULL)
        while not card.exists():
            if server.poll() is not None:
                sys.exit("the server of the card has ended")
            time.sleep(0.05)
        accel = accelerator(kernel)

        def boot():
            machine = Machine(folder, kernel, accel, devices.arguments(folder, card), binary)
            print(f"booted in {machine.booted:.0f} s ({accel}, Linux {image.release(kernel)})", flush=True)
            return machine

        running = []
        try:
            running.append(boot())
            failed = tests(running, boot, chosen)
        finally:
            for machine in running:
                machine.kill()
            server.terminate()
            server.wait()
    print(f"{len(chosen) - failed} of {len(chosen)} tests passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
