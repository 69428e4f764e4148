"""Results of an earlier build, whose summaries lack numbers that this one declares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headway.data.point import Point
from headway.data.schema import schema

# Traffic whose messages arrive at random: numbers of the scope `arrivals` are in the summary.
AT_RANDOM = "poisson"
NAMED = 3


def lacking(summary: Mapping[str, Any], scenario: Mapping[str, Any]) -> tuple[str, ...]:
    """The numbers that every summary of such a scenario has today, and that this one lacks.

    A number that a run cannot have is there as null, and is not one of them.
    """
    entries = scenario.get("traffic") or ()
    is_random = any(isinstance(entry, Mapping) and entry.get("kind") == AT_RANDOM for entry in entries)
    scopes = ("flows", "run", "arrivals") if is_random else ("flows", "run")
    declared = (name for name, field in schema()["summary"].items() if field.is_number and field.scope in scopes)
    return tuple(name for name in declared if name not in summary)


def earlier(points: Iterable[Point]) -> list[str]:
    """A sentence about the runs that an earlier build made; none where there are none."""
    every = list(points)
    found = {point.label: lost for point in every if (lost := lacking(point.summary, point.scenario))}
    if not found:
        return []
    names = list(dict.fromkeys(name for lost in found.values() for name in lost))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    labels = list(found)
    several = f"{len(found)} of {len(every)} runs (the first is {labels[0]}) are"
    which = several if len(labels) > 1 else f"{labels[0]} is"
    return [
        f"{which} of an earlier build, which did not compute {', '.join(f'`{name}`' for name in names[:NAMED])}{more}:"
        f" these numbers, and notes that follow from them, are missing; {anew('sweep')}"
    ]


def anew(command: str) -> str:
    """Advice that gives complete results: in another directory, and not from the store."""
    return f"`HEADWAY_STORE=off headway {command} SCENARIO --out NEW` computes all anew"
