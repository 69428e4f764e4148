"""Sweeps elsewhere: each point is recorded once, even if workers die, and all is as in a local run."""

from __future__ import annotations

import json
import math
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import headway
import lacking
from clusters import Dask, Recordings, dask, differences, namespaces, need_slurm, slurm, tiny_scenario, until
from explaining import claim
from headway.errors import HeadwayError
from headway.layout import TASKS
from headway.locks import acquire
from headway.names import resolve
from headway.reporting import build_page
from headway.sweeps import Job, Shard, State, executors, plan, run_sweep
from headway.sweeps.board import Board, Silent
from headway.sweeps.capacity import divided
from headway.sweeps.dispatch import DEATHS, EMPTY_HANDED
from headway.sweeps.executor import Executor, ExecutorKind
from headway.sweeps.executors import named
from headway.sweeps.executors.futures import Futures
from headway.sweeps.executors.slurm import ArrayLane, Slurm, memory_mb, script
from headway.sweeps.mail import Inbox, Outbox, outbox
from headway.sweeps.packing import Limits, Packer
from headway.sweeps.task import Task, run_task
from support import LIMIT, Answer

HEADWAY = [sys.executable, "-m", "headway"]


def test_every_kind_of_executor_is_a_file_and_a_line() -> None:
    files = {path.stem for path in Path(executors.__file__).parent.glob("*.py")} - {"__init__"}
    assert files == set(executors.KINDS) and len(files) == len(executors.KINDS)
    for name, kind in executors.kinds().items():
        assert all(form.partition(":")[0] == name for form in kind.forms)
    assert executors.forms() == "local, slurm, slurm:KEY=VALUE,... or dask:ADDRESS"


