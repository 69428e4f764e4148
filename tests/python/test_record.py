"""Verdicts on record: the contents of `headway reproduce --record`, and the changes that make them outdated."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.cli.main import status_of
from support import TWO_FLOWS, Answer

Headway = Callable[..., Answer]

CLAIM = """
[define]
f0_ends = "flow('f0', 'finish_s')"

[[claim]]
id = "two-share"
figure = "fig0"
place = ["§1"]
metric = "fct"
published = 0
unit = "s"
qualifier = "over"
scenario = "mine/two-flows"
transports = ["amrt"]
variant = "amrt"
how = "when f0 ends"
measure = "f0_ends"
"""


@pytest.fixture
def home(scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of scenarios with a ledger of one claim."""
    folder = tmp_path / "scenarios" / "mine"
    folder.mkdir(parents=True)
    (folder / "two-flows.toml").write_text(scenario_file.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "claims.toml").write_text(CLAIM, encoding="utf-8")
    monkeypatch.setenv("HEADWAY_SCENARIOS", str(tmp_path / "scenarios"))
    return folder


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The record of these scenarios, which does not say where they are."""
    folder = tmp_path_factory.mktemp("recorded")
    home = folder / "scenarios" / "mine"
    home.mkdir(parents=True)
    (home / "two-flows.toml").write_text(TWO_FLOWS.format(stop="2 ms", size="100 kB"), encoding="utf-8")
    (home / "claims.toml").write_text(CLAIM, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_SCENARIOS", str(folder / "scenarios"))
        assert status_of(["reproduce", "mine/two-flows", "--record", "--out", str(folder / "out")]) == 0
    return (home / "verdicts.json").read_text(encoding="utf-8")


def listed(headway: Headway) -> dict[str, object]:
    """The listed row of the claim."""
    rows = json.loads(headway("list", "claims", "mine", "--json").out)
    row: dict[str, object] = next(row for row in rows if row["id"] == "two-share")
    return row


def recorded_then_changed(
    headway: Headway, home: Path, verdicts: str, name: str, old: str, new: str
) -> dict[str, object]:
    """The listed row of the claim once its verdict is on record and a file has another text in it."""
    (home / "verdicts.json").write_text(verdicts, encoding="utf-8")
    path = home / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    return listed(headway)


def test_a_recorded_verdict_is_listed_with_its_command(headway: Headway, home: Path, tmp_path: Path) -> None:
    before = listed(headway)
    assert (before["verdict"], before["measured"]) == ("pending", None)
    assert before["command"] == "headway reproduce mine/two-flows --scale paper --seeds 5 --out out/mine/two-flows"

    answer = headway("reproduce", "mine/two-flows", "--record", "--seeds", "3", "--out", str(tmp_path / "out"))
    assert (answer.status, str(home / "verdicts.json") in answer.out) == (0, True)
    claims = json.loads((tmp_path / "out" / "claims.json").read_text(encoding="utf-8"))
    after = listed(headway)
    assert (after["verdict"], after["measured"], after["ci95"]) == (
        "reproduced",
        claims[0]["measured"],
        claims[0]["ci95"],
    )
    assert after["command"] == "headway reproduce mine/two-flows --seeds 3 --out out/mine/two-flows"
    assert "reproduced  two-share" in headway("list", "claims", "mine").out


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("two-flows.toml", '"10 Gbps"', '"20 Gbps"'),
        ("claims.toml", 'qualifier = "over"', 'qualifier = "below"'),
        ("claims.toml", "flow('f0'", "flow('f1'"),
        ("two-flows.toml", '"transport.name" = "amrt"', '"transport.name" = "amrt"\n"transport.rtx" = 2'),
    ],
)
def test_a_changed_claim_or_scenario_outdates_its_verdict(
    headway: Headway, home: Path, verdicts: str, name: str, old: str, new: str
) -> None:
    row = recorded_then_changed(headway, home, verdicts, name, old, new)
    reason = "the claim or its scenario has changed since; it was reproduced before"
    assert (row["verdict"], row["reason"]) == ("outdated", reason)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("two-flows.toml", "Two flows", "Three flows"),
        ("two-flows.toml", '[variants.phost]\n"transport.name" = "phost"', '[variants.mine]\n"transport.name" = "ndp"'),
        ("two-flows.toml", "[sweep]", '[scale.smoke]\nstop = "1 ms"\n\n[sweep]'),
        ("two-flows.toml", "[sweep]", '[report]\nfigure = "cdf"\n\n[sweep]'),
    ],
)
def test_what_changes_nothing_about_the_runs_behind_a_claim_leaves_its_verdict(
    headway: Headway, home: Path, verdicts: str, name: str, old: str, new: str
) -> None:
    assert recorded_then_changed(headway, home, verdicts, name, old, new)["verdict"] == "reproduced"


def test_a_copy_of_a_figure_is_told_where_its_claims_are(headway: Headway, home: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copies"
    shutil.copytree(home, copy)
    answer = headway("reproduce", str(copy / "two-flows.toml"), "--out", str(tmp_path / "out"))
    assert "no claim of the paper is measured on this scenario" in answer.out
    assert f"{copy / 'claims.toml'} speaks of mine/two-flows" in answer.out


def test_verdicts_on_other_claims_stay(headway: Headway, home: Path, tmp_path: Path) -> None:
    path = home / "verdicts.json"
    path.write_text(json.dumps({"another": {"verdict": "reproduced"}}), encoding="utf-8")
    headway("reproduce", "mine/two-flows", "--record", "--out", str(tmp_path / "out"))
    assert sorted(json.loads(path.read_text(encoding="utf-8"))) == ["another", "two-share"]


def test_a_scenario_changed_on_the_command_line_is_not_recorded(headway: Headway, home: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    answer = headway("reproduce", "mine/two-flows", "--record", "--set", "seed=2", "--out", out)
    assert answer.status == 2
    assert "without --set" in answer.err
    assert not (home / "verdicts.json").exists()


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_damaged_record_is_named(headway: Headway, home: Path, text: str) -> None:
    (home / "verdicts.json").write_text(text, encoding="utf-8")
    answer = headway("list", "claims", "mine")
    assert answer.status == 2
    assert "verdicts.json" in answer.err
    assert "--record" in answer.err
