"""Wishes of `[report]` that cannot be met are reported before a run, and again when the report is made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import headway
from headway import ScenarioError, sweep
from headway.cli.check import facts_of
from headway.loading import Scenario
from headway.names import known_scenarios
from headway.reporting import build, figures
from headway.reporting.assemble import assemble, styles
from headway.reporting.load import load
from headway.reporting.paper import draw
from headway.reporting.spec import DotPanel, Panel
from headway.reporting.wishes import doubts
from support import HOW_MANY, Answer, chosen

Headway = Callable[..., Answer]

RACK = """
[topology]
kind = "single-switch"
hosts = 8
rate = "10 Gbps"
delay = "1 us"

[transport]
name = "dctcp"

[[traffic]]
kind = "poisson"
cdf = { kind = "uniform", mean = "100 kB", spread = 0.9 }
load = 0.6
flows = 30
"""
VARIANTS = """
[variants.dctcp]
"transport.name" = "dctcp"
[variants.homa]
"transport.name" = "homa"
[sweep]
seeds = 3
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "wish.toml"
    path.write_text(text, "utf-8")
    return path


@HOW_MANY
def test_no_scenario_of_the_project_asks_in_vain(how_many: str) -> None:
    known = known_scenarios()
    for name in chosen(known, how_many):
        scenario = Scenario.load(known[name].path)
        assert not list(doubts(scenario.report, facts_of(scenario))), name


@pytest.mark.parametrize("name", [name for name in figures.NAMES if figures.kind_of(name).needs])
def test_a_kind_that_misses_something_is_absent_from_the_report(name: str, tmp_path: Path) -> None:
    kind = figures.kind_of(name)
    bare = write(tmp_path, RACK)
    scenario = Scenario.load(bare)
    assert kind.missing(facts_of(scenario)), "a scenario without samples, sweep, deadlines and model"
    scenario.run(tmp_path / "bare")
    drawn = kind.figures(assemble(load(tmp_path / "bare")).study)
    assert all(figure.absent is not None for figure in drawn)
    # A heat map needs two keys that are swept over.
    rich = Scenario.load(write(tmp_path, RICH.replace("[model]", '"fabric.buffer" = ["60 kB", "90 kB"]\n[model]')))
    assert not kind.missing(facts_of(rich))


RICH = (
    RACK
    + """deadline = "1 ms"
[sample]
every = "10 us"
flows = "all"
links = "all"
probes = true
causes = true
[variants.dctcp]
"transport.name" = "dctcp"
[variants.homa]
"transport.name" = "homa"
[sweep]
"traffic.0.load" = [0.4, 0.6]
[model]
name = "amrt-gain"
rate = "1 Gbps"
rtt = "100 us"
packet = 1500
sizes = ["100 kB"]
rate_shares = [0.1, 0.9]
loss_shares = [0.0, 0.5]
"""
)


def test_what_kinds_need_is_enough_for_them(tmp_path: Path) -> None:
    text = RICH[: RICH.index("[model]")]
    done = sweep(write(tmp_path, text), tmp_path / "out", progress=False)
    report = assemble(load(done.directory))
    absent = {figure.id for figure in report.absent}
    for name in figures.NAMES:
        kind = figures.kind_of(name)
        if kind.needs and not kind.missing(facts_of(Scenario.load(tmp_path / "wish.toml"))):
            assert name not in absent, name


def test_check_tells_what_will_not_be_drawn_and_report_says_so_again(headway: Headway, tmp_path: Path) -> None:
    report = '[report]\nfigure = ["fct-load", "queue-time"]\ny = "goodput_share"\nbaseline = "homa"\n'
    file = write(tmp_path, RACK + VARIANTS + report)
    told = headway("check", file)
    assert told.status == 0
    assert "`fct-load` will not be drawn: [sweep] varies nothing whose values are all numbers" in told.err
    assert "`queue-time` will not be drawn: no link is sampled" in told.err
    assert "no run will have `goodput_share`: it is of runs with several transports" in told.err
    assert "`report.baseline` is of `paired` and `ratios`, and `report.figure` names none of them" in told.err
    assert headway("sweep", file, "--out", tmp_path / "out").status == 0
    made = headway("report", tmp_path / "out", "--format", "svg")
    assert made.status == 0
    assert "the figure `fct-load`, which [report] asks for, is not drawn" in made.err
    assert "`queue-time`" in made.err
    figure = next(one for one in assemble(load(tmp_path / "out")).figures if one.id == "numbers")
    assert "No run has `goodput_share`, which [report] asks for." in figure.caption


def test_a_y_that_no_asked_figure_uses_is_told(headway: Headway, tmp_path: Path) -> None:
    note = "`report.y` is of `numbers`, `ratios`, `fct-load`, `heat-map` and `frontier`"
    for names, is_told in (('["cdf"]', True), ('["cdf", "numbers"]', False), ('"dots"', False), ("[]", False)):
        file = write(tmp_path, RACK + VARIANTS + f'[report]\nfigure = {names}\ny = "slowdown_p99"\n')
        assert (note in headway("check", file).err) == is_told, names
    swept = 'seeds = 3\n"traffic.0.cdf" = ["dctcp_websearch", "xpass_datamining"]\n[report]\nx = "cdf"\n'
    file = write(tmp_path, RACK + VARIANTS.replace("seeds = 3\n", swept))
    assert "`report.x`: the values of `traffic.0.cdf` are not all numbers" in headway("check", file).err


