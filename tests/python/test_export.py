"""`headway export`: the flows of a scenario, as text that simulators and Headway itself read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import headway as package
from support import Answer

Headway = Callable[..., Answer]


def test_a_folder_that_is_missing_is_named(headway: Headway, scenario_file: Path, tmp_path: Path) -> None:
    ran, nowhere = tmp_path / "ran", tmp_path / "nowhere"
    assert headway("run", scenario_file, "--out", ran).status == 0
    for command in (
        ("export", scenario_file, "--format", "csv", "--out", nowhere / "flows.csv"),
        ("export", ran, "--format", "perfetto", "--out", nowhere / "run.trace"),
        ("run", scenario_file, "--capture", nowhere / "run.pcapng"),
    ):
        answer = headway(*command)
        assert answer.status == 2
        assert f"{nowhere} is not there" in answer.err and f"mkdir -p {nowhere}" in answer.err, answer.err
    assert not nowhere.exists()


def test_a_table_runs_as_the_scenario_it_came_from(headway: Headway, scenario_file: Path, tmp_path: Path) -> None:
    table = tmp_path / "flows.csv"
    answer = headway("export", scenario_file, "--format", "csv", "--out", table)
    assert (answer.status, answer.out) == (0, "")
    text = scenario_file.read_text(encoding="utf-8")
    start, end = text.index("[[traffic]]"), text.index("[sample]")
    again = tmp_path / "again.toml"
    again.write_text(text[:start] + f'[[traffic]]\nkind = "file"\npath = "{table.name}"\n\n' + text[end:])
    runs = [package.Scenario.load(path).run() for path in (scenario_file, again)]
    kept = ["flow", "src", "dst", "bytes", "start_s", "finish_s"]
    first, second = (run.flows.to_polars().select(kept) for run in runs)
    assert first.equals(second)


def test_a_connection_matrix_is_htsims(headway: Headway, scenario_file: Path) -> None:
    lines = headway("export", scenario_file, "--format", "cm").out.splitlines()
    assert lines[:2] == ["Nodes 3", "Connections 2"]
    assert lines[2].startswith("0->2 ")
    assert "size 100000" in lines[2]


@pytest.mark.parametrize("form", ["cm", "csv"])
def test_flows_that_wait_are_refused_where_they_are(headway: Headway, scenario_file: Path, form: str) -> None:
    text = scenario_file.read_text(encoding="utf-8")
    waits = scenario_file.with_name("waits.toml")
    job = '[[traffic]]\nkind = "allreduce"\nbytes = 3000\n\n'
    waits.write_text(text.replace("[sample]", job + "[sample]"), encoding="utf-8")
    answer = headway("export", waits, "--format", form)
    assert (answer.status, answer.out) == (2, "")
    line = waits.read_text(encoding="utf-8").split(job)[0].count("\n") + 1
    assert "wait for others" in answer.err
    assert f"waits.toml:{line}:" in answer.err


def test_overrides_count(headway: Headway, scenario_file: Path) -> None:
    plain, changed = (
        headway("export", scenario_file, "--format", "csv", *more).out
        for more in ([], ["--set", "traffic.0.flows.0.bytes=4321"])
    )
    assert plain != changed
    assert "4321" in changed


def test_a_file_that_holds_something_else_stays(headway: Headway, scenario_file: Path, tmp_path: Path) -> None:
    answer = headway("export", scenario_file, "--format", "csv", "--out", scenario_file)
    assert answer.status == 2
    assert "is an input" in answer.err
    other = tmp_path / "other.csv"
    other.write_text("mine", encoding="utf-8")
    answer = headway("export", scenario_file, "--format", "csv", "--out", other)
    assert answer.status == 2 and "--force" in answer.err and other.read_text("utf-8") == "mine"
    assert "[topology]" in scenario_file.read_text(encoding="utf-8")
    out = tmp_path / "flows.csv"
    for _ in range(2):
        assert headway("export", scenario_file, "--format", "csv", "--out", out).status == 0
    assert headway("export", scenario_file, "--format", "cm", "--out", out).status == 2
    assert headway("export", scenario_file, "--format", "cm", "--out", out, "--force").status == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["FILE"], "Missing option '--format'"),
        (["FILE", "--format", "topo"], "'cm', 'csv'"),
        (["FILE", "--format", "csv", "--out", "no/such/place.csv"], "cannot be written"),
        (["FILE", "--format", "csv", "--out", "."], "is there already"),
        (["amrt/fig08-model", "--format", "csv"], "evaluates a model"),
        (["amrt/fig08-modle", "--format", "csv"], "did you mean amrt/fig08-model"),
    ],
)
def test_mistakes(headway: Headway, scenario_file: Path, arguments: list[str], message: str) -> None:
    answer = headway("export", *[str(scenario_file) if a == "FILE" else a for a in arguments])
    assert answer.status == 2
    assert message in answer.err
    assert answer.out == ""
