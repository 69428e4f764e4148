"""Tools and packages that a test needs and that may be absent. Each is told once, in a line at the end of a run."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable
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
    """Where a program is; the test is skipped if there is none."""
    return shutil.which(name) or lack(name, how)


def package(name: str, extra: str) -> Any:  # noqa: ANN401  (a module)
    """A package of an extra that only the long tests install."""
    return pytest.importorskip(
        name, reason=absent(f"the package {name.partition('.')[0]}", f"pip install '.[{extra}]'")
    )


def told(reasons: Iterable[str]) -> list[str]:
    """What was skipped, in a line for all tools that are absent, and one for each other reason."""
    counts = Counter(reason.removeprefix("Skipped: ") for reason in reasons)
    tools = [f"{reason.removeprefix(BEGINS)}: {n}" for reason, n in counts.items() if reason.startswith(BEGINS)]
    lines = [f"skipped, as a tool is absent: {'; '.join(sorted(tools))}"] if tools else []
    return lines + [f"skipped: {reason}: {n}" for reason, n in counts.items() if not reason.startswith(BEGINS)]
