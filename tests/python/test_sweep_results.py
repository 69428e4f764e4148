"""Sweeps read again: their runs, and their numbers as one table."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import headway
from headway.data.point import Point, by_place
from headway.errors import ResultsError
from headway.names import resolve
from headway.sweeps import plan, run_sweep


@pytest.fixture
def swept(scenario_file: Path, tmp_path: Path) -> Path:
    out = tmp_path / "out"
    run_sweep(plan(resolve(str(scenario_file)), out))
    return out


def test_every_run_is_a_row_with_its_place_in_the_sweep(swept: Path) -> None:
    sweep = headway.read_sweep(swept)
    listed = json.loads((swept / "sweep.json").read_text(encoding="utf-8"))
    assert [(one.variant, dict(one.axes), one.seed) for one in sweep] == [
        (entry["variant"], entry["axes"], entry["seed"]) for entry in listed
    ]
    table = sweep.summary.to_polars()
    assert table.height == len(sweep) == len(listed)
    assert table.columns[0] == "variant"
    assert {"seed", "fct_mean_s", "queue_max_packets", *listed[0]["axes"]} <= set(table.columns)
    for one, mean in zip(sweep, table["fct_mean_s"], strict=True):
        assert mean == one.run.summary["fct_mean_s"]
        assert one.run.flows.to_polars().height == one.run.summary["flows_done"]


def test_runs_that_are_not_there_are_counted(swept: Path) -> None:
    first = next(iter(headway.read_sweep(swept))).run.directory
    assert first is not None
    shutil.rmtree(first)
    sweep = headway.read_sweep(swept)
    assert sweep.unfinished == 1
    assert "1 not finished" in repr(sweep)


def test_numbers_that_lie_deeper_have_their_paths(swept: Path) -> None:
    one = next(iter(headway.read_sweep(swept))).run
    assert one.directory is not None
    summary = {**one.summary, "round_trips": {"p99_s": 5e-5, "histogram": [[1e-5, 3]]}, "gauges": {"x": {"max": 7}}}
    (one.directory / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    (one.directory / "SHA256SUMS").unlink()
    table = headway.read_sweep(swept).summary.to_polars()
    assert table["round_trips.p99_s"].to_list()[0] == 5e-5
    assert table["gauges.x.max"].to_list()[:2] == [7.0, None]


def test_quantities_that_are_swept_have_their_numbers_beside_them(swept: Path) -> None:
    listed = json.loads((swept / "sweep.json").read_text(encoding="utf-8"))
    values = ["200 kB", "1 MB", 20, "8 packets"]
    for entry, size in zip(listed, values, strict=True):
        entry["axes"] = {"fabric.buffer": size, "traffic.0.load": 0.5}
        # The point's own record would contradict.
        (swept / entry["dir"] / "point.json").unlink()
    (swept / "sweep.json").write_text(json.dumps(listed), encoding="utf-8")
    table = headway.read_sweep(swept).summary.to_polars()
    assert table["fabric.buffer_bytes"].to_list() == [200e3, 1e6, 20.0, None]
    assert table["fabric.buffer_packets"].to_list() == [None, None, None, 8.0]
    assert table["traffic.0.load"].to_list() == [0.5] * 4
    assert "traffic.0.load_bytes" not in table.columns


def test_what_is_no_sweep_says_what_it_is(swept: Path, tmp_path: Path) -> None:
    run = next(iter(headway.read_sweep(swept))).run.directory
    assert run is not None
    with pytest.raises(ResultsError, match=r"one run: headway\.read reads it"):
        headway.read_sweep(run)
    with pytest.raises(ResultsError, match="no such directory"):
        headway.read_sweep(tmp_path / "nowhere")
    with pytest.raises(ResultsError, match="holds no sweep"):
        headway.read_sweep(tmp_path)
    (swept / "sweep.json").write_text('[{"variant": 1}]', encoding="utf-8")
    with pytest.raises(ResultsError, match="is damaged"):
        headway.read_sweep(swept)


def test_points_of_one_place_differ_in_their_seeds_alone() -> None:
    made = [
        Point(f"{variant},load={load},seed={seed}", variant, {"load": load}, seed)
        for seed in (1, 2)
        for variant in ("dctcp", "homa")
        for load in (0.3, 0.7)
    ]
    found = by_place(made)
    assert [(own[0].variant, own[0].axes["load"]) for own in found] == [
        ("dctcp", 0.3),
        ("dctcp", 0.7),
        ("homa", 0.3),
        ("homa", 0.7),
    ]
    assert all([point.seed for point in own] == [1, 2] for own in found)
