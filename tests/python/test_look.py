"""Figures as papers want them: size, type, variants, labels, scales and limits, and their values as CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headway as package
from headway.data.sweep import Sweep
from headway.errors import HeadwayError
from support import TWO_FLOWS, Answer

Headway = Callable[..., Answer]
INCH = 72.0


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """Two variants with three seeds, and a swept key."""
    root = tmp_path_factory.mktemp("look")
    text = TWO_FLOWS.format(stop="2 ms", size="20 kB")
    text = text.replace("seeds = 2", 'seeds = 3\n"fabric.buffer" = ["30 kB", "200 kB"]')
    text = text.replace("[sample]", '[report]\nfigure = "fct-load"\n\n[sample]')
    (root / "two.toml").write_text(text, encoding="utf-8")
    return package.sweep(root / "two.toml", root / "out", jobs=1)


def size(pdf: Path) -> tuple[float, float]:
    """Width and height of a PDF in inches."""
    found = re.search(rb"/MediaBox \[\s*0 0 ([\d.]+) ([\d.]+)\s*\]", pdf.read_bytes())
    assert found is not None
    return float(found[1]) / INCH, float(found[2]) / INCH


def test_a_figure_has_the_width_and_the_fonts_of_a_paper(swept: Sweep, headway: Headway) -> None:
    options = (
        "--width",
        "3.33",
        "--height",
        "2.5",
        "--font",
        "serif",
        "--legend",
        "bottom",
        "--variants",
        "phost,amrt",
    )
    answer = headway("report", swept.directory, "--format", "pdf", *options, "--label", "phost=pHost (theirs)")
    assert answer.status == 0, answer.err
    drawn = [Path(line) for line in answer.out.splitlines()]
    assert drawn
    for path in drawn:
        assert size(path) == pytest.approx((3.33, 2.5), abs=0.01)
        assert b"/Type3" not in path.read_bytes()


@pytest.mark.long
def test_python_and_the_command_line_draw_the_same(swept: Sweep, headway: Headway) -> None:
    answer = headway("report", swept.directory, "--format", "svg", "--yscale", "log", "--ylim", "1e-6,1")
    assert answer.status == 0
    before = (swept.directory / "figures/fct-load.svg").read_text("utf-8")
    text = io.StringIO()
    swept.plot.fct_load(yscale="log", ylim=(1e-6, 1)).savefig(text, format="svg", metadata={"Date": None})
    assert text.getvalue().count("<path") == before.count("<path")
    assert re.findall(r">([^<>]+)</text>", text.getvalue()) == re.findall(r">([^<>]+)</text>", before)


def test_python_saves_with_fonts_that_journals_take(swept: Sweep, tmp_path: Path) -> None:
    figure = swept.plot.fct_load(width=3.33, labels={"phost": "pHost"}, legend="right")
    figure.set_size_inches(3.33, 3.0)
    figure.savefig(tmp_path / "x.pdf")
    assert b"/Type3" not in (tmp_path / "x.pdf").read_bytes()
    assert size(tmp_path / "x.pdf") == pytest.approx((3.33, 3.0), abs=0.01)
    assert swept.plot.fct_load(y="max[<=1MB]").axes[0].get_ylabel().startswith("max FCT, <=1MB")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["amrt", "pHost"]


def test_labels_are_inside_at_any_size(swept: Sweep) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    for width, height in ((3.33, 3.0), (3.33, 4.0), (7.0, 3.0)):
        figure = swept.plot.fct_load(width=width, height=height)
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
        for axes in figure.axes:
            box = axes.yaxis.label.get_window_extent()
            assert box.x0 >= -0.5, (width, height)
            assert axes.xaxis.label.get_window_extent().y0 >= -0.5, (width, height)


def test_settings_of_the_program_are_respected(swept: Sweep) -> None:
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 13.0, "axes.labelsize": 13.0}):
        figure = swept.plot.fct_load()
    assert figure.axes[0].yaxis.label.get_fontsize() == 13.0
    assert swept.plot.fct_load(style={"axes.labelsize": 5.0}).axes[0].yaxis.label.get_fontsize() == 5.0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--variants", "amr"], "did you mean amrt"),
        (["--label", "nothing=x"], "no variant is called 'nothing'"),
        (["--label", "amrt"], "write VARIANT=TEXT"),
        (["--style", "nosuch"], "no style of matplotlib is called 'nosuch'"),
        (["--font", "No Such Font"], "no font is called"),
        (["--width", "0.1"], "a width of 0.1 in is no figure's"),
        (["--width", "nan"], "a width of nan in is no figure's"),
        (["--xlim", "3"], "write LOW,HIGH"),
        (["--ylim", "2,1"], "nothing is between them"),
        (["--ylim", "nan,1"], "write LOW,HIGH"),
    ],
)
def test_a_look_that_there_is_not(swept: Sweep, headway: Headway, options: list[str], said: str) -> None:
    answer = headway("report", swept.directory, "--format", "pdf", *options)
    assert (answer.status, said in answer.err) == (2, True), answer.err


def test_a_page_has_no_look(swept: Sweep, headway: Headway) -> None:
    answer = headway("report", swept.directory, "--width", "3")
    assert (answer.status, "for --format pdf" in answer.err) == (2, True)
    with pytest.raises(HeadwayError):
        package.report(swept, width=3)
    with pytest.raises(TypeError, match="widht"):
        package.report(swept, format="pdf", widht=3)


def rows(text: str) -> list[dict[str, str]]:
    """A table as it is read by others."""
    return list(csv.DictReader(io.StringIO(text)))


def test_values_of_figures_sweeps_and_comparisons_as_csv(swept: Sweep, headway: Headway) -> None:
    answer = headway("report", swept.directory, "--format", "csv")
    found = rows((swept.directory / "figures/fct-load.csv").read_text("utf-8"))
    assert answer.status == 0
    assert {row["series"] for row in found} == {"amrt", "phost"}
    assert {row["y_unit"] for row in found} == {"s"}
    scenario = swept.directory.parent / "two.toml"
    numbers = rows(headway("sweep", scenario, "--out", swept.directory, "--csv").out)
    mean = {(row["variant"], row["fabric.buffer"]): row for row in numbers if row["number"] == "fct_mean_s"}
    assert set(mean) == {(variant, size) for variant in ("amrt", "phost") for size in ("30 kB", "200 kB")}
    own = [one.summary["fct_mean_s"] for one in swept if (one.variant, one.axes["fabric.buffer"]) == ("amrt", "30 kB")]
    assert float(mean["amrt", "30 kB"]["mean"]) == pytest.approx(sum(own) / 3)
    assert (mean["amrt", "30 kB"]["unit"], mean["amrt", "30 kB"]["seeds"]) == ("s", "3")
    compared = rows(headway("compare", swept.directory, "--of", "mean,max[<=1MB]", "--csv").out)
    assert {row["number"] for row in compared} == {"fct_mean_s", "max[<=1MB]"}
    assert {row["verdict"] for row in compared} <= {"higher", "lower", "not apart"}
    assert headway("compare", swept.directory, "--csv", "--json").status == 2


def test_headway_alone_greets(headway: Headway) -> None:
    answer = headway()
    assert (answer.status, answer.err) == (0, "")
    assert "headway reproduce amrt/fig01" in answer.out
    assert "Commands:" in answer.out
