"""Runs of several transports: every number, row, tile, line and expression for each of them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import headway
from headway.names import resolve
from headway.reporting import build
from headway.reporting.assemble import Report, assemble
from headway.reporting.load import load
from headway.reporting.page import render
from headway.reporting.spec import Panel
from headway.sweeps import plan, run_sweep
from support import Answer

Headway = Callable[..., Answer]

SHARED = """
title = "Two transports into one host"
stop = "60 ms"

[topology]
kind = "single-switch"
hosts = 5
rate = "10 Gbps"
delay = "5 us"

[fabric]
discipline = "ecn-threshold"
buffer = "100 packets"

[[traffic]]
kind = "incast"
transport = "dctcp"
senders = [0, 1]
receiver = 4
cdf = { kind = "uniform", mean = "100 kB", spread = 0.9 }
repeat = 40
period = "400 us"
deadline = "1 ms"

[[traffic]]
kind = "incast"
transport = "cubic"
senders = [1, 2, 3]
receiver = 4
cdf = { kind = "uniform", mean = "100 kB", spread = 0.9 }
repeat = 40
period = "400 us"

[[traffic]]
kind = "flows"
transport = "cubic"
flows = [{ name = "long", src = 3, dst = 4, bytes = "10 GB" }]

[sample]
every = "1 ms"
flows = ["long"]
links = ["s0->h4"]

[sweep]
seeds = 2
"fabric.buffer" = ["50 packets", "100 packets"]

