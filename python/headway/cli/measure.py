"""`headway measure`: numbers of a run by the expressions that claims are measured with."""

from __future__ import annotations

from pathlib import Path

import click

from headway.cli.echo import echo
from headway.cli.terminal import print_table
from headway.measuring import SIMULATOR, Number
from headway.measuring import measure as measured_of


@click.command()
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@click.argument("expressions", nargs=-1, required=True, metavar="EXPR...")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object and nothing else.")
def measure(directory: Path, expressions: tuple[str, ...], as_json: bool) -> None:
    """Measure a run directory, as "mean(rate('f1'), '1 ms', '2 ms')".

    The language is that of the claims. NAME=EXPR gives a number a name that later expressions may use. A directory of
    `headway testbed run` is measured beside the simulator's run of the same scenario, with the ratio of both.
    """
    found = measured_of(directory, *expressions)
    if as_json:
        echo(found.to_json())
        return
    columns = found.columns
    heads = ["", *columns]
    rows = [[name, *(_shown(column[name]) for column in columns.values())] for name in found.measured]
    if SIMULATOR in columns:
        heads.append("ratio")
        for row, name in zip(rows, found.measured, strict=True):
            row.append(_ratio(*(column[name] for column in columns.values())))
    print_table(heads, rows)


def _shown(value: Number) -> str:
    return f"{value:.6g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _ratio(one: Number, other: Number) -> str:
    if not isinstance(one, int | float) or not isinstance(other, int | float) or not other:
        return "-"
    return f"{one / other:.3f}"


COMMAND = measure