def test_a_figure_that_can_never_be_drawn_is_refused(headway: Headway, tmp_path: Path) -> None:
    file = write(tmp_path, RACK + '[report]\nfigure = ["cdf", "model"]\n')
    answer = headway("check", file)
    assert answer.status == 2
    assert "`report.figure`: `model` cannot be drawn: the scenario has no [model]" in answer.err
    assert "wish.toml:17:" in answer.err, "at its place"
    with pytest.raises(ScenarioError, match="`cdf` cannot be drawn: the scenario has a model and nothing that runs"):
        headway_scenario("amrt/fig08-model", "cdf")


def headway_scenario(name: str, figure: str) -> headway.Scenario:
    """A scenario with another figure."""
    return Scenario.load(name, sets=[f'report.figure="{figure}"'])


def test_a_number_of_each_variant_is_a_dot_with_its_interval(tmp_path: Path) -> None:
    file = write(tmp_path, RACK + VARIANTS + '[report]\nfigure = "numbers"\ny = ["slowdown_p50", "fct_mean_s"]\n')
    done = sweep(file, tmp_path / "out", progress=False)
    report = assemble(load(done.directory))
    figure = report.figures[0]
    assert figure.id == "numbers"
    assert figure.setting == "load 0.6 of host links, 3 seeds"
    table = done.summary.to_polars()
    for panel, name in zip(figure.panels, ("slowdown_p50", "fct_mean_s"), strict=True):
        assert isinstance(panel, DotPanel)
        assert [row.name for row in panel.rows] == ["dctcp", "homa"]
        for row in panel.rows:
            values = table.filter(table["variant"] == row.name)[name].to_numpy()
            (dot,) = row.dots
            half = 4.302653 * values.std(ddof=1) / 3**0.5
            assert dot.value == pytest.approx(values.mean())
            assert dot.high == pytest.approx(values.mean() + half, rel=1e-5)
            least = 1.0 if name == "slowdown_p50" else 0.0
            assert dot.low is not None
            assert dot.low == pytest.approx(max(values.mean() - half, least), rel=1e-5)
            assert dot.low >= least


def test_ratios_are_those_of_the_comparison_with_their_intervals(tmp_path: Path) -> None:
    wanted = 'figure = "ratios"\ny = ["slowdown_p50", "slowdown_p99"]\nbaseline = "homa"\n'
    file = write(tmp_path, RACK + VARIANTS + f"[report]\n{wanted}")
    done = sweep(file, tmp_path / "out", progress=False)
    report = assemble(load(done.directory))
    figure = report.figures[0]
    assert figure.id == "ratios"
    found = headway.compare_variants(done, of=["slowdown_p50", "slowdown_p99"])
    for panel, name in zip(figure.panels, ("slowdown_p50", "slowdown_p99"), strict=True):
        assert isinstance(panel, DotPanel)
        assert panel.reference == 1.0
        assert panel.title.endswith(" ÷ homa")
        of = {row.name: row.dots[0] for row in panel.rows}
        assert (of["homa"].value, of["homa"].low) == (1.0, None)
        row = found.row("dctcp", name)
        assert row.ratio is not None and row.interval is not None
        assert of["dctcp"].value == pytest.approx(row.ratio)
        assert (of["dctcp"].low, of["dctcp"].high) == pytest.approx(row.interval)
        assert panel.x.low < min(1.0, row.interval[0]) and panel.x.high > max(1.0, row.interval[1])
    other = next(one for one in figure.more if ("baseline", "dctcp") in one.about)
    assert isinstance(other, DotPanel)
    turned = next(row.dots[0] for row in other.rows if row.name == "homa")
    first = found.row("dctcp", "slowdown_p50").ratio
    assert first is not None and turned.value == pytest.approx(1 / first)
    drawn = draw(figure, styles(report))
    assert any(line.get_xdata()[0] == line.get_xdata()[1] == 1.0 for line in drawn.axes[0].lines)  # type: ignore[index]
    assert 'class="reference"' in build(done.directory)[0].read_text("utf-8").partition('id="ratios"')[2]


def test_ratios_are_drawn_against_what_is_swept_and_one_seed_has_no_interval(tmp_path: Path) -> None:
    text = RACK + VARIANTS.replace("seeds = 3", '"traffic.0.load" = [0.4, 0.6]') + '[report]\ny = "fct_mean_s"\n'
    done = sweep(write(tmp_path, text), tmp_path / "out", progress=False)
    figure = next(one for one in assemble(load(done.directory)).figures if one.id == "ratios")
    (panel,) = figure.panels
    assert isinstance(panel, Panel)
    (curve,) = panel.series
    assert curve.key == "v:homa" and curve.x == (0.4, 0.6) and curve.low is None
    found = headway.compare_variants(done, of=["mean"])
    assert curve.y == pytest.approx([found.row("homa", place=f"load={load_}").ratio for load_ in (0.4, 0.6)])
    assert "One seed, so no interval" in figure.caption
    # Paper lacks a selector that would bring the baseline's line.
    legend = draw(figure, styles(assemble(load(done.directory)))).legends[0]
    assert [text.get_text() for text in legend.get_texts()] == ["homa"]
