"""A virtual machine: QEMU, its monitor, and the jobs that run inside."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import time

import image

BOOT_LIMIT = 600
JOB_LIMIT = 600
# Seconds between two requests that keep the guest awake.
WAKE = 1


def qemu(kernel):
    return ["qemu-system-x86_64", "-nodefaults", "-no-reboot", "-display", "none", "-kernel", str(kernel)]


def kernel_of(folder):
    """The kernel's file in the folder of its package."""
    return next((folder / "boot").glob("vmlinuz-*"))


def accelerator(folder):
    """`kvm` if a kernel boots with it within ten seconds (it panics without a root), else `tcg`."""
    if os.access("/dev/kvm", os.W_OK):
        command = qemu(kernel_of(folder)) + ["-accel", "kvm", "-m", "256", "-serial", "stdio", "-append", "console=ttyS0 panic=-1"]
        try:
            said = subprocess.run(command, timeout=10, capture_output=True, stdin=subprocess.DEVNULL).stdout
        except subprocess.TimeoutExpired as expired:
            said = expired.stdout or b""
        if b"Kernel panic" in said:
            return "kvm"
    return "tcg"


class Failed(Exception):
    """A test that failed; the text says what was expected."""


class Ran:
    """An ended job of the guest: exit code and output."""

    def __init__(self, script, code, out):
        self.script, self.code, self.out = script, code, out

    def demand(self, *codes, says=()):
        """Fails unless the exit code is one of `codes` and the output has all texts of `says`."""
        for text in [says] if isinstance(says, str) else says:
            if text not in self.out:
                raise Failed(f"`{text}` is missing in the output of\n{self}")
        if self.code not in codes:
            raise Failed(f"exit code {self.code} instead of {' or '.join(map(str, codes))} of\n{self}")
        return self

    def json(self):
        """The first JSON document of the output."""
        start = self.out.find("{")
        if start < 0:
            raise Failed(f"no JSON in the output of\n{self}")
        return json.JSONDecoder().raw_decode(self.out[start:])[0]

    def __str__(self):
        return f"  {self.script.strip()}\n(exit code {self.code}):\n" + "\n".join(f"    {line}" for line in self.out.splitlines())


class Job:
    """A running script of the guest."""

    def __init__(self, machine, number, script):
        self.machine, self.number, self.script = machine, number, script

    def file(self, kind):
        return self.machine.share / f"{self.number}.{kind}"

    def has_ended(self):
        return self.file("rc").exists()

    def output(self):
        try:
            return self.file("out").read_text(errors="replace")
        except FileNotFoundError:
            return ""

    def wait(self, limit=JOB_LIMIT):
        """Waits for the end; a job that takes longer than `limit` seconds is a failed test."""
        try:
            self.machine.until(self.has_ended, limit, "the end of a job")
        except Failed as failed:
            state = ""
            if self.machine.is_running():
                state = self.machine.start("cat /proc/*/task/*/comm | sort | uniq -c | sort -rn | head -5; "
                                           "echo w >/proc/sysrq-trigger; dmesg | tail -60").waited(30)
            raise Failed(f"{failed}:\n  {self.script}\n{self.output()}\n{state}") from failed
        return Ran(self.script, int(self.file("rc").read_text()), self.output())

    def waited(self, limit):
        """Output after at most `limit` seconds."""
        end = time.monotonic() + limit
        while time.monotonic() < end and not self.has_ended():
            self.machine.wake()
            time.sleep(0.1)
        return self.output()

    def signal(self, name):
        self.machine.run(f"kill -{name} {self.file('pid').read_text().strip()}")


