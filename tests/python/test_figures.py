"""Every kind of figure declares itself."""

from __future__ import annotations

from pathlib import Path

import pytest

import headway
from headway.reporting import figures
from headway.reporting.assemble import Report, assemble
from headway.reporting.load import load


def test_every_file_is_registered_and_every_line_has_a_file() -> None:
    folder = Path(figures.__file__).parent
    files = {path.stem for path in folder.glob("*.py")} - {"__init__", "kind", "template"}
    assert files == set(figures.KINDS)
    assert len(figures.KINDS) == len(files), "each is registered once"


def test_no_two_kinds_have_one_name() -> None:
    every = [*figures.NAMES, *(alias for name in figures.NAMES for alias in figures.kind_of(name).aliases)]
    assert len(set(every)) == len(every)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """The report of one run, whose figures every kind draws."""
    run = tmp_path_factory.mktemp("figures") / "run"
    headway.Scenario.load("examples/quickstart", scale="smoke").run(run)
    return assemble(load(run))


@pytest.mark.parametrize("name", figures.NAMES)
def test_a_kind_draws_figures_of_its_name(name: str, report: Report) -> None:
    kind = figures.kind_of(name)
    assert kind.summary
    drawn = [figure.id for figure in kind.figures(report.study)] if kind.needs_runs else [name]
    assert drawn[:1] == [name]
    assert all(other == name or other.startswith("series-") for other in drawn)
