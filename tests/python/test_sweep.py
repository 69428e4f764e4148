"""Sweeps: every point once, even after failures and interruptions."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import shutil
import signal
import threading
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from headway.data.run import read
from headway.errors import ResultsError, ScenarioError
from headway.locks import acquire
from headway.names import resolve
from headway.sweeps import Job, State, SweepOutcome, plan, run_sweep
from headway.sweeps.board import Silent
from headway.sweeps.capacity import worker_count
from headway.sweeps.executors.local import Local
from headway.sweeps.plan import folder_name
from headway.sweeps.sharing import entered
from headway.sweeps.worker import Finished
from support import LIMIT, TWO_FLOWS, Answer


class Recorder(Silent):
    """Remembers the points that were run, those that failed, and the notes."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.broken: list[str] = []
        self.notes: list[str] = []
        self.begun = threading.Event()
        self.waited_for: list[str] = []
        self.at_waiting: Callable[[], None] = lambda: None

    def planned(self, total: int, done: int, notes: list[str]) -> None:
        self.notes += notes

    def progressed(self, label: str, state: dict[str, Any] | None) -> None:
        if state is not None:
            self.begun.set()

    def finished(self, point: Job, result: Finished) -> None:
        self.ran.append(point.label)

    def failed(self, point: Job, error: str) -> None:
        self.broken.append(point.label)

    def waiting(self, points: Sequence[Job]) -> None:
        self.waited_for += [point.label for point in points]
        self.at_waiting()


def sweep(
    file: Path,
    out: Path,
    jobs: int | None = None,
    stop_requested: Callable[[], bool] = lambda: False,
    overwrite: bool = False,
) -> tuple[SweepOutcome, Recorder]:
    recorder = Recorder()
    planned = plan(resolve(str(file)), out)
    outcome = run_sweep(planned, jobs=jobs, observer=recorder, stop_requested=stop_requested, overwrite=overwrite)
    return outcome, recorder


