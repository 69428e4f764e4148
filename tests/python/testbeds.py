"""Runs on real packets for tests: checks of the machine, and the processes of a run.

Other testbeds may run on the machine at the same time: only processes below the one that a test started count.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

import lacking
from support import LIMIT

PROGRAMS = Path(sys.executable).parent


def need_programs() -> None:
    """Skip the test where the programs for real packets have not been built."""
    if not (PROGRAMS / "headway-testbed").is_file():
        lacking.lack("headway-testbed", "`make install` builds it, on Linux")


def need_testbed() -> None:
    """Skip the test where this machine cannot run a testbed; the reason is the program's own."""
    need_programs()
    probe = subprocess.run(
        [PROGRAMS / "headway-testbed", "--probe"], capture_output=True, text=True, check=False, timeout=LIMIT
    )
    if probe.returncode != 0:
        pytest.skip(probe.stderr.strip().removeprefix("headway-testbed: "))


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, f"not within {LIMIT} s: {what}"
        time.sleep(0.02)


@dataclass(frozen=True)
class Member:
    """A process, told from later ones of the same number by its start."""

    pid: int
    parent: int
    name: str
    started: str

    @property
    def alive(self) -> bool:
        """True if it is there, and not just waiting to be collected."""
        found = _member(self.pid)
        return found is not None and found.started == self.started


def _member(pid: int) -> Member | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The name stands in parentheses and may hold anything.
    name, _, rest = text.partition("(")[2].rpartition(")")
    fields = rest.split()
    return None if fields[0] in "ZX" else Member(pid, int(fields[1]), name, fields[19])


def _everyone() -> list[Member]:
    found = (_member(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [member for member in found if member is not None]


def family(root: int) -> list[Member]:
    """The processes below one, at any depth."""
    everyone = _everyone()
    below, size = {root}, 0
    while len(below) > size:
        size = len(below)
        below |= {member.pid for member in everyone if member.parent in below}
    return [member for member in everyone if member.pid in below and member.pid != root]


def namespace(pid: int) -> str | None:
    """The network namespace of a process; `None` when it is gone."""
    try:
        return str(Path(f"/proc/{pid}/ns/net").readlink())
    except OSError:
        return None


@dataclass(frozen=True)
class Underway:
    """A run that sends packets."""

    process: subprocess.Popen[str]
    members: list[Member]
    namespaces: set[str]

    def member(self, name: str) -> Member:
        """Its first process of that program."""
        return next(m for m in self.members if m.name == name)

    def check_nothing_is_left(self) -> None:
        """Wait until every process is gone, and all of the namespaces are empty.

        The kernel gives the number of a namespace that is gone to the next one: a process that started later is of
        another run.
        """
        until(lambda: not any(m.alive for m in self.members), f"the end of {self.members}")
        now = int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
        left = [m for m in _everyone() if int(m.started) <= now and namespace(m.pid) in self.namespaces]
        until(lambda: not any(m.alive for m in left), f"the end of {left}, which are in namespaces of the testbed")


@contextmanager
def underway(scenario: Path, capture: Path, *arguments: str) -> Iterator[Underway]:
    """Start a run and wait until its packets flow. Whatever the test does, its processes end."""
    own = namespace(os.getpid())
    command = [sys.executable, "-m", "headway", "testbed", "run", str(scenario), "--capture", str(capture), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        until(
            lambda: process.poll() is not None or (capture.exists() and capture.stat().st_size > 20_000),
            "packets in the capture",
        )
        assert process.poll() is None, process.communicate()
        seen: list[Underway] = []

        def is_whole() -> bool:
            """True if each agent has a namespace. One that is just beginning has another name, or place."""
            members = family(process.pid)
            spaces = {space for m in members if (space := namespace(m.pid)) is not None and space != own}
            seen.append(Underway(process, members, spaces))
            return len(spaces) == 1 + sum(m.name == "headway-agent" for m in members)

        until(is_whole, "a namespace for each host, and one for the switch")
        yield seen[-1]
    finally:
        left = [member.pid for member in family(process.pid)]
        process.kill()
        process.communicate(timeout=LIMIT)
        for pid in left:
            if any(m.pid == pid and m.name.startswith("headway") for m in _everyone()):
                os.kill(pid, 9)
