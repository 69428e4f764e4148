"""The pages of findings show every claim as it is on record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from headway.pages import read
from support import Answer

DOCS = Path(__file__).parents[2] / "docs"


PAPERS = ("amrt", "hpcc", "l2dct", "proactmp", "rpo", "sird")
PAGES = {paper: f"findings-{paper}.md" for paper in PAPERS} | {"clusters": "clusters.md"}


@pytest.mark.parametrize("paper", sorted(PAGES))
def test_a_page_shows_the_tables_that_are_listed(headway: Callable[..., Answer], paper: str) -> None:
    page = DOCS / PAGES[paper]
    assert f"\n<!-- declared: claims {paper} -->\n" in page.read_text(encoding="utf-8")
    listed = headway("list", "claims", paper, "--markdown").out
    assert "| all |" in listed
    assert listed in read(page)
