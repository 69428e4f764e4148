"""Pairs of a run's flows and rows of the reference."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.data.later import np
from headway.data.samples import Array
from headway.errors import HeadwayError, nearest, with_help

from .sides import Sample

if TYPE_CHECKING:
    import polars

WAYS = ("name", "fields", "order", "none")
FIELDS = ("src", "dst", "bytes", "start_s")
# Starts are whole picoseconds in a scenario.
PICOSECONDS = 1e12


@dataclass(frozen=True)
class Pairs:
    """Flows of both sides that are the same flow: positions in the tables, and completion times where both ended.

    `ours` and `theirs` are times in seconds of flows that ended on both sides; `position` is the place of each in the
    run's table. Without pairs (`way == "none"`) they are all flows that ended, each side in its own order.
    """

    way: str
    ours: Array
    theirs: Array
    position: Sequence[int]
    flows: int  # that both sides know
    only_ours: int  # flows that the reference does not have
    only_theirs: int
    unfinished_ours: int  # did not end here, and did there
    unfinished_theirs: int
    unfinished_both: int


def pair(ours: Sample, theirs: Sample, way: str | None = None) -> Pairs:
    """Find the pairs; `way` is one of `WAYS`, or None for the first that the tables allow."""
    for sample in (ours, theirs):
        if not sample.flows.height:
            left_out = "flows that never began, or before the warm-up, are left out"
            raise HeadwayError(f"{sample.name} has no flow to compare" + with_help(left_out))
    chosen = way or _usual(ours.flows, theirs.flows)
    lacking = way in ("name", "fields") and not _has(theirs.flows, way)
    if theirs.odd is not None and (lacking or (way is None and chosen == "order")):
        raise theirs.odd
    if chosen == "none":
        return _apart(ours.flows, theirs.flows)
    left, right = _matched(ours, theirs, chosen)
    _agree(ours, theirs, left, right)
    mine = ours.flows["fct_s"].to_numpy().astype(np.float64)[left]
    others = theirs.flows["fct_s"].to_numpy().astype(np.float64)[right]
    here, there = np.isfinite(mine), np.isfinite(others)
    both = here & there
    return Pairs(
        chosen,
        mine[both],
        others[both],
        [place for place, kept in zip(left, both, strict=True) if kept],
        len(left),
        ours.flows.height - len(left),
        theirs.flows.height - len(right),
        int(np.count_nonzero(~here & there)),
        int(np.count_nonzero(here & ~there)),
        int(np.count_nonzero(~here & ~there)),
    )


def _usual(ours: polars.DataFrame, theirs: polars.DataFrame) -> str:
    if _has(theirs, "name") and _has(ours, "name"):
        return "name"
    return "fields" if _has(theirs, "fields") else "order"


def _needed(way: str) -> tuple[str, ...]:
    """The columns by which flows are matched."""
    return ("name",) if way == "name" else FIELDS


def _has(frame: polars.DataFrame, way: str) -> bool:
    return all(name in frame.columns for name in _needed(way))


def _matched(ours: Sample, theirs: Sample, way: str) -> tuple[list[int], list[int]]:
    """Positions in both tables, pair by pair."""
    mine, others = ours.flows, theirs.flows
    if way == "order":
        if mine.height != others.height:
            text = f"{theirs.name} has {others.height} rows, {ours.name} has {mine.height} flows"
            hint = "give the rows `id` or `name`, or src, dst, bytes and start_s"
            raise HeadwayError(f"{text}: which is which is not known\n  {hint}")
        return list(range(mine.height)), list(range(mine.height))
    for sample in (ours, theirs):
        if absent := [name for name in _needed(way) if name not in sample.flows.columns]:
            raise HeadwayError(f"{sample.name} lacks the column {', '.join(absent)}, by which flows are matched")
    keys = _names if way == "name" else _fields
    places = _by_key(keys(mine))
    left, right = [], []
    for place, key in enumerate(keys(others)):
        if waiting := places.get(key):
            left.append(waiting.pop(0))
            right.append(place)
    if not left:
        raise HeadwayError(_strangers(ours, theirs, way))
    return left, right


def _names(frame: polars.DataFrame) -> list[Hashable]:
    return list(frame["name"].cast(str).to_list())


def _fields(frame: polars.DataFrame) -> list[Hashable]:
    starts = [None if start is None else round(start * PICOSECONDS) for start in frame["start_s"].to_list()]
    return list(zip(*(frame[name].to_list() for name in FIELDS[:3]), starts, strict=True))


def _by_key(keys: Iterable[Hashable]) -> dict[Hashable, list[int]]:
    """Positions of each key; equal ones in their order."""
    places: dict[Hashable, list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return places


def _strangers(ours: Sample, theirs: Sample, way: str) -> str:
    apart = "--match none sets the completion times of all flows beside each other, whichever flows they are"
    if way == "fields":
        return (
            f"no flow of {theirs.name} is between the same hosts, as long and starts as early as one of {ours.name}"
            + with_help("--match order pairs them by their places", apart)
        )
    first = str(theirs.flows["name"][0])
    known = ours.flows["name"].cast(str).to_list()
    close = nearest(first, known[:1000])
    hint = f"nearest: {', '.join(close)}" if close else f"it has {', '.join(known[:3])}{', ...' if known[3:] else ''}"
    return (
        f"no flow of {theirs.name} has a name that a flow of {ours.name} has: the first is called '{first}'\n  {hint}"
        + with_help("--match fields pairs them by src, dst, bytes and start_s, --match order by their places", apart)
    )


def _agree(ours: Sample, theirs: Sample, left: Sequence[int], right: Sequence[int]) -> None:
    """Flows of one name that are not the same flow are a mistake in one of the lists."""
    for column in FIELDS[:3]:
        if column not in theirs.flows.columns or column not in ours.flows.columns:
            continue
        mine, others = ours.flows[column].to_list(), theirs.flows[column].to_list()
        for i, j in zip(left, right, strict=True):
            if others[j] is not None and mine[i] != others[j]:
                name = str(ours.flows["name"][i]) if "name" in ours.flows.columns else str(i)
                row = f", line {theirs.flows['row'][j]}" if "row" in theirs.flows.columns else ""
                raise HeadwayError(
                    f"flow '{name}' is not the same on both sides: {column} is {mine[i]} in {ours.name} and "
                    f"{others[j]} in {theirs.name}{row}"
                )


def _apart(ours: polars.DataFrame, theirs: polars.DataFrame) -> Pairs:
    """Each side's flows by themselves, for distributions alone."""
    columns = [frame["fct_s"].to_numpy().astype(np.float64) for frame in (ours, theirs)]
    here, there = (column[np.isfinite(column)] for column in columns)
    lost = [int(np.count_nonzero(~np.isfinite(column))) for column in columns]
    return Pairs("none", here, there, (), 0, ours.height, theirs.height, lost[0], lost[1], 0)
