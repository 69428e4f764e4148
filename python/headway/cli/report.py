"""`headway report`: draw what a results directory holds."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli.echo import echo
from headway.cli.options import DIRECTORY, as_usage
from headway.cli.progress import is_quiet
from headway.reports import Format, ReportFiles, write_report


@click.command()
@click.argument("places", nargs=-1, required=True, type=DIRECTORY, metavar="DIR|FILE...")
@click.option("--format", "fmt", type=click.Choice(["html", "svg", "pdf", "png"]), default="html", show_default=True)
@click.option("--replay", is_flag=True, help="Also show the packets of a small run on its topology, moving.")
def report(places: tuple[Path, ...], fmt: Format, replay: bool) -> None:
    """Write the report of a run, a sweep or a reproduction into its directory and print the paths.

    Files are traces of messages between real hosts (`trace_file` of an endpoint): their page stands beside the first.
    """
    with as_usage():
        written = write_report(places, fmt, replay=replay)
    print_notes(written)
    for path in written:
        echo(str(path))


def print_notes(written: ReportFiles) -> None:
    """What a report should show and does not, unless nothing is to be said."""
    for sentence in () if is_quiet() else written.notes:
        echo(f"warning: {sentence}", err=True)


COMMAND = report
