"""Proofs that claims are out of reach: a search alone records them, and a reading leaves them unless they come out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from explaining import Headway, claim, explained
from headway.explaining.result import REACHABLE, UNREACHABLE
from headway.layout import READINGS_FILE
from support import TWO_FLOWS

DELAY = """
[[choice]]
id = "delay"
question = "How long are the links?"
values = ["1 us", "3 us"]
default = "1 us"
evidence = "silent"
natural = "usual"
[[choice.set]]
overrides = { "topology.delay" = "value" }
"""
GAIN = "percent_lower(of('amrt', summary('fct_mean_s')), of('phost', summary('fct_mean_s')))"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A claim of a gain that no transport could show, and one that the longer links bring."""
    folder = tmp_path / "scenarios" / "mine"
    folder.mkdir(parents=True)
    text = TWO_FLOWS.format(stop="2 ms", size="50 kB").replace("seeds = 2", "seeds = 1")
    (folder / "one.toml").write_text(text, encoding="utf-8")
    ledger = claim("beyond", 99, "exact", GAIN, "one", unit="percent lower")
    ledger += claim("delayed", 3, "over", "1e6 * flow('f0', 'ideal_s') - 44", "one")
    (folder / "claims.toml").write_text(ledger + DELAY, encoding="utf-8")
    monkeypatch.setenv("HEADWAY_SCENARIOS", str(tmp_path / "scenarios"))
    monkeypatch.setenv("HEADWAY_STORE", str(tmp_path / "store"))
    return folder


def kept(home: Path) -> dict[str, Any]:
    entries: dict[str, Any] = json.loads((home / READINGS_FILE).read_text(encoding="utf-8"))
    return entries


def write(home: Path, entries: Mapping[str, Any]) -> None:
    (home / READINGS_FILE).write_text(json.dumps(entries), encoding="utf-8")


def searched(headway: Headway, home: Path, out: Path) -> dict[str, Any]:
    explained(headway, out, "mine/one", "--search-only", "--trajectories", "0", "--record")
    return kept(home)


def listed(headway: Headway, name: str) -> dict[str, Any]:
    rows = json.loads(headway("list", "claims", "mine", "--json").out)
    return next(row for row in rows if row["id"] == name)


@pytest.mark.long
def test_a_search_alone_records_its_bounds_and_readings_leave_them(
    headway: Headway, home: Path, tmp_path: Path
) -> None:
    headway("reproduce", "mine/one", "--seeds", "1", "--record", "--out", tmp_path / "stated")
    assert listed(headway, "beyond")["verdict"] == "not-reproduced"
    entries = searched(headway, home, tmp_path / "search")
    assert {name: entry["word"] for name, entry in entries.items()} == {"beyond": UNREACHABLE}
    assert entries["beyond"]["bound"]["gain"] < 99
    assert "verdict" not in entries["beyond"]
    assert listed(headway, "beyond")["verdict"] == UNREACHABLE
    explained(headway, tmp_path / "held", "mine", "--reading", "delay=3 us", "--record")
    after = kept(home)
    assert after["beyond"]["verdict"] == "not-reproduced"
    assert {key: after["beyond"][key] for key in ("word", "text", "bound")} == {
        key: entries["beyond"][key] for key in ("word", "text", "bound")
    }
    assert after["delayed"]["word"] == REACHABLE
    assert listed(headway, "beyond")["verdict"] == UNREACHABLE
    # And a search alone does not change the results of a reading.
    assert searched(headway, home, tmp_path / "again") == after


@pytest.mark.long
def test_a_search_that_reaches_a_claim_takes_its_proof_back(headway: Headway, home: Path, tmp_path: Path) -> None:
    explained(headway, tmp_path / "held", "mine", "--reading", "delay=3 us", "--record")
    before = kept(home)
    assert before["delayed"]["word"] == REACHABLE
    # A proof that the search then finds to be none.
    wrong = {"word": UNREACHABLE, "text": "out of reach", "bound": {"gain": 1.0, "wanted": 2.0, "reachable": False}}
    write(home, before | {"delayed": before["delayed"] | wrong})
    assert listed(headway, "delayed")["reading_word"] == UNREACHABLE
    assert searched(headway, home, tmp_path / "search")["delayed"] == before["delayed"]


@pytest.mark.long
def test_an_outdated_entry_gives_a_bound_nothing(headway: Headway, home: Path, tmp_path: Path) -> None:
    explained(headway, tmp_path / "held", "mine", "--reading", "delay=3 us", "--record")
    ledger = home / "claims.toml"
    ledger.write_text(ledger.read_text(encoding="utf-8").replace("published = 99", "published = 98"), encoding="utf-8")
    assert listed(headway, "beyond")["reading"] == "outdated"
    entry = searched(headway, home, tmp_path / "search")["beyond"]
    assert entry["word"] == UNREACHABLE
    assert "verdict" not in entry, "what was measured before the claim changed is not taken over"
    assert entry["values"] == {}


@pytest.mark.long
def test_no_proof_stands_against_whole_figures(
    headway: Headway, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headway.explaining import record as on_record

    searched(headway, home, tmp_path / "search")
    # The whole figures bring the claim, whatever short runs had said of it.
    monkeypatch.setattr(on_record, "_comes_out", lambda entry: True)
    explained(headway, tmp_path / "held", "mine", "--reading", "delay=3 us", "--record")
    assert kept(home)["beyond"]["word"] == "not under"
    assert "bound" not in kept(home)["beyond"]


ELSEWHERE = """
[[choice]]
id = "wide"
question = "How large are the buffers of the second figure?"
values = ["128 packets", "64 packets"]
default = "128 packets"
evidence = "silent"
natural = "usual"
scope = ["mine/two"]
[[choice.set]]
overrides = { "fabric.buffer" = "value" }
"""


@pytest.mark.long
def test_a_reading_takes_over_what_it_does_not_change_and_nothing_else(
    headway: Headway, home: Path, tmp_path: Path
) -> None:
    (home / "two.toml").write_text((home / "one.toml").read_text(encoding="utf-8"), encoding="utf-8")
    ledger = (home / "claims.toml").read_text(encoding="utf-8")
    second = claim("second", 3, "over", "1e6 * flow('f0', 'ideal_s') - 44", "two")
    (home / "claims.toml").write_text(second + ledger + ELSEWHERE, encoding="utf-8")

    def held(reading: str, *figures: str) -> dict[str, Any]:
        named = [word for figure in figures for word in ("--figures", figure)]
        explained(headway, tmp_path / f"{reading}{len(figures)}", "mine", "--reading", reading, *named, "--record")
        return {name: entry["values"] for name, entry in kept(home).items()}

    first = held("delay=3 us")
    assert len(first) == 3 and all(values == {"delay": "3 us"} for values in first.values())
    measured = kept(home)["delayed"]["measured"]
    both = held("delay=3 us,wide=64 packets", "mine/two")
    assert both["second"] == both["delayed"] == {"delay": "3 us", "wide": "64 packets"}
    assert kept(home)["delayed"]["measured"] == measured
    assert listed(headway, "delayed")["reading_word"] != "outdated"
    changed = held("wide=64 packets", "mine/two")
    assert changed["second"] == {"wide": "64 packets"}
    assert changed["delayed"] == {"delay": "3 us", "wide": "64 packets"}, "its runs have other delays"
