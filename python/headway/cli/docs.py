"""`headway docs`: the pages that come with the package."""

from __future__ import annotations

from pathlib import Path

import click

from headway import __file__ as package
from headway.cli.terminal import print_table
from headway.errors import HeadwayError, NameNotFound

FOLDER = Path(package).parent / "docs"


@click.command()
@click.argument("page", required=False, metavar="[PAGE]")
@click.option("--path", is_flag=True, help="Print where the page is, and nothing else.")
def docs(page: str | None, path: bool) -> None:
    """List the documentation's pages, or print PAGE, such as scenario-format or transports/amrt."""
    pages = _pages()
    if not pages:
        raise HeadwayError(f"{FOLDER} holds no page: this installation is not complete")
    if page is None:
        if path:
            click.echo(FOLDER)
            return
        print_table(
            ["page", "about"], [[name, _title(file)] for name, file in pages.items() if "decisions/" not in name]
        )
        return
    name = page.removeprefix("docs/").removesuffix(".md")
    if name not in pages:
        raise NameNotFound("page", page, pages, "all pages: headway docs")
    click.echo(str(pages[name]) if path else pages[name].read_text(encoding="utf-8").rstrip("\n"))


def _pages() -> dict[str, Path]:
    """Every page by the name that commands take."""
    found = sorted(FOLDER.rglob("*.md")) if FOLDER.is_dir() else []
    return {file.relative_to(FOLDER).with_suffix("").as_posix(): file for file in found}


def _title(file: Path) -> str:
    """The heading of a page."""
    with file.open(encoding="utf-8") as lines:
        return next((line.removeprefix("# ").strip() for line in lines if line.startswith("# ")), "")


COMMAND = docs
