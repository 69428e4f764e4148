"""Slurm: arrays of tasks that are submitted with `sbatch`, without any library.

A command that is killed leaves its arrays to Slurm. The same command finds them again, and goes on with them.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from headway.data.reader import glance
from headway.errors import HeadwayError
from headway.files import write_json, write_text
from headway.sweeps.board import Board
from headway.sweeps.dispatch import Desk, Dispatch, Given, Handle, opened, orphans
from headway.sweeps.executor import Executor, ExecutorKind
from headway.sweeps.packing import Limits
from headway.sweeps.task import Task

# A task takes a few seconds to start Python and wait for its turn. None may be as long as most partitions allow.
LIMITS = Limits(least_s=60.0, most_s=4 * 3600.0)
JOBS_FILE = "jobs.json"
LOGS = "logs"
# Slurm is asked so often for the state of tasks that do not report it themselves, and may take so long to answer.
ASK_S = 10.0
ANSWER_S = 60.0
# States by the names in the manual of `squeue`: those in which a task moves or waits for what passes by itself, and
# those in which somebody may have to act. Any other one is an end, also in a queue that shows tasks after it:
# BOOT_FAIL, CANCELLED, COMPLETED, DEADLINE, FAILED, LAUNCH_FAILED, NODE_FAIL, OUT_OF_MEMORY, PREEMPTED, RECONFIG_FAIL,
# REVOKED, TIMEOUT, and what later versions may add.
MOVES = frozenset(
    (
        *("COMPLETING", "CONFIGURING", "EXPEDITING", "POWER_UP_NODE", "REQUEUED", "RESIZING", "RUNNING"),
        *("SIGNALING", "STAGE_OUT", "UPDATE_DB"),
    )
)
WAITS = frozenset(("PENDING", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT", "STOPPED", "SUSPENDED"))
# Reasons for which tasks of any busy cluster wait: only after a while are they worth a line.
USUAL = frozenset(("", "None", "Priority", "Resources", "JobArrayTaskLimit"))
USUAL_S = 30.0
# Ends after which Slurm may put a task back into its queue by itself, and how long it has for that.
MAY_RETURN = frozenset(("BOOT_FAIL", "LAUNCH_FAILED", "NODE_FAIL", "PREEMPTED", "RECONFIG_FAIL"))
RETURN_S = 15.0
# Memory of Python in addition to a run, and factor on the estimate of a run.
BASE_MB = 512
SPARE = 1.25
# Options that the script sets; the user cannot.
OURS = ("array", "output", "error", "open-mode", "requeue", "no-requeue", "wrap", "wait", "parsable")
KEY = re.compile(r"[a-z][a-z-]*")
# A line of a log that reports an error, and one of a warning, which does not.
ERROR = re.compile(r"(?:error|exception|\b(?:killed|fault|aborted|core dumped|no such file))\b", re.IGNORECASE)
WARNING = re.compile(r"warning\b", re.IGNORECASE)


class Slurm(Executor):
    """The cluster that `sbatch` submits to. `options` are further options of it, such as `partition`."""

    def __init__(self, options: Mapping[str, str] | None = None) -> None:
        self._options = dict(options or {})
        for key in self._options:
            if not KEY.fullmatch(key) or key in OURS:
                known = "set by Headway" if key in OURS else "no long option of sbatch"
                raise HeadwayError(f"--executor slurm: {key!r} is {known}; write slurm:partition=short,time=60")

    def run(self, board: Board, jobs: int | None) -> None:
        """Run every pending point in arrays."""
        if not board.pending():
            return
        limit = array_limit()
        with opened(board.plan.out, found := adopted(board.plan.out)) as desk:
            lane = ArrayLane(desk, board.plan.file.name, self._options, limit, jobs)
            given, next_number = lane.resume() if found is not None else ([], 0)
            if given:
                board.observer.noted(f"{len(given)} tasks of an earlier command are still in Slurm's queue: they go on")
            dispatch = Dispatch(board, lane, desk, given, next_number)
            try:
                dispatch.run()
            except BaseException:
                dispatch.give_up()
                raise

    def remote(self, points: int, jobs: int | None) -> int | None:
        """As many as may be in an array, which is more than the cluster runs at once."""
        return max(1, min(jobs or array_limit(), points))


def adopted(out: Path) -> Desk | None:
    """The folder of a command that died while tasks of it were in Slurm's queue."""
    chosen: Desk | None = None
    for desk in orphans(out):
        if chosen is None and (desk.folder / JOBS_FILE).exists():
            chosen = desk
        else:
            desk.lock.release()
    return chosen


