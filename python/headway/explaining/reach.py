"""Choices that can affect a claim: those that set something for a transport of the runs that it looks at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from headway.claims.choices import Choice, transports_of
from headway.claims.ledger import Claim
from headway.explaining.points import Figure, place, seen_by


class Reach:
    """Possible effects of a ledger's choices on the claims of figures."""

    def __init__(self, figures: Sequence[Figure]) -> None:
        self._figures = {figure.name: figure for figure in figures}
        self._found: dict[str, frozenset[str]] = {}

    def touches(self, choice: Choice, claim: Claim) -> bool:
        """True if a choice sets something in the runs of a claim."""
        return choice.in_scope(claim.scenario) and bool(_set_for(choice, self._transports(claim)))

    def meet(self, one: Choice, other: Choice, claim: Claim) -> bool:
        """True if two choices touch the same transport of a claim."""
        if not (one.in_scope(claim.scenario) and other.in_scope(claim.scenario)):
            return False
        own = self._transports(claim)
        return bool(_set_for(one, own) & _set_for(other, own))

    def _transports(self, claim: Claim) -> frozenset[str]:
        """The transports of the runs that a claim may look at; of one that looks at no run, those that it names."""
        if claim.id not in self._found:
            own = self._of_runs.get(claim.scenario, _Runs(None)).of(claim)
            self._found[claim.id] = own or frozenset(claim.transports)
        return self._found[claim.id]

    @cached_property
    def _of_runs(self) -> dict[str, _Runs]:
        return {name: _Runs(figure) for name, figure in self._figures.items()}


class _Runs:
    """The transports of the points of a figure."""

    def __init__(self, figure: Figure | None) -> None:
        self._figure = figure
        self._known: dict[tuple[str, str], frozenset[str]] = {}

    def of(self, claim: Claim) -> frozenset[str]:
        """Transports of the points that a claim may read."""
        figure = self._figure
        if figure is None:
            return frozenset()
        found: set[str] = set()
        for point in seen_by(claim, figure):
            # An axis may set the transport too, a seed does not.
            where = place(point)
            if where not in self._known:
                self._known[where] = frozenset(transports_of(figure.scenario.at(point).resolved))
            found |= self._known[where]
        return frozenset(found)


def _set_for(choice: Choice, transports: Iterable[str]) -> set[str]:
    """The transports for which some value of a choice sets something."""
    return {name for name in transports if any(not s.transports or name in s.transports for s in choice.settings)}
