"""Random calls with random arguments: exceptions, never a panic or an end of the interpreter."""

import math
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nandscope

ALLOWED = (nandscope.Error, TypeError, OverflowError, KeyError, IndexError, UnicodeError)

numbers = st.one_of(
    st.integers(-(2**70), 2**70),
    st.sampled_from([0, 1, -1, 8, 512, 2**31, 2**32, 2**53, 2**63, 2**64 - 1, 2**64]),
    st.floats(allow_nan=True, allow_infinity=True),
)
texts = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["read", "write", "flush", "discard", "health", "identify", "random", "sequential:50", "none",
                     "random:nan", "sequential:-1", "exact", "\0", "\ud800", "a\nb", "sim:"]),
)
anything = st.one_of(numbers, texts, st.none(), st.booleans(), st.binary(max_size=40), st.lists(numbers, max_size=3),
                     st.just(object()))
small = st.integers(0, 4096)

calls = st.one_of(
    st.tuples(st.just("submit"), st.tuples(texts, numbers, numbers)),
    st.tuples(st.just("submit"), st.tuples(st.sampled_from(["read", "write", "discard", "flush"]), small, small)),
    st.tuples(st.just("submit"), st.tuples(anything, anything, anything)),
    st.tuples(st.just("advance"), st.tuples(st.one_of(st.none(), st.integers(0, 10**10), anything))),
    st.tuples(st.just("advance"), st.just(())),
    st.tuples(st.just("precondition"), st.tuples(anything)),
    st.tuples(st.just("overwrite_randomly"), st.tuples(st.one_of(st.floats(0, 2), st.sampled_from([math.nan, math.inf]), texts))),
    st.tuples(st.just("run"), st.tuples(anything)),
    st.tuples(st.just("fork"), st.just(())),
    st.tuples(st.just("snapshot"), st.just(())),
    st.tuples(st.just("explain"), st.just(())),
    st.tuples(st.just("restore"), st.tuples(anything)),
    st.tuples(st.just("verify"), st.tuples(anything)),
    st.tuples(st.just("probe"), st.tuples(anything)),
)
READINGS = ("counters", "telemetry", "health", "identity", "now_ns", "next_event_ns", "path", "profile")
QUICK = settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@QUICK
@given(st.lists(calls, max_size=15))
def test_devices(tiny: str, script: list[tuple[str, tuple[Any, ...]]]) -> None:
    device = nandscope.Device(tiny)
    for name, arguments in script:
        try:
            getattr(device, name)(*arguments)
        except ALLOWED:
            pass
        for reading in READINGS:
            getattr(device, reading)
    # Everything that was submitted completes.
    for _ in range(10_000):
        if not device.advance():
            break
    assert device.fork().counters == device.counters


@QUICK
@given(profile=st.one_of(st.just("reference-nvme-64gb"), anything), host=st.one_of(st.none(), anything), seed=anything,
       overrides=st.one_of(st.none(), anything, st.dictionaries(
           st.one_of(texts, st.sampled_from(["controller.cores", "ftl.over_provisioning", "nand.slc.read_us",
                                             "device.capacity_bytes", "nand.blocks_per_plane", "interface.0.link"])),
           anything, max_size=3)))
def test_making_devices(profile: Any, host: Any, seed: Any, overrides: Any) -> None:
    try:
        nandscope.Device(profile, host, seed, overrides=overrides)
    except ALLOWED:
        pass


@QUICK
@given(st.one_of(texts, anything), st.dictionaries(
    st.one_of(st.sampled_from(["rw", "bs", "size", "iodepth", "runtime", "rate", "number_ios", "offset", "numjobs",
                               "random_distribution", "thinktime", "bssplit", "read_iolog"]), st.text(min_size=1, max_size=6)),
    anything, max_size=5))
def test_jobs(tiny: str, text: Any, options: dict[str, Any]) -> None:
    for make in (lambda: nandscope.Job(text), lambda: nandscope.Job(**{"number_ios": 10} | options)):
        try:
            job = make()
            job = job.set(number_ios=10, size="64k", runtime=1, numjobs=1, rate=0, thinktime=0, startdelay=0)
            nandscope.Device(tiny).run(job)
        except ALLOWED:
            pass


