"""Sections of the documentation's pages, by the names that `headway docs` prints them by."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "docs"
HEADING = re.compile(r"(#{1,6})\s+(.*)")
FENCE = "```"
# Heading of the section of a page of findings about claims that are not reproduced.
MISSED = "What does not come out"


@dataclass(frozen=True)
class Section:
    """A part of a page below one heading, without the parts below its own headings."""

    page: str
    level: int
    heading: str
    anchor: str
    lines: tuple[str, ...]
    start: int

    @property
    def name(self) -> str:
        """Name by which `headway docs` prints it."""
        return self.page if self.level == 1 else f"{self.page}#{self.anchor}"


def sections(page: str, text: str) -> Iterator[Section]:
    """The sections of a page; a line of a program that looks like a heading is none."""
    heads: list[tuple[int, int, str]] = []
    lines = text.splitlines()
    fenced = False
    for number, line in enumerate(lines):
        if line.lstrip().startswith(FENCE):
            fenced = not fenced
        if not fenced and (match := HEADING.fullmatch(line)):
            heads.append((number, len(match[1]), match[2].strip()))
    used: dict[str, int] = {}
    for index, (number, level, heading) in enumerate(heads):
        end = heads[index + 1][0] if index + 1 < len(heads) else len(lines)
        anchor = _anchor(heading)
        seen = used.get(anchor, 0)
        used[anchor] = seen + 1
        named = f"{anchor}-{seen}" if seen else anchor
        yield Section(page, level, heading, named, tuple(lines[number + 1 : end]), number)


def _anchor(heading: str) -> str:
    """Anchor of links to a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.strip().replace(" ", "-")


def _figures_in(heading: str) -> list[str]:
    """Numbers of the figures that a heading names: 11 and 19 of `Queues: Fig. 11 and 19`."""
    named = re.findall(r"Fig\. ?((?:\d+(?:, | and )?)+)", heading)
    return [number for part in named for number in re.findall(r"\d+", part)]


@cache
def findings(paper: str, figure: str) -> str:
    """The page with the findings about a paper, as `headway docs` takes it, and its section on a figure such as
    `fig14`; empty for a paper without a page."""
    page = f"findings-{paper}"
    file = FOLDER / f"{page}.md"
    if not file.is_file():
        return ""
    number = figure.removeprefix("fig").lstrip("0")
    every = list(sections(page, file.read_text("utf-8")))
    about = [one for one in every if number in _figures_in(one.heading)]
    found = next(iter([*about, *(one for one in every if one.heading == MISSED)]), None)
    return page if found is None else found.name
