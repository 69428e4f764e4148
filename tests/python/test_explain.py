"""`headway explain` on a ledger of two flows, whose claims hang on the delay of the links and on nothing else."""

from __future__ import annotations

import json
import os
import signal
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import headway as package
from explaining import Headway, claim, explained
from headway.claims.choices import Reading, load_choices
from headway.claims.ledger import known_claims
from headway.cli.sweep import _Display
from headway.explaining import morris
from headway.explaining import search as searching
from headway.explaining.bench import Stopped
from headway.explaining.bound import bound_of
from headway.explaining.result import HOLDS, NOWHERE, REACHABLE, UNREACHABLE
from headway.layout import AS_STATED, EXPLAIN_FILE, READINGS_FILE, REPORT_FILE
from headway.loading import Scenario
from support import TWO_FLOWS

CHOICES = """
[[choice]]
id = "delay"
question = "How long are the links?"
range = [1.0, 9.0]
unit = "us"
default = 1.0
evidence = { place = "§1", quotation = "short links" }
natural = "usual"
[[choice.set]]
overrides = { "topology.delay" = "value * '1 us'" }

[[choice]]
id = "buffer"
question = "How many packets does a port hold?"
values = ["128 packets", "4000 packets"]
default = "128 packets"
evidence = "silent"
natural = "strained"
[[choice.set]]
overrides = { "fabric.buffer" = "value" }

[[choice]]
id = "hosts"
question = "How many hosts are there?"
values = ["three", "four"]
default = "three"
evidence = "silent"
natural = "plausible"
excludes = [{ choice = "delay" }]
[[choice.set]]
at = "four"
overrides = { "topology.hosts" = 4 }
"""
# Of a transport that no claim but the bounds looks at.
TOKENS = """
[[choice]]
id = "tokens"
question = "How many packets does pHost send unasked?"
values = [7, 9]
default = 7
evidence = "silent"
natural = "usual"
[[choice.set]]
transports = ["phost"]
overrides = { free_tokens = "value" }
"""
# A flow that never ends.
LONG = 'name = "f1", src = 1, dst = 2, bytes = "1 TB"'
FCT_US = "1e6 * flow('f0', 'fct_s')"


