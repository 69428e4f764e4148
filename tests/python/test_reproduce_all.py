"""`headway reproduce --all`: a paper's figures, and the page above them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import headway as package
from headway import store
from headway.claims.choices import load_choices
from headway.data.claims import CONTRADICTS, JudgedClaim, ListedClaim
from headway.reporting.claims import ClaimRow, claim_rows
from headway.reporting.site_summary import summary_of
from headway.reproducing.papers import in_words
from support import TWO_FLOWS, Answer

Headway = Callable[..., Answer]

CLAIM = """
[[claim]]
id = "{id}"
figure = "Fig. {number}"
place = ["§V"]
metric = "mean completion time"
published = {published}
unit = "s"
qualifier = "about"
scenario = "mine/fig{number}"
transports = ["amrt"]
variant = "amrt"
measure = "summary('fct_mean_s')"
how = "mean over the flows"
"""


@pytest.fixture
def scenarios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A paper with two figures that run the same, and a claim about each."""
    folder = tmp_path / "scenarios/mine"
    folder.mkdir(parents=True)
    for number in (1, 2):
        text = TWO_FLOWS.format(stop="2 ms", size="100 kB")
        text = text.replace("title =", f'paper = "Mine, NSDI 2030, Fig. {number} (§V)"\ntitle =')
        (folder / f"fig{number}.toml").write_text(text, encoding="utf-8")
    claims = CLAIM.format(id="mine-holds", number=1, published=0.00016)
    claims += CLAIM.format(id="mine-fails", number=2, published=3.0)
    (folder / "claims.toml").write_text(claims, encoding="utf-8")
    monkeypatch.setenv("HEADWAY_SCENARIOS", str(tmp_path / "scenarios"))
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "store"))
    return folder


@pytest.mark.long
def test_what_only_the_testbed_runs_is_left_out(scenarios: Path, tmp_path: Path, headway: Headway) -> None:
    (scenarios / "fig3-kernel.toml").write_text((scenarios / "fig2.toml").read_text("utf-8"), "utf-8")
    table = '\n[[testbed]]\nscenario = "mine/fig2"\nruns = "mine/fig3-kernel"\n'
    with (scenarios / "claims.toml").open("a", encoding="utf-8") as ledger:
        ledger.write(table)
    answer = headway("reproduce", "--all", "mine", "--out", tmp_path / "site")
    assert answer.status == 0, answer.err
    said = "mine/fig3-kernel is left out: `headway testbed reproduce mine/fig2` runs it on real packets"
    assert answer.out.startswith(f"{said}\n2 figures, 8 points, ")
    assert not (tmp_path / "site/mine/fig3-kernel").exists()


def test_a_paper_becomes_a_site(scenarios: Path, tmp_path: Path, headway: Headway) -> None:
    out = tmp_path / "site"
    answer = headway("reproduce", "--all", "mine", "--out", out)
    assert answer.status == 0, answer.err
    assert answer.out.startswith("2 figures, 8 points, 8 to run: about ")
    assert "(4 from the store)" in answer.out, "the second figure runs what the first one ran"
    page = (out / "index.html").read_text("utf-8")
    assert not re.search(r"(src|href)=\"https?:", page), "it needs no network"
    for link in re.findall(r'href="(mine/[^"#]+)"', page):
        assert (out / link).is_file(), link
    assert 'href="mine/fig1/report.html"' in page
    assert page.count("<svg") == 3, "a picture of each figure, and one of the paper"
    names = re.findall(r'id="(clip[^"]+)"', page)
    assert len(set(names)) == 2, "a picture's parts are not taken for another's"
    verdicts = {}
    for number in (1, 2):
        (row,) = json.loads((out / f"mine/fig{number}/claims.json").read_text("utf-8"))
        verdicts[row["id"]] = row["verdict"]
        assert f"headway reproduce mine/fig{number} --out out/mine/fig{number}" in page
        assert f"headway explain mine/fig{number} --out out/explain/mine/fig{number}" in page
    assert verdicts["mine-fails"] == "not-reproduced"
    for name in verdicts:
        assert f'id="claim-{name}"' in page
    summary = page.partition('<section id="mine-claims">')[0]
    assert 'href="#claim-mine-fails"' in summary, "the farthest from what is published"
    assert 'href="#claim-mine-holds"' not in summary
    assert "headway reproduce --all mine --out out" in summary
    assert "headway explain mine --out out/explain/mine" in summary
    assert "What holds of Mine, NSDI 2030" in page
    again = headway("reproduce", "--all", "mine", "--out", out)
    assert again.out.startswith("2 figures, 8 points, 8 of them finished, 0 to run\n")
    elsewhere = headway("reproduce", "--all", "mine", "--out", tmp_path / "other")
    assert elsewhere.out.startswith("2 figures, 8 points, 8 in the store, 0 to run\n")