class Machine:
    """A started QEMU with the arguments `devices`; its files are in `folder`."""

    def __init__(self, folder, kernel, accel, devices, binary):
        self.folder, self.share = folder, folder / "share"
        self.binary = binary
        self.share.mkdir(exist_ok=True)
        # Files of an earlier boot go; folders stay, in which tests keep data over a reset.
        for file in self.share.iterdir():
            if file.is_file():
                file.unlink()
        shutil.copy(image.HERE / "agent.sh", self.share / "agent.sh")
        shutil.copy(binary, self.share / "nandscope")
        initrd = folder / "initrd"
        if not initrd.exists():
            image.initramfs(kernel, initrd)
        self.jobs = 0
        self.events = []
        self.buffer = b""
        self.is_greeted = False
        self.woken = 0.0
        self.log = open(folder / "console.log", "ab")
        thread = ",thread=multi" if accel == "tcg" else ""
        monitor, port = folder / "monitor", folder / "port"
        command = qemu(kernel_of(kernel)) + [
            "-M", "q35", "-cpu", "max", "-accel", accel + thread, "-smp", "2", "-m", "2048",
            "-initrd", str(initrd), "-append", "console=ttyS0 quiet panic=1 no_timer_check",
            "-serial", "stdio", "-serial", f"unix:{port},server=on,wait=off", "-qmp", f"unix:{monitor},server=on,wait=off",
            "-fsdev", "local,id=host,path=/,security_model=none,readonly=on,multidevs=remap",
            "-device", "virtio-9p-pci,fsdev=host,mount_tag=host",
            "-fsdev", f"local,id=share,path={self.share},security_model=none,multidevs=remap",
            "-device", "virtio-9p-pci,fsdev=share,mount_tag=share",
        ] + devices
        self.began = time.monotonic()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        try:
            self.meet(monitor, port)
        except BaseException:
            self.process.kill()
            raise

    def meet(self, monitor, port):
        """Connects to the monitor and to the guest's agent."""
        self.monitor = self.connect(monitor)
        self.receive()
        self.ask("qmp_capabilities")
        self.is_greeted = True
        self.port = self.connect(port)
        self.until((self.share / "ready").exists, BOOT_LIMIT, "the guest")
        self.booted = time.monotonic() - self.began

    def connect(self, path):
        end = socket.socket(socket.AF_UNIX)

        def connected():
            try:
                end.connect(str(path))
                return True
            except OSError:
                return False

        self.until(connected, 30, "QEMU's sockets")
        return end

    def is_running(self):
        return self.process.poll() is None

    def until(self, condition, limit, what):
        """Waits until `condition()` holds, and returns what it returned."""
        end = time.monotonic() + limit
        while True:
            value = condition()
            if value:
                return value
            if not self.is_running():
                self.log.flush()
                tail = (self.folder / "console.log").read_text(errors="replace")[-2000:]
                raise Failed(f"QEMU has ended while waiting for {what}:\n{tail}")
            if time.monotonic() > end:
                raise Failed(f"waited {limit} s for {what}")
            self.wake()
            time.sleep(0.02)

    def wake(self):
        """Wakes QEMU's main loop once a second: on a busy host QEMU 7.2 can sleep on over the next timer of a guest whose
        processors are all idle, which then stands still until something else happens."""
        if self.is_greeted and time.monotonic() - self.woken > WAKE:
            self.woken = time.monotonic()
            self.ask("query-status")

    # The monitor.

    def receive(self):
        """The next message of the monitor."""
        while b"\n" not in self.buffer:
            part = self.monitor.recv(1 << 16)
            if not part:
                raise Failed("QEMU's monitor has closed")
            self.buffer += part
        line, _, self.buffer = self.buffer.partition(b"\n")
        return json.loads(line)

    def ask(self, command, **arguments):
        """The answer to a command; `_` in names of arguments is `-`."""
        arguments = {name.replace("_", "-"): value for name, value in arguments.items()}
        request = {"execute": command, "arguments": arguments}
        try:
            self.monitor.sendall(json.dumps(request).encode() + b"\n")
        except OSError as error:
            raise Failed(f"QEMU's monitor has closed: {error}") from error
        while True:
            message = self.receive()
            if "event" in message:
                self.events.append(message)
            elif "error" in message:
                raise Failed(f"QEMU refuses {command} {arguments}: {message['error']['desc']}")
            else:
                return message["return"]

    def unplug(self, device):
        """Removes a device and waits until it is gone."""
        self.events.clear()
        self.ask("device_del", id=device)

        def gone():
            self.ask("query-status")
            return any(e["event"] == "DEVICE_DELETED" and e["data"].get("device") == device for e in self.events)

        self.until(gone, 60, f"the removal of {device}")

    # Jobs of the guest.

    def start(self, script):
        """Starts a bash script."""
        self.jobs += 1
        (self.share / f"{self.jobs}.sh").write_text(script + "\n")
        self.port.sendall(f"{self.jobs}\n".encode())
        return Job(self, self.jobs, script)

    def run(self, script, limit=JOB_LIMIT):
        """Runs a bash script to its end."""
        return self.start(script).wait(limit)

    def kill(self):
        """Ends QEMU as a power cut of the machine would."""
        self.process.kill()
        self.process.wait()
        for opened in [self.monitor, self.port, self.log]:
            opened.close()
