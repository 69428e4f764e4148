"""Warnings before a run about a scenario's `[report]`: figures without data, and keys without
effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headway.data.schema import field_of

from .figures import NAMES, aliases, kind_of
from .figures.kind import Facts, are_numbers


def texts(value: object) -> list[str]:
    """A text, or a list of them, as a list."""
    return [str(item) for item in (value if isinstance(value, list) else [value] if value else [])]


def wanted(report: Mapping[str, Any]) -> list[str]:
    """The requested figures, by their own names."""
    return [aliases().get(name, name) for name in texts(report.get("figure"))]


def never(report: Mapping[str, Any], facts: Facts) -> tuple[str, str] | None:
    """A requested figure that no run of the scenario can have, with the reason."""
    for given, name in zip(texts(report.get("figure")), wanted(report), strict=True):
        kind = kind_of(name)
        if (kind.needs_runs and not facts.runs) or (not kind.needs_runs and not facts.model):
            return given, kind.missing(facts)
    return None


def doubts(report: Mapping[str, Any], facts: Facts) -> Iterator[str]:
    """Sentences about requested figures that will be missing."""
    names = wanted(report)
    for name in names:
        if reason := kind_of(name).missing(facts):
            yield f"`report.figure`: `{name}` will not be drawn: {reason}"
    for key in ("y", "baseline"):
        users = [name for name in NAMES if key in kind_of(name).uses]
        if key in report and names and not set(users) & set(names):
            *others, last = [f"`{name}`" for name in users]
            shown = f"{', '.join(others)} and {last}" if others else last
            none = "names none of them" if len(users) > 1 else "does not name it"
            yield f"`report.{key}` is of {shown}, and `report.figure` {none}"
    x = str(report.get("x", ""))
    keys = [key for key in facts.swept if x in (key, key.rsplit(".", 1)[-1])]
    if keys and not any(are_numbers(facts.swept[key]) for key in keys):
        yield f"`report.x`: the values of `{keys[0]}` are not all numbers of one kind, and make no axis"
    for number in texts(report.get("y")):
        if reason := _no_number(number, facts):
            yield f"`report.y`: no run will have `{number}`: {reason}"


def _no_number(name: str, facts: Facts) -> str:
    """Why the summary of no run has a number."""
    field = field_of("summary", name)
    several = any(len(table.get("transports") or []) > 1 for table in facts.tables)
    if field is not None and field.scope == "transport" and not several:
        return "it is of runs with several transports"
    if field is not None and field.scope == "arrivals" and not any("load" in entry for entry in facts.traffic()):
        return "it is of runs in which messages arrive at random"
    if name == "deadline_missed_fraction":
        return kind_of("deadlines").missing(facts)
    return ""
