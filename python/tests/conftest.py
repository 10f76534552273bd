"""What the tests share."""

from pathlib import Path

import pytest

import nandscope

REPOSITORY = Path(__file__).resolve().parents[2]


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
