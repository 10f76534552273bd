"""The types that the package ships, as a program that uses it sees them."""

from importlib import resources

import pytest
from mypy import api

RIGHT = """
from collections.abc import Sequence
import nandscope
from matplotlib.axes import Axes

def plot(sizes: Sequence[str]) -> Axes:
    job = nandscope.Job(rw="randread", bs="4k")
    return nandscope.sweep({"job.bs": sizes}, job, profile="sm2708-250gb", progress=False).plot("p99")

def latency(device: nandscope.Device) -> float | None:
    return device.run(nandscope.Job("x"), progress=nandscope.ProgressBar()).percentile(99.9, operation="read")
"""


# Wrong lines, and what mypy says about each.
WRONG = {
    "device.nosuch()": '"Device" has no attribute "nosuch"',
    "device.submit('read', lba='0')": 'Argument "lba" to "submit" of "Device" has incompatible type',
    "device.run(3)": 'Argument 1 to "run" of "Device" has incompatible type',
    "nandscope.sweep({}, 'job.fio').plots()": '"Sweep" has no attribute "plots"',
    "nandscope.sweep({}, 'job.fio', progress='yes')": 'Argument "progress" to "sweep" has incompatible type',
    "nandscope.nosuch": 'Module has no attribute "nosuch"',
}


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The messages of mypy about a right program and a wrong one."""
    folder = tmp_path_factory.mktemp("types")
    (folder / "right.py").write_text(RIGHT)
    beginning = "import nandscope\n\ndevice = nandscope.Device('sm2708-250gb')\n"
    (folder / "wrong.py").write_text(beginning + "\n".join(WRONG) + "\n")
    # In an empty folder mypy reads the installed package, not the sources.
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        output, problem, code = api.run(["--strict", "--config-file=", "right.py", "wrong.py"])
    assert (problem, code) == ("", 1), problem
    return output.splitlines()


def test_the_package_ships_its_types() -> None:
    package = resources.files("nandscope")
    assert (package / "py.typed").is_file() and "class Device" in (package / "_native.pyi").read_text()


def test_a_right_program_passes(messages: list[str]) -> None:
    assert [line for line in messages if line.startswith("right.py")] == []


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_line_is_found(messages: list[str], line: str) -> None:
    place = f"wrong.py:{4 + list(WRONG).index(line)}: error: "
    assert any(message.startswith(place) and WRONG[line] in message for message in messages), messages
