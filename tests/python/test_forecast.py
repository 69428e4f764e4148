"""Forecast that is printed before a sweep runs: how many points, how long here, and how much disk."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from headway.cli.sweep import _Display
from headway.loading import Scenario
from headway.names import resolve
from headway.sweeps import contention as contention_module
from headway.sweeps import plan, run_sweep
from headway.sweeps.forecast import NOTHING, _together, forecast
from headway.sweeps.pace import (
    AFTER,
    GUESS,
    GUESS_AFTER_S,
    GUESS_START_S,
    PACE_FILE,
    START,
    Expected,
    Pace,
    Span,
    known,
    learn_after,
    run_expected,
    trial,
)
from support import LIMIT, Answer

Headway = Callable[..., Answer]


@pytest.fixture
def empty_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "store"
    monkeypatch.setenv("HEADWAY_STORE", str(root))
    monkeypatch.setattr("headway.sweeps.forecast.contention", lambda _: 1.0)
    monkeypatch.setattr("headway.sweeps.forecast.cores", lambda: 2)
    return root


def write_pace(root: Path, entries: dict[str, Pace], start_s: float = 0.0) -> None:
    root.mkdir(parents=True, exist_ok=True)
    paces = {key: one.json() for key, one in entries.items()} | {START: {"cpu_s": start_s}}
    (root / PACE_FILE).write_text(json.dumps(paces), encoding="utf-8")


def test_a_forecast_is_the_start_and_hops_times_their_pace_and_what_comes_on_top(
    empty_store: Path, scenario_file: Path, tmp_path: Path
) -> None:
    planned = plan(resolve(str(scenario_file)), tmp_path / "out", sets=["sweep.seeds=4"])
    name, count = planned.file.name, len(planned.points)
    hops = Scenario.load(scenario_file).native.expected_hops()
    assert hops > 0
    own = Pace(hop_s=1.0, extra_s=5.0, bytes=1000.0, hops=hops)
    write_pace(empty_store, {f"{name} {transport}": own for transport in ("amrt", "phost")}, start_s=7.0)
    ahead = forecast(planned.points, name, 1)
    assert ahead.seconds == pytest.approx(7.0 + count * (hops + 5.0))
    assert ahead.span.low == ahead.span.high == ahead.seconds
    assert ahead.bytes == pytest.approx(count * 1000.0)
    assert ahead.measured
    assert "guess" not in ahead.text()
    assert count % 2 == 0
    assert forecast(planned.points, name, 2).seconds == pytest.approx(7.0 + count * (hops + 5.0) / 2)
    assert forecast(planned.points, name, 4).seconds == forecast(planned.points, name, 2).seconds, "two cores"
    judged = forecast(planned.points, name, 1, judged=True).span
    assert judged.likely - ahead.seconds == pytest.approx(count * GUESS_AFTER_S)
    learn_after(name, count * 3.0, count)
    assert forecast(planned.points, name, 1, judged=True).seconds - ahead.seconds == pytest.approx(count * 3.0)


def test_one_long_run_is_not_shared_by_workers() -> None:
    assert _together([1.0, 1.0, 1.0, 9.0], 1.0, 2) == 10.0
    assert _together([9.0, 1.0, 1.0, 1.0], 1.0, 2) == 9.0
    assert _together([1.0, 3.0], 10.0, 2) == 20.0


def test_what_was_never_measured_is_called_a_guess(empty_store: Path, scenario_file: Path, tmp_path: Path) -> None:
    planned = plan(resolve(str(scenario_file)), tmp_path / "out", sets=["sweep.seeds=2"])
    ahead = forecast(planned.points, planned.file.name, 1)
    assert not ahead.measured
    assert "a guess, between " in ahead.text()
    hops = Scenario.load(scenario_file).native.expected_hops()
    assert ahead.seconds == pytest.approx(GUESS_START_S + len(planned.points) * trial().seconds(hops))
    assert ahead.span.low == pytest.approx(ahead.seconds / 3)
    assert ahead.span.high == pytest.approx(ahead.seconds * 3)


def test_a_guess_without_any_run_comes_from_a_trial_on_this_machine() -> None:
    trial.cache_clear()
    found = trial()
    began = time.process_time()
    run = Scenario.load("examples/quickstart", scale="smoke").run(progress=False)
    cpu_s = time.process_time() - began
    hops = Scenario.load("examples/quickstart", scale="smoke").native.expected_hops()
    assert run.manifest["packet_hops"] > 0
    assert found.hop_s != GUESS.hop_s, "it was measured"
    # Within a factor of ten, on any machine and in any build: a constant for all of them was not.
    assert cpu_s / 10 < found.seconds(hops) < cpu_s * 10


def test_a_single_run_is_remembered_for_sweeps_of_its_like(
    empty_store: Path, scenario_file: Path, tmp_path: Path, headway: Headway
) -> None:
    assert headway("run", scenario_file, "--out", tmp_path / "one").status == 0
    scenario = Scenario.load(scenario_file)
    key = f"{scenario.name} {scenario.resolved['transport']['name']}"
    found = Pace.of(known()[key])
    assert found is not None
    assert found.hop_s > 0
    assert found.bytes > 0
    # A run that was not simulated, or was more than a run, is not learned from.
    for options in (["--force"], ["--csv", "--force"], ["--threads", "2", "--force"]):
        assert headway("run", scenario_file, "--out", tmp_path / "one", *options).status == 0
        assert Pace.of(known()[key]) == found


def test_another_scenario_s_pace_is_a_guess_with_its_ends(
    empty_store: Path, scenario_file: Path, tmp_path: Path
) -> None:
    planned = plan(resolve(str(scenario_file)), tmp_path / "out", sets=["sweep.seeds=2"])
    points, name = [point for point in planned.points if point.point.variant == "amrt"], planned.file.name
    hops = Scenario.load(scenario_file).native.expected_hops()
    others = {"x amrt": Pace(1.0, 0.0, 1.0, hops), "y amrt": Pace(100.0, 0.0, 1.0, hops), "y homa": Pace(1e9, 0, 0, 1)}
    write_pace(empty_store, others)
    ahead = forecast(points, name, 1)
    assert ahead.guessed == ahead.points == ahead.to_run
    assert "nothing like it was run here before" in ahead.text()
    count = ahead.points
    assert ahead.seconds == pytest.approx(count * hops * 50.5)
    assert ahead.span.low <= count * hops * 1.0
    assert ahead.span.high >= count * hops * 100.0
    # Its own runs, but a thousand times as small: no measurement of these either.
    write_pace(empty_store, {**others, f"{name} amrt": Pace(2.0, 0.0, 1.0, hops / 1000)})
    ahead = forecast(points, name, 1)
    assert not ahead.measured
    assert ahead.seconds == pytest.approx(count * hops * 2.0)


def test_runs_are_remembered_and_not_counted_twice(empty_store: Path, scenario_file: Path, tmp_path: Path) -> None:
    planned = plan(resolve(str(scenario_file)), tmp_path / "out", sets=["sweep.seeds=2"])
    run_sweep(planned, jobs=1)
    transport = Scenario.load(scenario_file).resolved["transport"]["name"]
    found = Pace.of(known()[f"{planned.file.name} {transport}"])
    assert found is not None
    assert found.hop_s > 0
    assert found.bytes > 0
    again = forecast(planned.points, planned.file.name, 1)
    assert (again.finished, again.to_run, again.seconds) == (len(planned.points), 0, 0.0)
    elsewhere = plan(resolve(str(scenario_file)), tmp_path / "other", sets=["sweep.seeds=3"])
    ahead = forecast(elsewhere.points, elsewhere.file.name, 1)
    assert (ahead.stored, ahead.to_run) == (len(planned.points), len(elsewhere.points) - len(planned.points))
    assert ahead.measured


@pytest.mark.usefixtures("spawned")
def test_the_second_sweep_is_forecast_from_what_the_first_one_took(
    empty_store: Path, scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One point, so that nothing is averaged; the control is the processor time of its processes by the system."""
    first, second = (
        plan(resolve(str(scenario_file)), tmp_path / str(seed), sets=["sweep.seeds=1", f"seed={seed}"])
        for seed in (1, 2)
    )
    first, second = (replace(one, points=one.points[:1]) for one in (first, second))
    before = processor_s()
    run_sweep(first, jobs=1)
    took = processor_s() - before
    ahead = forecast(second.points, second.file.name, 1)
    assert ahead.measured
    assert ahead.to_run == 1
    (run,) = (found for found in map(Pace.of, known().values()) if found)
    start = known()[START]["cpu_s"]
    assert 0 < start < ahead.seconds
    assert ahead.seconds == pytest.approx(start + run.extra_s + run.hop_s * run.hops, rel=0.2)
    assert took / 3 <= start + run.extra_s + run.hop_s * run.hops <= took, "its parts are most of it, and none twice"
    monkeypatch.setattr("headway.sweeps.forecast.contention", lambda _: 4.0)
    assert forecast(second.points, second.file.name, 1).seconds == pytest.approx(4 * ahead.seconds)


