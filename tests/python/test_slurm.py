"""Slurm's answers: every state by its name, tasks that wait, tasks that were taken away. The cluster is pretended."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headway.cli.terminal import Progress
from headway.errors import HeadwayError
from headway.names import resolve
from headway.sweeps import State, SweepOutcome, plan, run_sweep
from headway.sweeps.board import Silent
from headway.sweeps.dispatch import DEATHS, new_desk
from headway.sweeps.executors import slurm
from headway.sweeps.executors.slurm import ArrayHandle, ArrayLane, Slurm, blamed
from headway.sweeps.mail import Outbox
from headway.sweeps.packing import Limits
from headway.sweeps.task import Task
from support import LIMIT

# All that the manual of squeue lists under "job state codes", and whether more comes of a task in it.
STATES = {
    "BOOT_FAIL": False, "CANCELLED": False, "COMPLETED": False, "CONFIGURING": True, "COMPLETING": True,
    "DEADLINE": False, "EXPEDITING": True, "FAILED": False, "LAUNCH_FAILED": False, "NODE_FAIL": False,
    "OUT_OF_MEMORY": False, "PENDING": True, "POWER_UP_NODE": True, "PREEMPTED": False, "RECONFIG_FAIL": False,
    "REQUEUED": True, "REQUEUE_FED": True, "REQUEUE_HOLD": True, "RESIZING": True, "RESV_DEL_HOLD": True,
    "REVOKED": False, "RUNNING": True, "SIGNALING": True, "SPECIAL_EXIT": True, "STAGE_OUT": True, "STOPPED": True,
    "SUSPENDED": True, "TIMEOUT": False, "UPDATE_DB": True, "OF_A_LATER_VERSION": False,
}  # fmt: skip


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the executor."""
    clock = Clock()
    monkeypatch.setattr("headway.sweeps.executors.slurm.time.monotonic", clock)
    return clock


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines that `squeue` answers, and the other calls in the end."""
    lines: list[str] = []

    def ask(*command: str) -> str:
        if command[0] == "squeue":
            assert "--format=%i %T %r" in command
            return "".join(f"{line}\n" for line in lines)
        return ""

    monkeypatch.setattr(slurm, "ask", ask)
    return lines


@pytest.fixture
def lane(tmp_path: Path, queue: list[str]) -> Iterator[ArrayLane]:
    """A lane with one array of three tasks."""
    desk = new_desk(tmp_path)
    lane = ArrayLane(desk, "x", {}, 100, None)
    lane._jobs = {"7": [0, 1, 2]}
    yield lane
    desk.close()


@pytest.mark.parametrize(("state", "goes_on"), STATES.items())
def test_every_state_is_one_that_goes_on_or_an_end(
    lane: ArrayLane, queue: list[str], clock: Clock, tmp_path: Path, state: str, goes_on: bool
) -> None:
    queue[:] = [f"7_0 {state} None", "8_0 RUNNING None"]
    handle = ArrayHandle(lane, "7_0", tmp_path / "7_0.txt")
    # Slurm may put some of them back into the queue at once; not for longer than that.
    handle.done(said=False)
    clock.now += slurm.RETURN_S + slurm.ASK_S
    assert handle.done(said=False) is not goes_on
    if not goes_on:
        assert handle.error() == f"Slurm's task 7_0 ended as {state}"
    assert not lane.is_queued("8_0"), "a task of somebody else"


def test_a_task_that_slurm_puts_back_after_a_failed_node_is_not_given_to_another(
    lane: ArrayLane, queue: list[str], clock: Clock, tmp_path: Path
) -> None:
    handle = ArrayHandle(lane, "7_0", tmp_path / "7_0.txt")
    for state, passed in (("RUNNING", 10.0), ("NODE_FAIL", 10.0), ("PENDING", 60.0), ("RUNNING", 60.0)):
        queue[:] = [f"7_0 {state} None"]
        clock.now += passed
        assert not handle.done(said=False), state


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("7_1 PENDING JobHeldUser", "task 7_1 is PENDING, reason JobHeldUser; `scontrol release` lets it go on"),
        ("7_1 PENDING launch failed requeued held", "reason launch failed requeued held; `scontrol release`"),
        ("7_1 PENDING (BeginTime)", "task 7_1 is PENDING, reason BeginTime"),
        ("7_1 PENDING AssocGrpCPUMinutesLimit", "reason AssocGrpCPUMinutesLimit"),
        ("7_1 REQUEUE_HOLD JobHeldAdmin", "task 7_1 is REQUEUE_HOLD, reason JobHeldAdmin"),
        ("7_1 SPECIAL_EXIT None", "task 7_1 is SPECIAL_EXIT"),
        ("7_1 SUSPENDED", "task 7_1 is SUSPENDED"),
        ("7_1 STOPPED None", "task 7_1 is STOPPED"),
    ],
)
def test_what_may_wait_for_ever_is_told_once_with_slurms_reason(
    lane: ArrayLane, queue: list[str], clock: Clock, line: str, said: str
) -> None:
    queue[:] = ["7_0 RUNNING None", line]
    assert lane.is_queued("7_1")
    (news,) = lane.news()
    assert said in news
    clock.now += 300.0
    assert lane.is_queued("7_1")
    assert lane.news() == []


def test_what_waits_for_a_place_is_told_within_a_minute(lane: ArrayLane, queue: list[str], clock: Clock) -> None:
    queue[:] = ["7_0 PENDING Priority", "7_1 PENDING Priority", "7_2 RUNNING None"]
    told = []
    for _ in range(8):
        assert lane.is_queued("7_0")
        told += [(clock.now, text) for text in lane.news()]
        clock.now += slurm.ASK_S
    ((at, text),) = told
    assert at - 1000.0 <= 60.0
    assert text == "Slurm's 2 tasks, such as 7_0, are PENDING, reason Priority"


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ("<frozen runpy>:128: RuntimeWarning: 'x' found in sys.modules\n  warn(RuntimeWarning(msg))\n", ""),
        ("a.py:3: DeprecationWarning: an error is near\n    old()\n", ""),
        ("slurmstepd: error: *** JOB 7 CANCELLED DUE TO PREEMPTION ***\nx.py:1: UserWarning: y\n", "PREEMPTION"),
        ("Traceback (most recent call last):\n  File x\nMemoryError: no room\nbye\n", "MemoryError: no room"),
        ("/bin/bash: line 9: 4711 Killed   python\nslurmstepd: info: over\n", "4711 Killed"),
        ("bash: /nfs/python: No such file or directory\n", "No such file"),
        ("first\nit stopped here\n", "it stopped here"),
        ("", ""),
    ],
)
def test_a_log_is_blamed_by_its_last_error_and_never_by_a_warning(log: str, said: str) -> None:
    assert said in blamed(log)
    assert said or blamed(log) == ""


class Told(Silent):
    """Remembers notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def noted(self, text: str) -> None:
        self.notes.append(text)


