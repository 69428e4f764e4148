"""Measures `headway-perf` and kernel TCP, in turns, between two network namespaces with a veth pair between them.

Linux, as root:

    make bench-hosts                      # every line, five repetitions: about ten minutes
    make bench-hosts REPS=1 LINES=latency # one repetition of the lines whose name contains that

Most lines run over a bare veth pair, which has no rate: there the processors of the machine are the bottleneck. The
line "incast over a switch" has a network: ten hosts around one `headway-switch`, with links of 200 Mb/s, 128 kB of
buffer at each port, and the port discipline that each transport is meant for (drop-tail for TCP). So slow a network
leaves the processors of a small machine idle for a part of the time, which the line prints: where that is near zero,
its times are the machine's and not the network's.

Every repetition starts both programs anew for each column, one column after the other, and the column that begins moves
on: what else runs on the machine meets all of them alike. Cells are the median, and in brackets the smallest and the
largest. Ratios are of medians, and in brackets of the best values, each to TCP.
"""

import argparse
import contextlib
import ctypes
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

NAMES = (f"headway-bench-{os.getpid()}-a", f"headway-bench-{os.getpid()}-b")
ADDRESSES = ("10.203.8.1", "10.203.8.2")
PORT = 18519
BARE_UDP = Path(__file__).with_name("bare_udp.py")
# The network of the incast: a server, a client, and peers that send bulk.
HOSTS, RATE_GBPS, BUFFER = 10, 0.2, "128 kB"
STAR = f"""title = "hosts around one switch"
seed = 1
[topology]
kind = "single-switch"
hosts = {HOSTS}
rate = "{RATE_GBPS} Gbps"
delay = "1 us"
[fabric]
buffer = "{BUFFER}"
[transport]
name = "amrt"
[[traffic]]
kind = "flows"
flows = [{{ name = "none", src = 1, dst = 0, bytes = "1 kB", start = "0 s" }}]
"""
CLONE_NEWNET = 0x40000000
LONGEST = 120.0
SINGLE = ("ndp", "expresspass", "rcp", "bbr", "phost")


@dataclass(frozen=True)
class Column:
    """One way of carrying the messages of a line."""

    name: str
    both: tuple[str, ...] = ()
    tcp: bool = False
    key: bool = False
    peers: int = 0  # that send bulk to the same server meanwhile
    bare: bool = False  # nothing but the kernel's UDP
    ports: str = "cubic"  # transport whose port discipline a switch has


@dataclass(frozen=True)
class Line:
    """A measurement, by each of its columns."""

    name: str
    command: tuple[str, ...]
    columns: tuple[Column, ...]
    mtu: int = 1500
    values: tuple[str, ...] = ("goodput_gbps", "cpu_s_per_gb")
    switch: bool = False
    results: dict[str, list[dict[str, float]]] = field(default_factory=dict, compare=False)


TCP = Column("TCP", tcp=True)
UDP = Column("bare UDP, the bound", bare=True)


@dataclass(frozen=True)
class Network:
    """Network in which the programs of a measurement run."""

    server: str
    client: str
    peers: tuple[str, ...]
    address: str
    allow: str
    switch: str | None = None


PAIR = Network(NAMES[1], NAMES[0], (NAMES[0],) * 8, ADDRESSES[1], "10.203.8.0/24")


def headway(transport: str, *more: str, mtu: int = 1500, key: bool = False, peers: int = 0, note: str = "") -> Column:
    """A column of a transport of Headway."""
    name = f"{transport}{', ' + note if note else ''}"
    both = ("--transport", transport, "--mtu", str(mtu), *more)
    return Column(name, both, key=key, peers=peers, ports=transport)


