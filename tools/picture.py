"""Brings a figure that `headway report --format svg` wrote into the documentation.

    python tools/picture.py out/clusters/pipeline/figures/fct-load.svg docs/images/clusters-pipeline.svg

    python tools/picture.py --all

Figures are drawn for white paper. In the documentation they follow the page: where that is dark, light and dark change
places, and colours stay what they are. `--all` draws the pictures of README.md again, from what is on record.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from svgs import finished

IMAGES = Path(__file__).resolve().parents[1] / "docs/images"
# The variants of Fig. 1 that README.md shows.
SHOWN = ("amrt", "phost-arrival")

DARK = "<style>@media (prefers-color-scheme: dark) { svg { filter: invert(1) hue-rotate(180deg) } }</style>"


def for_pages(svg: str) -> str:
    """The picture with the rule for dark pages, once."""
    if DARK in svg:
        return svg
    start = svg.index(">", svg.index("<svg ")) + 1
    return f"{svg[:start]}\n {DARK}{svg[start:]}"


def draw_all() -> None:
    """Draw the pictures of README.md: Fig. 1 of AMRT, the speed, and how close other programs are."""
    from front import draw_agreement, draw_speed
    from gallery import picture

    from headway.names import resolve
    from headway.reporting.paper import paper_style
    from headway.reporting.spec import Panel
    from headway.reproducing.points import recorded_points

    points = recorded_points(resolve("amrt/fig01"))
    if points is None:
        raise SystemExit("no points of amrt/fig01 are on record: headway reproduce amrt/fig01 --record")
    panels = [panel for panel in points.figures[0].panels if isinstance(panel, Panel) and panel.title in SHOWN]
    text = picture(replace(points.figures[0], panels=tuple(panels), columns=2), points)
    (IMAGES / "fig01.svg").write_text(for_pages(text), "utf-8")
    for name, draw in (("speed", draw_speed), ("agreement", draw_agreement)):
        path = IMAGES / f"{name}.svg"
        with paper_style():
            draw(path)
        path.write_text(for_pages(finished(path.read_text("utf-8"))), "utf-8")


def main() -> None:
    """Read the first file and write the second, or draw all of README.md's pictures."""
    if sys.argv[1:] == ["--all"]:
        draw_all()
        return
    source, target = (Path(argument) for argument in sys.argv[1:3])
    target.write_text(for_pages(source.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
