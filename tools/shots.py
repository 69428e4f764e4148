"""Pictures of what a page's commands make: reports and views in a browser, and terminals.

A line `<!-- drawn: KIND WHAT -->` of a page asks for one, after all blocks of the page have been executed:

    report DIR#FIGURE   the report of a directory of results, cut to a figure of it
    view DIR            the first page of `headway view DIR`
    terminal COMMAND    what a command prints on a terminal, with its colours

The system's Chromium makes those of reports and views, in both themes. Without it, or without playwright, a figure of a
report is the file that `headway report --format svg` writes, and there is no picture of a view: the build says so.
"""

from __future__ import annotations

import html
import importlib.util
import io
import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from executed import PageError
from kept import ALTS, FOLDER
from svgs import MOST_BYTES, finished

SHOTS = "shots"
MARK = re.compile(r"^<!-- drawn: ([\w-]+)(?: ([^\n]+?))? -->(?:\n\n```\n.*?^```$)?", re.DOTALL | re.MULTILINE)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
WIDTH, HEIGHT = 1000, 640
COLUMNS = 100
# A command that prints nothing for so long has failed.
PATIENCE_S = 120.0
THEMES = ("light", "dark")
# A replay is shown when packets are on all of its links, and not at its beginning.
REPLAY, REPLAY_AT = "replay", 0.77
MOVE = "(bar, share) => { bar.value = share * bar.max; bar.dispatchEvent(new Event('input', { bubbles: true })); }"
KINDS = ("report", "view", "terminal")


@dataclass(frozen=True)
class Shot:
    """A picture that a page asks for: its files, one for each theme or one for both, and what is seen."""

    files: tuple[str, ...]
    alt: str


def asked(text: str) -> list[tuple[str, str]]:
    """The pictures that a page asks for."""
    return [(kind, what or "") for kind, what in MARK.findall(text) if kind in KINDS]


def place_of(page: Path) -> Path:
    """The folder of a page's pictures."""
    return FOLDER / SHOTS / page.stem


def taken(page: Path) -> list[Shot | None]:
    """The pictures of a page that have been made, in the order in which it asks for them."""
    index = place_of(page) / ALTS
    if not index.exists():
        return []
    return [Shot(tuple(one[0]), one[1]) if one else None for one in json.loads(index.read_text("utf-8"))]


def capture(page: Path, folder: Path, surroundings: Mapping[str, str]) -> None:
    """Make the pictures of a page whose commands have been executed in a folder."""
    wanted = asked(page.read_text("utf-8"))
    place = place_of(page)
    shutil.rmtree(place, ignore_errors=True)
    if not wanted:
        return
    place.mkdir(parents=True)
    with ExitStack() as stack:
        browser = stack.enter_context(chromium()) if any(kind != "terminal" for kind, _ in wanted) else None
        found = []
        for number, (kind, what) in enumerate(wanted):
            stem = place / f"{number}-{kind}"
            if kind == "terminal":
                shot: Shot | None = of_terminal(what, folder, surroundings, stem)
            elif kind == "report":
                shot = of_report(what, folder, surroundings, stem, browser)
            else:
                shot = of_view(what, folder, surroundings, stem, browser)
            found.append((shot.files, shot.alt) if shot else None)
    (place / ALTS).write_text(json.dumps(found), "utf-8")


def browser_there() -> str:
    """The program of the browser that makes pictures; empty without one, or without playwright."""
    if importlib.util.find_spec("playwright") is None:
        return ""
    return next(filter(None, map(shutil.which, BROWSERS)), "")


@contextmanager
def chromium() -> Iterator[Any]:
    """The system's browser, or None, said so, where it or playwright is missing."""
    program = browser_there()
    if not program:
        print("no Chromium or no playwright is installed: of reports there are figures, and of views no pictures")
        yield None
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


def photograph(browser: Any, url: str, part: str, stem: Path) -> tuple[str, ...]:  # noqa: ANN401  (playwright's)
    """A page, or the element with an id of it, in both themes."""
    names = []
    for theme in THEMES:
        context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=theme)
        page = context.new_page()
        page.goto(url)
        page.wait_for_selector("html[data-ready]", state="attached")
        if part == REPLAY:
            page.locator(f"#{REPLAY} input[type=range]").evaluate(MOVE, REPLAY_AT)
        path = stem.with_name(f"{stem.name}-{theme}.png")
        (page.locator(f"#{part}, {part}").first if part else page).screenshot(path=path)
        context.close()
        if path.stat().st_size > MOST_BYTES:
            raise PageError(f"{path.name} has {path.stat().st_size} bytes; cut it to a part of the page: DIR#FIGURE")
        names.append(path.name)
    return tuple(names)


