"""Disciplines of ports: a function for each, with its parameters.

Written by tools/building.py, do not edit.
"""

from __future__ import annotations

from typing import Literal

from headway.building.parts import Bytes, Discipline, Duration, given

__all__ = [
    "anti_ecn",
    "core_ecn",
    "credit_shaping",
    "cross_queue_ecn",
    "drop_tail",
    "ecn_threshold",
    "explicit_rate",
    "fair_queue",
    "priority_buffers",
    "red_ecn",
    "selective_credit_shaping",
    "selective_drop",
    "strict_priority",
    "trimming",
    "trimming_core_ecn",
    "trimming_ecn",
]


def drop_tail() -> Discipline:
    """One first-in first-out queue, tail drop."""
    return Discipline("disciplines.drop_tail", {"discipline": "drop-tail"})


def strict_priority(
    *,
    levels: int | None = None,
    control_apart: bool | None = None,
) -> Discipline:
    """Strict priority queues, data classes share one tail-drop buffer (pHost, CoNEXT 2015; Homa, SIGCOMM 2018).

    levels: Number of queues; packets of a higher class than the last share the last (a whole number from 1 to 31;
        default: `9`)
    control_apart: Whether control has the first queue for itself, or shares it with the first class of data (true or
        false; default: `true`)
    """
    keys = given(
        levels=levels,
        control_apart=control_apart,
    )
    return Discipline("disciplines.strict_priority", {"discipline": "strict-priority", **keys})


def anti_ecn(
    *,
    rule: Literal["exceeds", "any-gap", "half-slot", "full-slot", "literal"] | None = None,
    gap_bytes: Bytes | None = None,
) -> Discipline:
    """Control before data, tail drop; data keeps its mark only after an idle gap (AMRT, IEEE TNSM 2022 §IV-A).

    rule: Which gaps keep a mark. AMRT §IV-A eq. 1 (exceeds, any-gap, half-slot, full-slot, literal; default:
        `"exceeds"`)
    gap_bytes: Bytes of the packet that a gap must have room for; 0 = a full frame, or 1500 under `literal` (bytes, such
        as 1500 or "1 MB", from 0 to 65535; default: `0`)
    """
    keys = given(
        rule=rule,
        gap_bytes=gap_bytes,
    )
    return Discipline("disciplines.anti_ecn", {"discipline": "anti-ecn", **keys})


def ecn_threshold(
    *,
    threshold: int | None = None,
    in_service: bool | None = None,
    mark_at: Literal["enqueue", "dequeue"] | None = None,
) -> Discipline:
    """One queue, tail drop; marks ECN-capable data while the queue is K packets or longer (DCTCP, SIGCOMM 2010 §3.1).

    threshold: K: packets in the queue from which on data is marked; 20 at 1 Gb/s, 65 at 10 Gb/s. DCTCP §3.5 (a whole
        number from 1 to 1000000; default: `20`)
    in_service: Whether the packet on the wire counts (true or false; default: `true`)
    mark_at: When the length is looked at (enqueue, dequeue; default: `"enqueue"`)
    """
    keys = given(
        threshold=threshold,
        in_service=in_service,
        mark_at=mark_at,
    )
    return Discipline("disciplines.ecn_threshold", {"discipline": "ecn-threshold", **keys})


def selective_drop(
    *,
    threshold: int | None = None,
    in_service: bool | None = None,
    levels: int | None = None,
) -> Discipline:
    """Strict priority queues; unscheduled packets are dropped while a few packets wait (Aeolus, SIGCOMM 2020).

    threshold: Data packets that wait from which on unscheduled ones are dropped; 4 full packets are 6 kB (a whole
        number from 1 to 1000000; default: `4`)
    in_service: Whether the packet on the wire counts (true or false; default: `false`)
    levels: Number of queues; packets of a higher class than the last share the last (a whole number from 1 to 31;
        default: `9`)
    """
    keys = given(
        threshold=threshold,
        in_service=in_service,
        levels=levels,
    )
    return Discipline("disciplines.selective_drop", {"discipline": "selective-drop", **keys})


def trimming(
    *,
    variant: Literal["paper", "csg-htsim"] | None = None,
    headers_per_data: int | None = None,
    bounce: Literal["variant", "on", "off"] | None = None,
    victim: Literal["coin", "arrival", "last"] | None = None,
    count_wire: Literal["variant", "on", "off"] | None = None,
) -> Discipline:
    """Full data queues trim packets to headers, served 10:1 with data; headers without room go back (NDP, SIGCOMM 2017
    §3.1).

    variant: Whose switch: what the other parameters are unless they say, and the default buffers (paper, csg-htsim;
        default: `"paper"`)
    headers_per_data: Headers served for each data packet while both wait; 0 = as the variant has it (10, or no bound).
        NDP §3.1 (a whole number from 0 to 1000000; default: `0`)
    bounce: Headers without room go back to their sender. NDP §3.2.4 (variant, on, off; default: `"variant"`)
    victim: What is trimmed when the data queue is full. NDP §3.1 (coin, arrival, last; default: `"coin"`)
    count_wire: The packet on the wire counts as waiting (variant, on, off; default: `"variant"`)
    """
    keys = given(
        variant=variant,
        headers_per_data=headers_per_data,
        bounce=bounce,
        victim=victim,
        count_wire=count_wire,
    )
    return Discipline("disciplines.trimming", {"discipline": "trimming", **keys})


