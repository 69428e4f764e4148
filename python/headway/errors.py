"""Errors that a user can cause. The command line prints them as one message and exits with status 2."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

from headway._headway import HeadwayError, ScenarioError

__all__ = [
    "ClaimsError",
    "HeadwayError",
    "NameNotFound",
    "ResultsError",
    "ScenarioError",
    "TableError",
    "nearest",
    "nearest_paths",
]

LIKE_ENOUGH = 0.6


class NameNotFound(HeadwayError):
    """A name that is in no list, with the nearest ones that are."""

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str = "") -> None:
        self.kind = kind
        self.name = name
        self.nearest = nearest(name, known)
        text = f"no {kind} is called '{name}'"
        if self.nearest:
            text += f"\n  nearest: {', '.join(self.nearest)}"
        if hint:
            text += f"\n  {hint}"
        super().__init__(text)


class ResultsError(HeadwayError):
    """A directory or a file of results that is missing, damaged, of the wrong shape, or cannot be written."""

    def __init__(self, path: Path, why: str, hint: str | None = None) -> None:
        self.path = path
        self.why = why
        message = f"{path}: {why}"
        super().__init__(f"{message}\n  help: {hint}" if hint else message)


class ClaimsError(HeadwayError):
    """A mistake in a claims file, at its line."""

    def __init__(self, path: Path, line: int, message: str, source: str = "", column: int = 0) -> None:
        self.path = path
        self.line = line
        text = f"{message}\n  --> {path}:{line}"
        if source:
            gutter = f"{line} | "
            text += f"\n  {gutter}{source}\n  {' ' * (len(gutter) + column)}^"
        super().__init__(text)


class TableError(HeadwayError):
    """A mistake in a table that somebody brought, at its line, or at its row where the file has no lines."""

    def __init__(
        self, path: Path, line: int, message: str, source: str = "", column: int = 0, lined: bool = True
    ) -> None:
        self.path = path
        self.line = line
        self.column = column + 1
        place = f"{path}:{line}:{column + 1}" if lined else f"{path}, row {line}"
        text = f"{message}\n  --> {place}"
        if source:
            gutter = f"{line} | "
            # What stands before the caret is as wide as in the line above it, tabs included.
            before = "".join("\t" if sign == "\t" else " " for sign in source[:column])
            text += f"\n  {gutter}{source}\n  {' ' * len(gutter)}{before}^"
        super().__init__(text)


def nearest(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """The names most like `name`, best first. The start of a long name counts as the whole of it."""
    scored = [(*_likeness(name.lower(), candidate.lower()), candidate) for candidate in set(known)]
    scored.sort(key=lambda entry: (-entry[0], -entry[1], entry[2]))
    return [candidate for best, _, candidate in scored[:limit] if best >= LIKE_ENOUGH]


def nearest_paths(path: Path, suffix: str = "") -> str:
    """A line for a message: files with a similar name in the folder of a missing path; empty if there are none."""
    folder = path.parent
    try:
        beside = [entry.name for entry in folder.iterdir() if entry.name.endswith(suffix)]
    except OSError:
        return ""
    close = nearest(path.name, beside)
    return f"\n  nearest: {', '.join(str(folder / name) for name in close)}" if close else ""


def _likeness(name: str, candidate: str) -> tuple[float, float]:
    """How alike, best of several ways; then how alike as a whole, for ties."""
    whole = difflib.SequenceMatcher(None, name, candidate).ratio()
    if name and name in candidate:
        return 1.0, whole
    starts = (candidate[: len(name)], candidate.rsplit("/", 1)[-1][: len(name)])
    return max(whole, *(difflib.SequenceMatcher(None, name, start).ratio() for start in starts)), whole
