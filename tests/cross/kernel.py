"""The kernel's TCP through a rate-limited port: host, router and host in network namespaces joined by veth pairs.

The port is a token bucket on the router's way to the receiver. Segmentation offload is limited to one segment, or one
"packet" of the queue would be 64 kB.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HOST = Path(__file__).with_name("kernel_host.py")
FRAME = 1514
PORT = 5201
# Until both ends of every flow are ready to begin.
READY_S = 0.5
CONTROLS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


class Missing(Exception):
    """A prerequisite of a comparison that this machine lacks."""


@dataclass(frozen=True)
class Measured:
    """Goodput of each flow in bits a second, and the mean round trip in seconds."""

    goodput_bps: tuple[float, ...]
    round_trip_s: float


def check(control: str) -> None:
    """Raise `Missing` unless namespaces, token buckets and the congestion control are there."""
    if sys.platform != "linux" or os.geteuid() != 0:
        raise Missing("network namespaces need Linux and root")
    for program in ("ip", "tc"):
        if shutil.which(program) is None:
            raise Missing(f"the program {program} is not installed (package iproute2)")
    if control not in CONTROLS.read_text(encoding="ascii").split():
        raise Missing(f"this kernel has no congestion control {control}")


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Missing(f"{' '.join(command)}: {done.stderr.strip()}")


@contextmanager
def path(rate_mbps: int, buffer_packets: int) -> Iterator[tuple[str, str]]:
    """Namespaces of the sender and of the receiver, with a router between them that drops at the tail."""
    tag = f"hwx{os.getpid()}"
    names = [f"{tag}{end}" for end in "arb"]
    try:
        for name in names:
            _run("ip", "netns", "add", name)
            _run("ip", "-n", name, "link", "set", "lo", "up")
        _join(names[0], names[1], "10.77.1", tag + "0")
        _join(names[2], names[1], "10.77.2", tag + "1")
        _run("ip", "netns", "exec", names[1], "sysctl", "-qw", "net.ipv4.ip_forward=1")
        limit = str(buffer_packets * FRAME)
        shaper = ("tbf", "rate", f"{rate_mbps}mbit", "burst", str(2 * FRAME), "limit", limit)
        _run("ip", "netns", "exec", names[1], "tc", "qdisc", "add", "dev", f"{tag}1r", "root", *shaper)
        for name in (names[0], names[2]):
            # Measurements of one connection must not help the next.
            _run("ip", "netns", "exec", name, "sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1")
        yield names[0], names[2]
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def _join(host: str, router: str, network: str, link: str) -> None:
    """A veth pair: the host is .2 with its default route to the router's .1."""
    ends = {f"{link}h": host, f"{link}r": router}
    _run("ip", "link", "add", f"{link}h", "type", "veth", "peer", "name", f"{link}r")
    for (device, name), number in zip(ends.items(), (2, 1), strict=True):
        _run("ip", "link", "set", device, "netns", name, "gso_max_segs", "1")
        _run("ip", "-n", name, "addr", "add", f"{network}.{number}/24", "dev", device)
        _run("ip", "-n", name, "link", "set", device, "up")
    _run("ip", "-n", host, "route", "add", "default", "via", f"{network}.1")


@contextmanager
def paths(rate_mbps: int, buffer_packets: int) -> Iterator[tuple[str, str]]:
    """Namespaces of a sender and of a receiver that two links join, and that open a subflow over each."""
    tag = f"hwx{os.getpid()}"
    source, sink = f"{tag}a", f"{tag}b"
    limit = str(buffer_packets * FRAME)
    shaper = ("tbf", "rate", f"{rate_mbps}mbit", "burst", str(2 * FRAME), "limit", limit)
    try:
        for name in (source, sink):
            _run("ip", "netns", "add", name)
            _run("ip", "-n", name, "link", "set", "lo", "up")
            _run("ip", "netns", "exec", name, "sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1")
            _run("ip", "netns", "exec", name, "sysctl", "-qw", "net.mptcp.enabled=1")
            _run("ip", "-n", name, "mptcp", "limits", "set", "subflow", "1", "add_addr_accepted", "1")
        for link in "01":
            ends = {f"{tag}{link}h": source, f"{tag}{link}r": sink}
            _run("ip", "link", "add", f"{tag}{link}h", "type", "veth", "peer", "name", f"{tag}{link}r")
            for (device, name), number in zip(ends.items(), (1, 2), strict=True):
                _run("ip", "link", "set", device, "netns", name, "gso_max_segs", "1")
                _run("ip", "-n", name, "addr", "add", f"10.78.{link}.{number}/24", "dev", device)
                _run("ip", "-n", name, "link", "set", device, "up")
            _run("ip", "netns", "exec", source, "tc", "qdisc", "add", "dev", f"{tag}{link}h", "root", *shaper)
        _run("ip", "-n", sink, "mptcp", "endpoint", "add", "10.78.1.2", "signal")
        yield source, sink
    finally:
        for name in (source, sink):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def multipath(control: str, rate_mbps: int, buffer_packets: int, skip_s: float, last_s: float) -> float:
    """Goodput in bits a second of one MPTCP connection over two links, without its first `skip_s` seconds."""
    check(control)
    if not Path("/proc/sys/net/mptcp/enabled").exists():
        raise Missing("this kernel has no MPTCP")
    with paths(rate_mbps, buffer_packets) as ends:
        return _bulk(ends, "10.78.0.2", control, (0.0,), (skip_s, last_s), ("mptcp",)).goodput_bps[0]


def transfer(
    control: str, starts_s: tuple[float, ...], rate_mbps: int, buffer_packets: int, skip_s: float, last_s: float
) -> Measured:
    """Bulk flows, one for each start; the first `skip_s` seconds are left out."""
    check(control)
    with path(rate_mbps, buffer_packets) as ends:
        return _bulk(ends, "10.77.2.2", control, starts_s, (skip_s, last_s), ())


def _bulk(
    ends: tuple[str, str],
    address: str,
    control: str,
    starts_s: tuple[float, ...],
    window: tuple[float, float],
    protocol: tuple[str, ...],
) -> Measured:
    """Bulk flows from one namespace to the other, to `address` there."""
    source, sink = ends
    skip_s, last_s = window
    inside = ("ip", "netns", "exec")
    times = (str(skip_s), str(last_s), *protocol)
    receiver = subprocess.Popen(
        [*inside, sink, sys.executable, str(HOST), "receive", str(PORT), str(len(starts_s)), *times],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    senders: list[subprocess.Popen[str]] = []
    try:
        assert receiver.stdout is not None
        receiver.stdout.readline()
        begin = time.monotonic() + READY_S
        for start in starts_s:
            command = [sys.executable, str(HOST), "send", address, str(PORT), control, str(begin + start), *times]
            senders.append(subprocess.Popen([*inside, source, *command], stdout=subprocess.PIPE, text=True))
        counts = receiver.communicate(timeout=last_s + 30)[0].split()
        trips = [float(sender.communicate(timeout=30)[0]) for sender in senders]
    finally:
        for process in (receiver, *senders):
            process.kill()
            process.wait()
    bits = [8.0 * int(count) / (last_s - skip_s) for count in counts]
    return Measured(tuple(bits), sum(trips) / len(trips) / 1e6)
