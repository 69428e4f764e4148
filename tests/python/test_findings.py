"""The pages of findings show every claim as it is on record. `HEADWAY_BLESS=1` writes their tables again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support import Answer

DOCS = Path(__file__).parents[2] / "docs"


PAPERS = ("amrt", "hpcc", "l2dct", "proactmp", "rpo", "sird")
PAGES = {paper: f"findings-{paper}.md" for paper in PAPERS} | {"clusters": "clusters.md"}


@pytest.mark.parametrize("paper", sorted(PAGES))
def test_the_tables_of_a_page_are_what_is_listed(headway: Callable[..., Answer], paper: str) -> None:
    page = DOCS / PAGES[paper]
    begin, end = f"<!-- begin: headway list claims {paper} --markdown -->\n", "<!-- end -->"
    text = page.read_text(encoding="utf-8")
    head, _, rest = text.partition(begin)
    written, _, tail = rest.partition(end)
    listed = headway("list", "claims", paper, "--markdown").out
    assert "| all |" in listed
    if os.environ.get("HEADWAY_BLESS"):
        page.write_text(head + begin + listed + end + tail, encoding="utf-8")
        return
    assert written == listed
