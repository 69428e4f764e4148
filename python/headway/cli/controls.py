"""The congestion controls by BPF that a scenario on real packets asks for, loaded meanwhile as it sets them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError
from headway.loading import Scenario
from headway.programs import program

PROGRAM = "headway-kernel"
CONTROLS = ("l2dct", "dctcp", "d2tcp", "vegas")
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
END_S = 20.0


@contextmanager
def controls_of(scenario: Scenario) -> Iterator[None]:
    """Have the kernel offer every control that the scenario's flows ask for, with their settings, inside the block.

    One that is there already is used as it is if the scenario sets nothing. Raises `HeadwayError` otherwise: what its
    settings are cannot be read.
    """
    with ExitStack() as stack:
        for name, settings in asked_for(scenario.resolved).items():
            if name not in _available():
                stack.enter_context(_loaded(name, settings))
            elif settings:
                shown = ", ".join(f"{key}={value}" for key, value in settings.items())
                raise HeadwayError(
                    f"the congestion control `{name}` is loaded already, and not known to have {shown}: "
                    f"end its `headway kernel load`, or `headway kernel unload {name}`"
                )
        yield


def asked_for(resolved: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The settings of each control of ours that entries of a resolved scenario ask for."""
    found: dict[str, dict[str, Any]] = {}
    for entry in resolved.get("traffic") or ():
        name = entry.get("congestion")
        if name not in CONTROLS:
            continue
        settings = dict(entry.get("settings") or {})
        if found.setdefault(name, settings) != settings:
            raise HeadwayError(f"two entries ask for `{name}` with different settings: the kernel has one of that name")
    return found


def _available() -> list[str]:
    try:
        return AVAILABLE.read_text(encoding="utf-8").split()
    except OSError:
        return []


@contextmanager
def _loaded(name: str, settings: Mapping[str, Any]) -> Iterator[None]:
    """Hold a control; it is gone with the process that holds it."""
    sets = [f"--set={key}={_text(value)}" for key, value in settings.items()]
    command = [str(program(PROGRAM)), "load", name, *sets]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            if not process.stdout.readline():
                raise HeadwayError(process.stderr.read().strip().removeprefix("error: "))
            yield
        finally:
            process.terminate()
            try:
                process.wait(timeout=END_S)
            except subprocess.TimeoutExpired:
                process.kill()


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
