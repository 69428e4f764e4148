"""Topologies: a function for each kind that `[topology]` may have.

Written by tools/building.py, do not edit.
"""

from __future__ import annotations

from headway.building.parts import Duration, PathLike, Rate, Topology, given

__all__ = [
    "dragonfly",
    "dumbbell",
    "fat_tree",
    "graph",
    "leaf_spine",
    "parking_lot",
    "rail",
    "single_switch",
    "three_tier",
    "torus",
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


def three_tier(
    *,
    pods: int,
    edges: int,
    hosts_per_edge: int,
    aggs: int,
    cores_per_agg: int,
    host_rate: Rate,
    host_delay: Duration,
    agg_rate: Rate | None = None,
    core_rate: Rate | None = None,
    agg_delay: Duration | None = None,
    core_delay: Duration | None = None,
    switch_latency: Duration | None = None,
) -> Topology:
    """Pods of edge and aggregation switches under cores; any over-subscription, any rates.

    pods: pods (count)
    edges: edge switches of a pod (count)
    hosts_per_edge: hosts at each edge switch (count)
    aggs: aggregation switches of a pod (count)
    cores_per_agg: cores above each aggregation switch of a pod (count)
    host_rate: of each host's link (rate)
    host_delay: of each host's link, one way (duration)
    agg_rate: of each link between edge and aggregation (rate; default: `host_rate`)
    core_rate: of each link between aggregation and core (rate; default: `agg_rate`)
    agg_delay: of each link between edge and aggregation (duration; default: `host_delay`)
    core_delay: of each link between aggregation and core (duration; default: `agg_delay`)
    switch_latency: time a switch takes beyond store-and-forward (duration; default: `"0 s"`)
    """
    keys = given(
        pods=pods,
        edges=edges,
        hosts_per_edge=hosts_per_edge,
        aggs=aggs,
        cores_per_agg=cores_per_agg,
        host_rate=host_rate,
        host_delay=host_delay,
        agg_rate=agg_rate,
        core_rate=core_rate,
        agg_delay=agg_delay,
        core_delay=core_delay,
        switch_latency=switch_latency,
    )
    return Topology("three_tier", {"kind": "three-tier", **keys})


def rail(
    *,
    nodes: int,
    gpus: int,
    spines: int,
    node_rate: Rate,
    node_delay: Duration,
    groups: int | None = None,
    planes: int | None = None,
    rail_rate: Rate | None = None,
    spine_rate: Rate | None = None,
    rail_delay: Duration | None = None,
    spine_delay: Duration | None = None,
    switch_latency: Duration | None = None,
) -> Topology:
    """Nodes of gpus hosts; interface r of a group's nodes is at leaf<plane>.<group>.<r>, spines above; host n * gpus +
    r is at node<n>.

    nodes: nodes of a group (count)
    gpus: hosts of a node, and leaves of a group in a plane (count)
    spines: spines of a plane (count)
    node_rate: of each link inside a node (rate)
    node_delay: of each link inside a node, one way (duration)
    groups: groups of nodes with leaves of their own (count; default: `1`)
    planes: planes (count; default: `1`)
    rail_rate: of each link between node and leaf (rate; default: `node_rate`)
    spine_rate: of each link between leaf and spine (rate; default: `rail_rate`)
    rail_delay: of each link between node and leaf (duration; default: `node_delay`)
    spine_delay: of each link between leaf and spine (duration; default: `rail_delay`)
    switch_latency: time a switch takes beyond store-and-forward (duration; default: `"0 s"`)
    """
    keys = given(
        nodes=nodes,
        gpus=gpus,
        spines=spines,
        node_rate=node_rate,
        node_delay=node_delay,
        groups=groups,
        planes=planes,
        rail_rate=rail_rate,
        spine_rate=spine_rate,
        rail_delay=rail_delay,
        spine_delay=spine_delay,
        switch_latency=switch_latency,
    )
    return Topology("rail", {"kind": "rail", **keys})


def torus(
    *,
    x: int,
    host_rate: Rate,
    host_delay: Duration,
    y: int | None = None,
    z: int | None = None,
    hosts_per_switch: int | None = None,
    link_rate: Rate | None = None,
    link_delay: Duration | None = None,
    switch_latency: Duration | None = None,
) -> Topology:
    """A grid of x * y * z switches, joined to their neighbours, the last to the first; switch s<x>.<y>.<z> has the
    hosts from ((z * Y + y) * X + x) * hosts_per_switch on.

    x: switches in the first dimension (count)
    host_rate: of each host's link (rate)
    host_delay: of each host's link, one way (duration)
    y: switches in the second dimension (count; default: `1`)
    z: switches in the third dimension (count; default: `1`)
    hosts_per_switch: hosts at each switch (count; default: `1`)
    link_rate: of each link between switches (rate; default: `host_rate`)
    link_delay: of each link between switches (duration; default: `host_delay`)
    switch_latency: time a switch takes beyond store-and-forward (duration; default: `"0 s"`)
    """
    keys = given(
        x=x,
        host_rate=host_rate,
        host_delay=host_delay,
        y=y,
        z=z,
        hosts_per_switch=hosts_per_switch,
        link_rate=link_rate,
        link_delay=link_delay,
        switch_latency=switch_latency,
    )
    return Topology("torus", {"kind": "torus", **keys})


def dragonfly(
    *,
    groups: int,
    switches_per_group: int,
    hosts_per_switch: int,
    host_rate: Rate,
    host_delay: Duration,
    links_per_pair: int | None = None,
    local_rate: Rate | None = None,
    global_rate: Rate | None = None,
    local_delay: Duration | None = None,
    global_delay: Duration | None = None,
    switch_latency: Duration | None = None,
) -> Topology:
    """Groups of switches that are all joined to each other, and links between each two groups.

    groups: groups (count)
    switches_per_group: switches of a group (count)
    hosts_per_switch: hosts at each switch (count)
    host_rate: of each host's link (rate)
    host_delay: of each host's link, one way (duration)
    links_per_pair: links between each two groups (count; default: `1`)
    local_rate: of each link inside a group (rate; default: `host_rate`)
    global_rate: of each link between groups (rate; default: `local_rate`)
    local_delay: of each link inside a group (duration; default: `host_delay`)
    global_delay: of each link between groups (duration; default: `local_delay`)
    switch_latency: time a switch takes beyond store-and-forward (duration; default: `"0 s"`)
    """
    keys = given(
        groups=groups,
        switches_per_group=switches_per_group,
        hosts_per_switch=hosts_per_switch,
        host_rate=host_rate,
        host_delay=host_delay,
        links_per_pair=links_per_pair,
        local_rate=local_rate,
        global_rate=global_rate,
        local_delay=local_delay,
        global_delay=global_delay,
        switch_latency=switch_latency,
    )
    return Topology("dragonfly", {"kind": "dragonfly", **keys})


def graph(
    *,
    file: PathLike,
    switch_latency: Duration | None = None,
) -> Topology:
    """Any graph, from a TOML file (hosts, switches, link = [{ a, b, rate, delay }, ...]), or from htsim's `.topo` or
    HPCC's `.txt`.

    file: the graph, relative to the scenario (path)
    switch_latency: time a switch takes beyond store-and-forward (duration; default: `"0 s"`)
    """
    keys = given(
        file=file,
        switch_latency=switch_latency,
    )
    return Topology("graph", {"kind": "graph", **keys})
