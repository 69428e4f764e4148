//! Speed of a flow that is alone: over its own path, as its switches forward.

use crate::flow::FlowSpec;
use crate::network::Network;
use crate::routes::PathSelector;
use crate::spec::{Forwarding, RunSpec};
use headway_packet::{HostId, Packet, PacketKind};
use headway_units::{Rate, Time};
use std::collections::BTreeMap;

/// Completion times on an empty network, flow by flow of a run.
///
/// A flow's path is the one that its data packets take. Where they may take several, because switches spray them or
/// because its transport has subflows or paths of its own, it is the fastest of those for a flow of its size.
pub struct Ideals<'a> {
    network: &'a Network,
    spec: &'a RunSpec,
    choice: PathSelector,
    /// True for each transport whose packets name their path themselves.
    several: Vec<bool>,
}

impl<'a> Ideals<'a> {
    /// Ideal times of a run over this network, whose flows name interfaces ([`Network::address`]).
    pub fn new(network: &'a Network, spec: &'a RunSpec) -> Ideals<'a> {
        let sprayed = network.fabric().routing.divides_flows();
        let several = spec.transports.iter().map(|transport| {
            let declared = headway_transport::registry::capabilities(&transport.name);
            sprayed || declared.is_some_and(|declared| declared.multipath)
        });
        Ideals { network, spec, choice: PathSelector::new(network, spec.seed), several: several.collect() }
    }

    /// True if packets of a flow may take several paths.
    pub fn takes_several(&self, flow: &FlowSpec) -> bool {
        self.several.get(usize::from(flow.transport)).copied().unwrap_or(false)
    }

    /// The ideal completion time of the flow at this position.
    pub fn of(&mut self, number: usize) -> Time {
        let flow = &self.spec.flows[number];
        if !self.network.has_uneven_paths() || self.takes_several(flow) {
            return self.network.ideal_fct(flow.src, flow.dst, flow.bytes);
        }
        let mut alone = Alone::new(self.network, flow.bytes);
        let Some(links) = self.path(number) else { return Time::ZERO };
        links.into_iter().for_each(|link| alone.cross(self.network, link));
        alone.arrived
    }

    /// The links that the packets of the flow at this position take, from the host's on; `None` where they may take
    /// several paths, or where there is none.
    pub fn path(&mut self, number: usize) -> Option<Vec<u32>> {
        let flow = &self.spec.flows[number];
        if self.takes_several(flow) {
            return None;
        }
        let mut packet = Packet::new(PacketKind::Data, HostId(flow.src), HostId(flow.dst), 0);
        packet.entropy = self.network.entropy(self.spec.seed, number as u32, flow);
        let ways = self.network.owners().is_bonded().then(|| self.network.ways(flow.src, flow.dst));
        let ways = ways.filter(|ways| !ways.is_empty()).unwrap_or_else(|| vec![flow.src]);
        let mut link = ways[packet.entropy as usize % ways.len()];
        let mut links = vec![link];
        while let Some(switch) = self.network.links()[link as usize].to.checked_sub(self.network.interfaces())
        {
            // Its path is one: it does not matter when it arrives.
            link = self.choice.route(self.network, switch, &packet, (link, Time::ZERO))?;
            links.push(link);
        }
        Some(links)
    }
}

/// A message on its way over an empty path, link by link.
///
/// Link `h` begins full packet `j` as soon as the first may begin there after the links up to `h`, and `j - 1` times the
/// longest time of a full packet on them; the last packet, possibly short, waits for its predecessor at every link.
#[derive(Clone, Copy, Debug)]
struct Alone {
    packets: u64,
    full: u64,
    last: u64,
    /// Arrival of the last packet.
    arrived: Time,
    /// Arrival of the first full one.
    first: Time,
    /// Times at which the two began on the last link, and the rate and delay of that link.
    began: (Time, Time),
    before: Option<(Rate, Time)>,
    cuts_through: bool,
    /// The longest that a full packet has taken on a link.
    slowest: Time,
}

