"""Reads `claims.toml`. Every key is checked and every measure parsed before anything runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from headway import names
from headway.claims.functions import VOCABULARY
from headway.claims.language import Expression, ExpressionError, parse
from headway.claims.tables import Source, TableReader, Types, read_document, read_text
from headway.claims.verdict import NUMERIC_QUALIFIERS, ORDERS, Qualifier, groups_of
from headway.data.claims import Published

REQUIRED: Types = {
    "id": str,
    "figure": str,
    "place": list,
    "metric": str,
    "published": (int, float, str, list),
    "unit": str,
    "qualifier": str,
    "scenario": str,
    "transports": list,
    "how": str,
}
OPTIONAL: Types = {
    "measure": str,
    "pending": str,
    "variant": str,
    "at": dict,
    "holds": str,
    "direction": str,
    "otherwise": str,
    "beside": list,
    "beside_at": list,
}
# Tables of a ledger; `choices`, `contradictions` and `testbed` read the last three.
TABLES = frozenset({"define", "claim", "choice", "contradiction", "testbed"})
# Names that `holds` and `direction` may use.
PREDICATE_NAMES = frozenset({"measured", "published"})


@dataclass(frozen=True)
class Claim:
    """One claim of a paper, and how it is measured here."""

    id: str
    figure: str
    place: tuple[str, ...]
    metric: str
    published: Published
    unit: str
    qualifier: Qualifier
    scenario: str
    transports: tuple[str, ...]
    how: str
    measure: Expression | None
    variant: str | None = None
    at: Mapping[str, Any] | None = None
    holds: Expression | None = None
    direction: Expression | None = None
    otherwise: str = ""
    beside: tuple[str, ...] = ()
    pending: str = ""
    beside_at: tuple[Mapping[str, Any], ...] = ()

    def published_facts(self) -> dict[str, Any]:
        """The paper's statement, as JSON can hold it."""
        return {
            "id": self.id,
            "figure": self.figure,
            "place": list(self.place),
            "metric": self.metric,
            "published": self.published,
            "unit": self.unit,
            "qualifier": str(self.qualifier),
            "scenario": self.scenario,
            "how": self.how,
        }


def known_claims() -> list[Claim]:
    """The claims of every ledger in the folders of the known scenarios."""
    scenarios = names.known_scenarios()
    ledgers = {file.claims: file for file in scenarios.values() if file.claims.exists()}
    return [
        claim
        for path in sorted(ledgers)
        for claim in load_ledger(path)
        if claim.scenario not in scenarios or scenarios[claim.scenario].claims == path
    ]


def claims_about(scenario: str, path: Path) -> list[Claim]:
    """The claims of a ledger, if there is one, that are measured on `scenario`."""
    return [claim for claim in load_ledger(path) if claim.scenario == scenario] if path.exists() else []


def load_ledger(path: Path) -> list[Claim]:
    """All claims of a file; raises `ClaimsError` at the line of the first mistake."""
    return list(_claims(path, read_text(path)))


@lru_cache(maxsize=32)
def _claims(path: Path, text: str) -> tuple[Claim, ...]:
    """The claims of a ledger's text: every figure of a paper asks for them, and they take a tenth of a second."""
    document, source = read_document(path, text)
    if unknown := sorted(document.keys() - TABLES):
        known = "[define], [[claim]], [[choice]], [[contradiction]] and [[testbed]] tables"
        raise source.top_error([unknown[0]], f"unknown key '{unknown[0]}'; a ledger holds {known}")
    defined = _definitions(source, document.get("define", {}))
    claims: list[Claim] = []
    seen: set[str] = set()
    for index, entry in enumerate(document.get("claim", [])):
        claim = _Reader(source, index, entry, defined).claim()
        if claim.id in seen:
            raise source.error("claim", index, "id", f"the id '{claim.id}' is used twice")
        seen.add(claim.id)
        claims.append(claim)
    for name in defined:
        if not any(re.search(rf"\b{name}\b", text) for text in _expressions(document)):
            raise source.top_error(["define", name], f"'{name}' is defined and never used")
    return tuple(claims)


