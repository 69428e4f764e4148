"""Brings a figure that `headway report --format svg` wrote into the documentation.

    python tools/picture.py out/clusters/pipeline/figures/fct-load.svg docs/images/clusters-pipeline.svg

Figures are drawn for white paper. In the documentation they follow the page: where that is dark, light and dark change
places, and colours stay what they are.
"""

from __future__ import annotations

import sys
from pathlib import Path

DARK = "<style>@media (prefers-color-scheme: dark) { svg { filter: invert(1) hue-rotate(180deg) } }</style>"


def for_pages(svg: str) -> str:
    """The picture with the rule for dark pages, once."""
    if DARK in svg:
        return svg
    start = svg.index(">", svg.index("<svg ")) + 1
    return f"{svg[:start]}\n {DARK}{svg[start:]}"


def main() -> None:
    """Read the first file and write the second."""
    source, target = (Path(argument) for argument in sys.argv[1:3])
    target.write_text(for_pages(source.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
