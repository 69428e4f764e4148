"""The evidence of papers as one offline site: a screen for each paper, then every claim, next to the reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from headway.data.claims import JudgedClaim, ListedClaim
from headway.files import write_text

from .claims import ClaimRow, claim_rows, verdict_counts
from .page import asset, environment
from .picture import Picture
from .site_summary import COUNTED, Summary

INDEX_FILE = "index.html"


@dataclass(frozen=True)
class SiteFigure:
    """A figure that was reproduced: its claims as judged, the lines that judge and explain them, and its report."""

    name: str
    title: str
    place: str
    rows: tuple[ClaimRow, ...]
    commands: tuple[str, ...]
    report: str | None
    picture: Picture | None = None

    @property
    def counts(self) -> list[tuple[str, int]]:
        """Number of claims by verdict."""
        return verdict_counts(self.rows)


@dataclass(frozen=True)
class SitePaper:
    """A paper: its figures in their order, and its verdict."""

    name: str
    title: str
    figures: tuple[SiteFigure, ...]
    summary: Summary
    commands: tuple[str, ...]

    @property
    def rows(self) -> tuple[ClaimRow, ...]:
        """Claims of all figures of the paper."""
        return tuple(row for figure in self.figures for row in figure.rows)

    @property
    def pictured(self) -> SiteFigure | None:
        """The figure that stands for it: of those with a picture, the one with the most claims."""
        with_one = [figure for figure in self.figures if figure.picture is not None]
        return max(with_one, key=lambda figure: len(figure.rows), default=None)


def site_figure(
    name: str,
    title: str,
    place: str,
    claims: Sequence[JudgedClaim],
    known: Mapping[str, ListedClaim],
    commands: Sequence[str],
    report: str | None,
    picture: Picture | None,
) -> SiteFigure:
    """A figure with its claims as they were judged now; `known` are those on record, by id, with their readings.

    `report` is the path of its page from that of the site.
    """
    return SiteFigure(name, title, place, tuple(claim_rows(claims, known)), tuple(commands), report, picture)


def write_site(directory: Path, papers: Sequence[SitePaper], scale: str | None, stopped: str = "") -> Path:
    """Write `index.html`; `stopped` names the missing part of a site that was not finished."""
    pictures = [figure.picture for paper in papers for figure in paper.figures if figure.picture is not None]
    colours = "".join(one.css for one in pictures)
    page = (
        environment()
        .get_template("site.html.j2")
        .render(
            papers=papers,
            counted=COUNTED,
            total=sum(len(paper.rows) for paper in papers),
            scale=scale,
            stopped=stopped,
            css=Markup(asset("report.css") + asset("site.css") + colours),
            script=Markup(asset("site.js")),
        )
    )
    path = directory / INDEX_FILE
    write_text(path, page)
    return path
