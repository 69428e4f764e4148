"""`headway measure`: expressions over a run directory, and over a testbed's together with the simulator's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.claims.functions import VOCABULARY
from support import Answer

Headway = Callable[..., Answer]
INCAST = Path(__file__).resolve().parents[1] / "golden/behaviour/incast.toml"


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
        ("1 +", "not an expression: invalid syntax\n   ╭─[EXPR:1:1]\n 1 │ 1 +\n"),
        ("flow('f9', 'bytes')", "none of the flows is called f9; there are f0, f1"),
        ("flow('f0', 'byte')", "flows have no column byte; nearest: bytes"),
        ("links_sum('dropps')", "links have no column dropps; nearest: drops"),
        ("summary('by_size')", "by_size is a table; name one of its numbers, such as by_size."),
        ("mean(queue('s0->s9'), '0 s', '1 ms')", "no queue_max_bytes of s0->s9 was sampled; nearest: s0->h2"),
        ("of('amrt', summary('drops'))", "of() compares runs of a sweep, and this is one run"),
        ("largest(summary('drops'))", "largest() compares runs of a sweep, and this is one run"),
        ("['x', 1]", "it is no number, but"),
        ("b=", "'b=': an expression is missing after ="),
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


def test_what_holds_no_run_says_where_one_may_be(headway: Headway, directory: Path, tmp_path: Path) -> None:
    answer = headway("measure", directory / "summary.json", "1")
    assert "summary.json: is a file; name the run directory that it lies in" in answer.err
    (tmp_path / "swept").mkdir()
    (tmp_path / "swept/sweep.json").write_text("{}", encoding="utf-8")
    answer = headway("measure", tmp_path / "swept", "1")
    assert answer.status == 2
    assert "it holds a sweep: name one of the folders in its points/" in answer.err


def test_a_run_without_samples_says_what_it_lacks(headway: Headway, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert headway("run", "examples/quickstart", "--set", "traffic.0.flows=10", "--out", out).status == 0
    answer = headway("measure", out, "mean(rate('f0'), '1 ms', '2 ms')")
    assert "this run sampled no throughput_bps (it sampled queue_bytes, queue_max_bytes, utilisation)" in answer.err
    assert headway("run", INCAST, "--out", out, "--force").status == 0
    answer = headway("measure", out, "mean(rate('f0'), '1 ms', '2 ms')")
    assert "this run sampled nothing: rates and queues over time need a [sample] table in the scenario" in answer.err


def test_the_page_on_expressions_lists_every_function() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "measures.md").read_text(encoding="utf-8")
    listed = {line.split("(")[0].removeprefix("| `") for line in page.splitlines() if line.startswith("| `")}
    assert listed == {*VOCABULARY.plain, *VOCABULARY.forms}
