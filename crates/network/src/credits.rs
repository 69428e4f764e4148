//! Largest number of credits in flight, from the flows of a run one by one.
//!
//! A receiver gives credits out at a rate, whether data answers them or not ([`Transport::credit_bound`]), so that what is
//! in flight follows from the start of its messages, the distance of their senders, and the rates of links.
//!
//! [`Transport::credit_bound`]: headway_transport::Transport::credit_bound

use crate::flow::FlowSpec;
use crate::graph::Node;
use crate::ideal::Ideals;
use crate::network::Network;
use crate::spec::{RunSpec, TransportSpec};
use headway_transport::{CreditBound, CreditDemand, registry};
use headway_units::Time;
use rustc_hash::FxHashMap;
use std::cell::LazyCell;

/// Most flows, and most hosts, that are counted one by one.
const MOST: u64 = 1_000;

/// True if the credits of so many flows between so many hosts are counted one by one: some transport has to give out
/// any.
pub fn counts_credits(transports: &[TransportSpec], flows: u64, hosts: u64) -> bool {
    let gives = |t: &TransportSpec| registry::capabilities(&t.name).is_some_and(|declared| declared.credits);
    flows <= MOST && hosts <= MOST && transports.iter().any(gives)
}

/// The credits of one flow.
struct Stream {
    dst: u32,
    bound: CreditBound,
    /// True if ports let through as many as their data has room for.
    shaped: bool,
    /// Credits a picosecond at the rate of the receiver's link.
    rate: f64,
    /// Links from sender to receiver; credits take them the other way.
    path: Vec<u32>,
    /// One-way delay.
    trip: Time,
    /// Departure of the first credit, and of the last.
    begin: Time,
    end: Time,
}

impl Stream {
    /// The share of its credits on a path that is full of them that there are at a time.
    fn filled(&self, at: Time) -> f64 {
        // A path without delay would divide by zero.
        let trip = self.trip.0.max(1) as f64;
        let risen = at.saturating_sub(self.begin).0 as f64 / trip;
        let fallen = at.saturating_sub(self.end).0 as f64 / trip;
        (risen.min(1.0) - fallen).clamp(0.0, 1.0)
    }
}

/// Largest number of credits in flight; `None` if there are too many flows to count, or no transport gives out credits.
pub fn credits_in_flight(spec: &RunSpec) -> Option<u64> {
    if !counts_credits(&spec.transports, spec.flows.len() as u64, spec.topology.size().hosts) {
        return None;
    }
    let entries: Vec<_> = spec.transports.iter().map(|t| registry::find_entry(&t.name)).collect();
    let network = Network::build(&spec.topology, &spec.fabric).ok()?;
    let spec = &*network.address(spec);
    let mut ideals = Ideals::new(&network, spec);
    let mut streams = Vec::new();
    let starts = earliest_starts(spec, &network);
    // Flows that may take each link: asked for only where a message leaves at once.
    let takers = LazyCell::new(|| {
        let mut takers: FxHashMap<u32, u32> = FxHashMap::default();
        let reachable = spec.flows.iter().filter(|flow| network.reachable(flow.src, flow.dst));
        for link in reachable.flat_map(|flow| network.links_any(flow.src, flow.dst)) {
            *takers.entry(link).or_default() += 1;
        }
        takers
    });
    let mut packets_to: FxHashMap<u32, u64> = FxHashMap::default();
    for flow in &spec.flows {
        let packets = packets_to.entry(flow.dst).or_default();
        *packets = packets.saturating_add(network.sizes().packets_of(flow.bytes));
    }
    for (number, (flow, start)) in spec.flows.iter().zip(starts).enumerate() {
        if !network.reachable(flow.src, flow.dst) {
            continue;
        }
        let path = ideals.path(number).unwrap_or_else(|| any_path(&network, flow));
        let home = entries.get(usize::from(flow.transport)).and_then(Option::as_ref);
        let shaped = home.is_some_and(|entry| entry.info.discipline == spec.fabric.discipline);
        // True if no other flow can get in its way, so that nothing of it is lost.
        let apart = || network.links_any(flow.src, flow.dst).iter().all(|link| takers[link] == 1);
        let others = packets_to[&flow.dst];
        streams.extend(stream(spec, &network, &FlowSpec { start, ..*flow }, others, path, shaped, &apart));
    }
    // The number in flight is largest when the path of some flow has just filled.
    let mut times: Vec<Time> =
        streams.iter().map(|s| s.begin.saturating_add(s.trip).min(spec.stop)).collect();
    times.sort_unstable();
    times.dedup();
    let mut shares = Shares::new(&network);
    let most = times.into_iter().map(|at| shares.at_once(&streams, at)).fold(0.0, f64::max);
    Some(most.ceil() as u64)
}

