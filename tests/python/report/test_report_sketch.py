"""The topology sketch: every host told where it has room, every name inside the picture."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from headway.reporting import build
from headway.reporting.figures.topology import topology
from headway.reporting.load import load
from headway.reporting.spec import Sketch
from headway.reporting.study import Study
from report.page_reader import Page


def link(a: str, b: str) -> dict[str, Any]:
    return {"a": a, "b": b, "rate_bps": 1e10, "delay_s": 1e-6}


def node(name: str, x: float, y: float) -> dict[str, Any]:
    return {"name": name, "kind": "host" if name[0] == "h" else "switch", "tier": 0, "x": x, "y": y, "count": 1}


def dumbbell(senders: int, receivers: int) -> dict[str, Any]:
    nodes = [node("s0", 0.35, 0.5), node("s1", 0.65, 0.5)]
    links = [link("s0", "s1")]
    for i in range(senders + receivers):
        left = i < senders
        place = (i + 0.5) / senders if left else (i - senders + 0.5) / receivers
        nodes.append(node(f"h{i}", 0.08 if left else 0.92, place))
        links.append(link(f"h{i}", "s0" if left else "s1"))
    return {"nodes": nodes, "links": links}


def ring(switches: int) -> dict[str, Any]:
    nodes, links = [], []
    for i in range(switches):
        turn = math.tau * i / switches
        nodes.append(node(f"s{i}", 0.5 + 0.25 * math.sin(turn), 0.5 - 0.25 * math.cos(turn)))
        links.append(link(f"s{i}", f"s{(i + 1) % switches}"))
        for j in (-1, 1):
            at = turn + 0.2 * j
            nodes.append(node(f"h{2 * i + (j > 0)}", 0.5 + 0.46 * math.sin(at), 0.5 - 0.46 * math.cos(at)))
            links.append(link(f"h{2 * i + (j > 0)}", f"s{i}"))
    return {"nodes": nodes, "links": links}


def sketch(directory: Path, stored: dict[str, Any]) -> Sketch:
    path = directory / "manifest.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**record, "topology": stored}), encoding="utf-8")
    flows = pl.read_parquet(directory / "flows.parquet").head(3)
    ends = flows.with_columns(pl.Series("src", [0, 1, 1], pl.UInt32), pl.Series("dst", [2, 2, 3], pl.UInt32))
    ends.write_parquet(directory / "flows.parquet")
    (panel,) = topology(Study(load(directory))).panels
    assert isinstance(panel, Sketch)
    return panel


def test_hosts_in_columns_are_named_beside(single: Path) -> None:
    drawn = {n.name: n for n in sketch(single, dumbbell(3, 2)).nodes}
    assert {drawn[f"h{i}"].side for i in range(3)} == {"left"}
    assert {drawn[f"h{i}"].side for i in (3, 4)} == {"right"}
    assert [text for text, _ in drawn["h2"].flows] == ["f0 ▸", "f1 ▸"]


def test_hosts_around_a_ring_are_named_on_the_outside(single: Path) -> None:
    drawn = {n.name: n for n in sketch(single, ring(4)).nodes}
    assert [drawn[f"h{i}"].side for i in range(8)] == [
        "above", "above", "right", "right", "below", "below", "left", "left",
    ]  # fmt: skip


@pytest.mark.parametrize(("make", "sizes"), [(dumbbell, (2, 2)), (dumbbell, (8, 3)), (ring, (4,)), (ring, (9,))])
def test_every_name_is_inside_the_picture(single: Path, make: Callable[..., Any], sizes: tuple[int, ...]) -> None:
    stored = make(*sizes)
    sketch(single, stored)
    page = Page(build(single)[0].read_text(encoding="utf-8"))
    (picture,) = [p for p in page.pictures if "sketch" in p.attrib.get("class", "")]
    _, _, width, height = (float(part) for part in picture.attrib["viewBox"].split())
    names = list(picture.iter("text"))
    assert len([n for n in names if "".join(n.itertext()).strip()]) >= len(stored["nodes"])
    for name in names:
        x, y, reach = float(name.attrib["x"]), float(name.attrib["y"]), 8.0 * len("".join(name.itertext()))
        anchor = name.attrib.get("text-anchor", "start")
        low = {"start": x, "middle": x - reach / 2, "end": x - reach}[anchor]
        assert low >= 0
        assert low + reach <= width
        assert 8 <= y <= height


def test_without_a_stored_topology_it_is_drawn_from_the_links(single: Path) -> None:
    (panel,) = topology(Study(load(single))).panels
    assert isinstance(panel, Sketch)
    hosts = [n for n in panel.nodes if n.kind == "host"]
    assert sum(n.count for n in hosts) == 400
    assert len(hosts) == 10
    assert {e.b for e in panel.edges if e.a == "leaf0"} >= {f"spine{i}" for i in range(8)}
