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
import tempfile
import time
import urllib.parse
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import click
from built import DRAWN as BUILT
from executed import LONGEST_S, PageError, environment, folder_of, run_page
from front import NAMES, draw_front, front_page
from gallery import FIGURES, draw_gallery, figures, gallery_pages
from kept import ALTS, FOLDER, STAMP, Executed, digest, keep_only, kept, of_tools
from outputs import keep_outputs, outputs_of
from shots import KINDS, MARK, SHOTS, browser_there, capture, taken
from site_checks import site_faults
from states import BLOCK, diagram
from svgs import MOST_BYTES, finished
from transport_pictures import Picture, draw_all

from headway import Scenario
from headway.pages import Entry, contents, title
from headway.pages import read as read_page

REPOSITORY = Path(__file__).resolve().parents[1]
DOCS = REPOSITORY / "docs"
PACKED = REPOSITORY / "python/headway/site.zip"
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
ALL_PAGES = "all-pages.md"
RUST = """\
# Rust: crates for others

`make docs` builds the pages of all crates beside this site, in the folder `rust`; they begin at
`rust/headway_host/index.html`. `headway-host` sends messages between [real hosts](real-hosts.md), and
`headway-transport` holds the transports ([adding a transport](adding-a-transport.md)).
"""
NOTEBOOKS = """\
# Notebooks

These pages are the notebooks in `docs/notebooks`, with their outputs, which are made with this site. To change one,
run it: `pip install jupyterlab`, then `jupyter lab`.

"""
# Folders of pictures that are drawn for the site: of transports, of the front page, of the figures of papers.
DRAWN, FRONT, BUILT_PLACE = "drawn", "front", "built"
# Pages about the claims of a paper, and a heading about one of its figures.
FINDINGS = {f"findings-{paper}": paper for paper in NAMES}
HEADING_OF_FIGURE = re.compile(r"^(#{2,4} .*?\bFigs?\. (\d+).*)$", re.MULTILINE)
# A link of a page that is made to a file of the repository.
NAMED = re.compile(r"@@(.+?)@@")
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
    # The front page of the site is another one: this lists all pages.
    found[DOCS / "README.md"] = ALL_PAGES
    return found


