"""Measures calls of gRPC over Headway and over tonic's own HTTP/2 and TCP, in turns, between two network namespaces.

Linux, as root:

    make bench-grpc                       # five repetitions: a minute

`crates/tonic/examples/load.rs` is client and server of both. First it finds how many calls a second 32 callers get over
TCP beside incasts: every 20 ms eight calls at once ask for replies of 64 kB. Then calls of 100 bytes begin at random
times at 80 % of that rate, beside the same incasts, over either. A latency counts from the time at which its call was
to begin. Cells are the median, and in brackets the smallest and the largest; ratios are of medians, to TCP. A
measurement in which a call fails is told and counts for nothing: HTTP/2 may end a connection on which many short
messages wait (`too_many_data_frames`).
"""

import argparse
import json
import os
import signal
import statistics
import sys

import bench_hosts

LOAD = 0.8
PORT = 7000
COLUMNS = ("headway", "tcp")
VALUES = {
    "p50": "calls, p50, us",
    "p99": "calls, p99, us",
    "incast_p50": "replies of 64 kB, p50, us",
    "incast_p99": "replies of 64 kB, p99, us",
}


def measure(program: str, column: str, seconds: float, rate: float | None) -> dict[str, float]:
    """One measurement with a fresh server and client."""
    network = bench_hosts.PAIR
    where = [f"{network.address}:{PORT}", network.allow, column]
    server = bench_hosts.start(network.server, [program, "serve", *where])
    try:
        assert server.stdout is not None
        if not server.stdout.readline():
            raise RuntimeError(server.communicate()[1])
        words = [program, "call", *where, str(seconds), *([] if rate is None else [str(rate)])]
        out = bench_hosts.printed(bench_hosts.start(network.client, words), column)
    finally:
        server.kill()
        server.communicate()
    found: dict[str, float] = json.loads(out)
    return found


def main() -> int:
    """Measures, and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="the example `load` of headway-tonic")
    parser.add_argument("--reps", type=int, default=5, help="repetitions")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    args = parser.parse_args()
    if args.reps < 1:
        parser.error("nothing to measure: --reps is below 1")
    if os.geteuid() != 0:
        print("skipped: network namespaces need root", file=sys.stderr)
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    results: dict[str, list[dict[str, float]]] = {column: [] for column in COLUMNS}
    failures: list[str] = []
    with bench_hosts.namespaces():
        capacity = {column: measure(args.program, column, args.seconds, None)["per_second"] for column in COLUMNS}
        rate = LOAD * capacity["tcp"]
        for repetition in range(args.reps):
            for column in COLUMNS if repetition % 2 else reversed(COLUMNS):
                try:
                    results[column].append(measure(args.program, column, args.seconds, rate))
                except RuntimeError as error:
                    failures.append(str(error))
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    if not all(results.values()):
        return 1
    said = ", ".join(f"{column} {most:.0f}" for column, most in capacity.items())
    print(f"32 callers: {said} calls/s. Below: {rate:.0f} calls/s\n")
    print("| | | median (min to max) | to TCP |\n|---|---|---|---|")
    for value, label in VALUES.items():
        base = statistics.median(result[value] for result in results["tcp"])
        for column in COLUMNS:
            found = [result[value] for result in results[column]]
            middle = statistics.median(found)
            cell = f"{middle:.0f} ({min(found):.0f} to {max(found):.0f})"
            print(f"| {label} | {column} | {cell} | {middle / base:.2f} |")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
