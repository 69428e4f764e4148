"""`headway explain` where two choices do together what neither does alone: a flow over two links of one rate."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from explaining import Headway, claim, explained
from headway.claims.choices import Reading
from headway.explaining import ahead
from headway.explaining import search as searching
from headway.explaining.findings import MATTERS
from headway.explaining.result import NOWHERE, REACHABLE
from headway.explaining.targets import find
from headway.layout import EXPLAIN_FILE, REPORT_FILE
from headway.loading import Scenario

TWO_LINKS = """
title = "A flow over two links, the slower of which is its rate"
stop = "2 ms"

[topology]
kind = "dumbbell"
senders = 1
receivers = 1
rate = "10 Gbps"
bottleneck_rate = "10 Gbps"
delay = "1 us"

[transport]
name = "amrt"

[[traffic]]
kind = "flows"
flows = [{ name = "f0", src = 0, dst = 1, bytes = "200 kB", start = "0 s" }]

[variants.amrt]
"transport.name" = "amrt"

[sweep]
seeds = 1
"""
SWITCH = """
[[choice]]
id = "{name}"
question = "{question}"
values = [false, true]
default = false
evidence = "silent"
natural = "plausible"
[[choice.set]]
{whose}
overrides = {{ {what} }}
"""
HOSTS = '"topology.rate" = "20 Gbps"'
CORE = '"topology.bottleneck_rate" = "20 Gbps"'
FCT_US = "1e6 * flow('f0', 'fct_s')"


def fct_us(file: Path, *keys: str) -> float:
    """Value that the claims measure, by a run outside of any search."""
    run = Scenario.load(file, sets={f"topology.{key}": "20 Gbps" for key in keys}).run()
    return float(run.flows.to_polars()["fct_s"][0]) * 1e6


def switch(name: str, what: str, whose: str = "") -> str:
    return SWITCH.format(name=name, question=f"Is {name} on?", what=what, whose=whose)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A claim that only the faster hosts and the faster core bring together, and one that nothing brings."""
    folder = tmp_path / "scenarios" / "mine"
    folder.mkdir(parents=True)
    file = folder / "one.toml"
    file.write_text(TWO_LINKS, encoding="utf-8")
    stated, both = fct_us(file), fct_us(file, "rate", "bottleneck_rate")
    assert all(abs(fct_us(file, key) / stated - 1) < 0.01 for key in ("rate", "bottleneck_rate"))
    assert both < 0.6 * stated
    text = claim("together", both, "exact", FCT_US, "one") + claim("never", 100 * stated, "exact", FCT_US, "one")
    text += switch("buffer", '"fabric.buffer" = "4000 packets"')
    text += switch("hosts", HOSTS) + switch("core", CORE)
    # It is for a transport that no run has.
    text += switch("tokens", "free_tokens = 20", 'transports = ["phost"]')
    (folder / "claims.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("HEADWAY_SCENARIOS", str(tmp_path / "scenarios"))
    monkeypatch.setenv("HEADWAY_STORE", str(tmp_path / "store"))
    return folder


def test_pairs_find_what_no_choice_does_alone(headway: Headway, home: Path, tmp_path: Path) -> None:
    found = explained(headway, tmp_path / "out", "mine/one", "--search-only", "--trajectories", "0")
    claims = {entry["id"]: entry for entry in found["claims"]}
    assert claims["together"]["status"] == REACHABLE
    assert claims["together"]["smallest"]["values"] == {"hosts": True, "core": True}
    assert claims["never"]["status"] == NOWHERE
    assert claims["never"]["text"] == f"none of the {found['readings_tried']} readings that were tried reaches it"
    assert [step["readings"] for step in found["steps"] if step["name"] == "in pairs"] == [3]
    tried = [set(one["values"]) for one in found["tried"]]
    assert {"buffer", "core"} in tried
    assert not any("tokens" in values and len(values) == 2 for values in tried), "no claim has a run of phost"
    assert found["notes"] == []


@pytest.mark.long
def test_a_costly_choice_is_tried_alone_and_around_the_best_reading_only(
    headway: Headway, home: Path, tmp_path: Path
) -> None:
    ledger = home / "claims.toml"
    written = ledger.read_text(encoding="utf-8")
    ledger.write_text(written.replace('id = "core"', 'id = "core"\ncostly = true'), encoding="utf-8")
    found = explained(headway, tmp_path / "out", "mine/one", "--search-only")
    tried = [set(one["values"]) for one in found["tried"]]
    assert {"core"} in tried
    assert not any("core" in values and len(values) > 1 for values in tried), "as stated is the best reading"
    assert {entry["id"]: entry["status"] for entry in found["claims"]}["together"] == NOWHERE
    assert any(note.startswith("costly: core;") for note in found["notes"])


@pytest.mark.long
def test_trajectories_show_what_no_choice_does_alone_and_its_combination_is_tried(
    headway: Headway, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "IN_PAIRS", 0)
    out = tmp_path / "out"
    found = explained(headway, out, "mine/one", "--search-only", "--trajectories", "4")
    claims = {entry["id"]: entry for entry in found["claims"]}
    assert {"hosts", "core"} <= set(found["factors"])
    assert "buffer" not in found["factors"]
    effects = claims["together"]["effects"]
    assert all(effects[name]["alone"] < MATTERS < effects[name]["spread"] for name in ("hosts", "core"))
    assert claims["together"]["smallest"]["values"] == {"hosts": True, "core": True}
    page = (out / REPORT_FILE).read_text(encoding="utf-8")
    assert "Elementary effects" in page
    assert "Of the searched claims the best reading brings 1: together" in page
    assert "It breaks none of them" in page


@pytest.mark.long
def test_more_than_is_said_beforehand_is_never_run(headway: Headway, home: Path, tmp_path: Path) -> None:
    answer = headway(
        "explain", "mine/one", "--whole", "--out", tmp_path, "--seeds", "1", "--search-seeds", "1", "--best", "1"
    )
    assert answer.status == 0, answer.err
    before, _, after = answer.out.partition("  as stated\n")
    assert " here and " in after, "runs are announced after what is said of all of them"
    points = [int(found) for found in re.findall(r"(\d+) points", before)]
    short, whole, in_all = points
    assert short + whole == in_all
    found = json.loads((tmp_path / EXPLAIN_FILE).read_text(encoding="utf-8"))
    assert 0 < found["points"] <= in_all
    assert sum(step["points"] for step in found["steps"]) <= short
    target = find("mine/one")
    most = ahead.most_readings(target.choices, len(found["claims"]), searching.TRAJECTORIES)
    tried = Counter[str]()
    for step in found["steps"]:
        tried[step["name"]] += step["readings"]
    assert set(tried) <= set(most)
    assert all(count <= most[name] for name, count in tried.items())
    assert ahead.in_all(target.choices, most) == 2**4, "there are no more readings than that"


@pytest.mark.long
def test_a_limit_on_pairs_is_told(
    headway: Headway, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching, "IN_PAIRS", 1)
    found = explained(headway, tmp_path / "out", "never", "--search-only", "--trajectories", "0")
    assert [step["readings"] for step in found["steps"] if step["name"] == "in pairs"] == [1]
    assert found["notes"] == [
        "in pairs: 1 readings of two changes were tried for claims that no other had brought; 2 more were not"
    ]


def lucky(search: searching.Search) -> None:
    """A search that has only met a reading with a change too many."""
    every = search.bench.choices.reading({"buffer": True, "hosts": True, "core": True})
    search._step("as stated", [Reading()])
    search._step("by luck", [every])
    search._take_back()


@pytest.mark.long
def test_the_smallest_reading_is_stripped_of_what_it_can_spare(
    headway: Headway, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching.Search, "run", lucky)
    found = explained(headway, tmp_path / "out", "together", "--search-only")
    (entry,) = found["claims"]
    assert entry["smallest"]["values"] == {"hosts": True, "core": True}
    # Three readings of two changes, and then the smallest of them without either.
    assert [step["readings"] for step in found["steps"] if step["name"] == "taken back"] == [3, 2]
    assert found["notes"] == []


@pytest.mark.long
def test_a_limit_on_what_is_taken_back_is_told(
    headway: Headway, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(searching.Search, "run", lucky)
    monkeypatch.setattr(searching, "TAKEN_BACK", 0)
    found = explained(headway, tmp_path / "out", "together", "--search-only")
    (entry,) = found["claims"]
    assert len(entry["smallest"]["values"]) == 3
    assert found["notes"] == [
        "taken back: 0 readings were tried for what the smallest sets of changes can spare; 3 more were not"
    ]
