"""Measures calls of 100 bytes by `headway.endpoints` and of the same in Rust (`headway-perf`), in turns, over loopback.

    make bench-python-hosts               # seven repetitions: two minutes

Every repetition starts the programs of each column anew, one column after the other, and the column that begins moves
on: what else runs on the machine meets all of them alike. A ratio is of a column to Rust in the same repetition; cells
are the median, and in brackets the smallest and the largest.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

REQUEST = 100
WARM_UP = 200
LONGEST = 120.0
# Messages that `headway-perf serve` understands: a kind, and a number in eight bytes. crates/perf/src/protocol.rs.
BEGIN = b"\x01" + (1).to_bytes(8, "big")
ECHO = (b"\x03" + (1).to_bytes(4, "big") + REQUEST.to_bytes(4, "big")).ljust(REQUEST, b"\x5a")
REPLY = b"\x83".ljust(REQUEST, b"\xa5")


def percentiles(nanoseconds: list[int]) -> dict[str, float]:
    """p50 and p99 in microseconds."""
    ordered = sorted(nanoseconds)
    return {name: ordered[min(int(len(ordered) * part), len(ordered) - 1)] / 1e3 for name, part in PARTS}


PARTS = (("p50", 0.5), ("p99", 0.99))


def serve_blocking() -> None:
    """Answers echoes until it is killed."""
    from headway.endpoints import BlockingEndpoint

    with BlockingEndpoint.bind() as endpoint:
        print(endpoint.address, flush=True)
        for message in endpoint:
            message.reply_nowait(REPLY)


def serve_tasks() -> None:
    """Answers echoes until it is killed, in an event loop."""
    from headway.endpoints import Endpoint

    async def main() -> None:
        async with Endpoint.bind() as endpoint:
            print(endpoint.address, flush=True)
            async for message in endpoint:
                message.reply_nowait(REPLY)

    asyncio.run(main())


def ask_blocking(server: str, count: int) -> None:
    """Calls, one after another."""
    from headway.endpoints import BlockingEndpoint

    with BlockingEndpoint.bind() as endpoint:
        endpoint.call(server, BEGIN)
        taken: list[int] = []
        for _ in range(WARM_UP + count):
            began = time.perf_counter_ns()
            reply = endpoint.call(server, ECHO)
            taken.append(time.perf_counter_ns() - began)
            assert len(reply) == REQUEST and reply[0] == REPLY[0]
        print(json.dumps(percentiles(taken[WARM_UP:])))


def ask_tasks(server: str, count: int) -> None:
    """Calls, one after another, in an event loop."""
    from headway.endpoints import Endpoint

    async def main() -> None:
        async with Endpoint.bind() as endpoint:
            await endpoint.call(server, BEGIN)
            taken: list[int] = []
            for _ in range(WARM_UP + count):
                began = time.perf_counter_ns()
                reply = await endpoint.call(server, ECHO)
                taken.append(time.perf_counter_ns() - began)
                assert len(reply) == REQUEST and reply[0] == REPLY[0]
            print(json.dumps(percentiles(taken[WARM_UP:])))

    asyncio.run(main())


ROLES: dict[str, Callable[..., None]] = {
    "serve-blocking": serve_blocking,
    "serve-tasks": serve_tasks,
    "ask-blocking": ask_blocking,
    "ask-tasks": ask_tasks,
}


def measure(program: str, column: str, count: int) -> dict[str, float]:
    """One measurement with a fresh server and client."""
    own = [sys.executable, str(Path(__file__).resolve()), "--role"]
    rust = [program, "serve", "--bind", "127.0.0.1:0"]
    servers = {"Rust": rust, "Python": rust, "Python at both ends": [*own, "serve-blocking"]}
    with subprocess.Popen(
        servers.get(column, [*own, "serve-tasks"]), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        try:
            assert server.stdout is not None
            address = next(word for word in server.stdout.readline().split() if word.startswith("127.0.0.1:"))
            role = "ask-tasks" if column == "asyncio at both ends" else "ask-blocking"
            ask = [*own, role, "--server", address, "--calls", str(count)]
            if column == "Rust":
                ask = [program, "latency", address, "--count", str(count), "--json"]
            done = subprocess.run(ask, capture_output=True, text=True, timeout=LONGEST, check=False)
        finally:
            server.kill()
    if done.returncode:
        raise RuntimeError(f"{column}: {done.stderr.strip()}")
    report = json.loads(done.stdout)
    found = report.get("latency_us", report)
    return {name: found[name] for name, _ in PARTS}


COLUMNS = ("Rust", "Python", "Python at both ends", "asyncio at both ends")


def cell(values: list[float]) -> str:
    """A median with its range."""
    return f"{statistics.median(values):.3g} ({min(values):.3g} to {max(values):.3g})"


def table(results: dict[str, list[dict[str, float]]]) -> str:
    """A row for each percentile of each column."""
    rows = ["| | | us, median (min to max) | to Rust |", "|---|---|---|---|"]
    for name, _ in PARTS:
        base = [result[name] for result in results["Rust"]]
        for column, found in results.items():
            values = [result[name] for result in found]
            ratios = [value / rust for value, rust in zip(values, base, strict=True)]
            rows.append(f"| {name} | {column} | {cell(values)} | {cell(ratios)} |")
    return "\n".join(rows)


def main() -> int:
    """Measures, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(Path(__file__).parents[1] / ".venv/bin/headway-perf"))
    parser.add_argument("--reps", type=int, default=7, help="repetitions")
    parser.add_argument("--calls", type=int, default=10_000, help="of each measurement")
    parser.add_argument("--role", choices=ROLES, help=argparse.SUPPRESS)
    parser.add_argument("--server", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.role:
        ROLES[args.role](*((args.server, args.calls) if args.server else ()))
        return 0
    if args.reps < 1 or args.calls < 1:
        parser.error("nothing to measure: --reps or --calls is below 1")
    results: dict[str, list[dict[str, float]]] = {column: [] for column in COLUMNS}
    for repetition in range(args.reps):
        first = repetition % len(COLUMNS)
        for column in COLUMNS[first:] + COLUMNS[:first]:
            results[column].append(measure(args.program, column, args.calls))
    print(table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
