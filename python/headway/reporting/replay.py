"""The packets of a run on its topology: the sketch, and the data from which the page's script plays them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from headway.data.tape import WHATS, Tape

from .figures.topology import stored_sketch
from .spec import Edge, Sketch
from .svg_sketch import draw_sketch, laid_out

# Light and dark colour of each entry of `WHATS`; a replay mostly serves to see marks of AMRT's switches.
COLOURS = (
    ("#0072b2", "#4d9ff5"), ("#00875f", "#8ff5d2"), ("#d55e00", "#ff9a4d"), ("#a8328a", "#e5518a"),
    ("#4a2010", "#bf6a2a"), ("#8468ea", "#c4b0ff"), ("#8a8f99", "#b9c0cc"), ("#15068a", "#6b73ff"),
)  # fmt: skip


@dataclass(frozen=True)
class Replay:
    """Contents of the page: the still sketch, the kinds of packets, and the data of the script."""

    sketch: Markup
    legend: tuple[tuple[int, str], ...]
    data: Mapping[str, Any]
    packets: int
    css: str


def replay_of(tape: Tape) -> Replay:
    """A tape, ready for the page."""
    nodes, cables = stored_sketch(tape.topology)
    edges = tuple(Edge(a, b, rate, None, False, (f"{a} – {b}",)) for a, b, rate, _ in cables)
    sketch = Sketch("", tuple(nodes), edges)
    laid = laid_out(sketch)
    here = sorted(set(tape.what))
    data = {
        "box": [laid.width, laid.height],
        "nodes": {name: [round(x, 1), round(y, 1)] for name, (x, y) in laid.place.items()},
        "links": [[link.a, link.b, link.rate_bps, link.delay_s] for link in tape.links],
        "flows": tape.flows if len(tape.flows) <= 8 else (),
        "starts": tape.starts_s if len(tape.flows) <= 8 else (),
        "colours": COLOURS,
        "whats": WHATS,
        # Differences of ascending numbers are small, and compress well.
        "start": _steps(tape.start),
        "link": tape.link,
        "bytes": tape.wire_bytes,
        "what": tape.what,
        "flow": tape.flow,
        "waited": tape.waited,
        "lost": tape.lost,
    }
    legend = tuple((number, WHATS[number]) for number in here)
    light = "".join(f".w{i}{{--c:{a}}}" for i, (a, _) in enumerate(COLOURS))
    dark = "".join(f":root[data-mode=dark] .w{i}{{--c:{b}}}" for i, (_, b) in enumerate(COLOURS))
    plain = "".join(f":root:not([data-mode=light]) .w{i}{{--c:{b}}}" for i, (_, b) in enumerate(COLOURS))
    css = f"{light}@media screen{{{dark}}}@media screen and (prefers-color-scheme:dark){{{plain}}}"
    return Replay(Markup(draw_sketch(sketch, {})), legend, data, len(tape), css)


def _steps(values: Sequence[int]) -> list[int]:
    return [*values[:1], *[b - a for a, b in pairwise(values)]]