/// Earliest start of each flow: one that waits for others starts when they would be over on an empty network.
fn earliest_starts(spec: &RunSpec, network: &Network) -> Vec<Time> {
    let mut starts: Vec<Time> = spec.flows.iter().map(|flow| flow.start).collect();
    let Some(graph) = &spec.graph else { return starts };
    let mut begins = vec![Time::ZERO; graph.nodes() as usize];
    graph.in_order(|number| {
        let begin = begins[number as usize];
        let over = match graph.node(number) {
            Node::Flow(at) => {
                let flow = &spec.flows[at as usize];
                let start = begin.saturating_add(flow.start);
                starts[at as usize] = start;
                let reachable = network.reachable(flow.src, flow.dst);
                let takes = reachable.then(|| network.ideal_fct(flow.src, flow.dst, flow.bytes));
                start.saturating_add(takes.unwrap_or(Time::ZERO))
            }
            Node::Step(at) => begin.saturating_add(graph.steps()[at as usize].takes),
        };
        for &next in graph.successors(number) {
            let waits = &mut begins[next as usize];
            *waits = over.max(*waits);
        }
    });
    starts
}

/// A path that switches may choose.
fn any_path(network: &Network, flow: &FlowSpec) -> Vec<u32> {
    let all = network.links_any(flow.src, flow.dst);
    let mut path: Vec<u32> = all.first().copied().into_iter().collect();
    let next = |node: u32| all.iter().copied().find(|n| network.links()[*n as usize].from == node);
    while let Some(link) = path.last().and_then(|n| next(network.links()[*n as usize].to)) {
        path.push(link);
    }
    path
}

/// The credits of one flow, among so many packets to its receiver.
fn stream(
    spec: &RunSpec,
    network: &Network,
    flow: &FlowSpec,
    others: u64,
    path: Vec<u32>,
    shaped: bool,
    apart: &dyn Fn() -> bool,
) -> Option<Stream> {
    let transport = spec.transports.get(usize::from(flow.transport))?;
    let (sizes, known) = (network.sizes(), network.path(flow.src, flow.dst));
    let nic = network.line_rate(flow.dst);
    let packets = sizes.packets_of(flow.bytes);
    let demand = CreditDemand {
        packets,
        sharers: flow.begins().share,
        round_trip: known.base_rtt,
        nic,
        sizes: *sizes,
    };
    let bound = registry::credit_bound(&transport.name, &transport.params, &demand)?;
    let trip = Time(path.iter().map(|n| network.hop_delay(&network.links()[*n as usize]).0).sum());
    let begin = flow.start.saturating_add(trip);
    if begin >= spec.stop {
        return None;
    }
    // Until as many as it needs are used, and the stop has come; flows to one receiver wait for each other.
    let alone = known.bottleneck.time_of(bound.bytes).saturating_mul(packets);
    let slowest = known.bottleneck.time_of(bound.bytes).saturating_mul(others);
    let needed = Time((alone.0 as f64 / bound.share.max(1e-9)) as u64).max(slowest);
    let end = if bound.at_once && apart() {
        begin.saturating_add(known.bottleneck.time_of(u64::from(sizes.full_wire()).saturating_mul(packets)))
    } else {
        begin.saturating_add(needed).saturating_add(known.base_rtt)
    };
    let rate = nic.bps() as f64 / 8e12 / bound.bytes as f64;
    Some(Stream { dst: flow.dst, bound, shaped, rate, path, trip, begin, end })
}

/// Demand on receivers and links at a time: by host and by link. Only the places of the streams that are active
/// then hold anything of that time.
struct Shares<'a> {
    network: &'a Network,
    asked: Vec<f64>,
    offered: Vec<f64>,
}

impl<'a> Shares<'a> {
    fn new(network: &'a Network) -> Shares<'a> {
        let asked = vec![0.0; network.interfaces() as usize];
        Shares { network, asked, offered: vec![0.0; network.links().len()] }
    }

    /// Credits in flight at `at`: no receiver gives out more than its link carries, and no link lets more through.
    fn at_once(&mut self, streams: &[Stream], at: Time) -> f64 {
        let Shares { network, asked, offered } = self;
        let active: Vec<(&Stream, f64)> =
            streams.iter().map(|s| (s, s.filled(at))).filter(|(_, filled)| *filled > 0.0).collect();
        for (stream, _) in &active {
            asked[stream.dst as usize] = 0.0;
            stream.path.iter().for_each(|link| offered[*link as usize] = 0.0);
        }
        for (stream, _) in &active {
            asked[stream.dst as usize] += stream.bound.share;
        }
        let leaves = |stream: &Stream, asked: f64| stream.bound.share * stream.rate / asked.max(1.0);
        for (stream, _) in &active {
            let leaves = leaves(stream, asked[stream.dst as usize]);
            stream.path.iter().for_each(|link| offered[*link as usize] += leaves);
        }
        let mut sum = 0.0;
        for (stream, filled) in &active {
            let asked = asked[stream.dst as usize];
            let mut flow = leaves(stream, asked);
            for number in stream.path.iter().rev() {
                let link = &network.links()[*number as usize];
                let most = link.spec.rate.bps() as f64 / 8e12 / stream.bound.bytes as f64;
                if stream.shaped {
                    flow *= (most / offered[*number as usize]).min(1.0);
                }
                sum += flow * network.hop_delay(link).0 as f64 * filled;
            }
            // More than its link takes wait there.
            let beyond = (asked - 1.0).max(0.0) * stream.rate * stream.trip.0 as f64;
            let own = stream.bound.share / asked;
            sum += own * beyond.min(stream.bound.waiting as f64) * filled;
        }
        sum
    }
}
