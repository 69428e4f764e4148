"""Figures as objects, cards and bars for notebooks, tables for other libraries."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import polars
import pytest
from matplotlib.figure import Figure

import headway
import lacking
from headway import HeadwayError, NameNotFound, Run, Sweep
from headway.reporting.figures import NAMES
from headway.reporting.palette import variant_styles


def scenario() -> headway.Scenario:
    """Two transports at two loads, sampled."""
    return headway.scenario(
        topology=headway.single_switch(hosts=4, rate="10 Gbps", delay="1 us"),
        traffic=headway.poisson(cdf="dctcp_websearch", load=0.5, flows=30),
        transport="amrt",
        variants={"amrt": {}, "phost": headway.transports.phost()},
        sweep={"traffic.0.load": [0.3, 0.6]},
        sample=headway.sample(every="100 us", links="all"),
    )


@pytest.fixture(scope="module")
def run() -> Run:
    """A run in memory."""
    return scenario().run()


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    """A sweep."""
    return headway.sweep(scenario(), tmp_path_factory.mktemp("sweep"), jobs=1)


def test_a_run_in_memory_draws_its_figures(run: Run) -> None:
    for name in ("topology", "utilisation_time", "queue_time", "slowdown_size", "cdf", "link_utilisation"):
        assert isinstance(getattr(run.plot, name)(), Figure), name
    (axes,) = run.plot.fct_cdf().axes
    assert axes.get_xlabel() == "flow completion time"
    (line,) = axes.lines
    assert float(np.asarray(line.get_xdata())[-1]) == max(run.flows.to_polars()["fct_s"].drop_nulls())
    assert [a.get_xlabel() for a in run.plot.slowdown_cdf().axes] == ["slowdown"]


def test_a_sweep_draws_what_was_asked_for_in_the_colours_of_the_report(sweep: Sweep) -> None:
    colours = variant_styles([("amrt", "amrt"), ("phost", "phost")])
    (axes,) = sweep.plot.fct_load(y="fct_p99_s").axes
    frame = sweep.summary.to_polars().filter(polars.col("variant") == "phost").sort("traffic.0.load")
    drawn = {line.get_color(): np.asarray(line.get_ydata()).tolist() for line in axes.lines}
    assert drawn[colours["phost"].light] == frame["fct_p99_s"].to_list()
    assert set(drawn) == {colours["amrt"].light, colours["phost"].light}
    assert len(sweep.plot.fct_load().axes) == 2, "mean and p99"
    assert isinstance(sweep.plot.figure("cdf"), Figure)


def test_a_figure_shows_itself_in_a_notebook(run: Run) -> None:
    figure: Any = run.plot.fct_cdf()
    assert ElementTree.fromstring(figure._repr_svg_()).tag.endswith("svg")
    assert figure._repr_svg_() == figure._repr_svg_()


def test_every_figure_of_a_report_has_a_method(run: Run) -> None:
    assert [name for name in NAMES if not callable(getattr(run.plot, name.replace("-", "_"), None))] == []


def test_what_cannot_be_drawn_says_why(run: Run, sweep: Sweep) -> None:
    with pytest.raises(HeadwayError, match="no figure `throughput-time`: no flow was sampled"):
        run.plot.throughput_time()
    with pytest.raises(HeadwayError, match="no figure `fct-load`: nothing was swept"):
        run.plot.fct_load()
    with pytest.raises(NameNotFound, match="did you mean fct-load"):
        sweep.plot.figure("fct-laod")
    with pytest.raises(HeadwayError, match="no run is finished"):
        Sweep(Path("none"), [], 3).plot.cdf()


def test_cards_have_a_picture_and_key_numbers(run: Run, sweep: Sweep) -> None:
    card = run._repr_html_()
    assert card.count("<svg") == 1
    assert "30/30 flows done" in card
    assert "fct_p99_s" in card
    card = sweep._repr_html_()
    assert card.count("<svg") == 1
    assert "4 runs in" in card
    assert "phost" in card
    assert ElementTree.fromstring(card) is not None, "what is opened is closed"
    # Rules of a card hold for it alone: two cards of a page do not change each other, or the page.
    rules = card.split("<style>")[1].split("</style>")[0]
    selectors = re.findall(r"(?:^|[{}])([^{}@]+)\{[^{}]*(?=\})", rules)
    scope = card.split('class="')[1].split('"')[0]
    assert len(selectors) > 20
    assert [one for one in selectors if f".{scope}" not in one] == []


def test_an_empty_sweep_has_a_card_without_a_picture() -> None:
    card = Sweep(Path("none"), [], 3)._repr_html_()
    assert "3 not finished" in card
    assert "<svg" not in card


@pytest.mark.long
def test_tables_go_to_other_libraries(run: Run) -> None:
    pyarrow = lacking.package("pyarrow", "long")
    table = run.flows.to_arrow()
    assert isinstance(table, pyarrow.Table)
    assert table.num_rows == len(run.flows)


def test_without_pyarrow_the_message_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'headway\[arrow\]'"):
        run.flows.to_arrow()


class Handle:
    """Record of a display that can be changed."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    def display(self, bar: Any, display_id: bool) -> Handle:  # noqa: ANN401  (anything that shows itself)
        """Show it for the first time."""
        assert display_id
        self.update(bar)
        return self

    def update(self, bar: Any) -> None:  # noqa: ANN401
        """Show it again."""
        self.shown.append(bar._repr_html_())


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Handle:
    """Part of IPython that a notebook's kernel has."""
    handle = Handle()
    package, module = ModuleType("IPython"), ModuleType("IPython.display")
    package.get_ipython = lambda: SimpleNamespace(kernel=True)  # type: ignore[attr-defined]
    module.display = handle.display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return handle


def test_a_notebook_shows_a_bar(notebook: Handle, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    headway.sweep(scenario(), tmp_path, jobs=1)
    assert "0 of 4 points" in notebook.shown[0] + notebook.shown[1]
    assert "<progress value='1.0000'" in notebook.shown[-1]
    assert "4 of 4 points" in notebook.shown[-1]
    count = len(notebook.shown)
    scenario().run()
    assert len(notebook.shown) > count
    assert capsys.readouterr() == ("", "")
    count = len(notebook.shown)
    scenario().run(progress=False)
    headway.sweep(scenario(), tmp_path, progress=False)
    assert len(notebook.shown) == count


def test_elsewhere_lines_are_printed_where_they_are_wanted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    headway.sweep(scenario(), tmp_path, jobs=1)
    assert capsys.readouterr() == ("", "")
    headway.sweep(scenario(), tmp_path, jobs=1, progress=True)
    assert capsys.readouterr() == ("", "scenario: 100%, 4 of 4 points\n")
