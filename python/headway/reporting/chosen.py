"""Numbers of some of a run's flows, by short names: `p99[<=64kB]`, `slowdown_p99[web]`, `median[10kB..1MB]`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from headway.data.bounds import Sample
from headway.data.point import Point
from headway.data.units import parse_bytes
from headway.errors import HeadwayError, NameNotFound

if TYPE_CHECKING:
    import polars

# A quantile is that of at least so many flows, as in summaries: of fewer flows it would be the largest one.
QUANTILES = {"p50": (0.5, 1), "p90": (0.9, 10), "p95": (0.95, 20), "p99": (0.99, 100), "p999": (0.999, 1000)}
PARTS = ("mean", *QUANTILES, "max", "count")
SHORT = {"median": "p50", "p99.9": "p999"}
PREFIXES = {"fct_": "fct_s", "slowdown_": "slowdown"}
FORM = re.compile(r"(?P<what>[^\[\]]+)\[(?P<which>[^\[\]]+)\]")
LIMIT = re.compile(r"(<=|>=|<|>)\s*(.+)")
EXAMPLES = "p99[<=64kB], slowdown_p99[10kB..1MB], mean[>1MB], p99[web] of a class or a transport"


@dataclass(frozen=True)
class Chosen:
    """A number of the flows of some sizes, or of one class or transport. The bounds are of bytes, both included."""

    name: str
    column: str
    part: str
    least: float = 0.0
    most: float = float("inf")
    group: str = ""

    @property
    def quantity(self) -> str:
        """Quantity of its values."""
        return "count" if self.part == "count" else "time" if self.column == "fct_s" else "ratio"

    @property
    def label(self) -> str:
        """Name in figures and tables."""
        words = {"p50": "median", "p999": "p99.9", "count": "flows"}
        what = "" if self.part == "count" else " FCT" if self.column == "fct_s" else " slowdown"
        which = self.name.partition("[")[2].rstrip("] ")
        return f"{words.get(self.part, self.part)}{what}, {which}"

    def of(self, point: Point) -> float | None:
        """The number of a run; None where it has too few such flows."""
        flows = self._flows(point.counted_flows)
        if self.part == "count":
            return float(flows.height)
        known = flows.filter(flows[self.column].is_not_null())
        sample = Sample(known[self.column].to_numpy(), known["is_open"].to_numpy())
        if self.part in QUANTILES:
            at, needed = QUANTILES[self.part]
            return sample.quantile(at) if known.height >= needed else None
        return sample.mean() if self.part == "mean" else sample.largest()

    def _flows(self, flows: polars.DataFrame) -> polars.DataFrame:
        """The flows that this number is of."""
        import polars

        if not self.group:
            return flows.filter((flows["bytes"] >= self.least) & (flows["bytes"] <= self.most))
        held = [name for name in ("class", "transport") if name in flows.columns]
        return flows.filter(polars.any_horizontal(polars.col(name).cast(polars.String) == self.group for name in held))


def too_few(name: str) -> str:
    """Text on the number of flows that a number needs; empty for one that any number of flows has."""
    found = chosen(name)
    least = QUANTILES.get(found.part, (0.0, 1))[1] if found is not None else 1
    return f"it takes {least} such flows in a run, and none has so many" if least > 1 else ""


@cache
def chosen(name: str) -> Chosen | None:
    """The number of some flows that a name means; None for a name without brackets.

    Raises `NameNotFound` for a number that there is not, and `HeadwayError` for what chooses no flows.
    """
    found = FORM.fullmatch(name.strip())
    if found is None:
        return None
    what, which = found["what"].strip(), found["which"].strip()
    prefix = next((one for one in PREFIXES if what.startswith(one)), "fct_")
    part = what.removeprefix(prefix).removesuffix("_s")
    part = SHORT.get(part, part)
    if part not in PARTS:
        known = (*PARTS, *(f"{one}{part}" for one in PREFIXES for part in PARTS), *SHORT)
        raise NameNotFound("number of flows", what, known, f"there is {', '.join(PARTS)}; as in {EXAMPLES}")
    base = Chosen(name, PREFIXES[prefix], part)
    if limit := LIMIT.fullmatch(which):
        size = _bytes(name, limit[2])
        step = {"<=": (0.0, size), "<": (0.0, size - 1), ">=": (size, base.most), ">": (size + 1, base.most)}[limit[1]]
        return Chosen(name, base.column, part, *step)
    if ".." in which:
        low, _, high = which.partition("..")
        least, most = _bytes(name, low), _bytes(name, high)
        if least > most:
            raise HeadwayError(f"`{name}` chooses no flows: {low.strip()} is more than {high.strip()}")
        return Chosen(name, base.column, part, least, most)
    return Chosen(name, base.column, part, group=which)


def _bytes(name: str, text: str) -> float:
    """A size as a scenario writes it."""
    found = parse_bytes(text.strip())
    if found is None:
        raise HeadwayError(f"`{name}`: {text.strip()!r} is no size; write it as in {EXAMPLES}")
    return float(found)
