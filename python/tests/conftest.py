"""What the tests share."""

import os
import signal
from pathlib import Path

import pytest

import nandscope

REPOSITORY = Path(__file__).resolve().parents[2]

# A shell starts background processes with SIGINT ignored. Python then leaves it ignored, and tests of Ctrl-C would wait
# without end.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def tiny() -> str:
    """A profile of a small device."""
    found = sorted(REPOSITORY.glob("crates/*/tests/data/tiny.toml"))
    return str(found[0])


@pytest.fixture
def drive(tiny: str) -> nandscope.Device:
    return nandscope.Device(tiny)


def reads(**options: str | int) -> nandscope.Job:
    """A short job."""
    return nandscope.Job(**({"rw": "randread", "bs": "4k", "number_ios": 500, "iodepth": 4} | options))


def writes(**options: str | int) -> nandscope.Job:
    """A short job that changes the device."""
    return reads(**({"rw": "randwrite"} | options))


def command(repository: Path) -> Path:
    """The command of the same sources: the one that was built last."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", repository / "target"))
    built = [target / profile / "nandscope" for profile in ("release", "debug")]
    found = [path for path in built if path.exists()]
    if not found:
        pytest.fail(f"there is no command in {target}; `cargo build --release` builds it")
    return max(found, key=lambda path: path.stat().st_mtime)
