"""Checks of the built documentation site: pictures and their texts, sizes, requests to elsewhere, texts of links."""

from __future__ import annotations

import html.parser
import re
from pathlib import Path

from svgs import MOST_BYTES

MOST_SITE = 40_000_000
MOST_FIRST_VIEW = 500_000
PICTURES = (".svg", ".png", ".webp", ".gif", ".jpg")
# Texts that say that there is a picture, and not what is seen in it.
EMPTY_WORDS = {"image", "picture", "figure", "plot", "diagram", "screenshot", "drawing", "svg", "png"}
LEAST_WORDS = 4
ELSEWHERE = re.compile(r"url\(['\"]?(?:https?:)?//[^)]+\)|@import\s+['\"](?:https?:)?//")


class Seen(html.parser.HTMLParser):
    """Requests of a page: its own files, files from elsewhere, pictures without words, links named as files."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.faults: list[str] = []
        self._link: str | None = None
        self._words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "img":
            self._picture(found)
        if tag == "a":
            self._link, self._words = found.get("href"), ""
        asks = {"img": "src", "script": "src", "iframe": "src", "video": "src"}.get(tag)
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            asks = "href"
        if asks and (target := found.get(asks)):
            if re.match(r"(?:https?:)?//", target):
                self.faults.append(f"asks another server for {target}")
            elif not target.startswith("data:") and found.get("loading") != "lazy":
                self.asked.append(target)

    def _picture(self, found: dict[str, str]) -> None:
        name = found.get("src", "")
        if "alt" not in found:
            self.faults.append(f"the picture {name} has no alt text")
            return
        words = re.findall(r"\w+", found["alt"])
        if found["alt"] and (len(words) < LEAST_WORDS or {word.lower() for word in words} <= EMPTY_WORDS):
            self.faults.append(f"the alt text of {name} does not say what is seen: '{found['alt']}'")
        elif not found["alt"] and "data-decoration" not in found:
            self.faults.append(f"the alt text of {name} is empty")

    def handle_data(self, data: str) -> None:
        self._words += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            # A page that shows a file is titled by the file's name; those links are to files.
            if re.fullmatch(r"[\w/-]+\.(?:md|html)", self._words.strip()) and "/files/" not in f"/{self._link}":
                self.faults.append(f"the text of the link to {self._link} is a file name, not a title")
            self._link = None


def site_faults(site: Path) -> list[str]:
    """Faults of a site, a line each; the pages of Rust's crates are not looked at."""
    faults: list[str] = []
    for page in sorted(site.rglob("*.html")):
        name = page.relative_to(site)
        if name.parts[0] == "rust":
            continue
        seen = Seen()
        seen.feed(page.read_text("utf-8"))
        faults += [f"{name}: {fault}" for fault in seen.faults]
        if name == Path("index.html") and (size := first_view(page, seen.asked)) > MOST_FIRST_VIEW:
            faults.append(f"{name}: its first view takes {size} bytes, and may take {MOST_FIRST_VIEW}")
    files = [file for file in site.rglob("*") if file.is_file() and file.relative_to(site).parts[0] != "rust"]
    for file in files:
        name, size = file.relative_to(site), file.stat().st_size
        if file.suffix in PICTURES and size > MOST_BYTES:
            faults.append(f"{name} has {size} bytes; a picture has at most {MOST_BYTES}")
        if file.suffix in (".css", ".svg") and (found := ELSEWHERE.search(file.read_text("utf-8"))):
            faults.append(f"{name} asks another server: {found[0]}")
    if (whole := sum(file.stat().st_size for file in files)) > MOST_SITE:
        faults.append(f"the site has {whole} bytes without the Rust API, and may have {MOST_SITE}")
    return faults


def first_view(page: Path, asked: list[str]) -> int:
    """Bytes of a page and of what it asks for at once."""
    found = {page, *(page.parent / re.split(r"[?#]", one)[0] for one in asked)}
    return sum(file.stat().st_size for file in found if file.exists())
