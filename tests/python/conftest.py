"""Scenarios small enough to run in milliseconds, and the command line in-process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from copied import Copies
from headway.cli.main import status_of
from headway.sweeps.executors import local
from support import TWO_FLOWS, Answer

# Tests make their runs; those of the store name one of their own.
os.environ["HEADWAY_STORE"] = "off"

# Elsewhere, libraries of the system may not survive a copy.
SPAWN = local.CONTEXT
if sys.platform == "linux":
    local.CONTEXT = Copies()

# The longest, which build or read everything, begin first: several processes share the tests.
# pytest-xdist would put those with the most tests first if it were not told to keep this order (`make test`).
LONG = ("test_new", "test_cli", "test_pages", "test_explain", "test_package", "test_testbed", "test_executors")


def pytest_sessionfinish() -> None:
    """No process is left behind."""
    Copies.end()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long modules first, in the order of LONG; all others as they are."""
    items.sort(key=lambda item: LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG))


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    """Two variants with two seeds each: four runs of a few milliseconds."""
    path = tmp_path / "two-flows.toml"
    path.write_text(TWO_FLOWS.format(stop="2 ms", size="100 kB"), encoding="utf-8")
    return path


@pytest.fixture
def long_scenario_file(tmp_path: Path) -> Path:
    """The same with flows that take many seconds to simulate, to be stopped on the way."""
    path = tmp_path / "long-flows.toml"
    text = TWO_FLOWS.format(stop="90 s", size="50 GB")
    # Nobody is asked whether so much may be written.
    path.write_text(text.replace('every = "20 us"', 'every = "1 ms"'), encoding="utf-8")
    return path


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of sweeps begin anew, as those of users do."""
    monkeypatch.setattr(local, "CONTEXT", SPAWN)


@pytest.fixture
def headway(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Run a command of the command line in this process."""

    def call(*arguments: object) -> Answer:
        capsys.readouterr()
        status = status_of([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Answer(status, captured.out, captured.err)

    return call
