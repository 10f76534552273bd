"""Plots of sweeps, drawn without a screen."""

import sys
from collections.abc import Iterator

import matplotlib
import pytest
from conftest import writes
from matplotlib.axes import Axes

import nandscope

matplotlib.use("Agg")
from matplotlib import pyplot

METRICS = ("iops", "p99", "read.p99")


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def swept(tiny: str) -> nandscope.Sweep:
    space = {"controller.cores": [4, 1], "job.iodepth": [1, 8, 64], "nand.page_kib": [16]}
    jobs = {"random": writes(), "in order": writes(rw="write")}
    return nandscope.sweep(space, jobs, profile=tiny, seeds=2, precondition="random:80", metrics=METRICS)


def legend(ax: Axes) -> tuple[str, list[str]]:
    found = ax.get_legend()
    assert found is not None
    return found.get_title().get_text(), [text.get_text() for text in found.get_texts()]


def test_a_line_for_each_value_of_the_second_axis(swept: nandscope.Sweep) -> None:
    ax = swept.plot("p99", x="iodepth", by="cores")
    assert ax.get_xlabel() == "iodepth" and ax.get_ylabel() == "p99 latency (µs)"
    assert ax.get_xscale() == "log" and [text.get_text() for text in ax.get_xticklabels()] == ["1", "8", "64"]
    assert legend(ax) == ("cores", ["1", "4"]) and ax.get_ylim()[0] == 0
    assert ax.get_title() == "mean over workload and 2 seeds"
    one = [row["p99"] for row in swept.rows if row["controller.cores"] == 1 and row["job.iodepth"] == 8]
    assert len(one) == 4 and ax.lines[0].get_ydata()[1] == pytest.approx(sum(one) / 4)
    ax.set_yscale("log")
    assert 0 < ax.get_ylim()[0] < min(ax.lines[0].get_ydata())
    ax.figure.canvas.draw()


def test_the_first_metric_over_the_first_axes(swept: nandscope.Sweep) -> None:
    ax = swept.plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("cores", "IOPS") and legend(ax) == ("iodepth", ["1", "8", "64"])
    assert [list(line.get_xdata()) for line in ax.lines] == [[1, 4]] * 3


def test_axes_of_texts_have_bars(swept: nandscope.Sweep) -> None:
    ax = swept.plot("iops", x="workload", by="job.iodepth", alpha=0.5)
    assert len(ax.patches) == 6 and ax.patches[0].get_alpha() == 0.5
    assert [text.get_text() for text in ax.get_xticklabels()] == ["random", "in order"]


def test_sizes_are_in_order_and_seeds_make_a_band(tiny: str) -> None:
    sweep = nandscope.sweep({"job.bs": ["64k", "4k"]}, writes(), profile=tiny, seeds=3, metrics=("p99",))
    ax = sweep.plot()
    assert [text.get_text() for text in ax.get_xticklabels()] == ["4k", "64k"] and ax.get_xlabel() == "bs"
    assert len(ax.lines) == len(ax.collections) == 1 and ax.get_legend() is None
    assert ax.get_title() == "mean over 3 seeds"


def test_axes_of_the_user_are_drawn_on(swept: nandscope.Sweep) -> None:
    figure, (left, right) = pyplot.subplots(1, 2)
    assert swept.plot(ax=right) is right and right.figure is figure
    assert not left.lines and right.lines and len(pyplot.get_fignums()) == 1
    right.figure.canvas.draw()


def test_two_metrics_are_points(swept: nandscope.Sweep) -> None:
    ax = swept.plot("p99", x="iops", by="workload")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("IOPS", "p99 latency (µs)") and not ax.lines
    assert [len(points.get_offsets()) for points in ax.collections] == [12, 12]


def test_samples_are_points(tiny: str) -> None:
    space = {"controller.read_us": nandscope.uniform(1, 20), "job.bs": ["4k", "8k"]}
    sweep = nandscope.sweep(space, writes(number_ios=50), profile=tiny, method="latin", samples=10, metrics=("p99",))
    ax = sweep.plot()
    assert ax.get_xlabel() == "controller.read (µs)" and legend(ax) == ("bs", ["4k", "8k"])
    assert [len(points.get_offsets()) for points in ax.collections] == [5, 5]


def test_what_cannot_be_plotted_is_refused(swept: nandscope.Sweep, tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(nandscope.Error, match="no point has a value of `read.p99`"):
        swept.plot("read.p99")
    with pytest.raises(nandscope.Error, match="the sweep has no `depth`"):
        swept.plot("iops", x="depth")
    with pytest.raises(nandscope.Error, match="`workload` is an axis of texts, which has no height; name a metric"):
        swept.plot("workload")
    one = nandscope.sweep({}, writes(number_ios=9), profile=tiny, seeds=13)
    with pytest.raises(nandscope.Error, match="no axis of the sweep has several values"):
        one.plot()
    with pytest.raises(nandscope.Error, match="`seed` has 13 values, and a plot has 12 lines at most"):
        one.plot("iops", x="mean", by="seed")
    assert not pyplot.get_fignums()
    assert len(one.plot("iops", x="seed").lines) == 1
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="matplotlib is not installed; `pip install matplotlib`"):
        swept.plot()