class Cluster:
    """A pretended cluster that runs each task at once, unless `fate` gives it another state and reason."""

    def __init__(self, fate: Callable[[str, Task], str]) -> None:
        self._fate = fate
        self._jobs = 0
        self._tasks: dict[str, tuple[Task, str, Path]] = {}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.cancelled: list[str] = []
        self.logs: list[Path] = []

    def ask(self, *command: str) -> str:
        """Answer of one of Slurm's commands."""
        if command[0] == "scancel":
            self.cancelled += command[2:]
            return ""
        if command[0] == "sbatch":
            return self._submit(Path(command[-1]))
        assert command[0] == "squeue"
        lines = []
        for name, (task, script, log) in self._tasks.items():
            state = "COMPLETED" if name in self._running else self._fate(name, task)
            if state == "RUNNING":
                self._start(name, script, log)
            if name in self._running and self._running[name].poll() is None:
                state = "RUNNING None"
            lines.append(f"{name} {state}\n")
        return "".join(lines)

    def _submit(self, path: Path) -> str:
        text = path.read_text("utf-8")
        self._jobs += 1
        numbers = re.findall(r"\d+", re.findall(r"^tasks=\((.*)\)", text, re.MULTILINE)[0])
        for place, number in enumerate(numbers):
            log = path.parent.parent / f"log-{self._jobs}-{place}.txt"
            self._tasks[f"{self._jobs}_{place}"] = (Task.read(path.parent, int(number)), str(path), log)
        return f"{self._jobs}\n"

    def _start(self, name: str, script: str, log: Path) -> None:
        environment = {**os.environ, "SLURM_ARRAY_TASK_ID": name.partition("_")[2]}
        self.logs.append(log)
        with log.open("ab") as file:
            self._running[name] = subprocess.Popen(["bash", script], env=environment, stdout=file, stderr=file)

    def stop(self) -> None:
        """Wait for all that was started."""
        for process in self._running.values():
            process.wait(LIMIT)