impl Alone {
    fn new(network: &Network, bytes: u64) -> Alone {
        let sizes = network.sizes();
        let packets = sizes.packets_of(bytes);
        let last = sizes.data_wire(sizes.payload_of(bytes, packets - 1));
        Alone::of(network, packets, (sizes.full_wire().into(), last.into()))
    }

    /// Time of so many packets, of which all but the last have the first size, and the last has the second, on the
    /// wire.
    fn of(network: &Network, packets: u64, (full, last): (u64, u64)) -> Alone {
        Alone {
            packets,
            full,
            last,
            arrived: Time::ZERO,
            first: Time::ZERO,
            began: (Time::ZERO, Time::ZERO),
            before: None,
            cuts_through: network.fabric().forwarding == Forwarding::CutThrough,
            slowest: Time::ZERO,
        }
    }

    fn cross(&mut self, network: &Network, number: u32) {
        let link = &network.links()[number as usize];
        let (rate, delay) = (link.spec.rate, network.hop_delay(link));
        let takes = rate.time_of(self.full);
        let ready = |began: Time, wire: u64| match self.before {
            Some((former, delay)) => began + network.seen(former, rate, wire) + delay,
            None => Time::ZERO,
        };
        let (first, last) = (ready(self.began.0, self.full), ready(self.began.1, self.last));
        self.slowest = self.slowest.max(takes);
        let behind =
            if self.packets > 1 { first + self.slowest * (self.packets - 2) + takes } else { Time::ZERO };
        self.began = (first, last.max(behind));
        self.first = first + takes + delay;
        self.arrived = self.began.1 + rate.time_of(self.last) + delay;
        self.before = Some((rate, delay));
    }

    /// True if this is no later than the other, whatever follows.
    fn is_ahead_of(&self, other: &Alone) -> bool {
        // If switches pass packets on before they have arrived, it matters over which link they come.
        let alike = self.before == other.before || !self.cuts_through;
        alike && self.arrived <= other.arrived && self.first <= other.first && self.slowest <= other.slowest
    }
}

impl Network {
    /// Completion time of a message on the empty network, from the hand-over to the last byte at the receiver: over
    /// the path that is the fastest for it of those with the fewest hops. Headers are included.
    pub fn ideal_fct(&self, src: u32, dst: u32, bytes: u64) -> Time {
        let mut message = Alone::new(self, bytes);
        if self.owners().is_bonded() {
            // Packets leave and arrive by as many ports at once.
            let ports = self.ways(src, dst).len().min(self.ways(dst, src).len());
            message.packets = message.packets.div_ceil(ports.max(1) as u64);
        }
        self.fastest(message, src, dst)
    }

    /// Time that a control packet takes from host to host on the empty network, such as the acknowledgement of a
    /// message's last byte.
    pub fn ideal_control(&self, src: u32, dst: u32) -> Time {
        let wire = u64::from(self.sizes().control);
        self.fastest(Alone::of(self, 1, (wire, wire)), src, dst)
    }

    fn fastest(&self, start: Alone, src: u32, dst: u32) -> Time {
        if !self.owners().is_bonded() {
            return self.fastest_by(start, src, dst);
        }
        let ways = self.ways(src, dst);
        ways.into_iter().map(|port| self.fastest_by(start, port, dst)).min().unwrap_or(Time::ZERO)
    }

    /// Ideal time over one port of the sender.
    fn fastest_by(&self, mut start: Alone, src: u32, dst: u32) -> Time {
        start.cross(self, src);
        if !self.has_uneven_paths() {
            let links = self.links_between(src, dst).unwrap_or_default();
            links.iter().skip(1).for_each(|link| start.cross(self, *link));
            return start.arrived;
        }
        // All paths have equally many hops: by node, the ways that no other way to it is ahead of.
        let mut ahead = BTreeMap::from([(self.links()[src as usize].to, vec![start])]);
        while ahead.keys().any(|node| *node >= self.interfaces()) {
            let mut next = BTreeMap::new();
            for (node, ways) in ahead {
                let (onward, _) = self.router.all(node - self.interfaces(), dst);
                for port in onward {
                    for mut way in ways.iter().copied() {
                        way.cross(self, port);
                        keep(next.entry(self.links()[port as usize].to).or_default(), way);
                    }
                }
            }
            ahead = next;
        }
        let arrivals = ahead.into_values().flatten().map(|way| way.arrived);
        arrivals.min().unwrap_or(Time::ZERO)
    }
}

