"""The packets of a small run, one entry for each link that a packet crossed, as its capture has them.

A run directory does not hold its packets. The run is made again, with a capture, and must be the same event by event.
"""

from __future__ import annotations

import json
import struct
import tempfile
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.data.run import read
from headway.data.tape import Link, Tape
from headway.difference import side
from headway.errors import ResultsError

# A page with more would be too large to load and to watch.
MOST_HOPS = 100_000

# Blocks and options of pcapng files, and the header of a Headway datagram in Ethernet, IPv4 and UDP (wireshark.md).
_INTERFACE, _PACKET = 1, 6
_NAME, _RESOLUTION = 2, 9
_START = 42
_KINDS = (
    *("data", "grant", "rts", "token", "ack", "finished", "header", "nack", "pull"),
    *("resend", "busy", "credit", "credit-stop", "probe"),
)
_AGAIN = 2
_SPARE, _CONGESTED = 1, 3

_PERMISSIONS = frozenset({"grant", "token", "pull", "credit"})
_ANNOUNCEMENTS = frozenset({"rts", "probe", "busy", "credit-stop"})
_FORWARD = frozenset({"data", "header", "rts", "busy"})


def record(directory: Path) -> Tape:
    """Make the run of a directory again and keep its packets.

    Raises `ResultsError` where the run is too large, with its size and the limit, where it cannot be made again, and
    where this build makes another run of it.
    """
    if (directory / "sweep.json").is_file():
        first = next(iter(sorted((directory / "points").glob("*/manifest.json"))), None)
        hint = f", such as {first.parent}" if first else ""
        raise ResultsError(directory, f"is a sweep; a replay shows one run: name one of its points{hint}")
    run = read(directory)
    native = side(directory).native
    topology = json.loads(native.topology_json())
    _refuse_large(directory, int(run.manifest.get("packet_hops") or 0), topology)
    with tempfile.TemporaryDirectory(prefix="headway-replay-") as folder:
        path = Path(folder) / "packets.pcapng"
        again = native.run(None, None, False, str(path), [], 1)
        manifest = json.loads(again.manifest_json())
        if manifest["order_digest"] != run.manifest.get("order_digest"):
            raise ResultsError(directory, "was made by another build, whose events came in another order: run it again")
        packets = list(_packets(path.read_bytes()))
    flows = run.flows.to_polars()
    return _tape(packets, topology, flows.to_dicts(), bool(run.summary.get("drops")), directory)


def _refuse_large(directory: Path, hops: int, topology: Mapping[str, Any]) -> None:
    """Raise for a run that is too large to be watched; at once for all that makes it so."""
    why, cures = [], []
    if hops > MOST_HOPS:
        why.append(f"has {hops} packets on links, and a replay shows at most {MOST_HOPS}")
        cures.append('a shorter part of the scenario, as with --set stop="1 ms"')
    if any(int(node.get("count") or 1) > 1 for node in topology["nodes"]):
        hosts = sum(int(node.get("count") or 1) for node in topology["nodes"] if node.get("kind") == "host")
        why.append(f"has {hosts} hosts, too many to draw each of them, as a replay does")
        cures.append("a smaller network")
    if why:
        help = f"run {' and '.join(cures)}; amrt/fig01 is small enough"
        raise ResultsError(directory, "; it ".join(why), help)