@pytest.mark.long
def test_a_function_makes_the_same_site(scenarios: Path, tmp_path: Path, headway: Headway) -> None:
    done = package.reproduce_all("mine", tmp_path / "site")
    assert [figure.directory for figure in done] == [tmp_path / "site/mine/fig1", tmp_path / "site/mine/fig2"]
    assert json.loads(done.to_json()) == [claim for figure in done for claim in figure.document()]
    assert {claim.id: claim.verdict for claim in done.claims}["mine-fails"] == "not-reproduced"
    assert headway("reproduce", "--all", "mine", "--out", tmp_path / "other").status == 0
    assert done.page.read_text("utf-8") == (tmp_path / "other/index.html").read_text("utf-8")
    with pytest.raises(package.NameNotFound, match="no paper is called 'yours'"):
        package.reproduce_all("yours", tmp_path / "none")


@pytest.mark.long
def test_an_override_has_an_effect_in_some_figure(scenarios: Path, tmp_path: Path, headway: Headway) -> None:
    arguments = (
        "reproduce",
        "--all",
        "mine",
        "--out",
        tmp_path / "site",
        "--set",
        "fabric.buffer=64 packets",
        "--force",
    )
    for number in (1, 2):
        figure = scenarios / f"fig{number}.toml"
        answer = headway(*arguments)
        assert answer.status == 0, answer.err
        text = figure.read_text("utf-8")
        for variant in ("amrt", "phost"):
            text = text.replace(f"[variants.{variant}]\n", f'[variants.{variant}]\n"fabric.buffer" = "99 packets"\n')
        figure.write_text(text, "utf-8")
    answer = headway(*arguments)
    assert answer.status == 2
    assert "`fabric.buffer` has no effect" in answer.err
    assert "so it is in every figure; this is of mine/fig1" in answer.err


CHOICE = """
[[choice]]
id = "first-window"
question = "How much does a first window hold?"
values = [1, 2]
default = 1
evidence = "silent"
natural = "plausible"
[[choice.set]]
overrides = { "fabric.buffer" = "64 packets" }
"""


def row(name: str, measured: float, verdict: str = "not-reproduced", **known: object) -> ClaimRow:
    """A claim as it was judged now, and what is `known` of it on record."""
    judged = JudgedClaim.read({"id": name, "published": 10.0, "measured": measured, "verdict": verdict})
    facts: dict[str, Any] = dict.fromkeys(one.name for one in fields(ListedClaim))
    on_record = ListedClaim(**{**facts, "reading_word": "", "reading": "", **known})
    (made,) = claim_rows([judged], {name: on_record})
    return made


def cannot(name: str, measured: float, reason: str) -> ClaimRow:
    """A claim that does not come out, and of which the record says why."""
    judged = JudgedClaim.read({"id": name, "published": 10.0, "measured": measured, "verdict": "not-reproduced"})
    facts: dict[str, Any] = dict.fromkeys(one.name for one in fields(ListedClaim))
    on_record = ListedClaim(**{**facts, "reading_word": "", "reading": ""}).because(CONTRADICTS, reason)
    (made,) = claim_rows([judged], {name: on_record})
    assert (made.verdict, made.judged, made.reason) == (CONTRADICTS, "not-reproduced", reason)
    return made


