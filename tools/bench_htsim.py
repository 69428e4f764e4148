"""Packet-hops a second of Headway and of csg-htsim, in turns on one machine.

    tools/bench_htsim.py --htsim csg-htsim/sim/datacenter/htsim_ndp          # built with `make` there
    tools/bench_htsim.py --htsim ... --lists 128,432,1024 --reps 5

Both run NDP on csg-htsim's own lists: a permutation of 2 MB messages, a fat-tree of 100 Gb/s and 1 us a link,
packets of 1500 bytes, a window of 100. What is timed is each whole process, by its processor time: the start, the
network, the run. csg-htsim's includes its log, written to /dev/null. Headway's is the benchmark program of the engine,
without Python and without results on disk. A packet-hop is a packet that a link has carried. Headway counts them.
csg-htsim does not: the numbers here are from a copy that counts in `Pipe::receivePacket`, and hold for one commit, for
these lists and its default seed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMMIT = "841d9e7be46bb968eece766aa4b6c044c7799f67"
# By hosts, counted in csg-htsim at that commit.
THEIR_HOPS = {128: 2_310_126, 432: 8_446_214, 1024: 21_114_076}


def program() -> str:
    """The engine's benchmark program, built if it is not."""
    command = ["cargo", "bench", "-p", "headway-sim", "--bench", "engine", "--no-run", "--message-format=json"]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    made = [json.loads(line) for line in built.stdout.splitlines() if line.startswith("{")]
    return next(str(m["executable"]) for m in made if m.get("executable") and m["target"]["name"] == "engine")


def timed(command: list[str]) -> tuple[float, str]:
    """Processor time of a command in seconds, and its output."""
    with tempfile.TemporaryDirectory() as folder:  # csg-htsim writes a file where it runs
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        with process:
            text = process.stdout.read() if process.stdout else ""
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command[0]} ended with status {process.returncode}")
    return used.ru_utime + used.ru_stime, text


def main() -> None:
    """Prints a row for each list."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--htsim", required=True, metavar="PROGRAM", help=f"htsim_ndp of csg-htsim at {COMMIT[:7]}")
    parser.add_argument("--lists", default="128,432", help="hosts of the lists to run: 128, 432, 1024")
    parser.add_argument("--reps", type=int, default=5)
    given = parser.parse_args()
    lists = [int(hosts) for hosts in given.lists.split(",")]
    if unknown := [hosts for hosts in lists if hosts not in THEIR_HOPS]:
        parser.error(f"no list of {unknown[0]} hosts; there are {', '.join(map(str, THEIR_HOPS))}")
    if not os.access(given.htsim, os.X_OK):
        parser.error(f"{given.htsim} is no program")
    htsim, ours = Path(given.htsim).resolve(), program()
    print("| hosts | csg-htsim, M hops/s | Headway, M hops/s | ratio: median (least to most) |")
    print("|---|---|---|---|")
    for hosts in lists:
        matrix = ROOT / f"workloads/matrices/perm_{hosts}n_{hosts}c_2MB.cm"
        theirs = [str(htsim), "-tm", str(matrix), "-nodes", str(hosts), "-mtu", "1500", "-q", "8", "-cwnd", "100"]
        theirs += ["-strat", "perm", "-linkspeed", "100000", "-end", "200000", "-o", "/dev/null"]
        rates: list[tuple[float, float]] = []
        for _ in range(given.reps):
            seconds, _ = timed(theirs)
            mine, text = timed([ours, "once", f"ndp_{hosts}n_{hosts}c_2MB"])
            hops = int(text.split()[1])
            rates.append((THEIR_HOPS[hosts] / seconds / 1e6, hops / mine / 1e6))
        ratios = [mine / their for their, mine in rates]
        their, mine = (statistics.median(side) for side in zip(*rates, strict=True))
        spread = f"{statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})"
        print(f"| {hosts} | {their:.2f} | {mine:.2f} | {spread} |", flush=True)


if __name__ == "__main__":
    main()
