"""`headway report`: draw what a results directory holds."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli.options import DIRECTORY
from headway.errors import ResultsError, nearest_paths
from headway.files import writable_directory


@click.command()
@click.argument("directory", type=DIRECTORY, metavar="DIR")
@click.option("--format", "fmt", type=click.Choice(["html", "svg", "pdf"]), default="html", show_default=True)
def report(directory: Path, fmt: str) -> None:
    """Write the report of a run, a sweep or a reproduction into its directory and print the paths."""
    if not directory.is_dir():
        raise ResultsError(directory, "no such directory" + nearest_paths(directory))
    if not (directory / "manifest.json").exists() and not (directory / "sweep.json").exists():
        raise ResultsError(directory, "holds neither a run (manifest.json) nor a sweep (sweep.json)")
    writable_directory(directory)
    for path in build_report(directory, fmt):
        click.echo(str(path))


def build_report(directory: Path, fmt: str) -> list[Path]:
    """The files written; drawing libraries are imported only when something is drawn."""
    from headway.report import build

    return build(directory, fmt)


COMMAND = report
