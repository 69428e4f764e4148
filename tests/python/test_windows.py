"""Open flows that a scenario intends raise no warning, and a note takes one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from headway import Scenario
from headway.cli.main import cli
from headway.data.notes import LINE, brief
from headway.data.windows import is_window

WINDOW = """
stop = "1 ms"

[topology]
kind = "single-switch"
hosts = 4
rate = "10 Gbps"
delay = "1 us"

[transport]
name = "dctcp"

[[traffic]]
kind = "flows"
flows = [{ src = 0, dst = 1, bytes = "SIZE", start = "0 s" }, { src = 2, dst = 1, bytes = "10 kB", start = "0 s" }]
"""


def resolved(tmp_path: Path, text: str) -> Scenario:
    file = tmp_path / "mine.toml"
    file.write_text(text, "utf-8")
    return Scenario.load(file)


@pytest.mark.parametrize(("size", "expected"), [("10 MB", True), ("1.2 MB", False), ("1.3 MB", True)])
def test_a_window_is_too_short_for_a_listed_flow(tmp_path: Path, size: str, expected: bool) -> None:
    """1 ms of 10 Gb/s are 1.25 MB."""
    assert is_window(resolved(tmp_path, WINDOW.replace("SIZE", size)).resolved) is expected


def test_flows_that_arrive_at_random_are_asked_to_end(tmp_path: Path) -> None:
    more = '\n[[traffic]]\nkind = "permutation"\nbytes = "10 kB"\n'
    assert not is_window(resolved(tmp_path, WINDOW.replace("SIZE", "10 MB") + more).resolved)


@pytest.mark.parametrize(("size", "warns"), [("10 MB", False), ("1.24 MB", True)])
def test_flows_that_a_window_leaves_open_draw_no_warning(tmp_path: Path, size: str, warns: bool) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(WINDOW.replace("SIZE", size), "utf-8")
    out = tmp_path / "out"
    found = CliRunner().invoke(cli, ["run", str(file), "--out", str(out)])
    assert found.exit_code == 0
    assert "0/2 flows" not in found.output
    assert any("had not finished" in one for one in json.loads((out / "manifest.json").read_text())["warnings"])
    assert ("had not finished" in found.output) is warns
    CliRunner().invoke(cli, ["report", str(out)])
    page = (out / "report.html").read_text("utf-8")
    assert ("did not finish before the end" in page) is warns


NOTE = (
    "amrt load=0.8 and 3 more: of the bytes that arrive in the second half of the arrivals, 33.6 % (30 to 37) are left"
    " over: this transport does not carry the load, or arrivals end too soon to show that it does"
    " (headway docs run-length)"
)


def test_a_note_is_cut_between_clauses_and_keeps_its_page() -> None:
    short = brief(NOTE)
    assert len(short) <= LINE + len("amrt load=0.8 and 3 more:  (headway docs run-length)")
    assert short.endswith("... (headway docs run-length)")
    assert NOTE.startswith(short.partition(" ...")[0])
    assert brief("short enough") == "short enough"


@pytest.mark.parametrize("text", ["x" * 400, "a b" * 90, "one: " * 60])
def test_any_note_becomes_one_line(text: str) -> None:
    assert len(brief(text)) <= LINE + len("one: one:  (headway docs run-length)")
    assert "\n" not in brief(text)
