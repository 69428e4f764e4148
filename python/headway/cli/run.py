"""`headway run`: one run of one scenario."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from headway.cli.options import force_option, out_option, scale_option, scenario_argument, set_option
from headway.cli.terminal import Progress, Stop
from headway.names import ScenarioFile
from headway.results import Run, one_line, surprising
from headway.scenario import Scenario

INTERRUPTED = 130


@click.command()
@scenario_argument
@set_option
@out_option(required=False)
@force_option
@scale_option
@click.option("--csv", is_flag=True, help="Also write flows.csv; needs --out.")
@click.option("--json", "as_json", is_flag=True, help="Print summary.json and nothing else.")
def run(
    file: ScenarioFile,
    sets: tuple[str, ...],
    out: Path | None,
    force: bool,
    scale: str | None,
    csv: bool,
    as_json: bool,
) -> int:
    """Run one scenario and print one line about it."""
    if csv and out is None:
        raise click.UsageError("--csv needs --out DIR")
    scenario = Scenario.load(file.path, sets=sets, scale=scale)
    result = _run_watched(scenario, file.name, out, csv=csv, overwrite=force)
    if as_json:
        click.echo(json.dumps(result.summary, indent=2, ensure_ascii=False))
    else:
        click.echo(f"{file.name}: {one_line(result.summary, result.manifest)}")
        for warning in surprising(result.manifest.get("warnings", [])):
            click.echo(f"warning: {warning}", err=True)
        if out is not None:
            click.echo(f"{'partial results' if result.interrupted else 'results'} in {out}", err=True)
    return INTERRUPTED if result.interrupted else 0


def _run_watched(scenario: Scenario, name: str, out: Path | None, *, csv: bool, overwrite: bool) -> Run:
    with Stop().listening() as stop, Progress() as bars:

        def progress(state: dict[str, Any]) -> bool:
            bars.update(name, state)
            return not stop.requested

        return scenario.run(out, progress=progress, csv=csv, overwrite=overwrite)


COMMAND = run
