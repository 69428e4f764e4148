"""The `[report]` table of a scenario: what no report understands is an error at its place, before anything runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import headway as package
from headway.data.schema import schema
from headway.data.toml import Document
from headway.reporting.assemble import assemble
from headway.reporting.figures import NAMES, aliases
from headway.reporting.load import load
from support import Answer

Headway = Callable[..., Answer]


def with_report(file: Path, *lines: str) -> int:
    """Append a [report] table; returns the number of its header's line."""
    text = file.read_text(encoding="utf-8")
    file.write_text(text + "\n" + "\n".join(["[report]", *lines]) + "\n", encoding="utf-8")
    return text.count("\n") + 2


@pytest.mark.parametrize(
    ("line", "column", "message", "help_text"),
    [
        ('figrue = "cdf"', 1, "key `figrue` has no effect: [report] does not use it", "did you mean `figure`?"),
        ('figure = "thruput-time"', 10, "no figure is called `thruput-time`", "did you mean `throughput-time`?"),
        ('figure = ["cdf", "fct-laod"]', 18, "no figure is called `fct-laod`", "did you mean `fct-load`?"),
        ("figure = 3", 10, "`report.figure` takes a text", ""),
        ('y = "fct_mean"', 5, "no number `fct_mean`", "did you mean `fct_mean_s`?"),
        ('x = "load"', 5, "the sweep does not vary `load`", "varies nothing"),
        ("notes = true", 9, "`report.notes` takes a text", ""),
        ('zzz = "cdf"', 1, "key `zzz` has no effect", "it takes figure, x, y, baseline, notes"),
    ],
)
@pytest.mark.parametrize("command", ["check", "run", "sweep", "reproduce"])
def test_a_mistake_is_shown_at_its_place(
    headway: Headway,
    scenario_file: Path,
    tmp_path: Path,
    command: str,
    line: str,
    column: int,
    message: str,
    help_text: str,
) -> None:
    number = with_report(scenario_file, line) + 1
    out = [] if command == "check" else ["--out", tmp_path / "out"]
    answer = headway(command, scenario_file, *out)
    assert answer.status == 2
    assert message in answer.err
    assert help_text in answer.err
    assert f"two-flows.toml:{number}:{column}]" in answer.err
    shown, marks = answer.err.splitlines()[3:5]
    assert shown.split("│ ")[1] == line
    assert marks.index("─" if "─" in marks else "┬") - shown.index("│") == column + 1
    assert not (tmp_path / "out").exists()


def test_a_list_over_several_lines_shows_the_line_of_the_name(scenario_file: Path) -> None:
    number = with_report(scenario_file, "figure = [", '  "cdf",', '  "cfd-load",', "]")
    with pytest.raises(package.ScenarioError, match=rf"two-flows\.toml:{number + 3}:3\]"):
        package.Scenario.load(scenario_file)


def test_an_override_is_named(headway: Headway, scenario_file: Path) -> None:
    answer = headway("check", scenario_file, "--set", "report.figure=cfd")
    assert answer.status == 2
    assert "no figure is called `cfd`" in answer.err
    assert "[--set report.figure=cfd]" in answer.err


def test_a_variant_is_checked_with_the_sweep(headway: Headway, scenario_file: Path) -> None:
    text = scenario_file.read_text(encoding="utf-8").replace(
        "[variants.phost]", '[variants.phost]\n"report.figrue" = 1'
    )
    scenario_file.write_text(text, encoding="utf-8")
    answer = headway("check", scenario_file)
    assert answer.status == 2
    assert "key `figrue` has no effect" in answer.err


@pytest.mark.parametrize("table", ['report = { figure = "cfd" }', 'report.figure = "cfd"'])
def test_every_way_to_write_the_table(scenario_file: Path, table: str) -> None:
    text = scenario_file.read_text(encoding="utf-8")
    scenario_file.write_text(f"{table}\n{text}", encoding="utf-8")
    with pytest.raises(package.ScenarioError, match=r"two-flows\.toml:1:") as caught:
        package.Scenario.load(scenario_file)
    assert re.search(r"^ +· +─+┬─+$", str(caught.value), re.MULTILINE)


def test_what_is_right_stays_right(scenario_file: Path) -> None:
    text = scenario_file.read_text(encoding="utf-8")
    sweep = '"traffic.0.flows.0.bytes" = [1000, 2000]'
    scenario_file.write_text(text.replace("seeds = 2", f"seeds = 2\n{sweep}"), encoding="utf-8")
    with_report(scenario_file, 'figure = ["cdf", "throughput"]', 'x = "bytes"', 'y = "drops"', 'notes = ["a", "b"]')
    assert package.Scenario.load(scenario_file).report["x"] == "bytes"


@pytest.mark.parametrize(
    ("name", "right"),
    [("reorder_buffer_bytes.max", True), ("a_b.sum", True), ("a_b.min", False), ("a_b", False), ("a b.max", False)],
)
def test_gauges_are_numbers_of_a_summary(scenario_file: Path, name: str, right: bool) -> None:
    with_report(scenario_file, f'y = "gauges.{name}"')
    if right:
        assert package.Scenario.load(scenario_file).report["y"] == f"gauges.{name}"
    else:
        with pytest.raises(package.ScenarioError, match="has no number"):
            package.Scenario.load(scenario_file)


def test_text_in_memory_is_checked_too(scenario_file: Path) -> None:
    with_report(scenario_file, 'fiugre = "cdf"')
    with pytest.raises(package.ScenarioError, match=r"memory:\d+:1\]"):
        package.Scenario.from_text(scenario_file.read_text(encoding="utf-8"), "memory")


def test_the_names_are_those_that_reports_and_summaries_have(scenario_file: Path, tmp_path: Path) -> None:
    run = package.Scenario.load(scenario_file).run(tmp_path / "out")
    drawn = {figure.id for figure in assemble(load(tmp_path / "out")).figures}
    assert drawn == set(NAMES) - {"model"}
    assert set(aliases().values()) <= set(NAMES)
    numbers = [
        name
        for name, field in schema()["summary"].items()
        if field.is_number and field.scope not in ("transport", "arrivals")
    ]
    lists = {"bottleneck_links", "deadlock_links"}
    other = lists | {"by_size", "gauges", "round_trips", "ended_by", "jain_over", "quantile_definition", "bounds"}
    assert set(numbers) == run.summary.keys() - other


def test_keys_inside_long_texts_are_not_taken_for_keys() -> None:
    text = 'description = """\n[report]\nfigure = "no"\n"""\n[report]\nfigure = "yes"\n'
    document = Document("x", text)
    place = document.key(("report", "figure"))
    assert place is not None
    assert document.position(place) == (6, 0, 'figure = "yes"')
