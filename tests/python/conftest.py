"""Scenarios small enough to run in milliseconds, and the command line in-process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

import drawn
import lacking
from copied import Copies
from headway.cli.main import status_of
from headway.sweeps import forecast
from headway.sweeps.executors import local
from support import TWO_FLOWS, Answer

# The order of a set of texts is the same in every run, here and in what tests start. Explorations use other orders.
if not drawn.EXPLORES:
    os.environ.setdefault("PYTHONHASHSEED", "0")

# Tests make their runs; those of the store name one of their own.
os.environ["HEADWAY_STORE"] = "off"

# Elsewhere, libraries of the system may not survive a copy.
SPAWN = local.CONTEXT
if sys.platform == "linux":
    local.CONTEXT = Copies()

# Forecasts must not depend on what else runs on the machine.
vars(forecast)["contention"] = lambda _: 1.0

# The longest, which build or read everything, begin first: several processes share the tests.
# pytest-xdist would put those with the most tests first if it were not told to keep this order (`make test`).
LONG = ("test_new", "test_pages", "test_peers", "test_executors", "test_testbed", "test_cli", "test_sweep")


def pytest_sessionfinish() -> None:
    """No process is left behind."""
    Copies.end()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files of nothing but long tests are not even imported where these are not wanted."""
    if config.option.markexpr == "not long" and collection_path.suffix == ".py":
        return "\npytestmark = pytest.mark.long\n" in collection_path.read_text("utf-8") or None
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long modules first, in the order of LONG; all others as they are."""
    items.sort(key=lambda item: LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Store failing cases when exploring."""
    report = yield
    if drawn.EXPLORES and report.failed and item.get_closest_marker("explored") and isinstance(item, pytest.Function):
        name = item.originalname
        case = drawn.FAILED.get(name) or (item.callspec.params if hasattr(item, "callspec") else None)
        if case:
            drawn.keep(name, case)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the skipped tests with their reasons, each once, and the way to repeat each failure."""
    stats = terminalreporter.stats
    skipped = [report.longrepr[2] for report in stats.get("skipped", ()) if isinstance(report.longrepr, tuple)]
    for line in lacking.told(skipped):
        terminalreporter.write_line(line)
    for report in [*stats.get("failed", ()), *stats.get("error", ())]:
        if isinstance(report, pytest.TestReport):
            terminalreporter.write_line(f"to repeat it: PYTHONHASHSEED=0 {_program()} -m pytest '{report.nodeid}'")


def _program() -> str:
    """This interpreter, as one would type it."""
    program = Path(sys.executable)
    return str(program.relative_to(Path.cwd()) if program.is_relative_to(Path.cwd()) else program)


@pytest.fixture
def scenario_file(tmp_path: Path) -> Path:
    """Two variants with two seeds each: four runs of a few milliseconds."""
    path = tmp_path / "two-flows.toml"
    path.write_text(TWO_FLOWS.format(stop="2 ms", size="100 kB"), encoding="utf-8")
    return path


@pytest.fixture
def long_scenario_file(tmp_path: Path) -> Path:
    """Two variants with two seeds each, whose flows take many seconds to simulate, for tests that stop a run."""
    path = tmp_path / "long-flows.toml"
    text = TWO_FLOWS.format(stop="90 s", size="50 GB")
    # Small enough that the command does not ask before it writes.
    path.write_text(text.replace('every = "20 us"', 'every = "1 ms"'), encoding="utf-8")
    return path


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of sweeps start afresh, as those of users do."""
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
