"""`headway docs`: the pages that come with the package."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import click

from headway.cli.echo import echo
from headway.cli.terminal import print_table
from headway.errors import HeadwayError, NameNotFound, nearest, with_help
from headway.pages import contents, read, title
from headway.sections import FENCE, FOLDER, Section, sections
from headway.site import unpacked_site

# Sections that a search shows, and characters of the line that it shows of each.
MOST_FOUND = 15
MOST_SHOWN = 110
# Decisions explain why something is as it is; a search for its use comes to other pages first.
LATER = "decisions/"


@click.command()
@click.argument("page", required=False, metavar="[PAGE]")
@click.option("--path", is_flag=True, help="Print where the page is, and nothing else.")
@click.option("--raw", is_flag=True, help="Print Markdown as it is; on a terminal a page is rendered, with a pager.")
@click.option("--open", "opened", is_flag=True, help="Open the pages as a site in the browser, from disk.")
@click.option(
    "--search",
    "words",
    metavar="WORDS",
    help='Sections that hold all of these words, or else most of them, as "buffer homa".',
)
def docs(page: str | None, path: bool, opened: bool, words: str | None, raw: bool) -> None:
    """List the documentation's pages, or show PAGE, such as scenario-format or transports/amrt.

    PAGE#SECTION shows one section, as --search names them: scenario-format#sample. In a pipe, a page is Markdown.
    """
    if opened:
        if page is not None or path or words is not None:
            raise click.UsageError("--open goes without a page and other options: it opens the whole site")
        index = unpacked_site().as_uri()
        echo(index)
        # Without a screen, click would start a browser for terminals.
        if sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
            click.launch(index)
        return
    pages = _pages()
    if not pages:
        raise HeadwayError(f"{FOLDER} holds no page: this installation is not complete")
    if words is not None:
        if path:
            raise click.UsageError("--search and --path do not go together")
        _search({page: _file(pages, page)} if page is not None else pages, words)
        return
    if page is None:
        if path:
            echo(str(FOLDER))
            return
        _list(pages)
        return
    name, _, section = page.partition("#")
    folder = FOLDER / name.removeprefix("docs/").strip("/")
    if name not in pages and name.strip("/") and folder.is_dir():
        echo(f"{folder}: {', '.join(sorted(one.name for one in folder.iterdir()))}")
        return
    file = _file(pages, name)
    if path:
        echo(str(file))
        return
    text = _section(name, file, section) if section else read(file).rstrip("\n")
    if raw or not sys.stdout.isatty():
        echo(text)
    else:
        click.echo_via_pager(rendered(text), color=True)


# A line of running text is read best below so many characters.
WIDEST = 100


def rendered(text: str) -> str:
    """A page as a terminal shows it: headings, tables and code with colours, as wide as the terminal."""
    from rich.console import Console
    from rich.markdown import Markdown

    width = min(shutil.get_terminal_size().columns, WIDEST)
    console = Console(width=width, force_terminal=True, color_system="standard", file=io.StringIO())
    # Comments and anchors are for the site.
    plain = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    with console.capture() as shown:
        console.print(Markdown(plain, hyperlinks=False))
    return shown.get()


def _list(pages: Mapping[str, Path]) -> None:
    """Print the index, section by section, with the pages of its folders."""
    by_section: dict[str, list[list[str]]] = {}
    for entry in contents():
        name = entry.target.removesuffix(".md")
        inside = [one for one in pages if one.startswith(f"{name}/") and (LATER not in one or one.endswith("README"))]
        rows = [[name, entry.title]] if name in pages else [[one, title(pages[one])] for one in inside]
        by_section.setdefault(entry.section, []).extend(rows)
    for section, rows in by_section.items():
        echo(click.style(section, bold=True))
        print_table(["page", "about"], rows)
        echo()
    echo('a page: headway docs PAGE; by words: headway docs --search "WORDS"')


def _file(pages: Mapping[str, Path], page: str) -> Path:
    name = page.removeprefix("docs/").removesuffix(".md")
    if name not in pages:
        raise NameNotFound("page", page, pages, 'all pages: headway docs; by words: headway docs --search "..."')
    return pages[name]


def _pages() -> dict[str, Path]:
    """Every page by the name that commands take."""
    found = sorted(FOLDER.rglob("*.md")) if FOLDER.is_dir() else []
    return {file.relative_to(FOLDER).with_suffix("").as_posix(): file for file in found}


def _section(page: str, file: Path, wanted: str) -> str:
    """A section with all that is below it."""
    text = read(file)
    found = list(sections(page, text))
    for index, one in enumerate(found):
        if one.anchor == wanted:
            after = next((other.start for other in found[index + 1 :] if other.level <= one.level), None)
            return "\n".join(text.splitlines()[one.start : after]).rstrip("\n")
    raise NameNotFound("section", wanted, [one.anchor for one in found], f"all of it: headway docs {page}")


def _search(pages: Mapping[str, Path], text: str) -> None:
    """Print the sections that hold all words, those first that have them in their headings."""
    words = list(dict.fromkeys(text.lower().split()))
    if not words:
        raise click.UsageError("--search takes a word or more")
    every = [one for name, file in pages.items() for one in sections(name, read(file, results=False))]
    held = {one: _scores(one, words) for one in every}
    most = max((len(scores) for scores in held.values()), default=0)
    if not most or (most == 1 and len(words) > 1):
        raise HeadwayError(f"no section holds {_and(words)}" + with_help(_unknown(every, words)))
    found = sorted(
        ((sum(scores.values()), one) for one, scores in held.items() if len(scores) == most),
        key=lambda pair: (LATER in pair[1].page, -pair[0]),
    )
    if most < len(words):
        said = f"no section holds all of {_and(words)}; these hold {most} of the {len(words)} words"
        echo("; ".join(filter(None, (said, _misspelt(every, words)))), err=True)
    print_table(
        ["section", "about"],
        [[one.name, one.heading] for _, one in found[:MOST_FOUND]],
        [_line(one, words) for _, one in found[:MOST_FOUND]],
    )
    echo(f"read one of them: headway docs {found[0][1].name}")
    if (left := len(found) - MOST_FOUND) > 0:
        echo(f"{left} more; another word narrows them")


def _scores(one: Section, words: list[str]) -> dict[str, float]:
    """Score of a section by those of the words that it holds. A word begins where one of the text does."""
    found = {}
    for word in words:
        pattern = re.compile(rf"(?<![a-z0-9]){re.escape(word)}")
        in_text = sum(len(pattern.findall(line.lower())) for line in one.lines)
        in_head = len(pattern.findall(one.heading.lower())) + len(pattern.findall(one.page.lower().replace("-", " ")))
        if in_text or in_head:
            found[word] = 8.0 * min(in_head, 1) + min(in_text, 5) / (1 + len(one.lines) / 40)
    return found


def _line(one: Section, words: list[str]) -> str:
    """The line that holds most of the words."""
    plain = [line.strip(" |*->") for line in one.lines if line.strip() and not line.startswith((FENCE, "<!--", "|--"))]
    if not plain:
        return ""
    best = max(plain, key=lambda line: sum(word in line.lower() for word in words))
    if len(best) <= MOST_SHOWN:
        return best
    first = min((at for word in words if (at := best.lower().find(word)) >= 0), default=0)
    begin = max(0, min(first - MOST_SHOWN // 3, len(best) - MOST_SHOWN))
    return ("..." if begin else "") + best[begin : begin + MOST_SHOWN].strip() + "..."


def _unknown(every: list[Section], words: list[str]) -> str:
    """Advice if nothing was found: the nearest words that there are."""
    return _misspelt(every, words) or ("fewer words find more" if len(words) > 1 else "all pages: headway docs")


def _misspelt(every: list[Section], words: list[str]) -> str:
    """The nearest words that there are to one that no page has; empty where each is on some page."""
    text = " ".join(" ".join((one.heading, *one.lines)) for one in every).lower()
    known = dict.fromkeys(re.findall(r"[a-z][a-z0-9_-]{2,}", text))
    missing = [word for word in words if word not in text]
    for word in missing:
        if close := nearest(word, known):
            return f"no page has '{word}': did you mean {' or '.join(close)}?"
    return ""


def _and(words: list[str]) -> str:
    return " and ".join(f"'{word}'" for word in words)


COMMAND = docs