/// Adds a way unless another is ahead of it, and drops those that it is ahead of.
fn keep(ways: &mut Vec<Alone>, way: Alone) {
    if ways.iter().any(|other| other.is_ahead_of(&way)) {
        return;
    }
    ways.retain(|other| !way.is_ahead_of(other));
    ways.push(way);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{FabricSpec, Routing, TransportSpec};
    use crate::topology::Graph;
    use crate::{LinkSpec, TopologySpec};
    use headway_fabric::{Buffer, Limit};
    use headway_packet::Sizes;
    use headway_transport::InitialWindow;

    /// Two hosts, and between their switches a slow and a fast way with equally many hops.
    fn fork(routing: Routing) -> Network {
        let link = |mbps: u64, us: u64| LinkSpec { rate: Rate::gbps(mbps), delay: Time::us(us) };
        let links = vec![
            (0, 2, link(10, 1)),
            (1, 3, link(10, 1)),
            (2, 4, link(1, 100)),
            (4, 3, link(1, 100)),
            (2, 5, link(10, 1)),
            (5, 3, link(10, 1)),
        ];
        let limit = Limit::Packets(100);
        let fabric = FabricSpec {
            discipline: "drop-tail".into(),
            params: Vec::new(),
            buffer: Buffer { data: limit, control: limit },
            routing,
            sizes: Sizes::default(),
            switch_latency: Time::ZERO,
            at: Vec::new(),
            forwarding: crate::Forwarding::StoreAndForward,
            host_queue: None,
            bonded: false,
            altered: Vec::new(),
            pfc: None,
            memory: None,
        };
        let topology = TopologySpec::Graph(Graph { hosts: 2, switches: 4, links, back: Vec::new() });
        Network::build(&topology, &fabric).expect("a network")
    }

    fn run(transport: &str, path: Option<u32>) -> RunSpec {
        let flow = FlowSpec {
            src: 0,
            dst: 1,
            bytes: 1460,
            start: Time::ZERO,
            class: 0,
            deadline: None,
            initial_window: InitialWindow::default(),
            responsive: true,
            transport: 0,
            path,
            connection: None,
            stop: None,
        };
        RunSpec {
            topology: TopologySpec::Graph(Graph {
                hosts: 2,
                switches: 4,
                links: Vec::new(),
                back: Vec::new(),
            }),
            fabric: fork(Routing::Pinned).fabric().clone(),
            transports: vec![TransportSpec::new(transport, Vec::new())],
            flows: vec![flow],
            seed: 1,
            stop: Time::s(1),
            sample: None,
            faults: Vec::new(),
            jitter: Time::ZERO,
            costs: crate::HostCosts::default(),
            until: crate::Until::Received,
            graph: None,
        }
    }

    /// One packet of 1538 bytes over four links, two of them slow or all fast.
    const FAST: Time = Time(4 * 1_230_400 + 4_000_000);
    const SLOW: Time = Time(2 * 1_230_400 + 2 * 12_304_000 + 202_000_000);

    #[test]
    fn a_pinned_flow_is_compared_with_its_own_path() {
        let network = fork(Routing::Pinned);
        let ideal = |path| Ideals::new(&network, &run("dctcp", Some(path))).of(0);
        assert_eq!([ideal(0), ideal(1)], [SLOW, FAST]);
    }

    #[test]
    fn where_packets_take_several_paths_the_fastest_counts() {
        for (routing, transport) in
            [(Routing::Spray, "dctcp"), (Routing::Pinned, "ndp"), (Routing::Ecmp, "mptcp-lia")]
        {
            let network = fork(routing);
            assert_eq!(Ideals::new(&network, &run(transport, None)).of(0), FAST, "{transport}");
        }
        assert_eq!(fork(Routing::Ecmp).ideal_fct(0, 1, 1460), FAST);
    }
}