def of_report(what: str, folder: Path, surroundings: Mapping[str, str], stem: Path, browser: object) -> Shot | None:
    """A report, made by its command where the page has not made it; None where only a browser could show that part."""
    directory, _, part = what.partition("#")
    report = folder / directory / "report.html"
    if not report.exists():
        _run(["headway", "report", directory], folder, surroundings)
    text = report.read_text("utf-8")
    alt = described(text, part)
    if browser is not None:
        return Shot(photograph(browser, report.as_uri(), part, stem), alt)
    _run(["headway", "report", directory, "--format", "svg"], folder, surroundings)
    drawn = folder / directory / "figures" / f"{part}.svg"
    if not drawn.exists():
        return None
    path = stem.with_suffix(".svg")
    path.write_text(finished(drawn.read_text("utf-8")), "utf-8")
    return Shot((path.name,), alt)


def described(text: str, part: str) -> str:
    """Title and caption of a figure of a report; of a whole report, its title."""
    if not part:
        found = re.search(r"<h1[^>]*>(.*?)</h1>", text, re.DOTALL)
        return f"The report: {_words(found[1]) if found else 'its first screen'}"
    figure = re.search(rf'<figure id="{re.escape(part)}">(.*?)</figure>', text, re.DOTALL)
    if figure is None:
        raise PageError(f"the report has no figure `{part}`")
    title = re.search(r"<h2>(.*?)</h2>", figure[1], re.DOTALL)
    caption = re.search(r"<figcaption>(.*?)</figcaption>", figure[1], re.DOTALL)
    said = ". ".join(_words(one[1]).rstrip(".") for one in (title, caption) if one and _words(one[1]))
    return f"Part of the report: {said}"


def _words(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", text)).split()).replace('"', "'")


def of_view(what: str, folder: Path, surroundings: Mapping[str, str], stem: Path, browser: object) -> Shot | None:
    """The list that `headway view` shows of a directory."""
    if browser is None:
        return None
    command = [sys.executable, "-m", "headway", "view", what, "--port", "0"]
    server = subprocess.Popen(
        command, cwd=folder, env=dict(surroundings), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        url = re.search(r"http://\S+", line)
        if url is None:
            raise PageError(f"headway view does not say where it serves: {line}")
        return Shot(photograph(browser, url[0], "main", stem), f"The list of runs and sweeps below {what} in a browser")
    finally:
        server.terminate()
        server.wait(timeout=PATIENCE_S)


def of_terminal(command: str, folder: Path, surroundings: Mapping[str, str], stem: Path) -> Shot:
    """Output of a command on a terminal."""
    printed = on_terminal(command, folder, surroundings)
    path = stem.with_suffix(".svg")
    path.write_text(terminal_picture(command, printed), "utf-8")
    bare = re.sub(r"\x1b\[[0-9;]*m", "", printed)
    first = next((line for line in bare.splitlines() if line.strip()), "")
    return Shot((path.name,), f"A terminal with the command {command} and what it prints: {_words(first)}")


def on_terminal(command: str, folder: Path, surroundings: Mapping[str, str]) -> str:
    """Output of a command whose standard output and error are a terminal."""
    own = {key: value for key, value in surroundings.items() if key != "NO_COLOR"}
    own |= {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    ours, its = pty.openpty()
    process = subprocess.Popen(["bash", "-c", command], cwd=folder, env=own, stdin=its, stdout=its, stderr=its)
    os.close(its)
    found = b""
    until = time.monotonic() + PATIENCE_S
    try:
        while time.monotonic() < until:
            if not select.select([ours], [], [], 1.0)[0]:
                if process.poll() is not None:
                    break
                continue
            # The other end of a terminal that is closed is an error to read from.
            with suppress(OSError):
                if more := os.read(ours, 65536):
                    found += more
                    continue
            break
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            raise PageError(f"`{command}` does not end") from None
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    return found.decode("utf-8", "replace").replace("\r\n", "\n")


def terminal_picture(command: str, printed: str) -> str:
    """A terminal as SVG, in fonts of the reader's system."""
    from rich.console import Console
    from rich.text import Text

    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(Text("$ ", style="bold green") + Text(command))
    console.print(Text.from_ansi(printed.rstrip()))
    drawn = console.export_svg(title="", unique_id="terminal")
    # rich has its fonts come from another server.
    drawn = re.sub(r"@font-face \{.*?\n    \}", "", drawn, flags=re.DOTALL)
    return drawn.replace("Fira Code", "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono'")


def _run(command: list[str], folder: Path, surroundings: Mapping[str, str]) -> None:
    done = subprocess.run(
        command, cwd=folder, env=dict(surroundings), capture_output=True, text=True, check=False, timeout=600
    )
    if done.returncode:
        raise PageError(f"`{' '.join(command)}` ends with status {done.returncode}\n{done.stderr}")
