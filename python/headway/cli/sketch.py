"""A network in characters, from the same layout that reports draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.data.units import display, duration

# With more cables than these between the nodes, a sketch would be a grid: they are listed in words alone.
MOST_CABLES = 40
# Lines from one level of the picture to the next, and at most for all of it.
STEP = 4
MOST_LINES = 24
LEAST_WIDTH = 40
# Number of names that a note about omitted ones shows.
SHOWN = 4
Topology = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True)
class Drawing:
    """The lines of a picture, the nodes that are in it, and sentences about the omitted parts."""

    lines: list[str]
    shown: frozenset[str]
    left_out: list[str]


def sketch(topology: Topology, width: int) -> Drawing:
    """The network in lines of at most `width` characters: switches in brackets, hosts without.

    Where the nodes of a level have no room side by side, those with the same neighbours become one, as `h0..h7`.
    """
    width = max(width, LEAST_WIDTH)
    drawn, cables = _gathered(topology, width)
    levels = sorted({node.y for node in drawn})
    step = max(2, min(STEP, MOST_LINES // max(len(levels), 1)))
    canvas = [[" "] * width for _ in range((len(levels) - 1) * step + 1)]
    longest = max(len(node.label) for node in drawn)
    at = {
        name: (round(longest / 2 + node.x * (width - 1 - longest)), levels.index(node.y) * step)
        for node in drawn
        for name in node.names
    }
    notes: list[str] = []
    shown: set[str] = set()
    if len(cables) <= MOST_CABLES:
        for a, b in cables:
            _cable(canvas, at[a], at[b])
    else:
        notes.append(f"{len(cables)} cables are not drawn")
    for level, y in enumerate(levels):
        row = sorted((node for node in drawn if node.y == y), key=lambda node: node.x)
        placed = _place(canvas[level * step], [(at[node.names[0]][0], node.label) for node in row])
        shown.update(name for node, there in zip(row, placed, strict=True) if there for name in node.names)
        lost = [node.label for node, there in zip(row, placed, strict=True) if not there]
        if lost:
            some = ", ".join(lost[:SHOWN]) + (", ..." if len(lost) > SHOWN else "")
            notes.append(f"{len(lost)} of {len(row)} have no room in line {level + 1} of the picture: {some}")
    lines = ["".join(row).rstrip() for row in canvas]
    if len(cables) > MOST_CABLES:
        # Without cables there is nothing between the levels.
        lines = [line for number, line in enumerate(lines) if number % step == 0]
    return Drawing(lines, frozenset(shown), notes)


@dataclass(frozen=True)
class _Node:
    """One node of the picture, which stands for the nodes of these names."""

    names: tuple[str, ...]
    label: str
    x: float
    y: float


def _gathered(topology: Topology, width: int) -> tuple[list[_Node], list[tuple[str, str]]]:
    """The nodes as they are drawn, and one cable between any two of them."""
    beside: dict[str, set[str]] = {node["name"]: set() for node in topology["nodes"]}
    for link in topology["links"]:
        beside[link["a"]].add(link["b"])
        beside[link["b"]].add(link["a"])
    rows: dict[float, list[Mapping[str, Any]]] = {}
    for node in sorted(topology["nodes"], key=lambda node: node["x"]):
        rows.setdefault(node["y"], []).append(node)
    drawn: list[_Node] = []
    for y, row in rows.items():
        if sum(len(_name(node)) + 1 for node in row) <= width:
            drawn += [_Node((node["name"],), _name(node), node["x"], y) for node in row]
            continue
        groups: dict[tuple[str, frozenset[str]], list[Mapping[str, Any]]] = {}
        for node in row:
            groups.setdefault((node["kind"], frozenset(beside[node["name"]])), []).append(node)
        for alike in groups.values():
            names = tuple(node["name"] for node in alike)
            drawn.append(_Node(names, _names(alike), sum(node["x"] for node in alike) / len(alike), y))
    first = {name: node.names[0] for node in drawn for name in node.names}
    cables = dict.fromkeys((first[link["a"]], first[link["b"]]) for link in topology["links"])
    return drawn, list(cables)


def _names(alike: Sequence[Mapping[str, Any]]) -> str:
    """Several nodes in one name: the first and the last of them, and how many there are where not all are named."""
    if len(alike) == 1:
        return _name(alike[0])
    first, last = alike[0], alike[-1]
    count = sum(node["count"] for node in alike)
    many = f" x{count}" if count > len(alike) else ""
    label = f"{first['name']}..{last['name']}{many}"
    return label if first["kind"] == "host" else f"[{label}]"


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


def _place(row: list[str], labels: Sequence[tuple[int, str]]) -> list[bool]:
    """Write names into a line, each centred at its place and next to the one before; returns which have room."""
    placed = []
    # If the remaining names need the room, a name moves to the left.
    rest = [sum(len(label) + 1 for _, label in labels[number:]) - 1 for number in range(len(labels))]
    free = 0
    for (centre, label), needed in zip(labels, rest, strict=True):
        begin = max(min(centre - len(label) // 2, len(row) - max(len(label), needed)), free)
        has_room = begin + len(label) <= len(row)
        placed.append(has_room)
        if has_room:
            row[begin : begin + len(label)] = label
            free = begin + len(label) + 1
    return placed


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
