"""Targets of an explanation: a claim, a figure, or a paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headway import names
from headway.claims.choices import Choices, load_choices
from headway.claims.ledger import Claim, claims_about, known_claims
from headway.data.toml import parsed
from headway.errors import HeadwayError, NameNotFound
from headway.explaining.points import PAPER_SCALE, Figure, scale_for_search
from headway.inputs import read_text
from headway.names import ScenarioFile

# Seeds of a search begin here, apart from those of whole figures, which begin at 1.
SEARCH_SEED = 1001
SEARCH_SEEDS = 2


@dataclass(frozen=True)
class Target:
    """Target of an explanation, the figures on which that is searched, and all figures of its paper."""

    name: str
    searched: tuple[ScenarioFile, ...]
    claims: tuple[str, ...]
    paper: tuple[ScenarioFile, ...]
    choices: Choices

    def to_search(self, seeds: int) -> list[Figure]:
        """The figures of the search, on short runs."""
        return [_figure(f, scale_for_search(_document(f)), seeds, SEARCH_SEED, self.claims) for f in self.searched]

    def to_hold(self, seeds: int) -> list[Figure]:
        """All figures of the paper, at its own scale."""
        return [_figure(f, PAPER_SCALE if _has_paper_scale(f) else None, seeds, 1, ()) for f in self.paper]


def _document(file: ScenarioFile) -> Mapping[str, object]:
    return parsed(read_text(file.path))


def _has_paper_scale(file: ScenarioFile) -> bool:
    scales = _document(file).get("scale", {})
    return isinstance(scales, dict) and PAPER_SCALE in scales


def _figure(file: ScenarioFile, scale: str | None, seeds: int, first: int, wanted: Sequence[str]) -> Figure:
    claims = [c for c in claims_about(file.name, file.claims) if not wanted or c.id in wanted]
    return Figure(file, tuple(claims), scale, seeds, first)


def find(text: str) -> Target:
    """The target that a text names; raises `HeadwayError` if the text names none, or one without choices."""
    papers = _papers()
    claims = {claim.id: claim for claim in known_claims()}
    if text in papers:
        return _target(text, papers[text], (), papers[text])
    if text in claims:
        return _claim(claims[text], papers)
    try:
        file = names.resolve(text)
    except NameNotFound:
        listed = [*papers, *claims, *names.known_scenarios()]
        raise NameNotFound("claim, figure or paper", text, listed, "all claims: headway list claims") from None
    paper = file.name.partition("/")[0]
    return _target(file.name, [file], (), papers.get(paper, [file]))


def _claim(claim: Claim, papers: dict[str, list[ScenarioFile]]) -> Target:
    file = names.known_scenarios().get(claim.scenario)
    if file is None or claim.measure is None:
        why = claim.pending or f"there is no scenario {claim.scenario}"
        raise HeadwayError(f"{claim.id} is not measured: {why}")
    return _target(claim.id, [file], (claim.id,), papers.get(file.name.partition("/")[0], [file]))


def _target(
    name: str, searched: Sequence[ScenarioFile], claims: tuple[str, ...], paper: Sequence[ScenarioFile]
) -> Target:
    choices = load_choices(searched[0].claims)
    in_scope = tuple(file for file in searched if choices.about(file.name) and claims_about(file.name, file.claims))
    if not in_scope:
        raise HeadwayError(
            f"{name}: {searched[0].claims} declares no [[choice]] that has a part in it; docs/readings.md says how"
        )
    return Target(name, in_scope, claims, tuple(paper), choices)


def _papers() -> dict[str, list[ScenarioFile]]:
    """The figures with claims that something is run for, paper by paper."""
    papers: dict[str, list[ScenarioFile]] = {}
    for name, file in sorted(names.known_scenarios().items()):
        if file.claims.exists() and any(c.measure is not None for c in claims_about(name, file.claims)):
            papers.setdefault(name.partition("/")[0], []).append(file)
    return papers
