"""Run every comparison of `scenarios/peers` and record the results, which docs/compared.md shows: `make compared`.

The status is 1 if a number leaves its bound. `tools/compared.py PEER ...` runs all rows of the named ones, those
`by_name` too, and leaves the record as it is.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from headway.comparison.peers import RECORD_FILE, difference, measure, read_peers, shown, write_record

FOLDER = Path(__file__).resolve().parents[1] / "scenarios/peers"


def main(chosen: list[str]) -> int:
    """Run all peers and record the results, or run those that are named and only print."""
    peers = [peer for peer in read_peers(FOLDER) if not chosen or peer.folder.name in chosen]
    found = []
    wrong = 0
    for peer in peers:
        rows = []
        for row in peer.rows:
            if row.by_name and not chosen:
                continue
            began = time.monotonic()
            numbers = measure(peer, row)
            rows.append((row, numbers))
            for one in numbers:
                mark = "" if one.ok else "  LEAVES ITS BOUND"
                wrong += not one.ok
                ours, theirs = shown((one.ours, one.ours), one.number.unit), shown(one.theirs, one.number.unit)
                took = f"{time.monotonic() - began:.1f} s"
                name = f"{peer.folder.name}: {row.what}: {one.number.name}"
                print(f"{name} {ours}, theirs {theirs} {difference(one)} ({took}){mark}")
        found.append((peer, rows))
    if not chosen:
        write_record(FOLDER / RECORD_FILE, found)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
