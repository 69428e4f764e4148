"""Builds the documentation site from docs/: `make docs`.

The pages of docs/ are read as they are in the repository. This program executes what they show (tools/executed.py),
adds the pages that are written from declarations, copies files outside docs/ that pages link to, and calls zensical.
Then it checks every link and every anchor of the site.
"""

from __future__ import annotations

import argparse
import html.parser
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from executed import LONGEST_S, PageError, environment, run_page
from transport_pictures import Picture, draw_all

from headway.pages import Entry, contents, title
from headway.pages import read as read_page

REPOSITORY = Path(__file__).resolve().parents[1]
DOCS = REPOSITORY / "docs"
# Pages outside docs/ and their names in the site. Everything else that pages link to is shown as a file.
OUTSIDE = {"README.md": "readme.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
# Pages that are written from declarations, by the section of the index behind whose pages they go.
GENERATED = {
    "Reference": [
        {"Commands and options": "commands.md"},
        {"Python: what the package exports": "python-api.md"},
        {"Rust: crates for others": "rust-api.md"},
    ]
}
RUST = """\
# Rust: crates for others

`make docs` builds the pages of all crates beside this site, in the folder `rust`; they begin at
`rust/headway_host/index.html`. `headway-host` sends messages between [real hosts](real-hosts.md), and
`headway-transport` holds the transports ([adding a transport](adding-a-transport.md)).
"""
NOTEBOOKS = """\
# Notebooks

These pages are the notebooks in `docs/notebooks`, which the tests execute. The outputs are not shown here. To see them,
run a notebook: `pip install jupyterlab`, then `jupyter lab`.

"""
# Library that draws diagrams: the theme fetches it from another server unless a page brings it along.
MERMAID = "mermaid@12.3.0"
MERMAID_PLACE = "assets/javascripts/mermaid.min.js"
# Folder of pictures that are drawn for the site.
DRAWN = "drawn"
# A sketch in letters: a block of code in no language.
SKETCH = re.compile(r"^```\n.*?^```\n", re.DOTALL | re.MULTILINE)
COURSES = (
    "One link of 10 Gb/s with 1 us of delay, and the same three runs and axes for every transport. The rate is that on "
    "the wire, a mean over 10 us; the queue is that in front of the link."
)
FIELD = f"""
## Rates and queues

{COURSES}
"""
LINK = re.compile(r"(\]\()([^)\s]+)(\))|(<img src=\")([^\"]+)(\")")
FENCE = re.compile(r"^(\s*)(```+|~~~+)(.*)$")


def sources() -> dict[Path, str]:
    """Every page of the repository, and the name of its page in the site."""
    found = {REPOSITORY / name: staged for name, staged in OUTSIDE.items()}
    for page in sorted(DOCS.rglob("*.md")):
        name = page.relative_to(DOCS)
        found[page] = str(name.with_name("index.md") if name.name == "README.md" else name)
    return found


class Stage:
    """The directory that zensical reads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pages = sources()
        self.shown: dict[Path, str] = {}
        self.drawn: dict[str, tuple[Picture, Picture]] = {}

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def fill(self) -> None:
        self.drawn = draw_all(self.folder / "images" / DRAWN)
        for page, name in self.pages.items():
            self.write(name, self.converted(page, name))
        self.write("transports/index.md", transports())
        self.write("commands.md", command_reference())
        self.write("python-api.md", python_reference())
        self.write("rust-api.md", RUST)
        self.write(
            "notebooks/index.md", NOTEBOOKS + "".join(f"- [{book.stem}]({book.stem}.md)\n" for book in notebooks())
        )
        for book in notebooks():
            self.write(f"notebooks/{book.stem}.md", notebook_page(book))
        for path, name in list(self.shown.items()):
            self.write(name, shown_file(path))
        shutil.copytree(DOCS / "images", self.folder / "images", dirs_exist_ok=True)
        styles = REPOSITORY / "tools/pages.css"
        shutil.copy(styles, self.folder / styles.name)

    def illustrated(self, page: Path) -> str:
        """A page with declarations and pictures; a transport's first picture takes the place of a sketch in letters."""
        text = with_citations(page)
        if page == DOCS / "field.md":
            return (
                text + FIELD + "".join(f"\n### {name}\n\n{shown(two, '')}\n" for name, (_, two) in self.drawn.items())
            )
        pictures = self.drawn.get(page.stem) if page.parent == DOCS / "transports" else None
        if pictures is None:
            return text
        one, two = (shown(picture, "../") for picture in pictures)
        head, mark, rest = text.partition("\n## ")
        sketched = SKETCH.sub(lambda _: f"{one}\n", head, count=1)
        head = sketched if sketched != head else f"{head}\n{one}\n"
        return f"{head}{mark}{rest}\n## Rate and queue of a link\n\n{COURSES}\n\n{two}\n"

    def converted(self, page: Path, name: str) -> str:
        """A page as zensical reads it: links between pages of the site, and one word behind backticks."""
        lines, fence = [], None
        for line in self.illustrated(page).splitlines():
            found = FENCE.match(line)
            if fence is None and found:
                fence = found[2]
                line = found[1] + fence + opening(found[3].strip())
            elif fence is not None and found and found[2].startswith(fence) and not found[3].strip():
                fence = None
            elif fence is None:
                line = LINK.sub(lambda link: self.link(page, name, link), line)
            lines.append(line)
        return "\n".join(lines) + "\n"

    def link(self, page: Path, name: str, link: re.Match[str]) -> str:
        before, target, after = (link[1], link[2], link[3]) if link[1] else (link[4], link[5], link[6])
        if re.match(r"[a-z]+:|#", target):
            return link[0]
        path, _, anchor = target.partition("#")
        place = Path(os.path.normpath(page.parent / path))
        staged = os.path.relpath(self.staged(place), Path(name).parent)
        return f"{before}{staged}{'#' + anchor if anchor else ''}{after}"

    def staged(self, place: Path) -> str:
        """The name in the site of a file or folder of the repository."""
        if place in self.pages:
            return self.pages[place]
        if place.is_dir() and (place.is_relative_to(DOCS)):
            return f"{place.relative_to(DOCS)}/index.md"
        if place.is_relative_to(DOCS / "images" / DRAWN):
            return str(place.relative_to(DOCS))
        if not place.is_relative_to(REPOSITORY) or not place.exists():
            raise PageError(f"{place} does not exist")
        name = place.relative_to(DOCS if place.is_relative_to(DOCS) else REPOSITORY)
        if name.parts[0] == "images":
            return str(name)
        if place.is_relative_to(REPOSITORY / "docs/images"):
            return str(place.relative_to(DOCS))
        return self.shown.setdefault(place, f"files/{place.relative_to(REPOSITORY)}.md")


def shown(picture: Picture, up: str) -> str:
    """A picture on a page that lies so far down."""
    return f'<img src="{up}images/{DRAWN}/{picture.file}" alt="{picture.alt}" loading="lazy">'


def with_citations(page: Path) -> str:
    """A page with what is declared; on a transport's page also the places of papers that its sources cite."""
    text = read_page(page)
    if page.parent != DOCS / "transports" or not (found := citations(page.stem)):
        return text
    places = "".join(f"- {place}: {', '.join(sorted(files))}\n" for place, files in sorted(found.items()))
    return f"{text}\n### Where the paper is implemented\n\n{places}"


def citations(name: str) -> dict[str, set[str]]:
    """Places of papers (`// AMRT §IV-B`) in the sources of a transport, with the files that cite them."""
    root = REPOSITORY / "crates/transport/src"
    short = name.replace("-", "_")
    parts = {short, name.partition("-")[0], name.rpartition("-")[2]}
    sources = (path for path in root.rglob("*.rs") if path.stem != "script")
    files = [path for path in sources if path.stem in parts or path.parent.name in parts]
    found: dict[str, set[str]] = {}
    for file in files:
        for place in re.findall(r"//.*?([A-Za-z]\w* §[\w.-]*\w)", file.read_text("utf-8")):
            found.setdefault(place, set()).add(f"`{file.relative_to(root)}`")
    return found


def opening(info: str) -> str:
    """The words behind backticks for zensical: the language, and the name of a file or the reason as a title."""
    kind = info.split(" ")[0] if info else ""
    kind = {"": "text", "output": "text", "identities": "text"}.get(kind, kind)
    file, reason = re.search(r" file=(\S+)", info), re.search(r" not run: (.+)", info)
    title = f"file {file[1]}" if file else f"not executed: {reason[1]}" if reason else ""
    return f' {kind} title="{title}"' if title else kind


def shown_file(path: Path) -> str:
    """A file of the repository as a page, or the list of files of a folder."""
    title = f"# `{path.relative_to(REPOSITORY)}`\n\n"
    if path.is_dir():
        files = sorted(file.relative_to(path) for file in path.rglob("*") if file.is_file())
        kept = [file for file in files if not any(part.startswith(("_", ".")) for part in file.parts)]
        return title + "This folder of the repository holds:\n\n" + "".join(f"- `{file}`\n" for file in kept)
    language = {".toml": "toml", ".rs": "rust", ".py": "python", ".json": "json", ".lua": "lua", ".sh": "sh"}
    text = path.read_text("utf-8")
    fence = "`" * (max((len(run) for run in re.findall(r"`{3,}", text)), default=2) + 1)
    return f"{title}{fence}{language.get(path.suffix, 'text')}\n{text.rstrip()}\n{fence}\n"


def notebooks() -> list[Path]:
    return sorted((DOCS / "notebooks").glob("*.ipynb"))


def notebook_page(book: Path) -> str:
    """The cells of a notebook, as a page."""
    cells = json.loads(book.read_text("utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells]
    shown = [
        text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```"
        for cell, text in zip(cells, texts, strict=True)
    ]
    return "\n\n".join(shown) + "\n"


def run_notebook(book: Path, scratch: Path) -> None:
    """Executes a notebook in a directory of its own. Needs nbclient and ipykernel."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    folder = scratch / "notebooks" / book.stem
    folder.mkdir(parents=True, exist_ok=True)
    client = NotebookClient(
        nbformat.reads(book.read_text("utf-8"), as_version=4),
        timeout=LONGEST_S,
        resources={"metadata": {"path": str(folder)}},
    )
    try:
        client.execute(env=environment(scratch))
    except CellExecutionError as error:
        raise PageError(f"{book}: a cell fails\n{error}") from None


def transports() -> str:
    """The list of transports, from the registry."""
    rows = [
        "# Transports\n",
        "Each page says how a transport works, its parameters, and where it differs from its paper.",
        "[Which transport when](../choosing.md) compares them.\n",
        "| transport | summary | paper |",
        "|---|---|---|",
    ]
    for one in listed():
        page = DOCS / f"transports/{one['name']}.md"
        name = f"[`{one['name']}`]({page.name})" if page.exists() else f"`{one['name']}`"
        rows.append(f"| {name} | {one['summary']} | {one['paper']} |")
    rows += ["", "The multipath transports share [a page](mptcp.md).", ""]
    return "\n".join(rows)


def listed() -> list[dict[str, str]]:
    printed = subprocess.run(
        [sys.executable, "-m", "headway", "list", "transports", "--json"], capture_output=True, text=True, check=True
    )
    rows: list[dict[str, str]] = json.loads(printed.stdout)
    return rows


def command_reference() -> str:
    """Output of `--help`, for every command."""
    from headway.cli.main import cli

    def pages(command: click.Command, words: list[str]) -> Iterator[str]:
        context = click.Context(command, info_name=" ".join(words), max_content_width=100, terminal_width=100)
        yield f"## `{' '.join(words)}`\n\n```text\n{command.get_help(context)}\n```\n"
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                assert inner is not None
                yield from pages(inner, [*words, name])

    intro = (
        "# Every command and option\n\nThis page is what `--help` prints. "
        "[The command line](command-line.md) says what commands have in common.\n\n"
    )
    return intro + "\n".join(pages(cli, ["headway"]))


def python_reference() -> str:
    """Exports of the package: signatures and docstrings."""
    import headway

    parts = [
        "# Python: what the package exports\n",
        "This page is written from the package's docstrings. Every name is in the module `headway`.\n",
    ]
    for name in headway.__all__:
        thing = getattr(headway, name)
        if name.startswith("_") or inspect.ismodule(thing):
            continue
        parts.append(f"## `{name}`\n")
        parts.append(described(name, thing))
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            for member, value in members(thing):
                parts += [f"### `{name}.{member}`\n", described(member, value)]
    return "\n".join(parts)


def members(thing: type) -> Iterator[tuple[str, object]]:
    """The public methods and properties of a class, in the order of its source, with inherited ones of this package."""
    seen = set()
    for base in thing.__mro__:
        if not base.__module__.startswith("headway"):
            continue
        for member, value in vars(base).items():
            if (
                not member.startswith("_")
                and member not in seen
                and (callable(value) or isinstance(value, (property, classmethod, staticmethod)))
            ):
                seen.add(member)
                yield member, value


def described(name: str, thing: object) -> str:
    """The signature and the docstring of a name."""
    function: Any = thing.fget if isinstance(thing, property) else getattr(thing, "__func__", thing)
    text = ""
    if isinstance(thing, property):
        returns = inspect.signature(function).return_annotation if function else ""
        text = f"```python\n{name}: {returns}\n```\n\n"
    elif callable(function):
        try:
            text = f"```python\n{name}{inspect.signature(function)}\n```\n\n"
        except ValueError:
            text = ""
    words = inspect.getdoc(function) or ""
    # Docstrings hold plain text; an indented part of one is code.
    return text + words.replace("<", "&lt;") + "\n"


class Links(html.parser.HTMLParser):
    """The links and anchors of a page of the site."""

    def __init__(self) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = {""}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            if value and ((name == "href" and tag in ("a", "link")) or (name == "src" and tag in ("img", "script"))):
                self.links.add(value)


def broken_links(site: Path) -> list[str]:
    """Links of the site's pages to pages, files and anchors that do not exist. The Rust pages check their own."""
    read: dict[Path, Links] = {}
    for page in site.rglob("*.html"):
        if page.relative_to(site).parts[0] != "rust":
            read[page] = Links()
            read[page].feed(page.read_text("utf-8"))
    broken = []
    for page, parsed in read.items():
        for link in sorted(parsed.links):
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            base = site if page.name == "404.html" else page.parent
            path = urllib.parse.unquote(parts.path)
            target = Path(os.path.normpath(base / path.lstrip("/"))) if path else page
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                broken.append(f"{page.relative_to(site)}: {link} leads nowhere")
            elif target in read and urllib.parse.unquote(parts.fragment) not in read[target].anchors | {"__skip"}:
                broken.append(f"{page.relative_to(site)}: {link} names an anchor that its page does not have")
    return broken


def mermaid(folder: Path) -> Path | None:
    """The script that draws diagrams, from the npm registry; None, said so, where npm is not installed."""
    npm = shutil.which("npm")
    if npm is None:
        print("npm is not installed: pages with diagrams fetch the script that draws them from another server")
        return None
    done = subprocess.run([npm, "pack", "--silent", MERMAID], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PageError(f"npm does not fetch {MERMAID}\n{done.stderr}")
    with tarfile.open(folder / done.stdout.split()[-1]) as package:
        package.extract("package/dist/mermaid.min.js", folder, filter="data")
    return folder / "package/dist/mermaid.min.js"


def bring_along(script: Path, site: Path) -> None:
    """Copies the script into the site, and names it in each page that has a diagram."""
    shutil.copyfile(script, site / MERMAID_PLACE)
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        if 'class="mermaid"' in text:
            up = "../" * (len(page.relative_to(site).parts) - 1)
            page.write_text(text.replace("</head>", f'<script src="{up}{MERMAID_PLACE}"></script></head>', 1), "utf-8")


def build(out: Path, rust: Path | None = None, drawing: Path | None = None) -> None:
    """Writes the site into the directory `out`, which it replaces, and fails if a link is broken.

    `rust` are pages of Rust's, and `drawing` the script that draws diagrams.
    """
    with tempfile.TemporaryDirectory(prefix="headway-site-") as name:
        folder = Path(name)
        stage = Stage(folder / "docs")
        stage.fill()
        settings = (REPOSITORY / "zensical.toml").read_text("utf-8")
        settings = settings.replace("[project]\n", f"[project]\nnav = {as_toml(navigation())}\n", 1)
        (folder / "zensical.toml").write_text(settings, "utf-8")
        command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
        site = folder / "site"
        if done.returncode or not (site / "index.html").exists():
            raise PageError(
                f"zensical does not build the site\n{click.unstyle(done.stdout)}{done.stderr.splitlines()[-1:]}"
            )
        if drawing:
            bring_along(drawing, site)
        if broken := broken_links(site):
            raise PageError("the site has broken links\n" + "\n".join(broken))
        shutil.rmtree(out, ignore_errors=True)
        shutil.move(site, out)
    if rust:
        shutil.copytree(rust, out / "rust", dirs_exist_ok=True)


def navigation() -> list[dict[str, Any]]:
    """The navigation of the site, from the index of the documentation."""
    sections: dict[str, list[Any]] = {"Start": ["index.md"]}
    for entry in contents():
        sections.setdefault(entry.section, []).append({entry.title: staged_entry(entry)})
    return [{name: [*pages, *GENERATED.get(name, [])]} for name, pages in sections.items()]


def staged_entry(entry: Entry) -> str | list[Any]:
    """The page of an entry in the site, or the pages of its folder; decisions have a table of their own."""
    place = (DOCS / entry.target).resolve()
    if not place.is_dir():
        return sources()[place]
    if entry.target == "decisions":
        return f"{entry.target}/index.md"
    pages = sorted(page for page in (*place.glob("*.md"), *place.glob("*.ipynb")) if page.name != "README.md")
    named = {page: title(page) if page.suffix == ".md" else page.stem for page in pages}
    return [f"{entry.target}/index.md", *({name: f"{entry.target}/{page.stem}.md"} for page, name in named.items())]


def as_toml(value: object) -> str:
    """Lists, tables and texts on one line of TOML."""
    match value:
        case dict():
            return "{ " + ", ".join(f"{json.dumps(name)} = {as_toml(one)}" for name, one in value.items()) + " }"
        case list():
            return "[" + ", ".join(as_toml(one) for one in value) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)


def executable(page: Path) -> bool:
    """True if a page has a block that is executed, or says why it is not."""
    # To parse all pages takes seconds, and this is asked of each of them before any test begins.
    return re.search(r"^[ >]*(?:```+|~~~+) *(?:console|sh|python)\b", page.read_text("utf-8"), re.MULTILINE) is not None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=REPOSITORY / "site", help="where the site goes (default: site)")
    parser.add_argument("--rust", type=Path, help="the Rust API pages of `cargo doc`, to be copied into the site")
    parser.add_argument("--not-run", action="store_true", help="do not execute what pages show")
    parser.add_argument("--page", type=Path, action="append", help="only execute this page, and build nothing")
    options = parser.parse_args()
    try:
        if not options.not_run:
            with tempfile.TemporaryDirectory(prefix="headway-pages-") as scratch:
                for book in [] if options.page else notebooks():
                    run_notebook(book, Path(scratch))
                for page in options.page or filter(executable, sources()):
                    began = time.monotonic()
                    ran = run_page(page.resolve(), Path(scratch))
                    if ran:
                        print(
                            f"{page.resolve().relative_to(REPOSITORY)}: {ran} blocks, {time.monotonic() - began:.1f} s",
                            flush=True,
                        )
        if not options.page:
            with tempfile.TemporaryDirectory(prefix="headway-drawing-") as scratch:
                build(options.out.resolve(), options.rust, mermaid(Path(scratch)))
            print(f"the site is in {options.out}; to search in it: python -m http.server -d {options.out}")
    except PageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
