"""Claims judged again under other choices where the paper leaves one open.

A ledger's `[[sensitivity]]` table names a scenario, claims of its own, a variant that they speak of, and the variants
of that scenario that take its place. Each claim is judged once for each of them, so that a reader sees which verdicts
hang on a choice that nobody documented.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headway.claims.language import Expression, parse, quoted
from headway.claims.ledger import Claim, Source, load_ledger, read_document
from headway.errors import nearest

KEYS: dict[str, type] = {"scenario": str, "choice": str, "claims": list, "replace": str, "by": list}


@dataclass(frozen=True)
class Sensitivity:
    """One open choice: what `replace` is in the claims, each variant of `by` is in turn."""

    scenario: str
    choice: str
    claims: tuple[str, ...]
    replace: str
    by: tuple[str, ...]

    def under(self, claim: Claim) -> list[Claim]:
        """The claim under each variant, with the variant behind its id."""
        return [self._with(claim, variant) for variant in self.by]

    def _with(self, claim: Claim, variant: str) -> Claim:
        def other(expression: Expression | None) -> Expression | None:
            return _renamed(expression, self.replace, variant) if expression else None

        return replace(
            claim,
            id=f"{claim.id}@{variant}",
            scenario=self.scenario,
            variant=variant if claim.variant == self.replace else claim.variant,
            measure=other(claim.measure),
            how=f"{claim.how}; open choice: {self.choice}; here: {variant}",
            beside=(),
            beside_at=(),
        )


def sensitivity_claims(scenario: str, path: Path) -> list[Claim]:
    """The claims that a scenario judges again; raises `ClaimsError` at the line of the first mistake."""
    if not path.exists():
        return []
    document, source = read_document(path)
    claims = {claim.id: claim for claim in load_ledger(path)}
    tables = [_read(source, i, entry, claims) for i, entry in enumerate(document.get("sensitivity", []))]
    about = [table for table in tables if table.scenario == scenario]
    return [judged for table in about for name in table.claims for judged in table.under(claims[name])]


def _read(source: Source, index: int, entry: Mapping[str, Any], claims: Mapping[str, Claim]) -> Sensitivity:
    def check(right: bool, key: str, message: str) -> None:
        if not right:
            raise source.error(index, key, message, table="sensitivity")

    for key, value in entry.items():
        close = nearest(key, KEYS)
        check(key in KEYS, key, f"unknown key '{key}'" + (f"; nearest: {', '.join(close)}" if close else ""))
        listed = [value] if KEYS[key] is str else value
        fits = isinstance(value, KEYS[key]) and all(isinstance(item, str) for item in listed) and bool(listed)
        check(fits, key, f"'{key}' is {'text' if KEYS[key] is str else 'a list of names'}")
    for key in KEYS:
        check(key in entry, "scenario", f"the key '{key}' is missing")
    table = Sensitivity(
        entry["scenario"], entry["choice"], tuple(entry["claims"]), entry["replace"], tuple(entry["by"])
    )
    for name in table.claims:
        close = nearest(name, claims)
        check(name in claims, "claims", f"no claim '{name}'" + (f"; nearest: {', '.join(close)}" if close else ""))
        speaks = _speaks_of(claims[name], table.replace)
        check(speaks, "replace", f"the claim '{name}' does not speak of the variant '{table.replace}'")
    return table


def _speaks_of(claim: Claim, variant: str) -> bool:
    """Whether a variant has a part in what a claim measures."""
    return claim.variant == variant or (claim.measure is not None and claim.measure.quotes(variant))


def _renamed(expression: Expression, old: str, new: str) -> Expression:
    """The expression, and every definition it may use, with one variant for another."""
    defined: dict[str, Expression] = {}
    for name, definition in expression.defined.items():
        defined[name] = parse(quoted(old).sub(new, definition.text), expression.vocabulary, defined=dict(defined))
    return parse(quoted(old).sub(new, expression.text), expression.vocabulary, defined=defined)
