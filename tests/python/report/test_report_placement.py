"""Texts in figures keep clear of the data, and rows of dots of each other."""

from __future__ import annotations

import re

import pytest

from headway.reporting.palette import Style
from headway.reporting.paper import draw
from headway.reporting.placement import beside
from headway.reporting.spec import Axis, Curve, Dot, DotPanel, DotRow, Figure, Panel, Reference
from headway.reporting.svg import draw_figure
from headway.reporting.ticks import linear_axis

X = Axis("x", "ratio", 0.0, 1.0)
LOW, HIGH = (0.0, 0.25, 0.5, 0.75, 1.0), (2.0, 2.0, 5.0, 9.5, 9.5)


@pytest.mark.parametrize(
    ("values", "left"),
    [(HIGH, True), (HIGH[::-1], False), ((2.0,) * 5, False), ((9.5,) * 5, False)],
)
@pytest.mark.parametrize("log", [False, True])
def test_a_reference_s_text_goes_where_data_are_not(values: tuple[float, ...], left: bool, log: bool) -> None:
    y = Axis("y", "ratio", 1.0, 10.0, log)
    assert beside(Panel("", X, y, (Curve("k", LOW, values),)), Reference(9.5, "full")) == (left, False)


def test_a_reference_s_text_goes_below_its_line_where_data_are_above_it() -> None:
    y = Axis("y", "ratio", 0.0, 10.0)
    line = Reference(5.0, "half")
    above = (Curve("k", LOW, (5.4,) * 5),)
    assert beside(Panel("", X, y, above), line) == (False, True)
    # A curve also exists where it has no points: between its ends, and directly after a step.
    crossing = (Curve("k", (0.0, 1.0), (5.2, 5.6)),)
    assert beside(Panel("", X, y, crossing), line) == (False, True)
    assert beside(Panel("", X, y, (*above, Curve("l", LOW, (4.6,) * 3 + (8.0,) * 2))), line) == (False, True)
    # Near the bottom it is below unless data are there, and never where the room is missing.
    assert beside(Panel("", X, y, ()), Reference(2.0, "low")) == (False, True)
    assert beside(Panel("", X, y, ()), Reference(0.5, "lowest")) == (False, False)


@pytest.mark.parametrize("lanes", [1, 3, 5, 9])
def test_rows_of_dots_do_not_reach_into_each_other(lanes: int) -> None:
    dots = tuple(Dot(f"k{i}", 0.5, 0.1, 0.9, "") for i in range(lanes))
    panel = DotPanel("", Axis("x", "percent", 0.0, 1.0), (DotRow("a", dots), DotRow("b", dots)))
    named = {f"k{i}": Style("#000000", "#ffffff") for i in range(lanes)}
    axes = draw(Figure("f", "", "", (panel,)), named).axes[0]
    heights = sorted({float(line.get_ydata()[0]) for line in axes.lines})  # type: ignore[arg-type, index]
    assert len(heights) == 2 * lanes
    assert heights[lanes] - heights[lanes - 1] > 0.15


@pytest.mark.parametrize(("low", "high"), [(51.2, 54.1), (0.0, 1.0), (-3.2e6, 40.0), (99.97, 100.02), (1.0, 1e7)])
def test_no_number_beside_an_axis_begins_before_the_picture(low: float, high: float) -> None:
    x = linear_axis("choice", "ratio", [0.0, 1.0], tight=True)
    y = linear_axis("percent lower", "ratio", [low, high], zero=False)
    panel = Panel("claim", x, y, (Curve("k", (0.0, 1.0), (low, high), name="measured"),))
    svg = draw_figure(Figure("explain-claim", "claim", "", (panel,), 1, ()), {"k": 0})[0][0]
    beside = re.findall(r'<text class="tick" x="([\d.]+)" y="[\d.]+" text-anchor="end">([^<]+)<', svg)
    assert len(beside) >= 3
    for end, words in beside:
        assert float(end) >= len(words) * 6.5, f"{words} ends at {end}"
