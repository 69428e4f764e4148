"""`headway export`: the flows of a scenario, for other simulators."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli.options import DIRECTORY, scale_option, scenario_argument, set_option
from headway.errors import ResultsError
from headway.files import write_text
from headway.names import ScenarioFile
from headway.scenario import Scenario

FORMATS = ("cm", "csv")


@click.command()
@scenario_argument
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    required=True,
    help='cm: an htsim connection matrix; csv: a table that kind = "file" reads back.',
)
@click.option("--out", type=DIRECTORY, metavar="FILE", help="File to write; default: standard output.")
@click.option("--force", is_flag=True, help="Overwrite a file that holds something else.")
@set_option
@scale_option
def export(
    file: ScenarioFile, form: str, out: Path | None, force: bool, sets: tuple[str, ...], scale: str | None
) -> None:
    """Write the flows that a scenario generates, with their sizes and starts, as text."""
    text = Scenario.load(file.path, sets=sets, scale=scale).export_flows(form)
    if out is None:
        click.echo(text, nl=False)
        return
    if out.exists() and not force and not _holds(out, text):
        raise ResultsError(out, "is there already and holds something else; choose another name, or --force")
    write_text(out, text)
    click.echo(f"{file.name}: flows in {out}", err=True)


def _holds(path: Path, text: str) -> bool:
    try:
        return path.read_text(encoding="utf-8") == text
    except (OSError, UnicodeDecodeError):
        return False


COMMAND = export
