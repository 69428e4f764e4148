"""Time-space diagrams of the packets of a run, and sketches of topologies, as figures of matplotlib.

>>> headway.drawing.sequence("amrt/fig01", flow="f1", end="200 us").savefig("f1.svg")
"""

from __future__ import annotations

import tempfile
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.data.tape import WHATS, Tape
from headway.data.units import duration, parse_seconds
from headway.errors import ArgumentError, NameNotFound
from headway.loading import Scenario
from headway.tape import record

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

# With more, lines cover each other.
MOST_LINES = 3000
# A packet that waits longer than this share of the picture is drawn as waiting.
_SHORT = 0.002
FORMATS = ("svg", "pdf", "png")


@dataclass(frozen=True)
class Hop:
    """A packet on a link: when its first bit leaves `a` and its last bit arrives at `b`, in seconds."""

    a: str
    b: str
    starts: float
    arrives: float
    waited: float
    what: int
    flow: int
    lost: bool


def sequence(
    run: str | Path | Scenario, *, flow: str | None = None, start: str | float = 0.0, end: str | float | None = None
) -> Canvas:
    """Hosts and ports as vertical lines, time downwards, and each packet on a link as a slanted line.

    `run` is the directory of a run, or a scenario, which is run. `flow` draws the packets of one flow alone. `start`
    and `end` limit the time, as "40 us" or in seconds. A packet that waits at a port is a thick line there, and one
    that is lost ends in a cross. Raises `ArgumentError` where more than 3,000 packets on links would be drawn, with a
    time up to which there are so many.
    """
    tape = tape_of(run)
    first, last = _time("start", start), None if end is None else _time("end", end)
    hops = list(_hops(tape))
    if flow is not None:
        if flow not in tape.flows:
            raise NameNotFound("flow", flow, tape.flows)
        wanted = tape.flows.index(flow)
        hops = [hop for hop in hops if hop.flow == wanted]
    drawn = [hop for hop in hops if hop.arrives >= first and (last is None or hop.starts - hop.waited <= last)]
    if not drawn:
        raise ArgumentError("no packet is on a link in this time")
    if len(drawn) > MOST_LINES:
        until = duration(drawn[MOST_LINES - 1].starts)
        raise ArgumentError(f"{len(drawn)} packets on links cover each other; up to {until} there are {MOST_LINES}")
    bounds = (max(first, min(hop.starts - hop.waited for hop in drawn)), max(hop.arrives for hop in drawn))
    return _sequence(drawn, _order(drawn), (bounds[0], bounds[1] if last is None else min(last, bounds[1])))


@dataclass(frozen=True)
class Course:
    """A link over time: its capacity and its rate in each of equal parts of the time, in Gb/s, and its queue.

    The queue is `queue_kb[i]` from `changes_s[i]` on, without the packet that is being sent.
    """

    capacity: float
    end_s: float
    rate: list[float]
    changes_s: list[float]
    queue_kb: list[float]


def course(run: str | Path | Scenario, link: str, *, end: str | float, bins: int = 60) -> Course:
    """Rate and queue of a link, such as "s0->s1", up to a time.

    `run` is as in `sequence`, and the rate is a mean over each of `bins` equal parts of the time.
    Raises `NameNotFound` for a link that the run does not have.
    """
    return _course(tape_of(run), link, _time("end", end), bins)


def courses(found: Sequence[tuple[str, Course]], *, most_kb: float | None = None) -> Canvas:
    """A row for each course, below its title: the rate on the left, the queue on the right, up to `most_kb`."""
    return _courses(found, most_kb)


def topology(scenario: str | Path | Scenario) -> Canvas:
    """The network of a scenario: hosts as circles, switches as boxes, links as lines as thick as they are fast."""
    import json

    found = scenario if isinstance(scenario, Scenario) else Scenario.load(scenario)
    return _topology(json.loads(found.native.topology_json()))


def save(canvas: Canvas, path: str | Path) -> Path:
    """Write a picture in the format that the name of the file ends in; the same bytes every time."""
    from headway.reporting.paper import METADATA, paper_style

    path = Path(path)
    form = format_of(path)
    with paper_style():
        canvas.savefig(path, format=form, metadata=METADATA[form])
    return path


def format_of(path: Path) -> str:
    """The format of a picture, by the name of its file."""
    form = path.suffix.removeprefix(".").lower()
    if form not in FORMATS:
        raise ArgumentError(f"{path} ends in none of .{', .'.join(FORMATS)}")
    return form


