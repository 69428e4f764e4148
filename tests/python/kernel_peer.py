"""One end of a TCP connection, run in a network namespace by the tests of congestion controls in the kernel.

    kernel_peer.py receive ADDRESS PORT CONTROL
    kernel_peer.py send ADDRESS PORT CONTROL BYTES

Each prints one JSON object when the connection has ended; the receiver says `ready` before.
"""

from __future__ import annotations

import hashlib
import json
import random
import socket
import struct
import sys

CHUNK = 50_000
LIMIT = 600
INFINITE = 0x7FFFFFFF
OPTION_ECN = 8
LEAST, PACKETS = 2, 10_000
"""Smallest window after a cut, and one that is larger than any here."""


def information(connection: socket.socket) -> dict[str, int]:
    """Some of TCP_INFO."""
    raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    word = struct.Struct("=I")
    places = {"rtt_us": 68, "ssthresh": 76, "cwnd": 80, "retransmitted": 100, "delivered": 192, "marked": 196}
    found = {name: word.unpack_from(raw, place)[0] for name, place in places.items()}
    return {**found, "ecn": int(bool(raw[5] & OPTION_ECN))}


def control(connection: socket.socket) -> str:
    """The congestion control in use."""
    raw = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    return raw.split(b"\0")[0].decode()


def opened(name: str) -> socket.socket:
    """A socket with a congestion control, before it connects or listens."""
    made = socket.socket()
    made.settimeout(LIMIT)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
    return made


def receive(address: str, port: int, name: str) -> dict[str, object]:
    """Take one connection's bytes."""
    digest, count = hashlib.sha256(), 0
    with opened(name) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        connection, _ = listener.accept()
    with connection:
        connection.settimeout(LIMIT)
        while part := connection.recv(1 << 16):
            digest.update(part)
            count += len(part)
        return {"bytes": count, "digest": digest.hexdigest(), "control": control(connection), **information(connection)}


def send(address: str, port: int, name: str, count: int) -> dict[str, object]:
    """Send so many bytes, and look at the connection meanwhile."""
    digest, draw = hashlib.sha256(), random.Random(count)
    thresholds: list[int] = []
    windows: list[int] = []
    trips: list[int] = []
    with opened(name) as connection:
        connection.connect((address, port))
        left = count
        while left > 0:
            part = draw.randbytes(min(CHUNK, left))
            digest.update(part)
            connection.sendall(part)
            left -= len(part)
            now = information(connection)
            thresholds.append(now["ssthresh"])
            windows.append(now["cwnd"])
            trips.append(now["rtt_us"])
        last = information(connection)
        used = control(connection)
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)
    # A value that the kernel takes without calling the program is whatever a register holds, also 0: see
    # docs/kernel.md.
    strange = [one for one in thresholds if one < LEAST or (one >= PACKETS and one != INFINITE)]
    cuts = [threshold for threshold in thresholds if LEAST <= threshold < PACKETS]
    trips.sort()
    summary = {"bytes": count, "digest": digest.hexdigest(), "control": used, **last}
    return {
        **summary,
        "cuts": len(set(cuts)),
        "largest": max(window for window in windows if window < PACKETS),
        "strange": len(strange),
        "smallest_cut": min(cuts, default=0),
        "trip_us": trips[len(trips) // 2],
    }


if __name__ == "__main__":
    what, address, port, name, *more = sys.argv[1:]
    result = receive(address, int(port), name) if what == "receive" else send(address, int(port), name, int(more[0]))
    print(json.dumps(result))
