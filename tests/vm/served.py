"""A simulated card, served over NBD, below Linux' NVMe driver: its rates beside those of virtual time."""

import json
import subprocess

from machine import Failed

CARD = "sim:kingston-8gb"
JOB = ("--name=write --rw=write --bs=64k --size=4m --name=read --stonewall --rw=read --bs=64k --size=4m "
       "--name=random --stonewall --rw=randread --bs=4k --size=4m --number_ios=200")
# Load on the host can only slow the card down: nothing may be faster than the model by more than this.
FASTER = 1.1


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
    real = rates(vm.run(f"nandscope run {options} -- {JOB}").demand(0).out)
    command = [vm.binary, "run", CARD, "--output-format", "json", "--"] + JOB.split()
    simulated = rates(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    for job, rate in simulated.items():
        print(f"    {job}: {real[job] / 1e6:.3f} MB/s over the driver, {rate / 1e6:.3f} MB/s in virtual time, "
              f"ratio {real[job] / rate:.3f}")
    for job, rate in simulated.items():
        if real[job] > FASTER * rate:
            raise Failed(f"{job} is faster than the model")
