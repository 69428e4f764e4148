"""A task: several points that one worker elsewhere runs one after the other, and tells of each.

As a program it runs one task of a folder; the scripts for batch systems call it so:
`python -m headway.sweeps FOLDER NUMBER`.
"""

from __future__ import annotations

import os
import platform
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway import _headway, store
from headway.data.reader import read_object
from headway.errors import HeadwayError
from headway.files import write_json
from headway.sweeps.mail import Outbox, outbox
from headway.sweeps.plan import Job
from headway.sweeps.worker import Failed, Finished, PointProgress, run_one

# Interval at which a long run reports its progress, and at which costs are remembered: many workers share that file.
TELL_S = 1.0
LEARN_S = 2.0
# Numbers of a summary that the line of a point shows.
SHOWN = ("flows_done", "flows_unfinished", "flows_failed", "fct_mean_s", "fct_p99_s", "slowdown_mean")
SHOWN_DROPS = ("drops", "data_drops")


@dataclass(frozen=True)
class Task:
    """Points for one worker, and the folder through which it is heard.

    `seconds` is what they are expected to take, `memory_bytes` what the largest of them needs.
    """

    number: int
    folder: Path
    points: tuple[Job, ...]
    seconds: float
    version: str = field(default_factory=_headway.version)
    epoch: int = field(default_factory=_headway.epoch)
    store: str | None = None

    @property
    def memory_bytes(self) -> int:
        """Memory of its largest point."""
        return max(point.memory_bytes for point in self.points)

    @property
    def threads(self) -> int:
        """Cores that a worker needs for it."""
        return max(point.threads for point in self.points)

    @property
    def file(self) -> Path:
        """File of the task for a worker that is a program of a batch system."""
        return task_file(self.folder, self.number)

    def write(self) -> None:
        """Write it down."""
        points = [point.to_json() for point in self.points]
        about = {"seconds": self.seconds, "version": self.version, "epoch": self.epoch, "store": self.store}
        write_json(self.file, {"number": self.number, **about, "points": points})

    @classmethod
    def read(cls, folder: Path, number: int) -> Task:
        """Read the form that `write` wrote."""
        value = read_object(task_file(folder, number))
        points = tuple(map(Job.from_json, value["points"]))
        return cls(number, folder, points, value["seconds"], value["version"], value["epoch"], value["store"])


def task_file(folder: Path, number: int) -> Path:
    """File of a task in a folder."""
    return folder / f"task-{number}.json"


def run_task(task: Task) -> str:
    """Run the points of a task. Returns why none of them can be run here; empty if they can."""
    here = platform.node()
    if (task.version, task.epoch) != (_headway.version(), _headway.epoch()):
        return (
            f"{here} has Headway {_headway.version()} (epoch {_headway.epoch()}), the sweep is of {task.version} "
            f"(epoch {task.epoch}): install the same version there"
        )
    if not task.folder.parent.parent.is_dir():
        return f"{here} has no directory {task.folder.parent.parent}: workers need the directory of the sweep"
    if task.store is not None:
        os.environ[store.VARIABLE] = task.store
    box = outbox(task.folder)
    box.send({"task": task.number, "begins": True})
    for point in task.points:
        if _ending or not box.is_wanted():
            break
        _run(point, task, box)
    # A task that a batch system ends may be in its queue again: it is not through.
    if not _ending:
        box.send({"task": task.number, "begins": False})
    return ""


def _run(point: Job, task: Task, box: Outbox) -> None:
    """Run one point and tell how it ended."""
    told = time.monotonic()

    def report(progress: PointProgress) -> None:
        nonlocal told
        if progress.progress is None:
            box.send({"task": task.number, "point": point.label})
        elif time.monotonic() - told >= TELL_S:
            told = time.monotonic()
            box.send({"task": task.number, "point": point.label, "at": progress.progress})

    began = time.monotonic()
    result = run_one(point, report, lambda: bool(_ending) or not box.is_wanted(), remember=_remembers())
    letter: dict[str, Any] = {"task": task.number, "point": point.label}
    if isinstance(result, Failed):
        letter |= {"ended": "failed", "error": result.error}
    elif isinstance(result, Finished):
        ended = "stopped" if result.interrupted else "stored" if result.reused else "done"
        letter |= {"ended": ended, "summary": shown(result.summary), "manifest": result.manifest}
        letter |= {"note": result.note} if result.note else {}
        letter["took_s"] = round(time.monotonic() - began, 6)
    else:
        letter["ended"] = "found" if result.finished else "busy"
    box.send(letter)


def shown(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a summary that a terminal shows."""
    return {key: summary[key] for key in (*SHOWN, *SHOWN_DROPS) if summary.get(key) is not None}


_learned = [0.0]


def _remembers() -> bool:
    """True if the next run is to be remembered."""
    if time.monotonic() - _learned[0] < LEARN_S:
        return False
    _learned[0] = time.monotonic()
    return True


# Not empty once a batch system has told this process to end.
_ending: list[int] = []


def main(arguments: list[str]) -> int:
    """Run a task of a folder; exit status 2 if none of its points can be run here."""
    folder, number = Path(arguments[0]), int(arguments[1])
    signal.signal(signal.SIGTERM, lambda number, _: _ending.append(number))
    signal.signal(signal.SIGINT, lambda number, _: _ending.append(number))
    try:
        refused = run_task(Task.read(folder, number))
    except HeadwayError as error:
        refused = str(error)
    if refused:
        outbox(folder).send({"task": number, "refused": refused})
        print(f"error: {refused}", file=sys.stderr)
        return 2
    return 0