def test_a_paper_on_one_screen(tmp_path: Path) -> None:
    ledger = tmp_path / "claims.toml"
    ledger.write_text(CHOICE, encoding="utf-8")
    rows = [
        row("near", 10.1, verdict="reproduced"),
        row("half", 5.0, reading_verdict="reproduced", reading_word="reachable under"),
        row("tenth", 1.0, reading_verdict="not-reproduced"),
        row("negative", -1.0),
        row("triple", 30.0, verdict="direction-only"),
        cannot("torn", 99.0, "beside other: no two of one"),
    ]
    values = [{"first-window": 2}] * 5 + [{"first-window": 3}]
    found = summary_of(rows, values, in_words(load_choices(ledger)))
    assert [one.row.id for one in found.deviations] == ["negative", "tenth", "triple", "half"]
    assert [one.text for one in found.deviations][:2] == ["of the other sign", "0.10 × published"]
    assert [one.id for one in found.cannot] == [one.id for one in found.shown] == ["torn"]
    (chosen,) = found.chosen
    assert (chosen.id, chosen.value, chosen.stated) == ("first-window", "2", "1")
    assert found.otherwise == 1
    stated, under = (dict(tally.counts) for tally in found.tallies)
    assert stated == {"reproduced": 1, "direction-only": 1, "not-reproduced": 4, "pending": 0}
    assert under == {"reproduced": 2, "direction-only": 1, "not-reproduced": 3, "pending": 0}
    assert [tally.name for tally in summary_of(rows, [{}], in_words(load_choices(ledger))).tallies] == ["as stated"]


def test_what_cannot_be_asked_for(scenarios: Path, tmp_path: Path, headway: Headway) -> None:
    out = tmp_path / "site"
    for arguments, message in [
        (["--all", "mime"], "no paper is called 'mime'\n  help: did you mean mine"),
        (["--all", "mine", "--json"], "with --all they are in its claims.json"),
        ([], "say which figure, such as amrt/fig01, or --all"),
    ]:
        answer = headway("reproduce", *arguments, "--out", out)
        assert (answer.status, message in answer.err) == (2, True), answer.err
    assert not out.exists()


def test_smoke_scale_names_the_claims_that_it_cannot_judge(scenarios: Path, tmp_path: Path, headway: Headway) -> None:
    # A second buffer that small runs leave out, and a claim about it.
    text = (scenarios / "fig1.toml").read_text("utf-8")
    key = "fabric.buffer"
    small = f'[scale.smoke]\nsweep = {{ "{key}" = ["128 packets"] }}\n'
    (scenarios / "fig1.toml").write_text(f'{text}"{key}" = ["128 packets", "64 packets"]\n\n{small}', "utf-8")
    ledger = scenarios / "claims.toml"
    claims = ledger.read_text("utf-8")
    at = f"measure = \"at(summary('fct_mean_s'), {{'{key}': 'SIZE'}})\""
    plain = "measure = \"summary('fct_mean_s')\""
    first, second = claims.split("[[claim]]")[1:]
    here = first.replace(plain, at.replace("SIZE", "128 packets"))
    beyond = first.replace("mine-holds", "mine-beyond").replace(plain, at.replace("SIZE", "64 packets"))
    ledger.write_text("".join(f"[[claim]]{claim}" for claim in (here, beyond, second)), "utf-8")
    answer = headway("reproduce", "mine/fig1", "--scale", "smoke", "--out", tmp_path / "small")
    assert "smoke scale cannot judge 1 of 2, for the reasons in their verdicts: mine-beyond\n" in answer.out
    whole = headway("reproduce", "mine/fig1", "--out", tmp_path / "whole")
    assert "cannot judge" not in whole.out
