"""`headway compare`: compares a run with a table from elsewhere, another run, or a sweep of seeds."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from headway.cli.echo import echo
from headway.cli.progress import loudness_options
from headway.cli.terminal import print_notes, print_table
from headway.comparison import (
    NUMBERS,
    WAYS,
    compare_causes,
    compare_variants,
    full_name,
    is_of_variants,
    leading,
    lines,
    summaries_of,
)
from headway.comparison import compare as find
from headway.data.jobs import jobs_of, path_lines
from headway.data.sweep import read_sweep
from headway.errors import HeadwayError
from headway.layout import MANIFEST_FILE, SWEEP_FILE

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
        try:
            return tuple(full_name(part.strip()) for part in str(value).split(","))
        except HeadwayError as error:
            self.fail(str(error), param, ctx)


@click.command()
@click.argument("run", metavar="RUN")
@click.argument("reference", metavar="[REFERENCE]", required=False)
@click.option("--reference", "column", metavar="COLUMN", help="Column of completion times, as fct_us or fct=us.")
@click.option("--match", type=click.Choice(WAYS), help="How flows are paired; default: as the table allows.")
@click.option("--within", default="3%", show_default=True, metavar="BOUND", help="How far apart numbers may be.")
@click.option("--of", "judged", type=Numbers(), default=",".join(NUMBERS), show_default=True,
              help="What is judged: these, or numbers of summaries, such as slowdown_p99.")  # fmt: skip
@click.option("--until", type=click.Choice(["receiver", "sender"]), default="receiver", show_default=True,
              help="When flows of the run end: the last byte is there, or the sender knows.")  # fmt: skip
@click.option("--at", metavar="POINT", help="Which point of a sweep RUN is, such as amrt,load=0.7.")
@click.option("--reference-at", metavar="POINT",
              help="Which point REFERENCE is, or RUN where none is named; default: --at.")  # fmt: skip
@click.option("--causes", is_flag=True, help="Say of a sweep where the time of flows went, in place of numbers.")
@click.option("--path", "as_path", is_flag=True, help="Print the critical path of each job, in place of numbers.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Override a key, if RUN is a scenario.")
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write an HTML page.")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON and nothing else.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the variants of a sweep as CSV, with intervals and units.")
@loudness_options
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
    causes: bool,
    as_path: bool,
    sets: tuple[str, ...],
    page: Path | None,
    as_json: bool,
    as_csv: bool,
) -> int:
    """Compare numbers of RUN with those of REFERENCE, or the variants of a sweep with each other.

    RUN is a directory of results or a scenario, which is then run. REFERENCE is a table (.csv, .csv.gz, .parquet) or a
    directory of results; without it, the table of flows that RUN was made from. The status is 0 if the numbers are
    within the bound or no further apart than seeds make them, 1 if not, 2 for what can be put right.

    \b
    headway compare out/mine --of slowdown_p99
        every variant of a sweep over the first (or over that of
        --reference-at), paired by seed, with intervals
    headway compare out/mine --reference-at load=0.3
        the values of a swept key over one of them; where there is one
        variant, over the first value of the first key
    headway compare out/mine --causes
        where the time of all and of the slowest flows of each variant
        went, if its runs sample causes
    headway compare out/mine --path --at homa
        the chain of messages and steps that bounds the end of each job
        of a run, on less than a screen for each
    headway compare out/mine --at homa --reference-at dctcp
        two variants of one sweep, flow by flow; where it sweeps more,
        a point is a variant and its values, as homa,load=0.7
    """
    if as_csv and (as_json or causes or reference is not None or at is not None or not _has_variants(Path(run))):
        raise click.UsageError("--csv is of all variants of a sweep, without REFERENCE, --at, --causes and --json")
    if causes or as_path:
        alone: dict[str, object] = {"REFERENCE": reference, "--reference": column, "--match": match, "--page": page}
        alone |= {"--reference-at": reference_at, "--set": sets or None}
        alone |= {"--causes": True if causes else None, "--json": as_json or None} if as_path else {"--at": at}
        if idle := [option for option, value in alone.items() if value is not None]:
            subject = "--path is of the jobs of a run" if as_path else "--causes is of all variants of a sweep"
            raise click.UsageError(f"{subject}, and `{idle[0]}` is not")
        _tell_paths(run, at) if as_path else _tell_causes(Path(run), as_json=as_json)
        return 0
    if reference is None and at is None and _has_variants(Path(run)):
        given = {"--reference": column, "--match": match, "--page": page, "--set": sets or None}
        given["--until"] = until if until != "receiver" else None
        if idle := [option for option, value in given.items() if value is not None]:
            text = f"{run} has several variants or values, and `{idle[0]}` is of the comparison of two"
            raise HeadwayError(f"{text}\n  help: name them, as --at homa --reference-at dctcp")
        # The default begins with calls and jobs if there are any.
        usual = click.get_current_context().get_parameter_source("judged") is ParameterSource.DEFAULT
        first = leading(read_sweep(run)) if usual else []
        table = compare_variants(run, of=[*first, *judged], baseline=reference_at)
        if as_json or as_csv:
            echo(table.to_csv() if as_csv else table.to_json(), nl=as_json)
            return 0
        echo(table.headline())
        print_table(*table.table())
        for line in table.footing():
            echo(line)
        print_notes(table.notes)
        return 0
    if reference is None and reference_at is not None:
        reference = run
    found = find(
        run, reference, column=column, match=match, within=within, of=judged, at=at,
        reference_at=reference_at if reference_at is not None else at, until=until, sets=list(sets),
    )  # fmt: skip
    if as_json:
        echo(found.to_json())
    else:
        for line in lines(found):
            echo(line)
        print_notes(found.notes)
    if page is not None:
        written = found.page(page)
        echo(str(written), err=as_json)
    return 0 if found.ok else APART


def _tell_causes(run: Path, *, as_json: bool) -> None:
    """Print the causes of the time of each variant's flows."""
    found = compare_causes(run)
    if as_json:
        echo(found.to_json())
        return
    echo(found.headline())
    print_table(*found.table())
    for sentence in found.sentences():
        echo(sentence)
    print_notes(found.notes)


def _tell_paths(run: str, at: str | None) -> None:
    """Print the critical paths of the jobs of a run, or of the points of a sweep."""
    for name, summary in summaries_of(run, at):
        jobs = jobs_of(summary)
        if not jobs:
            echo(f"{name}: no job, as no message waits for another")
        for _, job in jobs:
            first, *rest = path_lines(job)
            echo(f"{name}: {first}")
            for line in rest:
                echo(line)


def _has_variants(run: Path) -> bool:
    """True if it is the directory of a sweep with several variants."""
    return (run / SWEEP_FILE).exists() and not (run / MANIFEST_FILE).exists() and is_of_variants(run)


COMMAND = compare
