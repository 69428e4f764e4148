"""Tools and packages that a test needs and that may be absent. Each is reported once, in a line at the end of a run."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

import pytest

BEGINS = "absent: "


def absent(tool: str, how: str = "") -> str:
    """The reason for which a test is skipped; tests that lack the same thing say the same words."""
    return f"{BEGINS}{tool}{f' ({how})' if how else ''}"


def lack(tool: str, how: str = "") -> NoReturn:
    """Skip the test that calls."""
    pytest.skip(absent(tool, how))


def program(name: str, how: str = "") -> str:
    """Path of a program; the test is skipped if there is none."""
    return shutil.which(name) or lack(name, how)


def package(name: str, extra: str) -> Any:  # noqa: ANN401  (a module)
    """A package of an extra that only the long tests install."""
    return pytest.importorskip(
        name, reason=absent(f"the package {name.partition('.')[0]}", f"pip install '.[{extra}]'")
    )


def told(reasons: Iterable[str]) -> list[str]:
    """Skipped tests, in a line for all tools that are absent, and one for each other reason.

    `make test` prints that first line itself, for the tests of both languages: it names a file in `HEADWAY_ABSENT`.
    """
    counts = Counter(reason.removeprefix("Skipped: ") for reason in reasons)
    lacked = Counter({reason.removeprefix(BEGINS): n for reason, n in counts.items() if reason.startswith(BEGINS)})
    if everyone := os.environ.get("HEADWAY_ABSENT"):
        with Path(everyone).open("a", encoding="utf-8") as file:
            file.writelines(f"{reason}\n" for reason in lacked.elements())
        lacked.clear()
    tools = "; ".join(sorted(f"{reason}: {n}" for reason, n in lacked.items()))
    lines = [f"skipped, as a tool is absent: {tools}"] if tools else []
    return lines + [f"skipped: {reason}: {n}" for reason, n in counts.items() if not reason.startswith(BEGINS)]