def _tape(
    packets: list[_Packet], topology: Mapping[str, Any], flows: list[dict[str, Any]], drops: bool, directory: Path
) -> Tape:
    links: dict[str, Link] = {}
    for one in topology["links"]:
        a, b, rate, delay = str(one["a"]), str(one["b"]), float(one["rate_bps"]), float(one["delay_s"])
        links.setdefault(f"{a}->{b}", Link(a, b, rate, delay))
        links.setdefault(f"{b}->{a}", Link(b, a, rate, delay))
    names = list(links)
    number = {name: place for place, name in enumerate(names)}
    strangers = sorted({packet.link for packet in packets} - set(links))
    if strangers:
        raise ResultsError(directory, f"has packets on {strangers[0]}, which its topology does not draw")
    packets.sort(key=lambda packet: packet.start)
    hosts = {str(node["name"]) for node in topology["nodes"] if node.get("kind") == "host"}
    of_flow = _messages(flows)
    waited = [0] * len(packets)
    lost = [0] * len(packets)
    # Packets that are at a switch, or on the way to it, by node and by what identifies them.
    there: dict[tuple[Any, ...], deque[tuple[int, int]]] = defaultdict(deque)
    for place, packet in enumerate(packets):
        link = links[packet.link]
        if link.a not in hosts:
            before = there.get((link.a, *packet.identity))
            if before:
                waited[place] = max(0, packet.start - before.popleft()[0])
        if link.b not in hosts:
            arrival = packet.start + round(1e9 * (packet.wire * 8 / link.rate_bps + link.delay_s))
            there[(link.b, *packet.identity)].append((arrival, place))
    end = packets[-1].start if packets else 0
    longest = max(waited, default=0)
    for rest in there.values():
        for arrival, place in rest:
            # A packet that arrives this late may still wait at the end of the run.
            lost[place] = int(drops and arrival + longest < end)
    return Tape(
        tuple(links.values()), tuple(str(flow["name"]) for flow in flows), tuple(float(f["start_s"]) for f in flows),
        tuple(packet.start for packet in packets), tuple(number[packet.link] for packet in packets),
        tuple(packet.wire for packet in packets), tuple(packet.what for packet in packets),
        tuple(of_flow.get(packet.message_of, -1) for packet in packets), tuple(waited), tuple(lost), topology,
    )  # fmt: skip


def _messages(flows: list[dict[str, Any]]) -> dict[tuple[int, int, int], int]:
    """The number of the flow of each message: messages of a pair of hosts are numbered as they start."""
    counts: dict[tuple[int, int], int] = defaultdict(int)
    found = {}
    for place, flow in sorted(enumerate(flows), key=lambda one: (one[1]["start_s"], one[0])):
        pair = (int(flow["src"]), int(flow["dst"]))
        found[(*pair, counts[pair])] = place
        counts[pair] += 1
    return found


@dataclass(frozen=True)
class _Packet:
    """A packet of a capture."""

    start: int
    link: str
    kind: str
    flags: int
    ecn: int
    wire: int
    fields: tuple[int, ...]  # src, dst, message, index, count, token, ...

    @property
    def identity(self) -> tuple[Any, ...]:
        """Fields that do not change on the way; trimming makes a header of a data packet.

        A packet that is sent again is another one than the first, which was lost.
        """
        src, dst, message, index, _, token = self.fields[:6]
        kind = "data" if self.kind == "header" else self.kind
        return (kind, src, dst, message, index, token, self.flags & _AGAIN)

    @property
    def message_of(self) -> tuple[int, int, int]:
        """Sender and receiver of the message that it is about, and its number."""
        src, dst, message = self.fields[:3]
        return (src, dst, message) if self.kind in _FORWARD else (dst, src, message)

    @property
    def what(self) -> int:
        """Its place in `WHATS`."""
        if self.kind == "data":
            marked = {_SPARE: 1, _CONGESTED: 2}.get(self.ecn)
            return 3 if self.flags & _AGAIN else marked or 0
        if self.kind == "header":
            return 4
        return 5 if self.kind in _PERMISSIONS else 7 if self.kind in _ANNOUNCEMENTS else 6


def _packets(file: bytes) -> Iterator[_Packet]:
    """Packets of a capture that this program wrote: one section in the byte order of this machine."""
    interfaces: list[tuple[str, int]] = []
    at = 0
    while at < len(file):
        kind, length = struct.unpack_from("=2I", file, at)
        body = file[at + 8 : at + length - 4]
        if kind == _INTERFACE:
            options = dict(_options(body[8:]))
            interfaces.append((options[_NAME].decode(), 10 ** options.get(_RESOLUTION, b"\x06")[0]))
        elif kind == _PACKET:
            number, high, low, size, _ = struct.unpack_from("=5I", body)
            name, second = interfaces[number]
            data = body[20 : 20 + size]
            _, what, flags, ecn = data[_START : _START + 4]
            wire, _ = struct.unpack_from("!HH", data, _START + 8)
            fields = struct.unpack_from("!8I", data, _START + 12)
            ticks = (high << 32) + low
            yield _Packet(round(ticks * 10**9 / second), name, _KINDS[what], flags, ecn, wire, fields)
        at += length


def _options(body: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(body):
        code, length = struct.unpack_from("=2H", body, at)
        if code == 0:
            return
        yield code, body[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4
