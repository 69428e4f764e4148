"""The reason why a claim is not reproduced, as it stands wherever a verdict is read."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from headway import names
from headway.claims.choices import Choice, load_choices
from headway.claims.ledger import Claim, load_ledger
from headway.data.claims import CANNOT, CONTRADICTS, OUTDATED, ListedClaim, Verdict
from headway.sections import findings

# Verdicts whose reason says all: there is nothing to search.
COMPLETE = (Verdict.PENDING, CONTRADICTS, CANNOT)


def why(claim: ListedClaim, verdict: str | None = None, reason: str | None = None) -> str:
    """A cause, the reading under which the claim is reproduced, and the page about it; empty if it is reproduced.

    `verdict` and `reason` are those of runs that were made just now, else those on record.
    """
    verdict, reason = verdict or claim.verdict, (claim.reason if reason is None else reason) or ""
    known = _claim(claim)
    if known is not None and known.otherwise not in reason:
        reason = _sentence(reason, known.otherwise)
    if verdict == Verdict.REPRODUCED:
        return ""
    if verdict in COMPLETE:
        return _sentence(reason, _page(claim))
    if verdict == OUTDATED:
        return _sentence(reason, f"judge it again: {claim.command}", _page(claim))
    return _sentence(reason, _reading(claim), _page(claim))


def _reading(claim: ListedClaim) -> str:
    """Result of the search on record."""
    if claim.reading_verdict is None and not _is_open(claim):
        return ""
    if claim.reading_verdict is None:
        said = "the search on record is outdated" if claim.reading_word == OUTDATED else "no search is on record"
        return f"{said}: headway explain {claim.id} --out DIR"
    settings = ", ".join(f"{one.id} {one.show(value)}" for one, value in settings_of(claim))
    if claim.reading_verdict == Verdict.REPRODUCED:
        return f"it comes out under the reading {settings}"
    return f"{claim.reading_verdict} also under the reading {settings}"


def _is_open(claim: ListedClaim) -> bool:
    """True if the paper leaves something open that has a part in the claim's scenario."""
    path = _ledger_of(claim.scenario, tuple(names.roots()))
    return path is not None and bool(load_choices(path).about(claim.scenario))


def settings_of(claim: ListedClaim) -> list[tuple[Choice, Any]]:
    """The choices of a claim's reading that have a part in its scenario and its transports, with their values."""
    path, known = _ledger_of(claim.scenario, tuple(names.roots())), _claim(claim)
    if path is None or claim.reading_values is None:
        return []
    choices, transports = load_choices(path), known.transports if known is not None else ()
    values = claim.reading_values
    mine = [one for one in choices.about(claim.scenario) if one.id in values]
    moved = [
        one
        for one in mine
        if any(setting.applies(values[one.id], name) for setting in one.settings for name in transports)
    ]
    return [(one, values[one.id]) for one in moved or mine]


def _claim(claim: ListedClaim) -> Claim | None:
    """The claim as its ledger has it."""
    path = _ledger_of(claim.scenario, tuple(names.roots()))
    return next((one for one in load_ledger(path) if one.id == claim.id), None) if path is not None else None


@lru_cache(maxsize=256)
def _ledger_of(scenario: str, _roots: tuple[Path, ...]) -> Path | None:
    """The ledger of a scenario, which the folders of scenarios decide."""
    file = names.known_scenarios().get(scenario)
    return file.claims if file is not None else None


def _page(claim: ListedClaim) -> str:
    page = findings(claim.scenario.partition("/")[0], claim.figure)
    return f"headway docs {page}" if page else ""


def _sentence(*parts: str) -> str:
    return "; ".join(filter(None, parts))
