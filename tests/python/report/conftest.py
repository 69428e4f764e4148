"""Results directories, made once for all tests of the report, and pages made from them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from headway.reporting import build
from report import make_runs
from report.page_reader import Page

# Files that reports of other tests left.
MADE = shutil.ignore_patterns("report.html", "figures")
KINDS = ("parking", "sweep", "single", "model")


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One directory of each kind."""
    root = tmp_path_factory.mktemp("results")
    make_runs.make_parking_lot(root / "parking", seeds=(1, 2))
    make_runs.make_load_sweep(root / "sweep", loads=(0.3, 0.7), seeds=(1, 2, 3), count=300)
    make_runs.make_single_run(root / "single")
    make_runs.make_model(root / "model")
    return root


@pytest.fixture(scope="session")
def pages(results: Path) -> dict[str, Page]:
    """The HTML page of each."""
    return {kind: Page(build(results / kind)[0].read_text(encoding="utf-8")) for kind in KINDS}


@pytest.fixture
def single(results: Path, tmp_path: Path) -> Path:
    """A copy of a run directory, for a test to damage."""
    return Path(shutil.copytree(results / "single", tmp_path / "run", ignore=MADE))


@pytest.fixture
def parking(results: Path, tmp_path: Path) -> Path:
    """A copy of a reproduce directory, for a test to damage."""
    return Path(shutil.copytree(results / "parking", tmp_path / "parking", ignore=MADE))