def test_a_kind_of_ones_own_is_one_more_line(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine(Executor):
        def run(self, board: Board, jobs: int | None) -> None:
            raise NotImplementedError

    kind = ExecutorKind(
        type=Mine,
        forms=("mine",),
        written=lambda rest: Mine() if rest is None else None,
        wraps=lambda what: Mine() if what == 7 else None,
    )
    monkeypatch.setattr(executors, "kinds", lambda: {"mine": kind})
    mine = named("mine")
    assert isinstance(mine, Mine) and executors.executor_of(mine) is mine and isinstance(executors.executor_of(7), Mine)
    assert mine.remote(3, None) is None
    with mine.staying():
        mine.close()
    with pytest.raises(HeadwayError, match="'mine:x' is no executor: write mine"):
        named("mine:x")


@dataclass(frozen=True)
class Machines:
    """A cluster of two machines with two workers each, and a runner for commands next to its scheduler."""

    cluster: Dask
    prefix: list[str]


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Network namespaces as machines, which share nothing but the file system; without root, processes alone."""
    lacking.package("distributed", "long")
    folder = tmp_path_factory.mktemp("cluster")
    if os.geteuid() == 0 and shutil.which("ip") is not None:
        with namespaces(3) as nets, dask(folder, 0, nets[0][1], nets[0][0]) as cluster:
            for number, (prefix, _) in enumerate(nets[1:]):
                cluster.add_workers(2, folder / f"workers-{number}", prefix)
            yield Machines(cluster, nets[0][0])
    else:
        with dask(folder, 4) as cluster:
            yield Machines(cluster, [])


def start(machines: Machines, file: Path, out: Path) -> subprocess.Popen[str]:
    """A sweep on a cluster, by the command line."""
    where = ["--executor", f"dask:{machines.cluster.address}"]
    command = [*machines.prefix, *HEADWAY, "sweep", str(file), "--out", str(out), *where]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def local(file: Path, out: Path) -> Path:
    """The same sweep on this machine."""
    run_sweep(plan(resolve(str(file)), out), jobs=2)
    return out


@pytest.mark.long
def test_killed_workers_lose_nothing_and_record_nothing_twice(machines: Machines, tmp_path: Path) -> None:
    file = tiny_scenario(tmp_path, 400)
    chance = random.Random(18)
    killed = 0

    def kill() -> None:
        nonlocal killed
        if alive := machines.cluster.workers():
            os.kill(chance.choice(alive), signal.SIGKILL)
            killed += 1

    until(lambda: len(machines.cluster.workers()) == 4, "the workers are there")
    with Recordings(tmp_path / "far" / "points") as seen:
        process = start(machines, file, tmp_path / "far")
        until(lambda: seen.times or process.poll() is not None, "the first point is there")
        # At once: on a busy machine, the sweep may be over by the time the page is made.
        kill()
        # A report of the finished points can be made meanwhile.
        until(lambda: '"done"' in (tmp_path / "far" / "sweep.json").read_text("utf-8"), "the list of points says so")
        assert build_page(tmp_path / "far")[0].exists()
        while process.poll() is None and killed < 4:
            kill()
            time.sleep(chance.uniform(0.05, 0.2))
        said, _ = process.communicate(timeout=LIMIT)
    assert process.returncode == 0, said
    assert killed, "the sweep was over before any worker was killed"
    assert "400/400 points done" in said
    assert not seen.missed
    assert len(seen.times) == 400
    assert set(seen.times.values()) == {1}
    assert differences(local(file, tmp_path / "near"), tmp_path / "far") == []
    assert not (tmp_path / "far" / TASKS).exists()


@pytest.mark.long
def test_ctrl_c_stops_what_the_command_started_and_nothing_else(
    machines: Machines, long_scenario_file: Path, tmp_path: Path
) -> None:
    """Two commands run the same long sweep; one of them is stopped."""
    until(lambda: len(machines.cluster.workers()) == 4, "the workers are there")
    text = long_scenario_file.read_text(encoding="utf-8").replace("seeds = 2", "seeds = 1")
    long_scenario_file.write_text(text, encoding="utf-8")
    other, out = tmp_path / "other", tmp_path / "out"
    first, second = start(machines, long_scenario_file, other), start(machines, long_scenario_file, out)

    def under_way(folder: Path) -> int:
        return len(list((folder / "points").glob("*.partial")))

    try:
        until(lambda: under_way(other) == under_way(out) == 2, "all four points are under way")
        second.send_signal(signal.SIGINT)
        said, _ = second.communicate(timeout=LIMIT)
        assert second.returncode == 130, said
        assert "stopped; the same command goes on from here" in said
        partial = [path for path in (out / "points").glob("*.partial") if (path / "manifest.json").exists()]
        assert len(partial) == 2, "stopped runs keep what they have"
        assert all(headway.read(path).interrupted for path in partial)
        assert first.poll() is None
        assert [path for path in (other / "points").glob("*.partial") if (path / "manifest.json").exists()] == []
    finally:
        first.send_signal(signal.SIGINT)
        first.communicate(timeout=LIMIT)


@pytest.mark.long
def test_a_cluster_that_is_not_there_is_named(
    headway: Callable[..., Answer], scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking.package("distributed", "long")
    monkeypatch.setattr("headway.sweeps.executors.dask.CONNECT_S", 0.5)
    answer = headway("sweep", scenario_file, "--out", tmp_path / "o", "--executor", "dask:tcp://127.0.0.1:9")
    assert answer.status == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in answer.err


def test_without_its_package_dask_says_what_to_install(
    headway: Callable[..., Answer], scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    answer = headway("sweep", scenario_file, "--out", tmp_path / "o", "--executor", "dask:tcp://127.0.0.1:9")
    assert answer.status == 2
    assert "pip install 'headway[dask]'" in answer.err


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--executor", "slrum"), "did you mean slurm"),
        (("--executor", "dask"), "dask:tcp://HOST:8786"),
        (("--executor", "slurm:partition"), "'partition' is no option"),
        (("--executor", "slurm:array=1-3"), "'array' is set by Headway"),
        (("--executor", "local:4"), "write local, slurm"),
        (("--shard", "0/4"), "K from 1 to N"),
        (("--shard", "5/4"), "K from 1 to N"),
        (("--shard", "a"), "such as 3/40"),
    ],
)
def test_options_that_say_nothing_useful(
    headway: Callable[..., Answer], scenario_file: Path, tmp_path: Path, options: tuple[str, str], complaint: str
) -> None:
    answer = headway("sweep", scenario_file, "--out", tmp_path / "out", *options)
    assert answer.status == 2
    assert complaint in " ".join(answer.err.split())
    assert not (tmp_path / "out").exists()


def test_shards_are_the_whole_and_no_point_is_in_two(scenario_file: Path, tmp_path: Path) -> None:
    points = plan(resolve(str(scenario_file)), tmp_path / "out", sets=["sweep.seeds=7"]).points
    for count in (1, 2, 3, 5, 20):
        parts = [Shard(number, count).of(points) for number in range(1, count + 1)]
        assert sorted(point.label for part in parts for point in part) == sorted(point.label for point in points)
        assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_shards_together_are_the_sweep(headway: Callable[..., Answer], scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = headway("sweep", scenario_file, "--out", out, "--shard", "1/2", "--jobs", "1")
    assert first.status == 0
    assert "shard 1/2: 2/2 points done" in first.out
    assert "other shards: 0/2 points done" in first.out
    second = headway("sweep", scenario_file, "--out", out, "--shard", "2/2", "--jobs", "1")
    assert "other shards: 2/2 points done" in second.out
    assert differences(local(scenario_file, tmp_path / "near"), out) == []


def test_what_failed_in_another_shard_stays_on_the_list(scenario_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    planned = plan(resolve(str(scenario_file)), out)
    victim = planned.points[0]
    victim.partial.parent.mkdir(parents=True)
    victim.partial.write_text("a file where a directory must go", encoding="utf-8")
    lock = acquire(out / ".locks" / "sweep.lock")
    assert lock is not None
    planned.prepare()
    planned.begin()
    lock.share()
    run_sweep(planned, jobs=1, shard=Shard(1, 2))
    run_sweep(planned, jobs=1, shard=Shard(2, 2))
    lock.release()
    found = headway.read_sweep(out)
    assert list(found.failed) == [victim.label]
    assert len(found) == 3


def test_no_claim_is_judged_for_good_while_shards_are_missing(
    headway: Callable[..., Answer], scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, out = tmp_path / "scenarios/mine", tmp_path / "out"
    home.mkdir(parents=True)
    shutil.copy(scenario_file, home / "one.toml")
    (home / "claims.toml").write_text(claim("ends", 0, "over", "flow('f0', 'finish_s')", "one"), encoding="utf-8")
    monkeypatch.setenv("HEADWAY_SCENARIOS", str(tmp_path / "scenarios"))
    command = ("reproduce", "mine/one", "--out", out, "--jobs", "1", "--shard")
    assert "not all shards are finished" in headway(*command, "1/2").err
    assert "not all shards are finished" not in headway(*command, "2/2").err
    assert '"verdict": "reproduced"' in (out / "claims.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_any_pool_of_python_runs_a_sweep(pool: Callable[[int], Any], scenario_file: Path, tmp_path: Path) -> None:
    with pool(2) as workers:
        found = headway.sweep(scenario_file, tmp_path / "far", executor=workers)
        assert len(found) == 4
        assert not found.failed
        assert workers.submit(len, "its owner's").result() == 11
    assert differences(local(scenario_file, tmp_path / "near"), tmp_path / "far") == []


@pytest.mark.long
def test_submitit_runs_a_sweep(scenario_file: Path, tmp_path: Path) -> None:
    submitit: Any = lacking.package("submitit", "long")
    executor = submitit.LocalExecutor(tmp_path / "jobs")
    executor.update_parameters(timeout_min=5)
    assert len(headway.sweep(scenario_file, tmp_path / "far", executor=executor, jobs=1)) == 4


def test_an_object_that_is_no_executor_is_refused(scenario_file: Path, tmp_path: Path) -> None:
    with pytest.raises(HeadwayError, match="dict is no executor"):
        headway.sweep(scenario_file, tmp_path / "out", executor={})


class Broken:
    """A pool in this process. `dies` says of a task whether its worker dies, after it began the first point."""

    def __init__(self, dies: Callable[[Task], bool], begins: bool = True) -> None:
        self.dies = dies
        self.begins = begins
        self.ran: list[list[str]] = []

    def submit(self, fn: Callable[[Task], str], task: Task) -> Future[str]:
        """Run it now, or die."""
        future: Future[str] = Future()
        self.ran.append([point.label for point in task.points])
        if not self.dies(task):
            future.set_result(fn(task))
            return future
        if self.begins:
            box = Outbox(task.folder)
            box.send({"task": task.number, "begins": True})
            box.send({"task": task.number, "point": task.points[0].label})
        future.set_exception(RuntimeError("a worker died"))
        return future


class Lies(Broken):
    """A pool whose worker reports wrong results of its points, `times` times."""

    def __init__(self, lie: Callable[[Task, Job], None], times: int) -> None:
        super().__init__(lambda _: False)
        self.lie = lie
        self.times = times

    def submit(self, fn: Callable[[Task], str], task: Task) -> Future[str]:
        """Lie, or run it."""
        if self.times <= 0:
            return super().submit(fn, task)
        self.times -= 1
        box = Outbox(task.folder)
        box.send({"task": task.number, "begins": True})
        for point in task.points:
            self.lie(task, point)
        box.send({"task": task.number, "begins": False})
        future: Future[str] = Future()
        future.set_result("")
        return future


def _says_done(task: Task, point: Job) -> None:
    letter = {"task": task.number, "point": point.label, "ended": "done", "summary": {}, "manifest": {}, "took_s": 0.1}
    Outbox(task.folder).send(letter)


def _another_digest(task: Task, point: Job) -> None:
    other = headway.Scenario.load(point.scenario, sets={"seed": 77})
    other.run(point.directory, stored=False)
    record = {**point.identity(), "digest": other.digest}
    (point.directory / "point.json").write_text(json.dumps(record), encoding="utf-8")
    _says_done(task, point)


def _forged_record(task: Task, point: Job) -> None:
    headway.Scenario.load(point.scenario, sets={"seed": 77}).run(point.directory, stored=False, overwrite=True)
    (point.directory / "point.json").write_text(json.dumps(point.identity()), encoding="utf-8")
    _says_done(task, point)


def _rubbish(task: Task, point: Job) -> None:
    box = Outbox(task.folder)
    for letter in (
        {"ended": "done", "took_s": "soon"},
        {"ended": "failed"},
        {"ended": 7},
        {"at": 3},
        {"ended": ["done"]},
    ):
        box.send({"task": task.number, "point": point.label, **letter})
    box.send({"point": ["no", "label"]})
    (task.folder / "rubbish.jsonl").write_bytes(b"\xff\xfe\n[1]\n" + b"[" * 100_000 + b"\n")


def _twice(task: Task, point: Job) -> None:
    _says_done(task, point)
    _says_done(task, point)


@pytest.mark.parametrize("lie", [_says_done, _another_digest, _forged_record, _rubbish, _twice])
def test_a_worker_that_lies_is_noticed_and_its_point_run_again(
    lie: Callable[[Task, Job], None], scenario_file: Path, tmp_path: Path
) -> None:
    planned = plan(resolve(str(scenario_file)), tmp_path / "far")
    told = Told()
    outcome = run_sweep(planned, observer=told, jobs=1, executor=Futures(Lies(lie, 1)))
    assert set(outcome.states.values()) == {State.DONE}
    assert any("it is run again" in note for note in told.notes)
    assert differences(local(scenario_file, tmp_path / "near"), tmp_path / "far") == []


def test_a_worker_that_always_lies_ends_the_sweep(scenario_file: Path, tmp_path: Path) -> None:
    planned = plan(resolve(str(scenario_file)), tmp_path / "far")
    outcome = run_sweep(planned, jobs=1, executor=Futures(Lies(_says_done, 1_000)))
    assert set(outcome.states.values()) == {State.FAILED}
    assert all("its results are not there, 4 times" in error for error in outcome.errors.values())


class Told(Silent):
    """Observer that remembers its notices."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.lost_points: list[str] = []
        self.done: list[str] = []

    def noted(self, text: str) -> None:
        self.notes.append(text)

    def lost(self, label: str) -> None:
        self.lost_points.append(label)

    def finished(self, point: Job, result: object) -> None:
        self.done.append(point.label)


def test_a_point_that_kills_its_workers_fails_alone(scenario_file: Path, tmp_path: Path) -> None:
    planned = plan(resolve(str(scenario_file)), tmp_path / "out")
    victim = planned.points[0].label
    pool = Broken(lambda task: task.points[0].label == victim)
    told = Told()
    outcome = run_sweep(planned, jobs=1, executor=Futures(pool), observer=told)
    assert outcome.states.pop(victim) is State.FAILED
    assert set(outcome.states.values()) == {State.DONE}
    assert outcome.errors[victim].startswith(f"{DEATHS} processes died while they ran it")
    assert told.lost_points == [victim] * DEATHS
    assert told.notes == ["a task ended early, its points are run again: RuntimeError: a worker died"]
    assert pool.ran[-1] == [victim], "the last attempt costs the others nothing"


class Scheduler:
    """A pool as Dask is one: each worker has a queue of its own, as long as its saturation allows, and `threads`.

    A task on a worker that dies goes to another one, and is blamed for the fourth death, whether it ever ran or not.
    """

    def __init__(self, victim: str, saturation: float, threads: int) -> None:
        self.victim = victim
        self.threads = threads
        self.most = max(1, math.ceil(saturation * threads)) if saturation < math.inf else 10**6
        self.queues: list[list[Queued]] = [[], []]
        self.unassigned: list[Queued] = []
        self.never_ran = 0
        self.max_workers = 2 * threads

    def submit(self, fn: Callable[[Task], str], task: Task) -> Queued:
        """Put it into the queue of a worker, or keep it until one has room."""
        queued = Queued(self, fn, task)
        self.unassigned.append(queued)
        return queued

    def step(self) -> None:
        """One worker runs what it may at a time."""
        for queue in self.queues:
            while self.unassigned and len(queue) < self.most:
                queue.append(self.unassigned.pop(0))
        queue = max(self.queues, key=len)
        running = queue[: self.threads]
        deadly = [one for one in running if self._kills(one)]
        if not deadly:
            for one in running:
                one.set_result(one.fn(one.task))
            del queue[: self.threads]
            return
        for one in running:
            box = Outbox(one.task.folder)
            box.send({"task": one.task.number, "begins": True})
            first = next((point for point in one.task.points if not point.is_finished), one.task.points[0])
            label = self.victim if one in deadly else first.label
            box.send({"task": one.task.number, "point": label})
            one.ran = True
        left = list(queue)
        queue.clear()
        for one in left:
            one.deaths += 1
            if one.deaths > 3:
                self.never_ran += not one.ran
                one.set_exception(RuntimeError("KilledWorker"))
            else:
                min(self.queues, key=len).append(one)

    def _kills(self, one: Queued) -> bool:
        return any(point.label == self.victim and not point.is_finished for point in one.task.points)


class Queued(Future[str]):
    """A task of `Scheduler`."""

    def __init__(self, scheduler: Scheduler, fn: Callable[[Task], str], task: Task) -> None:
        super().__init__()
        self.scheduler, self.fn, self.task = scheduler, fn, task
        self.deaths, self.ran = 0, False

    def done(self) -> bool:
        """True if it has ended, a step later."""
        if not super().done():
            self.scheduler.step()
        return super().done()


@pytest.mark.parametrize("saturation", [0.5, 1.1, 3.0, math.inf])
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("place", [0, 7])
def test_whatever_the_saturation_the_one_point_that_kills_workers_is_named(
    saturation: float, threads: int, place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.sweeps.dispatch.POLL_S", 0.001)
    monkeypatch.setattr("headway.sweeps.executors.futures.PoolLane.limits", Limits(0.001, 0.01))
    monkeypatch.setattr("headway.sweeps.packing._expected", lambda *_: 0.02)
    planned = plan(resolve(str(tiny_scenario(tmp_path, 20))), tmp_path / "out")
    victim = planned.points[place].label
    scheduler = Scheduler(victim, saturation, threads)
    told = Told()
    outcome = run_sweep(planned, jobs=None, executor=Futures(scheduler), observer=told)
    assert [label for label, state in outcome.states.items() if state is not State.DONE] == [victim]
    assert outcome.errors[victim].endswith(
        "processes died while they ran it (out of memory, or killed): RuntimeError: KilledWorker"
    )
    if saturation == math.inf and place == 0:
        assert scheduler.never_ran > 0, "tasks that never ran were blamed"


def test_a_pool_that_runs_nothing_ends_the_sweep(scenario_file: Path, tmp_path: Path) -> None:
    pool = Broken(lambda _: True, begins=False)
    with pytest.raises(HeadwayError, match=r"(?s)3 tasks ended before they began: RuntimeError: a worker died.*help:"):
        headway.sweep(scenario_file, tmp_path / "out", executor=pool, jobs=1)
    assert EMPTY_HANDED <= len(pool.ran) <= EMPTY_HANDED + 1, "one more may be in hand"
    assert not (tmp_path / "out" / TASKS).exists()
    assert headway.read_sweep(tmp_path / "out").unfinished == 4


def test_a_pool_that_takes_nothing_ends_the_sweep(scenario_file: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        pass
    with pytest.raises(HeadwayError, match="the executor takes no task: RuntimeError: cannot schedule new futures"):
        headway.sweep(scenario_file, tmp_path / "out", executor=pool)


def test_a_worker_with_another_version_is_refused(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.sweeps.dispatch.Task", partial(Task, version="0.0.9"))
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(HeadwayError, match=r"the sweep is of 0\.0\.9 .*: install the same version there"),
    ):
        headway.sweep(scenario_file, tmp_path / "out", executor=pool)


def test_a_file_that_changed_since_the_plan_is_no_result(scenario_file: Path, tmp_path: Path) -> None:
    planned = plan(resolve(str(scenario_file)), tmp_path / "out")
    text = scenario_file.read_text(encoding="utf-8")
    scenario_file.write_text(text.replace("100 kB", "90 kB"), encoding="utf-8")
    outcome = run_sweep(planned, jobs=1)
    assert set(outcome.states.values()) == {State.FAILED}
    assert all("is another run on" in error for error in outcome.errors.values())


def test_what_another_process_holds_is_awaited(scenario_file: Path, tmp_path: Path) -> None:
    planned = plan(resolve(str(scenario_file)), tmp_path / "out")
    held = acquire(planned.points[1].lock)
    assert held is not None
    release = held.release

    class Waits(Told):
        def waiting(self, points: Any) -> None:  # noqa: ANN401  (not looked at)
            self.notes += [point.label for point in points]
            release()

    told = Waits()
    outcome = run_sweep(planned, jobs=1, executor=Futures(Broken(lambda _: False)), observer=told)
    assert told.notes == [planned.points[1].label]
    assert outcome.count(State.DONE) == 4
    assert len(told.done) == len(set(told.done)) == 4


def test_a_point_that_nobody_told_of_is_found(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its worker died between putting it in place and saying so."""
    send = Outbox.send
    monkeypatch.setattr(Outbox, "send", lambda box, letter: None if "ended" in letter else send(box, letter))
    told = Told()
    outcome = run_sweep(
        plan(resolve(str(scenario_file)), tmp_path / "out"),
        jobs=1,
        executor=Futures(Broken(lambda _: False)),
        observer=told,
    )
    assert outcome.count(State.DONE) == len(told.done) == 4
    assert outcome.elsewhere == 0


def test_half_a_letter_is_not_read_until_it_is_whole(tmp_path: Path) -> None:
    inbox, box = Inbox(tmp_path), Outbox(tmp_path)
    box.send({"point": "a"})
    path = next(tmp_path.glob("*.jsonl"))
    with path.open("a", encoding="utf-8") as file:
        file.write('{"point": ')
    assert list(inbox.letters()) == [{"point": "a"}]
    with path.open("a", encoding="utf-8") as file:
        file.write('"b"}\n[1]\nnonsense\n{"point": "c"}\n')
    assert list(inbox.letters()) == [{"point": "b"}, {"point": "c"}]
    assert list(inbox.letters()) == []
    assert outbox(tmp_path) is outbox(tmp_path)


def test_a_task_ends_when_nobody_wants_it(scenario_file: Path, tmp_path: Path) -> None:
    planned = plan(resolve(str(scenario_file)), tmp_path / "out")
    planned.prepare()
    folder = tmp_path / "out" / TASKS / "mine"
    folder.mkdir(parents=True)
    assert run_task(Task(0, folder, planned.points, 1.0)) == ""
    assert not any(point.is_finished for point in planned.points)


def jobs_of(count: int, memory: Callable[[int], int], tmp_path: Path, file: Path) -> list[Job]:
    one = plan(resolve(str(file)), tmp_path / "out").points[0]
    return [replace(one, point=replace(one.point, label=f"p{n}", seed=n), memory_bytes=memory(n)) for n in range(count)]


def test_tasks_last_about_as_long_as_they_should(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.sweeps.packing._expected", lambda *_: 0.5)
    points = jobs_of(1200, lambda _: 1 << 20, tmp_path, scenario_file)
    packer = Packer(points, "two-flows", Limits(1.0, 60.0))
    # 600 s in all, for 10 workers of which each is to come back six times.
    cut, seconds = packer.cut(10)
    assert len(cut) == 20
    assert seconds == pytest.approx(10.0)
    for point in cut:
        packer.learn(point, 0.05)
    cut, seconds = packer.cut(10)
    assert seconds == pytest.approx(1.0, abs=0.051)
    assert len(cut) in (19, 20), "points take a tenth of what was expected"
    assert len(packer) == 1200 - 20 - len(cut)
    taken = {point.label for point in cut}
    while packer:
        cut, _ = packer.cut(10)
        assert taken.isdisjoint(point.label for point in cut)
        taken |= {point.label for point in cut}
    assert len(taken) == 1180


def test_large_points_are_packed_apart_and_first(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.sweeps.packing._expected", lambda *_: 0.1)
    points = jobs_of(12, lambda n: (4 << 30) if n % 4 == 0 else (1 << 20), tmp_path, scenario_file)
    packer = Packer(points, "two-flows", Limits(100.0, 200.0))
    assert [point.label for point in packer.cut(1)[0]] == ["p0", "p4", "p8"]
    assert len(packer.cut(1)[0]) == 9


def test_no_more_memory_is_in_hand_than_workers_have(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.sweeps.packing._expected", lambda *_: 100.0)
    planned = plan(resolve(str(scenario_file)), tmp_path / "out")
    planned = replace(planned, points=tuple(replace(point, memory_bytes=3 << 30) for point in planned.points))
    at_once: list[int] = []

    class Slow(Futures):
        def memory(self) -> int:
            return 7 << 30

    class Pool:
        """Runs a task when it is asked whether it is done, and counts those that wait."""

        def __init__(self) -> None:
            self.waiting: list[Any] = []

        def submit(self, fn: Callable[[Task], str], task: Task) -> Any:  # noqa: ANN401
            pool = self

            class Later(Future[str]):
                def done(self) -> bool:
                    at_once.append(len(pool.waiting))
                    if self in pool.waiting:
                        pool.waiting.remove(self)
                        self.set_result(fn(task))
                    return True

            self.waiting.append(later := Later())
            return later

    outcome = run_sweep(planned, jobs=4, executor=Slow(Pool()))
    assert outcome.count(State.DONE) == 4
    assert max(at_once) == 2


@pytest.mark.parametrize(
    ("cores", "memory_gb", "points", "largest_gb", "most", "expected"),
    [
        (16, 64, 1000, 1, 16, (16, 1)),
        (16, 64, 4, 1, 16, (4, 4)),
        (16, 64, 1000, 20, 16, (2, 8)),
        (16, 64, 1000, 20, 1, (2, 1)),
        (16, 64, 1, 100, 8, (1, 8)),
        (2, 8, 3, 1, 8, (2, 1)),
    ],
)
def test_cores_are_for_runs_side_by_side_first(
    cores: int, memory_gb: int, points: int, largest_gb: int, most: int, expected: tuple[int, int]
) -> None:
    assert divided(cores, memory_gb << 30, points, largest_gb << 30, most) == expected


def test_a_script_for_slurm_asks_for_what_its_tasks_need(scenario_file: Path, tmp_path: Path) -> None:
    points = plan(resolve(str(scenario_file)), tmp_path / "out").points
    large = replace(points[0], memory_bytes=3 << 30, threads=4)
    tasks = [Task(7, tmp_path, (large,), 1.0), Task(9, tmp_path, (points[1],), 1.0)]
    assert memory_mb(tasks[0]) == 4352
    assert memory_mb(tasks[1]) == 768
    text = script(tmp_path, "amrt/fig01 x", tasks, 4352, 4, {"partition": "short", "time": "60", "comment": "a b"})
    for line in ("array=0-1", "mem=4352M", "cpus-per-task=4", "partition=short", "time=60", 'comment="a b"', "requeue"):
        assert f"#SBATCH --{line}\n" in text
    assert "tasks=(7 9)\n" in text
    assert "--job-name=headway-amrt-fig01-x\n" in text
    subprocess.run(["bash", "-n"], input=text, text=True, check=True)


ODD_NAMES = [
    "plain", "two words", "$HOME", "${IFS}", "`id`", "$(id)", "a;id", "a&id", "a|id", "a>b", "a<b", "a'b", 'a"b',
    "'", '"', "''", '""', "a#b", "#", "!x", "!!", "*", "?", "[a]", "{a,b}", "~", "~root", "-n", "--", "-P", "%A",
    "%%", "%j_%a", "100%", "=x", "a=b", "(x)", "x)", "\u00e9", "\u65e5\u672c", "\U0001f600", "a\u2028b", "a,b",
    "a:b", "a@b", "+x", "^x", ".x", "x.", "a  b",
]  # fmt: skip


def test_a_script_for_slurm_quotes_every_name(
    scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(ODD_NAMES) == len(set(ODD_NAMES)) == 50
    point = plan(resolve(str(scenario_file)), tmp_path / "out").points[0]
    for name in ODD_NAMES:
        folder = tmp_path / name / "tasks"
        folder.mkdir(parents=True)
        python = tmp_path / name / "python"
        python.write_text('#!/bin/sh\nfor one in "$@"; do printf "%s\\0" "$one"; done\n', encoding="utf-8")
        python.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(python))
        text = script(folder, name, [Task(7, folder, (point,), 1.0)], 256, 1, {"comment": name})
        environment = {**os.environ, "SLURM_ARRAY_TASK_ID": "0"}
        ran = subprocess.run(
            ["bash"], input=text, env=environment, cwd=folder, capture_output=True, text=True, check=True
        )
        assert ran.stdout.split("\0")[:-1] == ["-P", "-m", "headway.sweeps", str(folder), "7"], name
        options = [
            shlex.split(line.removeprefix("#SBATCH ")) for line in text.split("\n") if line.startswith("#SBATCH")
        ]
        assert all(len(one) == 1 for one in options), name
        given = dict(one[0].removeprefix("--").partition("=")[::2] for one in options)
        assert given["comment"] == name
        assert given["output"].replace("%%", "%") == f"{folder}/logs/%A_%a.txt"
        assert re.fullmatch(r"headway-[A-Za-z0-9._-]+", given["job-name"])


def test_a_line_end_in_an_option_of_slurm_is_refused(scenario_file: Path, tmp_path: Path) -> None:
    point = plan(resolve(str(scenario_file)), tmp_path / "out").points[0]
    for options, folder in (
        ({"comment": "a\n#SBATCH --uid=0"}, tmp_path),
        ({}, tmp_path / "a\nb"),
        ({}, tmp_path / "a\\b"),
    ):
        with pytest.raises(HeadwayError, match="--executor slurm"):
            script(folder, "x", [Task(7, folder, (point,), 1.0)], 256, 1, options)


def test_a_machine_without_slurm_says_so(
    headway: Callable[..., Answer], scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    answer = headway("sweep", scenario_file, "--out", tmp_path / "o", "--executor", "slurm")
    assert answer.status == 2
    assert "scontrol is not on this machine" in answer.err


def test_options_of_slurm() -> None:
    assert isinstance(named("slurm:partition=short,time=1:00:00"), Slurm)


@pytest.mark.long
def test_slurm_runs_a_sweep_in_arrays_no_larger_than_the_site_allows(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_slurm()
    monkeypatch.setattr(ArrayLane, "limits", Limits(0.1, 0.1))
    monkeypatch.setattr("headway.sweeps.packing._expected", lambda *_: 0.02)
    file = tiny_scenario(tmp_path, 20)
    arrays: list[str] = []
    submit = ArrayLane._submit

    def listen(lane: ArrayLane, text: str, first: Task) -> str:
        arrays.extend(re.findall(r"--array=0-(\d+)", text))
        return submit(lane, text, first)

    monkeypatch.setattr(ArrayLane, "_submit", listen)
    with slurm(Path(tmp_path_factory.mktemp("slurm")), 2) as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        with Recordings(tmp_path / "far" / "points") as seen:
            headway.sweep(file, tmp_path / "far", executor="slurm")
    assert len(arrays) >= 2
    assert set(arrays) <= {"0", "1"}
    assert set(seen.times.values()) == {1}
    assert differences(local(file, tmp_path / "near"), tmp_path / "far") == []
