"""`headway run`: one run of one scenario."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from headway import store
from headway._headway import keep_memory
from headway.cli.echo import echo
from headway.cli.options import (
    fair_option,
    force_option,
    out_option,
    scale_option,
    scenario_argument,
    set_option,
    threads_option,
    variant_option,
)
from headway.cli.progress import is_quiet, is_verbose, progress_options
from headway.cli.sizes import ask, yes_option
from headway.cli.terminal import Progress, Stop, print_notes
from headway.data import changes
from headway.data.jobs import jobs_of, lines_of, path_lines
from headway.data.run import Run
from headway.data.sentences import in_columns, one_line, surprising, transport_lines
from headway.data.units import quantity, size
from headway.fair import with_fair
from headway.loading import Scenario, Threads, thread_count
from headway.names import ScenarioFile
from headway.sweeps.forecast import expected_cost
from headway.sweeps.pace import known, learn, run_expected, transport_of

INTERRUPTED = 130
OTHERWISE = f"; {store.VARIABLE}=off runs all"
# Seconds from which on a run says beforehand how long it will take.
LONG_S = 2.0
# Bytes of a capture for each packet-hop that is expected: the packet, and its share of control packets.
CAPTURED_BYTES = 136


@click.command()
@scenario_argument
@set_option
@variant_option
@out_option(required=False)
@force_option
@scale_option
@fair_option
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
@yes_option
@progress_options
@click.option("--json", "as_json", is_flag=True, help="Print summary.json and nothing else.")
def run(
    file: ScenarioFile,
    sets: tuple[str, ...],
    variant: str | None,
    out: Path | None,
    force: bool,
    scale: str | None,
    fair: bool,
    threads: Threads,
    dry_scaling: bool,
    csv: bool,
    capture: Path | None,
    capture_links: str | None,
    yes: bool,
    as_json: bool,
) -> int:
    """Run one scenario and print one line about it, and one for each of several transports."""
    if csv and out is None:
        raise click.UsageError("--csv needs --out DIR")
    if capture_links is not None and capture is None:
        raise click.UsageError("--capture-links needs --capture OUT.pcapng")
    links = _links(capture_links)
    scenario = Scenario.load(file.path, sets=sets, scale=scale)
    scenario.native.check_sets(False)
    if fair:
        sets = with_fair(sets, scenario, whole=False, variant=variant)
        scenario = Scenario.load(file.path, sets=sets, scale=scale)
    if variant is not None:
        scenario = scenario.variant(variant)
    if dry_scaling:
        if out is not None or capture is not None:
            raise click.UsageError("--dry-scaling writes nothing: leave out --out and --capture")
        found = scenario.scaling(sorted({2, 4, 8, 16, 32, 64, thread_count(threads)} - {1}))
        echo(json.dumps(found, indent=2) if as_json else scaling_table(file.name, found))
        return 0
    whole_capture = capture if not links else None
    if out is not None or whole_capture is not None:
        smaller = "--capture-links chooses links" if whole_capture is not None else "sample less"
        where = " and ".join(str(place) for place in (out, whole_capture) if place is not None)
        ask(expected_bytes(file.name, scenario, out, whole_capture), where, yes=yes, smaller=smaller)
    if is_verbose():
        echo(_about(file.name, scenario), err=True)
    if not is_quiet() and not as_json and (forecast := ahead(file.name, scenario)):
        echo(forecast, err=True)
    keep_memory()
    began, began_cpu = time.monotonic(), time.process_time()
    with _watched(file.name) as progress:
        result = scenario.run(
            out, progress=progress, csv=csv, overwrite=force, capture=capture, capture_links=links, threads=threads
        )
    # Threads that wait take processor time, too, and other files are not part of a run.
    plain = out is not None and threads == 1 and not csv and capture is None
    if plain and not result.interrupted and not result.reused:
        _learn(scenario, result, time.monotonic() - began, time.process_time() - began_cpu)
    if as_json:
        echo(json.dumps(result.summary, indent=2, ensure_ascii=False))
    else:
        stored = "from the store: " if result.reused else ""
        about = lines_of(result.summary)
        for number, line in enumerate([*about, one_line(result.summary, result.manifest)]):
            echo(f"{'' if line.startswith(' ') and number else f'{file.name}: '}{stored if not number else ''}{line}")
        for line in transport_lines(result.summary):
            echo(f"  {line}")
        for _, job in jobs_of(result.summary) if is_verbose() else ():
            for line in path_lines(job):
                echo(line)
        for line in changes.said([scenario.resolved]):
            echo(f"  {line}")
        if result.reused and not is_quiet():
            echo(store.said_of(1, [str(result.manifest.get("digest"))]) + OTHERWISE, err=True)
        told = [*surprising(result.manifest), *filter(None, [result.note])]
        print_notes(told, "warning: ")
        if out is not None and not is_quiet():
            echo(f"{'partial results' if result.interrupted else 'results'} in {out}", err=True)
    return INTERRUPTED if result.interrupted else 0


def _learn(scenario: Scenario, run: Run, took_s: float, cpu_s: float) -> None:
    """Remember the cost of a run: a sweep of its like is forecast from it."""
    if run.directory is not None:
        files = sum(file.stat().st_size for file in run.directory.iterdir() if file.is_file())
        learn(scenario, cpu_s, float(run.manifest["wall_s"] or 0.0) / max(took_s, 1e-9), files)


def expected_bytes(name: str, scenario: Scenario, out: Path | None, capture: Path | None) -> float:
    """Bytes that a run is expected to write: as runs like it did before, and a capture of all links."""
    hops = float(scenario.native.expected_hops())
    tables = float(scenario.native.expected_file_bytes())
    files = run_expected(known(), name, transport_of(scenario), hops, tables).bytes if out is not None else 0.0
    return files + (CAPTURED_BYTES * hops if capture is not None else 0.0)


def ahead(name: str, scenario: Scenario) -> str:
    """Expected duration and memory of a run that takes longer than a moment; empty for others."""
    cost = expected_cost(name, scenario)
    memory = size(scenario.estimate["memory_bytes"])
    return f"{name}: {cost.text}, and {memory} of memory" if cost.seconds >= LONG_S else ""


def _about(name: str, scenario: Scenario) -> str:
    """The run that is about to start, in a line."""
    it = scenario.estimate
    return (
        f"{name}: {it['hosts']} hosts, {it['links']} links, {it['flows']} flows, seed {scenario.seed}, about"
        f" {size(it['memory_bytes'])} of memory and {quantity(scenario.native.expected_hops())} packet-hops;"
        f" digest {scenario.digest[:12]}"
    )


def scaling_table(name: str, found: dict[str, Any]) -> str:
    """Results of `Scenario.scaling`, in words and a table."""
    rows = [("threads", "parts", "windows", "events a window", "speed-up", "without waiting", "what limits it most")]
    for row in found["threads"]:
        if row["parts"] == 1:
            rows.append((str(row["threads"]), "1", "-", "-", "1.0", "1.0", "the network cannot be divided"))
            continue
        events = found["events"] / max(row["windows"], 1)
        ups = (f"{row[key]:.1f}" for key in ("speedup", "speedup_without_waiting"))
        parts = (str(row[key]) for key in ("threads", "parts", "windows"))
        rows.append((*parts, f"{events:.0f}", *ups, row["limit"]))
    lines = in_columns(rows)
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
