"""Causes of the time of each variant's flows: of all, and of the slowest, which percentiles are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.data.jsonable import Jsonable
from headway.data.later import pl
from headway.data.point import Point, by_place
from headway.data.reader import of_results
from headway.data.sentences import as_html, in_columns
from headway.data.sweep import Sweep, read_sweep
from headway.data.units import duration
from headway.errors import NameNotFound, ResultsError
from headway.reporting.causes import CAUSES, label, sums, told

from .sides import place_of

if TYPE_CHECKING:
    import polars

# One in so many flows of a run is among the slowest: those from the 99th percentile of slowdowns on.
ONE_IN = 100
ALL, TAIL = "all", "slowest 1 %"
# Smallest share that a sentence mentions.
MUCH = 0.1
# Meaning of each cause, in a few words.
MEANINGS = {
    "host_s": "the sender's link carried other flows, or hosts took time",
    "wait_s": "the sender waited for its window, a permission or a turn",
    "serialise_s": "bytes of the flow were put on links",
    "propagate_s": "they were on links",
    "queue_s": "they stood in queues of switches",
    "retransmit_s": "data was sent again, or waited for that",
}


@dataclass(frozen=True)
class Shares:
    """Of the flows of a variant at one place, those of all its seeds together: the share of their time by cause.

    Where a run has several transports, `variant` names one of them as well, and the flows are those of it.

    `of` is `all` or `slowest 1 %`: in each run the flows with the largest slowdowns. `shares` add up to 1.
    """

    variant: str
    place: str
    of: str
    flows: int
    fct_mean_s: float
    shares: Mapping[str, float]

    @property
    def called(self) -> str:
        """Its variant, and its place where there are several."""
        return ",".join(filter(None, (self.variant, self.place)))


@dataclass(frozen=True)
class Causes(Jsonable):
    """Causes of the time of the flows of each variant of a sweep.

    >>> found = headway.compare_causes("out/mine")
    >>> found.row("ndp", "slowest 1 %").shares["retransmit_s"]
    """

    name: str
    rows: tuple[Shares, ...]
    without: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def row(self, variant: str, of: str = TAIL) -> Shares:
        """The shares of a variant, from the first place that has them."""
        for row in self.rows:
            if (row.variant, row.of) == (variant, of):
                return row
        known = dict.fromkeys(row.variant for row in self.rows)
        if variant in known:
            raise NameNotFound("group of flows", of, (ALL, TAIL), f"there is {ALL}, {TAIL}")
        raise NameNotFound("variant", variant, known, f"there is {', '.join(known)}")

    def document(self) -> dict[str, Any]:
        """All of it, for another program; times in seconds."""
        rows = [{**vars(row), "shares": dict(row.shares)} for row in self.rows]
        return {"sweep": self.name, "rows": rows, "without": list(self.without), "notes": list(self.notes)}

    def headline(self) -> str:
        """Subject of the table, in a sentence."""
        return f"{self.name}: shares of the time of flows by cause; slowest: by slowdown, in each run"

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Heads and rows, as text."""
        placed = any(row.place for row in self.rows)
        heads = [
            "variant",
            *(["at"] if placed else []),
            "flows",
            "",
            "mean FCT",
            *map(label, CAUSES),
        ]
        return heads, [self._cells(row, placed=placed) for row in self.rows]

    @staticmethod
    def _cells(row: Shares, *, placed: bool) -> list[str]:
        shares = [f"{100 * row.shares[cause]:.1f} %" for cause in CAUSES]
        place = [row.place] if placed else []
        return [row.variant, *place, row.of, str(row.flows), duration(row.fct_mean_s), *shares]

    def sentences(self) -> list[str]:
        """Meaning of each cause, and the variants under which it takes much of the time of the slowest flows."""
        said = []
        for cause in CAUSES:
            much = [row for row in self.rows if row.of == TAIL and row.shares[cause] >= MUCH]
            if much:
                who = ", ".join(f"{row.called} {100 * row.shares[cause]:.0f} %" for row in much)
                said.append(f"  {label(cause)}: {MEANINGS[cause]} ({who})")
        if said:
            said.insert(0, "a tenth or more of the time of the slowest flows:")
        return [*said, *(f"{name}: its runs do not sample causes" for name in self.without)]

    def __str__(self) -> str:
        heads, rows = self.table()
        notes = (f"note: {text}" for text in self.notes)
        return "\n".join([self.headline(), *in_columns([heads, *rows]), *self.sentences(), *notes])

    def _repr_html_(self) -> str:
        return as_html(self.headline(), *self.table(), [*self.sentences(), *(f"note: {text}" for text in self.notes)])


@of_results
def compare_causes(sweep: Sweep | str | Path) -> Causes:
    """Say of each variant of a sweep where the completion time of its flows went.

    It is of measured flows, of all of them and of the slowest hundredth by slowdown: those that the 99th percentile is
    about. A run of several transports has rows for the flows of each. Runs need `causes = true` in `[sample]`; raises
    `ResultsError` if none has it.

    >>> print(headway.compare_causes("out/mine"))
    """
    found = sweep if isinstance(sweep, Sweep) else read_sweep(sweep)
    rows: list[Shares] = []
    without: list[str] = []
    for own in by_place(part for point in found for part in point.parts or (point,)):
        flows = [told(point.measured_flows) for point in own]
        flows = [frame for frame in flows if frame.height]
        if not flows:
            without.append(",".join(filter(None, (own[0].variant, _axes(own[0])))))
            continue
        rows.append(_shares(own[0], ALL, pl.concat(flows)))
        rows.append(_shares(own[0], TAIL, pl.concat([_slowest(frame) for frame in flows])))
    if not rows:
        hint = "`headway sweep SCENARIO --set sample.causes=true --out NEW` asks the runs for it"
        raise ResultsError(found.directory, "no run has the time of its flows by cause", hint)
    return Causes(str(found.directory), tuple(rows), tuple(without), tuple(found.lacking()))


def _slowest(flows: polars.DataFrame) -> polars.DataFrame:
    """The hundredth with the largest slowdowns, one at the least."""
    return flows.sort("slowdown", descending=True).head(max(1, flows.height // ONE_IN))


def _shares(point: Point, of: str, flows: polars.DataFrame) -> Shares:
    parts = sums(flows)
    whole = sum(parts.values()) or 1.0
    shares = {cause: value / whole for cause, value in parts.items()}
    return Shares(point.variant, _axes(point), of, flows.height, float(flows["fct_s"].mean()), shares)  # type: ignore[arg-type]


def _axes(point: Point) -> str:
    """Place of a point on the axes of the sweep: its label without its variant and seed."""
    return place_of(point).removeprefix((point.whole or point).variant).removeprefix(",")
