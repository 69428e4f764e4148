"""`headway measure`: expressions over a run directory, and over a testbed's beside the simulator's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.claims.functions import VOCABULARY
from support import Answer

Headway = Callable[..., Answer]


@pytest.fixture
def directory(headway: Headway, scenario_file: Path, tmp_path: Path) -> Path:
    out = tmp_path / "run"
    assert headway("run", scenario_file, "--out", out).status == 0
    return out


def test_named_expressions_are_those_of_claims(headway: Headway, directory: Path) -> None:
    texts = ("size=flow('f0', 'bytes')", "both = size + flow('f1', 'bytes')", "flow('f0', 'finish_s') > 0")
    answer = headway("measure", directory, *texts, "--json")
    measured = json.loads(answer.out)["measured"]
    assert measured == {"size": 100_000, "both": 200_000, "flow('f0', 'finish_s') > 0": True}


def test_a_testbed_run_is_measured_beside_the_simulator(headway: Headway, directory: Path, scenario_file: Path) -> None:
    more = ("--set", "traffic.0.flows.0.bytes=50000")
    assert headway("run", scenario_file, "--out", directory / "simulator", *more).status == 0
    answer = headway("measure", directory, "size=flow('f0', 'bytes')")
    assert answer.out.split() == ["measured", "simulator", "ratio", "size", "100000", "50000", "2.000"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("floww('f0', 'bytes')", "no function 'floww'; nearest: flow"),
        ("1 +", "not an expression: invalid syntax\n  1 +\n"),
        ("flow('f9', 'bytes')", "0 flows are called f9"),
        ("a=1", "is given twice"),
    ],
)
def test_mistakes_are_shown(headway: Headway, directory: Path, text: str, message: str) -> None:
    answer = headway("measure", directory, "a=2", text)
    assert (answer.status, answer.out) == (2, "")
    assert message in answer.err


def test_a_directory_without_results(headway: Headway, tmp_path: Path) -> None:
    answer = headway("measure", tmp_path, "1")
    assert answer.status == 2
    assert "manifest.json" in answer.err


def test_the_page_on_expressions_lists_every_function() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "measures.md").read_text(encoding="utf-8")
    listed = {line.split("(")[0].removeprefix("| `") for line in page.splitlines() if line.startswith("| `")}
    assert listed == {*VOCABULARY.plain, *VOCABULARY.forms}
