"""`headway draw`: pictures of a scenario or a run that are made from its packets and its network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from headway import drawing
from headway.cli.echo import echo
from headway.cli.options import as_usage, scale_option, set_option
from headway.directories import inputs_of
from headway.errors import ResultsError
from headway.files import keep_inputs
from headway.loading import Scenario
from headway.names import resolve

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

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
        with as_usage():
            _save(
                drawing.sequence(directory, flow=flow, start=start, end=end),
                out or Path(f"{directory.name}.svg"),
                force,
            )
        return
    scenario = Scenario.load(resolve(file).path, sets=sets, scale=scale)
    keep = inputs_of(resolve(file).path, scenario.resolved)
    place = out or Path(f"{scenario.native.name.rpartition('/')[2]}.svg")
    keep_inputs([place], keep)
    with as_usage():
        _save(drawing.sequence(scenario, flow=flow, start=start, end=end), place, force)


@draw.command()
@click.argument("file", metavar="SCENARIO")
@OUT
@FORCE
@set_option
@scale_option
def topology(file: str, out: Path | None, force: bool, sets: tuple[str, ...], scale: str | None) -> None:
    """Draw the network: hosts as circles, switches as boxes, links as lines as thick as they are fast."""
    scenario = Scenario.load(resolve(file).path, sets=sets, scale=scale)
    place = out or Path(f"{scenario.native.name.rpartition('/')[2]}-topology.svg")
    keep_inputs([place], inputs_of(resolve(file).path, scenario.resolved))
    with as_usage():
        _save(drawing.topology(scenario), place, force)


def _save(canvas: Canvas, path: Path, force: bool) -> None:
    if path.exists() and not force:
        raise ResultsError(path, "is there already; choose another name, or --force")
    echo(str(drawing.save(canvas, path)))


COMMAND = draw
