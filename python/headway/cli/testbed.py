"""`headway testbed`: a scenario on real packets, between network namespaces of this machine.

The work is the program `headway-testbed`'s, which `make install` puts beside this command line: it starts a process a
host and one software switch, measures, runs the same slowed scenario in the simulator, and writes both run directories.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import IO, Any

import click

from headway.cli.options import force_option, out_option, scale_option, scenario_argument, set_option
from headway.cli.report import build_report
from headway.cli.terminal import Progress, Stop, print_table
from headway.data.units import duration
from headway.directories import prepare_run
from headway.errors import HeadwayError, nearest
from headway.names import ScenarioFile
from headway.scenario import Scenario

FAILED = 1
INTERRUPTED = 130
PROGRAM = "headway-testbed"
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
    as_json: bool,
) -> int:
    """Run one scenario between network namespaces, and beside it in the simulator.

    Every host is a process in a namespace of its own; every switch of the topology is in one software switch. Rates are
    divided and times multiplied, so that every path keeps its bandwidth-delay product in packets; results are in the
    scenario's own units. Nothing stays behind: namespaces and processes end with the command, however it ends.
    """
    if csv and out is None:
        raise click.UsageError("--csv needs --out DIR")
    scenario = Scenario.load(file.path, sets=sets, scale=scale)
    sets = (*_variant_sets(scenario, variant), *sets)
    if out is not None:
        prepare_run(out, Scenario.load(file.path, sets=sets, scale=scale).digest, overwrite=force)
    arguments = _arguments(file.path, sets, out, scale, slowdown, capture, sealed=sealed, csv=csv)
    arguments += ["--ideal-round-trips"] if ideal_round_trips else []
    status, last = _measure(file.name, arguments)
    if last is None:
        return status
    if out is not None:
        build_report(out, "html")
    if as_json:
        click.echo(json.dumps(last, indent=2, ensure_ascii=False))
    else:
        _show(file.name, last, out, capture, whole=status == 0)
    return status


def _variant_sets(scenario: Scenario, variant: str | None) -> Sequence[str]:
    """What a variant overrides, as arguments."""
    if variant is None:
        return ()
    known = {point.variant: point for point in scenario.points()}
    if variant not in known:
        close = nearest(variant, known)
        hint = f"; did you mean {' or '.join(close)}?" if close else f"; there are {', '.join(known)}"
        raise HeadwayError(f"the scenario has no variant {variant!r}{hint}")
    swept = {"seed", *known[variant].axes}
    return [text for text in known[variant].sets if text.split("=", 1)[0] not in swept]


def program(name: str = PROGRAM) -> Path:
    """A program of the testbed, in the folder of this environment's interpreter."""
    path = Path(sys.executable).parent / name
    if not path.is_file():
        raise HeadwayError(f"{path} is not there: `make install` builds it (on Linux)")
    return path


def _arguments(
    path: Path,
    sets: Sequence[str],
    out: Path | None,
    scale: str | None,
    slowdown: int | None,
    capture: Path | None,
    *,
    sealed: bool,
    csv: bool,
) -> list[str]:
    found = [str(program()), str(path), "--managed", *(f"--set={text}" for text in sets)]
    found += [f"--out={out}"] if out is not None else []
    found += [f"--scale={scale}"] if scale is not None else []
    found += [f"--slowdown={slowdown}"] if slowdown is not None else []
    found += [f"--capture={capture}"] if capture is not None else []
    found += ["--sealed"] if sealed else []
    return [*found, "--csv"] if csv else found


class _StopProgram(Stop):
    """On the first Ctrl-C, closes the program's standard input: the program then stops and reports what it has."""

    def __init__(self) -> None:
        super().__init__()
        self.orders: IO[str] | None = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        super()._handle(number, frame)
        if self.orders is not None:
            self.orders.close()


def _measure(name: str, arguments: list[str]) -> tuple[int, dict[str, Any] | None]:
    """Exit status, and the last line: both summaries; raises what the program complains of, `None` if it was killed."""
    last: dict[str, Any] | None = None
    # What it complains of is shown when no bar is in the way.
    with tempfile.TemporaryFile("w+", encoding="utf-8") as complaints:
        with (
            _StopProgram().listening() as stop,
            Progress() as bars,
            # A session of its own: Ctrl-C reaches it through us, once.
            subprocess.Popen(
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
                start_new_session=True,
            ) as process,
        ):
            assert process.stdin is not None
            assert process.stdout is not None
            stop.orders = process.stdin
            if stop.requested:
                process.stdin.close()
            try:
                for line in process.stdout:
                    said = json.loads(line)
                    if "progress" in said:
                        bars.update(name, _fraction(said["progress"]))
                    else:
                        last = said
            except KeyboardInterrupt:
                process.kill()
                raise
        complaints.seek(0)
        complaint = complaints.read().strip().removeprefix(f"{PROGRAM}: ")
    if process.returncode in (0, INTERRUPTED) and last is not None:
        return process.returncode, last
    if process.returncode >= 0:
        raise HeadwayError(complaint or f"{PROGRAM} ended with status {process.returncode} and said nothing")
    killer = signal.Signals(-process.returncode).name
    click.echo(f"error: {PROGRAM} was killed by {killer}; its processes and namespaces went with it", err=True)
    return FAILED, None


def _fraction(state: dict[str, Any]) -> dict[str, Any]:
    by_time = state["virtual_s"] / state["stop_s"] if state["stop_s"] else 0.0
    by_flows = state["flows_done"] / state["flows_total"] if state["flows_total"] else 0.0
    return {**state, "fraction": min(max(by_time, by_flows), 1.0)}


def _show(name: str, last: dict[str, Any], out: Path | None, capture: Path | None, *, whole: bool) -> None:
    about = last["testbed"]
    slowdown = about["slowdown"]
    rates = "as fast as written" if slowdown == 1 else f"{slowdown} times slower than written"
    click.echo(
        f"{name}: {about['wall_s']:.1f} s on real packets, {rates}; "
        f"{about['frames']} frames, 99 % of them late by at most {duration(about['switch_late_ns']['p99'] * 1e-9)}"
    )
    heads = ("", "flows done", "mean FCT", "p99 FCT", "bottleneck utilisation", "drops")
    sides = [("testbed", last["summary"]), (SIMULATOR, last[SIMULATOR])]
    print_table(heads, [row for label, summary in sides if summary is not None for row in _rows(label, summary)])
    for sentence in about["kernel_notes"]:
        click.echo(f"note: {sentence}", err=True)
    for place, count in about["dropped_outside_ports"].items():
        click.echo(f"dropped outside the ports, {place}: {count}", err=True)
    if about["corrupted_flows"]:
        click.echo(f"flows with other bytes than were sent: {about['corrupted_flows']}", err=True)
    if about["capture"] is not None:
        missed = about["capture"]["missed"]
        without = f", {missed} missed: the disk is too slow" if missed else ""
        click.echo(f"{about['capture']['frames']} frames in {capture}{without}", err=True)
    if out is not None:
        results = "results" if whole else "partial results"
        click.echo(f"{results} in {out}, report in {out / 'report.html'}", err=True)


def _rows(label: str, summary: dict[str, Any]) -> list[tuple[str, ...]]:
    """The whole, and where there are several transports a line for each, with what is known of it."""
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


COMMAND = testbed
