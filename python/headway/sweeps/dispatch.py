"""Runs the points of a board in tasks elsewhere, whatever hands them out, and hears of them through a shared folder."""

from __future__ import annotations

import os
import shutil
import time
import uuid
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from headway import store
from headway.errors import HeadwayError
from headway.files import writable_directory
from headway.layout import TASKS
from headway.locks import Lock, acquire, is_free
from headway.sweeps.board import Board
from headway.sweeps.mail import OPEN_FILE, Inbox
from headway.sweeps.packing import Limits, Packer
from headway.sweeps.plan import Job, holds_run_of, look_at
from headway.sweeps.task import Task
from headway.sweeps.worker import Elsewhere, Failed, Finished

POLL_S = 0.05
# Points that other processes hold are looked at so often.
BUSY_S = 0.5
# A point that is under way when so many workers die is what kills them.
DEATHS = 4
# So many tasks end one after the other before any point of theirs began: then none ever will.
EMPTY_HANDED = 3
# Time that tasks may take to stop.
STOP_S = 30.0
OWNER_LOCK = "owner.lock"
# Age after its last change at which a folder counts as abandoned.
LEFT_S = 3600.0
# So many tasks come to their end one after the other without ending or meeting any of their points.
FRUITLESS = 20


class Handle(Protocol):
    """A task that was handed out."""

    def done(self, said: bool) -> bool:
        """True if it has ended in any way; `said` is True if it reported its end itself."""

    def error(self) -> str:
        """Of one that has: why it ended before its points did; empty if it came to its end.

        Raises `HeadwayError` if its worker cannot run any point of the sweep.
        """

    def blameless(self) -> bool:
        """Of one that has: true if its worker was taken away, even if the task was fine."""

    def cancel(self) -> None:
        """Take it back, if it has not begun; otherwise it notices by itself that it is not wanted any more."""


class Lane(Protocol):
    """Channel that hands tasks to workers."""

    limits: Limits
    # True if a worker may run several tasks at a time, so that one that dies takes others with it.
    shared: bool
    # So many free places are filled at once; 1 where handing out one costs no more than its share of many.
    batch: int

    def width(self) -> int:
        """Tasks that are run at once."""

    def in_hand(self) -> int:
        """Tasks that are handed out at once: some more, so that no worker waits for the next."""

    def memory(self) -> int | None:
        """Bytes of all workers together, if that is known."""

    def submit(self, tasks: Sequence[Task]) -> Sequence[Handle]:
        """Hand out tasks; raises `HeadwayError` if it takes none."""

    def withdraw(self) -> None:
        """Nothing more is wanted: take back whatever still waits somewhere."""

    def news(self) -> Sequence[str]:
        """Why tasks wait, where they may wait for ever; each reason once."""


@dataclass
class Given:
    """A task that was handed out and has not ended."""

    task: Task
    handle: Handle
    begun: bool = False
    ended: bool = False


@dataclass(frozen=True)
class Desk:
    """The folder of one command, which holds its lock as long as it lives."""

    folder: Path
    lock: Lock

    @property
    def open_file(self) -> Path:
        """As long as it is there, workers go on."""
        return self.folder / OPEN_FILE

    def close(self) -> None:
        """Tell workers that nothing more is wanted, and take everything away."""
        self.open_file.unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.lock.release()


def orphans(out: Path) -> Iterator[Desk]:
    """The folders of commands that died; the caller that gets one owns it, and has to close it or to release its
    lock."""
    for folder in sorted((out.absolute() / TASKS).glob("*")):
        if folder.is_dir() and (lock := acquire(folder / OWNER_LOCK)) is not None:
            yield Desk(folder, lock)


def tidy(out: Path) -> None:
    """Remove the files of dead commands. Workers of theirs that still write are not disturbed."""
    for desk in orphans(out):
        if time.time() - max(path.stat().st_mtime for path in desk.folder.iterdir()) > LEFT_S:
            desk.close()
        else:
            desk.lock.release()


def new_desk(out: Path) -> Desk:
    """A folder for this command."""
    folder = writable_directory(out.absolute() / TASKS / uuid.uuid4().hex[:12])
    lock = acquire(folder / OWNER_LOCK)
    if lock is None:
        raise HeadwayError(f"{folder}: another process holds a lock in a directory of this one")
    desk = Desk(folder, lock)
    desk.open_file.touch()
    return desk


@contextmanager
def opened(out: Path, desk: Desk | None = None) -> Iterator[Desk]:
    """A folder for this command, a new one or that of a dead command, as long as it needs one."""
    tidy(out)
    desk = desk or new_desk(out)
    try:
        yield desk
    finally:
        desk.close()
        with suppress(OSError):
            (out / TASKS).rmdir()


def named_store() -> str | None:
    """The store that workers are to use, where this command's environment names one."""
    said = os.environ.get(store.VARIABLE)
    directory = store.directory()
    return said if said is None or directory is None else str(directory.absolute())