def explicit_rate(
    *,
    alpha: float | None = None,
    beta: float | None = None,
    gamma: float | None = None,
    initial_rate: float | None = None,
    period: Duration | None = None,
    rtt: Duration | None = None,
) -> Discipline:
    """One queue, tail drop; computes one rate for all flows and lowers what packets carry to it (RCP, IWQoS 2005, and
    the authors' ns-2 code).

    alpha: Weight of the spare rate (a number from 0.001 to 2; default: `0.4`)
    beta: Weight of the waiting bytes (a number from 0 to 2; default: `0.4`)
    gamma: Share of the link's rate to fill (a number from 0.05 to 1; default: `1.0`)
    initial_rate: Rate given before anything is measured, as a share of the link's; 0.05 in the authors' code (a number
        from 0.001 to 1; default: `1.0`)
    period: Longest interval between two computations; they are a mean round trip apart if that is shorter (a duration
        with a unit, such as "40 us", from 0 s to 86400 s; default: `"10 ms"`)
    rtt: Round trip before one is measured; 0 = none is computed with until then (a duration with a unit, such as "40
        us", from 0 s to 86400 s; default: `"0 s"`)
    """
    keys = given(
        alpha=alpha,
        beta=beta,
        gamma=gamma,
        initial_rate=initial_rate,
        period=period,
        rtt=rtt,
    )
    return Discipline("disciplines.explicit_rate", {"discipline": "explicit-rate", **keys})


def cross_queue_ecn(
    *,
    round_trip: Duration | None = None,
    mark_when: Literal["reaches", "exceeds", "exceeds-or-any"] | None = None,
    drop: Literal["unscheduled", "all", "off"] | None = None,
    drop_threshold: int | None = None,
    push_out: bool | None = None,
    low_limit: int | None = None,
) -> Discipline:
    """Normal packets first, marked by the length of the opportunistic queue behind them (RPO, ICNP 2021 §IV-B).

    round_trip: Time over which the rate of normal packets is measured, and k holds; 0 = the longest base round trip of
        the first host. RPO §IV-B (a duration with a unit, such as "40 us", from 0 s to 86400 s; default: `"0 s"`)
    mark_when: When a normal packet is marked. RPO §IV-B (reaches, exceeds, exceeds-or-any; default: `"exceeds"`)
    drop: Which normal packets are dropped at the threshold. RPO §IV-A (unscheduled, all, off; default: `"unscheduled"`)
    drop_threshold: Normal packets that wait already when one more is dropped, the one on the wire not counted. RPO
        §IV-A (a whole number from 1 to 1000000; default: `1`)
    push_out: A normal packet that finds the buffer full takes the place of the last opportunistic one (true or false;
        default: `true`)
    low_limit: Opportunistic packets that may wait; 0 = half the buffer, and at most twice what the link carries in a
        round trip (a whole number from 0 to 1000000; default: `0`)
    """
    keys = given(
        round_trip=round_trip,
        mark_when=mark_when,
        drop=drop,
        drop_threshold=drop_threshold,
        push_out=push_out,
        low_limit=low_limit,
    )
    return Discipline("disciplines.cross_queue_ecn", {"discipline": "cross-queue-ecn", **keys})


def credit_shaping(
    *,
    credit_queue: int | None = None,
    credit_burst: int | None = None,
    credit_bytes: Bytes | None = None,
) -> Discipline:
    """A short queue of credits at the rate whose data fills the link, before a queue of everything else (ExpressPass,
    SIGCOMM 2017 §3).

    credit_queue: Credits of usual size that wait at most; their bytes are what counts (a whole number from 1 to
        1000000; default: `8`)
    credit_burst: Credits of usual size that may follow each other without a gap: the depth of the token bucket (a whole
        number from 1 to 1000000; default: `2`)
    credit_bytes: Bytes of a usual credit, framing included; 0 = those of a control packet. The mean, where sizes vary
        (bytes, such as 1500 or "1 MB", from 0 to 16384; default: `0`)
    """
    keys = given(
        credit_queue=credit_queue,
        credit_burst=credit_burst,
        credit_bytes=credit_bytes,
    )
    return Discipline("disciplines.credit_shaping", {"discipline": "credit-shaping", **keys})


