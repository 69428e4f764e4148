"""What is said before a sweep runs: how many points, how long here, and how much disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.names import resolve
from headway.scenario import Scenario
from headway.sweeps import plan, run_sweep
from headway.sweeps.forecast import NOTHING, forecast
from headway.sweeps.pace import GUESS, PACE_FILE, Pace, known, pace
from support import Answer


@pytest.fixture
def empty_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "store"
    monkeypatch.setenv("HEADWAY_STORE", str(root))
    return root


def write_pace(root: Path, **entries: Pace) -> None:
    root.mkdir(parents=True, exist_ok=True)
    paces = {key.replace("_any", "*").replace("_", " "): one.json() for key, one in entries.items()}
    (root / PACE_FILE).write_text(json.dumps(paces), encoding="utf-8")


def test_a_forecast_is_hops_times_their_pace_and_what_comes_on_top(
    empty_store: Path, scenario_file: Path, tmp_path: Path
) -> None:
    planned = plan(resolve(str(scenario_file)), tmp_path / "out", sets=["sweep.seeds=4"])
    hops = Scenario.load(scenario_file).native.expected_hops()
    assert hops > 0
    write_pace(empty_store, _any_amrt=Pace(hop_s=1.0, extra_s=5.0, bytes=1000.0))
    ahead = forecast(planned.points, planned.file.name, 1)
    assert ahead.seconds == pytest.approx(len(planned.points) * (hops + 5.0))
    assert ahead.bytes == pytest.approx(len(planned.points) * 1000.0)
    assert ahead.measured
    assert forecast(planned.points, planned.file.name, 2).seconds == pytest.approx(ahead.seconds / 2)


def test_what_was_never_measured_is_called_a_guess(empty_store: Path, scenario_file: Path, tmp_path: Path) -> None:
    planned = plan(resolve(str(scenario_file)), tmp_path / "out", sets=["sweep.seeds=2"])
    ahead = forecast(planned.points, planned.file.name, 1)
    assert not ahead.measured
    assert "a guess" in ahead.text()
    hops = Scenario.load(scenario_file).native.expected_hops()
    assert ahead.seconds == pytest.approx(len(planned.points) * (hops * GUESS.hop_s + GUESS.extra_s))


def test_runs_are_remembered_and_not_counted_twice(empty_store: Path, scenario_file: Path, tmp_path: Path) -> None:
    planned = plan(resolve(str(scenario_file)), tmp_path / "out", sets=["sweep.seeds=2"])
    run_sweep(planned, jobs=1)
    transport = Scenario.load(scenario_file).resolved["transport"]["name"]
    found = pace(known(), planned.file.name, transport)
    assert found is not None
    assert found.hop_s > 0
    assert found.bytes > 0
    again = forecast(planned.points, planned.file.name, 1)
    assert (again.finished, again.to_run, again.seconds) == (len(planned.points), 0, 0.0)
    elsewhere = plan(resolve(str(scenario_file)), tmp_path / "other", sets=["sweep.seeds=3"])
    ahead = forecast(elsewhere.points, elsewhere.file.name, 1)
    assert (ahead.stored, ahead.to_run) == (len(planned.points), len(elsewhere.points) - len(planned.points))
    assert ahead.measured


def test_the_own_scenario_comes_before_others_and_averages_follow(empty_store: Path) -> None:
    own, others = Pace(1.0, 1.0, 1.0), Pace(2.0, 2.0, 2.0)
    paces = {"a amrt": own.json(), "* amrt": others.json()}
    assert pace(paces, "a", "amrt") == own
    assert pace(paces, "b", "amrt") == others
    assert pace(paces, "b", "homa") == Pace(1.5, 1.5, 1.5)
    assert pace({"a amrt": {"hop_s": "fast"}}, "a", "amrt") is None
    assert own.with_run(others).hop_s == pytest.approx(1.3)


def test_what_a_tiny_run_takes_is_not_the_pace_of_large_ones() -> None:
    tiny, large = Pace(1e-4, 0.0, 0.0, hops=10), Pace(1e-7, 0.0, 0.0, hops=1e7)
    for order in ([tiny, large], [large, tiny]):
        found = order[0]
        for run in [*order[1:], *order * 5, *[tiny] * 10]:
            found = found.with_run(run)
        assert found.hop_s == pytest.approx(1e-7, rel=0.1)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a amrt": 3}'])
def test_a_damaged_file_of_paces_is_no_error(
    empty_store: Path, scenario_file: Path, tmp_path: Path, headway: Callable[..., Answer], text: str
) -> None:
    empty_store.mkdir()
    (empty_store / PACE_FILE).write_text(text, encoding="utf-8")
    out = str(tmp_path / "out")
    answer = headway("reproduce", str(scenario_file), "--seeds", "2", "--out", out)
    assert answer.status == 0, answer.err
    assert "a guess" in answer.out
    assert "about" in answer.out


def test_several_sweeps_add_up(empty_store: Path, scenario_file: Path, tmp_path: Path) -> None:
    planned = plan(resolve(str(scenario_file)), tmp_path / "out", sets=["sweep.seeds=2"])
    one = forecast(planned.points, planned.file.name, 1)
    both = sum((one, one), NOTHING)
    assert (both.points, both.seconds) == (2 * one.points, 2 * one.seconds)
