"""One end of a bulk transfer with the kernel's TCP. Run by `kernel.py` inside a network namespace.

kernel_host.py receive PORT FLOWS SKIP_S LAST_S    prints the bytes of each flow between SKIP_S and LAST_S
kernel_host.py send ADDRESS PORT CONTROL AT SKIP_S LAST_S    prints the mean smoothed round trip in microseconds

AT is when to connect, on the monotonic clock, in seconds.

With `mptcp` behind, sockets are of MPTCP, and the round trip is that of the first subflow.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
import threading
import time

CHUNK = 1 << 16
IPPROTO_MPTCP = 262
# Offsets in the kernel's struct tcp_info.
RTT_AT = 68
SAMPLE_EVERY_S = 0.01


def receive(port: int, flows: int, skip_s: float, last_s: float, protocol: int) -> None:
    """Accept `flows` connections, count the bytes of each in the window after the first byte of the first one."""
    server = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("0.0.0.0", port))
    server.listen()
    print("ready", flush=True)
    connections = [server.accept()[0] for _ in range(flows)]
    begin = time.monotonic() + skip_s
    end = begin + last_s - skip_s
    counts = [0] * flows

    def drain(at: int, connection: socket.socket) -> None:
        while data := connection.recv(CHUNK):
            if begin <= time.monotonic() < end:
                counts[at] += len(data)

    threads = [threading.Thread(target=drain, args=pair, daemon=True) for pair in enumerate(connections)]
    for thread in threads:
        thread.start()
    time.sleep(max(0.0, end - time.monotonic()))
    print(" ".join(map(str, counts)), flush=True)


def send(address: str, port: int, control: str, at: float, skip_s: float, last_s: float, protocol: int) -> None:
    """Send as fast as the window lets, and sample the kernel's smoothed round trip."""
    time.sleep(max(0.0, at - time.monotonic()))
    connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
    connection.connect((address, port))
    start = time.monotonic()
    samples: list[int] = []

    def watch() -> None:
        while (elapsed := time.monotonic() - start) < last_s:
            if elapsed >= skip_s:
                info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, RTT_AT + 4)
                samples.append(struct.unpack_from("I", info, RTT_AT)[0])
            time.sleep(SAMPLE_EVERY_S)

    watcher = threading.Thread(target=watch)
    watcher.start()
    data = bytes(CHUNK)
    while time.monotonic() - start < last_s + 0.5:
        try:
            connection.sendall(data)
        except OSError:
            break
    watcher.join()
    print(sum(samples) / len(samples), flush=True)


def take_precedence() -> None:
    """Ahead of whatever else the machine does: a sender that waits for a processor is a slower path."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))


if __name__ == "__main__":
    take_precedence()
    role, *rest = sys.argv[1:]
    protocol = 0
    if rest[-1] == "mptcp":
        protocol = IPPROTO_MPTCP
        rest.pop()
    if role == "receive":
        receive(int(rest[0]), int(rest[1]), float(rest[2]), float(rest[3]), protocol)
    else:
        send(rest[0], int(rest[1]), rest[2], float(rest[3]), float(rest[4]), float(rest[5]), protocol)
