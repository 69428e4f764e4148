"""Pages of the documentation.

A page has a line `<!-- declared: NAME -->` where a table or a section follows from declarations.
"""

from __future__ import annotations

from pathlib import Path

from headway import __file__ as package
from headway import _headway

FOLDER = Path(package).parent / "docs"
FIGURES = "<!-- declared: figures -->"


def read(file: Path) -> str:
    """The text of a page with what is declared in its places."""
    text = file.read_text("utf-8")
    if "<!-- declared: " not in text:
        return text
    text = _headway.filled_page(text)
    return text.replace(FIGURES, figures()) if FIGURES in text else text


def figures() -> str:
    """The table of figures."""
    from headway.reporting import figures as drawn  # it takes a while, and one page has it

    rows = ["| figure | also | shows |", "|---|---|---|"]
    for name in drawn.NAMES:
        kind = drawn.kind_of(name)
        rows.append(f"| `{name}` | {', '.join(f'`{alias}`' for alias in kind.aliases)} | {kind.summary} |")
    return "\n".join(rows)