def rows(out: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((out / "sweep.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.usefixtures("spawned")
def test_all_points_run_and_none_twice(scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    outcome, recorder = sweep(scenario_file, out)
    assert len(recorder.ran) == len(set(recorder.ran)) == 4
    assert outcome.count(State.DONE) == 4
    assert {(r["variant"], r["seed"]) for r in rows(out)} == {(v, s) for v in ("amrt", "phost") for s in (1, 2)}
    for row in rows(out):
        assert {"label", "variant", "axes", "seed", "digest", "dir", "state"} <= row.keys()
        assert read(out / row["dir"]).summary["flows_done"] == 2
    outcome, recorder = sweep(scenario_file, out)
    assert recorder.ran == []
    assert outcome.reused == outcome.count(State.DONE) == 4


RUN_FILES = ("manifest.json", "summary.json", "flows.parquet", "links.parquet", "series.parquet", "point.json")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a scenario, and with a sweep of it that is done."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "two-flows.toml").write_text(TWO_FLOWS.format(stop="2 ms", size="100 kB"), encoding="utf-8")
    sweep(folder / "two-flows.toml", folder / "out")
    return folder


@pytest.mark.parametrize("name", [*RUN_FILES, "SHA256SUMS"])
@pytest.mark.parametrize("place", [0.5, *(pytest.param(place, marks=pytest.mark.long) for place in (0.1, 0.9))])
def test_a_point_with_one_flipped_bit_is_run_again(finished: Path, tmp_path: Path, name: str, place: float) -> None:
    scenario_file = finished / "two-flows.toml"
    out = Path(shutil.copytree(finished / "out", tmp_path / "out"))
    victim = rows(out)[2]
    damaged = out / victim["dir"] / name
    content = bytearray(damaged.read_bytes())
    content[int(len(content) * place)] ^= 1
    damaged.write_bytes(content)
    outcome, recorder = sweep(scenario_file, out)
    assert recorder.ran == [victim["label"]]
    assert str(out / victim["dir"]) in recorder.notes[0]
    assert outcome.reused == 3
    read(out / victim["dir"])


def test_checksums_are_those_of_sha256sum(scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sweep(scenario_file, out)
    folder = out / rows(out)[0]["dir"]
    sums = [line.split("  ") for line in (folder / "SHA256SUMS").read_text("utf-8").splitlines()]
    expected = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in RUN_FILES}
    assert {name: digest for digest, name in sums} == expected


def test_points_without_checksums_are_kept_and_told(scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sweep(scenario_file, out)
    (out / rows(out)[0]["dir"] / "SHA256SUMS").unlink()
    _, recorder = sweep(scenario_file, out)
    assert recorder.ran == []
    assert recorder.notes == ["1 finished points have no SHA256SUMS: damage in them would go unnoticed"]


def test_two_sweeps_in_one_directory_share_the_work(scenario_file: Path, tmp_path: Path) -> None:
    """Both see every point done at the end, and no point is run by both."""
    text = scenario_file.read_text(encoding="utf-8")
    scenario_file.write_text(text.replace("seeds = 2", "seeds = 8"), encoding="utf-8")
    out = tmp_path / "out"
    ended: list[tuple[SweepOutcome, Recorder]] = []
    both = [threading.Thread(target=lambda: ended.append(sweep(scenario_file, out, jobs=1))) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join(timeout=LIMIT)
    assert len(ended) == 2
    assert all(outcome.count(State.DONE) == 16 for outcome, _ in ended)
    assert sorted(ended[0][1].ran + ended[1][1].ran) == sorted(row["label"] for row in rows(out))
    assert sum(outcome.elsewhere + outcome.reused for outcome, _ in ended) == 16
    assert {row["state"] for row in rows(out)} == {"done"}
    for row in rows(out):
        read(out / row["dir"])


def test_a_point_that_another_process_leaves_is_taken_over(scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    planned = plan(resolve(str(scenario_file)), out)
    victim = planned.points[1]
    lock = acquire(victim.lock)
    assert lock is not None
    recorder = Recorder()
    recorder.at_waiting = lock.release
    outcome = run_sweep(planned, jobs=2, observer=recorder)
    assert recorder.waited_for == [victim.label]
    assert outcome.count(State.DONE) == 4
    assert recorder.ran[-1] == victim.label


def test_a_directory_in_which_another_sweep_runs_is_refused(scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    other = tmp_path / "other.toml"
    other.write_text(scenario_file.read_text(encoding="utf-8").replace("100 kB", "90 kB"), encoding="utf-8")
    with entered(plan(resolve(str(scenario_file)), out), overwrite=False):
        for overwrite in (False, True):
            with pytest.raises(ResultsError, match=rf"another sweep is running in it, begun by process {os.getpid()} "):
                sweep(other, out, overwrite=overwrite)
    outcome, _ = sweep(other, out)
    assert outcome.count(State.DONE) == 4


@pytest.mark.parametrize("name", ["flows.parquet", "series.parquet", "summary.json"])
def test_a_damaged_point_is_named_and_run_again_alone(scenario_file: Path, tmp_path: Path, name: str) -> None:
    out = tmp_path / "out"
    sweep(scenario_file, out)
    victim = rows(out)[1]
    damaged = out / victim["dir"] / name
    damaged.write_bytes(damaged.read_bytes()[:40])
    outcome, recorder = sweep(scenario_file, out)
    assert recorder.ran == [victim["label"]]
    assert str(damaged) in recorder.notes[0]
    assert outcome.reused == 3
    read(out / victim["dir"])
    assert sorted(p.name for p in (out / "points").iterdir()) == sorted(Path(r["dir"]).name for r in rows(out))


def test_a_changed_scenario_runs_again_if_it_may_and_says_so(scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sweep(scenario_file, out)
    text = scenario_file.read_text(encoding="utf-8")
    scenario_file.write_text(text.replace("100 kB", "120 kB"), encoding="utf-8")
    with pytest.raises(ResultsError, match="4 finished points of two-flows as it was then"):
        sweep(scenario_file, out)
    _, recorder = sweep(scenario_file, out, overwrite=True)
    assert len(recorder.ran) == 4
    assert all("another scenario" in note for note in recorder.notes)


def test_results_of_another_build_are_kept_and_told(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    sweep(scenario_file, out)
    monkeypatch.setattr(import_module("headway.sweeps.plan"), "build", lambda: "another")
    _, recorder = sweep(scenario_file, out)
    assert recorder.ran == []
    assert recorder.notes == [
        f"4 finished points are of another build of this version; to run them again, remove {out / 'points'}"
    ]


def test_an_extended_sweep_runs_only_what_is_new(scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sweep(scenario_file, out)
    text = scenario_file.read_text(encoding="utf-8")
    scenario_file.write_text(text.replace("seeds = 2", "seeds = 3"), encoding="utf-8")
    outcome, recorder = sweep(scenario_file, out)
    assert len(recorder.ran) == 2
    assert outcome.reused == 4


def test_a_point_that_fails_costs_the_others_nothing(scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    planned = plan(resolve(str(scenario_file)), out)
    victim = planned.points[0]
    victim.partial.parent.mkdir(parents=True)
    victim.partial.write_text("a file where a directory must go", encoding="utf-8")
    outcome, recorder = sweep(scenario_file, out)
    assert recorder.broken == [victim.label]
    assert outcome.count(State.DONE) == 3
    failed = [r for r in rows(out) if r["state"] == "failed"]
    assert [r["label"] for r in failed] == [victim.label]
    assert failed[0]["error"]


@pytest.mark.usefixtures("spawned")
def test_a_process_that_dies_loses_only_its_point(long_scenario_file: Path, tmp_path: Path) -> None:
    """The victim is killed twice: with the others, and when it is tried again alone."""
    text = long_scenario_file.read_text(encoding="utf-8")
    short = '[variants.amrt]\n"traffic.0.flows.0.bytes" = 1000\n"traffic.0.flows.1.bytes" = 1000\n'
    long_scenario_file.write_text(
        text.replace("[variants.amrt]\n", short).replace("seeds = 2", "seeds = 1"), encoding="utf-8"
    )
    killed: list[int] = []

    def kill_busy_workers() -> None:
        while len(killed) < 2:
            if recorder.begun.wait(0.1):
                recorder.begun.clear()
                children = [c.pid for c in multiprocessing.active_children() if c.pid and c.pid not in killed]
                if children:
                    os.kill(children[-1], signal.SIGKILL)
                    killed.append(children[-1])

    recorder = Recorder()
    killer = threading.Thread(target=kill_busy_workers, daemon=True)
    killer.start()
    planned = plan(resolve(str(long_scenario_file)), tmp_path / "out")
    outcome = run_sweep(planned, jobs=1, observer=recorder)
    states = {p.point.variant: outcome.states[p.label] for p in planned.points}
    assert states == {"amrt": State.DONE, "phost": State.FAILED}
    assert "died" in outcome.errors[recorder.broken[0]]


@pytest.mark.usefixtures("spawned")
def test_stopping_keeps_what_is_finished_and_leaves_partial_results(long_scenario_file: Path, tmp_path: Path) -> None:
    recorder = Recorder()
    planned = plan(resolve(str(long_scenario_file)), tmp_path / "out")
    outcome = run_sweep(planned, jobs=2, observer=recorder, stop_requested=recorder.begun.is_set)
    assert outcome.interrupted
    assert outcome.count(State.DONE) == 0
    partial = [p.partial for p in outcome.plan.points if p.partial.exists()]
    assert partial
    assert all(read(path).interrupted for path in partial)


def test_what_is_wrong_is_said_before_anything_runs(scenario_file: Path, tmp_path: Path) -> None:
    text = scenario_file.read_text(encoding="utf-8")
    scenario_file.write_text(text.replace('"transport.name" = "phost"', '"transport.nmae" = "phost"'), encoding="utf-8")
    with pytest.raises(ScenarioError):
        sweep(scenario_file, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_runs_would_refuse_is_said_once_before_anything_runs(
    headway: Callable[..., Answer], scenario_file: Path, tmp_path: Path
) -> None:
    """In the words of `headway check`, which shows the line of the file, and not by each of the points concerned."""
    text, out = scenario_file.read_text(encoding="utf-8"), tmp_path / "out"
    named = '[variants.named.sample]\nevery = "1 us"\nflows = ["nobody"]\n'
    scenario_file.write_text(f"{text}\n{named}", encoding="utf-8")
    checked, swept = headway("check", scenario_file), headway("sweep", scenario_file, "--out", out)
    assert (checked.status, swept.status) == (2, 2)
    assert swept.err.splitlines()[0] == checked.err.splitlines()[0]
    assert f"{scenario_file.name}:" in checked.err and 'flows = ["nobody"]' in checked.err
    assert swept.err.count("there is no flow `nobody`") == 1
    assert not out.exists()


def test_results_that_cannot_be_written(scenario_file: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ResultsError, match="cannot be written"):
        sweep(scenario_file, tmp_path / "file" / "out")


def test_workers_fit_the_machine(scenario_file: Path, tmp_path: Path) -> None:
    points = plan(resolve(str(scenario_file)), tmp_path / "out").points
    assert worker_count(3, points) == 3
    assert worker_count(100, points) == len(points)
    assert 1 <= worker_count(None, points) <= len(points)


@pytest.mark.parametrize(
    ("label", "folder"),
    [("amrt-0.5-s1", "amrt-0.5-s1"), ("a/b c", "a_b_c"), ("..", "point"), ("load=0.5,s1", "load=0.5,s1")],
)
def test_labels_become_directory_names(label: str, folder: str) -> None:
    assert folder_name(label) == folder


@pytest.mark.usefixtures("spawned")
def test_processes_stay_for_the_next_sweep_and_end_with_the_last(scenario_file: Path, tmp_path: Path) -> None:
    """A search is a row of short sweeps: to start processes for each of them took most of its time."""
    local = Local()
    seen: list[set[int | None]] = []

    def after(out: str) -> None:
        outcome = run_sweep(plan(resolve(str(scenario_file)), tmp_path / out), jobs=1, executor=local)
        assert outcome.count(State.DONE) == 4
        seen.append({process.pid for process in multiprocessing.active_children()})

    before = {process.pid for process in multiprocessing.active_children()}
    after("alone")
    assert seen.pop() == before, "nobody asked them to stay"
    with local.staying():
        after("first")
        after("second")
        (resting,) = seen[0] - before
        assert seen[1] - before == {resting}
        assert resting is not None
        os.kill(resting, signal.SIGKILL)
        after("third")
        assert seen[2] - before != {resting}, "one that died is replaced"
    assert {process.pid for process in multiprocessing.active_children()} == before
