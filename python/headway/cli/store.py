"""`headway store`: the finished runs that commands share."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import click

from headway import _headway, store
from headway.cli.echo import echo
from headway.cli.terminal import print_table
from headway.data.units import display, parse_age
from headway.errors import HeadwayError

DAMAGED = 1


@click.group("store")
def shared_runs() -> None:
    """The store of finished runs, which run, sweep and reproduce share.

    It lies in ~/.cache/headway/runs, or where HEADWAY_STORE says; HEADWAY_STORE=off does without it.
    """


@shared_runs.command()
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON and nothing else.")
def du(as_json: bool) -> int:
    """Show the number of runs in the store, their scenarios, and the disk space that they take.

    On a file system that clones files, tables share their blocks with results on it, and count in full all the same.
    """
    root = _root()
    rows: dict[str, list[float]] = {}
    for entry in store.entries(root):
        count, size, used = rows.get(str(entry.facts.get("name", "?")), (0, 0, 0))
        rows[str(entry.facts.get("name", "?"))] = [count + 1, size + entry.bytes, max(used, entry.used)]
    if as_json:
        found = [{"scenario": name, "runs": int(r[0]), "bytes": int(r[1]), "used": r[2]} for name, r in rows.items()]
        echo(json.dumps({"directory": str(root), "scenarios": found}, indent=2, ensure_ascii=False))
        return 0
    if rows:
        day = [time.strftime("%Y-%m-%d", time.localtime(row[2])) for row in rows.values()]
        cells = [(name, str(int(row[0])), display("bytes", row[1])) for name, row in rows.items()]
        print_table(["scenario", "runs", "size", "used"], [[*row, when] for row, when in zip(cells, day, strict=True)])
    total = display("bytes", sum(row[1] for row in rows.values()))
    echo(f"{sum(int(row[0]) for row in rows.values())} runs, {total}, in {root}")
    return 0


@shared_runs.command()
@click.option("--older-than", metavar="AGE", help="Also runs that were not used for so long, such as 30d, 12h or 2w.")
@click.option("--all", "everything", is_flag=True, help="Every run.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and remove nothing.")
def prune(older_than: str | None, everything: bool, dry_run: bool) -> int:
    """Remove runs that this version cannot use: those of other versions or epochs of behaviour.

    What processes that died left half written, an hour ago or earlier, goes too.
    """
    left = list(store.leftovers(_root()))
    for path in [] if dry_run else left:
        shutil.rmtree(path, ignore_errors=True)
    least = time.time() - _seconds(older_than) if older_than is not None else 0.0
    count = size = 0
    for entry in store.entries(_root()):
        if everything or entry.used < least or not _usable(entry):
            count, size = count + 1, size + entry.bytes
            if not dry_run:
                entry.remove()
    halves = f" and {len(left)} half-written" if left else ""
    echo(f"{count} runs, {display('bytes', size)},{halves} {'would go' if dry_run else 'removed'}")
    return 0


@shared_runs.command()
def verify() -> int:
    """Check that every run is the one that its name says, as it was kept; the status is 1 if one is not.

    A damaged run is never used.
    """
    damaged = list(_damaged(_root()))
    for line in damaged:
        echo(line)
    count = sum(1 for _ in store.entries(_root()))
    echo(f"{count} runs, {len(damaged)} damaged")
    return DAMAGED if damaged else 0


def _damaged(root: Path) -> Iterator[str]:
    yield from filter(None, (entry.damage() for entry in store.entries(root)))


def _usable(entry: store.Entry) -> bool:
    facts = entry.facts
    return (facts.get("version"), facts.get("epoch")) == (_headway.version(), _headway.epoch())


def _seconds(age: str) -> float:
    seconds = parse_age(age)
    if seconds is None:
        raise click.BadParameter(f"{age!r} is not an age such as 30d, 12h, 90min or 2w", param_hint="--older-than")
    return seconds


def _root() -> Path:
    root = store.directory()
    if root is None:
        raise HeadwayError(f"there is no store: {store.VARIABLE} says {store.OFF}")
    return root


COMMAND = shared_runs
