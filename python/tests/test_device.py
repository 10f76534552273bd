"""Devices: making, driving, copying, describing them."""

import copy
import pickle
import threading
from pathlib import Path

import pytest
from conftest import reads, writes

import nandscope


def test_a_command_completes_at_its_time(drive: nandscope.Device) -> None:
    drive.precondition()
    tag = drive.submit("read", lba=64, sectors=8)
    [done] = drive.advance()
    assert (done.tag, done.status, done.submitted_ns) == (tag, "ok", 0)
    assert done.completed_ns == done.latency_ns == drive.now_ns > 10_000
    assert done.payload is None
    assert drive.advance() == []


def test_commands_may_overlap_and_answer(drive: nandscope.Device) -> None:
    tags = {drive.submit("write", lba=8 * i, sectors=8, fua=i == 0) for i in range(4)}
    tags.add(drive.submit("identify", tag=77))
    done = []
    while len(done) < 5:
        done += drive.advance()
    assert {c.tag for c in done} == tags
    [identity] = [c.payload for c in done if c.tag == 77]
    assert identity is not None and identity["capacity"] == drive.capacity
    assert drive.counters["host_written"] == 4 * 4096
    beyond = drive.submit("read", lba=drive.capacity // 512, sectors=8)
    [refused] = drive.advance()
    assert (refused.tag, refused.status) == (beyond, "lba-out-of-range")


def test_time_passes_up_to_where_it_is_asked(drive: nandscope.Device) -> None:
    assert drive.advance(until=5_000_000_000) == []
    assert drive.now_ns == 5_000_000_000
    assert drive.telemetry["energy_j"] > 0
    with pytest.raises(nandscope.Error, match="already"):
        drive.advance(until=1)
    with pytest.raises(nandscope.Error, match="already at"):
        drive.submit("read", at=1)


def test_overrides_are_those_of_the_profile() -> None:
    plain = nandscope.Device("reference-nvme-64gb")
    small = nandscope.Device("reference-nvme-64gb", overrides={"ftl.over_provisioning": 0.5})
    assert small.capacity < plain.capacity
    assert nandscope.Device("reference-nvme-64gb", **{"controller.cores": 2}).profile != plain.profile
    attached = nandscope.Device("sim:reference-nvme-64gb", "nvme-desktop", 7)
    assert (attached.name, attached.seed, attached.profile) == ("sim:reference-nvme-64gb", 7, plain.profile)
    assert attached.path != plain.path


def test_explain_names_the_source_of_each_number() -> None:
    table = nandscope.Device("reference-nvme-64gb").explain()
    rows = dict(zip(table["key"], table["provenance"], strict=True))
    assert table.columns == ["key", "value", "provenance", "reason"]
    assert rows["controller.cores"] != "" and "nand.slc.read_us" in rows


def test_a_fork_goes_its_own_way(drive: nandscope.Device) -> None:
    drive.precondition("random:50")
    fork, twin = drive.fork(), copy.copy(drive)
    before = drive.counters
    theirs = fork.run(writes())
    assert drive.counters == before != fork.counters
    # The device and any other copy give the same result as the fork.
    assert theirs.json(wall=False) == drive.run(writes()).json(wall=False)
    assert theirs.json(wall=False) == copy.deepcopy(twin).run(writes()).json(wall=False)
    assert drive.counters == fork.counters


def test_a_device_is_pickled_whole(drive: nandscope.Device) -> None:
    drive.precondition("sequential:80")
    drive.run(writes())
    other = pickle.loads(pickle.dumps(drive))
    assert (other.name, other.seed, other.now_ns) == (drive.name, drive.seed, drive.now_ns)
    assert drive.run(writes()).json(wall=False) == other.run(writes()).json(wall=False)
    drive.submit("read", sectors=8)
    with pytest.raises(nandscope.Error, match="have not completed"):
        pickle.dumps(drive)


def test_a_snapshot_is_the_file_of_the_command_line(drive: nandscope.Device, tmp_path: Path) -> None:
    drive.run(writes())
    snapshot = drive.snapshot()
    path = tmp_path / "used.dev"
    path.write_bytes(snapshot)
    opened = nandscope.Device(f"saved:{path}")
    restored = nandscope.Device.restore(snapshot, name=opened.name)
    assert opened.now_ns == restored.now_ns == drive.now_ns
    assert opened.run(reads()).json(wall=False) == restored.run(reads()).json(wall=False)
    for damaged, message in [
        (b"", "not a saved device"),
        (b"nandscope kept device 1\n{}", "another version"),
        (snapshot[:-1] + b"?", "damaged"),
    ]:
        with pytest.raises(nandscope.Error, match=message):
            nandscope.Device.restore(damaged)


def test_one_call_at_a_time_uses_a_device() -> None:
    drive = nandscope.Device("reference-nvme-64gb")
    started = threading.Event()
    errors = []

    def during(_fraction: float | None, _operations: int, _elapsed: float) -> None:
        started.set()
        # The device is in use by the run that calls this.
        try:
            drive.submit("read")
        except nandscope.BusyError as error:
            errors.append(error)

    job = nandscope.Job(rw="randread", bs="4k", size="1g", iodepth=32, time_based=1, runtime=2)
    worker = threading.Thread(target=drive.run, args=(job,), kwargs={"progress": during})
    worker.start()
    assert started.wait(30)
    for use in (drive.fork, drive.snapshot, drive.precondition, lambda: drive.counters, lambda: drive.run(job)):
        if worker.is_alive():
            try:
                use()
            except nandscope.BusyError as error:
                errors.append(error)
    worker.join()
    assert errors and "fork()" in str(errors[0])
    # Afterwards it is free, also for another thread.
    assert drive.counters["host_read"] > 0


def test_random_overwriting_wears(drive: nandscope.Device) -> None:
    drive.precondition()
    used = drive.fork()
    used.overwrite_randomly(2)
    job = writes(number_ios=5000)
    drive.run(job)
    used.run(job)
    assert used.counters["write_amplification"] > drive.counters["write_amplification"]
    for times in (-1, float("nan"), float("inf"), 1e9):
        with pytest.raises(nandscope.Error, match="times is"):
            drive.overwrite_randomly(times)


def test_verify_tells_a_fake_from_a_genuine_card(drive: nandscope.Device) -> None:
    before = drive.snapshot()
    genuine = drive.verify()
    assert genuine.complete and genuine.conclusions["answer"][0] == "genuine"
    half = f"fake {drive.capacity // 2 >> 20}MiB wrap"
    fake = drive.verify(faults=[half])
    assert fake.conclusions["answer"][0] == "fake"
    assert fake.json() == drive.fork().verify(faults=[half]).json()
    assert drive.snapshot() == before
    for faults, message in ((["nonsense"], "fault `nonsense`"), (["power-cut"], "fault `power-cut`")):
        with pytest.raises(nandscope.Error, match=message):
            drive.verify(faults=faults)


def test_states_before_a_run(tiny: str) -> None:
    steady, overwritten = nandscope.Device(tiny), nandscope.Device(tiny)
    steady.precondition("steady")
    overwritten.precondition("overwritten:4")
    by_hand = nandscope.Device(tiny)
    by_hand.precondition("sequential")
    by_hand.overwrite_randomly(4)
    assert overwritten.snapshot() == by_hand.snapshot() != steady.snapshot()
    for wrong in ("overwritten:0", "steady:5", "overwritten:x"):
        with pytest.raises(nandscope.Error):
            steady.precondition(wrong)
