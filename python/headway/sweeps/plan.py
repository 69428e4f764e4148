"""Points that a sweep has to run, and those that a results directory already holds."""

from __future__ import annotations

import enum
import hashlib
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from headway import _headway
from headway.checksums import CHECKSUMS_FILE, add
from headway.data.point import Point
from headway.data.reader import glance, read_object
from headway.data.run import read
from headway.directories import drop_derived, inputs_of, prepare_sweep
from headway.errors import HeadwayError, ResultsError
from headway.files import write_json
from headway.layout import LOCKS, MANIFEST_FILE, PARTIAL, POINT_FILE, POINTS, SCENARIO_FILE, SWEEP_FILE
from headway.loading import Scenario
from headway.locks import acquire
from headway.names import ScenarioFile
from headway.own import at_place, place_of
from headway.transport import Factory

REPLACED = ".replaced"
# Lock of the process that writes the list of points, and the time that the last to write it waits for another.
RECORD_LOCK = "record.lock"
RECORD_WAIT_S = 60.0
RECORD_POLL_S = 0.01


class State(enum.StrEnum):
    """State of a point."""

    DONE = "done"
    PENDING = "pending"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Job:
    """A point that is to be run: what to load, and where its directory goes.

    `threads` is how many cores its run is given, and `or_one` whether one of them makes it where that is as fast; the
    results do not depend on it.
    """

    point: Point
    digest: str
    scenario: str
    scale: str | None
    memory_bytes: int
    directory: Path
    threads: int = 1
    or_one: bool = False
    # Of transports written in Python: their names, and the places that they are imported from.
    transports: tuple[tuple[str, str], ...] = ()

    def load(self) -> Scenario:
        """The scenario of the point."""
        own = {name: at_place(place) for name, place in self.transports}
        return Scenario.load(self.scenario, sets=self.point.sets, scale=self.scale, transports=own)

    @property
    def label(self) -> str:
        """Label of the point."""
        return self.point.label

    @property
    def partial(self) -> Path:
        """Directory that the run writes to until it is finished."""
        return self.directory.with_name(self.directory.name + PARTIAL)

    @property
    def lock(self) -> Path:
        """The lock that the process which runs the point holds."""
        return self.directory.parent.parent / LOCKS / self.directory.name

    @property
    def is_finished(self) -> bool:
        """True if its results are there, without a check of their contents."""
        return holds_run_of(self)

    def absolute(self) -> Job:
        """The same point with its directory from the root on, for processes that work in another directory."""
        return replace(self, directory=self.directory.absolute())

    def to_json(self) -> dict[str, Any]:
        """As a file holds it that a worker elsewhere reads."""
        return {
            **self.identity(),
            "sets": list(self.point.sets),
            "scenario": self.scenario,
            "scale": self.scale,
            "memory_bytes": self.memory_bytes,
            "threads": self.threads,
            "transports": [list(one) for one in self.transports],
            "or_one": self.or_one,
            "dir": str(self.directory),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Job:
        """Read the form that `to_json` wrote."""
        return cls(
            point=Point(value["label"], value["variant"], value["axes"], value["seed"], tuple(value["sets"])),
            digest=value["digest"],
            scenario=value["scenario"],
            scale=value["scale"],
            memory_bytes=value["memory_bytes"],
            directory=Path(value["dir"]),
            threads=value["threads"],
            transports=tuple((name, place) for name, place in value["transports"]),
            or_one=value["or_one"],
        )

    def identity(self) -> dict[str, Any]:
        """The part of `sweep.json` that says which run this is."""
        return {
            "label": self.label,
            "variant": self.point.variant,
            "axes": dict(self.point.axes),
            "seed": self.point.seed,
            "digest": self.digest,
            "dir": f"{POINTS}/{self.directory.name}",
        }


@dataclass(frozen=True)
class Shard:
    """One of several equal parts of a sweep, counted from 1: every `count`th point, so that all variants are in it."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """From `3/40`; raises `HeadwayError` for anything else."""
        found = re.fullmatch(r"\s*(\d+)\s*/\s*(\d+)\s*", text)
        if not found or not 1 <= int(found[1]) <= int(found[2]):
            raise HeadwayError(f"{text!r} is no shard: write K/N with K from 1 to N, such as 3/40")
        return cls(int(found[1]), int(found[2]))

    def of(self, points: Sequence[Job]) -> tuple[Job, ...]:
        """Its points."""
        return tuple(points[self.number - 1 :: self.count])

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


@dataclass(frozen=True)
class SweepPlan:
    """All points of a sweep, the scenario they vary, and the directory they go to."""

    file: ScenarioFile
    scenario: Mapping[str, Any]
    out: Path
    points: tuple[Job, ...]

    def prepare(self, *, overwrite: bool = False) -> None:
        """Make the directory ready; raises `ResultsError` if it holds another sweep and `overwrite` is false."""
        jobs = {point.directory.name: point for point in self.points}

        def resolved(name: str) -> Mapping[str, Any]:
            job = jobs[name]
            return job.load().resolved

        wanted = {name: point.digest for name, point in jobs.items()}
        inputs = inputs_of(self.file.path, self.scenario)
        prepare_sweep(self.out, wanted, self.scenario, inputs=inputs, overwrite=overwrite, resolved=resolved)

    @property
    def is_recorded(self) -> bool:
        """True if the directory's list of points is that of this sweep."""
        rows = glance(self.out / SWEEP_FILE)
        listed = [(row.get("label"), row.get("digest")) for row in rows] if isinstance(rows, list) else []
        return listed == [(point.label, point.digest) for point in self.points]

    def begin(self) -> None:
        """Record where the sweep begins. Verdicts and reports of fewer or other points would mislead: they go."""
        if not self.is_recorded or not all(point.is_finished for point in self.points):
            drop_derived(self.out)
        self._write({point.label: State.PENDING for point in self.points}, {}, {})

    def survey(self, points: Sequence[Job] | None = None) -> tuple[dict[str, State], list[str]]:
        """State of each point, and notes on those that are not finished.

        Only `points` are looked at, if they are given: all others count as pending.
        """
        states = {point.label: State.PENDING for point in self.points}
        notes: list[str] = []
        others = unchecked = 0
        for point in self.points if points is None else points:
            finished, note = look_at(point)
            states[point.label] = State.DONE if finished else State.PENDING
            notes += [note] if note else []
            others += finished and read_object(point.directory / POINT_FILE).get("build") != build()
            unchecked += finished and not (point.directory / CHECKSUMS_FILE).exists()
        if others:
            notes.append(
                f"{others} finished points are of another build of this version; to run them again, "
                f"remove {self.out / POINTS}"
            )
        if unchecked:
            notes.append(f"{unchecked} finished points have no {CHECKSUMS_FILE}: damage in them would go unnoticed")
        return states, notes

    def record(self, states: Mapping[str, State], errors: Mapping[str, str], *, final: bool = False) -> None:
        """Write `sweep.json` as things stand, and the scenario that it is a sweep of.

        What is pending here another process may have finished, or failed at. One process writes at a time, or else
        the older look at the points could be written last. The last look of a command waits for its turn, any other
        is left out if another process is writing.
        """
        with _alone(self.out / LOCKS / RECORD_LOCK, RECORD_WAIT_S if final else 0.0) as alone:
            if not alone and not final:
                return
            said = self._failed_elsewhere() if State.PENDING in states.values() else {}
            self._write(states, errors, said)

    def _write(self, states: Mapping[str, State], errors: Mapping[str, str], said: Mapping[str, str]) -> None:
        """`said` are the errors of points at which others failed."""
        rows = []
        for point in self.points:
            state, error = states[point.label], errors.get(point.label)
            if state is State.PENDING and point.is_finished:
                state = State.DONE
            elif state is State.PENDING and point.label in said:
                state, error = State.FAILED, said[point.label]
            row: dict[str, Any] = {**point.identity(), "state": str(state)}
            if error is not None:
                row["error"] = error
            rows.append(row)
        write_json(self.out / SWEEP_FILE, rows)
        write_json(self.out / SCENARIO_FILE, self.scenario)

    def _failed_elsewhere(self) -> dict[str, str]:
        """The errors of points that the list says have failed; a process that runs one again has it in `states`."""
        rows = glance(self.out / SWEEP_FILE)
        known = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
        return {row["label"]: row.get("error", "") for row in known if row.get("state") == State.FAILED}


@contextmanager
def _alone(path: Path, wait_s: float) -> Iterator[bool]:
    """Hold the lock at `path`, waiting so long for it; gives whether it is held."""
    until = time.monotonic() + wait_s
    while (lock := acquire(path)) is None and time.monotonic() < until:
        time.sleep(RECORD_POLL_S)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            lock.release()


def plan(
    file: ScenarioFile,
    out: Path,
    *,
    sets: Sequence[str] = (),
    scale: str | None = None,
    strict: bool = False,
    transports: Mapping[str, Factory] | None = None,
) -> SweepPlan:
    """Resolve every point of the sweep; raises the error of any of them before anything runs.

    That is all that `headway check` refuses too. Points that differ in their seeds alone are looked at once, and those
    that are finished not at all. If `strict`, an override that is in effect at no point is wrong as well.
    """
    scenario = Scenario.load(file.path, sets=sets, scale=scale, transports=transports)
    own = {name: place_of(name, factory) for name, factory in (transports or {}).items()}
    if strict:
        scenario.native.check_sets(True)
    points: list[Job] = []
    checked: set[str] = set()
    for point in scenario.points():
        loaded = scenario.at(point)
        job = Job(
            point=replace(point, sets=(*sets, *point.sets)),
            digest=loaded.digest,
            scenario=str(file.path.resolve()),
            scale=scale,
            memory_bytes=int(loaded.estimate["memory_bytes"]),
            directory=out / POINTS / folder_name(point.label),
            transports=tuple(own.items()),
        )
        points.append(job)
        if point.place not in checked and not job.is_finished:
            checked.add(point.place)
            loaded.native.check_run()
    folders = [p.directory for p in points]
    if len(set(folders)) != len(folders):
        raise HeadwayError(f"{file.name}: two points of the sweep have the same label")
    return SweepPlan(file, scenario.resolved, out, tuple(points))


@cache
def build() -> str:
    """Identifies the native module's file. A digest identifies a run by version; between versions code changes too."""
    return hashlib.sha256(Path(_headway.__file__).read_bytes()).hexdigest()[:16]


def folder_name(label: str) -> str:
    """A label as a directory name: letters, digits and `-_.=,+` stay."""
    return re.sub(r"[^\w.=,+-]+", "_", label).strip(".") or "point"


def settle(point: Job, conditions: Mapping[str, Any] | None = None) -> None:
    """Put a finished run in its place; the former run goes only when the new one is complete.

    `conditions` is what else its record says of how it was run.
    """
    write_json(point.partial / POINT_FILE, {**point.identity(), "build": build(), **(conditions or {})})
    add(point.partial, POINT_FILE)
    replaced = point.directory.with_name(point.directory.name + REPLACED)
    shutil.rmtree(replaced, ignore_errors=True)
    if point.directory.exists():
        point.directory.rename(replaced)
    point.partial.rename(point.directory)
    shutil.rmtree(replaced, ignore_errors=True)


def recorded(point: Job) -> str | None:
    """The digest of the run that is in the point's place."""
    value = glance(point.directory / POINT_FILE)
    return value.get("digest") if isinstance(value, dict) else None


def holds_run_of(point: Job) -> bool:
    """True if a finished run with the digest of the point is in its place, by what run and record say of themselves."""
    record, manifest = glance(point.directory / POINT_FILE), glance(point.directory / MANIFEST_FILE)
    return isinstance(record, dict) and isinstance(manifest, dict) and _are_of(point, record, manifest)


def _are_of(point: Job, record: Mapping[str, Any], manifest: Mapping[str, Any]) -> bool:
    """True if a record and a manifest are of the point's run.

    Where the record names a machine, the run was on real packets, and its manifest has a digest of its own.
    """
    return record.get("digest") == point.digest and ("machine" in record or manifest.get("digest") == point.digest)


def look_at(point: Job) -> tuple[bool, str]:
    """True if the point is finished and readable, and a note if something else is there."""
    if not point.directory.exists():
        return False, ""
    try:
        manifest = read(point.directory).manifest
        if not _are_of(point, read_object(point.directory / POINT_FILE), manifest):
            return False, f"{point.directory}: holds another scenario or version; this point is run again"
    except ResultsError as error:
        return False, f"{error}; this point is run again"
    return True, ""
