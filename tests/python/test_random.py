"""Random scenarios, as `headway-soak` makes them: what the Python side does with any run it does with these."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from headway import read
import lacking
from drawn import EXPLORES, found
from support import Answer

Headway = Callable[..., Answer]

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")) / "debug/headway-soak"
# Others are tried by hand: HEADWAY_RANDOM="17 400" pytest tests/python/test_random.py
FIRST, LAST = os.environ.get("HEADWAY_RANDOM", "1 16").split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not PROGRAM.exists():
        lacking.lack("headway-soak", "`cargo test` builds it")
    made = tmp_path_factory.mktemp("random")
    subprocess.run([PROGRAM, "write", FIRST, LAST, made], check=True, timeout=300)
    return made


@pytest.mark.parametrize("seed", range(int(FIRST), int(LAST) + 1))
def test_everything_can_be_done_with_any_run(headway: Headway, folder: Path, seed: int) -> None:
    """Whatever transports, faults, samples and flows there are, and whether any of them is ever done."""
    file, out = folder / str(seed) / "scenario.toml", folder / str(seed) / "out"
    for command in (
        ("check", file),
        ("run", file, "--out", out),
        ("show", file),
        ("diff", out, file),
        ("export", out, "--format", "perfetto", "--out", folder / f"{seed}.pftrace"),
        ("report", out),
    ):
        answer = headway(*command)
        assert answer.status == 0, answer.err
    assert "</html>" in (out / "report.html").read_text("utf-8")
    run = read(out)
    assert f"{run.summary['flows_done']}" in run._repr_html_()
    # Equal where there is anything to compare: some flow that began after the warm-up and ended.
    same = headway("compare", out, out)
    assert same.status == 0 if run.summary["flows_measured"] else same.status in (1, 2), same.err
