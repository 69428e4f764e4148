"""Two BBR flows that start a little apart against the Linux kernel's, over one port of 100 Mb/s and 100 packets."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kernel import Measured

RATE_MBPS, BUFFER = 100, 100
# Before either of them looks for the round trip again.
SKIP_S, LAST_S = 1, 9.5
GAPS_MS = (0.5, 2, 10, 50, 100)


@pytest.mark.parametrize("gap_ms", GAPS_MS)
def test_what_two_flows_of_the_kernel_get(gap_ms: float, transfer: Callable[..., Measured]) -> None:
    """Prints the numbers for scenarios/peers/linux-tcp; which of the two gets more is a matter of chance."""
    kernel = transfer("bbr", (0.0, gap_ms / 1e3), RATE_MBPS, BUFFER, SKIP_S, LAST_S)
    first, second = (bits / 1e6 for bits in kernel.goodput_bps)
    print(f"{gap_ms} ms apart: {first:.1f} and {second:.1f} Mb/s, {kernel.round_trip_s * 1e3:.2f} ms")
    assert first + second == pytest.approx(95.6, rel=0.05)
