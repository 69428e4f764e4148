"""Numbers out of a run's summary, and what the schema of results calls them."""

from __future__ import annotations

import math

from headway.data.nested import inside
from headway.data.point import Point
from headway.data.schema import field_of
from headway.data.units import quantity_of_name


def number(value: object) -> float | None:
    """A finite number out of a summary, or None."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    return None


def summary_label(key: str) -> tuple[str, str]:
    """What a key of summary.json is called, and its quantity."""
    parts = key.split(".")
    if parts[0] == "gauges":
        _, name, part = parts
        found = field_of("gauges", name)
        # A gauge that is not declared is one of a machine under construction.
        label = found.label if found else name.replace("_", " ").removesuffix(" bytes")
        quantity = found.quantity if found else quantity_of_name(name)
        return f"{label}, {part}", quantity
    if parts[0] == "jobs":
        found = field_of("jobs", parts[2])
        return (f"job {parts[1]}, {found.label}", found.quantity) if found else (key, "count")
    found = field_of("round_trips", parts[1]) if parts[0] == "round_trips" else field_of("summary", key)
    return (found.label, found.quantity) if found else (key, "count")


def summary_number(point: Point, key: str) -> float | None:
    """A number of a point's summary; `a.b` goes into `a`, and `a.0` is the first of a list."""
    found: object = point.summary
    try:
        for part in key.split("."):
            found = inside(found, part)
    except KeyError:
        return None
    return number(found)
