"""Time by cause: the columns of flows that say where their completion time went, and how figures show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from headway.data.later import pl
from headway.data.schema import schema
from headway.data.units import display

from .palette import flow_styles
from .spec import Bar, BarRow, LegendEntry

CAUSES = ("host_s", "wait_s", "serialise_s", "propagate_s", "queue_s", "retransmit_s")
ABSENT = "no flow has its time by cause; say `causes = true` in the scenario's [sample]"

# Explanation of a cause whose name alone is not clear.
HOST_BUSY = (
    " Host busy: the sender's own link was sending packets of other flows, or processors and interfaces "
    "of a host took time."
)


def told(flows: pl.DataFrame) -> pl.DataFrame:
    """The flows whose time is known by cause; none of a run of an earlier version."""
    if any(cause not in flows.columns for cause in CAUSES):
        return flows.clear()
    return flows.filter(pl.col(CAUSES[0]).is_not_null())


def cause_key(cause: str) -> str:
    """Legend key of a cause."""
    return f"c:{cause}"


def what_is_meant(keys: Iterable[str]) -> str:
    """A sentence for the caption of a figure with bars of these keys, where it needs one."""
    return HOST_BUSY if cause_key(CAUSES[0]) in set(keys) else ""


def label(cause: str) -> str:
    """Name of a cause in figures."""
    return schema()["flows"][cause].label


def legend(shown: Iterable[str] = CAUSES) -> tuple[LegendEntry, ...]:
    """The causes, with the colours that they have in every figure."""
    styles = flow_styles(CAUSES)
    return tuple(LegendEntry(cause_key(cause), label(cause), styles[cause]) for cause in shown)


def stacked(name: str, parts: Mapping[str, float], *, start: float = 0.0, more: Sequence[str] = ()) -> BarRow:
    """A row with a bar for each cause, one behind the other; its values in seconds."""
    bars, at = [], start
    whole = sum(parts.values())
    lines = []
    for cause, value in parts.items():
        if value > 0.0:
            bars.append(Bar(cause_key(cause), at, at + value))
            at += value
            lines.append(f"{label(cause)}: {display('time', value)} ({display('percent', value / whole)})")
    return BarRow(name, tuple(bars), (*more, *lines))


def shares(name: str, parts: Mapping[str, float], more: Sequence[str]) -> BarRow:
    """A row with a bar for each cause, one behind the other; its values as shares of their sum."""
    row, whole = stacked(name, parts, more=more), sum(parts.values()) or 1.0
    return BarRow(name, tuple(Bar(bar.key, bar.start / whole, bar.end / whole) for bar in row.bars), row.detail)


def sums(flows: pl.DataFrame) -> dict[str, float]:
    """Of each cause the time of all these flows."""
    return {cause: float(flows[cause].sum()) for cause in CAUSES}