@dataclass
class Dispatch:
    """Hands out tasks, hears of their points, and takes care of the rest of tasks that died."""

    board: Board
    lane: Lane
    desk: Desk
    given: list[Given] = field(default_factory=list)
    # The number of the next task.
    next_number: int = 0

    def __post_init__(self) -> None:
        in_hand = {point.label for given in self.given for point in given.task.points}
        pending = (point.absolute() for point in self.board.pending())
        self._packer = Packer(pending, self.board.plan.file.name, self.lane.limits, in_hand)
        self._inbox = Inbox(self.desk.folder)
        # Number of times that each point began without an end.
        self._begins: Counter[str] = Counter()
        # Number of reports on each point that turned out to be wrong.
        self._doubts: Counter[str] = Counter()
        self._alone: deque[Job] = deque()
        # Points of which one kills the workers: each is run while nothing else is, by which it is known.
        self._suspects: deque[Job] = deque()
        self._on_trial = ""
        self._any_began = False
        self._busy: list[Job] = []
        self._busy_from = 0.0
        self._empty_handed = self._fruitless = 0
        self._notes: set[str] = set()
        self._stopping = 0.0

    def run(self) -> None:
        """Until all points have ended, or those under way have after a stop."""
        told: list[Job] = []
        while True:
            self._hear()
            self._end_tasks()
            for text in self.lane.news():
                self.board.observer.noted(text)
            if self._stops():
                if not self.given or time.monotonic() - self._stopping > STOP_S:
                    return
            else:
                self._hand_out()
                if not (self.given or self._packer or self._alone or self._suspects):
                    if not self._busy:
                        # A batch system may have put a task back into its queue just when it was through.
                        self.lane.withdraw()
                        return
                    if told != self._busy:
                        told = list(self._busy)
                        self.board.observer.waiting(told)
            time.sleep(POLL_S)

    def give_up(self) -> None:
        """End everything that was handed out, and wait for none of it."""
        self.desk.open_file.unlink(missing_ok=True)
        for given in self.given:
            given.handle.cancel()
        self.lane.withdraw()

    def _stops(self) -> bool:
        """True if the sweep is being stopped; the first time, tells all tasks."""
        if not self._stopping and self.board.stop_requested():
            self._stopping = time.monotonic()
            self.desk.open_file.unlink(missing_ok=True)
            for given in self.given:
                if not given.begun:
                    given.handle.cancel()
            self.lane.withdraw()
            self.given = [given for given in self.given if given.begun]
        return self._stopping > 0.0

    def _hand_out(self) -> None:
        """Fill free places; waiting points of other processes are checked again."""
        if self._busy and time.monotonic() >= self._busy_from:
            self._busy_from = time.monotonic() + BUSY_S
            free = [point for point in self._busy if point.is_finished or is_free(point.lock)]
            self._busy = [point for point in self._busy if point not in free]
            self._packer.put_back(free)
        if self._suspects:
            if not self.given:
                point = self._suspects.popleft()
                self._on_trial = point.label
                self._submit([self._task((point,), 0.0)])
                self.next_number += 1
            return
        if self._on_trial:
            if self.given:
                return
            self._on_trial = ""
        places = self.lane.in_hand() - len(self.given)
        if self.given and places < self.lane.batch:
            return
        tasks: list[Task] = []
        memory, limit = sum(given.task.memory_bytes for given in self.given), self.lane.memory()
        while len(tasks) < places and (self._alone or self._packer):
            # All of one bad point: if it takes its worker with it, nothing else is lost.
            points, seconds = ((self._alone.popleft(),), 0.0) if self._alone else self._packer.cut(self.lane.width())
            task = self._task(points, seconds)
            if limit and (tasks or self.given) and memory + task.memory_bytes > limit:
                self._packer.put_back(points)
                break
            memory += task.memory_bytes
            self.next_number += 1
            tasks.append(task)
        if tasks:
            self._submit(tasks)

    def _task(self, points: tuple[Job, ...], seconds: float) -> Task:
        return Task(self.next_number, self.desk.folder, points, seconds, store=named_store())

    def _submit(self, tasks: Sequence[Task]) -> None:
        handles = self.lane.submit(tasks)
        self.given += [Given(task, handle) for task, handle in zip(tasks, handles, strict=True)]

    def _hear(self) -> None:
        """Read the output of workers."""
        for letter in self._inbox.letters():
            if "refused" in letter:
                raise HeadwayError(str(letter["refused"]))
            if "begins" in letter:
                self._task_began_or_ended(letter)
            elif (point := self.board.of(str(letter.get("point")))) is not None:
                try:
                    self._hear_of(point, letter)
                except (KeyError, TypeError, ValueError) as error:
                    self._doubt(point, f"a worker said what no worker says ({type(error).__name__}: {error})")

    def _task_began_or_ended(self, letter: dict[str, Any]) -> None:
        for given in self.given:
            if given.task.number == letter.get("task"):
                given.begun, given.ended = True, not letter["begins"]
        self._empty_handed = 0
        self._any_began = True

    def _hear_of(self, point: Job, letter: dict[str, Any]) -> None:
        ended = letter.get("ended")
        if ended is None:
            self._begins[point.label] += "at" not in letter
            self.board.observer.progressed(point.label, letter.get("at"))
            return
        began = self._begins.pop(point.label, 0)
        if not self.board.is_pending(point):
            return
        if ended in ("done", "stored") and not holds_run_of(point):
            self._doubt(point, "a worker said that it was done, and its results are not there")
        elif ended in ("done", "stored"):
            self._packer.learn(point, float(letter["took_s"]))
            self.board.end(point, self._finished(point, letter, interrupted=False))
        elif ended == "stopped" and self._stopping:
            self.board.end(point, self._finished(point, letter, interrupted=True))
        elif ended == "failed":
            self.board.end(point, Failed(point.label, str(letter["error"])))
        elif ended == "found" and began:
            self.board.found(point)
        elif ended == "found":
            self.board.end(point, Elsewhere(point.label, finished=True))
        elif ended == "stopped":
            # A batch system ended the task: the point is left, and run again.
            self.board.observer.lost(point.label)

    def _doubt(self, point: Job, why: str) -> None:
        """Note a wrong report on a point: it stays pending, and is looked at and run again when its task ends."""
        self._doubts[point.label] += 1
        if self._doubts[point.label] >= DEATHS and self.board.is_pending(point):
            self.board.fail(point, f"{why}, {DEATHS} times")
        else:
            self.board.observer.noted(f"{point.label}: {why}; it is run again")

    def _finished(self, point: Job, letter: dict[str, Any], *, interrupted: bool) -> Finished:
        reused = letter.get("ended") == "stored"
        summary, manifest = letter.get("summary") or {}, letter.get("manifest") or {}
        return Finished(point.label, summary, manifest, interrupted, reused, str(letter.get("note") or ""))

    def _end_tasks(self) -> None:
        """Take care of the rest of tasks that have ended."""
        ended = [given for given in self.given if given.handle.done(given.ended)]
        if not ended:
            return
        # Reports that were written before the end are read before the tasks are judged.
        self._hear()
        self.given = [given for given in self.given if given not in ended]
        for given in ended:
            error = "" if given.ended else given.handle.error()
            blameless = bool(error) and given.handle.blameless()
            left = [point for point in given.task.points if self.board.is_pending(point)]
            if error and not given.begun and not blameless:
                self._empty_handed += 1
                # A pool may blame all tasks that wait behind one whose point kills workers: they never began.
                most = EMPTY_HANDED * max(1, self.lane.in_hand()) if self._any_began else EMPTY_HANDED
                if self._empty_handed >= most:
                    raise HeadwayError(
                        f"{self._empty_handed} tasks ended before they began: {error}\n"
                        f"  help: workers need the same version of Headway, and {self.desk.folder} under the same name"
                    )
            if left and not self._stopping:
                waiting = len(self._busy)
                # A pool may blame a task that never ran: then it was another that ended.
                told = given.begun or not self.lane.shared
                self._see_to(left, error, told=told, blameless=blameless)
                idle = not error and len(left) == len(given.task.points) and len(self._busy) == waiting
                self._fruitless = self._fruitless + 1 if idle else 0
                if self._fruitless >= FRUITLESS:
                    raise HeadwayError(
                        f"{self._fruitless} tasks ended without running their points, such as {left[0].label}: do "
                        f"workers see {self.desk.folder}?"
                    )

    def _see_to(self, left: Sequence[Job], error: str, *, told: bool, blameless: bool) -> None:
        """Handle points without a reported end: finished all the same, held by another process, or to be run again.

        `told` is True if the error is to be reported, `blameless` if no point can be its reason.
        """
        again: list[Job] = []
        for point in left:
            began = self._begins[point.label]
            if look_at(point)[0]:
                self._begins.pop(point.label, None)
                if began:
                    self.board.found(point)
                else:
                    self.board.end(point, Elsewhere(point.label, finished=True))
            elif not is_free(point.lock):
                self._busy.append(point)
            elif error and began:
                self.board.observer.lost(point.label)
                if blameless:
                    self._begins.pop(point.label, None)
                    again.append(point)
                elif began < DEATHS:
                    self._alone.append(point)
                elif self.lane.shared and self._on_trial != point.label and self._others_died(point):
                    self._suspects.append(point)
                else:
                    self.board.fail(
                        point, f"{began} processes died while they ran it (out of memory, or killed): {error}"
                    )
                    self._begins.pop(point.label, None)
            else:
                again.append(point)
        run_again = again or self._alone or self._suspects
        if error and told and run_again and error not in self._notes:
            self._notes.add(error)
            self.board.observer.noted(f"a task ended early, its points are run again: {error}")
        self._packer.put_back(again)

    def _others_died(self, point: Job) -> bool:
        """True if other points began again without an end: then it may be one of them that kills workers."""
        return any(count > 1 for label, count in self._begins.items() if label != point.label)
