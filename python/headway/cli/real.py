"""The program `headway-testbed`, which `make install` puts next to this command line, and the reader of its output."""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import IO, Any

from headway.cli.echo import echo
from headway.cli.terminal import Progress, Stop
from headway.errors import HeadwayError, NameNotFound
from headway.loading import Scenario
from headway.programs import program

FAILED = 1
INTERRUPTED = 130
PROGRAM = "headway-testbed"


def probe() -> None:
    """Raise `HeadwayError`, with the program's own sentence, where this machine cannot run a testbed."""
    done = subprocess.run([str(program(PROGRAM)), "--probe"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise HeadwayError(done.stderr.strip().removeprefix(f"{PROGRAM}: "))


def variant_sets(scenario: Scenario, variant: str) -> Sequence[str]:
    """Overrides of a variant, as arguments."""
    # A scenario without variants has points all the same, which are called by their transport.
    if not scenario.native.variants():
        raise HeadwayError(f"the scenario has no variants, and so no {variant!r}; --set changes single keys of it")
    known = {point.variant: point for point in scenario.points()}
    if variant not in known:
        raise NameNotFound("variant", variant, known, f"all variants: {', '.join(known)}")
    swept = {"seed", *known[variant].axes}
    return [text for text in known[variant].sets if text.split("=", 1)[0] not in swept]


def arguments(
    path: Path,
    sets: Sequence[str],
    out: Path | None,
    scale: str | None,
    slowdown: int | None,
    capture: Path | None = None,
    io: str | None = None,
    *,
    sealed: bool = False,
    csv: bool = False,
    ideal: bool = False,
    simulated: bool = True,
) -> list[str]:
    """The command that runs a scenario on real packets, and in the simulator as well if `simulated` is true.

    `ideal` has windows go by the topology's base round trips instead of measured ones.
    """
    found = [str(program(PROGRAM)), str(path), "--managed", *(f"--set={text}" for text in sets)]
    found += [f"--out={out}"] if out is not None else []
    found += [f"--scale={scale}"] if scale is not None else []
    found += [f"--slowdown={slowdown}"] if slowdown is not None else []
    found += [f"--capture={capture}"] if capture is not None else []
    found += [f"--io={io}"] if io is not None else []
    found += ["--sealed"] if sealed else []
    found += ["--ideal-round-trips"] if ideal else []
    found += [] if simulated else ["--no-simulator"]
    return [*found, "--csv"] if csv else found


def conditions(command: Sequence[str]) -> dict[str, Any]:
    """Conditions that distinguish the run of `command` from others of the same scenario, as `testbed` of its manifest
    has it."""
    done = subprocess.run([*command, "--conditions"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise HeadwayError(done.stderr.strip().removeprefix(f"{PROGRAM}: "))
    return dict(json.loads(done.stdout))


class _StopProgram(Stop):
    """On the first Ctrl-C, closes the program's standard input: the program then stops and reports what it has."""

    def __init__(self) -> None:
        super().__init__()
        self.orders: IO[str] | None = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        super()._handle(number, frame)
        if self.orders is not None:
            self.orders.close()


def measure(name: str, command: list[str]) -> tuple[int, dict[str, Any] | None]:
    """Exit status, and the last line: both summaries; raises the error that the program reports, `None` if it was
    killed."""
    last: dict[str, Any] | None = None
    # Its complaints are shown when the bar is gone.
    with tempfile.TemporaryFile("w+", encoding="utf-8") as complaints:
        with (
            _StopProgram().listening() as stop,
            Progress() as bars,
            # A session of its own: Ctrl-C reaches it through us, once.
            subprocess.Popen(
                command,
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
    echo(f"error: {PROGRAM} was killed by {killer}; its processes and namespaces went with it", err=True)
    return FAILED, None


def _fraction(state: dict[str, Any]) -> dict[str, Any]:
    by_time = state["virtual_s"] / state["stop_s"] if state["stop_s"] else 0.0
    by_flows = state["flows_done"] / state["flows_total"] if state["flows_total"] else 0.0
    return {**state, "fraction": min(max(by_time, by_flows), 1.0)}