@QUICK
@given(st.one_of(texts, anything), anything, anything)
def test_results_and_tables(tiny: str, text: Any, number: Any, name: Any) -> None:
    result = nandscope.Device(tiny).run(nandscope.Job(rw="read", number_ios=3))
    for call in (
        lambda: nandscope.Result.from_json(text),
        lambda: nandscope.Result.load(text),
        lambda: result.percentile(number, name),
        lambda: result.figure(name),
        lambda: result.to_polars(name),
        lambda: result.plot(name),
        lambda: result.plot()[name],
        lambda: nandscope.Table(name),
        lambda: nandscope.Table({"a": name, "b": number}),
        lambda: result.jobs[name],
    ):
        try:
            call()
        except ALLOWED:
            pass


def test_values_of_no_device() -> None:
    for wrong in (math.nan, math.inf, -1, "x", None, [1, 2], {}, [[1]]):
        with pytest.raises((nandscope.Error, TypeError)):
            nandscope.Device("reference-nvme-64gb", overrides={"controller.cores": wrong})
    with pytest.raises(nandscope.Error, match="unknown device"):
        nandscope.Device("nothing")
    with pytest.raises(OverflowError):
        nandscope.Device("reference-nvme-64gb", seed=-1)
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(TypeError):
        nandscope.Job(bs=loop)


