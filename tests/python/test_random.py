"""Random scenarios, as `headway-soak` makes them: the Python side handles these as it handles any run."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import lacking
from drawn import EXPLORES, found
from headway import read
from support import LIMIT, Answer

Headway = Callable[..., Answer]

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")) / "debug/headway-soak"
# The first few are tried in every run, as are those that failed once; others by hand:
# HEADWAY_RANDOM="17 400" pytest tests/python/test_random.py. An exploration tries a hundred from there on.
FIRST, LAST = map(int, os.environ.get("HEADWAY_RANDOM", "1 16").split())
if EXPLORES and "HEADWAY_RANDOM" not in os.environ:
    FIRST, LAST = EXPLORES, EXPLORES + 99
SEEDS = sorted({*range(FIRST, LAST + 1), *(case["seed"] for case in found("test_everything_can_be_done_with_any_run"))})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not PROGRAM.exists():
        lacking.lack("headway-soak", "`cargo test` builds it")
    made = tmp_path_factory.mktemp("random")
    for first, last in ((FIRST, LAST), *((seed, seed) for seed in SEEDS if not FIRST <= seed <= LAST)):
        subprocess.run([PROGRAM, "write", str(first), str(last), made], check=True, timeout=LIMIT)
    return made


@pytest.mark.explored
@pytest.mark.parametrize("seed", SEEDS)
def test_everything_can_be_done_with_any_run(headway: Headway, folder: Path, seed: int) -> None:
    """For all transports, faults, samples and flows, finished or not."""
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
    # Flows that are open at the end count as measured, and cannot be compared.
    ended = run.summary["flows_measured"] > run.summary["flows_open"]
    assert same.status == 0 if ended else same.status in (1, 2), same.err
