"""Spans in which links are down, black holes or changed: shaded in figures over time, and said in their captions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headway.reporting import build
from report.make_runs import make_parking_lot
from report.page_reader import Page

DOWN: dict[str, Any] = {
    "links": ["s0->s1", "s1->s0"],
    "switches": [],
    "down_at": "1 ms",
    "up_at": "2 ms",
    "converge": "100 us",
}
SLOW: dict[str, Any] = {"links": ["s1->s2"], "at": "3 ms", "until": None, "rate": "1 Gbps", "delay": "20 us"}
BLACKHOLE: dict[str, Any] = {"links": "all", "kind": None, "dark_from": "4 ms", "dark_until": "5 ms"}
LATER: dict[str, Any] = {"links": [], "switches": ["s1"], "down_at": "80 ms", "up_at": None, "converge": "never"}
RANDOM: dict[str, Any] = {
    "links": "all",
    "kind": None,
    "loss": 0.1,
    "duplicate": 0.0,
    "reorder": 0.0,
    "reorder_by": "0 s",
}


def page_with(directory: Path, faults: list[dict[str, Any]]) -> tuple[Page, str]:
    make_parking_lot(directory, seeds=(1,))
    for path in directory.glob("points/*/manifest.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        record["scenario"]["fault"] = faults
        path.write_text(json.dumps(record), encoding="utf-8")
    text = build(directory)[0].read_text(encoding="utf-8")
    return Page(text), text


def test_spans_are_shaded_and_said(tmp_path: Path) -> None:
    page, text = page_with(tmp_path, [DOWN, SLOW, BLACKHOLE, LATER, RANDOM])
    assert "s0 ↔ s1 down from 1 ms to 2 ms, and routes follow 100 us later" in page.text.replace("µs", "us")
    assert "s1 → s2: 1 Gbps, delay 20 us from 3 ms on" in page.text.replace("µs", "us")
    assert "all links black-holed from 4 ms to 5 ms" in page.text
    assert "s1 down from 80 ms on, and routes stay as they are" in page.text
    panels = [svg for svg in text.split("<svg")[1:] if 'data-panel="utilisation-time' in svg]
    assert panels
    for svg in panels:
        assert svg.count('class="shade"') == 3, "what begins after the end of the axis is not drawn"


def test_nothing_is_shaded_where_nothing_changes(tmp_path: Path) -> None:
    page, text = page_with(tmp_path, [RANDOM])
    assert "Shaded" not in page.text
    assert 'class="shade"' not in text.partition("<script")[0]
