"""Why a claim is not reproduced: said wherever its verdict is read, and answered from the record."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headway import catalogue
from headway.claims.why import settings_of, why
from headway.data.claims import Verdict
from headway.sections import FOLDER, sections
from support import Answer

Headway = Callable[..., Answer]


def test_every_claim_that_is_not_reproduced_says_why() -> None:
    pages = {path.stem for path in FOLDER.glob("findings-*.md")}
    for claim in catalogue("claims", "amrt/fig"):
        said = why(claim)
        assert bool(said) is (claim.verdict != Verdict.REPRODUCED), claim.id
        if said:
            page = said.rpartition("headway docs ")[2]
            name, _, anchor = page.partition("#")
            assert name in pages, said
            text = (FOLDER / f"{name}.md").read_text("utf-8")
            assert not anchor or anchor in {one.anchor for one in sections(name, text)}


def test_a_reading_names_only_what_has_a_part_in_the_claim() -> None:
    claim = next(one for one in catalogue("claims", "amrt/fig01") if one.id == "amrt-fig1-homa-f2-line-rate")
    assert claim.reading_values is not None
    named = {choice.id for choice, _ in settings_of(claim)}
    assert "homa-ranks" in named
    assert "rcp-start" not in named, "no RCP is in this figure"
    assert named < set(claim.reading_values)
    assert "it comes out under the reading" in why(claim)
    assert "message-length" in why(claim)


def test_verdicts_of_runs_made_just_now_say_it_too(headway: Headway, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = headway("reproduce", "amrt/fig01", "--out", out, "--seeds", "1")
    assert answer.status == 0, answer.err
    reading = "it comes out under the reading paths sprayed"
    assert reading in answer.out
    assert "had not finished" not in answer.err, "the figure is a window on flows that go on"
    rows = {row["id"]: row for row in json.loads((out / "claims.json").read_text("utf-8"))}
    assert reading in rows["amrt-fig1-homa-f2-line-rate"]["why"]
    assert "why" not in rows["amrt-fig1-phost-start"]
    page = (out / "report.html").read_text("utf-8")
    assert reading in page
    first = page[page.index('id="throughput-time"') : page.index('id="claims"')]
    assert first.count('<svg class="chart"') == 4, "of eleven variants, those that claims are about"
    assert page.index('id="throughput-time-beyond"') > page.index('id="claims"')


def test_explain_answers_from_the_record(headway: Headway, tmp_path: Path) -> None:
    answer = headway("explain", "amrt/fig01")
    assert answer.status == 0, answer.err
    assert "amrt-fig1-homa-f2-line-rate" in answer.out
    assert "What do the priorities of Homa's scheduled packets follow" in answer.out
    assert "headway explain amrt/fig01 --out DIR" in answer.out
    one = json.loads(headway("explain", "amrt-fig1-homa-f3-preempts", "--json").out)
    assert [entry["id"] for entry in one] == ["amrt-fig1-homa-f3-preempts"]
    assert "it comes out under the reading" in one[0]["why"]
    assert "did you mean amrt" in headway("explain", "amrtt").err


@pytest.mark.parametrize("more", [["--whole"], ["--search-only"], ["--record"]])
def test_what_runs_something_needs_a_directory(headway: Headway, more: list[str]) -> None:
    answer = headway("explain", "amrt/fig01", *more)
    assert answer.status == 2
    assert "needs --out DIR" in answer.err


def test_help_says_what_an_installation_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import reload

    from click.testing import CliRunner

    from headway.cli import main

    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    told = CliRunner().invoke(reload(main).cli, ["--help"]).output
    monkeypatch.undo()
    reload(main)
    for name in ("testbed", "kernel"):
        line = next(one for one in told.splitlines() if one.strip().startswith(f"{name} "))
        assert "Not in a wheel" in line
