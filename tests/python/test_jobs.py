"""Answers about jobs: on the terminal, in tables, in comparisons and in reports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import headway as package
from headway.comparison.numbers import full_name
from headway.data.jobs import MOST_LINKS, by_cause, lines_of, of_jobs, path_lines
from headway.errors import NameNotFound
from headway.reporting.assemble import assemble
from headway.reporting.load import load
from headway.reporting.spec import BarPanel, DotPanel
from support import Answer

RING = """
[topology]
kind = "single-switch"
hosts = 8
rate = "100 Gbps"
delay = "1 us"
[transport]
name = "homa"
[sample]
causes = true
[variants.ring]
[variants.tree]
traffic.0.algorithm = "double-binary-tree"
[[traffic]]
kind = "allreduce"
bytes = "800 kB"
"""


Run = Callable[..., Answer]


@pytest.fixture
def command(headway: Run) -> Run:
    """The command line; its name is that of the package here."""
    return headway


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A scenario with one job and two variants."""
    path = tmp_path / "ring.toml"
    path.write_text(RING)
    return path


def test_a_run_begins_with_its_job(command: Run, file: Path) -> None:
    lines = command("run", str(file), "-v").out.splitlines()
    assert lines[0].startswith("ring: allreduce (ring) of 800 kB over 8 ranks: ")
    assert all(word in lines[0] for word in ("algorithm bandwidth", "bus bandwidth", "times its bound", "last h"))
    assert lines[1].startswith("  critical path: ") and "sending" in lines[1] and "%" in lines[1]
    assert "112/112 flows done" in lines[2], "messages come after"
    assert "critical path of 14 flows and steps" in lines[3]
    assert len(lines) <= 4 + MOST_LINKS + 3, "less than a screen"


def test_tables_and_comparisons_lead_with_jobs(command: Run, file: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    head = next(line for line in command("sweep", str(file), "--out", out).out.splitlines() if "variant" in line)
    columns = ["completion", "algorithm bw", "bus bw", "last behind", "flows done", "mean FCT"]
    assert sorted(columns, key=head.index) == columns
    short, whole = (command("compare", out, "--of", name) for name in ("bus_bandwidth", "jobs.0.bus_bandwidth_bps"))
    assert short.out == whole.out
    assert "job 0, bus bandwidth" in short.out
    rows = command("compare", out).out.splitlines()[2:]
    assert "completion" in rows[0] and "mean FCT" not in rows[0]
    paths: Answer = command("compare", out, "--path", "--at", "tree")
    assert "allreduce (double-binary-tree) of 800 kB over 8 ranks: critical path of" in paths.out
    refused = command("compare", out, "--path", "--causes", "--at", "tree")
    assert (refused.status, "--path is of the jobs of a run" in refused.err) == (2, True)


def test_a_report_leads_with_jobs(file: Path, tmp_path: Path) -> None:
    found = package.sweep(file, tmp_path / "out")
    report = assemble(load(Path(str(found.directory))))
    assert [figure.id for figure in report.drawn][:2] == ["critical-path", "causes"]
    assert report.jobs[0].id == "jobs"
    rows = sum(len(panel.rows) for panel in report.drawn[0].panels if isinstance(panel, BarPanel | DotPanel))
    assert rows <= 30, "about a screen"


def test_short_names_are_those_of_one_number() -> None:
    assert full_name("bus_bandwidth") == "jobs.0.bus_bandwidth_bps"
    assert full_name("completion") == "jobs.0.completion_s"
    assert full_name("slowdown_p99") == "slowdown_p99"
    with pytest.raises(NameNotFound):
        full_name("bus_bandwith")
    with pytest.raises(NameNotFound):
        full_name("bandwidth")


def test_a_job_that_is_not_over_says_so() -> None:
    job = {"kind": "allreduce", "entry": 0, "ranks": 8, "rounds": {"count": 5, "unfinished": 2}, "completion_s": None}
    assert lines_of({"jobs": [job]}) == ["allreduce over 8 ranks: not over, 3 of the 5 rounds that began are"]
    assert by_cause(job) == ""
    assert "no critical path" in path_lines(job)[0]
    assert of_jobs([{"jobs": [job]}, {}]) == []
    assert lines_of({"jobs": [{**job, "kind": "rpc"}]}) == [], "calls are told elsewhere"
    many = lines_of({"jobs": [job] * 9})
    assert many[-1] == "5 more jobs are in summary.json and the report"
