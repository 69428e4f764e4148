"""NewReno with selective acknowledgements against ns-2's: two long flows, and speed on a leaf-spine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import ns2
import pytest
from ns2 import PAYLOAD
from test_ns3 import leaf_spine, two_long

import support
from support import Case, Flow

PERCENT = 5
# ns-2's one-way TCP starts without handshake; its hosts are FIFOs.
SAME = (("initial_window", 2), ("prime_rtt", False))


def beside(case: Case, folder: Path) -> tuple[support.Outcome, ns2.Outcome]:
    """Headway's outcome and ns-2's."""
    try:
        theirs = ns2.run(case)
    except support.Missing as reason:
        pytest.skip(str(reason))
    return support.run_headway(replace(case, params=SAME), folder), theirs


def test_two_long_flows(tmp_path: Path) -> None:
    case = replace(two_long("tcp"), flows=(Flow(0, 2, 1 << 40), Flow(1, 2, 1 << 40, 1_000_000)))
    ours, theirs = beside(case, tmp_path)
    goodput = ours.goodput_bps(case)
    print(f"\ntwo long flows: throughput {goodput / 1e6:.2f} Mb/s, ns-2 {theirs.goodput_bps / 1e6:.2f}")
    print(f"  mean queue: {ours.queue_packets:.1f} packets, ns-2 {theirs.queue_packets:.1f}")
    assert goodput == pytest.approx(theirs.goodput_bps, rel=PERCENT / 100)
    assert ours.queue_packets == pytest.approx(theirs.queue_packets, rel=PERCENT / 100)


def test_speed_on_the_leaf_spine(tmp_path: Path) -> None:
    """Packet-hops a second of processor time; reported, not asserted: it depends on the machine.

    Headway's set-up and results are included, ns-2's set-up is not. Messages are 20 times as long as in the comparison
    with ns-3, and as far apart; ns-2 counts packets.
    """
    case = leaf_spine("tcp", 800)
    longer = tuple(replace(f, size=20 * -(-f.size // PAYLOAD) * PAYLOAD, start_ns=20 * f.start_ns) for f in case.flows)
    case = replace(case, flows=longer, stop_ns=20 * case.stop_ns)
    ours, theirs = beside(case, tmp_path)
    hops = theirs.hops(case)
    rates = [ours.hops / ours.cpu_s, hops / theirs.cpu_s]
    print(
        f"\nNewReno on 64 hosts: Headway {rates[0]:.3g} packet-hops/s, ns-2 {rates[1]:.3g}, {rates[0] / rates[1]:.2f} x"
    )
    assert all(count >= f.size // PAYLOAD for count, f in zip(theirs.acknowledged, case.flows, strict=True))
    assert ours.hops == pytest.approx(hops, rel=0.05)