def selective_credit_shaping(
    *,
    credit_queue: int | None = None,
    credit_burst: int | None = None,
    credit_bytes: Bytes | None = None,
    threshold: int | None = None,
    in_service: bool | None = None,
) -> Discipline:
    """Credit shaping; unscheduled packets are dropped while a few packets wait (Aeolus, SIGCOMM 2020 §4, over
    ExpressPass, SIGCOMM 2017 §3).

    credit_queue: Credits of usual size that wait at most; their bytes are what counts (a whole number from 1 to
        1000000; default: `8`)
    credit_burst: Credits of usual size that may follow each other without a gap: the depth of the token bucket (a whole
        number from 1 to 1000000; default: `2`)
    credit_bytes: Bytes of a usual credit, framing included; 0 = those of a control packet. The mean, where sizes vary
        (bytes, such as 1500 or "1 MB", from 0 to 16384; default: `0`)
    threshold: Data packets that wait from which on unscheduled ones are dropped; 4 full packets are 6 kB (a whole
        number from 1 to 1000000; default: `4`)
    in_service: Whether the packet on the wire counts (true or false; default: `false`)
    """
    keys = given(
        credit_queue=credit_queue,
        credit_burst=credit_burst,
        credit_bytes=credit_bytes,
        threshold=threshold,
        in_service=in_service,
    )
    return Discipline("disciplines.selective_credit_shaping", {"discipline": "selective-credit-shaping", **keys})


def fair_queue(
    *,
    flow: Literal["subflow", "message", "hosts"] | None = None,
    quantum: Bytes | None = None,
    new_first: bool | None = None,
    flow_limit: int | None = None,
    threshold: int | None = None,
    gives_way: Literal["first", "last"] | None = None,
) -> Discipline:
    """A queue for each flow, served in turn by bytes; when full, the longest queue gives way (DRR, SIGCOMM 1995 §3;
    FQ-CoDel, RFC 8290 §4, without CoDel).

    flow: Which packets are of one flow (subflow, message, hosts; default: `"subflow"`)
    quantum: Bytes that a flow may send a turn, framing included; 0 = one full packet. DRR §3 (bytes, such as 1500 or "1
        MB", from 0 to 1000000; default: `0`)
    new_first: Whether a flow that begins to wait is served ahead of those that have had a turn. RFC 8290 §4.2 (true or
        false; default: `false`)
    flow_limit: Packets of a flow that may wait; 0 = as many as the buffer holds (a whole number from 0 to 1000000;
        default: `0`)
    threshold: Packets of a flow that wait already from which on its ECN-capable data is marked; 0 = nothing is (a whole
        number from 0 to 1000000; default: `0`)
    gives_way: Which packet of the longest queue gives way where the buffer is full (first, last; default: `"first"`)
    """
    keys = given(
        flow=flow,
        quantum=quantum,
        new_first=new_first,
        flow_limit=flow_limit,
        threshold=threshold,
        gives_way=gives_way,
    )
    return Discipline("disciplines.fair_queue", {"discipline": "fair-queue", **keys})


def priority_buffers(
    *,
    levels: int | None = None,
    control_apart: bool | None = None,
    class_packets: int | None = None,
    push_out: bool | None = None,
) -> Discipline:
    """Strict priority queues with a limit for each class; when full, the least urgent data gives way (Homa, SIGCOMM
    2018, whose switches are taken not to drop).

    levels: Number of queues; packets of a higher class than the last share the last (a whole number from 1 to 31;
        default: `9`)
    control_apart: Whether control has the first queue for itself, or shares it with the first class of data (true or
        false; default: `true`)
    class_packets: Packets of one class that may wait, when one of data arrives; 0 = as many as the buffer holds (a
        whole number from 0 to 1000000; default: `0`)
    push_out: Whether data that finds the buffer full takes the place of data of the least urgent class (true or false;
        default: `true`)
    """
    keys = given(
        levels=levels,
        control_apart=control_apart,
        class_packets=class_packets,
        push_out=push_out,
    )
    return Discipline("disciplines.priority_buffers", {"discipline": "priority-buffers", **keys})


