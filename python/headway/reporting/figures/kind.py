"""Declaration of a kind of figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.data.units import parse_any

from ..spec import Figure
from ..study import Study


@dataclass(frozen=True)
class Facts:
    """Facts about the runs of a scenario before there are any.

    `swept` has the values of each key that its sweep varies; `tables` are its variants with every default.
    """

    variants: tuple[str, ...]
    swept: Mapping[str, Sequence[object]]
    tables: tuple[Mapping[str, Any], ...]
    runs: bool = True
    model: bool = False

    def samples(self, key: str) -> bool:
        """True if some variant samples this."""
        found = [(table.get("sample") or {}).get(key) for table in self.tables]
        return any(value not in (None, False, "none", []) for value in found)

    def traffic(self) -> list[Mapping[str, Any]]:
        """The entries of traffic of all variants."""
        return [entry for table in self.tables for entry in table.get("traffic", [])]


# Why a figure cannot be drawn of a scenario; empty where it may be.
Need = Callable[[Facts], str]


@dataclass(frozen=True)
class FigureKind:
    """Its content in one line, its drawing function, and shorter names that mean the same.

    `needs` says what a scenario has to have, so that a wish that cannot come true is told before a run. `uses` are the
    keys of `[report]` that change it, beside `x`, which all follow.
    """

    summary: str
    draw: Callable[[Study], Figure | list[Figure]]
    aliases: tuple[str, ...] = ()
    needs_runs: bool = True
    needs: tuple[Need, ...] = ()
    uses: tuple[str, ...] = ()

    def figures(self, study: Study) -> list[Figure]:
        """Figures that it draws of a study: mostly one figure, which says itself why it is absent."""
        drawn = self.draw(study)
        return drawn if isinstance(drawn, list) else [drawn]

    def missing(self, facts: Facts) -> str:
        """Why it cannot be drawn of a scenario; empty where it may be."""
        if self.needs_runs and not facts.runs:
            return "the scenario has a model and nothing that runs"
        return next((reason for need in self.needs if (reason := need(facts))), "")


def are_numbers(values: Sequence[object]) -> bool:
    """True if values are all numbers of one kind; sizes may be bare."""
    kinds = {parsed[1] if (parsed := parse_any(value)) else "" for value in values}
    return "" not in kinds and (len(kinds) == 1 or kinds == {"bytes", "ratio"})


def numbers_swept(facts: Facts) -> str:
    """An axis of numbers."""
    if any(are_numbers(values) for values in facts.swept.values()):
        return ""
    return "[sweep] varies nothing whose values are all numbers of one kind (`numbers` shows numbers of each variant)"


def several_variants(facts: Facts) -> str:
    """Two variants or more."""
    return "" if len(facts.variants) > 1 else "it sets variants beside each other, and the scenario has no two"


def sampled_flows(facts: Facts) -> str:
    """Flows in `[sample]`."""
    return "" if facts.samples("flows") else 'no flow is sampled; add `every` and `flows = "all"` to [sample]'


def sampled_links(facts: Facts) -> str:
    """Links in `[sample]`."""
    return "" if facts.samples("links") else 'no link is sampled; add `every` and `links = "all"` to [sample]'


def probed_flows(facts: Facts) -> str:
    """Probes in `[sample]`."""
    is_there = facts.samples("flows") and facts.samples("probes")
    return "" if is_there else "no flow is probed; add `flows` and `probes = true` to [sample]"


def told_causes(facts: Facts) -> str:
    """Causes in `[sample]`."""
    return "" if facts.samples("causes") else "no time is told by cause; add `causes = true` to [sample]"


def with_deadlines(facts: Facts) -> str:
    """A flow with a deadline."""
    entries = facts.traffic()
    listed = [entry["flows"] for entry in entries if isinstance(entry.get("flows"), list)]
    flows = [flow for one in listed for flow in one if isinstance(flow, Mapping)]
    # Tables of flows and lists of messages may have a column of deadlines.
    files = any(entry.get("path") or entry.get("kind") == "external" for entry in entries)
    keys = ("deadline", "mean_deadline")
    there = any(one.get(key) for one in (*entries, *flows) for key in keys)
    return "" if files or there else "no flow has a deadline"


def closed_form(facts: Facts) -> str:
    """A `[model]`."""
    return "" if facts.model else "the scenario has no [model]"
