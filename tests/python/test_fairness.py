"""Warnings about a comparison that is not fair, and warnings of many points in few lines."""

from __future__ import annotations

from pathlib import Path

import pytest

import headway as package
from headway.data.fairness import times_in, unlike_times
from headway.data.sentences import MOST_LINES, ON_FAIRNESS, by_kind, in_few_lines
from headway.data.steadiness import arrivals_line
from test_cli import Headway

SWEEP = """
[topology]
kind = "leaf-spine"
racks = 2
hosts_per_rack = 8
spines = 2
host_rate = "25 Gbps"
spine_rate = "100 Gbps"
host_delay = "500 ns"

[[traffic]]
kind = "poisson"
cdf = "dctcp_websearch"
load = 0.5
flows = 60
transport = { name = "dctcp", preset = "linux-4.19" }

[[traffic]]
kind = "rpc"
clients = 4
servers = 8
request = "200 B"
reply = "20 kB"
calls = 200
think = "50 us"
transport = { name = "dctcp", preset = "linux-4.19" }

[variants.dctcp]

[variants.swift]
"traffic.0.transport" = { name = "swift" }
"traffic.1.transport" = { name = "swift" }
"""


def test_presets_of_different_times_draw_a_note(headway: Headway, tmp_path: Path) -> None:
    """Before anything runs, and next to the results; not where the times are the same."""
    file = tmp_path / "mine.toml"
    file.write_text(SWEEP)
    note = "`transport.min_rto` is 200 ms for dctcp (preset linux-4.19) and 100 us for swift (preset datacenter)"
    assert note in headway("check", file).err
    same = SWEEP.replace('{ name = "swift" }', '{ name = "swift", preset = "linux-4.19" }')
    file.write_text(same)
    assert "min_rto" not in headway("check", file).err


def test_a_preset_of_an_entry_of_traffic_is_shown_as_set(headway: Headway, tmp_path: Path) -> None:
    """And that of a variant which puts another transport in its place as the default that it is."""
    file = tmp_path / "mine.toml"
    file.write_text(SWEEP)
    lines = headway("check", file).out.splitlines()
    dctcp, swift = (next(line for line in lines if line.startswith(name)) for name in ("dctcp", "swift"))
    assert "linux-4.19 " in dctcp
    assert "datacenter*" in swift


def test_the_advice_on_run_length_counts_calls(tmp_path: Path) -> None:
    """The load of what arrives at random, and of the calls that go on meanwhile."""
    file = tmp_path / "mine.toml"
    file.write_text(SWEEP)
    both = package.Scenario.load(file).run_length
    calls = SWEEP.index('[[traffic]]\nkind = "rpc"')
    file.write_text(SWEEP[:calls])
    alone = package.Scenario.load(file).run_length
    assert both is not None
    assert alone is not None
    assert alone["other_load"] == 0
    assert both["load"] == pytest.approx(alone["load"] + both["other_load"])
    assert both["other_load"] > 0.001
    assert "not at random" in arrivals_line({**both, "other_load": 0.1})
    assert "not at random" not in arrivals_line(alone)


def test_warnings_of_one_kind_are_one_line_and_fairness_is_first() -> None:
    """Numbers do not make another kind, and there are six lines at most."""
    points = [f"p{i}" for i in range(40)]
    said = [(point, f"{100 + i} of 200 flows had not finished") for i, point in enumerate(points)]
    said += [(points[7], f"`homa` needs room ({ON_FAIRNESS})"), (points[9], f"`homa` needs room ({ON_FAIRNESS})")]
    kinds = by_kind(said)
    assert [kind.line(40) for kind in kinds] == [
        f"p7 and 1 more: `homa` needs room ({ON_FAIRNESS})",
        "all 40 points: 100 of 200 flows had not finished (numbers: of p0)",
    ]
    many = by_kind((point, f"{'x' * (i + 1)} is odd") for i, point in enumerate(points))
    lines = in_few_lines(many, 40, "there")
    assert len(lines) == MOST_LINES
    assert lines[-1] == f"{40 - MOST_LINES + 1} kinds more: there"


def test_times_of_several_transports_are_the_longest() -> None:
    """Of a run that has several."""
    resolved = {"transports": [{"name": "a", "min_rto": "1 ms"}, {"name": "b", "min_rto": "2 ms", "preset": "x"}]}
    assert times_in(resolved) == {"min_rto": (2e-3, "x")}
    assert unlike_times({"one": {"min_rto": (1e-3, "")}, "two": {"min_rto": (1.5e-3, "")}}) == []