def _definitions(source: Source, table: Mapping[str, Any]) -> dict[str, Expression]:
    """Names for expressions; each may use those above it."""
    defined: dict[str, Expression] = {}
    for name, text in table.items():
        if not isinstance(text, str) or not name.isidentifier() or name in VOCABULARY.names():
            raise source.top_error(
                ["define", name], f"'{name}' cannot be defined so: it takes a new name and an expression as text"
            )
        try:
            defined[name] = parse(text, VOCABULARY, defined=dict(defined))
        except ExpressionError as error:
            raise source.top_error(["define", name], str(error)) from None
    return defined


def _expressions(document: Mapping[str, Any]) -> list[str]:
    """The text of everything that may use a definition."""
    texts = [str(text) for text in document.get("define", {}).values()]
    return texts + [str(entry.get("measure", "")) for entry in document.get("claim", [])]


class _Reader(TableReader):
    """Turns one table into a claim."""

    def __init__(self, source: Source, index: int, entry: Mapping[str, Any], defined: Mapping[str, Expression]) -> None:
        super().__init__(source, "claim", index, entry)
        self._defined = defined

    def claim(self) -> Claim:
        """The claim; raises at the first key that is wrong."""
        self.check_keys(REQUIRED, OPTIONAL)
        entry = self.entry
        qualifier = self._qualifier()
        claim = Claim(
            id=entry["id"],
            figure=entry["figure"],
            place=tuple(entry["place"]),
            metric=entry["metric"],
            published=entry["published"],
            unit=entry["unit"],
            qualifier=qualifier,
            scenario=entry["scenario"],
            transports=tuple(entry["transports"]),
            how=entry["how"],
            measure=self._expression("measure", entry["measure"]) if "measure" in entry else None,
            variant=entry.get("variant"),
            at=entry.get("at"),
            holds=self._optional("holds"),
            direction=self._optional("direction"),
            otherwise=entry.get("otherwise", ""),
            beside=tuple(entry.get("beside", ())),
            pending=entry.get("pending", ""),
            beside_at=tuple(entry.get("beside_at", ())),
        )
        self._check_sense(claim)
        return claim

    def _qualifier(self) -> Qualifier:
        text = self.entry["qualifier"]
        try:
            return Qualifier(text)
        except ValueError:
            known = ", ".join(Qualifier)
            raise self.error("qualifier", f"no qualifier '{text}'; known: {known}") from None

    def _check_sense(self, claim: Claim) -> None:
        """Statements need a predicate, numbers must not have one, orders name their items."""
        if (claim.measure is None) == (not claim.pending):
            raise self.error("id", "a claim has either 'measure', or 'pending' and the reason")
        if claim.pending:
            return
        if claim.beside and claim.variant is None:
            raise self.error("beside", "'beside' replaces 'variant', which is missing")
        if not all(isinstance(axes, dict) and axes for axes in claim.beside_at):
            raise self.error("beside_at", "'beside_at' is a list of tables of axes and values")
        published = claim.published
        is_number = isinstance(published, int | float)
        is_pair = isinstance(published, list) and all(isinstance(p, int | float) for p in published)
        if is_number or is_pair:
            if claim.qualifier not in NUMERIC_QUALIFIERS:
                raise self.error("qualifier", f"'{claim.qualifier}' does not fit a number")
            if claim.holds is not None:
                raise self.error("holds", "a number is judged by its qualifier, not by 'holds'")
        elif claim.holds is None and not isinstance(published, list):
            raise self.error("published", "a statement needs 'holds'")
        elif claim.holds is None and claim.unit not in ORDERS:
            known = ", ".join(ORDERS)
            raise self.error("unit", f"the unit of an order is one of: {known}")
        elif claim.holds is None:
            self._check_order(groups_of(list(map(str, published if isinstance(published, list) else []))))

    def _check_order(self, groups: Sequence[Sequence[str]]) -> None:
        if sum(map(len, groups)) < 2:
            raise self.error("published", "an order names at least two")

    def _optional(self, key: str) -> Expression | None:
        return self._expression(key, self.entry[key], PREDICATE_NAMES) if key in self.entry else None

    def _expression(self, key: str, text: object, extra: frozenset[str] = frozenset()) -> Expression:
        if not isinstance(text, str):
            raise self.error(key, f"'{key}' is an expression, written as text")
        try:
            return parse(text, VOCABULARY, extra, {} if extra else self._defined)
        except ExpressionError as error:
            raise self.error(key, str(error), error.column) from None