class Stage:
    """The directory that zensical reads. It stays from build to build, and only what has changed is written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pages = sources()
        self.shown: dict[Path, str] = {}
        self.written: set[Path] = set()
        self.drawn: dict[str, list[Picture]] = {}
        self.built: dict[str, str] = {}
        self.figures: dict[str, dict[str, str]] = {}

    def write(self, name: str, content: str | bytes) -> None:
        path = self.folder / name
        data = content.encode() if isinstance(content, str) else content
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        self.written.add(path)

    def fill(self) -> None:
        front = self.draw()
        for page, name in self.pages.items():
            self.write(name, self.converted(page, name))
        self.write("index.md", front_page(front, f"images/{FRONT}"))
        for name, text in gallery_pages(self.figures, f"../images/{FIGURES}").items():
            self.write(name, NAMED.sub(lambda link: self.named(link[1]), text))
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
        self.copy(DOCS / "images", "images")
        self.write("pages.css", (REPOSITORY / "tools/pages.css").read_bytes())
        for path in self.folder.rglob("*"):
            if path.is_file() and path not in self.written:
                path.unlink()

    def draw(self) -> dict[str, str]:
        """Draw what has changed, and bring all pictures; returns the texts of those of the front page."""
        package = REPOSITORY / "python/headway"
        running = [package / name for name in ("_headway.abi3.so", "drawing.py", "tape.py", "data", "reporting")]
        records = [*sorted((REPOSITORY / "scenarios").rglob("*.json")), DOCS / "measurements/engine.md"]
        records += [package / "claims", package / "comparison", REPOSITORY / "scenarios/peers"]
        of_all = kept(DRAWN, digest([*running, *of_tools("svgs", "transport_pictures")]), draw_transports)
        of_front = kept(FRONT, digest([*running, *records, *of_tools("svgs", "front")]), draw_front)
        self.figures = draw_gallery()
        of_code = kept(
            BUILT_PLACE, digest([*running, *crate_files(), *of_tools("built", "transport_pictures")]), draw_built
        )
        self.built = json.loads((of_code / "pictures.json").read_text("utf-8"))
        (FOLDER / SHOTS).mkdir(exist_ok=True)
        keep_only(SHOTS, (FOLDER / SHOTS / page.stem for page in (*self.pages, *notebooks())))
        for folder in (of_all, of_front, FOLDER / FIGURES, FOLDER / SHOTS):
            self.copy(folder, f"images/{folder.name}")
        texts = json.loads((of_all / ALTS).read_text("utf-8"))
        self.drawn = {name: [Picture(*one) for one in both] for name, both in texts.items()}
        found: dict[str, str] = json.loads((of_front / ALTS).read_text("utf-8"))
        return found

    def copy(self, folder: Path, name: str) -> None:
        """Bring the pictures and data of a folder."""
        for file in folder.rglob("*"):
            if file.is_file() and file.suffix != ".json" and file.name != STAMP:
                if file.suffix != ".gz" and file.stat().st_size > MOST_BYTES:
                    raise PageError(f"{file} has {file.stat().st_size} bytes; a picture has at most {MOST_BYTES}")
                self.write(f"{name}/{file.relative_to(folder)}", file.read_bytes())

    def named(self, name: str) -> str:
        """The link from a page of the gallery to a file of the repository."""
        return f"../{self.staged(REPOSITORY / name)}"

    def asked(self, page: Path, text: str) -> str:
        """A page with the pictures that its lines `<!-- drawn: ... -->` ask for; they take the place of sketches."""
        shots = iter(taken(page))
        up = "../" * (len(page.relative_to(DOCS).parts) - 1) if page.is_relative_to(DOCS) else ""

        def drawn(mark: re.Match[str]) -> str:
            kind = mark[1]
            if kind not in KINDS:
                if kind not in BUILT:
                    raise PageError(f"{page}: there is no picture `{kind}`: it is one of {', '.join((*KINDS, *BUILT))}")
                return self.built[kind] or mark[0].partition("\n")[2].lstrip("\n")
            shot = next(shots, None)
            if shot is None:
                return ""
            classes: tuple[str, ...] = ("hw-drawn",) if shot.files[0].endswith("report.svg") else ("hw-shot",)
            classes = ("hw-shot hw-light", "hw-shot hw-dark") if len(shot.files) > 1 else classes
            return "".join(
                f'<img class="{name}" src="{up}images/{SHOTS}/{page.stem}/{file}" alt="{shot.alt}" loading="lazy">'
                for name, file in zip(classes, shot.files, strict=True)
            )

        return MARK.sub(drawn, text)

    def illustrated(self, page: Path) -> str:
        """A page with declarations and pictures; a transport's first picture takes the place of a sketch in letters."""
        text = self.asked(page, with_citations(page))
        if page == DOCS / "field.md":
            return (
                text + FIELD + "".join(f"\n### {name}\n\n{shown(two, '')}\n" for name, (_, two) in self.drawn.items())
            )
        if page.stem in FINDINGS:
            return HEADING_OF_FIGURE.sub(lambda head: self.with_figures(FINDINGS[page.stem], head), text)
        pictures = self.drawn.get(page.stem) if page.parent == DOCS / "transports" else None
        if pictures is None:
            return text
        one, two = (shown(picture, "../") for picture in pictures)
        head, mark, rest = text.partition("\n## ")
        sketched = SKETCH.sub(lambda _: f"{one}\n", head, count=1)
        head = sketched if sketched != head else f"{head}\n{one}\n"
        return f"{head}{mark}{rest}\n## Rate and queue of a link\n\n{COURSES}\n\n{two}\n"

    def with_figures(self, paper: str, head: re.Match[str]) -> str:
        """A heading of a findings page about a figure, with the first picture of each scenario of that figure."""
        found = []
        for name, alts in self.figures.items():
            stem = name.partition("/")[2]
            if name.startswith(f"{paper}/") and stem.startswith(f"fig{int(head[2]):02}") and alts:
                file, alt = next(iter(alts.items()))
                image = (
                    f'<img class="hw-drawn" src="images/{FIGURES}/{paper}/{stem}/{file}" alt="{alt}" loading="lazy">'
                )
                found.append(f"{image}\n\n[All of {title_of_scenario(name)}](@gallery/{paper}-{stem}.md)\n")
        return "\n\n".join([head[0], *found])

    def converted(self, page: Path, name: str) -> str:
        """A page as zensical reads it: links between pages of the site, and one word behind backticks."""
        lines, fence = [], None
        for line in BLOCK.sub(lambda block: diagram(block[1]), self.illustrated(page)).splitlines():
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
        if target.startswith("@"):
            return f"{before}{target[1:]}{after}"
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
        if any(place.is_relative_to(DOCS / "images" / made) for made in (DRAWN, FIGURES, SHOTS)):
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
    return f'<img class="hw-drawn" src="{up}images/{DRAWN}/{picture.file}" alt="{picture.alt}" loading="lazy">'


