"""Run directories: reading them, damage to them, and runs as objects."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import polars
import pytest

import headway
import lacking
from headway.data.sentences import one_line
from headway.data.units import duration, quantity, size, wait
from headway.errors import ResultsError
from support import HandMade

FILES = ("manifest.json", "summary.json", "flows.parquet", "links.parquet", "series.parquet")


@pytest.mark.parametrize("name", FILES)
def test_a_truncated_file_is_named(tmp_path: Path, name: str) -> None:
    place = HandMade().write(tmp_path / "run")
    headway.read(place)
    whole = (place / name).read_bytes()
    (place / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ResultsError) as caught:
        headway.read(place)
    assert caught.value.path.name == name


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    place = HandMade().write(tmp_path / "run")
    (place / name).unlink()
    with pytest.raises(ResultsError, match=f"{name}: is missing"):
        headway.read(place)


def test_places_that_hold_no_run(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="no such directory"):
        headway.read(tmp_path / "nowhere")
    (tmp_path / "sweep.json").write_text("[]", encoding="utf-8")
    with pytest.raises(ResultsError, match="this is a sweep"):
        headway.read(tmp_path)


def test_a_run_in_memory_equals_the_run_on_disk(scenario_file: Path, tmp_path: Path) -> None:
    run = headway.Scenario.load(scenario_file).run(tmp_path / "out", csv=True)
    again = headway.read(tmp_path / "out")
    for name in ("flows", "links", "series"):
        assert getattr(run, name).to_polars().equals(getattr(again, name).to_polars())
    assert run.summary == again.summary
    assert run.manifest["order_digest"] == again.manifest["order_digest"]
    assert (tmp_path / "out" / "flows.csv").read_text(encoding="utf-8").count("\n") == 3


def test_tables_go_to_any_arrow_library(scenario_file: Path) -> None:
    flows = headway.Scenario.load(scenario_file).run().flows
    assert polars.DataFrame(flows).equals(flows.to_polars())
    assert len(flows) == 2
    assert {"flow", "name", "src", "dst", "bytes", "fct_s", "ideal_s", "slowdown", "state"} <= set(flows.columns)


@pytest.mark.long
def test_to_pandas_gives_a_frame(scenario_file: Path) -> None:
    lacking.package("pandas", "long")
    flows = headway.Scenario.load(scenario_file).run().flows
    assert list(flows.to_pandas()["name"]) == ["f0", "f1"]


def test_without_pandas_the_message_says_what_to_install(scenario_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    flows = headway.Scenario.load(scenario_file).run().flows
    with pytest.raises(ImportError, match=r"pip install 'headway\[pandas\]'"):
        flows.to_pandas()


def test_notebooks_see_tables_and_a_curve(scenario_file: Path) -> None:
    scenario = headway.Scenario.load(scenario_file)
    run = scenario.run()
    assert "fct_mean_s" in run._repr_html_()
    assert "<svg" in run._repr_html_()
    assert "<table>" in run.flows._repr_html_()
    assert scenario.title in scenario._repr_html_()
    assert "2/2 flows done" in repr(run)


def test_the_same_scenario_runs_the_same_and_a_seed_changes_its_digest(scenario_file: Path) -> None:
    first, second = (headway.Scenario.load(scenario_file).run() for _ in range(2))
    assert first.manifest["order_digest"] == second.manifest["order_digest"]
    digests = {headway.Scenario.load(scenario_file, sets={"seed": seed}).digest for seed in (1, 2, 3)}
    assert len(digests) == 3


def test_a_scenario_gives_each_of_its_points(scenario_file: Path) -> None:
    scenario = headway.Scenario.load(scenario_file, sets={"stop": "20 us"})
    points = {point.label: scenario.at(point) for point in scenario.points()}
    assert len(points) == 4
    assert {label: (one.seed, one.resolved["transport"]["name"]) for label, one in points.items()} == {
        f"{name},seed={seed}": (seed, name) for name in ("amrt", "phost") for seed in (1, 2)
    }
    again = headway.Scenario.load(
        scenario_file, sets=["stop=20 us", *next(p.sets for p in scenario.points() if p.label == "phost,seed=2")]
    )
    assert again.digest == points["phost,seed=2"].digest == scenario.at("phost,seed=2").digest
    with pytest.raises(
        headway.HeadwayError, match="no point is called 'phost,seed=3'\n  help: did you mean phost,seed=1"
    ):
        scenario.at("phost,seed=3")
    assert {one.resolved["stop"] for one in points.values()} == {"20 us"}


def test_progress_can_stop_a_run_and_its_results_are_readable(long_scenario_file: Path, tmp_path: Path) -> None:
    seen = []

    def stop_at_once(state: dict[str, object]) -> bool:
        seen.append(state)
        return False

    run = headway.Scenario.load(long_scenario_file).run(tmp_path / "out", progress=stop_at_once)
    assert run.interrupted
    assert headway.read(tmp_path / "out").interrupted
    assert {"virtual_s", "events", "events_per_s", "fraction"} <= seen[0].keys()


def test_overrides_and_text(scenario_file: Path) -> None:
    changed = headway.Scenario.load(scenario_file, sets={"transport.name": "phost"})
    assert changed.resolved["transport"]["name"] == "phost"
    as_text = headway.Scenario.from_text(scenario_file.read_text(encoding="utf-8"), sets=["transport.name=phost"])
    assert as_text.run().summary["flows_done"] == 2


@pytest.mark.parametrize(
    ("sets", "hint"),
    [
        ("traffic.0.load=0.5", "write sets=['traffic.0.load=0.5']"),
        (b"seed=1", "not the text"),
        ([("seed", 1)], "for pairs write a dict"),
    ],
)
def test_overrides_of_the_wrong_kind_are_told(scenario_file: Path, sets: Any, hint: str) -> None:  # noqa: ANN401
    with pytest.raises(TypeError, match=re.escape(hint)):
        headway.Scenario.load(scenario_file, sets=sets)
    with pytest.raises(TypeError, match=re.escape(hint)):
        headway.Scenario.from_text(scenario_file.read_text(encoding="utf-8"), sets=sets)


def test_a_mistake_in_a_scenario_shows_file_line_caret_and_nearest_name(scenario_file: Path) -> None:
    text = scenario_file.read_text(encoding="utf-8")
    scenario_file.write_text(text.replace("buffer =", "bufer ="), encoding="utf-8")
    with pytest.raises(headway.ScenarioError) as caught:
        headway.Scenario.load(scenario_file)
    message = str(caught.value)
    assert "two-flows.toml" in message
    assert "bufer" in message
    assert "nearest" in message or "did you mean" in message
    assert "buffer" in message.replace("bufer", "")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (2.5, "2.5 s"), (43.9e-6, "43.9 us"), (1.2e-3, "1.2 ms"), (3e-9, "3 ns")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_long_waits_are_counted_as_people_count_them() -> None:
    waits = [0.0, 3.2, 119.0, 121.0, 7300.0, 98440.0, 4e5]
    assert [wait(seconds) for seconds in waits] == ["0 s", "3.2 s", "119 s", "2.0 min", "2.0 h", "27 h", "4.6 days"]


@pytest.mark.parametrize(("value", "text"), [(12, "12"), (3200, "3.2 k"), (4.56e6, "4.56 M"), (1e9, "1 G")])
def test_quantities(value: float, text: str) -> None:
    assert quantity(value) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.00 kB"), (42_900_000, "42.9 MB"), (11_700_000_000, "11.7 GB")],
)
def test_sizes(count: int, text: str) -> None:
    assert size(count) == text


def test_the_line_for_scripts() -> None:
    summary = {"flows_done": 3, "flows_unfinished": 1, "fct_mean_s": 1e-3, "slowdown_mean": 2.0, "drops": 4}
    line = one_line(summary, {"virtual_s": 6e-3, "wall_s": 0.5, "events": 1_000_000})
    assert line == (
        "3/4 flows done, finished at 6 ms, mean FCT 1 ms, mean slowdown 2, drops 4, 1 M events in 500 ms (2 M/s)"
    )
    stopped = one_line({**summary, "ended_by": "stop"}, {"virtual_s": 6e-3})
    assert "3/4 flows done, ended at 6 ms, its `stop`, mean FCT" in stopped
    still = one_line({**summary, "ended_by": "no-progress"}, {"virtual_s": 200.0})
    assert "ended at 200 s: nothing arrived any more" in still
    assert one_line({**summary, "data_drops": 4}) == one_line(summary)
    assert "drops 4 (1 of data)" in one_line({**summary, "data_drops": 1})
