"""Measures the time that this machine's kernel takes for a packet, for `[hosts]` in scenarios (docs/hosts-model.md).

Two network namespaces with a veth pair between them, so that no wire and no interface is in the way; Linux, as root:

    python3 tools/host_costs.py
"""

import contextlib
import ctypes
import os
import socket
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

NAMES = ("headway-costs-a", "headway-costs-b")
ADDRESSES = ("10.203.7.1", "10.203.7.2")
PORT = 18520
SMALL = 100


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


@contextlib.contextmanager
def namespaces() -> Iterator[None]:
    """Two namespaces joined by a veth pair, for as long as it lasts."""
    try:
        for name in NAMES:
            ip("netns", "add", name)
        ip("link", "add", "hwc0", "netns", NAMES[0], "type", "veth", "peer", "name", "hwc1", "netns", NAMES[1])
        for name, address, device in zip(NAMES, ADDRESSES, ("hwc0", "hwc1"), strict=True):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", device)
            ip("-n", name, "link", "set", device, "up")
        yield
    finally:
        for name in NAMES:
            subprocess.run(["ip", "netns", "del", name], check=False)


def enter(name: str) -> None:
    """Brings this process into a namespace; its sockets stay in the one where they were made."""
    with Path("/run/netns", name).open("rb") as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), 0x40000000):
            raise OSError(ctypes.get_errno(), f"setns {name}")


def udp(side: int) -> socket.socket:
    """A UDP socket at one end, bound, and sending to the other."""
    enter(NAMES[side])
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((ADDRESSES[side], PORT))
    made.connect((ADDRESSES[1 - side], PORT))
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
    return made


def per_call(call: Callable[[], object], times: int = 100_000) -> float:
    """Median processor seconds of a call, over blocks."""
    blocks = []
    for _ in range(20):
        start = time.process_time()
        for _ in range(times // 20):
            call()
        blocks.append((time.process_time() - start) / (times // 20))
    return statistics.median(blocks)


def no_waiting(size: int) -> float:
    """Processor time of one packet at both hosts: sent and received by the same thread, so that no thread has to
    wake up."""
    a, b = udp(0), udp(1)
    payload = bytes(size)

    def one() -> None:
        a.send(payload)
        b.recv(2048)

    def nothing() -> None:
        a.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE)
        b.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE)

    one()
    took = per_call(one) - per_call(nothing)
    a.close()
    b.close()
    return took


def answering(make: Callable[[int], socket.socket], trips: int = 20_000) -> list[float]:
    """Round trips of a small message between two processes, in seconds, sorted."""
    child = os.fork()
    if child == 0:
        far = make(1)
        while data := far.recv(2048):
            if data == b"end":
                break
            far.send(data)
        os._exit(0)
    time.sleep(0.2)
    near, payload, took = make(0), bytes(SMALL), []
    for _ in range(trips):
        start = time.perf_counter()
        near.send(payload)
        near.recv(2048)
        took.append(time.perf_counter() - start)
    near.send(b"end")
    os.waitpid(child, 0)
    near.close()
    return sorted(took[trips // 10 :])


def tcp(side: int) -> socket.socket:
    """A TCP connection's end: side 1 accepts."""
    enter(NAMES[side])
    if side == 1:
        listener = socket.create_server((ADDRESSES[1], PORT))
        made, _ = listener.accept()
    else:
        made = socket.create_connection((ADDRESSES[1], PORT))
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def most_packets(seconds: float = 2.0) -> tuple[float, float]:
    """Small packets per second that one process sends and another receives, and the processor time of one."""
    near = udp(0)
    near.settimeout(1)
    child = os.fork()
    if child == 0:
        far = udp(1)
        payload, ends = bytes(SMALL), time.monotonic() + seconds + 0.5
        while time.monotonic() < ends:
            for _ in range(100):
                far.send(payload)
        os._exit(0)
    near.recv(2048)
    start, worked, count = time.monotonic(), time.process_time(), 0
    while time.monotonic() - start < seconds:
        for _ in range(100):
            near.recv(2048)
        count += 100
    rate, each = count / (time.monotonic() - start), (time.process_time() - worked) / count
    os.waitpid(child, 0)
    near.close()
    return rate, each


def main() -> None:
    with namespaces():
        both = {size: no_waiting(size) for size in (SMALL, 1400)}
        trips = {"UDP": answering(udp), "TCP": answering(tcp)}
        rate, each = most_packets()
    for size, took in both.items():
        print(f"a packet of {size} bytes, sent and received, nobody waits: {took * 1e6:.2f} us of processor")
    for name, list_ in trips.items():
        middle, late = list_[len(list_) // 2], list_[len(list_) * 99 // 100]
        print(f"{name}, {SMALL} bytes there and back: median {middle * 1e6:.1f} us, p99 {late * 1e6:.1f} us")
    print(f"small packets received: {rate / 1e6:.3f} million a second, {each * 1e6:.2f} us of processor each")
    cost = both[SMALL] / 2
    wake = max(0.0, trips["UDP"][len(trips["UDP"]) // 2] / 2 - both[SMALL])
    print(f'\n[hosts]\npacket_cost = "{cost * 1e9:.0f} ns"\nmessage_cost = "{wake / 2 * 1e9:.0f} ns"')


if __name__ == "__main__":
    main()
