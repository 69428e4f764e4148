"""Contents of a directory: runs and sweeps, and the progress of sweeps. It is read again at each request, within
bounds."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError, ResultsError
from headway.inputs import is_text, parse_json, read_text
from headway.layout import MANIFEST_FILE, SCENARIO_FILE, SWEEP_FILE

MOST_FOLDERS = 20_000  # that a request looks into
MOST_ENTRIES = 1_000  # runs and sweeps that a page lists
MOST_POINTS = 2_000  # runs that can be chosen for a comparison
MOST_BYTES = 16_000_000  # of a list of points
DEEPEST = 8


@dataclass(frozen=True)
class Entry:
    """A run or a sweep: its path from the directory that is served, and the states of its points."""

    path: str
    kind: str
    changed: float
    states: Mapping[str, int]
    points: tuple[str, ...] = ()
    title: str = ""

    def document(self) -> dict[str, Any]:
        """As the pages read it."""
        total = sum(self.states.values())
        done = self.states.get("done", 0)
        running = self.kind == "sweep" and done + self.states.get("failed", 0) < total
        states = dict(self.states)
        names = {"path": self.path, "title": self.title or self.path, "kind": self.kind}
        counts = {"done": done, "total": total, "failed": states.get("failed", 0), "open": running}
        return {**names, "changed": self.changed, **counts}


@dataclass(frozen=True)
class Found:
    """Everything that was found; `cut` says that there is more, `odd` how many folders have names that are not text."""

    entries: tuple[Entry, ...]
    cut: bool
    odd: int = 0

    @property
    def runs(self) -> list[str]:
        """Every run that can be compared, points of sweeps among them."""
        found: list[str] = []
        for entry in self.entries:
            found += entry.points if entry.kind == "sweep" else [entry.path]
        return found[:MOST_POINTS]


def look(root: Path) -> Found:
    """The runs and sweeps below `root`, those that changed last first."""
    entries: list[Entry] = []
    odd: list[Path] = []
    for folders, folder in enumerate(_walk(root, 0, odd), start=1):
        if folders > MOST_FOLDERS or len(entries) >= MOST_ENTRIES:
            return Found(_newest(entries), True, len(odd))
        entry = entry_of(root, folder)
        if entry is not None:
            entries.append(entry)
    return Found(_newest(entries), False, len(odd))


def _newest(entries: list[Entry]) -> tuple[Entry, ...]:
    return tuple(sorted(entries, key=lambda entry: (-entry.changed, entry.path)))


def _walk(folder: Path, depth: int, odd: list[Path]) -> Iterator[Path]:
    """The folder and those below it, but not the folders inside a run or a sweep, and nothing behind a link.

    Those whose names are not UTF-8 have no address; they are added to `odd`.
    """
    yield folder
    if depth >= DEEPEST or _is_result(folder):
        return
    try:
        with os.scandir(folder) as inside:
            names = sorted(one.name for one in inside if one.is_dir(follow_symlinks=False))
    except OSError:
        return
    for name in names:
        if not is_text(name):
            odd.append(folder / name)
        elif not name.startswith("."):
            yield from _walk(folder / name, depth + 1, odd)


def _is_result(folder: Path) -> bool:
    return (folder / SWEEP_FILE).is_file() or (folder / MANIFEST_FILE).is_file()


def entry_of(root: Path, folder: Path) -> Entry | None:
    """The run or sweep in a folder; None if there is none."""
    path = folder.relative_to(root).as_posix()
    for name, kind in ((SWEEP_FILE, "sweep"), (MANIFEST_FILE, "run")):
        file = folder / name
        try:
            changed = file.stat().st_mtime
        except OSError:
            continue
        if kind == "run":
            return Entry(path, kind, changed, {"done": 1}, title=_title(file, changed))
        records = _records(file)
        states = Counter(str(one.get("state", "done")) for one in records)
        done = (str(one.get("dir") or "") for one in records if one.get("state", "done") == "done")
        points = tuple(f"{path}/{place}" for place in done if place and is_text(place))
        title = _title(folder / SCENARIO_FILE, changed)
        if not title and points:
            title = _title(root / points[0] / MANIFEST_FILE, changed)
        return Entry(path, kind, changed, dict(states), points[:MOST_POINTS], title)
    return None


# The list is read every two seconds, and a title changes with its file alone.
@lru_cache(maxsize=4 * MOST_ENTRIES)
def _title(file: Path, _changed: float) -> str:
    """Title of the scenario that a manifest or a sweep's scenario holds; empty without one."""
    try:
        found = parse_json(file, read_text(file, MOST_BYTES))
    except (OSError, ResultsError):
        return ""
    scenario = found.get("scenario", found) if isinstance(found, dict) else {}
    title = scenario.get("title") if isinstance(scenario, dict) else None
    return title if isinstance(title, str) and is_text(title) else ""


def _records(file: Path) -> list[Mapping[str, Any]]:
    """The points of a sweep; none where the file cannot be read, which its report explains."""
    try:
        found = parse_json(file, read_text(file, MOST_BYTES))
    except (OSError, ResultsError):
        return []
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def inside(root: Path, path: str) -> Path:
    """The folder of a run or a sweep below `root`; raises `HeadwayError` for any other path, inside or outside."""
    try:
        folder = (root / path).resolve()
        good = folder.is_relative_to(root) and _is_result(folder)
    except (OSError, ValueError):
        good = False
    if not good:
        raise HeadwayError(f"there is no run and no sweep at {path!r}")
    return folder
