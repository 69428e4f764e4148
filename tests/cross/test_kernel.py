"""NewReno and CUBIC against the Linux kernel's over one port of 100 Mb/s and 100 packets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from kernel import FRAME, Measured

from support import Scenario

RATE_MBPS, BUFFER, SKIP_S, LAST_S = 100, 100, 10, 40
PERCENT = 5
# The kernel's names for the transports.
CONTROLS = {"tcp": "reno", "cubic": "cubic"}

SCENARIO = """
title = "A kernel's path"
stop = "{last} s"
[topology]
kind = "dumbbell"
senders = {flows}
receivers = 1
rate = "10 Gbps"
delay = "5 us"
bottleneck_rate = "{rate} Mbps"
[fabric]
discipline = "drop-tail"
buffer = "{buffer} packets"
control_buffer = "100000 packets"
payload = 1448
header = 52
framing = 14
control = 66
[transport]
name = "{name}"
preset = "linux-4.19"
[[traffic]]
kind = "many-to-many"
senders = {flows}
receivers = [{flows}]
bytes = "1 TB"
[sample]
every = "1 ms"
flows = "none"
links = ["s0->s1"]
"""


def simulated(name: str, flows: int) -> tuple[float, float]:
    """Goodput in bits a second and the mean queueing delay in seconds, after the first seconds."""
    text = SCENARIO.format(last=LAST_S, flows=flows, rate=RATE_MBPS, buffer=BUFFER, name=name)
    series = Scenario.from_text(text, "kernel").run().series.to_polars()
    late = series.filter(series["t_s"] > SKIP_S)
    means = dict(late.group_by("metric").agg(pl.col("value").mean()).iter_rows())
    return means["utilisation"] * RATE_MBPS * 1e6 * 1448 / FRAME, means["queue_bytes"] * 8 / (RATE_MBPS * 1e6)


@pytest.mark.parametrize("flows", [1, 2])
@pytest.mark.parametrize("name", CONTROLS)
def test_throughput_and_queueing_delay_are_the_kernels(
    name: str, flows: int, transfer: Callable[..., Measured], tmp_path: Path
) -> None:
    kernel = transfer(CONTROLS[name], (0.0,) * flows, RATE_MBPS, BUFFER, SKIP_S, LAST_S)
    goodput, delay = simulated(name, flows)
    # A packet's own transmission is in the kernel's round trip, and not in a queue.
    measured = kernel.round_trip_s - 8 * FRAME / (RATE_MBPS * 1e6)
    print(f"{name}, {flows} flows: kernel {sum(kernel.goodput_bps) / 1e6:.2f} Mb/s, {measured * 1e3:.2f} ms; "
          f"Headway {goodput / 1e6:.2f} Mb/s, {delay * 1e3:.2f} ms")  # fmt: skip
    assert goodput == pytest.approx(sum(kernel.goodput_bps), rel=PERCENT / 100)
    assert delay == pytest.approx(measured, rel=PERCENT / 100)
