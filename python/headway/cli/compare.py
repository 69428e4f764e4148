"""`headway compare`: a run beside a table from elsewhere, another run, or a sweep of seeds."""

from __future__ import annotations

import json
from pathlib import Path

import click

from headway.comparison import NUMBERS, WAYS, lines
from headway.comparison import compare as find
from headway.errors import nearest

APART = 1


class Numbers(click.ParamType[tuple[str, ...]]):
    """A list such as `mean,p99`."""

    name = "numbers"

    def convert(
        self,
        value: object,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> tuple[str, ...]:
        names = tuple(part.strip() for part in str(value).split(","))
        for name in names:
            if name not in NUMBERS:
                close = nearest(name, NUMBERS)
                hint = f"nearest: {', '.join(close)}" if close else f"there is {', '.join(NUMBERS)}"
                self.fail(f"there is no number '{name}'; {hint}", param, ctx)
        return names


@click.command()
@click.argument("run", metavar="RUN")
@click.argument("reference", metavar="[REFERENCE]", required=False)
@click.option("--reference", "column", metavar="COLUMN", help="Column of completion times, as fct_us or fct=us.")
@click.option("--match", type=click.Choice(WAYS), help="How flows are paired; default: as the table allows.")
@click.option("--within", default="3%", show_default=True, metavar="BOUND", help="How far apart numbers may be.")
@click.option("--of", "judged", type=Numbers(), default=",".join(NUMBERS), show_default=True, help="What is judged.")
@click.option("--until", type=click.Choice(["receiver", "sender"]), default="receiver", show_default=True,
              help="When flows of the run end: the last byte is there, or the sender knows.")  # fmt: skip
@click.option("--at", metavar="POINT", help="Which point of a sweep RUN is, such as amrt,load=0.7.")
@click.option("--reference-at", metavar="POINT", help="The same of REFERENCE; default: --at.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Override a key, if RUN is a scenario.")
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write an HTML page.")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON and nothing else.")
def compare(
    run: str,
    reference: str | None,
    column: str | None,
    match: str | None,
    within: str,
    judged: tuple[str, ...],
    until: str,
    at: str | None,
    reference_at: str | None,
    sets: tuple[str, ...],
    page: Path | None,
    as_json: bool,
) -> int:
    """Set the completion times of RUN beside those of REFERENCE.

    RUN is a directory of results or a scenario, which is then run. REFERENCE is a table (.csv, .csv.gz, .parquet) or a
    directory of results; without it, the table of flows that RUN was made from. The status is 0 if the numbers are
    within the bound or no further apart than seeds make them, 1 if not, 2 for what can be put right.
    """
    found = find(
        run, reference, column=column, match=match, within=within, of=judged, at=at,
        reference_at=reference_at if reference_at is not None else at, until=until, sets=list(sets),
    )  # fmt: skip
    if as_json:
        click.echo(json.dumps(found.document(), indent=2, ensure_ascii=False))
    else:
        for line in lines(found):
            click.echo(line)
    if page is not None:
        written = found.page(page)
        click.echo(str(written), err=as_json)
    return 0 if found.ok else APART


COMMAND = compare
