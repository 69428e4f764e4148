"""`headway run`: one run of one scenario."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from headway.cli.options import force_option, out_option, scale_option, scenario_argument, set_option, threads_option
from headway.cli.terminal import Progress, Stop
from headway.data.sentences import one_line, surprising, transport_lines
from headway.names import ScenarioFile
from headway.scenario import Scenario, Threads, thread_count

INTERRUPTED = 130


@click.command()
@scenario_argument
@set_option
@out_option(required=False)
@force_option
@scale_option
@threads_option
@click.option(
    "--dry-scaling",
    is_flag=True,
    help="Print by how much 2 to 64 threads would shorten the run, and write nothing: each is counted on one thread.",
)
@click.option("--csv", is_flag=True, help="Also write flows.csv; needs --out.")
@click.option(
    "--capture",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="OUT.pcapng",
    help="Also write every packet, as it starts on a link, to a file for Wireshark.",
)
@click.option(
    "--capture-links",
    metavar="LINK,...",
    help="Capture these links only, as 's0->s1,s1->s2'; needs --capture.",
)
@click.option("--json", "as_json", is_flag=True, help="Print summary.json and nothing else.")
def run(
    file: ScenarioFile,
    sets: tuple[str, ...],
    out: Path | None,
    force: bool,
    scale: str | None,
    threads: Threads,
    dry_scaling: bool,
    csv: bool,
    capture: Path | None,
    capture_links: str | None,
    as_json: bool,
) -> int:
    """Run one scenario and print one line about it, and one for each of several transports."""
    if csv and out is None:
        raise click.UsageError("--csv needs --out DIR")
    if capture_links is not None and capture is None:
        raise click.UsageError("--capture-links needs --capture OUT.pcapng")
    links = _links(capture_links)
    scenario = Scenario.load(file.path, sets=sets, scale=scale)
    if dry_scaling:
        if out is not None or capture is not None:
            raise click.UsageError("--dry-scaling writes nothing: leave out --out and --capture")
        found = scenario.scaling(sorted({2, 4, 8, 16, 32, 64, thread_count(threads)} - {1}))
        click.echo(json.dumps(found, indent=2) if as_json else scaling_table(file.name, found))
        return 0
    with _watched(file.name) as progress:
        result = scenario.run(
            out, progress=progress, csv=csv, overwrite=force, capture=capture, capture_links=links, threads=threads
        )
    if as_json:
        click.echo(json.dumps(result.summary, indent=2, ensure_ascii=False))
    else:
        stored = "from the store: " if result.reused else ""
        click.echo(f"{file.name}: {stored}{one_line(result.summary, result.manifest)}")
        for line in transport_lines(result.summary):
            click.echo(f"  {line}")
        for warning in [*surprising(result.manifest.get("warnings", [])), *filter(None, [result.note])]:
            click.echo(f"warning: {warning}", err=True)
        if out is not None:
            click.echo(f"{'partial results' if result.interrupted else 'results'} in {out}", err=True)
    return INTERRUPTED if result.interrupted else 0


def scaling_table(name: str, found: dict[str, Any]) -> str:
    """What `Scenario.scaling` found, in words and a table."""
    rows = [("threads", "parts", "windows", "events a window", "speed-up", "without waiting", "what limits it most")]
    for row in found["threads"]:
        if row["parts"] == 1:
            rows.append((str(row["threads"]), "1", "-", "-", "1.0", "1.0", "the network cannot be divided"))
            continue
        events = found["events"] / max(row["windows"], 1)
        ups = (f"{row[key]:.1f}" for key in ("speedup", "speedup_without_waiting"))
        parts = (str(row[key]) for key in ("threads", "parts", "windows"))
        rows.append((*parts, f"{events:.0f}", *ups, row["limit"]))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    head = (
        f"{name}: {found['events'] / 1e6:.3g} M events in {found['wall_s']:.3g} s on one thread; two threads wait for"
        f" each other in {found['meeting_s'] * 1e6:.2g} us"
    )
    return "\n".join([head, *lines])


def _links(text: str | None) -> list[str]:
    names = [name.strip() for name in text.split(",")] if text is not None else []
    if not all(names):
        raise click.UsageError("--capture-links takes names of links with commas between them, as 's0->s1,s1->s2'")
    return names


@contextmanager
def _watched(name: str) -> Iterator[Callable[[dict[str, Any]], bool]]:
    """A progress function that draws, and stops the run after Ctrl-C."""
    with Stop().listening() as stop, Progress() as bars:

        def progress(state: dict[str, Any]) -> bool:
            bars.update(name, state)
            return not stop.requested

        yield progress


COMMAND = run