def core_ecn(
    *,
    levels: int | None = None,
    control_apart: bool | None = None,
    threshold: Bytes | None = None,
    round_trip: Duration | None = None,
    mark_to_hosts: bool | None = None,
) -> Discipline:
    """Strict priority queues; marks ECN-capable data at ports between switches while enough data waits (SIRD, NSDI
    2025).

    levels: Number of queues; packets of a higher class than the last share the last (a whole number from 1 to 31;
        default: `9`)
    control_apart: Whether control has the first queue for itself, or shares it with the first class of data (true or
        false; default: `true`)
    threshold: Bytes of data that wait from which on data is marked; 0 = 1.25 round trips of the port's rate. SIRD's
        simulator: 123 kB at 100 Gb/s (bytes, such as 1500 or "1 MB", from 0 to 1099511627776; default: `0`)
    round_trip: The round trip that stands in place of the network's; 0 = the network's (a duration with a unit, such as
        "40 us", from 0 s to 86400 s; default: `"0 s"`)
    mark_to_hosts: Whether ports to hosts mark as well (true or false; default: `false`)
    """
    keys = given(
        levels=levels,
        control_apart=control_apart,
        threshold=threshold,
        round_trip=round_trip,
        mark_to_hosts=mark_to_hosts,
    )
    return Discipline("disciplines.core_ecn", {"discipline": "core-ecn", **keys})


def red_ecn(
    *,
    kmin: Bytes | None = None,
    kmax: Bytes | None = None,
    pmax: float | None = None,
    levels: int | None = None,
) -> Discipline:
    """Marks ECN-capable data at random between two thresholds, always above the second; tail drop (DCQCN, SIGCOMM 2015;
    HPCC, SIGCOMM 2019).

    kmin: Bytes of data that wait up to which nothing is marked; 0 = 100 kB for each 25 Gb/s of the port. HPCC §5.1
        (bytes with a unit, such as "100 kB", from 0 B to 2147483648 B; default: `0`)
    kmax: Bytes beyond which everything is marked, `kmin` at least; 0 = 400 kB for each 25 Gb/s of the port. HPCC §5.1
        (bytes with a unit, such as "100 kB", from 0 B to 2147483648 B; default: `0`)
    pmax: Probability of a mark at `kmax`. HPCC §5.1 (a number from 0 to 1; default: `0.2`)
    levels: Number of queues, served in the order of their class; packets of a higher class than the last share the last
        (a whole number from 1 to 31; default: `2`)
    """
    keys = given(
        kmin=kmin,
        kmax=kmax,
        pmax=pmax,
        levels=levels,
    )
    return Discipline("disciplines.red_ecn", {"discipline": "red-ecn", **keys})


def trimming_ecn(
    *,
    kmin: Bytes | None = None,
    kmax: Bytes | None = None,
    victim: Literal["coin", "arrival", "last"] | None = None,
    headers_per_data: int | None = None,
) -> Discipline:
    """Full data queues trim packets to headers, served first; data is marked at random between two thresholds (Ultra
    Ethernet 1.0).

    kmin: Bytes of data that wait up to which nothing is marked; 0 = a fifth of the packets of the data queue. UET §0.3
        (bytes with a unit, such as "100 kB", from 0 B to 2147483648 B; default: `0`)
    kmax: Bytes beyond which everything is marked, `kmin` at least; 0 = four fifths of the packets of the data queue.
        UET §0.3 (bytes with a unit, such as "100 kB", from 0 B to 2147483648 B; default: `0`)
    victim: What is trimmed when the data queue is full. UET §0.3 (coin, arrival, last; default: `"coin"`)
    headers_per_data: Headers served for each data packet while both wait; 0 = no bound. UET §0.3 (a whole number from 0
        to 1000000; default: `0`)
    """
    keys = given(
        kmin=kmin,
        kmax=kmax,
        victim=victim,
        headers_per_data=headers_per_data,
    )
    return Discipline("disciplines.trimming_ecn", {"discipline": "trimming-ecn", **keys})


def trimming_core_ecn(
    *,
    kmin: Bytes | None = None,
    kmax: Bytes | None = None,
    victim: Literal["coin", "arrival", "last"] | None = None,
    headers_per_data: int | None = None,
) -> Discipline:
    """Full data queues trim packets to headers, served first; data is marked at random between two thresholds, at ports
    between switches only (Ultra Ethernet 1.0).

    kmin: Bytes of data that wait up to which nothing is marked; 0 = a fifth of the packets of the data queue. UET §0.3
        (bytes with a unit, such as "100 kB", from 0 B to 2147483648 B; default: `0`)
    kmax: Bytes beyond which everything is marked, `kmin` at least; 0 = four fifths of the packets of the data queue.
        UET §0.3 (bytes with a unit, such as "100 kB", from 0 B to 2147483648 B; default: `0`)
    victim: What is trimmed when the data queue is full. UET §0.3 (coin, arrival, last; default: `"coin"`)
    headers_per_data: Headers served for each data packet while both wait; 0 = no bound. UET §0.3 (a whole number from 0
        to 1000000; default: `0`)
    """
    keys = given(
        kmin=kmin,
        kmax=kmax,
        victim=victim,
        headers_per_data=headers_per_data,
    )
    return Discipline("disciplines.trimming_core_ecn", {"discipline": "trimming-core-ecn", **keys})
