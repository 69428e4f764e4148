"""Pictures of how Headway is built: its crates and their dependencies, and the way of one packet through them.

The crates are those that cargo knows of, and the packet is one of a small run. Both are SVG in the colours of the page.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from transport_pictures import Question

from headway.data.tape import WHATS, Tape
from headway.drawing import tape_of

REPOSITORY = Path(__file__).resolve().parents[1]
PREFIX = "headway-"
WIDTH, ROW, TALL, LETTER = 860, 84, 30, 7.6
# The transport whose packet is followed.
FOLLOWED = "amrt"
MEETING = Question("two messages that meet", 2, [(0, 2, "60 kB", "0 s"), (1, 2, "60 kB", "3 us")], 120e-6)
# A permission that leaves so soon after an arrival answers it.
AT_ONCE_NS = 200
# Rounding of times to nanoseconds makes waits of a few.
SHORT_NS = 20
# The wait of the packet that is followed: as long as it is on a link and a half, so that all labels have room.
LONG_NS = 3_300
BLUE, ORANGE = "#2f7fc1", "#d2691e"


def crates() -> dict[str, tuple[str, frozenset[str]]]:
    """Every crate of the workspace: what it says of itself, and those of the workspace that it depends on."""
    if shutil.which("cargo") is None:
        return {}
    command = ["cargo", "metadata", "--no-deps", "--format-version", "1", "--offline"]
    printed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    packages = json.loads(printed)["packages"]
    names = {package["name"] for package in packages}
    found = {}
    for package in packages:
        needed = {one["name"] for one in package["dependencies"] if one["kind"] is None and one["name"] in names}
        short = frozenset(name.removeprefix(PREFIX) for name in needed)
        found[package["name"].removeprefix(PREFIX)] = (str(package["description"] or ""), short)
    return found


def direct_only(needs: Mapping[str, frozenset[str]]) -> dict[str, set[str]]:
    """Dependencies that follow from no others: an arrow to each crate that is reached on no longer way."""
    reached: dict[str, set[str]] = {}

    def below(name: str) -> set[str]:
        if name not in reached:
            reached[name] = set(needs[name]).union(*(below(one) for one in needs[name]))
        return reached[name]

    return {name: set(own) - set().union(*(below(one) for one in own)) for name, own in needs.items()}


def layers(needs: Mapping[str, frozenset[str]]) -> list[list[str]]:
    """The crates by height: each above all that it depends on, near those in its row."""
    height: dict[str, int] = {}

    def of(name: str) -> int:
        if name not in height:
            height[name] = 1 + max((of(one) for one in needs[name]), default=-1)
        return height[name]

    used = set().union(*needs.values())
    rows: dict[int, list[str]] = defaultdict(list)
    for name in sorted(needs):
        if needs[name] or name in used:
            rows[of(name)].append(name)
    direct = direct_only(needs)
    place: dict[str, float] = {}
    for level in sorted(rows):
        middle = {name: sum(place[one] for one in direct[name]) / max(1, len(direct[name])) for name in rows[level]}
        rows[level].sort(key=lambda name: (middle[name], name))
        place |= {name: (i + 0.5) / len(rows[level]) for i, name in enumerate(rows[level])}
    return [rows[level] for level in sorted(rows, reverse=True)]


def crates_picture() -> str:
    """The crates as boxes, and their dependencies as lines down; empty where cargo is not installed."""
    known = crates()
    if not known:
        return ""
    needs = {name: own for name, (_, own) in known.items()}
    direct, rows = direct_only(needs), layers(needs)
    place = {
        name: (WIDTH * (i + 0.5) / len(row), 20 + ROW * level)
        for level, row in enumerate(rows)
        for i, name in enumerate(row)
    }
    lines, boxes = [], []
    for name, (x, y) in place.items():
        for other in sorted(direct[name]):
            u, v = place[other]
            way = f"M{x:.0f} {y + TALL}C{x:.0f} {y + TALL + 30} {u:.0f} {v - 30} {u:.0f} {v}"
            lines.append(f'<path d="{way}" fill="none" stroke="currentColor" stroke-opacity=".4"/>')
        wide = LETTER * len(name) + 18
        boxes.append(
            f"<g><title>{escape(known[name][0])}</title>"
            f'<rect x="{x - wide / 2:.0f}" y="{y}" width="{wide:.0f}" height="{TALL}" rx="5" '
            'fill="var(--md-default-bg-color, #fff)" stroke="currentColor"/>'
            f'<text x="{x:.0f}" y="{y + 20}" text-anchor="middle" font-size="13" fill="currentColor">{name}</text></g>'
        )
    said = "Crates from top to bottom, each above those it depends on: " + "; ".join(", ".join(row) for row in rows)
    return _svg(WIDTH, 20 + ROW * (len(rows) - 1) + TALL + 10, said, [*lines, *boxes])


def _svg(width: float, height: float, said: str, parts: Sequence[str]) -> str:
    return (
        f'<svg class="hw-states" viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(said)}" '
        f'font-family="system-ui, sans-serif">{"".join(parts)}</svg>\n'
    )


@dataclass(frozen=True)
class Leg:
    """A packet on a link: the link, how long it waited for it, when it starts, and when it has arrived; in ns."""

    link: str
    waited: int
    starts: float
    arrives: float


def ways_of(tape: Tape, flow: int, *, data: bool) -> list[list[Leg]]:
    """The way of each packet of a flow, of its data or of what answers; none may be lost or overtaken."""
    by_link: dict[int, list[Leg]] = defaultdict(list)
    for start, link, size, what, of, waited in zip(
        tape.start, tape.link, tape.wire_bytes, tape.what, tape.flow, tape.waited, strict=True
    ):
        if of == flow and WHATS[what].startswith("data") == data and (data or WHATS[what] == "permission"):
            one = tape.links[link]
            arrives = start + 1e9 * (size * 8 / one.rate_bps + one.delay_s)
            by_link[link].append(Leg(f"{one.a}->{one.b}", waited, start, arrives))
    order = sorted(by_link.values(), key=lambda legs: legs[0].starts)
    return [list(way) for way in zip(*order, strict=True)]


def packet_picture() -> str:
    """The way of a packet that waits about as long as it travels, and of its answer, by crate over time."""
    tape = tape_of(MEETING.scenario(FOLLOWED))
    answered = [
        (way, back)
        for flow in range(len(tape.flows))
        for back in ways_of(tape, flow, data=False)
        for way in ways_of(tape, flow, data=True)
        if 0 <= back[0].starts - back[0].waited - way[-1].arrives < AT_ONCE_NS
    ]
    way, reply = min(answered, key=lambda both: abs(sum(leg.waited for leg in both[0]) - LONG_NS))
    begin = way[0].starts
    end = max(leg.arrives for leg in (*way, *reply))
    lanes = (
        ("headway-transport", "the machine makes it, and takes it"),
        ("headway-fabric", "the port lets it wait, and marks it"),
        ("headway-sim", "the event loop carries it over a link"),
    )
    left, lane = 200.0, 58.0
    scale = (WIDTH - left - 14) / (end - begin)
    parts = []
    for number, (name, work) in enumerate(lanes):
        y = 14 + lane * number
        parts.append(f'<path d="M{left} {y + 40}H{WIDTH}" stroke="currentColor" stroke-opacity=".25"/>')
        parts.append(_words(0, y + 18, name, size=13, weight="600"))
        parts.append(_words(0, y + 34, work, size=11))
    for legs, colour, what in ((way, BLUE, "data"), (reply, ORANGE, "permission")):
        parts += _followed(legs, colour, what, lambda time: left + (time - begin) * scale)
    parts.append(_words(left, 14 + lane * 3 + 14, "0", size=11))
    parts.append(_words(WIDTH - 60, 14 + lane * 3 + 14, f"{(end - begin) / 1000:.1f} µs", size=11))
    waits = [f"{leg.waited / 1000:.1f} µs at {leg.link.partition('->')[0]}" for leg in way if leg.waited > SHORT_NS]
    said = (
        f"One packet over time: {way[0].link.partition('->')[0]} sends it, it crosses {len(way)} links, "
        f"waits {' and '.join(waits) or 'nowhere'}, and its receiver answers with a permission"
    )
    return _svg(WIDTH, 14 + lane * 3 + 24, said, parts)


def _followed(legs: Sequence[Leg], colour: str, what: str, x: object) -> list[str]:
    """The events of a packet in the lanes of the crates."""
    place = x if callable(x) else float
    if not legs:
        return []
    parts = []
    ends = ((legs[0].starts - legs[0].waited, f"{what} leaves"), (legs[-1].arrives, "arrives"))
    for number, (time, said) in enumerate(ends):
        parts.append(f'<circle cx="{place(time):.1f}" cy="38" r="5" fill="{colour}"/>')
        anchor = "start" if number == 0 else "end"
        parts.append(_words(place(time) + (8 if number == 0 else -8), 32, said, size=11, anchor=anchor))
    for leg in legs:
        if leg.waited > SHORT_NS:
            wide = place(leg.starts) - place(leg.starts - leg.waited)
            at = place(leg.starts - leg.waited)
            parts.append(f'<rect x="{at:.1f}" y="86" width="{max(wide, 1.5):.1f}" height="20" fill="{colour}"/>')
            parts.append(_words(at, 82, f"waits {leg.waited / 1000:.1f} µs at {leg.link.partition('->')[0]}", size=11))
        at, wide = place(leg.starts), place(leg.arrives) - place(leg.starts)
        box = f'x="{at:.1f}" y="144" width="{wide:.1f}" height="20" rx="3"'
        parts.append(f'<rect {box} fill="{colour}" fill-opacity=".3" stroke="{colour}"/>')
        parts.append(_words(at + wide / 2, 158, leg.link.replace("->", "→"), size=10, anchor="middle"))
    return parts


def _words(x: float, y: float, text: str, *, size: int, weight: str = "400", anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} font-size="{size}" font-weight="{weight}" fill="currentColor">{escape(text)}</text>'


DRAWN = {"crates": crates_picture, "packet": packet_picture}