def processor_s() -> float:
    """Processor time of the processes that this one started, and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_other_work_is_the_clock_over_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    processor = iter(n * contention_module.SPIN_S / 10 for n in range(1000))
    clock = iter((100.0, 100.0 + 3 * contention_module.SPIN_S, 7.0, 7.0 + 0.9 * contention_module.SPIN_S))
    times = SimpleNamespace(perf_counter=clock.__next__, thread_time=processor.__next__, monotonic=lambda: 50.0)
    monkeypatch.setattr(contention_module, "time", times)
    assert contention_module._measured(1) == pytest.approx(3.0)
    assert contention_module._measured(1) == 1.0, "no less than none"


@pytest.mark.long
def test_other_work_is_seen_and_costs_no_less_than_none() -> None:
    code = "while True: pass"
    others = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(4 * (os.cpu_count() or 1))]
    try:
        time.sleep(0.5)
        assert contention_module._measured(1) > 1.3
    finally:
        for other in others:
            other.kill()
            other.wait()
    found = [contention_module.contention(2) for _ in range(2)]
    assert found[0] == found[1] >= 1.0, "measured once for a while"


def test_processes_that_learn_at_once_lose_nothing(empty_store: Path) -> None:
    code = (
        "import sys; from headway.sweeps import pace\n"
        "for i in range(20): pace.learn_after(f'{sys.argv[1]}-{i}', 1.0, 1)"
    )
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    both = [subprocess.Popen([sys.executable, "-c", code, name], env=env) for name in ("a", "b")]
    try:
        assert [process.wait(timeout=LIMIT) for process in both] == [0, 0]
    finally:
        for process in both:
            process.kill()
    assert sum(key.startswith(AFTER) for key in known()) == 40


def test_what_a_guess_comes_from() -> None:
    own, others = Pace(1.0, 1.0, 1.0, 5.0), Pace(2.0, 2.0, 2.0, 5.0)
    paces = {"a amrt": own.json(), "c amrt": others.json(), "* amrt": Pace(9.0, 9.0, 9.0).json()}
    assert run_expected(paces, "a", "amrt", 5) == Expected(Span(6.0, 6.0, 6.0), 1.0, measured=True)
    for transport in ("amrt", "homa"):
        found = run_expected(paces, "b", transport, 5)
        assert not found.measured
        assert (found.seconds.likely, found.bytes) == (9.0, 1.5)
    assert not run_expected({"a amrt": {"hop_s": "fast"}}, "a", "amrt", 5).measured
    assert own.with_run(others).hop_s == pytest.approx(1.3)
    # The time of a small run per hop is mostly its start, which does not apply to large ones.
    tiny, large = Pace(1e-3, 0.0, 0.0, 100), Pace(1e-7, 0.0, 0.0, 1e7)
    found = run_expected({"a amrt": tiny.json(), "c amrt": large.json()}, "b", "amrt", 1e7)
    assert found.seconds.likely == pytest.approx(1.0)
    # With small ones alone, the ends are farther apart.
    alone = run_expected({"a amrt": tiny.json()}, "b", "amrt", 1e7).seconds
    assert alone.likely / alone.low > 2 * found.seconds.likely / found.seconds.low


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


def test_files_are_expected_by_the_rows_of_their_tables() -> None:
    own = Pace(1.0, 1.0, bytes=2e6, hops=5.0, tables=1e6)
    # Bytes of its own runs, scaled by the tables of this one.
    assert run_expected({"a amrt": own.json()}, "a", "amrt", 5, 3e6).bytes == pytest.approx(6e6)
    assert run_expected({"a amrt": own.json()}, "a", "amrt", 5e6, 3e6).bytes == pytest.approx(6e6)
    # Files of other scenarios say nothing.
    assert run_expected({"b amrt": own.json()}, "a", "amrt", 5, 3e6).bytes == pytest.approx(3e6)
    assert run_expected({}, "a", "amrt", 5, 3e6).bytes == pytest.approx(3e6)
    older = Pace(1.0, 1.0, bytes=2e6, hops=5.0)
    assert run_expected({"a amrt": older.json()}, "a", "amrt", 5, 3e6).bytes == pytest.approx(2e6)
    assert older.with_run(own).tables == pytest.approx(1e6)


@pytest.mark.parametrize(
    "traffic",
    [
        'kind = "permutation"\nbytes = "10 kB"',
        'kind = "allreduce"\nbytes = "640 kB"\nrepeat = 4',
        'kind = "all-to-all"\nbytes = "640 kB"\nrepeat = 3',
    ],
)
def test_the_files_of_a_run_take_about_what_is_expected(tmp_path: Path, traffic: str) -> None:
    text = (
        '[topology]\nkind = "single-switch"\nhosts = 32\nrate = "100 Gbps"\ndelay = "1 us"\n'
        f'[transport]\nname = "homa"\n[[traffic]]\n{traffic}\n'
    )
    path = tmp_path / "x.toml"
    path.write_text(text, encoding="utf-8")
    out = tmp_path / "run"
    Scenario.load(path).run(out)
    taken = sum(file.stat().st_size for file in out.iterdir())
    expected = Scenario.load(path).native.expected_file_bytes()
    assert taken / 2.5 < expected < 2.5 * taken, f"{taken} B taken, {expected} B expected"


def test_a_sweep_whose_points_are_all_there_says_no_time_left() -> None:
    # On a busy machine reading them takes longer than the second after which the time left is told.
    shown: list[tuple[str, float, str]] = []
    bars = SimpleNamespace(overall=lambda *said: shown.append(said))
    display = _Display(cast("Any", bars), "mine", lambda: NOTHING, quiet=True)
    display._began -= 3600
    display.planned(4, 4, [])
    assert shown == [("mine", 1.0, "4/4 points")]
