"""Random scenarios, as `headway-soak` makes them: what the Python side does with any run it does with these."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import headway
from headway.report import build

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")) / "debug/headway-soak"
# Others are tried by hand: HEADWAY_RANDOM="25 400" pytest tests/python/test_random.py
FIRST, LAST = os.environ.get("HEADWAY_RANDOM", "1 24").split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not PROGRAM.exists():
        pytest.skip(f"needs {PROGRAM}, which `cargo test` builds")
    made = tmp_path_factory.mktemp("random")
    subprocess.run([PROGRAM, "write", FIRST, LAST, made], check=True, timeout=300)
    return made


@pytest.mark.parametrize("seed", range(int(FIRST), int(LAST) + 1))
def test_a_report_can_be_made_of_any_run(folder: Path, seed: int) -> None:
    """Whatever transports, faults, samples and flows there are, and whether any of them is ever done."""
    own = folder / str(seed)
    run = headway.Scenario.load(own / "scenario.toml").run(own / "out")
    (page,) = build(own / "out")
    text = page.read_text("utf-8")
    assert "</html>" in text
    assert f"{run.summary['flows_done']}" in text
