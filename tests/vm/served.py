"""A simulated card, served over NBD, below Linux' NVMe driver: its rates beside those of virtual time.

The card is served at a tenth of its speed. A command then takes at least 11 ms, beside which the time that the driver, QEMU
and the server need is short, even in an emulated guest.
"""

import json
import subprocess

from machine import Failed

CARD = "sim:kingston-8gb"
JOB = ("--name=write --rw=write --bs=64k --size=4m --name=read --stonewall --rw=read --bs=64k --size=4m "
       "--name=random --stonewall --rw=randread --bs=4k --size=4m --number_ios=200")
SPEED = 0.1
# Largest deviation from virtual time.
TOLERANCE = 0.1
# Load on the host can only slow the card down: the best of some runs counts.
RUNS = 3


def rates(text):
    """Bytes per second of each job."""
    document = json.JSONDecoder().raw_decode(text[text.index("{"):])[0]
    found = {}
    for job in document["jobs"]:
        part = job["write"] if job["write"]["total_ios"] else job["read"]
        found[job["jobname"]] = part["bw_bytes"]
    return found


def is_as_fast_as_in_virtual_time(vm):
    name = vm.run("grep -l SERVED01 /sys/block/*/device/serial | cut -d/ -f4").out.strip()
    options = f"/dev/{name} --destroy-data={name} --yes SERVED01 --output-format json"
    command = [vm.binary, "run", CARD, "--output-format", "json", "--"] + JOB.split()
    simulated = rates(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    best = dict.fromkeys(simulated, 0)
    for _ in range(RUNS):
        real = rates(vm.run(f"nandscope run {options} -- {JOB}").demand(0).out)
        best = {job: max(best[job], real[job] / (SPEED * rate)) for job, rate in simulated.items()}
        for job, ratio in best.items():
            print(f"    {job}: {real[job] / 1e6:.4f} MB/s over the driver, {SPEED * simulated[job] / 1e6:.4f} MB/s in "
                  f"virtual time at this speed, best ratio {ratio:.3f}")
            if ratio > 1 + TOLERANCE:
                raise Failed(f"{job} is faster than the model")
        if all(ratio >= 1 - TOLERANCE for ratio in best.values()):
            return
    raise Failed(f"slower than the model: {best}")
