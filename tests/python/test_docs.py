"""The index of the documentation leads to every page, and links lead somewhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from picture import for_pages
from svgs import MOST_BYTES

from headway.pages import contents, title

REPOSITORY = Path(__file__).resolve().parents[2]
DOCS = REPOSITORY / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
ENTRANCES = [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md"]


def linked(page: Path) -> list[Path]:
    """The files and folders of the repository that a page links to; code is not a link."""
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


def test_the_index_has_a_line_for_each_page() -> None:
    """The site and `headway docs` follow it."""
    named = {(DOCS / entry.target).resolve() for entry in contents()}
    assert not {page for page in DOCS.glob("*.md") if page.name != "README.md"} - named
    assert all(entry.section and entry.about for entry in contents())
    headings = {entry.title: title(DOCS / entry.target) for entry in contents() if (DOCS / entry.target) in PAGES}
    assert not {named: heading for named, heading in headings.items() if named != heading}
    assert {path for path in DOCS.iterdir() if path.is_dir() and [*path.glob("*.md")]} <= named


@pytest.mark.parametrize("page", [*ENTRANCES, *PAGES], ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_links_lead_somewhere(page: Path) -> None:
    missing = [str(target) for target in linked(page) if not target.exists()]
    assert not missing, f"{page} links to {missing}"


def test_the_readme_shows_few_pictures_that_a_command_draws() -> None:
    shown = re.findall(r'<img src="([^"]+)"', (REPOSITORY / "README.md").read_text("utf-8"))
    assert 0 < len(shown) <= 4
    drawn = {"fig01", "speed", "agreement"}
    assert {Path(one) for one in shown} <= {Path(f"docs/images/{name}.svg") for name in drawn}
    assert all((REPOSITORY / one).stat().st_size <= MOST_BYTES for one in shown)


def test_links_are_named_by_titles() -> None:
    """A reader learns nothing from the name of a file."""
    named = [
        f"{page.relative_to(REPOSITORY)}: [{text}]({target})"
        for page in [*ENTRANCES, *PAGES]
        for text, target in re.findall(r"\[([^\]]+)\]\(([^)\s]+)\)", page.read_text("utf-8"))
        if re.fullmatch(r"`?[\w/.-]+\.(?:md|html)`?", text)
    ]
    assert not named


def test_paths_in_contributing_exist() -> None:
    text = (REPOSITORY / "CONTRIBUTING.md").read_text("utf-8")
    named = set(re.findall(r"`([a-z.][\w.-]*(?:/[\w.*-]+)+)/?`", re.sub(r"```.*?```", "", text, flags=re.DOTALL)))
    assert len(named) > 15
    # A property that fails writes it.
    made_later = {"tests/python/found.jsonl"}
    # A word in capitals stands for a name of the reader's.
    patterns = {re.sub(r"(?<![a-z])[A-Z]{2,}(?![a-z])", "*", one): one for one in named - made_later}
    absent = [one for pattern, one in patterns.items() if not any(REPOSITORY.glob(pattern))]
    assert not absent


def test_walks_have_few_stations_that_exist() -> None:
    text = (DOCS / "walks.md").read_text("utf-8")
    walks = re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", text, flags=re.DOTALL | re.MULTILINE)
    assert [name for name, _ in walks] == ["A packet", "A key", "A claim", "A call"]
    for name, body in walks:
        stations = re.findall(r"^\| `([^`]+)` \|", body, flags=re.MULTILINE)
        assert 5 <= len(stations) <= 10, name
        assert not [one for one in stations if not (REPOSITORY / one).exists()]


def test_the_glossary_is_sorted_and_long_enough() -> None:
    words = re.findall(r"^\| ([^|]+) \| ", (DOCS / "glossary.md").read_text("utf-8"), flags=re.MULTILINE)[1:]
    assert len(words) >= 40 and len(set(words)) == len(words)
    assert words == sorted(words, key=str.lower)


def folders() -> list[str]:
    """The folders that docs/architecture.md has to describe: crates, parts of the package, and others."""
    within = [*(REPOSITORY / "crates").iterdir(), *(REPOSITORY / "python/headway").iterdir()]
    within += [REPOSITORY / name for name in ("scenarios", "workloads", "tools", "fuzz")]
    within += [*(REPOSITORY / "tests").iterdir()]
    named = [path for path in within if path.is_dir() and not path.name.startswith(("_", "."))]
    return sorted(str(path.relative_to(REPOSITORY)) for path in named)


def rows_of_folders() -> set[str]:
    """The folders in the first column of the table; a name without a slash is in the folder before it."""
    text = (DOCS / "architecture.md").read_text("utf-8").split("## Folders\n")[1].split("\n#")[0]
    found: set[str] = set()
    for first in re.findall(r"^\| (`.*?) \|", text, flags=re.MULTILINE):
        names = re.findall(r"`([^`]+)`", first)
        beside = names[0].rsplit("/", 1)[0]
        found |= {name if "/" in name or name == names[0] else f"{beside}/{name}" for name in names}
    return found


def test_the_table_of_folders_has_a_row_for_each() -> None:
    missing = set(folders()) - rows_of_folders()
    assert not missing, f"docs/architecture.md has no row for {sorted(missing)}"


def test_the_table_of_folders_names_only_what_exists() -> None:
    absent = {name for name in rows_of_folders() if not (REPOSITORY / name).exists()}
    assert not absent, f"docs/architecture.md has rows for {sorted(absent)}, which do not exist"


def test_the_index_of_decisions_has_a_line_for_each() -> None:
    index = DOCS / "decisions/README.md"
    pages = set((DOCS / "decisions").glob("[0-9]*.md"))
    assert pages == set(linked(index)), "docs/decisions/README.md does not list the pages of its folder"


def test_pictures_are_dark_on_dark_pages() -> None:
    """Figures are drawn for white paper; `tools/picture.py` brings them into the documentation."""
    pictures = sorted((DOCS / "images").glob("*.svg"))
    assert pictures
    white = [picture.name for picture in pictures if for_pages(text := picture.read_text("utf-8")) != text]
    assert not white, f"python tools/picture.py FIGURE.svg docs/images/{white[0]}"


# The words behind the backticks of a block that rustdoc compiles; it takes a block without a word for Rust.
COMPILED = {"", "rust", "no_run", "should_panic", "compile_fail", "ignore"}


def examples(crate: Path) -> list[str]:
    """Places of blocks in a crate's comments that rustdoc compiles."""
    found: list[str] = []
    for path in sorted((crate / "src").rglob("*.rs")):
        within = False
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            if fence := re.match(r"\s*//[/!]\s*(?:```+|~~~+)(.*)", line):
                within = not within
                if within and set(re.split(r"[,\s]+", fence[1].strip())) & COMPILED:
                    found.append(f"{path}:{number}")
    return found


@pytest.mark.parametrize("crate", sorted((REPOSITORY / "crates").iterdir()), ids=lambda crate: crate.name)
def test_examples_in_comments_are_run_where_there_are_any(crate: Path) -> None:
    """To look for them takes seconds a crate, so that those without any say so."""
    manifest = tomllib.loads((crate / "Cargo.toml").read_text("utf-8"))
    looked_for = manifest.get("lib", {}).get("doctest", True)
    there = examples(crate)
    assert looked_for or not there, f"take `doctest = false` out of {crate / 'Cargo.toml'}: {there}"
    assert there or not looked_for, f"{crate / 'Cargo.toml'}: no comment has an example, so say `doctest = false`"
