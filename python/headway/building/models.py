"""Closed-form models: a function for each, with its keys.

Written by tools/building.py, do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headway.building.parts import Bytes, Duration, Model, Part, Rate, Value, given

__all__ = [
    "amrt_gain",
    "l2dct_backoff",
    "l2dct_cycle",
    "proactmp_credit",
    "rpo_gain",
    "scheduling",
]


def amrt_gain(
    *,
    rate: Rate,
    rtt: Duration,
    packet: Bytes,
    sizes: Sequence[Bytes],
    rate_shares: Sequence[float],
    loss_shares: Sequence[float],
    fixed_rate_share: float | None = None,
) -> Model:
    """AMRT's gain over a transport that never refills a link (AMRT, TNSM 2022, §V).

    rate: of the link (rate)
    rtt: the round trip without queues (duration)
    packet: of a packet (bytes)
    sizes: of flows, a curve each (list of bytes)
    rate_shares: R/C, the share of the link that is left to the flow (list of numbers)
    loss_shares: when the share falls, as a part of the time that the flow would take at full rate: T_R/T_i or T_c/T_i
        (list of numbers)
    fixed_rate_share: R/C where the moment of the loss varies (number; default: `0.5`)
    """
    keys = given(
        rate=rate,
        rtt=rtt,
        packet=packet,
        sizes=sizes,
        rate_shares=rate_shares,
        loss_shares=loss_shares,
        fixed_rate_share=fixed_rate_share,
    )
    return Model("models.amrt_gain", {"name": "amrt-gain", **keys})


def rpo_gain(
    *,
    rate: Rate,
    rtt: Duration,
    packet: Bytes,
    sizes: Sequence[Bytes],
    rate_shares: Sequence[float],
    loss_shares: Sequence[float],
    fixed_rate_share: float | None = None,
) -> Model:
    """RPO's gain over a transport that never refills a link (RPO, ICNP 2021, §V).

    rate: of the link (rate)
    rtt: the round trip without queues (duration)
    packet: of a packet (bytes)
    sizes: of flows, a curve each (list of bytes)
    rate_shares: R/C, the share of the link that is left to the flow (list of numbers)
    loss_shares: when the share falls, as a part of the time that the flow would take at full rate: T_R/T_i or T_c/T_i
        (list of numbers)
    fixed_rate_share: R/C where the moment of the loss varies (number; default: `0.5`)
    """
    keys = given(
        rate=rate,
        rtt=rtt,
        packet=packet,
        sizes=sizes,
        rate_shares=rate_shares,
        loss_shares=loss_shares,
        fixed_rate_share=fixed_rate_share,
    )
    return Model("models.rpo_gain", {"name": "rpo-gain", **keys})


def scheduling(
    *,
    jobs: Sequence[Mapping[str, Value] | Part],
) -> Model:
    """Jobs on one server of rate 1 under three disciplines (L2DCT, INFOCOM 2013, §I).

    jobs: the jobs, each `{ name, arrival, size }` (list of tables)
    """
    keys = given(
        jobs=jobs,
    )
    return Model("models.scheduling", {"name": "scheduling", **keys})


def l2dct_backoff(
    *,
    weights: Sequence[float],
) -> Model:
    """L2DCT's back-off penalty against the share of marked packets (L2DCT, INFOCOM 2013, §II-B).

    weights: weights of flows, a curve each (list of numbers)
    """
    keys = given(
        weights=weights,
    )
    return Model("models.l2dct_backoff", {"name": "l2dct-backoff", **keys})


def l2dct_cycle(
    *,
    rate: Rate,
    rtt: Duration,
    packet: Bytes,
    threshold: float,
    cases: Sequence[Mapping[str, Value] | Part],
) -> Model:
    """L2DCT's steady state: the window of synchronised flows (L2DCT, INFOCOM 2013, §II-C).

    rate: of the link (rate)
    rtt: the round trip without queues (duration)
    packet: of a packet (bytes)
    threshold: marking threshold, in packets (number)
    cases: the flows, each `{ flows, weight, increase }`, a curve each (list of tables)
    """
    keys = given(
        rate=rate,
        rtt=rtt,
        packet=packet,
        threshold=threshold,
        cases=cases,
    )
    return Model("models.l2dct_cycle", {"name": "l2dct-cycle", **keys})


def proactmp_credit(
    *,
    packets: Sequence[int],
    spans: Sequence[float],
) -> Model:
    """Credit that ProactMP's receiver gives first packets before any has come back (ProactMP, TNSM 2024, §III-C).

    packets: first packets that arrive, a curve each; at least 2 (list of counts)
    spans: time over which they arrive, in one-way delays; from 0 to 2 (list of numbers)
    """
    keys = given(
        packets=packets,
        spans=spans,
    )
    return Model("models.proactmp_credit", {"name": "proactmp-credit", **keys})
