"""`headway verify`: run an archive again and compare."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from headway.archive import verify_archive
from headway.cli.echo import echo
from headway.cli.options import DIRECTORY

DIFFERENT = 1


@click.command()
@click.argument("file", type=DIRECTORY, metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON and nothing else.")
def verify(file: Path, as_json: bool) -> int:
    """Run everything in an archive again and compare; the status is 0 if all comes out the same, and 1 if not."""
    found = verify_archive(file, told=partial(echo, err=True))
    if as_json:
        echo(found.to_json())
    else:
        echo(f"{file}: {found.same} of {found.same + len(found.differing)} runs came out the same")
    return 0 if found.ok else DIFFERENT


COMMAND = verify
