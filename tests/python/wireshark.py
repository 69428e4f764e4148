"""Captures, read here and by tshark with the project's dissector, and compared field by field.

`compare` takes any pcapng file with Headway datagrams in Ethernet frames: simulated ones, which hold headers only,
and real ones with their payload.
"""

from __future__ import annotations

import struct
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import lacking
from support import LIMIT

DISSECTOR = Path(__file__).resolve().parents[2] / "docs" / "wireshark" / "headway.lua"
PORT = 18519
ETHERNET, IPV4, UDP = 14, 20, 8
START = ETHERNET + IPV4 + UDP
HEADERS = START + 60
SEAL_TAG = 16
HEADER_CHECK = 8

KINDS = (
    *("data", "grant", "rts", "token", "ack", "finished", "header", "nack", "pull"),
    *("resend", "busy", "credit", "credit-stop", "probe"),
)
ECN = ("not-ect", "spare", "ect", "ce")
FLAGS = {"ece": 1, "again": 2, "unscheduled": 4, "pull": 8, "bounced": 16, "rate": 64, "call": 128}
ENVELOPES = ("bare", "session", "sealed", "stamped", "stamped-sealed")
SEALED, STAMPED = (2, 4), (3, 4)
HANDSHAKES = ("hello", "welcome", "confirm", "accept", "stale", "refuse")

# The header, stated here a second time: names and bytes in order.
LAYOUT = [
    *((name, 1) for name in ("version", "kind", "flags", "ecn", "priority", "envelope")),
    ("reserved", 2),
    *((name, 2) for name in ("wire", "payload")),
    *((name, 4) for name in ("src", "dst", "message", "index", "count", "token", "remaining", "entropy")),
    *((name, 8) for name in ("message_bytes", "lifetime")),
]

# Between the header and the payload of a real host's packet.
SESSION = [(name, 8) for name in ("src_epoch", "cookie", "counter")]
# Behind that, where it has stamps: how many ports there were, and room for the stamps of five.
STAMP = [*((name, 8) for name in ("at", "sent")), *((name, 4) for name in ("queue", "rate"))]
MOST_STAMPS = 5
# A datagram of the handshake.
HANDSHAKE = [
    ("handshake", 1),
    *((name, 1) for name in ("version", "session", "cipher")),
    ("mtu", 2),
    ("transport", 26),
    *((name, 8) for name in ("epoch", "peer_epoch", "shown", "offered")),
    ("mac", 16),
]
FIRST_HANDSHAKE = 0x80
# Fields that follow in a confirmation or an acceptance of hosts that share a key, which have a version of their own.
SHARE = [("share", 32)]
WITH_SHARE, SEALED_SESSION = ("confirm", "accept"), 3

SECTION, INTERFACE, ENHANCED_PACKET = 0x0A0D0D0A, 1, 6
IF_NAME, IF_SPEED, IF_TSRESOL = 2, 8, 9


@dataclass(frozen=True)
class Interface:
    """One interface of a pcapng file."""

    name: str
    speed: int | None
    ticks_per_second: int


@dataclass(frozen=True)
class Captured:
    """One packet of a pcapng file."""

    number: int
    interface: Interface
    nanoseconds: int
    original: int
    data: bytes

    @property
    def fields(self) -> dict[str, int]:
        """The Headway header."""
        at, found = START, {}
        for name, size in LAYOUT:
            found[name] = int.from_bytes(self.data[at : at + size], "big")
            at += size
        return found

    @property
    def name(self) -> str:
        """Kind of packet, or of handshake."""
        first = self.data[START]
        return HANDSHAKES[first - FIRST_HANDSHAKE] if first >= FIRST_HANDSHAKE else KINDS[self.fields["kind"]]

    @property
    def is_headway(self) -> bool:
        """True if it is UDP in IPv4 in Ethernet, to or from Headway's port."""
        if len(self.data) < HEADERS or self.data[12:15] != b"\x08\x00\x45" or self.data[23] != 17:
            return False
        return PORT in struct.unpack_from("!HH", self.data, ETHERNET + IPV4)


