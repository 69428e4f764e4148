"""Uncoupled MPTCP against the Linux kernel's over two links of 100 Mb/s and 100 packets each."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import pytest

from headway.loading import Scenario

RATE_MBPS, BUFFER, SKIP_S, LAST_S = 100, 100, 5, 20
PERCENT = 5
# The kernel's names for the controllers of the subflows.
CONTROLS = {"mptcp-reno": "reno", "mptcp-cubic": "cubic"}

# A frame of the kernel is 1514 bytes: 1428 of data, and 72 of headers with time stamps and MPTCP's option.
SCENARIO = """
title = "A kernel's two paths"
stop = "{last} s"
[topology]
kind = "leaf-spine"
racks = 2
hosts_per_rack = 1
spines = 2
host_rate = "10 Gbps"
host_delay = "5 us"
spine_rate = "{rate} Mbps"
spine_delay = "5 us"
[fabric]
discipline = "drop-tail"
buffer = "{buffer} packets"
control_buffer = "100000 packets"
routing = "pinned"
payload = 1428
header = 72
framing = 14
control = 86
[transport]
name = "{name}"
preset = "linux-4.19"
path_manager = "full-mesh"
[[traffic]]
kind = "flows"
flows = [{{ src = 0, dst = 1, bytes = "1 TB", start = "0 s", path = 0 }}]
[sample]
every = "10 ms"
flows = "all"
links = []
"""


def simulated(name: str) -> float:
    """Goodput in bits a second, after the first seconds."""
    text = SCENARIO.format(last=LAST_S, rate=RATE_MBPS, buffer=BUFFER, name=name)
    series = Scenario.from_text(text, "kernel").run().series.to_polars()
    late = series.filter((series["t_s"] > SKIP_S) & (series["metric"] == "throughput_bps"))
    return float(late.select(pl.col("value").mean()).item())


@pytest.mark.parametrize("name", CONTROLS)
def test_two_paths_carry_what_the_kernels_carry(name: str, multipath: Callable[..., float]) -> None:
    kernel = multipath(CONTROLS[name], RATE_MBPS, BUFFER, SKIP_S, LAST_S)
    ours = simulated(name)
    print(f"{name}: kernel {kernel / 1e6:.1f} Mb/s, Headway {ours / 1e6:.1f} Mb/s")
    assert ours == pytest.approx(kernel, rel=PERCENT / 100)