@QUICK
@given(st.data())
def test_snapshots_that_were_changed(tiny: str, data: st.DataObject) -> None:
    """Of another version, cut off, or with wrong bytes: refused, or a device that works."""
    whole = nandscope.Device(tiny).snapshot()
    # The head has the format and its version.
    place = st.one_of(st.integers(0, 64), st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    for at, byte in data.draw(st.lists(st.tuples(place, st.integers(0, 255)), max_size=4)):
        changed[at] = byte
    kept = bytes(changed[: data.draw(st.one_of(st.just(len(whole)), place))])
    try:
        device = nandscope.Device.restore(kept)
        device.run(nandscope.Job(rw="randrw", number_ios=10, bs="4k", size="64k"))
    except ALLOWED:
        pass


@QUICK
@given(st.lists(calls, min_size=1, max_size=6), st.lists(calls, min_size=1, max_size=6))
def test_a_device_of_another_thread(tiny: str, ours: list[tuple[str, Any]], theirs: list[tuple[str, Any]]) -> None:
    device = nandscope.Device(tiny)
    wrong: list[BaseException] = []

    def work(script: list[tuple[str, Any]]) -> None:
        for name, arguments in script:
            try:
                getattr(device, name)(*arguments)
            except ALLOWED:
                pass
            except BaseException as error:
                wrong.append(error)

    threads = [threading.Thread(target=work, args=(script,)) for script in (ours, theirs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert device.fork().now_ns == device.now_ns


@QUICK
@given(space=st.dictionaries(
    st.one_of(texts, st.sampled_from(["controller.cores", "job.iodepth", "job.bs", "host", "precondition", "profile", "workload"])),
    st.one_of(anything, st.lists(anything, max_size=2)), max_size=2),
    precondition=st.one_of(st.just("none"), anything), seeds=st.one_of(st.integers(-1, 2), st.lists(anything, max_size=2)),
    metrics=st.one_of(st.just(["waf"]), st.lists(texts, max_size=2)), jobs=st.one_of(st.none(), st.integers(-1, 3)))
def test_sweeps(tiny: str, space: Any, precondition: Any, seeds: Any, metrics: Any, jobs: Any) -> None:
    job = nandscope.Job(rw="randwrite", number_ios=5, bs="4k", size="64k")
    try:
        nandscope.sweep(space, job, profile=tiny, precondition=precondition, seeds=seeds, metrics=metrics, jobs=jobs)
    except ALLOWED:
        pass


@QUICK
@given(st.data())
def test_profiles_that_were_changed(tiny: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Of another version, with wrong keys, wrong types, without lines: refused with the line, or a device that works."""
    lines = Path(tiny).read_text().splitlines()
    values = st.one_of(st.sampled_from(["2", "0", "-1", "nan", "inf", "1e300", '"x"', "[]", "[1, [2]]", "{}", "true", ""]), st.text(max_size=5))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.one_of(st.just(1), st.integers(0, len(lines) - 1)))
        key = lines[at].split("=")[0]
        kind = data.draw(st.sampled_from(["value", "key", "drop", "twice", "cut"]))
        if kind == "value":
            lines[at] = f"{key}= {data.draw(values)}"
        elif kind == "key":
            lines[at] = f"{data.draw(texts)} = 1"
        elif kind == "drop":
            lines[at] = ""
        elif kind == "twice":
            lines.insert(at, lines[at])
        else:
            lines[at] = lines[at][: len(lines[at]) // 2]
    profile = tmp_path_factory.getbasetemp() / "changed.toml"
    profile.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    try:
        device = nandscope.Device(profile)
        device.run(nandscope.Job(rw="randrw", number_ios=10, bs="4k", size="64k"))
        device.explain()
    except ALLOWED:
        pass


def test_a_profile_of_another_version(tiny: str, tmp_path: Path) -> None:
    later = tmp_path / "later.toml"
    later.write_text(Path(tiny).read_text().replace("format = 1", "format = 2"))
    for make in (lambda: nandscope.Device(later), lambda: nandscope.sweep({}, nandscope.Job(rw="read"), profile=later)):
        with pytest.raises(nandscope.Error, match="format"):
            make()


@QUICK
@given(anything, anything, anything, st.one_of(texts, anything))
def test_functions(tiny: str, tmp_path_factory: pytest.TempPathFactory, one: Any, two: Any, three: Any, text: Any) -> None:
    maker, device = nandscope._native.PointMaker(), nandscope.Device(tiny)
    result = device.run(nandscope.Job(rw="read", number_ios=3))
    folder = tmp_path_factory.getbasetemp() / "random-calls"
    point = maker.point(tiny, None, {}, "none", "j", "j", "[a]\nrw=read\nnumber_ios=2\n", {}, 1, ["iops"])
    store = nandscope._native.PointStore(folder)
    swept = nandscope.sweep({}, nandscope.Job(rw="read", number_ios=3), profile=tiny)
    for call in (
        lambda: nandscope.uniform(one, two, log=bool(three)),
        lambda: nandscope.trace(text, **{"iodepth": one}),
        lambda: device.run(nandscope.trace(text)),
        lambda: nandscope.load(text),
        lambda: nandscope.review(text, suite=one),
        lambda: nandscope.review(tiny, suite=text, seed=two, modes=three, quick=True),
        lambda: nandscope.validate([one]),
        lambda: nandscope.validate([text], jobs=two),
        lambda: nandscope._native.sample(text, [None, (one, two, three)], three),
        lambda: nandscope._native.sample("lhs:3", [(one, two, True)], 1),
        lambda: maker.point(one, two, three, text, text, text, text, one, two, three),
        lambda: maker.point(tiny, two, {}, "none", "j", "j", text, {text: one}, two, [text]),
        lambda: point.run(one),
        lambda: point.run(device.fork(), one if callable(one) else None),
        lambda: store.find(one),
        lambda: store.keep(point, text),
        lambda: nandscope._native.PointRows(folder, [text], [[text], []]).write(point, [[text], []], [1.0], True),
        lambda: nandscope._native.PointRows(folder, one, two).write(point, three, one, two),
        lambda: nandscope._native.run_points([point, one], 1, jobs=two),
        lambda: nandscope._native.run_points([point, point], 2**40, jobs=2),
        lambda: swept.pareto(minimize=one, maximize=two),
        lambda: swept.pareto(minimize=[text]),
        lambda: swept.effects(text),
        lambda: swept.plot(text, x=one),
        lambda: nandscope.ProgressBar(text, width=one if isinstance(one, int) and abs(one) < 1000 else 3)(0.5, 1, 1.0),
        lambda: result.save(folder / "no" / "such" / "folder"),
        lambda: result.to_pandas(text),
    ):
        try:
            call()
        except ALLOWED:
            pass
