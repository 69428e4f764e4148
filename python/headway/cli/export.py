"""`headway export`: the flows of a scenario for other simulators, or a run for a trace viewer."""

from __future__ import annotations

from pathlib import Path

import click

from headway import names
from headway.cli.echo import echo
from headway.cli.options import DIRECTORY, ScenarioParameter, scale_option, set_option
from headway.data.run import EXPORTS, read
from headway.directories import inputs_of
from headway.errors import HeadwayError, ResultsError
from headway.files import keep_inputs, write_text
from headway.loading import Scenario

FORMATS = ("cm", "csv", *EXPORTS)


@click.command()
@click.argument("file", metavar="FILE|RUN", shell_complete=ScenarioParameter().shell_complete)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    required=True,
    help='cm: an htsim connection matrix; csv: a table that kind = "file" reads back; perfetto: a trace of a run.',
)
@click.option("--out", type=DIRECTORY, metavar="FILE", help="File to write; default for text: standard output.")
@click.option("--force", is_flag=True, help="Overwrite a file that holds something else.")
@set_option
@scale_option
def export(file: str, form: str, out: Path | None, force: bool, sets: tuple[str, ...], scale: str | None) -> None:
    """Write the flows that a scenario generates as text, or the run in a directory as a trace for ui.perfetto.dev."""
    if form in EXPORTS:
        if sets or scale:
            raise click.UsageError(f"--set and --scale are for scenarios; {form} is written from the results of a run")
        _run(Path(file), form, out, force=force)
        return
    found = names.resolve(file)
    text = Scenario.load(found.path, sets=sets, scale=scale).export_flows(form)
    if out is None:
        echo(text, nl=False)
        return
    keep_inputs([out], inputs_of(found.path, Scenario.load(found.path, sets=sets, scale=scale).resolved))
    if out.exists() and not force and not _holds(out, text):
        raise ResultsError(out, "is there already and holds something else; choose another name, or --force")
    write_text(out, text)
    echo(f"{found.name}: flows in {out}", err=True)


def _run(directory: Path, form: str, out: Path | None, *, force: bool) -> None:
    if directory.suffix == ".toml" or (not directory.is_dir() and str(directory) in names.known_scenarios()):
        help = f"`headway run {directory} --out DIR` makes one"
        raise HeadwayError(f"{directory} is a scenario; {form} is made from the directory of a run: {help}")
    if out is None:
        raise click.UsageError(f"--format {form} is no text; name a file with --out")
    if directory.is_dir():
        keep_inputs([out], directory.iterdir())
    if out.exists() and not force:
        raise ResultsError(out, "is there already; choose another name, or --force")
    read(directory).export(out, form, force=force)
    echo(f"{directory}: trace in {out}", err=True)


def _holds(path: Path, text: str) -> bool:
    try:
        return path.read_text(encoding="utf-8") == text
    except (OSError, UnicodeDecodeError):
        return False


COMMAND = export
