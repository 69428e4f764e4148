"""The index of the documentation leads to every page, and links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
ENTRANCES = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md"]


def linked(page: Path) -> list[Path]:
    """The files and folders of the repository that a page links to; code is no link."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", text)
    return [(page.parent / target).resolve() for target in targets if not re.match(r"[a-z]+:", target)]


def reachable(index: Path) -> set[Path]:
    """The pages that links lead to from the index; a link to a folder leads to the pages in it."""
    seen: set[Path] = set()
    waiting = [index]
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        if place.is_dir():
            waiting += place.glob("*.md")
        elif place.suffix == ".md" and DOCS in place.parents:
            waiting += linked(place)
    return seen


def test_the_index_leads_to_every_page() -> None:
    missing = set(PAGES) - reachable(DOCS / "README.md")
    assert not missing, f"docs/README.md leads to none of {sorted(str(page) for page in missing)}"


@pytest.mark.parametrize("page", [*ENTRANCES, *PAGES], ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_links_lead_somewhere(page: Path) -> None:
    missing = [str(target) for target in linked(page) if not target.exists()]
    assert not missing, f"{page} links to {missing}"
