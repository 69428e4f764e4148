"""The evidence of papers as one offline site: a page with every claim, beside the report of every figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from headway.files import write_text

from .claims import ClaimRow, claim_rows, verdict_counts
from .page import asset, environment

INDEX_FILE = "index.html"


@dataclass(frozen=True)
class SiteFigure:
    """A figure that was reproduced: its scenario, its claims as judged, the line that judges them, and its report."""

    name: str
    title: str
    place: str
    rows: tuple[ClaimRow, ...]
    command: str
    report: str | None

    @property
    def counts(self) -> list[tuple[str, int]]:
        """How many claims came out each way."""
        return verdict_counts(self.rows)


@dataclass(frozen=True)
class SitePaper:
    """A paper: its figures in their order."""

    name: str
    title: str
    figures: tuple[SiteFigure, ...]

    @property
    def rows(self) -> tuple[ClaimRow, ...]:
        """All of its claims."""
        return tuple(row for figure in self.figures for row in figure.rows)

    @property
    def counts(self) -> list[tuple[str, int]]:
        """How many claims came out each way."""
        return verdict_counts(self.rows)


def site_figure(
    name: str, title: str, place: str, claims: Sequence[Mapping[str, Any]], command: str, report: str | None
) -> SiteFigure:
    """A figure from the entries of its `claims.json`; `report` is the path of its page from that of the site."""
    return SiteFigure(name, title, place, tuple(claim_rows(claims)), command, report)


def write_site(directory: Path, papers: Sequence[SitePaper], scale: str | None, stopped: str = "") -> Path:
    """Write `index.html`; `stopped` says what is missing of a site that was not finished."""
    counts = verdict_counts([row for paper in papers for row in paper.rows])
    page = (
        environment()
        .get_template("site.html.j2")
        .render(
            papers=papers,
            counts=counts,
            verdicts=[name for name, _ in counts],
            total=sum(count for _, count in counts),
            scale=scale,
            stopped=stopped,
            css=Markup(asset("report.css") + asset("site.css")),
            script=Markup(asset("report.js")),
        )
    )
    path = directory / INDEX_FILE
    write_text(path, page)
    return path