def fct_us(folder: Path, delay_us: float) -> float:
    """Value that the claims measure, by a run outside of any search."""
    run = Scenario.load(folder / "one.toml", sets={"topology.delay": f"{delay_us} us"}).run()
    return float(run.flows.to_polars().filter(name="f0")["fct_s"][0]) * 1e6


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two figures of two flows, with claims of each kind, in a directory of scenarios."""
    folder = tmp_path / "scenarios" / "mine"
    folder.mkdir(parents=True)
    for name, size in (("one", "100 kB"), ("two", "50 kB"), ("theory", "50 kB")):
        (folder / f"{name}.toml").write_text(TWO_FLOWS.format(stop="2 ms", size=size), encoding="utf-8")
    endless = TWO_FLOWS.format(stop="2 ms", size="50 kB").replace(
        'name = "f1", src = 1, dst = 2, bytes = "50 kB"', LONG
    )
    (folder / "long.toml").write_text(endless, encoding="utf-8")
    stated, wanted = fct_us(folder, 1.0), fct_us(folder, 7.0)
    text = claim("holds", stated, "about", FCT_US, "one")
    text += claim("tight", stated, "exact", FCT_US, "one")
    text += claim("slower", 1.06 * stated, "over", FCT_US, "one")
    text += claim("within-reach", wanted, "exact", FCT_US, "one")
    text += claim("nowhere", 100 * wanted, "exact", FCT_US, "one")
    gain = "percent_lower(of('amrt', summary('fct_mean_s')), of('phost', summary('fct_mean_s')))"
    text += claim("beyond", 99, "exact", gain, "one", unit="percent lower")
    text += claim("elsewhere", 1, "over", FCT_US, "two")
    text += claim("in-theory", 1, "exact", "fluid('ps', [0], [1])[0]", "theory")
    text += claim("finished", 90, "exact", gain, "long", unit="percent lower")
    (folder / "claims.toml").write_text(text + CHOICES, encoding="utf-8")
    monkeypatch.setenv("HEADWAY_SCENARIOS", str(tmp_path / "scenarios"))
    monkeypatch.setenv("HEADWAY_STORE", str(tmp_path / "store"))
    return folder


def test_each_claim_gets_its_word_and_the_region_is_where_it_turns(
    headway: Headway, home: Path, tmp_path: Path
) -> None:
    with (home / "claims.toml").open("a", encoding="utf-8") as ledger:
        ledger.write(TOKENS)
    found = explained(headway, tmp_path / "out", "mine/one", "--search-only", "--trajectories", "0")
    claims = {entry["id"]: entry for entry in found["claims"]}
    words = {name: entry["status"] for name, entry in claims.items()}
    assert words == {
        "holds": HOLDS,
        "tight": HOLDS,
        "slower": REACHABLE,
        "within-reach": REACHABLE,
        "nowhere": NOWHERE,
        "beyond": UNREACHABLE,
    }
    assert not claims["beyond"]["bound"]["reachable"]
    (region,) = [r for r in claims["within-reach"]["regions"] if r["choice"] == "delay"][:1]
    (low, high) = region["holds"][0]
    assert low <= 7.0 <= high
    # "exact" allows 5 %; runs outside of the search agree within the last step of the bisection.
    wanted, step = fct_us(home, 7.0), 8.0 * searching.PRECISION * 2
    assert abs(fct_us(home, low) / wanted - 1) <= 0.05
    assert abs(fct_us(home, max(1.0, low - step)) / wanted - 1) > 0.05
    assert abs(fct_us(home, high) / wanted - 1) <= 0.05
    assert "buffer" in region["whatever"]
    assert {"tokens": 9} in [one["values"] for one in found["tried"]]
    assert "tokens" not in region["whatever"], "it sets nothing in the runs of the claim"
    assert region["text"].startswith(f"holds for delay of {low:.4g} to {high:.4g} us, all else as stated, whatever")
    page = (tmp_path / "out" / REPORT_FILE).read_text(encoding="utf-8")
    assert f"It {region['text']}." in page


@pytest.mark.long
def test_readings_that_exclude_each_other_are_never_tried(headway: Headway, home: Path, tmp_path: Path) -> None:
    found = explained(headway, tmp_path / "out", "mine/one", "--search-only", "--trajectories", "2")
    tried = [set(one["values"]) for one in found["tried"]]
    assert {"hosts"} in tried
    assert not any({"hosts", "delay"} <= values for values in tried)


def test_a_claim_above_its_bound_ends_the_search(headway: Headway, home: Path, tmp_path: Path) -> None:
    found = explained(headway, tmp_path / "out", "beyond", "--search-only")
    assert [entry["status"] for entry in found["claims"]] == [UNREACHABLE]
    assert "together" not in [step["name"] for step in found["steps"]]
    assert found["best"]["key"] == AS_STATED


@pytest.mark.long
def test_flows_without_an_end_are_in_no_bound_and_models_hold_under_every_reading(
    headway: Headway, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Bounds and models are known after the single values.
    for name in ("MOST_VALUES", "COMBINATIONS", "IN_PAIRS", "ROUNDS", "TAKEN_BACK"):
        monkeypatch.setattr(searching, name, 0)
    found = explained(headway, tmp_path / "out", "mine", "--search-only", "--trajectories", "0")
    claims = {entry["id"]: entry for entry in found["claims"]}
    assert 0 < claims["finished"]["bound"]["gain"] < 90
    assert claims["in-theory"]["status"] == HOLDS
    assert {one["verdicts"]["in-theory"] for one in found["tried"]} == {"r"}


@pytest.mark.long
def test_the_best_reading_is_held_against_all_figures(headway: Headway, home: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = explained(headway, out, "within-reach", "--whole", "--best", "2")
    standing, second = found["paper"]
    assert standing["reading"] == found["best"]
    assert second["under"] <= standing["under"]
    searched = {figure["scenario"]: figure["searched"] for figure in standing["figures"]}
    assert searched == {"mine/long": False, "mine/one": True, "mine/theory": False, "mine/two": False}
    assert {figure["part"] for figure in standing["figures"] if not figure["searched"]} == {"held out"}
    assert standing["brings"] == ["slower", "within-reach"]
    assert standing["breaks"] == ["tight"]
    page = (out / REPORT_FILE).read_text(encoding="utf-8")
    assert "within-reach" in page
    assert "short links" in page


@pytest.mark.long
def test_the_same_command_runs_nothing_twice(headway: Headway, home: Path, tmp_path: Path) -> None:
    first = explained(headway, tmp_path / "out", "within-reach", "--search-only")
    answer = headway("explain", "within-reach", "--out", tmp_path / "out", "--search-only", "--search-seeds", "1")
    second = json.loads((tmp_path / "out" / EXPLAIN_FILE).read_text(encoding="utf-8"))
    assert {**second, "wall_s": 0} == {**first, "wall_s": 0}
    assert " 0 to run" in answer.out
    assert ": about" not in answer.out


@pytest.mark.long
def test_a_search_that_was_stopped_goes_on(
    headway: Headway, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = explained(headway, tmp_path / "whole", "within-reach", "--search-only")
    told = searching.Search._step
    steps: list[str] = []

    def stop(self: searching.Search, name: str, readings: Iterable[Reading]) -> None:
        steps.append(name)
        if len(steps) == 3:
            raise Stopped
        told(self, name, readings)

    monkeypatch.setattr(searching.Search, "_step", stop)
    arguments = ["explain", "within-reach", "--out", tmp_path / "out", "--search-only", "--search-seeds", "1"]
    answer = headway(*arguments)
    assert answer.status == 130
    assert "goes on from here" in answer.err
    monkeypatch.undo()
    monkeypatch.setenv("HEADWAY_SCENARIOS", str(home.parent))
    monkeypatch.setenv("HEADWAY_STORE", "off")
    assert headway(*arguments).status == 0
    found = json.loads((tmp_path / "out" / EXPLAIN_FILE).read_text(encoding="utf-8"))
    assert {**found, "wall_s": 0} == {**whole, "wall_s": 0}


@pytest.mark.long
def test_ctrl_c_where_nothing_is_left_to_run_stops_what_would_come_next(
    headway: Headway, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    explained(headway, tmp_path / "out", "within-reach", "--search-only")
    told = _Display.planned

    def press(self: _Display, total: int, done: int, notes: list[str]) -> None:
        assert total == done
        os.kill(os.getpid(), signal.SIGINT)
        told(self, total, done, notes)

    monkeypatch.setattr(_Display, "planned", press)
    answer = headway("explain", "within-reach", "--out", tmp_path / "out", "--search-only", "--search-seeds", "1")
    assert answer.status == 130
    assert "goes on from here" in answer.err


def test_a_reading_is_recorded_and_outdated_when_its_choice_changes(
    headway: Headway, home: Path, tmp_path: Path
) -> None:
    explained(headway, tmp_path / "out", "mine", "--reading", "delay=7,buffer=4000 packets", "--record")
    kept = json.loads((home / READINGS_FILE).read_text(encoding="utf-8"))
    assert kept["within-reach"]["word"] == REACHABLE
    assert kept["tight"]["word"] == "no longer under"
    assert kept["elsewhere"]["word"] == "also under"
    assert kept["nowhere"]["word"] == "not under"
    rows = {row["id"]: row for row in json.loads(headway("list", "claims", "mine", "--json").out)}
    assert rows["within-reach"]["reading"] == "reachable under delay 7 us, buffer 4000 packets"
    assert rows["within-reach"]["verdict"] == "pending", "a reading is no verdict"
    ledger = home / "claims.toml"
    text = ledger.read_text(encoding="utf-8").replace("How long are the links?", "How long is a link?")
    ledger.write_text(text, encoding="utf-8")
    rows = {row["id"]: row for row in json.loads(headway("list", "claims", "mine", "--json").out)}
    assert rows["within-reach"]["reading_word"] == REACHABLE, "its runs are the same"
    ledger.write_text(text.replace("value * '1 us'", "value * '2 us'"), encoding="utf-8")
    rows = {row["id"]: row for row in json.loads(headway("list", "claims", "mine", "--json").out)}
    assert rows["within-reach"]["reading"] == "outdated"


@pytest.mark.long
def test_of_several_readings_the_one_that_brings_most_is_recorded(headway: Headway, home: Path, tmp_path: Path) -> None:
    readings = ["--reading", "delay=3", "--reading", "delay=4"]
    found = explained(headway, tmp_path / "out", "mine", *readings, "--record")
    assert [one["reading"]["values"] for one in found["paper"]] == [{"delay": 4.0}, {"delay": 3.0}]
    kept = json.loads((home / READINGS_FILE).read_text(encoding="utf-8"))
    assert {entry["values"]["delay"] for entry in kept.values()} == {4.0}
    parts = {figure["part"] for one in found["paper"] for figure in one["figures"]}
    assert parts == {"held"}, "nothing was searched, so nothing was held out"


@pytest.mark.long
def test_what_is_on_record_as_stated_is_not_run_again(headway: Headway, home: Path, tmp_path: Path) -> None:
    for figure in ("one", "two"):
        headway("reproduce", f"mine/{figure}", "--seeds", "2", "--record", "--out", tmp_path / figure)
    answer = headway("explain", "mine", "--reading", "delay=7", "--out", tmp_path / "out", "--seeds", "2")
    assert answer.status == 0, answer.err
    recorded = [path.name for path in (tmp_path / "out" / "record" / "mine" / "one" / "points").iterdir()]
    held = [path.name for path in (tmp_path / "out" / "paper" / "mine" / "one" / "points").iterdir()]
    assert all("seed=1" in name for name in recorded)
    assert all("delay" in name for name in held)
    found = json.loads((tmp_path / "out" / EXPLAIN_FILE).read_text(encoding="utf-8"))
    assert found["paper"][0]["claims"]["holds"]["stated"]["verdict"] == "reproduced"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mien/one"], "mine/one"),
        (["within-raech"], "within-reach"),
        (["mine/one", "--reading", "dealy=5"], "nearest: delay"),
        (["mine/one", "--reading", "delay=70"], "outside 1 to 9"),
        (["mine/one", "--reading", "delay"], "no CHOICE=VALUE"),
        (["mine/one", "--reading", "buffer=some"], "its values: 128 packets, 4000 packets"),
        (["mine/one", "--reading", "delay=7,hosts=four"], "hosts=four excludes delay=7"),
        (["mine/one", "--reading", "delay=7", "--search-only"], "no reading to hold"),
        (["mine/one", "--reading", "delay=7", "--figures", "mine/three"], "no figure 'mine/three'"),
        (["examples/quickstart"], "declares no [[choice]]"),
    ],
)
def test_mistakes_end_with_status_2(
    headway: Headway, home: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    answer = headway("explain", *arguments, "--out", tmp_path / "out")
    assert answer.status == 2
    assert message in answer.err
    assert not (tmp_path / "out" / EXPLAIN_FILE).exists()


def test_without_its_package_the_screening_is_left_out_and_told(
    headway: Headway, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(morris, "installed", lambda: False)
    for name in ("MOST_VALUES", "COMBINATIONS", "IN_PAIRS", "ROUNDS", "TAKEN_BACK"):
        monkeypatch.setattr(searching, name, 0)
    found = explained(headway, tmp_path / "out", "nowhere", "--search-only")
    assert "no Morris screening: SALib is not installed: pip install SALib" in found["notes"]
    assert "trajectories" not in [step["name"] for step in found["steps"]]


def test_only_json_is_printed_where_that_is_asked_for(headway: Headway, home: Path, tmp_path: Path) -> None:
    answer = headway("explain", "holds", "--out", tmp_path / "out", "--search-only", "--search-seeds", "1", "--json")
    assert json.loads(answer.out)["claims"][0]["status"] == HOLDS


def test_the_function_returns_what_the_command_writes(
    headway: Headway, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options: dict[str, Any] = {"seeds": 1, "search_seeds": 1, "trajectories": 0}
    found = package.explain("beyond", tmp_path / "one", search_only=True, **options)
    assert capsys.readouterr() == ("", "")
    written = explained(headway, tmp_path / "two", "beyond", "--search-only", "--trajectories", "0")
    assert {**json.loads(found.to_json()), "wall_s": 0} == {**written, "wall_s": 0}
    assert found.document() == json.loads((tmp_path / "one" / EXPLAIN_FILE).read_text(encoding="utf-8"))
    (claim,) = found.claims
    assert (claim.id, claim.status) == ("beyond", UNREACHABLE)
    assert claim.bound is not None and not claim.bound.reachable
    assert claim.id in found._repr_html_() and claim.text.partition("'")[0] in found._repr_html_()
    held = package.explain("beyond", tmp_path / "three", readings=["hosts=four"], figures=["mine/one"], **options)
    assert held.search is None and held.claims == ()
    (standing,) = held.paper
    assert standing.reading.values == {"hosts": "four"} and [one.scenario for one in standing.figures] == ["mine/one"]
    with pytest.raises(package.HeadwayError, match="no figure 'yours'"):
        package.explain("beyond", tmp_path / "four", figures=["yours"])


@pytest.mark.long
def test_one_whole_trajectory_is_enough_and_nothing_is_warned_of(home: Path) -> None:
    choices = load_choices(home / "claims.toml")
    design = morris.Design((choices["delay"], choices["buffer"]), 2)
    answers: list[float | None] = [1.0, 3.0, 3.0, None, 1.0, 1.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        effects = design.effects(answers)
    assert sorted(mean > 0 for mean, _ in effects.values()) == [False, True]
    assert all(spread == 0 for _, spread in effects.values())
    assert design.effects([None] * 6) == {}


def test_the_choices_of_the_fixture_are_what_they_seem(home: Path) -> None:
    choices = load_choices(home / "claims.toml")
    assert choices["delay"].grid(5) == (1.0, 3.0, 5.0, 7.0, 9.0)


def test_every_claim_on_record_has_a_bound_or_none() -> None:
    claims = known_claims()
    assert len(claims) > 300
    assert [claim.id for claim in claims if bound_of(claim, []) is not None] == []
