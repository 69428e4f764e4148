"""A network in characters, from the same layout that reports draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headway.data.units import display, duration

# More cables than these between the nodes would be a grid: they are told in words alone.
MOST_CABLES = 40
# Lines from one level of the picture to the next, and at most for all of it.
STEP = 4
MOST_LINES = 24
LEAST_WIDTH = 40
Topology = Mapping[str, Sequence[Mapping[str, Any]]]


def sketch(topology: Topology, width: int) -> list[str]:
    """The network in lines of at most `width` characters: switches in brackets, hosts without."""
    nodes = topology["nodes"]
    levels = sorted({node["y"] for node in nodes})
    step = max(2, min(STEP, MOST_LINES // max(len(levels), 1)))
    width = max(width, LEAST_WIDTH)
    canvas = [[" "] * width for _ in range((len(levels) - 1) * step + 1)]
    names = {node["name"]: _name(node) for node in nodes}
    longest = max(map(len, names.values()))
    at = {
        node["name"]: (
            round(longest / 2 + node["x"] * (width - 1 - longest)),
            levels.index(node["y"]) * step,
        )
        for node in nodes
    }
    if len(topology["links"]) <= MOST_CABLES:
        for link in topology["links"]:
            _cable(canvas, at[link["a"]], at[link["b"]])
    for level, y in enumerate(levels):
        row = sorted((node for node in nodes if node["y"] == y), key=lambda node: node["x"])
        _place(canvas[level * step], [(at[node["name"]][0], names[node["name"]]) for node in row])
    lines = ["".join(row).rstrip() for row in canvas]
    if len(topology["links"]) > MOST_CABLES:
        # Without cables there is nothing between the levels.
        lines = [line for number, line in enumerate(lines) if number % step == 0]
    return lines


def links(topology: Topology) -> list[str]:
    """The kinds of cables of the picture, with rate and delay, in lines."""
    tiers = {node["name"]: (node["kind"], node["tier"]) for node in topology["nodes"]}
    kinds: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for link in topology["links"]:
        ends = sorted((tiers[link["a"]], tiers[link["b"]]))
        what = " - ".join(kind if kind == "host" else f"switch, tier {tier}" for kind, tier in ends)
        like = f"{display('rate', link['rate_bps'])}, {duration(link['delay_s'])}"
        kinds.setdefault((what, like), []).append(link)
    drawn = any(node["count"] > 1 for node in topology["nodes"])
    note = ["xN stands for N nodes alike"] if drawn else []
    return [f"{what}: {like}, as {found[0]['a']} - {found[0]['b']}" for (what, like), found in kinds.items()] + note


def _name(node: Mapping[str, Any]) -> str:
    count = f"x{node['count']}" if node["count"] > 1 else ""
    return f"{node['name']}{count}" if node["kind"] == "host" else f"[{node['name']}{count}]"


def _place(row: list[str], labels: Sequence[tuple[int, str]]) -> None:
    """Write names into a line, each centred at its place and beside the one before; none that has no room."""
    free = 0
    for centre, label in labels:
        begin = max(min(centre - len(label) // 2, len(row) - len(label)), free)
        if begin + len(label) <= len(row):
            row[begin : begin + len(label)] = label
            free = begin + len(label) + 1


def _cable(canvas: list[list[str]], one: tuple[int, int], other: tuple[int, int]) -> None:
    """Draw a straight line."""
    (x0, y0), (x1, y1) = sorted((one, other), key=lambda place: (place[1], place[0]))
    if y0 == y1:
        for x in range(min(x0, x1), max(x0, x1) + 1):
            canvas[y0][x] = "-"
        return
    mark = "|" if abs(x1 - x0) <= y1 - y0 else "\\" if x1 > x0 else "/"
    if abs(x1 - x0) < 2:
        mark = "|"
    for y in range(y0 + 1, y1):
        x = round(x0 + (x1 - x0) * (y - y0) / (y1 - y0))
        canvas[y][x] = mark if canvas[y][x] in (" ", mark) else "+"
