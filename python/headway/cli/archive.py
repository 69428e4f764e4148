"""`headway archive`: results and all that it takes to run them again, as one file."""

from __future__ import annotations

from pathlib import Path

import click

from headway.archive import write_archive
from headway.cli.echo import echo
from headway.cli.options import DIRECTORY, force_option


@click.command()
@click.argument("directory", type=DIRECTORY, metavar="DIR")
@click.option("--out", type=DIRECTORY, metavar="FILE", help="The file; default: DIR.headway.tar.gz.")
@force_option
def archive(directory: Path, out: Path | None, force: bool) -> None:
    """Write a run or a sweep as one file with its inputs, results and environment; `headway verify` runs it again."""
    echo(str(write_archive(directory, out, overwrite=force)))


COMMAND = archive