def lines(seconds: float, calls: int) -> list[Line]:
    """Lines of measurements."""
    bulk = ("bulk", "--seconds", str(seconds))
    latency = ("latency", "--count", str(calls))
    times = ("p50", "p99")
    found = [
        Line(
            "latency: calls of 100 B",
            latency,
            (headway("amrt"), headway("amrt", "--spin-us", "200", note="spin"), TCP),
            values=times,
        ),
        Line(
            "incast over a switch: 100 calls/s of 100 B beside bulk of 8 peers, 200 Mb/s",
            ("latency", "--count", str(max(calls // 20, 1)), "--per-second", "100"),
            (
                *(headway(name, "--rate-gbps", str(RATE_GBPS), peers=8) for name in ("amrt", "homa", "rpo")),
                Column("TCP", tcp=True, peers=8),
            ),
            values=("p50", "p99", "bulk_gbps", "idle"),
            switch=True,
        ),
        Line(
            "incast bound by the processors: 10,000 calls/s of 100 B beside bulk of 8 peers",
            # Fewer: where they are not served in time, each takes milliseconds.
            ("latency", "--count", str(max(calls // 4, 1)), "--per-second", "10000"),
            (
                *(headway(name, peers=8) for name in ("amrt", "homa", "rpo")),
                Column("TCP", tcp=True, peers=8),
            ),
            values=times,
        ),
    ]
    for mtu in (1500, 9000):
        columns = (headway("amrt", mtu=mtu), headway("amrt", mtu=mtu, key=True, note="key"), UDP, TCP)
        found.append(Line(f"bulk: one stream, MTU {mtu}", bulk, columns, mtu))
    for streams in (8, 64):
        name = f"bulk: {streams} streams, MTU 1500"
        found.append(Line(name, (*bulk, "--streams", str(streams)), (headway("amrt"), TCP)))
    found.append(Line("bulk: single packets, MTU 1500", bulk, (*(headway(name) for name in SINGLE), TCP)))
    return found


def ip(*words: str) -> None:
    """Runs `ip`."""
    subprocess.run(["ip", *words], check=True)


@contextlib.contextmanager
def namespaces() -> Iterator[None]:
    """Two namespaces joined by a veth pair, for as long as it lasts."""
    try:
        for name in NAMES:
            ip("netns", "add", name)
        ip("link", "add", "hwb0", "netns", NAMES[0], "type", "veth", "peer", "name", "hwb1", "netns", NAMES[1])
        for name, address, device in zip(NAMES, ADDRESSES, ("hwb0", "hwb1"), strict=True):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", device)
            ip("-n", name, "link", "set", device, "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield
    finally:
        for name in NAMES:
            subprocess.run(["ip", "netns", "del", name], check=False)


def set_mtu(mtu: int) -> None:
    """Gives both ends of the pair this MTU."""
    for name, device in zip(NAMES, ("hwb0", "hwb1"), strict=True):
        ip("-n", name, "link", "set", device, "mtu", str(mtu))


@contextlib.contextmanager
def star(switch: str) -> Iterator[Network]:
    """Hosts in namespaces of their own, with the switch's namespace in their middle, for as long as it lasts."""
    middle = f"{NAMES[0]}-s"
    hosts = [f"{NAMES[0]}-h{number}" for number in range(HOSTS)]
    try:
        for name in (middle, *hosts):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        for number, name in enumerate(hosts):
            ip("link", "add", "e0", "netns", name, "type", "veth", "peer", "name", f"p{number}", "netns", middle)
            ip("-n", name, "addr", "add", f"10.0.0.{number + 1}/24", "dev", "e0")
            # Frames that are longer than a packet would be dropped at the switch.
            ip("-n", name, "link", "set", "e0", "gso_max_segs", "1", "up")
            ip("-n", middle, "link", "set", f"p{number}", "up")
        yield Network(hosts[0], hosts[1], tuple(hosts[2:]), "10.0.0.1", "10.0.0.0/24", switch)
    finally:
        for name in (middle, *hosts):
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)


def start(namespace: str, words: list[str]) -> subprocess.Popen[str]:
    """A program in a namespace."""
    file = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    libc = ctypes.CDLL(None, use_errno=True)

    def enter() -> None:
        if libc.setns(file, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "setns")

    try:
        return subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=enter, pass_fds=[file]
        )
    finally:
        os.close(file)


@contextlib.contextmanager
def switching(network: Network, column: Column, scenario: Path) -> Iterator[None]:
    """The switch of a network, if it has one, with the ports of a column's transport."""
    if network.switch is None:
        yield
        return
    ports = [word for number in range(HOSTS) for word in ("--port", f"h{number}=p{number}")]
    words = [network.switch, str(scenario), "--slowdown", "1", "--set", f"transport.name={column.ports}", *ports]
    process = start(f"{NAMES[0]}-s", words)
    try:
        assert process.stderr is not None
        if "Ctrl-C ends it" not in (said := process.stderr.readline()):
            raise RuntimeError(said + process.stderr.read())
        yield
    finally:
        process.kill()
        process.communicate()


def processors() -> tuple[float, float]:
    """Seconds that the machine's processors were idle, and in all."""
    fields = [float(word) for word in Path("/proc/stat").read_text("ascii").splitlines()[0].split()[1:9]]
    ticks = os.sysconf("SC_CLK_TCK")
    return (fields[3] + fields[4]) / ticks, sum(fields) / ticks


def interrupted(peers: list[subprocess.Popen[str]]) -> float:
    """Ends those that send bulk; Gb/s that they had together."""
    for peer in peers:
        peer.send_signal(signal.SIGINT)
    found = 0.0
    for peer in peers:
        try:
            out, _ = peer.communicate(timeout=10.0)
        except subprocess.TimeoutExpired:
            continue
        found += json.loads(out)["goodput_gbps"] if out else 0.0
    return found


def printed(client: subprocess.Popen[str], what: str) -> str:
    """Output of a client when it has ended."""
    try:
        out, error = client.communicate(timeout=LONGEST)
    finally:
        client.kill()
    if client.returncode:
        raise RuntimeError(f"{what}: {error.strip()}")
    return out


def bare_udp(network: Network, line: Line) -> dict[str, float]:
    """Time of the kernel alone."""
    tool = [sys.executable, str(BARE_UDP)]
    server = start(network.server, [*tool, "receive", network.address, str(PORT)])
    try:
        assert server.stdout is not None
        server.stdout.readline()
        seconds = line.command[line.command.index("--seconds") + 1]
        words = [*tool, "send", network.address, str(PORT), "--seconds", seconds, "--mtu", str(line.mtu)]
        out = printed(start(network.client, words), f"{line.name}, bare UDP")
    finally:
        server.kill()
        server.communicate()
    report = json.loads(out)
    sides = [report[side]["cpu"]["s_per_gb"] for side in ("client", "server")]
    return {"goodput_gbps": report["goodput_gbps"], "cpu_s_per_gb": sum(sides)}


def measure(program: str, key: Path, line: Line, column: Column, network: Network) -> dict[str, float]:
    """One measurement with a fresh server and client."""
    if column.bare:
        return bare_udp(network, line)
    admission = ["--psk-file", str(key)] if column.key else ["--allow", network.allow]
    address = f"{network.address}:{PORT}"
    serve = [program, "serve", "--bind", address, *admission, *column.both, *(["--tcp"] if column.tcp else [])]
    how = [*column.both, *(["--psk-file", str(key)] if column.key else []), *(["--tcp"] if column.tcp else [])]
    server = start(network.server, serve)
    others: list[subprocess.Popen[str]] = []
    found: dict[str, float] = {}
    try:
        assert server.stdout is not None
        if not server.stdout.readline():
            raise RuntimeError(server.communicate()[1])
        for place in network.peers[: column.peers]:
            others.append(start(place, [program, "bulk", address, "--seconds", "3600", "--json", *how]))
        if others and line.switch:
            # All of them send before the first call.
            time.sleep(1.0)
        before = processors()
        client = start(network.client, [program, line.command[0], address, *line.command[1:], "--json", *how])
        out = printed(client, f"{line.name}, {column.name}")
        idle, whole = (after - start for after, start in zip(processors(), before, strict=True))
        found["idle"] = idle / max(whole, 1e-9)
        if "bulk_gbps" in line.values:
            found["bulk_gbps"] = interrupted(others)
        report = json.loads(out)
    finally:
        for process in (*others, server):
            process.kill()
            process.communicate()
    sides = [report[side]["cpu"].get("s_per_gb", 0.0) for side in ("client", "server")]
    found |= {"goodput_gbps": report.get("goodput_gbps", 0.0), "cpu_s_per_gb": sum(sides)}
    found |= {name: report["latency_us"][name] for name in ("p50", "p99") if "latency_us" in report}
    return {name: found[name] for name in line.values}


LABELS = {
    "goodput_gbps": "Gb/s",
    "cpu_s_per_gb": "CPU of both ends, s/GB",
    "p50": "p50, us",
    "p99": "p99, us",
    "bulk_gbps": "bulk of all peers, Gb/s",
    "idle": "share of time in which processors were idle",
}
MORE_IS_BETTER = ("goodput_gbps", "bulk_gbps", "idle")


def table(line: Line) -> str:
    """The results of a line, a row for each value of each column."""
    rows = [f"{line.name}", "", "| | | median (min to max) | to TCP: median (best) |", "|---|---|---|---|"]
    control = line.results["TCP"]
    for value in line.values:
        best = max if value in MORE_IS_BETTER else min
        base = [result[value] for result in control]
        for name, results in line.results.items():
            found = [result[value] for result in results]
            middle = statistics.median(found)
            cell = f"{middle:.3g} ({min(found):.3g} to {max(found):.3g})"
            pairs = ((middle, statistics.median(base)), (best(found), best(base)))
            ratios = [f"{mine / theirs:.2f}" if theirs else "" for mine, theirs in pairs]
            rows.append(f"| {LABELS[value]} | {name} | {cell} | {ratios[0]} ({ratios[1]}) |")
    return "\n".join(rows)


def main() -> int:
    """Measures, and prints a table for each line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(Path(__file__).parents[1] / ".venv/bin/headway-perf"))
    parser.add_argument("--switch", help="headway-switch; the default is the one beside the program")
    parser.add_argument("--nice", type=int, default=0, help="niceness of all programs, such as -15 beside other work")
    parser.add_argument("--reps", type=int, default=5, help="repetitions")
    parser.add_argument("--seconds", type=float, default=2.0, help="of each bulk measurement")
    parser.add_argument("--calls", type=int, default=20_000, help="of each measurement of latency")
    parser.add_argument("--lines", default="", help="only lines whose name contains this")
    parser.add_argument("--json", type=Path, help="file for every single result")
    args = parser.parse_args()
    chosen = [line for line in lines(args.seconds, args.calls) if args.lines in line.name]
    if not chosen or args.reps < 1:
        parser.error("nothing to measure: --lines matches no line, or --reps is below 1")
    if os.geteuid() != 0:
        print("skipped: network namespaces need root", file=sys.stderr)
        return 0
    failures: list[str] = []
    os.nice(args.nice)
    # Ends as after Ctrl-C: neither programs nor namespaces stay behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    switch = args.switch or str(Path(args.program).with_name("headway-switch"))
    with contextlib.ExitStack() as stack:
        stack.enter_context(namespaces())
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        key, scenario = Path(directory, "key"), Path(directory, "star.toml")
        key.write_bytes(os.urandom(32))
        key.chmod(0o600)
        scenario.write_text(STAR, "utf-8")
        around = stack.enter_context(star(switch)) if any(line.switch for line in chosen) else PAIR
        for line in chosen:
            set_mtu(line.mtu)
            network = around if line.switch else PAIR
            for repetition in range(args.reps):
                first = repetition % len(line.columns)
                for column in line.columns[first:] + line.columns[:first]:
                    try:
                        with switching(network, column, scenario):
                            result = measure(args.program, key, line, column, network)
                        line.results.setdefault(column.name, []).append(result)
                    except (RuntimeError, subprocess.TimeoutExpired) as error:
                        failures.append(str(error))
            if "TCP" not in line.results:
                raise RuntimeError(failures[-1])
            print(table(line), end="\n\n", flush=True)
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps({line.name: line.results for line in chosen}, indent=1) + "\n", "utf-8")
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