def read_pcapng(path: Path) -> list[Captured]:
    """Every packet of a file; fails where the format is broken."""
    packets: list[Captured] = []
    interfaces: list[Interface] = []
    for order, kind, body in _blocks(path.read_bytes()):
        if kind == SECTION:
            interfaces = []
        elif kind == INTERFACE:
            options = dict(_options(order, body[8:]))
            exponent = options.get(IF_TSRESOL, b"\x06")[0]
            assert exponent < 0x80, "a resolution that is a power of two"
            speed = options.get(IF_SPEED)
            name = options.get(IF_NAME, b"").decode()
            interfaces.append(Interface(name, struct.unpack(order + "Q", speed)[0] if speed else None, 10**exponent))
        elif kind == ENHANCED_PACKET:
            number, high, low, captured, original = struct.unpack_from(order + "5I", body)
            interface = interfaces[number]
            ticks = (high << 32) + low
            nanoseconds = ticks * 10**9 // interface.ticks_per_second
            packets.append(Captured(len(packets) + 1, interface, nanoseconds, original, body[20 : 20 + captured]))
    return packets


def _blocks(file: bytes) -> Iterator[tuple[str, int, bytes]]:
    at, order = 0, "<"
    while at < len(file):
        if file[at : at + 4] == b"\x0a\x0d\x0d\x0a":
            order = "<" if file[at + 8 : at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
        kind, length = struct.unpack_from(order + "2I", file, at)
        assert length >= 12 and length % 4 == 0, f"a block of {length} bytes at {at}"
        (again,) = struct.unpack_from(order + "I", file, at + length - 4)
        assert again == length, f"the block at {at} ends with another length"
        yield order, kind, file[at + 8 : at + length - 4]
        at += length


def _options(order: str, body: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at + 4 <= len(body):
        code, length = struct.unpack_from(order + "2H", body, at)
        if code == 0:
            return
        yield code, body[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4


def tshark(path: Path, *arguments: str) -> str:
    """Output of tshark for a file, with the dissector loaded; skips the test without tshark."""
    program = lacking.program("tshark", "apt install tshark")
    command = [program, "-r", str(path), "-X", f"lua_script:{DISSECTOR}", "-o", "ip.check_checksum:TRUE", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    assert "Lua" not in done.stderr, done.stderr
    return done.stdout


@dataclass(frozen=True)
class Field:
    """One field as tshark shows it."""

    show: str
    position: int
    size: int
    shown_name: str


def dissect(path: Path, numbers: Sequence[int]) -> dict[int, dict[str, Field]]:
    """Fields of the packets with these numbers, by packet and name."""
    wanted = "frame.number in {" + ", ".join(map(str, numbers)) + "}"
    document = ElementTree.fromstring(tshark(path, "-T", "pdml", "-Y", wanted))
    found = {}
    for packet in document.iter("packet"):
        fields = {
            f.get("name", ""): Field(
                f.get("show", ""), int(f.get("pos", 0)), int(f.get("size", 0)), f.get("showname", "")
            )
            for f in [*packet.iter("field"), *packet.iter("proto")]
        }
        found[int(fields["frame.number"].show)] = fields
    return found


def info(path: Path) -> dict[int, str]:
    """The info column by packet number."""
    lines = tshark(path, "-T", "fields", "-e", "frame.number", "-e", "_ws.col.Info").splitlines()
    return {int(number): text for number, _, text in (line.partition("\t") for line in lines)}


def matching(path: Path, display_filter: str) -> list[int]:
    """Numbers of the packets that a display filter lets through."""
    return [int(n) for n in tshark(path, "-T", "fields", "-e", "frame.number", "-Y", display_filter).split()]


def compare(path: Path, per_kind: int = 4) -> dict[str, int]:
    """Compare tshark's reading of a capture with its bytes; returns the number of packets or handshakes of each kind.

    Every field of the first `per_kind` packets of each kind, on each interface, is compared. No packet of the
    capture may be malformed or carry an expert warning, and every IPv4 checksum must be right.
    """
    packets = [p for p in read_pcapng(path) if p.is_headway]
    assert packets, "no Headway packet in this capture"
    of_kind: dict[tuple[str, str], list[Captured]] = defaultdict(list)
    counts: dict[str, int] = defaultdict(int)
    for packet in packets:
        of_kind[packet.interface.name, packet.name].append(packet)
        counts[packet.name] += 1
    chosen = [packet for those in of_kind.values() for packet in those[:per_kind]]
    shown = dissect(path, [packet.number for packet in chosen])
    for packet in chosen:
        _compare_one(packet, shown[packet.number])
    numbers = {p.number for p in packets}
    assert set(matching(path, "headway")) == numbers
    bad = f"_ws.malformed or _ws.expert.severity >= warning or _ws.lua.error or headway.unnamed or udp.port != {PORT}"
    assert not numbers & set(matching(path, f"headway and ({bad})"))
    # Senders may leave the checksum to their network card, but not the simulator: status 1 is good.
    assert set(matching(path, "headway and ip.checksum.status == 1")) == numbers
    return dict(counts)


def _compare_one(packet: Captured, shown: dict[str, Field]) -> None:
    if packet.name in HANDSHAKES:
        sealed = packet.name in WITH_SHARE and packet.data[START + 2] == SEALED_SESSION
        layout = HANDSHAKE + SHARE if sealed else HANDSHAKE
        names = [("handshake" if name == "handshake" else f"handshake.{name}", size) for name, size in layout]
        assert _compare_fields(packet, shown, START, names) == len(packet.data)
        assert packet.name in shown["headway.handshake"].shown_name
        return
    at = _compare_fields(packet, shown, START, LAYOUT)
    fields = packet.fields
    assert KINDS[fields["kind"]] in shown["headway.kind"].shown_name
    assert ECN[fields["ecn"]] in shown["headway.ecn"].shown_name
    assert ENVELOPES[fields["envelope"]] in shown["headway.envelope"].shown_name
    for flag, mask in FLAGS.items():
        assert shown[f"headway.flags.{flag}"].show in (("1", "True") if fields["flags"] & mask else ("0", "False"))
    if fields["envelope"]:
        at = _compare_fields(packet, shown, at, [(f"session.{name}", size) for name, size in SESSION])
    if fields["envelope"] in STAMPED:
        at = _compare_stamps(packet, shown, at)
    if fields["envelope"] in SEALED and KINDS[fields["kind"]] in ("data", "header"):
        at = _compare_fields(packet, shown, at, [("check", HEADER_CHECK)])
    _compare_payload(packet, shown, at)


def _compare_stamps(packet: Captured, shown: dict[str, Field], at: int) -> int:
    """Compare the number of ports and the last stamp that is filled; where the room for stamps ends."""
    first = _compare_fields(packet, shown, at, [("stamps.crossed", 2)])
    size = sum(size for _, size in STAMP)
    filled = min(int.from_bytes(packet.data[at:first], "big"), MOST_STAMPS)
    if filled:
        _compare_fields(packet, shown, first + (filled - 1) * size, [(f"stamp.{name}", size) for name, size in STAMP])
    else:
        assert not any(name.startswith("headway.stamp.") for name in shown)
    return first + MOST_STAMPS * size


def _compare_fields(packet: Captured, shown: dict[str, Field], at: int, layout: Sequence[tuple[str, int]]) -> int:
    """Compare fields from the byte `at` on; where they end."""
    for name, size in layout:
        field = shown[f"headway.{name}"]
        assert (field.position, field.size) == (at, size), (packet, name)
        held = packet.data[at : at + size]
        if size in (1, 2, 4, 8):
            assert int(field.show, 0) == int.from_bytes(held, "big"), (packet, name)
        else:
            assert field.show.replace(":", "") in (held.hex(), str(int.from_bytes(held, "big"))), (packet, name)
        at += size
    return at


def _compare_payload(packet: Captured, shown: dict[str, Field], at: int) -> None:
    cut = len(packet.data) < packet.original
    end = ETHERNET + int.from_bytes(packet.data[ETHERNET + 2 : ETHERNET + 4], "big")
    sealed = packet.fields["envelope"] in SEALED and KINDS[packet.fields["kind"]] != "header"
    behind = SEAL_TAG if sealed else 0
    payload, seal = packet.data[at : end - behind], packet.data[end - behind : end]
    if payload:
        assert shown["headway.data"].show.replace(":", "") == payload.hex()
    else:
        assert "headway.data" not in shown
    if not cut and payload:
        assert len(payload) == packet.fields["payload"]
    assert ("headway.seal" in shown) == bool(seal)
    if seal:
        assert shown["headway.seal"].show.replace(":", "") == seal.hex()
    assert ("headway.cut" in shown) == cut
