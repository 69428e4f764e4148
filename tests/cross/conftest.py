"""Skip comparisons that need something this machine lacks, with the reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import kernel
import pytest

import support


@pytest.fixture
def both(tmp_path: Path) -> Callable[[support.Case], tuple[support.Outcome, support.Outcome]]:
    """Headway's outcome and ns-3's of one case."""

    def run(case: support.Case) -> tuple[support.Outcome, support.Outcome]:
        try:
            theirs = support.run_ns3(case)
        except support.Missing as reason:
            pytest.skip(str(reason))
        return support.run_headway(support.headway_case(case), tmp_path), theirs

    return run


@pytest.fixture
def transfer() -> Callable[..., kernel.Measured]:
    """Bulk flows of the kernel's TCP."""

    def run(
        control: str, starts_s: tuple[float, ...], rate_mbps: int, buffer: int, skip_s: float, last_s: float
    ) -> kernel.Measured:
        try:
            return kernel.transfer(control, starts_s, rate_mbps, buffer, skip_s, last_s)
        except kernel.Missing as reason:
            pytest.skip(str(reason))

    return run


@pytest.fixture
def multipath() -> Callable[..., float]:
    """One connection of the kernel's MPTCP."""

    def run(control: str, rate_mbps: int, buffer: int, skip_s: float, last_s: float) -> float:
        try:
            return kernel.multipath(control, rate_mbps, buffer, skip_s, last_s)
        except kernel.Missing as reason:
            pytest.skip(str(reason))

    return run
