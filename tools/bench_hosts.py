"""Measures `headway-perf` beside kernel TCP, in turns, between two network namespaces with a veth pair between them.

Linux, as root:

    make bench-hosts                      # every line, five repetitions: about ten minutes
    make bench-hosts REPS=1 LINES=latency # one repetition of the lines whose name contains that

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
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

NAMES = (f"headway-bench-{os.getpid()}-a", f"headway-bench-{os.getpid()}-b")
ADDRESSES = ("10.203.8.1", "10.203.8.2")
PORT = 18519
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


@dataclass(frozen=True)
class Line:
    """A measurement, by each of its columns."""

    name: str
    command: tuple[str, ...]
    columns: tuple[Column, ...]
    mtu: int = 1500
    values: tuple[str, ...] = ("goodput_gbps", "cpu_s_per_gb")
    results: dict[str, list[dict[str, float]]] = field(default_factory=dict, compare=False)


TCP = Column("TCP", tcp=True)


def headway(transport: str, *more: str, mtu: int = 1500, key: bool = False, peers: int = 0, note: str = "") -> Column:
    """A column of a transport of Headway."""
    name = f"{transport}{', ' + note if note else ''}"
    return Column(name, ("--transport", transport, "--mtu", str(mtu), *more), key=key, peers=peers)


def lines(seconds: float, calls: int) -> list[Line]:
    """What is measured."""
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
            "incast: 10,000 calls/s of 100 B beside bulk of 8 peers",
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
        columns = (headway("amrt", mtu=mtu), headway("amrt", mtu=mtu, key=True, note="key"), TCP)
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


def start(side: int, words: list[str]) -> subprocess.Popen[str]:
    """A program in one of the namespaces."""
    file = os.open(f"/run/netns/{NAMES[side]}", os.O_RDONLY)
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


def measure(program: str, key: Path, line: Line, column: Column) -> dict[str, float]:
    """One measurement with a fresh server and client."""
    admission = ["--psk-file", str(key)] if column.key else ["--allow", "10.203.8.0/24"]
    address = f"{ADDRESSES[1]}:{PORT}"
    serve = [program, "serve", "--bind", address, *admission, *column.both, *(["--tcp"] if column.tcp else [])]
    how = [*column.both, *(["--psk-file", str(key)] if column.key else []), *(["--tcp"] if column.tcp else [])]
    server = start(1, serve)
    others: list[subprocess.Popen[str]] = []
    try:
        assert server.stdout is not None
        if not server.stdout.readline():
            raise RuntimeError(server.communicate()[1])
        for _ in range(column.peers):
            others.append(start(0, [program, "bulk", address, "--seconds", "3600", *how]))
        client = start(0, [program, line.command[0], address, *line.command[1:], "--json", *how])
        try:
            out, error = client.communicate(timeout=LONGEST)
        finally:
            client.kill()
        if client.returncode:
            raise RuntimeError(f"{line.name}, {column.name}: {error.strip()}")
        report = json.loads(out)
    finally:
        for process in (*others, server):
            process.kill()
            process.communicate()
    sides = [report[side]["cpu"].get("s_per_gb", 0.0) for side in ("client", "server")]
    found = {"goodput_gbps": report.get("goodput_gbps", 0.0), "cpu_s_per_gb": sum(sides)}
    found |= {name: report["latency_us"][name] for name in ("p50", "p99") if "latency_us" in report}
    return {name: found[name] for name in line.values}


LABELS = {"goodput_gbps": "Gb/s", "cpu_s_per_gb": "CPU of both ends, s/GB", "p50": "p50, us", "p99": "p99, us"}


def table(line: Line) -> str:
    """The results of a line, a row for each value of each column."""
    rows = [f"{line.name}", "", "| | | median (min to max) | to TCP: median (best) |", "|---|---|---|---|"]
    control = line.results["TCP"]
    for value in line.values:
        best = max if value == "goodput_gbps" else min
        base = [result[value] for result in control]
        for name, results in line.results.items():
            found = [result[value] for result in results]
            middle = statistics.median(found)
            ratios = (middle / statistics.median(base), best(found) / best(base))
            cell = f"{middle:.3g} ({min(found):.3g} to {max(found):.3g})"
            rows.append(f"| {LABELS[value]} | {name} | {cell} | {ratios[0]:.2f} ({ratios[1]:.2f}) |")
    return "\n".join(rows)


def main() -> int:
    """Measures, and prints a table for each line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(Path(__file__).parents[1] / ".venv/bin/headway-perf"))
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
    # Ends as after Ctrl-C: neither programs nor namespaces stay behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with namespaces(), tempfile.TemporaryDirectory() as directory:
        key = Path(directory, "key")
        key.write_bytes(os.urandom(32))
        key.chmod(0o600)
        for line in chosen:
            set_mtu(line.mtu)
            for repetition in range(args.reps):
                first = repetition % len(line.columns)
                for column in line.columns[first:] + line.columns[:first]:
                    try:
                        result = measure(args.program, key, line, column)
                        line.results.setdefault(column.name, []).append(result)
                    except RuntimeError as error:
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
