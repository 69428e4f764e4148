"""`headway import`: a scenario for a trace of another simulator."""

from __future__ import annotations

import os
from pathlib import Path

import click

from headway import _headway
from headway.cli.echo import echo
from headway.cli.options import DIRECTORY
from headway.errors import ResultsError
from headway.files import keep_inputs, write_text

FORMATS = ("cm", "goal", "chakra", "simai", "hpcc")


@click.command("import")
@click.argument("files", type=DIRECTORY, nargs=-1, required=True, metavar="FILE...")
@click.option("--out", type=DIRECTORY, metavar="FILE", help="Scenario to write; default: standard output.")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="cm: htsim; goal: LogGOPSim; chakra: one file a rank; simai; hpcc: list of its ns-3. Default: by content.",
)
@click.option("--start-unit", type=click.Choice(("ps", "us")), help="What start times of a matrix count.")
@click.option("--ranks", type=click.IntRange(2), help="Ranks of a workload of SimAI that does not say it.")
@click.option(
    "--operations-per-second",
    type=click.FloatRange(0, min_open=True),
    help="How fast a rank computes nodes of Chakra that have no duration.",
)
@click.option("--collective-bytes", metavar="SIZE", help="Buffer of a collective that Chakra gives in chunks of it.")
@click.option("--groups", type=DIRECTORY, metavar="FILE", help="Ranks of groups in JSON; default: beside the trace.")
@click.option("--force", is_flag=True, help="Overwrite a file.")
def import_trace(
    files: tuple[Path, ...],
    out: Path | None,
    form: str | None,
    start_unit: str | None,
    ranks: int | None,
    operations_per_second: float | None,
    collective_bytes: str | None,
    groups: Path | None,
    force: bool,
) -> None:
    """Write a small scenario that runs a trace: who sends what to whom, and what waits for what.

    FILEs are one trace, and perhaps the topology that belongs to it. Which is which, their content says.
    """
    folder = Path.cwd() if out is None else out.parent.resolve()
    if not folder.is_dir():
        raise ResultsError(folder, "no such directory")

    def named(path: Path) -> tuple[str, str]:
        return str(path), Path(os.path.relpath(path.resolve(), folder)).as_posix()

    text, notes, about = _headway.import_trace(
        [named(file) for file in files],
        str(folder),
        format=form,
        start_unit=start_unit,
        ranks=ranks,
        operations_per_second=operations_per_second,
        collective_bytes=collective_bytes,
        groups=None if groups is None else named(groups),
    )
    for note in notes:
        echo(f"warning: {note}", err=True)
    for line in about:
        echo(line, err=True)
    if out is None:
        echo(text, nl=False)
        return
    keep_inputs([out], [*files, *([] if groups is None else [groups])])
    if out.exists() and not force:
        raise ResultsError(out, "is there already; choose another name, or --force")
    write_text(out, text)
    echo(f"{out}: runs {', '.join(file.name for file in files)}", err=True)


COMMAND = import_trace