Sweeping = Callable[[Cluster, Silent], SweepOutcome]


@pytest.fixture
def sweeping(scenario_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sweeping:
    """Runs four points in four tasks on a pretended cluster, which is asked every tenth of a second."""
    monkeypatch.setattr(ArrayLane, "limits", Limits(0.001, 0.01))
    monkeypatch.setattr("headway.sweeps.packing._expected", lambda *_: 0.02)
    monkeypatch.setattr(slurm, "array_limit", lambda: 100)
    monkeypatch.setattr(slurm, "ASK_S", 0.1)
    monkeypatch.setattr(slurm, "RETURN_S", 0.2)

    def run(cluster: Cluster, told: Silent) -> SweepOutcome:
        monkeypatch.setattr(slurm, "ask", cluster.ask)
        planned = plan(resolve(str(scenario_file)), tmp_path / "out")
        try:
            return run_sweep(planned, jobs=None, executor=Slurm(), observer=told)
        finally:
            cluster.stop()

    return run


def all_done(outcome: SweepOutcome) -> bool:
    """True if every point of a sweep is done."""
    return set(outcome.states.values()) == {State.DONE}


def test_a_held_task_is_told_and_its_point_runs_when_it_is_released(sweeping: Sweeping) -> None:
    told = Told()
    # Released when its hold has been told.
    cluster = Cluster(lambda name, _: "PENDING JobHeldUser" if name == "1_1" and not told.notes else "RUNNING")
    assert all_done(sweeping(cluster, told))
    assert told.notes == ["Slurm's task 1_1 is PENDING, reason JobHeldUser; `scontrol release` lets it go on"]
    assert [log.read_text("utf-8") for log in cluster.logs] == [""] * 4, "no warning in any log"


@pytest.mark.parametrize("begins", [True, False])
def test_preempted_points_run_again_however_often_and_are_not_to_blame(sweeping: Sweeping, begins: bool) -> None:
    victims: list[str] = []
    seen: set[str] = set()

    def fate(name: str, task: Task) -> str:
        labels = [point.label for point in task.points]
        victims[:] = victims or labels
        if labels != victims or (name not in seen and len(seen) > DEATHS):
            return "RUNNING"
        if begins and name not in seen:
            box = Outbox(task.folder)
            box.send({"task": task.number, "begins": True})
            box.send({"task": task.number, "point": labels[0]})
        seen.add(name)
        return "PREEMPTED None"

    told = Told()
    cluster = Cluster(fate)
    assert all_done(sweeping(cluster, told))
    assert len(seen) == DEATHS + 1
    for name in seen:
        note = f"a task ended early, its points are run again: Slurm's task {name} ended as PREEMPTED"
        assert note in told.notes
        assert name in cluster.cancelled, "Slurm does not start it again"
    assert len(told.notes) == len(seen)


def test_tasks_that_fail_before_they_begin_end_the_sweep_with_state_and_reason(sweeping: Sweeping) -> None:
    def fate(name: str, task: Task) -> str:
        log = task.folder / slurm.LOGS / f"{name}.txt"
        log.write_text("bash: /nfs/python: No such file or directory\n")
        return "FAILED NonZeroExitCode"

    with pytest.raises(HeadwayError, match=r"ended as FAILED: bash: /nfs/python: No such file or directory"):
        sweeping(Cluster(fate), Told())


def test_lines_of_progress_keep_coming_while_nothing_moves(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock()
    monkeypatch.setattr("headway.cli.terminal.time.monotonic", clock)
    with Progress() as bars:
        bars.overall("sweep", 0.34, "1/3 points")
        for _ in range(40):
            clock.now += 1.0
            bars.tick()
    assert capsys.readouterr().err.splitlines() == [
        "sweep: 34 %, 1/3 points",
        "sweep: 34 %, 1/3 points, nothing new for 15 s",
        "sweep: 34 %, 1/3 points, nothing new for 25 s",
        "sweep: 34 %, 1/3 points, nothing new for 35 s",
    ]
