"""Worker process of a sweep: runs one point at a time, and reports to the process that started it."""

from __future__ import annotations

import multiprocessing
import os
import platform
import shutil
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headway.data.sentences import surprising
from headway.errors import HeadwayError
from headway.locks import held
from headway.sweeps.pace import learn
from headway.sweeps.plan import Job, look_at, settle

if TYPE_CHECKING:
    from multiprocessing.queues import SimpleQueue
    from multiprocessing.synchronize import Event


@dataclass(frozen=True)
class PointProgress:
    """Report of a worker to its parent about a point: that it began, how far it is, or how it ended."""

    label: str
    progress: dict[str, Any] | None = None
    # Of the first: the processor time of the process until then.
    began_cpu_s: float | None = None


@dataclass(frozen=True)
class Finished:
    """The end of one point."""

    label: str
    summary: dict[str, Any]
    manifest: dict[str, Any]
    interrupted: bool
    reused: bool = False
    note: str = ""


@dataclass(frozen=True)
class Elsewhere:
    """A point that was not run here: another process has finished it, or is running it now."""

    label: str
    finished: bool


@dataclass(frozen=True)
class Failed:
    """A point that could not be run, and why. Not an exception: not every exception can cross to another process."""

    label: str
    error: str


@dataclass
class _Channel:
    reports: SimpleQueue[PointProgress] | None = None
    stop: Event | None = None


_channel = _Channel()


def initialise(reports: SimpleQueue[PointProgress], stop: Event) -> None:
    """Called once in each worker. Ctrl-C is the parent's business: it raises `stop`; without it there is none."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _channel.reports = reports
    _channel.stop = stop


def _end_with_parent() -> None:
    """End with the parent process, however it died: its results would be lost."""
    if (parent := multiprocessing.parent_process()) is not None:
        parent.join()
        os._exit(1)


def run_point(point: Job) -> Finished | Elsewhere | Failed:
    """Run one point in a process of a local pool, which `initialise` has prepared."""
    reports, stop = _channel.reports, _channel.stop
    if reports is None or stop is None:
        raise RuntimeError("the worker was not initialised")
    return run_one(point, reports.put, stop.is_set)


def run_one(
    point: Job, report: Callable[[PointProgress], None], stopped: Callable[[], bool], *, remember: bool = True
) -> Finished | Elsewhere | Failed:
    """Run one point unless another process does; a failure is reported and costs the others nothing.

    `remember` says whether what it took is worth remembering.
    """
    try:
        with held(point.lock) as mine:
            if not mine:
                return Elsewhere(point.label, finished=False)
            if look_at(point)[0]:
                return Elsewhere(point.label, finished=True)
            return _run(point, report, stopped, remember=remember)
    except HeadwayError as error:
        return Failed(point.label, str(error))
    except Exception as error:
        return Failed(point.label, f"{type(error).__name__}: {error}")


def _run(
    point: Job, report: Callable[[PointProgress], None], stopped: Callable[[], bool], *, remember: bool
) -> Finished:
    """Run one point into its partial directory, then put it in place unless it was stopped."""
    report(PointProgress(point.label, began_cpu_s=time.process_time()))

    def progress(state: dict[str, Any]) -> bool:
        report(PointProgress(point.label, state))
        return not stopped()

    shutil.rmtree(point.partial, ignore_errors=True)
    began, began_cpu = time.monotonic(), time.process_time()
    scenario = point.load()
    if scenario.digest != point.digest:
        raise HeadwayError(
            f"{point.scenario} is another run on {platform.node()} than where the sweep was planned: the file, what it "
            f"names or Headway's version differ"
        )
    run = scenario.run(point.partial, progress=progress, threads=point.threads, or_one=point.or_one)
    # Read before the directory moves: a run of the store is read from there.
    summary, manifest = (
        run.summary,
        {key: run.manifest.get(key) for key in ("virtual_s", "wall_s", "events", "digest")}
        | {"warnings": surprising(run.manifest)},
    )
    if not run.interrupted:
        files = sum(file.stat().st_size for file in point.partial.iterdir() if file.is_file())
        settle(point)
        if remember and not run.reused:
            # No clock measures the simulation's own time on the processor; its share of the time does.
            share = float(manifest["wall_s"] or 0.0) / (time.monotonic() - began)
            learn(scenario, time.process_time() - began_cpu, share, files)
    return Finished(point.label, summary, manifest, run.interrupted, run.reused, run.note)