def _time(name: str, value: str | float) -> float:
    """Seconds of a time."""
    seconds = parse_seconds(value) if isinstance(value, str) else float(value)
    if seconds is None:
        raise ArgumentError(f'{name} is a time with a unit, such as "40 us", not {value!r}')
    return seconds


def tape_of(run: str | Path | Scenario) -> Tape:
    """The packets of a run's directory, or of a scenario, which is run for it."""
    if not isinstance(run, Scenario) and Path(run).is_dir():
        return record(Path(run))
    scenario = run if isinstance(run, Scenario) else Scenario.load(run)
    with tempfile.TemporaryDirectory(prefix="headway-draw-") as folder:
        scenario.run(Path(folder, "run"), stored=False, progress=False)
        return record(Path(folder, "run"))


def _hops(tape: Tape) -> Iterator[Hop]:
    """The packets on links, in the order in which they start."""
    columns = (tape.start, tape.link, tape.wire_bytes, tape.what, tape.flow, tape.waited, tape.lost)
    for start, link, size, what, flow, waited, lost in zip(*columns, strict=True):
        way = tape.links[link]
        arrives = start / 1e9 + size * 8 / way.rate_bps + way.delay_s
        yield Hop(way.a, way.b, start / 1e9, arrives, waited / 1e9, what, flow, bool(lost))


def _course(tape: Tape, link: str, end: float, bins: int) -> Course:
    names = [f"{one.a}->{one.b}" for one in tape.links]
    if link not in names:
        raise NameNotFound("link", link, names)
    number = names.index(link)
    capacity, width = tape.links[number].rate_bps, end / bins
    bits, steps = [0.0] * bins, [(0.0, 0), (end, 0)]
    for start, of, size, waited in zip(tape.start, tape.link, tape.wire_bytes, tape.waited, strict=True):
        if of != number or start / 1e9 >= end:
            continue
        begins, ends = start / 1e9, min(start / 1e9 + size * 8 / capacity, end)
        # A packet may lie in two parts of the time.
        for part in range(int(begins / width), min(int(ends / width), bins - 1) + 1):
            bits[part] += capacity * max(0.0, min(ends, (part + 1) * width) - max(begins, part * width))
        if waited:
            steps += [(begins - waited / 1e9, size), (begins, -size)]
    changes, queue, waiting = [], [], 0
    for at, size in sorted(steps):
        waiting += size
        changes.append(at)
        queue.append(waiting / 1000)
    return Course(capacity / 1e9, end, [one / width / 1e9 for one in bits], changes, queue)


def _order(hops: Sequence[Hop]) -> list[str]:
    """The nodes from senders to receivers: each by how many links lie between it and the senders of data."""
    follows: dict[str, list[str]] = defaultdict(list)
    for hop in hops:
        if WHATS[hop.what].startswith("data") and hop.b not in follows[hop.a]:
            follows[hop.a].append(hop.b)
    reached = {node for others in follows.values() for node in others}
    first = [node for node in follows if node not in reached] or list(follows)[:1]
    depth = dict.fromkeys(first, 0)
    waiting = deque(first)
    while waiting:
        node = waiting.popleft()
        for other in follows[node]:
            if other not in depth:
                depth[other] = depth[node] + 1
                waiting.append(other)
    rest = [node for hop in hops for node in (hop.a, hop.b)]
    for node in rest:
        depth.setdefault(node, max(depth.values(), default=0))
    return sorted(depth, key=lambda node: (depth[node], len(node), node))


