"""Pages of the documentation.

A page has a line `<!-- declared: NAME -->` where a table or a section follows from declarations or from a record of
results. The native module knows most names; those here need Python.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headway import __file__ as package
from headway import _headway
from headway.sections import FOLDER

SCENARIOS = Path(package).parent / "scenarios"
# A row of the index: `| [TITLE](TARGET) | ABOUT |`.
ROW = re.compile(r"\| \[([^\]]+)\]\(([^)]+)\) \| (.*) \|")
ILLUSTRATED = re.compile(r"^<!-- drawn: .* -->\n\n?", re.MULTILINE)
MARKER = re.compile(r"^<!-- declared: (\w+)(?: ([\w-]+))? -->$", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """A page, or a folder of pages, in the index; `target` is relative to the folder of the documentation."""

    section: str
    title: str
    target: str
    about: str


def contents() -> list[Entry]:
    """The index of the documentation, README.md, which the site and `headway docs` follow."""
    found: list[Entry] = []
    section = ""
    for line in (FOLDER / "README.md").read_text("utf-8").splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        elif row := ROW.fullmatch(line):
            found.append(Entry(section, row[1], row[2], row[3]))
    return found


def title(file: Path) -> str:
    """The heading of a page."""
    with file.open(encoding="utf-8") as lines:
        return next((line.removeprefix("# ").strip() for line in lines if line.startswith("# ")), "")


def read(file: Path, *, results: bool = True, drawn: bool = False) -> str:
    """The text of a page, with the declared parts filled in; without `results`, which take seconds, those stay out.

    Lines that ask for pictures, which only the site has, stay in with `drawn`.
    """
    text = ILLUSTRATED.sub("", file.read_text("utf-8")) if not drawn else file.read_text("utf-8")
    if "<!-- declared: " not in text:
        return text

    def made(marker: re.Match[str]) -> str:
        """The text of a marker that the native module does not know; an unknown one stays."""
        make = (MAKERS | RESULTS if results else MAKERS).get(marker[1])
        return marker[0] if make is None else make(marker[2] or "").rstrip("\n")

    return MARKER.sub(made, _headway.filled_page(text))


# Modules are imported where they are used: it takes a while, and few pages have these parts.


def figures(_: str) -> str:
    """The table of figures."""
    from headway.reporting import figures as drawn

    rows = ["| figure | also | shows |", "|---|---|---|"]
    for name in drawn.NAMES:
        kind = drawn.kind_of(name)
        rows.append(f"| `{name}` | {', '.join(f'`{alias}`' for alias in kind.aliases)} | {kind.summary} |")
    return "\n".join(rows)


def claims(paper: str) -> str:
    """The claims of a paper, as `headway list claims PAPER --markdown` prints them."""
    from headway.catalogues import catalogue
    from headway.claims.markdown import tables

    return tables([one for one in catalogue("claims", paper) if one.scenario.startswith(f"{paper}/")])


def peers(_: str) -> str:
    """The comparisons with other simulators, from the record of `make compared`."""
    from headway.comparison import peers as compared

    return compared.tables(compared.read_record(SCENARIOS / "peers"))


def field(part: str) -> str:
    """A part of the comparison of all transports, from the record of `make field`."""
    from headway.comparison import field as asked

    return asked.part(SCENARIOS / "field", part)


MAKERS: dict[str, Callable[[str], str]] = {"figures": figures}
RESULTS: dict[str, Callable[[str], str]] = {"claims": claims, "peers": peers, "field": field}
