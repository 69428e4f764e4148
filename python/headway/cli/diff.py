"""`headway diff`: the first event in which two runs differ."""

from __future__ import annotations

import click

from headway.cli.echo import echo
from headway.cli.terminal import Stop
from headway.difference import diff as compare
from headway.difference import lines, side

DIFFERENT = 1
INTERRUPTED = 130


@click.command()
@click.argument("left", metavar="LEFT")
@click.argument("right", metavar="RIGHT")
@click.option("--left-set", multiple=True, metavar="KEY=VALUE", help="Override a key of LEFT.")
@click.option("--right-set", multiple=True, metavar="KEY=VALUE", help="Override a key of RIGHT.")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON and nothing else.")
def diff(left: str, right: str, left_set: tuple[str, ...], right_set: tuple[str, ...], as_json: bool) -> int:
    """Run two scenarios, or two run directories again, and name the first event in which they differ.

    The status is 0 if no event differs, 1 if one does, 2 for what can be put right.
    """
    sides = side(left, left_set), side(right, right_set)
    with Stop().listening() as stop:
        found = compare(*sides, lambda: not stop.requested)
    if found is None:
        return INTERRUPTED
    if as_json:
        echo(found.to_json())
    else:
        for line in lines(found):
            echo(line)
    return 0 if found.same else DIFFERENT


COMMAND = diff
