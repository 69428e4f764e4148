"""Topologies: a function for each kind that `[topology]` may have.

Written by tools/building.py, do not edit.
"""

from __future__ import annotations

from headway.building.parts import Duration, PathLike, Rate, Topology, given

__all__ = [
    "dumbbell",
    "fat_tree",
    "graph",
    "leaf_spine",
    "parking_lot",
    "single_switch",
]


def single_switch(
    *,
    hosts: int,
    rate: Rate,
    delay: Duration,
    switch_latency: Duration | None = None,
) -> Topology:
    """Hosts around one switch, s0.

    hosts: how many (count)
    rate: of each host's link (rate)
    delay: of each host's link, one way (duration)
    switch_latency: time a switch takes beyond store-and-forward (duration; default: `"0 s"`)
    """
    keys = given(
        hosts=hosts,
        rate=rate,
        delay=delay,
        switch_latency=switch_latency,
    )
    return Topology("single_switch", {"kind": "single-switch", **keys})


def dumbbell(
    *,
    senders: int,
    receivers: int,
    rate: Rate,
    delay: Duration,
    bottleneck_rate: Rate | None = None,
    bottleneck_delay: Duration | None = None,
    switch_latency: Duration | None = None,
) -> Topology:
    """Senders at s0, receivers at s1, one link between; hosts are numbered senders first.

    senders: hosts at s0 (count)
    receivers: hosts at s1 (count)
    rate: of each host's link (rate)
    delay: of each host's link, one way (duration)
    bottleneck_rate: of each link between switches (rate; default: `rate`)
    bottleneck_delay: of each link between switches (duration; default: `delay`)
    switch_latency: time a switch takes beyond store-and-forward (duration; default: `"0 s"`)
    """
    keys = given(
        senders=senders,
        receivers=receivers,
        rate=rate,
        delay=delay,
        bottleneck_rate=bottleneck_rate,
        bottleneck_delay=bottleneck_delay,
        switch_latency=switch_latency,
    )
    return Topology("dumbbell", {"kind": "dumbbell", **keys})


def parking_lot(
    *,
    bottlenecks: int,
    hosts_per_switch: int,
    rate: Rate,
    delay: Duration,
    bottleneck_rate: Rate | None = None,
    bottleneck_delay: Duration | None = None,
    switch_latency: Duration | None = None,
) -> Topology:
    """Switches in a row; host i * hosts_per_switch + j is at switch s<i>.

    bottlenecks: links between switches, one less than switches (count)
    hosts_per_switch: hosts at each switch (count)
    rate: of each host's link (rate)
    delay: of each host's link, one way (duration)
    bottleneck_rate: of each link between switches (rate; default: `rate`)
    bottleneck_delay: of each link between switches (duration; default: `delay`)
    switch_latency: time a switch takes beyond store-and-forward (duration; default: `"0 s"`)
    """
    keys = given(
        bottlenecks=bottlenecks,
        hosts_per_switch=hosts_per_switch,
        rate=rate,
        delay=delay,
        bottleneck_rate=bottleneck_rate,
        bottleneck_delay=bottleneck_delay,
        switch_latency=switch_latency,
    )
    return Topology("parking_lot", {"kind": "parking-lot", **keys})


def leaf_spine(
    *,
    racks: int,
    hosts_per_rack: int,
    spines: int,
    host_rate: Rate,
    host_delay: Duration,
    spine_rate: Rate | None = None,
    spine_delay: Duration | None = None,
    switch_latency: Duration | None = None,
) -> Topology:
    """Every leaf joined to every spine; host r * hosts_per_rack + j is at leaf<r>.

    racks: leaves (count)
    hosts_per_rack: hosts at each leaf (count)
    spines: spines (count)
    host_rate: of each host's link (rate)
    host_delay: of each host's link, one way (duration)
    spine_rate: of each link between leaf and spine (rate; default: `host_rate`)
    spine_delay: of each link between leaf and spine (duration; default: `host_delay`)
    switch_latency: time a switch takes beyond store-and-forward (duration; default: `"0 s"`)
    """
    keys = given(
        racks=racks,
        hosts_per_rack=hosts_per_rack,
        spines=spines,
        host_rate=host_rate,
        host_delay=host_delay,
        spine_rate=spine_rate,
        spine_delay=spine_delay,
        switch_latency=switch_latency,
    )
    return Topology("leaf_spine", {"kind": "leaf-spine", **keys})


def fat_tree(
    *,
    k: int,
    host_rate: Rate,
    host_delay: Duration,
    hosts_per_edge: int | None = None,
    fabric_rate: Rate | None = None,
    fabric_delay: Duration | None = None,
    switch_latency: Duration | None = None,
) -> Topology:
    """K pods of k/2 edge and k/2 aggregation switches under (k/2)^2 cores.

    k: ports of a switch (even count)
    host_rate: of each host's link (rate)
    host_delay: of each host's link, one way (duration)
    hosts_per_edge: hosts at each edge switch (count; default: `k/2`)
    fabric_rate: of each link between switches (rate; default: `host_rate`)
    fabric_delay: of each link between switches (duration; default: `host_delay`)
    switch_latency: time a switch takes beyond store-and-forward (duration; default: `"0 s"`)
    """
    keys = given(
        k=k,
        host_rate=host_rate,
        host_delay=host_delay,
        hosts_per_edge=hosts_per_edge,
        fabric_rate=fabric_rate,
        fabric_delay=fabric_delay,
        switch_latency=switch_latency,
    )
    return Topology("fat_tree", {"kind": "fat-tree", **keys})


def graph(
    *,
    file: PathLike,
    switch_latency: Duration | None = None,
) -> Topology:
    """Any graph, from a TOML file: hosts, switches, link = [{ a, b, rate, delay }, ...].

    file: the graph, relative to the scenario (path)
    switch_latency: time a switch takes beyond store-and-forward (duration; default: `"0 s"`)
    """
    keys = given(
        file=file,
        switch_latency=switch_latency,
    )
    return Topology("graph", {"kind": "graph", **keys})
