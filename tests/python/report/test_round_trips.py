"""The figure of round trips, where machines measure them and where they do not."""

from __future__ import annotations

from pathlib import Path

import headway
from headway.reporting.assemble import assemble
from headway.reporting.load import load
from headway.reporting.spec import Figure, Panel
from headway.reporting.study import Study
from headway.reporting.tables import summary


def figure(scenario_file: Path, out: Path, transport: str) -> Figure:
    headway.Scenario.load(scenario_file, sets=[f"transport.name={transport}"]).run(out)
    return next(one for one in assemble(load(out)).figures if one.id == "round-trips")


def test_shares_rise_to_all_packets_from_the_shortest_to_the_longest(scenario_file: Path, tmp_path: Path) -> None:
    drawn = figure(scenario_file, tmp_path / "out", "tcp")
    (panel,) = drawn.panels
    assert isinstance(panel, Panel)
    (line,) = panel.series
    assert list(line.x) == sorted(set(line.x))
    assert list(line.y) == sorted(line.y)
    assert line.y[-1] == 1.0
    summary = headway.read(tmp_path / "out").summary["round_trips"]
    assert line.x[-1] <= 1.01 * summary["max_s"]
    assert len(line.x) == len(summary["histogram"])


def test_the_summary_has_them_beside_the_completion_times(scenario_file: Path, tmp_path: Path) -> None:
    for transport, there in (("tcp", True), ("amrt", False)):
        headway.Scenario.load(scenario_file, sets=[f"transport.name={transport}"]).run(tmp_path / transport)
        table = summary(Study(load(tmp_path / transport)))
        assert ("round trip, p99" in table.head) is there


def test_the_legend_names_those_that_measure_them(tmp_path: Path, scenario_file: Path) -> None:
    text = scenario_file.read_text("utf-8")
    mixed = tmp_path / "mixed.toml"
    mixed.write_text(text + '\n[variants.measures]\n"transport.name" = "tcp"\n', "utf-8")
    headway.sweep(mixed, tmp_path / "out", progress=False)
    drawn = next(one for one in assemble(load(tmp_path / "out")).figures if one.id == "round-trips")
    assert [entry.text for entry in drawn.legend] == ["measures"]
    assert "Not measured under amrt, phost." in drawn.caption


def test_it_is_absent_with_a_reason_where_nothing_is_measured(scenario_file: Path, tmp_path: Path) -> None:
    drawn = figure(scenario_file, tmp_path / "out", "amrt")
    assert not drawn.panels
    assert drawn.absent == "no machine here measures them, or nothing was answered"