class ArrayLane:
    """Submits tasks as arrays, and asks Slurm for their states."""

    limits = LIMITS
    # Each task is a process of its own.
    shared = False

    def __init__(self, desk: Desk, name: str, options: Mapping[str, str], limit: int, jobs: int | None) -> None:
        self._desk = desk
        self._name = name
        self._options = dict(options)
        self._limit = limit
        self._width = min(jobs or limit, limit)
        # Filling single places would be an array each.
        self.batch = max(1, self._width // 4)
        self._jobs: dict[str, list[int]] = {}
        self._queued: set[str] = set()
        # The state and the reason of each task, and since when it has both.
        self._seen: dict[str, tuple[str, str, float]] = {}
        self._told: set[tuple[str, str]] = set()
        self._ask_from = 0.0

    def width(self) -> int:
        """Tasks that may run at once."""
        return self._width

    def in_hand(self) -> int:
        """As many as may be in an array."""
        return self._width

    def memory(self) -> int | None:
        """Each task asks for its resources, and Slurm waits until that is free."""
        return None

    def submit(self, tasks: Sequence[Task]) -> Sequence[Handle]:
        """Submit tasks: those that need the same memory and cores in one array."""
        handles: dict[int, Handle] = {}
        kinds: dict[tuple[int, int], list[Task]] = {}
        for task in tasks:
            task.write()
            kinds.setdefault((memory_mb(task), task.threads), []).append(task)
        for (memory, threads), alike in kinds.items():
            job = self._submit(script(self._desk.folder, self._name, alike, memory, threads, self._options), alike[0])
            self._jobs[job] = [task.number for task in alike]
            write_json(self._desk.folder / JOBS_FILE, self._jobs)
            for place, task in enumerate(alike):
                handles[task.number] = ArrayHandle(self, f"{job}_{place}", self._log(job, place))
        # A job is seen in the queue from now on.
        self._queued |= {one.name for one in handles.values() if isinstance(one, ArrayHandle)}
        self._ask_from = time.monotonic() + ASK_S
        return [handles[task.number] for task in tasks]

    def resume(self) -> tuple[list[Given], int]:
        """The tasks of an earlier command that have not ended, and the number of the next one."""
        jobs = glance(self._desk.folder / JOBS_FILE)
        self._jobs = {str(job): list(numbers) for job, numbers in jobs.items()} if isinstance(jobs, dict) else {}
        self._ask()
        given = [
            Given(Task.read(self._desk.folder, number), ArrayHandle(self, f"{job}_{place}", self._log(job, place)))
            for job, numbers in self._jobs.items()
            for place, number in enumerate(numbers)
            if f"{job}_{place}" in self._queued
        ]
        self._desk.open_file.touch()
        return given, 1 + max((number for numbers in self._jobs.values() for number in numbers), default=-1)

    def is_queued(self, name: str) -> bool:
        """True if a task waits or runs."""
        if time.monotonic() >= self._ask_from:
            self._ask()
        return name in self._queued

    def state(self, name: str) -> str:
        """The last state of a task that Slurm has shown; empty if it has shown none."""
        return self._seen[name][0] if name in self._seen else ""

    def news(self) -> Sequence[str]:
        """Tasks that may wait for ever, with the reason that Slurm gives."""
        now = time.monotonic()
        waiting: dict[tuple[str, str], list[str]] = {}
        for name in sorted(self._queued & self._seen.keys()):
            state, reason, since = self._seen[name]
            usual = state == "PENDING" and reason in USUAL
            if state in WAITS and now - since >= (USUAL_S if usual else 0.0):
                waiting.setdefault((state, reason), []).append(name)
        said = []
        for (state, reason), names in waiting.items():
            if (state, reason) not in self._told:
                self._told.add((state, reason))
                why = f", reason {reason}" if reason not in ("", "None") else ""
                many = f"{len(names)} tasks, such as {names[0]}, are" if len(names) > 1 else f"task {names[0]} is"
                held = "; `scontrol release` lets it go on" if "held" in reason.lower() or "HOLD" in state else ""
                said.append(f"Slurm's {many} {state}{why}{held}")
        return said

    def leave(self, name: str) -> None:
        """Its points are run by another task: Slurm need not start it again."""
        if self.state(name) in MAY_RETURN:
            with suppress(HeadwayError):
                ask("scancel", "--quiet", name)

    def withdraw(self) -> None:
        """Take waiting tasks out of the queue. A running task notices by itself that it is not wanted any more, and
        stops."""
        if self._jobs:
            with suppress(HeadwayError):
                ask("scancel", "--quiet", "--state=PENDING", *self._jobs)

    def _submit(self, text: str, first: Task) -> str:
        path = self._desk.folder / f"array-{first.number}.sh"
        (self._desk.folder / LOGS).mkdir(exist_ok=True)
        write_text(path, text)
        return ask("sbatch", "--parsable", str(path)).strip().partition(";")[0]

    def _ask(self) -> None:
        """Update the list of tasks in the queue. A controller that does not answer is asked again: its jobs run on."""
        self._ask_from = time.monotonic() + ASK_S
        if not self._jobs:
            self._queued = set()
            return
        try:
            text = ask("squeue", "--noheader", "--array", "--states=all", "--format=%i %T %r", "--me")
        except HeadwayError:
            return
        now = time.monotonic()
        self._queued = set()
        for name, state, *rest in (line.split(maxsplit=2) for line in text.splitlines() if len(line.split()) > 1):
            if name.partition("_")[0] not in self._jobs:
                continue
            reason = rest[0].strip().strip("()") if rest else ""
            before = self._seen.get(name)
            since = before[2] if before is not None and before[:2] == (state, reason) else now
            self._seen[name] = (state, reason, since)
            if state in MOVES or state in WAITS or (state in MAY_RETURN and now - since < RETURN_S):
                self._queued.add(name)

    def _log(self, job: str, place: int) -> Path:
        return self._desk.folder / LOGS / f"{job}_{place}.txt"


class ArrayHandle:
    """A task of an array."""

    def __init__(self, lane: ArrayLane, name: str, log: Path) -> None:
        self._lane = lane
        self.name = name
        self._log = log
        self._cancelled = False

    def done(self, said: bool) -> bool:
        """True if it is out of the queue, or is about to be."""
        return said or self._cancelled or not self._lane.is_queued(self.name)

    def error(self) -> str:
        """Slurm's state of it, and the last error in its log."""
        self._lane.leave(self.name)
        state = self._lane.state(self.name)
        ended = " ended" if not state or state in MOVES or state in WAITS else f" ended as {state}"
        why = ""
        with suppress(OSError):
            why = blamed(self._log.read_text(encoding="utf-8", errors="replace"))
        return f"Slurm's task {self.name}{ended}{f': {why}' if why else ''}"

    def blameless(self) -> bool:
        """True if its node failed, or another job took its place."""
        return self._lane.state(self.name) in MAY_RETURN

    def cancel(self) -> None:
        """Give it up. `withdraw` takes all that wait out of the queue at once."""
        self._cancelled = True


def blamed(log: str) -> str:
    """The line of a log that reports the error: its last error, or else its last line that is part of no warning."""
    lines = [line.rstrip() for line in log.splitlines() if line.strip()]
    # Python shows below a warning, indented, the line of source that it is about.
    plain = [line for line in lines if not WARNING.search(line) and not line[0].isspace()]
    errors = [line for line in plain if ERROR.search(line)]
    return (errors or plain or [""])[-1]


def memory_mb(task: Task) -> int:
    """Memory that a task requests."""
    needed = BASE_MB + int(task.memory_bytes * SPARE / (1 << 20))
    return -(-needed // 256) * 256


def script(
    folder: Path, name: str, tasks: Sequence[Task], memory: int, threads: int, options: Mapping[str, str]
) -> str:
    """The script of an array: each of its tasks runs one of `tasks`, and begins again after a failure of its node."""
    if "\\" in str(folder):
        raise HeadwayError(f"--executor slurm: {folder} has a backslash in it, with which Slurm names no logs")
    ours = {
        "job-name": f"headway-{re.sub(r'[^A-Za-z0-9._-]+', '-', name)}",
        "array": f"0-{len(tasks) - 1}",
        # Slurm puts its own words in place of `%` and a letter; two of them stand for one.
        "output": f"{str(folder / LOGS).replace('%', '%%')}/%A_%a.txt",
        "open-mode": "append",
        "ntasks": "1",
        "cpus-per-task": str(threads),
        "mem": f"{memory}M",
        **options,
    }
    lines = [f"#SBATCH --{key}={_quoted(key, value)}" for key, value in ours.items()]
    numbers = " ".join(str(task.number) for task in tasks)
    command = shlex.join([sys.executable, "-P", "-m", "headway.sweeps", str(folder)])
    return "\n".join(
        [
            "#!/bin/bash",
            *lines,
            "#SBATCH --requeue",
            f"tasks=({numbers})",
            f'exec {command} "${{tasks[$SLURM_ARRAY_TASK_ID]}}"',
            "",
        ]
    )


def _quoted(key: str, value: str) -> str:
    """A value of an option as sbatch reads it from a script: in quotes, with a backslash before marks that end them."""
    if any(sign < " " or sign == "\x7f" for sign in value):
        raise HeadwayError(f"--executor slurm: {key} has a line end or another control character in it: {value!r}")
    if re.fullmatch(r"[\w.,:/=@%+-]*", value):
        return value
    return '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'


def array_limit() -> int:
    """Number of tasks that the site allows in an array."""
    for program in ("scontrol", "sbatch", "squeue", "scancel"):
        if shutil.which(program) is None:
            raise HeadwayError(
                f"--executor slurm: {program} is not on this machine; a login node of the cluster has it"
            )
    found = re.search(r"^MaxArraySize\s*=\s*(\d+)", ask("scontrol", "show", "config"), re.MULTILINE)
    limit = int(found[1]) if found else 0
    if limit < 1:
        raise HeadwayError("Slurm's MaxArraySize is 0: this site allows no arrays of jobs")
    return limit


def ask(*command: str) -> str:
    """Output of a command of Slurm; raises `HeadwayError` with its complaint."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_S, check=False)
    except subprocess.TimeoutExpired:
        raise HeadwayError(f"{command[0]} does not answer within {ANSWER_S:.0f} s") from None
    except OSError as error:
        raise HeadwayError(f"{command[0]} cannot be run ({error.strerror or error})") from None
    if done.returncode:
        complaint = (done.stderr or done.stdout).strip().splitlines()
        raise HeadwayError(f"{command[0]}: {complaint[-1] if complaint else f'exit status {done.returncode}'}")
    return done.stdout


def written(rest: str | None) -> Slurm | None:
    """Executor for `slurm:KEY=VALUE,...`."""
    if rest == "":
        return None
    return Slurm(dict(map(_option, rest.split(",")))) if rest else Slurm()


def _option(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not value.strip():
        raise HeadwayError(f"--executor slurm: {text!r} is no option: write slurm:partition=short,time=60")
    return key.strip(), value.strip()


KIND = ExecutorKind(type=Slurm, forms=("slurm", "slurm:KEY=VALUE,..."), written=written)
