"""Draw the topology sketch as inline SVG."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from .spec import Edge, Node, Sketch
from .svg_parts import CHARACTER, WIDTHS, Slots, group, line, readable, text

MARGIN = 70.0
LEVEL = 105.0  # height for each row of nodes
ROW_BESIDE = 38.0  # the same where hosts stand in columns
HOSTS_NAMED = 44
CABLES_THICK = 40  # beyond these, cables are hairlines


@dataclass(frozen=True)
class Laid:
    """A sketch laid out: the size of its view box, and where each node is in it."""

    width: float
    height: float
    place: Mapping[str, tuple[float, float]]


def laid_out(sketch: Sketch) -> Laid:
    """Positions of all nodes, cables and texts."""
    width = float(WIDTHS[1])
    levels = sorted({round(node.y, 3) for node in sketch.nodes})
    above, below = (
        max((1 + len(node.flows) for node in sketch.nodes if node.kind == "host" and node.side == side), default=0)
        for side in ("above", "below")
    )
    beside = any(node.side in ("left", "right") for node in sketch.nodes)
    height = max(150.0, ROW_BESIDE * len(levels) + 40.0) if beside else max(170.0, LEVEL * len(levels) + 20.0)
    height = min(520.0, height)
    top, bottom = 16.0 + 13.0 * above, height - 27.0 - 13.0 * below
    span = (levels[-1] - levels[0]) or 1.0
    place = {
        node.name: (MARGIN + node.x * (width - 2 * MARGIN), top + (node.y - levels[0]) / span * (bottom - top))
        for node in sketch.nodes
    }
    return Laid(width, height, place)


def draw_sketch(sketch: Sketch, slots: Slots) -> str:
    """Cables first, then switches as boxes and hosts as circles with their names."""
    laid = laid_out(sketch)
    width, height, place = laid.width, laid.height, laid.place
    fastest = max((edge.rate_bps for edge in sketch.edges if edge.rate_bps), default=1.0)
    thick = len(sketch.edges) <= CABLES_THICK
    named = sum(node.kind == "host" for node in sketch.nodes) <= HOSTS_NAMED
    parts = [_edge(edge, place, fastest, thick=thick) for edge in sketch.edges]
    parts += [_node(node, place[node.name], slots, named=named) for node in sketch.nodes]
    box = f'viewBox="0 0 {width:.0f} {height:.0f}"'
    return f'<svg class="chart sketch" {box} role="group" aria-label="Sketch of the topology">{"".join(parts)}</svg>'


def _edge(edge: Edge, place: Mapping[str, tuple[float, float]], fastest: float, *, thick: bool) -> str:
    ends = (*place[edge.a], *place[edge.b])
    share = (edge.rate_bps or fastest) / fastest
    more = 2.5 if edge.bottleneck else 1.0 if edge.is_hurt else 0.0
    width = (1.0 + 1.6 * share if thick else 0.4 + 0.5 * share) + more
    kind = "cable" + (" narrow" if edge.bottleneck else "") + (" hurt" if edge.is_hurt else "")
    focus = ' tabindex="0"' if edge.bottleneck or edge.is_hurt else ""
    wire = f'<g style="stroke-width:{width:.1f}">{line("wire", *ends)}</g>'
    return f'<g class="{kind}"{focus} {readable(chr(10).join(edge.detail))}>{line("hit-line", *ends)}{wire}</g>'


def _node(node: Node, at: tuple[float, float], slots: Slots, *, named: bool) -> str:
    x, y = at
    name = node.name + (f" ×{node.count}" if node.count > 1 else "")
    if node.kind != "host":
        width = max(34.0, len(name) * CHARACTER + 14.0)
        box = f'<rect x="{x - width / 2:.1f}" y="{y - 12:.1f}" width="{width:.1f}" height="24" rx="5"/>'
        return f'<g class="switch">{box}{text("name", x, y + 4, name, "middle")}</g>'
    circle = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6.5"/>'
    return f'<g class="host">{circle}{_host_text(node, x, y, name if named else "", slots)}</g>'


def _host_text(node: Node, x: float, y: float, name: str, slots: Slots) -> str:
    """Name and flow marks: in one line at the side of the host, or one below the other."""
    if node.side in ("left", "right"):
        spans = [f"<tspan>{escape(name)}</tspan>"]
        spans += [
            f'<tspan class="k{slots[key]} ink" data-key="{escape(key)}">{escape(m)}</tspan>' for m, key in node.flows
        ]
        left = node.side == "left"
        inside = " ".join(reversed(spans) if left else spans)
        anchor = ' text-anchor="end"' if left else ""
        return f'<text class="label" x="{x + (-13 if left else 13):.1f}" y="{y + 4:.1f}"{anchor}>{inside}</text>'
    first, step = (-12.0, -13.0) if node.side == "above" else (20.0, 13.0)
    parts = [text("name", x, y + first, name, "middle")] if name else []
    for i, (mark, key) in enumerate(node.flows, start=1):
        parts.append(group(key, slots, text("label ink", x, y + first + step * i, mark, "middle")))
    return "".join(parts)
