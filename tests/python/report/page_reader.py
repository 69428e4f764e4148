"""Takes a page apart: its figures, the data behind them, its tables and text."""

from __future__ import annotations

import base64
import gzip
import json
import re
from functools import cached_property
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page:
    """One report page."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def content(self) -> dict[str, Any]:
        """Everything that the script works with."""
        match = re.search(r'<script type="text/plain" id="data">(.*?)</script>', self.text, re.DOTALL)
        assert match
        found: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(match[1])))
        return found

    @property
    def data(self) -> dict[str, Any]:
        """Data from which the script reads values of drawn panels, by panel."""
        panels = self.content["panels"].items()
        return {name: panel for name, panel in panels if panel.get("first") and "series" in panel}

    def more(self, figure: str) -> list[dict[str, Any]]:
        """The panels of a figure that selectors bring."""
        panels = self.content["panels"].items()
        return [panel for name, panel in panels if name.rpartition(".")[0] == figure and not panel.get("first")]

    @property
    def body(self) -> str:
        """The page without the scripts and their data."""
        return self.text.partition('<script type="text/plain"')[0]

    @cached_property
    def figures(self) -> list[str]:
        """Ids of the figures drawn, in order."""
        return re.findall(r'<figure id="([^"]+)">', self.text)

    @cached_property
    def absent(self) -> dict[str, str]:
        """Reason for each figure that is not drawn."""
        return dict(re.findall(r'<div id="([^"]+)"><dt>[^<]*</dt><dd>(.*?)</dd></div>', self.text))

    @cached_property
    def pictures(self) -> list[ElementTree.Element]:
        """Every inline SVG, parsed strictly."""
        return [ElementTree.fromstring(source) for source in re.findall(r"<svg.*?</svg>", self.body, re.DOTALL)]

    def series(self, panel: str, name: str) -> tuple[list[float], list[float]]:
        """x and y of one line of a panel."""
        entry = self.data[panel]
        line = next(line for line in entry["series"] if line["name"] == name)
        return entry["xs"][line["x"]], line["y"]

    def panel(self, figure: str, title: str) -> str:
        """Name of the panel of a figure that bears a title."""
        return next(k for k, v in self.data.items() if k.rpartition(".")[0] == figure and v["title"] == title)


class Structure(HTMLParser):
    """Collects attributes that could reach out of the page, ids, and checks that tags close."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.references: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "xlink:href", "action", "srcset", "data", "poster"):
                self.references.append(value or "")
            if name == "id":
                self.ids.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1] == tag, f"</{tag}> closes <{self.open[-1] if self.open else 'nothing'}>"
        self.open.pop()


def structure(text: str) -> Structure:
    """Parse a page."""
    parser = Structure()
    parser.feed(text)
    parser.close()
    assert not parser.open
    return parser
