"""Figures of the fabric: utilisation of its links, and the sketch of the topology."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from headway.data.changes import hurt_links
from headway.data.point import Point
from headway.data.units import display

from ..links import busy, ends
from ..spec import Edge, Figure, LegendEntry, Node, Sketch
from ..study import Study, flow_key, natural
from ..timelines import bottlenecks
from .kind import FigureKind

FLOWS_MARKED = 8
HOSTS_DRAWN = 40
LAYERS = {"core": 0, "spine": 0, "agg": 1, "leaf": 2, "edge": 2, "s": 1, "h": 3}


def topology(study: Study) -> Figure:
    """The fabric that was simulated: from the manifest, else out of the names of its links."""
    figure_id, title = "topology", "Topology"
    point = study.points[0]
    stored = point.manifest.get("topology")
    if isinstance(stored, Mapping) and stored.get("nodes"):
        nodes, cables = stored_sketch(stored)
        caption = ""
    else:
        nodes, cables = _guessed_sketch(point)
        caption = "Laid out from the names of the links. "
    if not cables:
        return Figure(figure_id, title, absent="the results name no links")
    marks, legend = _flow_marks(study, {node.name for node in nodes})
    sides = _sides(nodes, cables)
    nodes = [replace(n, flows=tuple(marks.get(n.name, ())), side=sides.get(n.name, "below")) for n in nodes]
    facet = study.facet_of(point)
    loads = {v: busy(study.group(v, facet)) for v in study.variants}
    narrow = set(bottlenecks(point)) if point.scenario.get("bottleneck") else set()
    hurt = dict.fromkeys(what for one in study.points for what in hurt_links(one.scenario))
    edges = tuple(_hurt(_edge(a, b, rate, delay, loads, narrow), hurt) for a, b, rate, delay in cables)
    rates = sorted({rate for _, _, rate, _ in cables if rate})
    caption += "Links: " + ", ".join(display("rate", rate) for rate in rates) + "." if rates else ""
    caption += " Thick: declared bottleneck." if any(edge.bottleneck for edge in edges) else ""
    caption += " Red: another rate or delay than the topology has, or a fault." if any(e.is_hurt for e in edges) else ""
    caption += " A name with ▸ before it begins at the host, with ▸ after it ends there." if legend else ""
    caption += " A node with ×n stands for n alike." if any(node.count > 1 for node in nodes) else ""
    return Figure(figure_id, title, caption.strip(), (Sketch("", tuple(nodes), edges),), 1, legend)


def _flow_marks(study: Study, hosts: set[str]) -> tuple[dict[str, list[tuple[str, str]]], tuple[LegendEntry, ...]]:
    point = study.points[0]
    if point.flows.height > FLOWS_MARKED:
        return {}, ()
    rows = sorted(point.flows.select("name", "src", "dst").iter_rows(), key=lambda row: natural(str(row[0])))
    styles = study.flow_styles([str(row[0]) for row in rows])
    marks: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, src, dst in rows:
        for host, text in ((f"h{src}", f"▸ {name}"), (f"h{dst}", f"{name} ▸")):
            if host in hosts:
                marks[host].append((text, flow_key(str(name))))
    legend = tuple(LegendEntry(flow_key(name), name, style) for name, style in styles.items())
    return marks, legend if marks else ()


def _edge(
    a: str, b: str, rate: float | None, delay: float | None, busy: Mapping[str, Mapping[str, float]], narrow: set[str]
) -> Edge:
    text = [f"{a} – {b}"]
    if rate:
        text.append(display("rate", rate) + (f", {display('time', delay)}" if delay is not None else ""))
    top: float | None = None
    for one, two in ((a, b), (b, a)):
        name = f"{one}->{two}"
        for variant, found in busy.items():
            if found.get(name, 0.0) > 0.0005:
                text.append(f"{one} → {two}, {variant}: busy {display('percent', found[name])}")
                top = max(top or 0.0, found[name])
    return Edge(a, b, rate, top, f"{a}->{b}" in narrow or f"{b}->{a}" in narrow, tuple(text))


def _hurt(edge: Edge, hurt: Iterable[tuple[str, str]]) -> Edge:
    """The cable with what happens to it in some run, if anything does."""
    both = ((edge.a, edge.b), (edge.b, edge.a))
    names = [f"{a}{way}{b}" for a, b in both for way in ("->", "<->")] + [edge.a, edge.b]
    told = dict.fromkeys(text for pattern, text in hurt if any(fnmatchcase(name, pattern) for name in names))
    return replace(edge, is_hurt=True, detail=(*edge.detail, *told)) if told else edge


Cable = tuple[str, str, float | None, float | None]


def stored_sketch(stored: Mapping[str, Any]) -> tuple[list[Node], list[Cable]]:
    """Nodes with room for their names, and cables, as a manifest has them."""
    nodes = [
        Node(str(n["name"]), str(n.get("kind", "switch")), float(n["x"]), float(n["y"]), int(n.get("count") or 1))
        for n in stored["nodes"]
    ]
    names = {n.name for n in nodes}
    seen: dict[frozenset[str], Cable] = {}
    for link in stored.get("links", []):
        a, b = str(link["a"]), str(link["b"])
        if a in names and b in names:
            seen.setdefault(frozenset((a, b)), (a, b, link.get("rate_bps"), link.get("delay_s")))
    cables = list(seen.values())
    sides = _sides(nodes, cables)
    return [replace(node, side=sides.get(node.name, "below")) for node in nodes], cables


def _sides(nodes: list[Node], cables: list[Cable]) -> dict[str, str]:
    """Away from the switch: hosts of one switch that stand in a column have room at their sides, others above or
    below."""
    place = {node.name: node for node in nodes}
    groups: dict[str, list[Node]] = defaultdict(list)
    for a, b, _, _ in cables:
        for host, switch in ((place[a], place[b]), (place[b], place[a])):
            if host.kind == "host" and switch.kind != "host":
                groups[switch.name].append(host)
    found = {}
    for name, hosts in groups.items():
        switch = place[name]
        wide = max(h.x for h in hosts) - min(h.x for h in hosts)
        tall = max(h.y for h in hosts) - min(h.y for h in hosts)
        beside = tall > wide or all(abs(h.y - switch.y) < 0.1 for h in hosts)
        for host in hosts:
            if beside:
                found[host.name] = "left" if host.x < switch.x else "right"
            else:
                found[host.name] = "above" if host.y < switch.y else "below"
    return found


def _guessed_sketch(point: Point) -> tuple[list[Node], list[Cable]]:
    """Rows of switches by the layer their name says, hosts under the switch they hang from."""
    cables: dict[frozenset[str], Cable] = {}
    for name, rate in point.links.select("name", "rate_bps").iter_rows():
        a, b = ends(str(name))
        if b:
            cables.setdefault(frozenset((a, b)), (a, b, float(rate), None))
    names = sorted({n for cable in cables.values() for n in cable[:2]}, key=natural)
    hosts = [n for n in names if _prefix(n) == "h"]
    switches = [n for n in names if n not in set(hosts)]
    rows: dict[int, list[str]] = defaultdict(list)
    for switch in switches:
        rows[LAYERS.get(_prefix(switch), 1)].append(switch)
    height = {layer: (i + 0.5) / (len(rows) + 1) for i, layer in enumerate(sorted(rows))}
    place = {n: ((i + 0.5) / len(row), height[layer]) for layer, row in rows.items() for i, n in enumerate(row)}
    nodes = [Node(n, "switch", *place[n]) for n in switches]
    return _hang_hosts(nodes, hosts, list(cables.values()), place)


def _hang_hosts(
    nodes: list[Node], hosts: list[str], cables: list[Cable], place: Mapping[str, tuple[float, float]]
) -> tuple[list[Node], list[Cable]]:
    uplink = {a: b for a, b, _, _ in cables} | {b: a for a, b, _, _ in cables}
    under: dict[str, list[str]] = defaultdict(list)
    for host in hosts:
        under[uplink[host]].append(host)
    merge = len(hosts) > HOSTS_DRAWN
    width = 1.0 / max(1, len(under))
    kept: set[str] = set()
    for switch, group in under.items():
        shown = group[:1] if merge else group
        x = place.get(switch, (0.5, 0.5))[0]
        for i, host in enumerate(shown):
            offset = ((i + 0.5) / len(shown) - 0.5) * width * 0.85
            nodes.append(Node(host, "host", x + offset, 1.0, len(group) if merge else 1))
            kept.add(host)
    drawn = {n.name for n in nodes}
    return nodes, [cable for cable in cables if cable[0] in drawn and cable[1] in drawn]


def _prefix(name: str) -> str:
    return re.sub(r"[\d.]+$", "", name)


KIND = FigureKind("the network as drawn", topology)
