"""Contents of results, as the native module declares them: names, units, labels, meanings and quantities."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from headway import _headway

# Quantities that are not numbers: names, and lists whose entries are objects.
NO_NUMBERS = frozenset({"text", "list"})


@dataclass(frozen=True)
class Field:
    """One column, number or gauge.

    `least` is the least that a number is, but for exceptions that `doc` names: intervals do not reach below it. Of a
    number of the summary, `scope` says of what it is (`run`, `flows`, `arrivals` or `transport`), and `shown` whether
    reports show it.
    """

    name: str
    unit: str
    label: str
    doc: str
    quantity: str
    least: float
    scope: str
    shown: bool

    @property
    def is_number(self) -> bool:
        """True if figures can show it."""
        return self.quantity not in NO_NUMBERS


@cache
def schema() -> Mapping[str, Mapping[str, Field]]:
    """Every list of declarations (`flows`, `links`, `series`, `metrics`, `summary`, `gauges`, ...), by name."""
    lists = json.loads(_headway.schema())
    return {table: {one["name"]: Field(**one) for one in fields} for table, fields in lists.items()}


def field_of(table: str, name: str) -> Field | None:
    """A declaration; None if there is none of this name."""
    return schema()[table].get(name)


def numbers_of(table: str) -> tuple[str, ...]:
    """The names of a list that are numbers, in their order."""
    return tuple(name for name, field in schema()[table].items() if field.is_number)
