"""Diagrams of states for the documentation site, drawn from the declared tables of machines without a script.

Pages hold a diagram as text in Mermaid's language, which other readers of Markdown draw. Here each state is a box, and
each event a line from it to the state that follows; all lines to a state come together before it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from html import escape

BLOCK = re.compile(r"^```mermaid\nstateDiagram-v2\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"^\s*(\S+) --> (\w+)(?:: (.+))?$", re.MULTILINE)
LEFT, BOX, SLOT, GAP, LANE = 34, 150, 19, 16, 16
# Width of a letter at the size of the labels.
LETTER = 6.6


@dataclass(frozen=True)
class Machine:
    """The states in the order of their table, the first one, and the events from state to state."""

    first: str
    states: tuple[str, ...]
    events: dict[tuple[str, str], tuple[str, ...]]


def machine_of(text: str) -> Machine:
    """The machine of a block's text."""
    events: dict[tuple[str, str], list[str]] = defaultdict(list)
    first = ""
    order: dict[str, None] = {}
    for source, target, event in _LINE.findall(text):
        if source == "[*]":
            first = target
        else:
            events[source, target].append(event)
            order[source] = None
        order.setdefault(target, None)
    return Machine(first, tuple(order), {key: tuple(found) for key, found in events.items()})


def diagram(text: str) -> str:
    """A block's diagram as SVG in the colours of the page, on one line."""
    machine = machine_of(text)
    leaving = {state: _leaving(machine, state) for state in machine.states}
    targets = {target for ways in leaving.values() for target, _ in ways}
    entered = [state for state in machine.states if state in targets]
    longest = max((len(label) for ways in leaving.values() for _, label in ways), default=0)
    lane = {state: LEFT + BOX + 14 + longest * LETTER + LANE * place for place, state in enumerate(entered, start=1)}
    parts: list[str] = []
    into: dict[str, float] = {}
    away: list[tuple[float, str, str]] = []
    top = 6.0
    for state in machine.states:
        again = ", ".join(machine.events.get((state, state), ()))
        rows = (state in targets) + len(leaving[state])
        height = max(SLOT * rows + 8.0, 34.0 if again else 26.0)
        parts += _box(state, again, top, height, first=state == machine.first)
        at = top + 4 + SLOT / 2
        if state in targets:
            into[state] = at
            at += SLOT
        for target, label in leaving[state]:
            away.append((at, target, label))
            at += SLOT
        top += height + GAP
    for at, target, label in away:
        parts.append(_path(f"M{LEFT + BOX} {at}H{lane[target]}V{into[target]}", opacity=0.55))
        parts.append(_text(LEFT + BOX + 8, at - 3, label, "start", size=11))
    for state in entered:
        parts.append(_path(f"M{lane[state]} {into[state]}H{LEFT + BOX}m6 -4l-6 4l6 4", opacity=0.55))
    width = max(lane.values(), default=LEFT + BOX) + 10
    return (
        f'<svg class="hw-states" viewBox="0 0 {width:.0f} {top:.0f}" width="{width:.0f}" role="img" '
        f'aria-label="{escape(_said(machine))}" font-family="system-ui, sans-serif">{"".join(parts)}</svg>\n'
    )


def _leaving(machine: Machine, state: str) -> list[tuple[str, str]]:
    """The other states that follow a state, each with the events that lead to it."""
    ways = machine.events.items()
    return [(target, ", ".join(found)) for (source, target), found in ways if source == state != target]


def _said(machine: Machine) -> str:
    """The machine in words."""
    ways = ((source, target, found) for (source, target), found in machine.events.items() if source != target)
    each = "; ".join(f"{source} goes to {target} on {', '.join(found)}" for source, target, found in ways)
    return f"States {', '.join(machine.states)}; it begins in {machine.first}. {each}"


def _box(state: str, again: str, top: float, height: float, *, first: bool) -> list[str]:
    """A state, with the events that leave it where it is."""
    middle = top + height / 2
    size = f'x="{LEFT}" y="{top}" width="{BOX}" height="{height}" rx="5"'
    parts = [f'<rect {size} fill="none" stroke="currentColor"/>']
    parts.append(_text(LEFT + BOX / 2, middle + (-3 if again else 4), state, "middle", weight="600"))
    if again:
        parts.append(_text(LEFT + BOX / 2, middle + 12, _fitting(f"stays: {again}"), "middle", size=10))
    if first:
        parts.append(_path(f"M4 {middle}h{LEFT - 4}m-6 -4l6 4l-6 4"))
        parts.append(f'<circle cx="4" cy="{middle}" r="4" fill="currentColor"/>')
    return parts


def _path(way: str, opacity: float = 1.0) -> str:
    return f'<path d="{way}" fill="none" stroke="currentColor" stroke-opacity="{opacity}"/>'


def _text(x: float, y: float, text: str, anchor: str, *, size: int = 12, weight: str = "400") -> str:
    place = f'x="{x}" y="{y}" text-anchor="{anchor}"'
    return f'<text {place} font-size="{size}" font-weight="{weight}" fill="currentColor">{escape(text)}</text>'


def _fitting(text: str) -> str:
    """As much of a text as a box has room for; the table next to the diagram has all."""
    most = int(BOX / 5.4)
    return text if len(text) <= most else text[: most - 1].rstrip(", ") + "…"