def draw_transports(folder: Path) -> None:
    """The pictures of all transports, and their texts."""
    drawn = draw_all(folder)
    for file in folder.glob("*.svg"):
        file.write_text(finished(file.read_text("utf-8")), "utf-8")
    texts = {name: [[one.file, one.alt] for one in both] for name, both in drawn.items()}
    (folder / ALTS).write_text(json.dumps(texts), "utf-8")


def crate_files() -> list[Path]:
    """The files that say which crate depends on which."""
    return sorted(REPOSITORY.glob("crates/*/Cargo.toml"))


def draw_built(folder: Path) -> None:
    """The pictures of how Headway is built, which are parts of pages."""
    pictures = {name: make() for name, make in BUILT.items()}
    (folder / "pictures.json").write_text(json.dumps(pictures), "utf-8")


def title_of_scenario(name: str) -> str:
    """The title that a scenario gives itself."""
    return Scenario.load(name).title


def with_citations(page: Path) -> str:
    """A page with what is declared; on a transport's page also the places of papers that its sources cite."""
    text = read_page(page, drawn=True)
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
    """The cells of a notebook, as a page, with the outputs of its last execution."""
    cells = json.loads(book.read_text("utf-8"))["cells"]
    outputs = outputs_of(book)
    shown = []
    for number, cell in enumerate(cells):
        text = "".join(cell["source"])
        shown.append(text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```")
        shown += outputs.get(str(number), [])
    return "\n\n".join(shown) + "\n"


def run_notebook(book: Path, scratch: Path) -> Any:  # noqa: ANN401  (nbformat's)
    """Executes a notebook in a directory of its own, and returns it with outputs. Needs nbclient and ipykernel."""
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
        return client.execute(env=environment(scratch))
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


def build(out: Path, rust: Path | None = None) -> None:
    """Writes the site, with the pages of Rust's, into the directory `out`; fails if a link is broken."""
    folder = FOLDER / "site"
    folder.mkdir(parents=True, exist_ok=True)
    step("drawing and writing pages", lambda: Stage(folder / "docs").fill())
    settings = (REPOSITORY / "zensical.toml").read_text("utf-8")
    settings = settings.replace("[project]\n", f"[project]\nnav = {as_toml(navigation())}\n", 1)
    (folder / "zensical.toml").write_text(settings, "utf-8")
    site = folder / "site"
    step("making the site of them", lambda: zensical(folder, site))
    step("checking links, pictures and sizes", lambda: check_site(site))
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(site, out)
    if rust:
        shutil.copytree(rust, out / "rust", dirs_exist_ok=True)


def pack(site: Path, archive: Path) -> None:
    """Pack the site without the pages of Rust for `headway docs --open`; the same site gives the same bytes."""
    fresh = archive.with_suffix(".new")
    with zipfile.ZipFile(fresh, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for file in sorted(path for path in site.rglob("*") if path.is_file()):
            name = file.relative_to(site)
            if name.parts[0] != "rust":
                packed.writestr(zipfile.ZipInfo(str(name)), file.read_bytes(), zipfile.ZIP_DEFLATED)
    fresh.replace(archive)


def step(what: str, work: Callable[[], None]) -> None:
    """A part of the build, with the time that it took."""
    began = time.monotonic()
    work()
    say(f"{what}: {time.monotonic() - began:.1f} s")


def zensical(folder: Path, site: Path) -> None:
    """Have zensical make the site."""
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode or not (site / "index.html").exists():
        said = f"{click.unstyle(done.stdout)}{done.stderr.splitlines()[-1:]}"
        raise PageError(f"zensical does not build the site\n{said}")


def check_site(site: Path) -> None:
    """Raises `PageError` for a broken link, and for what `site_checks` finds."""
    if broken := broken_links(site):
        raise PageError("the site has broken links\n" + "\n".join(broken))
    if faults := site_faults(site):
        raise PageError("the site has faults\n" + "\n".join(faults))


def navigation() -> list[dict[str, Any]]:
    """The navigation of the site, from the index of the documentation."""
    sections: dict[str, list[Any]] = {"Start": ["index.md", {"All pages": ALL_PAGES}], "Gallery": gallery_entries()}
    for entry in contents():
        sections.setdefault(entry.section, []).append({entry.title: staged_entry(entry)})
    return [{name: [*pages, *GENERATED.get(name, [])]} for name, pages in sections.items()]


def gallery_entries() -> list[Any]:
    """The pages of the gallery, by paper."""
    found: list[Any] = ["gallery/index.md"]
    for paper, name in NAMES.items():
        own = [one for one in figures() if one.paper == paper]
        found.append({name: [{f"{one.place}: {one.scenario.title}": f"gallery/{paper}-{one.stem}.md"} for one in own]})
    return found


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


def say(text: str) -> None:
    """A line of progress."""
    print(text, flush=True)


def execute(only: Sequence[Path] | None) -> None:
    """Execute the pages and notebooks that have changed, or whose program has; or just these, in any case."""
    known = Executed(browser_there())
    pages = [page.resolve() for page in only or (*filter(executable, sources()), *notebooks())]
    waiting = [page for page in pages if only or not known.holds(page)]
    if left := len(pages) - len(waiting):
        say(f"{left} pages and the program are unchanged since they were executed")
    with tempfile.TemporaryDirectory(prefix="headway-pages-") as scratch, ThreadPoolExecutor(2) as pool:
        environment(Path(scratch))
        began = {pool.submit(timed, page, Path(scratch)): page for page in waiting}
        try:
            for number, done in enumerate(as_completed(began), start=1):
                page = began[done]
                say(f"[{number}/{len(waiting)}] {page.relative_to(REPOSITORY)}: {done.result()}")
                known.add(page)
        except PageError:
            pool.shutdown(cancel_futures=True)
            raise


def timed(page: Path, scratch: Path) -> str:
    """Execute a page or a notebook; returns what was executed, and for how long."""
    began = time.monotonic()
    if page.suffix == ".ipynb":
        keep_outputs(page, run_notebook(page, scratch))
        what = "all cells"
    else:
        what = f"{run_page(page, scratch)} blocks"
        capture(page, folder_of(page, scratch), environment(scratch))
    return f"{what}, {time.monotonic() - began:.1f} s"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=REPOSITORY / "site", help="where the site goes (default: site)")
    parser.add_argument("--rust", type=Path, help="the Rust API pages of `cargo doc`, to be copied into the site")
    parser.add_argument("--not-run", action="store_true", help="do not execute what pages show")
    parser.add_argument("--page", type=Path, action="append", help="only execute this page, and build nothing")
    options = parser.parse_args()
    try:
        if not options.not_run:
            execute(options.page)
        if not options.page:
            build(options.out.resolve(), options.rust)
            step("packing it for `headway docs --open`", lambda: pack(options.out.resolve(), PACKED))
            print(f"the site is in {options.out}; to search in it: python -m http.server -d {options.out}")
    except PageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
