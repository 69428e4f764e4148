"""The page of a trace of messages between real hosts: a row for each, from the hand-over until its sender knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from headway.data.qlog import Message, Trace, messages, read_trace
from headway.data.statistics import nearest_rank
from headway.data.units import duration, size
from headway.files import keep_inputs, write_text

from .distributions import P99_NEEDS
from .page import asset, colour_rules, environment, script
from .palette import flow_styles
from .spec import LegendEntry
from .svg_parts import Frame, Slots, group, line
from .svg_rows import draw_rows
from .ticks import linear_axis

WAITING, UNDER_WAY, KNOWN, AGAIN, MARK = "m:waiting", "m:under-way", "m:known", "m:again", "m:mark"
_TEXTS = {
    WAITING: "handed over, nothing has left",
    UNDER_WAY: "under way",
    KNOWN: "whole, until its sender knows",
    AGAIN: "a packet left again",
    MARK: "a packet arrived with a mark",
}
PITCH = 30.0
THICK = 8.0
# Of a picture, and of the table below it.
MOST_ROWS = 120
MOST_LINES = 1000


@dataclass(frozen=True)
class Line:
    """A message as a line of the table: all as text."""

    name: str
    cells: tuple[str, ...]


def write_messages(paths: Sequence[Path]) -> tuple[Path, list[str]]:
    """Write the page of these traces next to the first one; returns its path, and notes on missing events."""
    traces = [read_trace(path) for path in paths]
    page = paths[0].with_suffix(".html")
    keep_inputs([page], paths)
    text, missing = render(traces)
    write_text(page, text)
    return page, missing


def render(traces: Sequence[Trace]) -> tuple[str, list[str]]:
    """The page as text, and the missing parts."""
    found = messages(traces)
    missing = [f"{trace.path}: has no end, so that its endpoint was not closed" for trace in traces if not trace.ended]
    shown = found
    if len(found) > MOST_ROWS:
        slowest = sorted(found, key=lambda message: message.begin - message.end)[:MOST_ROWS]
        shown = sorted(slowest, key=lambda message: message.begin)
    named = flow_styles(_TEXTS)
    slots = {key: index for index, key in enumerate(_TEXTS)}
    page = environment().get_template("messages.html.j2").render(
        names=[trace.path.name for trace in traces],
        places=[(trace.local, trace.transport, len(trace.events)) for trace in traces],
        facts=_facts(found),
        missing=missing,
        picture=Markup(picture(shown, slots)) if shown else None,
        left_out=len(found) - len(shown),
        legend=[LegendEntry(key, text, named[key]) for key, text in _TEXTS.items()],
        lines=[_line(message, found[0].begin) for message in found[:MOST_LINES]],
        more=max(0, len(found) - MOST_LINES),
        css=Markup(asset("report.css") + asset("site.css") + colour_rules(named, slots)),
        script=script(),
    )  # fmt: skip
    return page, missing


def picture(shown: Sequence[Message], slots: Slots) -> str:
    """The messages in rows on one time axis, which begins with the first of them."""
    zero = min(message.begin for message in shown)
    axis = linear_axis("time", "time", [message.end - zero for message in shown])

    def marks(index: int, frame: Frame, middle: float) -> Iterator[str]:
        return _marks(shown[index], zero, frame, middle, slots)

    rows = [(_name(message), _detail(message)) for message in shown]
    return draw_rows("", axis, rows, PITCH, 1, marks)


def _marks(message: Message, zero: float, frame: Frame, middle: float, slots: Slots) -> Iterator[str]:
    def bar(key: str, start: float, end: float) -> str:
        x1, x2 = frame.px(start - zero), frame.px(end - zero)
        place = f'x="{x1:.1f}" y="{middle - THICK / 2:.1f}" width="{max(x2 - x1, 0.5):.1f}" height="{THICK:g}"'
        return group(key, slots, f'<rect class="bar" {place}/>')

    begin, end = message.begin, message.end
    left = min((*message.sent, *message.repeated, *message.arrived), default=end)
    whole = message.received if message.received is not None else end
    if left > begin:
        yield bar(WAITING, begin, left)
    yield bar(UNDER_WAY, left, whole)
    if end > whole:
        yield bar(KNOWN, whole, end)
    # Departures above the bar, arrivals below it.
    for times, near, far in ((message.sent, -6.0, -11.0), (message.arrived, 6.0, 11.0)):
        ticks = [line("line", x, middle + near, x, middle + far) for x in _apart(frame.px(t - zero) for t in times)]
        yield group(UNDER_WAY, slots, "".join(ticks))
    for key, times, y in ((AGAIN, message.repeated, middle - 8.5), (MARK, message.marked, middle + 8.5)):
        dots = [
            f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x in _apart(frame.px(t - zero) for t in times)
        ]
        yield group(key, slots, "".join(dots))


def _apart(places: Iterator[float]) -> Iterator[float]:
    """Places without those that would be drawn over one another."""
    last = None
    for place in sorted(places):
        if last is None or place - last >= 1.0:
            last = place
            yield place


def _name(message: Message) -> str:
    return f"{message.sender} → {message.receiver} · {message.number}"


def _detail(message: Message) -> list[str]:
    zero = message.begin
    known = [
        ("handed over", message.opened), ("first packet left", min(message.sent, default=None)),
        ("last packet left", max((*message.sent, *message.repeated), default=None)),
        ("first bytes arrived", min(message.arrived, default=None)), ("whole", message.received),
        ("its sender knows", message.acknowledged), ("failed", message.failed),
    ]  # fmt: skip
    lines = [size(message.bytes)] if message.bytes else []
    lines += [f"{what}: {duration(time - zero)}" for what, time in known if time is not None]
    counts = [(len(message.sent), "left"), (len(message.repeated), "left again"), (len(message.marked), "marked")]
    lines += [f"{count} packets {what}" for count, what in counts if count]
    return lines


def _line(message: Message, zero: float) -> Line:
    def after(time: float | None) -> str:
        return "–" if time is None else duration(time - message.begin)

    end = "failed" if message.failed is not None else after(message.acknowledged)
    counts = (str(len(times)) for times in (message.sent, message.repeated, message.marked))
    length = size(message.bytes) if message.bytes else "–"
    cells = (duration(message.begin - zero), length, after(message.received), end, *counts)
    return Line(_name(message), cells)


def _facts(found: Sequence[Message]) -> list[tuple[str, str]]:
    """The few numbers that people look for first."""
    took = [m.acknowledged - m.opened for m in found if m.acknowledged is not None and m.opened is not None]
    sent = sum(len(message.sent) for message in found)
    facts = [("messages", str(len(found))), ("failed", str(sum(m.failed is not None for m in found)))]
    if took:
        median, p99 = nearest_rank(took, 0.5), nearest_rank(took, 0.99)
        largest = f" (largest of {len(took)})" if len(took) < P99_NEEDS else ""
        facts += [
            ("median until the sender knows", duration(median)),
            (f"p99 until the sender knows{largest}", duration(p99)),
        ]
    facts += [("packets left", str(sent)), ("left again", str(sum(len(m.repeated) for m in found)))]
    return facts
