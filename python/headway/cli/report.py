"""`headway report`: draw what a results directory holds."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli.options import DIRECTORY
from headway.cli.progress import is_quiet
from headway.data.qlog import is_trace
from headway.errors import holds_results, no_results
from headway.files import writable_directory


@click.command()
@click.argument("places", nargs=-1, required=True, type=DIRECTORY, metavar="DIR|FILE...")
@click.option("--format", "fmt", type=click.Choice(["html", "svg", "pdf", "png"]), default="html", show_default=True)
@click.option("--replay", is_flag=True, help="Also show the packets of a small run on its topology, moving.")
def report(places: tuple[Path, ...], fmt: str, replay: bool) -> None:
    """Write the report of a run, a sweep or a reproduction into its directory and print the paths.

    Files are traces of messages between real hosts (`trace_file` of an endpoint): their page stands beside the first.
    """
    if any(is_trace(place) for place in places):
        if replay or fmt != "html":
            raise click.UsageError("the report of a trace of messages is a page: no --replay, no other --format")
        _report_messages(places)
        return
    if len(places) > 1:
        raise click.UsageError("one directory at a time; several files are traces of one page")
    directory = places[0]
    if replay and fmt != "html":
        raise click.UsageError(f"--replay is for pages; a figure as {fmt} does not move")
    if not holds_results(directory):
        raise no_results(directory)
    writable_directory(directory)
    for path in build_report(directory, fmt, replay=replay):
        click.echo(str(path))


def _report_messages(files: tuple[Path, ...]) -> None:
    from headway.report.messages import write_messages

    page, missing = write_messages(files)
    for sentence in missing:
        _note(sentence)
    click.echo(str(page))


def build_report(directory: Path, fmt: str, *, replay: bool = False) -> list[Path]:
    """The files written; drawing libraries are imported only when something is drawn."""
    from headway.report import build
    from headway.tape import record

    return build(directory, fmt, record(directory) if replay else None, note=_note)


def _note(sentence: str) -> None:
    if not is_quiet():
        click.echo(f"warning: {sentence}", err=True)


COMMAND = report
