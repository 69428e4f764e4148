"""The other tables of a scenario: a function for each.

Written by tools/building.py, do not edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from headway.building.parts import (
    Bytes,
    Discipline,
    Duration,
    Fabric,
    Fault,
    Hosting,
    Packets,
    Part,
    Rate,
    Sample,
    Start,
    Value,
    given,
)

__all__ = [
    "fabric",
    "fault",
    "hosts",
    "sample",
    "start",
]


def fabric(
    *,
    discipline: str | Discipline | None = None,
    buffer: Packets | None = None,
    control_buffer: Packets | None = None,
    routing: Literal["ecmp", "spray", "pinned", "symmetric", "weighted-ecmp", "least-queue", "flowlet"] | None = None,
    flowlet_gap: Duration | None = None,
    payload: Bytes | None = None,
    header: Bytes | None = None,
    framing: Bytes | None = None,
    control: Bytes | None = None,
    forwarding: Literal["store-and-forward", "cut-through"] | None = None,
    at: Sequence[Mapping[str, Value] | Part] | None = None,
    pfc: Mapping[str, Value] | None = None,
) -> Fabric:
    """Ports of switches and hosts, routes, and sizes of packets.

    discipline: the discipline of every port, on switches and on host links (name (`headway list disciplines`); default:
        the discipline that the transport is designed for)
    buffer: buffer space for data at each switch port (packets or bytes; default: `"128 packets"` with most disciplines;
        `"8 packets"` with `trimming`; 8 times `payload` with `trimming` (`variant = "csg-htsim"`); `"250 packets"` with
        `credit-shaping` and `selective-credit-shaping`; `"43 packets"` with `trimming-ecn` and `trimming-core-ecn`)
    control_buffer: buffer space for control packets at each switch port, where the discipline has a separate buffer for
        them. Credits that a discipline shapes have a limit of their own (packets or bytes; default: `"128 packets"`
        with most disciplines; the bytes of `buffer` with `trimming`; 2 times the bytes of `buffer` with `trimming`
        (`variant = "csg-htsim"`), `trimming-ecn` and `trimming-core-ecn`; as `buffer` with `credit-shaping` and
        `selective-credit-shaping`)
    routing: how a packet's path is chosen (`ecmp`, `spray`, `pinned`, `symmetric`, `weighted-ecmp`, `least-queue`,
        `flowlet`; default: `ecmp`; `symmetric` with `expresspass` and `expresspass-aeolus`)
    flowlet_gap: packets of a flow that reach a switch with a shorter pause between them belong to one flowlet
        (duration; default: `"500 us"` with `routing = "flowlet"`)
    payload: application bytes of a full packet (bytes; default: `1460`)
    header: network and transport header of a data packet (bytes; default: `40`)
    framing: Ethernet header, checksum, preamble and gap (bytes; default: `38`)
    control: size of a whole control packet on the wire, and the minimum size of a data packet (bytes; default: `84`)
    forwarding: when a switch passes a packet on: when all of it has arrived, or its header (`store-and-forward`,
        `cut-through`; default: `store-and-forward`)
    at: `[[fabric.at]]`: ports that do something else (list of tables; default: none)
    pfc: `[fabric.pfc]`: switches that stop links and drop no data (table; default: none)
    """
    keys = given(
        discipline=discipline,
        buffer=buffer,
        control_buffer=control_buffer,
        routing=routing,
        flowlet_gap=flowlet_gap,
        payload=payload,
        header=header,
        framing=framing,
        control=control,
        forwarding=forwarding,
        at=at,
        pfc=pfc,
    )
    return Fabric("fabric", keys)


def hosts(
    *,
    jitter: Duration | None = None,
    packet_cost: Duration | None = None,
    message_cost: Duration | None = None,
    coalesce: Duration | None = None,
    coalesce_packets: int | None = None,
    burst: Bytes | None = None,
    queue: Literal["none", "fifo"] | None = None,
    buffer: Packets | None = None,
) -> Hosting:
    """Times that processors and interfaces of hosts take.

    jitter: timing noise: each packet reaches the first switch later by a random time below this value, but never before
        an earlier packet of its host (duration; default: `"0 s"`)
    packet_cost: processor time for each packet sent and for each packet received; with `burst`, for each burst
        (duration; default: `"0 s"`)
    message_cost: processor time for each message started, and for each message delivered (duration; default: `"0 s"`)
    coalesce: how long the first packet that a host receives waits at the interface for further packets, which are then
        handed up together (duration; default: `"0 s"`)
    coalesce_packets: the maximum number of packets that wait; as soon as this many wait, they are handed up at once; 0
        means any number (count; default: `0`)
    burst: bytes on the wire, up to 1 MB, of consecutive data packets of one message that are handed to the interface
        together (TSO, GSO); received packets that were handed up together are also handled as one, up to this size
        (GRO) (bytes; default: `0`)
    queue: `fifo`: a first-in first-out queue stands between a host's transport and its link. The transport hands over
        packets as soon as it may send them, and not one by one when the link is free (`none`, `fifo`; default: `none`)
    buffer: room of this queue for data packets, and as much again for control packets; what finds no room is dropped
        (packets or bytes; default: `"1000 packets"`)
    """
    keys = given(
        jitter=jitter,
        packet_cost=packet_cost,
        message_cost=message_cost,
        coalesce=coalesce,
        coalesce_packets=coalesce_packets,
        burst=burst,
        queue=queue,
        buffer=buffer,
    )
    return Hosting("hosts", keys)


def start(
    *,
    mode: Literal["as-written", "line-rate"] | None = None,
    clump: int | None = None,
) -> Start:
    """How flows start.

    mode: `line-rate` ignores every `share` (`as-written`, `line-rate`; default: `as-written`)
    clump: default of `clump` (count; default: `1`)
    """
    keys = given(
        mode=mode,
        clump=clump,
    )
    return Start("start", keys)


def sample(
    *,
    every: Duration | None = None,
    flows: str | Sequence[str] | None = None,
    links: str | Sequence[str] | None = None,
    probes: bool | Sequence[str] | None = None,
    causes: bool | None = None,
    volumes: bool | None = None,
) -> Sample:
    """What is sampled during the run.

    every: the time between two samples; needed where flows or links are sampled (duration; may be left out)
    flows: the flows whose throughput is sampled (`all`, `none`, list of names; default: `none`)
    links: the links whose queue and utilisation are sampled; `all`: the links that leave a switch; `bottlenecks`: those
        of `bottleneck`, or the middle links of a dumbbell or parking lot (`all`, `none`, `bottlenecks`, list of names;
        default: `none`)
    probes: what the transports are asked of each sampled flow that is under way: true for all that they declare, or
        probes by name (true or false, list of names; default: `false`)
    causes: whether the completion time of every flow is told by cause (true or false; default: `false`)
    volumes: whether the bytes of links are told apart by `[[traffic]]` entry (true or false; default: `false`)
    """
    keys = given(
        every=every,
        flows=flows,
        links=links,
        probes=probes,
        causes=causes,
        volumes=volumes,
    )
    return Sample("sample", keys)


def fault(
    *,
    links: str | Sequence[str] | None = None,
    switches: Sequence[str] | None = None,
    down_at: Duration | None = None,
    up_at: Duration | None = None,
    converge: Duration | None = None,
    at: Duration | None = None,
    rate: Rate | None = None,
    delay: Duration | None = None,
    until: Duration | None = None,
    kind: Literal["data", "grant", "rts", "token", "ack", "finished", "header", "nack", "pull"] | None = None,
    drop: Sequence[int] | None = None,
    dark_from: Duration | None = None,
    dark_until: Duration | None = None,
    loss: float | None = None,
    duplicate: float | None = None,
    reorder: float | None = None,
    reorder_by: Duration | None = None,
) -> Fault:
    """Links or switches that go down (`down_at`), links that change (`at`), or packets that are lost, doubled or late.

    links: the links that go down; the links that change; the affected links; `all` includes the links of hosts (list of
        names, `all`; default: `all`)
    switches: the switches that go down: all their links, in both directions (list of names; may be left out)
    down_at: the time at which they go down (time; may be left out)
    up_at: the time at which they come up again (time; default: never)
    converge: routes avoid the links from `down_at + converge` on, and use them again from `up_at + converge` on
        (duration, `never`; default: `"0 s"`)
    at: the time of the change (time; may be left out)
    rate: the new rate (rate; default: unchanged)
    delay: the new one-way delay (duration; default: unchanged)
    until: the time at which the former value is restored; without this key, the new value stays until the next entry
        for the link (time; default: none)
    kind: the affected kind of packets (`data`, `grant`, `rts`, `token`, `ack`, `finished`, `header` (trimmed data),
        `nack`, `pull`; default: every kind)
    drop: the numbers of the packets of that kind that are lost, counted from 1 on each link separately (list of whole
        numbers; may be left out)
    dark_from: every packet is lost whose last bit leaves at this time or later; on real packets, the time counts from
        the start of the flows (time; may be left out)
    dark_until: the end of the loss that `dark_from` starts (time; default: never)
    loss: probability that a packet is lost (from 0 to 1; default: `0`)
    duplicate: probability that a packet arrives twice (from 0 to 1; default: `0`)
    reorder: probability that a packet arrives late by `reorder_by` (from 0 to 1; default: `0`)
    reorder_by: the delay of packets that `reorder` selects (duration; may be left out)
    """
    keys = given(
        links=links,
        switches=switches,
        down_at=down_at,
        up_at=up_at,
        converge=converge,
        at=at,
        rate=rate,
        delay=delay,
        until=until,
        kind=kind,
        drop=drop,
        dark_from=dark_from,
        dark_until=dark_until,
        loss=loss,
        duplicate=duplicate,
        reorder=reorder,
        reorder_by=reorder_by,
    )
    return Fault("fault", keys)
