"""Clean-up of each SVG that is drawn for the site: no background of its own, no digit that nothing shows."""

from __future__ import annotations

import re

MOST_BYTES = 300_000
_BACKGROUND = re.compile(r'(<g id="patch_\d+">\s*<path [^>]*style=")fill: #ffffff')
_PATH = re.compile(r'(<path [^>]*?\bd=")([^"]*)(")')
_NUMBER = re.compile(r"-?\d+\.\d{2,}")


def finished(svg: str) -> str:
    """The picture with a background that is the page's, and coordinates to a tenth of a point."""
    clear = _BACKGROUND.sub(r"\1fill: none", svg)
    short = _PATH.sub(lambda path: path[1] + _NUMBER.sub(_short, path[2]).replace(" \n", "\n") + path[3], clear)
    return re.sub(r"<metadata>.*?</metadata>\s*", "", short, flags=re.DOTALL)


def _short(number: re.Match[str]) -> str:
    return f"{float(number[0]):.1f}".removesuffix(".0")
