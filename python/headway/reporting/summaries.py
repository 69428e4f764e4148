"""Numbers out of a run's summary, and their names in the schema of results."""

from __future__ import annotations

import math

from headway.data.bounds import in_document
from headway.data.nested import inside
from headway.data.point import Point
from headway.data.schema import field_of, numbers_of, schema
from headway.data.units import quantity_of_name

from .chosen import chosen

# The bands of `by_size.bands` in summary.json, as (name there, name for people, largest size below the band, largest
# size in it).
BANDS = (
    ("le_10kB", "up to 10 kB", 0.0, 1e4),
    ("le_100kB", "10 kB to 100 kB", 1e4, 1e5),
    ("le_1MB", "100 kB to 1 MB", 1e5, 1e6),
    ("gt_1MB", "over 1 MB", 1e6, float("inf")),
)
# Numbers that each band has, as the whole run.
OF_BANDS = (
    *(f"fct_{part}_s" for part in ("mean", "p50", "p95", "p99", "max")),
    *(f"slowdown_{part}" for part in ("mean", "p50", "p95", "p99", "max")),
)


def number(value: object) -> float | None:
    """A finite number out of a summary, or None."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    return None


def summary_label(key: str) -> tuple[str, str]:
    """Label of a key of summary.json, and its quantity."""
    if (some := chosen(key)) is not None:
        return some.label, some.quantity
    parts = key.split(".")
    if parts[0] == "gauges":
        _, name, part = parts
        found = field_of("gauges", name)
        # A gauge that is not declared is one of a machine under construction.
        label = found.label if found else name.replace("_", " ").removesuffix(" bytes")
        quantity = found.quantity if found else quantity_of_name(name)
        return f"{label}, {part}", quantity
    if parts[0] == "jobs":
        if parts[2] == "straggler":
            return f"job {parts[1]}, last host behind the median", "time"
        if len(parts) == 4:
            found = field_of("rounds", parts[3])
            return (f"job {parts[1]}, {found.label}", found.quantity) if found else (key, "count")
        found = field_of("jobs", parts[2])
        return (f"job {parts[1]}, {found.label}", found.quantity) if found else (key, "count")
    if parts[0] == "by_size":
        band = next((name for key, name, *_ in BANDS if key in parts), parts[-2])
        label, quantity = summary_label(parts[-1])
        return f"{label}, {band}", quantity
    found = field_of("round_trips", parts[1]) if parts[0] == "round_trips" else field_of("summary", key)
    return (found.label, found.quantity) if found else (key, "count")


def summary_number(point: Point, key: str) -> float | None:
    """A number of a point's summary, or of some of its flows, as `p99[<=64kB]`.

    `a.b` goes into `a`, and `a.0` is the first of a list.
    """
    some = chosen(key)
    return summary_value(point.summary, key) if some is None else some.of(point)


def summary_value(summary: object, key: str) -> float | None:
    """A number of a summary itself."""
    found = summary
    try:
        for part in key.split("."):
            found = inside(found, part)
    except KeyError:
        return None
    value = number(found)
    return None if value is None else in_document(summary, key, value)


def summary_names() -> tuple[str, ...]:
    """The numbers of a summary that have one name for every run."""
    return (
        *numbers_of("summary"),
        *(f"round_trips.{part}" for part in numbers_of("round_trips")),
        *(f"jobs.0.{part}" for part in numbers_of("jobs")),
        "jobs.0.straggler.behind_s",
        *(f"jobs.0.rounds.{part}" for part in numbers_of("rounds")),
        *(f"by_size.bands.{key}.{name}" for key, *_ in BANDS for name in OF_BANDS),
    )


def is_number(name: str) -> bool:
    """True if a summary may have a number of this name: one of those that are declared, or a part of a job or gauge."""
    if name in summary_names() or chosen(name) is not None:
        return True
    parts = name.split(".")
    if parts[0] == "jobs" and len(parts) == 4:
        inner = ("behind_s",) if parts[2] == "straggler" else numbers_of("rounds") if parts[2] == "rounds" else ()
        return parts[1].isdecimal() and parts[3] in inner
    if parts[0] == "jobs":
        return len(parts) == 3 and parts[1].isdecimal() and parts[2] in numbers_of("jobs")
    return len(parts) == 3 and parts[0] == "gauges" and parts[1].isidentifier() and parts[2] in schema()["gauge_parts"]


def least_of(key: str) -> float:
    """The least that a number of a summary is: intervals are not shown below it."""
    parts = key.split(".")
    of_job = len(parts) == 3 and parts[0] == "jobs"
    found = field_of("jobs", parts[2]) if of_job else field_of("summary", parts[-1])
    return found.least if found else 0.0
