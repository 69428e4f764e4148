"""`headway draw`: pictures of a scenario or a run that are made from its packets and its network."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from headway import drawing
from headway.cli.echo import echo
from headway.cli.options import as_usage, scale_option, set_option
from headway.directories import inputs_of
from headway.errors import ResultsError
from headway.files import keep_inputs
from headway.loading import Scenario
from headway.names import resolve

OUT = click.option("--out", type=Path, metavar="FILE", help="File to write, .svg, .pdf or .png; default: NAME.svg.")
FORCE = click.option("--force", is_flag=True, help="Overwrite a file that is there.")


@click.group()
def draw() -> None:
    """Draw the packets of a run over time, or the network of a scenario."""


@draw.command()
@click.argument("file", metavar="SCENARIO|RUN")
@click.option("--flow", metavar="NAME", help="Draw the packets of this flow alone.")
@click.option("--from", "start", default="0 s", metavar="TIME", help='Begin here, such as "40 us".')
@click.option("--to", "end", metavar="TIME", help="End here; default: the end of the run.")
@OUT
@FORCE
@set_option
@scale_option
def sequence(
    file: str,
    flow: str | None,
    start: str,
    end: str | None,
    out: Path | None,
    force: bool,
    sets: tuple[str, ...],
    scale: str | None,
) -> None:
    """Draw a time-space diagram: hosts and ports as vertical lines, each packet on a link as a slanted line.

    A thick line at a port is a packet that waits, and a cross one that is lost. RUN is made again for its packets.
    """
    directory = Path(file)
    if directory.is_dir():
        if sets or scale:
            raise click.UsageError("--set and --scale are for scenarios; a run is drawn as it was")
        place = _place(out or Path(f"{directory.name}.svg"), directory.iterdir(), force)
        run: Path | Scenario = directory
    else:
        run, inputs = _scenario(file, sets, scale)
        place = _place(out or Path(f"{_short(run)}.svg"), inputs, force)
    with as_usage():
        echo(str(drawing.save(drawing.sequence(run, flow=flow, start=start, end=end), place)))


@draw.command()
@click.argument("file", metavar="SCENARIO")
@OUT
@FORCE
@set_option
@scale_option
def topology(file: str, out: Path | None, force: bool, sets: tuple[str, ...], scale: str | None) -> None:
    """Draw the network: hosts as circles, switches as boxes, links as lines as thick as they are fast."""
    scenario, inputs = _scenario(file, sets, scale)
    place = _place(out or Path(f"{_short(scenario)}-topology.svg"), inputs, force)
    echo(str(drawing.save(drawing.topology(scenario), place)))


def _scenario(file: str, sets: tuple[str, ...], scale: str | None) -> tuple[Scenario, Iterable[Path]]:
    """A scenario by name or path, and the files that it is read from."""
    found = resolve(file)
    scenario = Scenario.load(found.path, sets=sets, scale=scale)
    return scenario, inputs_of(found.path, scenario.resolved)


def _short(scenario: Scenario) -> str:
    """The last part of its name."""
    return scenario.native.name.rpartition("/")[2]


def _place(path: Path, inputs: Iterable[Path], force: bool) -> Path:
    """Path of a picture. It is checked before anything runs, which may take long."""
    with as_usage():
        drawing.format_of(path)
    keep_inputs([path], inputs)
    if path.exists() and not force:
        raise ResultsError(path, "is there already; choose another name, or --force")
    return path


COMMAND = draw