[report]
y = ["goodput_share", "fct_mean_s", "bottleneck_utilisation"]
"""


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scenario") / "shared.toml"
    path.write_text(SHARED, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def directory(scenario: Path) -> Path:
    out = scenario.parent / "run"
    headway.Scenario.load(scenario).run(out)
    return out


@pytest.fixture(scope="module")
def swept(scenario: Path) -> Path:
    out = scenario.parent / "sweep"
    run_sweep(plan(resolve(str(scenario)), out))
    return out


@pytest.fixture(scope="module")
def report(directory: Path) -> Report:
    return assemble(load(directory))


def test_sums_over_transports_are_those_of_the_run(directory: Path) -> None:
    run = headway.read(directory)
    assert run.transports == ("dctcp", "cubic")
    parts = [run.among(name).summary for name in run.transports]
    counts = ("flows_done", "flows_unfinished", "flows_failed", "flows_measured", "drops", "data_drops", "trims")
    for key in (*counts, "marks", "retransmitted_bytes"):
        assert sum(part[key] for part in parts) == run.summary[key], key
    flows = run.flows.to_polars()
    assert sum(part["delivered_bytes"] for part in parts) == flows["delivered_bytes"].sum()
    assert math.isclose(sum(part["goodput_share"] for part in parts), 1.0)
    assert run.summary["drops"] > 0
    assert run.summary["marks"] > 0


def test_a_part_holds_the_flows_of_its_transport_and_the_numbers_over_them(directory: Path) -> None:
    run = headway.read(directory)
    for name, count in (("dctcp", 80), ("cubic", 121)):
        part = run.among(name)
        flows = part.flows.to_polars()
        assert flows.height == count
        assert set(flows["transport"]) == {name}
        # A flow that is open at the end counts with the time for which it has been.
        counted = flows.select(pl.coalesce("fct_s", "at_least_s")).to_series().drop_nulls()
        assert math.isclose(part.summary["fct_mean_s"], float(counted.mean() or 0.0))  # type: ignore[arg-type]
        assert part.summary["fct_max_s"] == counted.max()
        assert part.summary["marks"] == flows["marks"].sum()
        assert part.links.to_polars().height == 10
    with pytest.raises(headway.HeadwayError, match="no transport of this run is called 'amrt'"):
        run.among("amrt")


def test_a_notebook_shows_a_column_for_each(directory: Path) -> None:
    run = headway.read(directory)
    shown = run._repr_html_()
    assert "<th>all</th><th>dctcp</th><th>cubic</th>" in shown
    marks = "".join(f"<td>{run.among(name).summary['marks']}</td>" for name in run.transports)
    assert f"<td>{run.summary['marks']}</td>{marks}</tr>" in shown
    assert "<th>" not in run.among("dctcp")._repr_html_()


def test_one_transport_has_no_parts(scenario_file: Path) -> None:
    run = headway.Scenario.load(scenario_file).run()
    assert run.transports == ()
    assert "by_transport" not in run.summary
    with pytest.raises(headway.HeadwayError, match="all flows of the run have one"):
        run.among("amrt")


def test_the_command_line_says_a_line_for_each(headway: Headway, scenario: Path, directory: Path) -> None:
    answer = headway("run", scenario)
    first, *lines = answer.out.splitlines()
    run = json.loads((directory / "summary.json").read_text(encoding="utf-8"))
    assert f"{run['flows_done']}/201 flows done" in first
    assert [line.split(":")[0] for line in lines] == ["  dctcp", "  cubic"]
    assert f"{run['by_transport']['dctcp']['flows_done']}/80 flows done" in lines[0]
    assert all("% of the goodput" in line for line in lines)
    measured = headway("measure", directory, "a=among('dctcp', summary('goodput_share'))",
                       "b=among('cubic', summary('goodput_share'))", "c=a + b",
                       "d=among('dctcp', flows_sum('marks'))", "e=summary('marks')",
                       "f=among('cubic', flows_quantile('fct_s', 1))", "--json")  # fmt: skip
    values = json.loads(measured.out)["measured"]
    assert math.isclose(values["c"], 1.0)
    assert values["a"] < values["b"]
    assert 0 < values["d"] == values["e"], "CUBIC is not marked"
    assert values["f"] == run["by_transport"]["cubic"]["fct_max_s"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("among('cubci', summary('fct_mean_s'))", "no transport cubci among several; nearest: cubic"),
        ("among('dctcp', summary('link_utilisation'))", "the summary has no link_utilisation"),
        ("among('dctcp')", "it is among(transport, measure)"),
    ],
)
def test_mistakes_are_shown(headway: Headway, directory: Path, text: str, message: str) -> None:
    answer = headway("measure", directory, text)
    assert answer.status == 2
    assert message in answer.err


def test_a_sweep_has_columns_for_each(swept: Path) -> None:
    sweep = headway.read_sweep(swept)
    assert {one.variant for one in sweep} == {"dctcp+cubic"}
    table = sweep.summary.to_polars()
    shares = table["by_transport.dctcp.goodput_share"] + table["by_transport.cubic.goodput_share"]
    assert all(math.isclose(share, 1.0) for share in shares)
    for one, mean in zip(sweep, table["by_transport.cubic.fct_mean_s"], strict=True):
        assert mean == one.run.among("cubic").summary["fct_mean_s"]


def test_tables_have_a_row_or_a_column_for_it(report: Report) -> None:
    table = report.summary
    assert table is not None
    whose = [row[table.head.index("transport")] for row in table.rows]
    assert whose == ["dctcp+cubic", "dctcp", "cubic"]
    marks = [row[table.head.index("marks")] for row in table.rows]
    assert marks[0] == marks[1] != "0"
    assert marks[2] == "0"
    unfinished = report.unfinished
    assert unfinished is not None
    assert ("long", "cubic") in {(row[1], row[unfinished.head.index("transport")]) for row in unfinished.rows}


def test_distributions_have_a_line_for_each(report: Report) -> None:
    drawn = {figure.id: figure for figure in report.drawn}
    for name in ("slowdown-size", "cdf", "round-trips"):
        assert [entry.text for entry in drawn[name].legend] == ["dctcp", "cubic"], name
        for panel in drawn[name].panels:
            assert isinstance(panel, Panel)
            assert [series.key for series in panel.series] == ["v:dctcp", "v:cubic"]
    styles = {entry.text: entry.style.light for entry in drawn["cdf"].legend}
    assert styles["dctcp"] != styles["cubic"]


def test_the_page_has_a_tile_for_each(report: Report, directory: Path) -> None:
    page = render(report)
    tiles = page.split('class="tiles"')[1].split("</section>")[0]
    assert [part.split("</h2>")[0] for part in tiles.split("<h2>")[1:]] == ["dctcp+cubic", "dctcp", "cubic"]
    assert tiles.count("share of the goodput") == 2
    assert tiles.count("bottleneck utilisation") == 1, "a link belongs to no transport"
    assert build(directory)[0].is_file()


def test_what_is_swept_is_drawn_for_each_but_what_is_of_links(swept: Path) -> None:
    figure = next(figure for figure in assemble(load(swept)).drawn if figure.id == "fct-load")
    keys = [[series.key for series in panel.series] for panel in figure.panels if isinstance(panel, Panel)]
    parts = ["v:dctcp", "v:cubic"]
    assert keys == [parts, parts, ["v:dctcp+cubic"]]
    assert [entry.key for entry in figure.legend] == [*parts, "v:dctcp+cubic"]
    assert (figure.panels[0].y.low, figure.panels[0].y.high, figure.panels[0].y.log) == (0.0, 1.0, False)  # type: ignore[union-attr]
    shares = [series.y for series in figure.panels[0].series]  # type: ignore[union-attr]
    assert all(math.isclose(a + b, 1.0) for a, b in zip(*shares, strict=True))


def test_two_settings_of_one_transport_are_two(scenario: Path, tmp_path: Path) -> None:
    sets = ['traffic.1.transport={ name = "dctcp", g = 0.5 }', 'traffic.2.transport={ name = "dctcp", g = 0.5 }']
    run = headway.Scenario.load(scenario, sets=sets).run(tmp_path / "run")
    assert run.transports == ("dctcp", "dctcp(g=0.5)")
    assert run.among("dctcp(g=0.5)").flows.to_polars().height == 121
    assert "dctcp(g=0.5)" in render(assemble(load(tmp_path / "run")))


def test_the_buffer_in_the_figure_of_queues_is_that_of_the_run_that_is_shown(swept: Path) -> None:
    figure = next(figure for figure in assemble(load(swept)).drawn if figure.id == "queue-time")
    (panel,) = figure.panels
    assert isinstance(panel, Panel)
    assert [reference.y for reference in panel.references] == [100 * 1538.0], "the largest of 50 and 100 packets"


def test_flows_in_the_figure_of_throughputs_say_their_transport(report: Report) -> None:
    figure = next(figure for figure in report.drawn if figure.id == "throughput-time")
    assert [entry.text for entry in figure.legend] == ["long (cubic)"]


BESIDE = """
title = "Long flows of one transport, short ones of another"
[topology]
kind = "dumbbell"
senders = 4
receivers = 4
rate = "10 Gbps"
delay = "5 us"
[fabric]
discipline = "ecn-threshold"
[[traffic]]
kind = "many-to-many"
transport = "dctcp"
senders = [0, 1, 2]
receivers = [4, 5, 6]
fan_out = 3
bytes = "500 kB"
[[traffic]]
kind = "permutation"
transport = "homa"
bytes = "20 kB"
[sample]
every = "20 us"
flows = "all"
probes = true
"""


def test_probes_of_the_flows_that_are_drawn_come_first(tmp_path: Path) -> None:
    """The largest flows are drawn, all of DCTCP here; the first probe that is declared is one of Homa's."""
    headway.Scenario.from_text(BESIDE).run(tmp_path / "run")
    found = assemble(load(tmp_path / "run"))
    figure = next(figure for figure in found.drawn if figure.id == "probes")
    assert [dict(panel.about)["probe"] for panel in figure.panels if isinstance(panel, Panel)] == ["in flight"]
    assert {dict(panel.about)["probe"] for panel in figure.more if isinstance(panel, Panel)} >= {"window", "alpha"}
    assert "Inside each flow over time" in render(found)
