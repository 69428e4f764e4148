"""Errors that a user can cause. The command line prints them as one message and exits with status 2."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from headway._headway import HeadwayError, ScenarioError
from headway.layout import MANIFEST_FILE, SWEEP_FILE

__all__ = [
    "ArgumentError",
    "ClaimsError",
    "FeatureMissing",
    "HeadwayError",
    "NameNotFound",
    "ResultsError",
    "ScenarioError",
    "TableError",
    "nearest",
    "nearest_paths",
]

LIKE_ENOUGH = 0.6
# More of a line no message shows.
SHOWN_COLUMNS = 160
_PARTS = re.compile(r"[-_./ ]")
RESULTS = (MANIFEST_FILE, SWEEP_FILE)


class ArgumentError(HeadwayError):
    """Arguments that contradict each other. The command line says where the use of its command is described."""


class NameNotFound(HeadwayError):
    """A name that is in no list, with the nearest ones that are."""

    def __init__(self, kind: str, name: str, known: Iterable[str], hint: str = "") -> None:
        self.kind = kind
        self.name = name
        self.nearest = nearest(name, known)
        lines = [line for line in (did_you_mean(self.nearest), hint) if line]
        super().__init__(f"no {kind} is called '{name}'" + with_help(*lines))


class FeatureMissing(HeadwayError, ImportError):
    """A part that was left out when Headway was built or installed, as `make demo` does, and how to get it."""

    def __init__(self, part: str, lacks: str) -> None:
        self.lacks = lacks
        first = "`make install` installs everything, as `pip install` does"
        advice = with_help(first, "`make demo` installs only what a simulation needs")
        super().__init__(f"{part} needs {lacks}, which is not installed" + advice)


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
        super().__init__(shown(message, f"{path}:{line}" + (f":{column + 1}" if source else ""), line, source, column))


class TableError(HeadwayError):
    """A mistake in a table of the user, at its line, or at its row where the file has no lines."""

    def __init__(
        self, path: Path, line: int, message: str, source: str = "", column: int = 0, lined: bool = True
    ) -> None:
        self.path = path
        self.line = line
        self.column = column + 1
        place = f"{path}:{line}:{column + 1}" if lined else f"{path}, row {line}"
        super().__init__(shown(message, place, line, source, column))


def shown(message: str, place: str, line: int, source: str = "", column: int = 0) -> str:
    """A message with its place and the line of the text, marked as the native module marks it."""
    gutter = " " * len(str(line))
    text = f"{message}\n{gutter}  ╭─[{place}]\n"
    if source:
        source, column = _window(source, column)
        # The space before the caret is as wide as the text in the line above it, tabs included.
        before = "".join("\t" if sign == "\t" else " " for sign in source[:column])
        text += f" {line} │ {source}\n{gutter}  · {before}┬\n{gutter}  · {before}╰── here\n"
    return f"{text}{gutter}  ╰────"


def _window(source: str, column: int) -> tuple[str, int]:
    """A long line as a message shows it: the text around a column, and the column's place in that."""
    if len(source) <= SHOWN_COLUMNS:
        return source, column
    start = max(0, min(column - SHOWN_COLUMNS // 2, len(source) - SHOWN_COLUMNS))
    part = source[start : start + SHOWN_COLUMNS]
    before, after = "..." if start else "", "..." if start + SHOWN_COLUMNS < len(source) else ""
    return f"{before}{part}{after}", column - start + len(before)


def with_help(*lines: str) -> str:
    """Lines of advice, for the end of a message; empty if there are none."""
    if not lines:
        return ""
    first, *more = lines
    return f"\n  help: {first}" + "".join(f"\n        {line}" for line in more)


def did_you_mean(names: Sequence[str]) -> str:
    """The question that offers the nearest names; empty if there are none."""
    if not names:
        return ""
    *others, last = names
    return f"did you mean {', '.join(others)}{' or ' if others else ''}{last}?"


def nearest(name: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """The names most like `name`, best first. The start of a long name counts as the whole of it."""
    scored = [(*_likeness(name.lower(), candidate.lower()), candidate) for candidate in set(known)]
    scored.sort(key=lambda entry: (-entry[0], -entry[1], entry[2]))
    return [candidate for best, _, candidate in scored[:limit] if best >= LIKE_ENOUGH]


def nearest_paths(path: Path, suffix: str = "", *, folders: bool = False) -> str:
    """A line for a message: files with a similar name in the folder of a missing path; empty if there are none.

    With `folders`, only directories are offered: a file in the place of one would be the next mistake.
    """
    folder = path.parent
    try:
        beside = [one.name for one in folder.iterdir() if one.name.endswith(suffix) and (one.is_dir() or not folders)]
    except OSError:
        return ""
    close = [str(folder / name) for name in nearest(path.name, beside)]
    return with_help(did_you_mean(close)) if close else ""


def holds_results(directory: Path) -> bool:
    """True if a directory has a run or a sweep in it."""
    return any((directory / name).exists() for name in RESULTS)


def no_results(directory: Path) -> ResultsError:
    """Error for a path that was given as a directory of results but is not one, with the way to make one."""
    if directory.is_file():
        made = "is a file, not a directory of results"
        if directory.suffix == ".toml":
            return ResultsError(directory, made, f"of a scenario, `headway run {directory} --out DIR` makes one")
        return ResultsError(directory, made, f"it is in {directory.parent}")
    if directory.is_dir():
        inside = sorted({one.parent.name for name in RESULTS for one in directory.glob(f"*/{name}")})
        hint = f"it is in {', '.join(str(directory / one) for one in inside[:3])}" if inside else made_by(directory)
        return ResultsError(directory, "holds neither a run (manifest.json) nor a sweep (sweep.json)", hint)
    scenario = directory.with_name(f"{directory.name}.toml")
    if close := nearest_paths(directory, folders=True):
        return ResultsError(directory, "no such directory" + close)
    if scenario.is_file():
        return ResultsError(directory, "no such directory", f"{scenario} is a scenario: {made_by(directory, scenario)}")
    return ResultsError(directory, "no such directory", made_by(directory))


def made_by(directory: Path, scenario: Path | str = "SCENARIO") -> str:
    """Advice: the commands that write results into a directory."""
    return f"`headway run {scenario} --out {directory}` makes one run, `headway sweep` all variants and seeds"


def _likeness(name: str, candidate: str) -> tuple[float, float]:
    """Likeness of two names, by the best of several ways; then as a whole, for ties."""
    whole = difflib.SequenceMatcher(None, name, candidate).ratio()
    if name and name in candidate:
        return 1.0, whole
    if (parts := sorted(_PARTS.split(name)))[1:] and parts == sorted(_PARTS.split(candidate)):
        return 1.0, 1.0  # The same words in another order, as p99_slowdown.
    starts = (candidate[: len(name)], candidate.rsplit("/", 1)[-1][: len(name)])
    return max(whole, *(difflib.SequenceMatcher(None, name, start).ratio() for start in starts)), whole