def _sequence(hops: Sequence[Hop], nodes: Sequence[str], bounds: tuple[float, float]) -> Canvas:
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from headway.reporting.paper import paper_style
    from headway.reporting.replay import COLOURS

    place = {node: number for number, node in enumerate(nodes)}
    scale, unit = next((s, u) for s, u in ((1e9, "ns"), (1e6, "µs"), (1e3, "ms"), (1.0, "s")) if bounds[1] * s < 5000)
    with paper_style():
        canvas = Figure(figsize=(max(3.33, 1.1 * len(nodes)), 5.2), layout="constrained")
        axes: Axes = canvas.subplots()
        for what in sorted({hop.what for hop in hops}):
            own = [hop for hop in hops if hop.what == what]
            ways = [[(place[h.a], h.starts * scale), (place[h.b], h.arrives * scale)] for h in own]
            axes.add_collection(LineCollection(ways, colors=COLOURS[what][0], linewidths=0.8))
            short = _SHORT * (bounds[1] - bounds[0])
            waits = [
                [(place[h.a], (h.starts - h.waited) * scale), (place[h.a], h.starts * scale)]
                for h in own
                if h.waited > short
            ]
            axes.add_collection(LineCollection(waits, colors=COLOURS[what][0], linewidths=3.0, alpha=0.45))
        lost = [hop for hop in hops if hop.lost]
        axes.plot([place[h.b] for h in lost], [h.arrives * scale for h in lost], "x", color="#b00020", markersize=5)
        for number in place.values():
            axes.axvline(number, color="#555b66", linewidth=0.7, zorder=0)
        axes.set_xticks(range(len(nodes)), nodes)
        axes.xaxis.tick_top()
        axes.set_xlim(-0.4, len(nodes) - 0.6)
        axes.set_ylim(bounds[1] * scale, bounds[0] * scale)
        axes.set_ylabel(f"time ({unit})")
        axes.spines["bottom"].set_visible(False)
        keys = [Line2D([], [], color=COLOURS[w][0], label=WHATS[w]) for w in sorted({hop.what for hop in hops})]
        if lost:
            keys.append(Line2D([], [], color="#b00020", marker="x", linestyle="", label="lost"))
        canvas.legend(handles=keys, loc="outside lower center", ncols=2, frameon=False)
    return canvas


def _topology(stored: Mapping[str, Any]) -> Canvas:
    from matplotlib.figure import Figure

    from headway.reporting.figures.topology import stored_sketch
    from headway.reporting.paper import paper_style

    nodes, cables = stored_sketch(stored)
    place = {node.name: (node.x, -node.y) for node in nodes}
    fastest = max((float(rate) for _, _, rate, _ in cables if rate), default=1.0)
    with paper_style():
        canvas = Figure(figsize=(7.0, 3.6), layout="constrained")
        axes: Axes = canvas.subplots()
        for a, b, rate, _ in cables:
            (x, y), (u, v) = place[a], place[b]
            axes.plot([x, u], [y, v], color="#555b66", linewidth=0.5 + 1.5 * float(rate or fastest) / fastest, zorder=1)
        for node in nodes:
            x, y = place[node.name]
            host = node.kind == "host"
            colours = ("#0072b2", "white") if host else ("#2b2f36", "#d9dee6")
            axes.plot(
                x, y, "o" if host else "s", markersize=6 if host else 11, color=colours[1], markeredgecolor=colours[0]
            )
            several = f" ×{node.count}" if node.count > 1 else ""
            if len(nodes) <= 60 or not host:
                side = node.side if host else "above"
                shift = {"above": (0, 9), "left": (-7, -3), "right": (7, -3)}.get(side, (0, -13))
                align = {"left": "right", "right": "left"}.get(side, "center")
                axes.annotate(node.name + several, (x, y), shift, textcoords="offset points", ha=align, fontsize=7)
        axes.margins(0.12)
        axes.set_axis_off()
    return canvas


def _courses(found: Sequence[tuple[str, Course]], most_kb: float | None) -> Canvas:
    from matplotlib.figure import Figure

    from headway.reporting.paper import paper_style

    with paper_style():
        canvas = Figure(figsize=(7.0, 1.5 * len(found) + 0.4), layout="constrained")
        rows = canvas.subplots(len(found), 2, sharex=True, sharey="col", squeeze=False)
        for (title, one), (rate, queue) in zip(found, rows, strict=True):
            edges = [one.end_s * 1e6 * n / len(one.rate) for n in range(len(one.rate) + 1)]
            rate.stairs(one.rate, edges, color="#0072b2", linewidth=1.0, fill=False)
            rate.axhline(one.capacity, color="#9aa0aa", linewidth=0.6, linestyle="--", zorder=0)
            queue.step([at * 1e6 for at in one.changes_s], one.queue_kb, where="post", color="#d55e00", linewidth=0.8)
            rate.set_ylabel("Gb/s")
            queue.set_ylabel("queue (kB)")
            rate.set_title(title, loc="left", fontsize=8)
        for axes in rows[-1]:
            axes.set_xlabel("time (µs)")
            axes.set_xlim(0, max(one.end_s for _, one in found) * 1e6)
        rows[0][0].set_ylim(bottom=0)
        rows[0][1].set_ylim(0, most_kb)
    return canvas
