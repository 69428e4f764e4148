"""Figures for papers: the same bytes every time, column width, fonts inside."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.image import imread

from headway.reporting import build
from headway.reporting.palette import Style
from headway.reporting.paper import draw, paper_style
from headway.reporting.spec import Axis, Curve, Figure, Panel
from report.conftest import KINDS


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=() if kind == "model" else pytest.mark.long) for kind in KINDS]
)
def test_svg_figures_are_the_page_s_and_the_same_every_time(kind: str, results: Path) -> None:
    paths = build(results / kind, "svg")
    page = build(results / kind)[0].read_text(encoding="utf-8")
    assert [path.stem for path in paths] == re.findall(r'<figure id="([^"]+)">', page)
    assert all(path.parent == results / kind / "figures" for path in paths)
    first = [path.read_bytes() for path in paths]
    assert [path.read_bytes() for path in build(results / kind, "svg")] == first


def test_svg_has_column_width_no_date_and_real_text(results: Path) -> None:
    for path in build(results / "parking", "svg"):
        text = path.read_text(encoding="utf-8")
        root = ElementTree.fromstring(text)
        assert float(root.attrib["width"].removesuffix("pt")) / 72 == pytest.approx(
            7.0 if path.stem == "throughput-time" else 3.4
        )
        assert "<dc:date>" not in text
        assert "<text" in text


@pytest.mark.long
def test_png_is_sharp_enough_for_print_and_the_same_every_time(results: Path) -> None:
    paths = build(results / "model", "png")
    for path in paths:
        data = path.read_bytes()
        assert data.startswith(b"\x89PNG")
        assert int.from_bytes(data[16:20], "big") >= 3.4 * 300 - 1
        assert b"Software" not in data
    first = [path.read_bytes() for path in paths]
    assert [path.read_bytes() for path in build(results / "model", "png")] == first


def test_pdf_embeds_its_fonts_and_is_the_same_every_time(results: Path) -> None:
    paths = build(results / "model", "pdf")
    first = [path.read_bytes() for path in paths]
    for data in first:
        assert data.startswith(b"%PDF")
        assert b"/FontFile2" in data
        assert b"/Type3" not in data
        assert b"/CreationDate" not in data
    assert [path.read_bytes() for path in build(results / "model", "pdf")] == first


def test_a_line_on_the_edge_of_the_plot_is_as_thick_as_any_other() -> None:
    styles = {"v:edge": Style("#ff0000", "#ff0000"), "v:inside": Style("#0000ff", "#0000ff")}
    lines = tuple(Curve(key, (0.0, 1.0), (y, y)) for key, y in (("v:edge", 1.0), ("v:inside", 0.5)))
    panel = Panel("", Axis("x", "count", 0.0, 1.0), Axis("share", "percent", 0.0, 1.0), lines)
    with paper_style():
        file = BytesIO()
        draw(Figure("one", "One", panels=(panel,), columns=1), styles).savefig(file, format="png", dpi=600)
    file.seek(0)
    column = (np.asarray(imread(file))[:, 1200, :3] * 255).astype(int)
    thick = [int(np.sum((column[:, one] > 200) & (column[:, other] < 80))) for one, other in ((0, 2), (2, 0))]
    assert thick[1] >= 7, "pixels at 600 to the inch"
    assert abs(thick[0] - thick[1]) <= 1
