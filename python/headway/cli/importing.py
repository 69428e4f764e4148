"""`headway import`: a scenario for a trace of another simulator."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from headway import _headway
from headway.cli.echo import echo
from headway.cli.options import DIRECTORY
from headway.errors import ResultsError
from headway.files import keep_inputs, write_text
from headway.flowlogs import import_log
from headway.flowlogs.reading import kind_of

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
@click.option("--map", "mapped", metavar="WAY", help="Of a flow log: prefix (default), hash, or a file ADDRESS,HOST.")
@click.option("--prefix", type=click.IntRange(1, 32), help="Of a flow log: bits of an address that name its rack; 24.")
@click.option("--racks", type=click.IntRange(1), help="Of a flow log: racks; default: one for each prefix.")
@click.option("--hosts", type=click.IntRange(2), help="Of a flow log: hosts; default: one for each address.")
@click.option("--time-unit", type=click.Choice(("s", "ms", "us", "ns")), help="Of a flow log that does not say it.")
@click.option("--load", type=click.FloatRange(0, min_open=True), help="Of a flow log: stretch times to this load.")
@click.option("--duration", metavar="TIME", help="Of a flow log: draw its pairs and sizes anew for so long.")
@click.option("--host-rate", metavar="RATE", help="Of a flow log: the links of hosts; 25 Gbps.")
@click.option("--seed", type=click.IntRange(0), help="Of a flow log: of what --duration draws; 1.")
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
    mapped: str | None,
    prefix: int | None,
    racks: int | None,
    hosts: int | None,
    time_unit: str | None,
    load: float | None,
    duration: str | None,
    host_rate: str | None,
    seed: int | None,
    force: bool,
) -> None:
    """Write a small scenario that runs a trace: who sends what to whom, and what waits for what.

    FILEs are one trace, and perhaps the topology that belongs to it. Which is which, their content says. A flow log
    (nfdump's CSV, VPC flow logs, or a table with a time, two addresses and bytes) becomes a table next to --out.
    """
    of_log = {
        "map": mapped, "prefix": prefix, "racks": racks, "hosts": hosts, "time_unit": time_unit, "load": load,
        "duration": duration, "host_rate": host_rate, "seed": seed,
    }  # fmt: skip
    of_log = {name: value for name, value in of_log.items() if value is not None}
    if form is None and len(files) == 1 and kind_of(files[0]) is not None:
        of_traces = (start_unit, ranks, operations_per_second, collective_bytes, groups)
        if any(value is not None for value in of_traces):
            raise click.UsageError("--start-unit, --ranks and what is of traces has no effect on a flow log")
        _import_log(files[0], out, of_log, force=force)
        return
    if of_log:
        option = next(iter(of_log)).replace("_", "-")
        raise click.UsageError(f"--{option} is of flow logs, and {files[0]} is none")
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


def _import_log(file: Path, out: Path | None, wish: dict[str, Any], *, force: bool) -> None:
    """A flow log, of which there is a table in addition to the scenario."""
    if out is None:
        raise click.UsageError("--out is missing: a flow log becomes a scenario and a table of flows beside it")
    written = [out, out.with_suffix(".flows.csv")]
    keep_inputs(written, [file])
    for one in written:
        if one.exists() and not force:
            raise ResultsError(one, "is there already; choose another name, or --force")
    if not out.parent.is_dir():
        raise ResultsError(out.parent, "no such directory")
    log = import_log(file, out, **wish)
    for line in log.lines():
        echo(line)
    for note in log.notes:
        echo(f"note: {note}", err=True)
    echo(f"{out}: runs {log.table}", err=True)


COMMAND = import_trace
