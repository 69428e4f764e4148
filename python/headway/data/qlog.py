"""Traces of messages between real hosts: the files that `trace_file` of an endpoint names.

The form is qlog as JSON text sequences (draft-ietf-quic-qlog-main-schema, RFC 7464): a record separator and one JSON
value a line. `headway-host` documents the events in docs/real-hosts.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.errors import ResultsError
from headway.inputs import open_file, read_text

SEPARATOR = "\x1e"
_SPACE = "headway:"
# Events that a sender notes; the rest is noted by receivers.
_OUTWARDS = {"message_opened", "data_sent", "data_repeated", "message_acknowledged", "message_failed"}
_UNSPECIFIED = ("0.0.0.0", "[::]")


@dataclass(frozen=True)
class Event:
    """Something that happened to a message; `time` in seconds since its endpoint's clock began."""

    time: float
    name: str
    peer: str
    message: int
    bytes: int = 0


@dataclass(frozen=True)
class Trace:
    """Trace of one endpoint: where it was bound, its transport, when its clock began, and its events."""

    path: Path
    local: str
    transport: str
    reference: float
    events: tuple[Event, ...]
    ended: bool


@dataclass
class Message:
    """One message, as its sender and its receiver noted it.

    Times are seconds since the first of their clocks began, None where nobody noted them.
    """

    sender: str
    receiver: str
    number: int
    bytes: int = 0
    opened: float | None = None
    acknowledged: float | None = None
    failed: float | None = None
    received: float | None = None
    sent: list[float] = field(default_factory=list)
    repeated: list[float] = field(default_factory=list)
    arrived: list[float] = field(default_factory=list)
    marked: list[float] = field(default_factory=list)

    @property
    def times(self) -> tuple[float, ...]:
        """All that is known of when something happened to it."""
        once = (self.opened, self.acknowledged, self.failed, self.received)
        known = [time for time in once if time is not None]
        return (*known, *self.sent, *self.repeated, *self.arrived, *self.marked)

    @property
    def begin(self) -> float:
        """The first of them."""
        return min(self.times)

    @property
    def end(self) -> float:
        """The last of them."""
        return max(self.times)


def is_trace(path: Path) -> bool:
    """True if a file is meant to be a trace: by its name, or by how it begins."""
    if not path.is_file() or path.suffix in (".sqlog", ".qlog"):
        return path.is_file()
    try:
        with open_file(path) as file:
            return file.read(1) == SEPARATOR.encode()
    except (OSError, ResultsError):
        return False


def read_trace(path: Path) -> Trace:
    """The trace in a file. Raises `ResultsError`, which names the line, for a file that is not a trace."""
    try:
        text = read_text(path)
    except FileNotFoundError as error:
        raise ResultsError(path, f"cannot be read ({error.strerror})") from None
    records = list(_records(path, text))
    if not records or "trace" not in records[0]:
        raise ResultsError(path, "is no trace of messages", "an endpoint writes one with `trace_file`")
    head = records[0]["trace"]
    try:
        local = str(head["vantage_point"]["name"])
        common = head["common_fields"]
        reference, transport = float(common["reference_time"]), str(common["transport"])
        events = tuple(_events(records[1:]))
    except (KeyError, TypeError, ValueError) as error:
        raise ResultsError(path, f"is no trace of messages of Headway ({error!r})") from None
    ended = any(record.get("name") == f"{_SPACE}trace_ended" for record in records[1:])
    return Trace(path, local, transport, reference / 1e3, events, ended)


def _records(path: Path, text: str) -> Iterator[Mapping[str, Any]]:
    # Not `splitlines`, for which the separator ends a line.
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        try:
            record = json.loads(line.removeprefix(SEPARATOR))
        except (ValueError, RecursionError):
            # The last record of a process that was killed may be half a line.
            if number == len(lines):
                return
            raise ResultsError(path, f"line {number} is not JSON") from None
        if not isinstance(record, dict):
            raise ResultsError(path, f"line {number} is no record")
        yield record


def _events(records: Sequence[Mapping[str, Any]]) -> Iterator[Event]:
    for record in records:
        name = str(record["name"])
        if not name.startswith(_SPACE) or name == f"{_SPACE}trace_ended":
            continue
        if name.startswith(f"{_SPACE}path_"):
            # What happens to a path is about no message.
            continue
        data = record["data"]
        short = name.removeprefix(_SPACE)
        yield Event(
            float(record["time"]) / 1e3, short, str(data["peer"]), int(data["message"]), int(data.get("bytes", 0))
        )


def messages(traces: Sequence[Trace]) -> list[Message]:
    """The messages of all traces in order of time; both halves of one that both ends noted are one."""
    places = _places(traces)
    first = min((trace.reference for trace in traces), default=0.0)
    found: dict[tuple[str, str, int], Message] = {}
    for trace, local in zip(traces, places, strict=True):
        for event in trace.events:
            sender, receiver = (local, event.peer) if event.name in _OUTWARDS else (event.peer, local)
            key = (sender, receiver, event.message)
            message = found.setdefault(key, Message(*key))
            _note(message, event, event.time + trace.reference - first)
    return sorted(found.values(), key=lambda message: message.begin)


def _places(traces: Sequence[Trace]) -> list[str]:
    """The address of each endpoint as its peers know it: one that is bound to every address is found by its port."""
    named = {event.peer for trace in traces for event in trace.events}
    places = []
    for trace in traces:
        address, _, port = trace.local.rpartition(":")
        same = sorted(peer for peer in named if peer.rpartition(":")[2] == port)
        places.append(same[0] if address in _UNSPECIFIED and len(same) == 1 else trace.local)
    return places


def _note(message: Message, event: Event, time: float) -> None:
    match event.name:
        case "message_opened":
            message.opened, message.bytes = time, event.bytes
        case "message_received":
            message.received, message.bytes = time, event.bytes
        case "message_acknowledged":
            message.acknowledged = time
        case "message_failed":
            message.failed = time
        case "data_sent":
            message.sent.append(time)
        case "data_repeated":
            message.repeated.append(time)
        case "data_received":
            message.arrived.append(time)
        case "mark_received":
            message.marked.append(time)
