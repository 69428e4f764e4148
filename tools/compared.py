"""Run every comparison of `scenarios/peers` again, and write docs/compared.md: what `make compared` does.

The status is 1 if a number leaves its bound. `tools/compared.py PEER ...` runs all rows of the named ones, those
`by_name` too, and leaves the page.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from headway.comparison.peers import difference, measure, page, read_peers, shown

REPOSITORY = Path(__file__).resolve().parents[1]


def main(chosen: list[str]) -> int:
    """Run all peers and write the page, or run those that are named and only print."""
    peers = [peer for peer in read_peers(REPOSITORY / "scenarios/peers") if not chosen or peer.folder.name in chosen]
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
        (REPOSITORY / "docs/compared.md").write_text(page(found), encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
