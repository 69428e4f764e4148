"""`headway testbed`: a scenario on real packets, between network namespaces of this machine.

The work is the program `headway-testbed`'s, which `make install` puts beside this command line: it starts a process a
host and one software switch, measures, runs the same slowed scenario in the simulator, and writes both run directories.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from headway.cli.controls import controls_of
from headway.cli.echo import echo
from headway.cli.options import force_option, out_option, scale_option, scenario_argument, set_option
from headway.cli.progress import progress_options
from headway.cli.real import arguments, conditions, measure, variant_sets
from headway.cli.report import print_notes
from headway.cli.terminal import print_table
from headway.cli.testbed_reproduce import reproduce
from headway.cli.testbed_switch import switch
from headway.data.units import duration
from headway.directories import inputs_of, prepare_run
from headway.loading import Scenario
from headway.names import ScenarioFile
from headway.reports import write_report

SIMULATOR = "simulator"


@click.group()
def testbed() -> None:
    """Run scenarios on real packets (Linux, as root)."""


@testbed.command("run")
@scenario_argument
@set_option
@out_option(required=False)
@force_option
@scale_option
@click.option(
    "--variant", metavar="NAME", help="One of the scenario's variants; default: the scenario as it is written."
)
@click.option(
    "--slowdown",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="Divide rates and multiply times by N; default: so that the fastest link runs at 100 Mb/s.",
)
@click.option("--sealed", is_flag=True, help="Hosts share a key and seal their packets.")
@click.option(
    "--ideal-round-trips",
    is_flag=True,
    help="Windows go by the topology's base round trips, as in the simulator, instead of measured ones.",
)
@click.option("--csv", is_flag=True, help="Also write flows.csv; needs --out.")
@click.option(
    "--capture",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="OUT.pcapng",
    help="Also write every frame, as the switch puts it on a link, to a file for Wireshark.",
)
@click.option(
    "--io",
    type=click.Choice(["auto", "af-packet", "af-xdp"]),
    help="How frames come to the switch and go; default: auto, which is af-xdp where all interfaces have it.",
)
@progress_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with both summaries and nothing else.")
def run(
    file: ScenarioFile,
    sets: tuple[str, ...],
    out: Path | None,
    force: bool,
    scale: str | None,
    variant: str | None,
    slowdown: int | None,
    sealed: bool,
    ideal_round_trips: bool,
    csv: bool,
    capture: Path | None,
    io: str | None,
    as_json: bool,
) -> int:
    """Run one scenario between network namespaces, and in the simulator as well.

    Every host is a process in a namespace of its own; every switch of the topology is in one software switch. Rates are
    divided and times multiplied, so that every path keeps its bandwidth-delay product in packets; results are in the
    scenario's own units. Nothing stays behind: namespaces and processes end with the command, however it ends.
    """
    if csv and out is None:
        raise click.UsageError("--csv needs --out DIR")
    scenario = Scenario.load(file.path, sets=sets, scale=scale)
    if variant is not None:
        sets = (*variant_sets(scenario, variant), *sets)
        scenario = Scenario.load(file.path, sets=sets, scale=scale)
    ideal = ideal_round_trips
    command = arguments(file.path, sets, out, scale, slowdown, capture, io, sealed=sealed, csv=csv, ideal=ideal)
    if out is not None:
        inputs = inputs_of(file.path, scenario.resolved)
        prepare_run(out, scenario.digest, inputs=inputs, overwrite=force, real=conditions(command))
    with controls_of(scenario):
        status, last = measure(file.name, command)
    if last is None:
        return status
    if out is not None:
        print_notes(write_report([out]))
    if as_json:
        echo(json.dumps(last, indent=2, ensure_ascii=False))
    else:
        _show(file.name, last, out, capture, whole=status == 0)
    return status


def _show(name: str, last: dict[str, Any], out: Path | None, capture: Path | None, *, whole: bool) -> None:
    about = last["testbed"]
    slowdown = about["slowdown"]
    rates = "as fast as written" if slowdown == 1 else f"{slowdown} times slower than written"
    echo(
        f"{name}: {about['wall_s']:.1f} s on real packets, {rates}{', sealed' if about.get('sealed') else ''}; "
        f"{about['frames']} frames, 99 % of them late by at most {duration(about['switch_late_ns']['p99'] * 1e-9)}"
    )
    heads = ("", "flows done", "mean FCT", "p99 FCT", "bottleneck utilisation", "drops")
    sides = [("testbed", last["summary"]), (SIMULATOR, last[SIMULATOR])]
    print_table(heads, [row for label, summary in sides if summary is not None for row in _rows(label, summary)])
    echo(f"frames by {about['switch_io']['kind']}: {about['switch_io']['reason']}", err=True)
    for sentence in about["kernel_notes"]:
        echo(f"note: {sentence}", err=True)
    for place, count in about["dropped_outside_ports"].items():
        echo(f"dropped outside the ports, {place}: {count}", err=True)
    for label, summary in sides:
        if summary is not None and (warning := _not_done(summary)):
            echo(f"warning: {label}: {warning}", err=True)
    if about["corrupted_flows"]:
        echo(f"flows with other bytes than were sent: {about['corrupted_flows']}", err=True)
    if about["capture"] is not None:
        missed = about["capture"]["missed"]
        without = f", {missed} missed: the disk is too slow" if missed else ""
        echo(f"{about['capture']['frames']} frames in {capture}{without}", err=True)
    if out is not None:
        results = "results" if whole else "partial results"
        echo(f"{results} in {out}, report in {out / 'report.html'}", err=True)


def _not_done(summary: dict[str, Any]) -> str:
    """Note on flows that did not finish: the times above are not theirs."""
    open_, failed = summary["flows_unfinished"], summary.get("flows_failed", 0)
    if not open_ and not failed:
        return ""
    total = summary["flows_done"] + open_ + failed
    said = [f"{open_} did not finish before the run ended" if open_ else "", f"{failed} failed" if failed else ""]
    return f"of {total} flows, {' and '.join(filter(None, said))}; completion times are of the other flows"


def _rows(label: str, summary: dict[str, Any]) -> list[tuple[str, ...]]:
    """The whole, and where there are several transports a line for each, with its numbers."""
    parts = summary.get("by_transport") or {}
    return [_row(label, summary), *(_row(f"  {name}", part) for name, part in parts.items())]


def _row(label: str, summary: dict[str, Any]) -> tuple[str, ...]:
    done = summary["flows_done"]
    total = done + summary["flows_unfinished"] + summary.get("flows_failed", 0)
    times = [summary.get(key) for key in ("fct_mean_s", "fct_p99_s")]
    shown = [duration(time) if time is not None else "-" for time in times]
    used = summary.get("bottleneck_utilisation")
    share = "-" if used is None else f"{used:.1%}"
    drops = summary.get("drops")
    return (label, f"{done}/{total}", *shown, share, "-" if drops is None else str(drops))


testbed.add_command(reproduce)
testbed.add_command(switch)
NEEDS = "headway-testbed"
COMMAND = testbed
