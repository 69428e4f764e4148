//! A lone message on an idle network takes as long as its wires do, over every transport and every topology: nothing of it
//! is dropped, trimmed or sent twice.
//!
//! The law is for paths on which no link is slower than the interface by which the message leaves. Where the network is slower
//! than its hosts, a transport finds its rate by filling a queue, or does not know it at all.

use crate::case::{Case, number, table};
use crate::dice::Dice;
use crate::generate::topology;
use crate::simulate::{Bounds, simulate};
use headway_network::{FlowState, Network};
use headway_units::Time;
use std::path::Path;
use toml::Value;

/// A transport that takes longer by design.
struct Late {
    name: &'static str,
    /// Round trips before it sends at the rate of its path: for each doubling of what the path holds, and in addition.
    doublings: f64,
    trips: f64,
    /// Part of the rate that it leaves free.
    free: f64,
    /// True if all interfaces have to be equally fast.
    alike: bool,
    /// Paths that hold fewer packets are not judged: whole packets are too coarse a unit there.
    least: u32,
    #[allow(dead_code, reason = "for whoever reads the list")]
    why: &'static str,
}

const fn late(name: &'static str, trips: f64, free: f64, why: &'static str) -> Late {
    Late { name, doublings: 0.0, trips, free, least: 0, alike: false, why }
}

const fn slow_start(name: &'static str) -> Late {
    Late {
        name,
        doublings: 1.0,
        trips: 2.0,
        free: 0.0,
        least: 0,
        alike: false,
        why: "its window begins at some packets and doubles each round trip",
    }
}

const fn joins(name: &'static str) -> Late {
    Late { trips: 8.0, why: "as TCP, after a handshake of each subflow", ..slow_start(name) }
}

/// All of them.
const LATE: &[Late] = &[
    late(
        "expresspass",
        12.0,
        0.08,
        "it asks for credits, whose rate begins low; their part of the way back is 5 %",
    ),
    late("expresspass-aeolus", 16.0, 0.08, "as expresspass, after a first window"),
    late("proactmp", 1.0, 0.0, "tokens for two paths begin after the first window"),
    late("rcp", 1.5, 0.0, "it asks for its rate first"),
    Late {
        alike: true,
        ..late("dcpim", 6.0, 0.02, "hosts are matched in rounds of the longest path, of one line rate")
    },
    Late {
        name: "sird",
        doublings: 0.0,
        trips: 3.0,
        free: 0.02,
        least: 16,
        alike: false,
        why: "credits for what is beyond its unsolicited bytes come a round trip later, for whole packets",
    },
    Late {
        name: "phost",
        doublings: 0.0,
        trips: 0.0,
        free: 0.0,
        least: 16,
        alike: false,
        why: "tokens are for whole packets",
    },
    late("eqds", 1.5, 0.01, "credits begin after a first window"),
    late("uet-rccc", 1.5, 0.01, "credits begin after a first window"),
    late("hpcc", 2.0, 0.09, "it keeps 5 % of each link free, and sends what ports write into packets"),
    Late {
        least: 16,
        alike: false,
        ..late("powertcp", 2.0, 0.09, "it sends what ports write into packets, and adds whole packets")
    },
    Late {
        name: "swift",
        doublings: 8.0,
        trips: 4.0,
        free: 0.0,
        least: 0,
        alike: false,
        why: "its window grows by a packet a round trip",
    },
    slow_start("tcp"),
    slow_start("dctcp"),
    slow_start("d2tcp"),
    slow_start("l2dct"),
    slow_start("cubic"),
    slow_start("vegas"),
    slow_start("bbr"),
    slow_start("bbr3"),
    joins("mptcp-reno"),
    joins("mptcp-cubic"),
    joins("mptcp-lia"),
    joins("mptcp-olia"),
    joins("mptcp-balia"),
    joins("mptcp-wvegas"),
];

/// Packets of the message at most.
const PACKETS: f64 = 2_000.0;
/// Packets that the longest link holds.
const FLIGHT: (f64, f64) = (0.01, 60.0);
/// Draws of a network before a seed is given up.
const DRAWS: u64 = 200;

/// The scenario of a seed, on a network that is as fast as its hosts.
pub fn case(seed: u64, transport: &str, folder: &Path) -> Option<Case> {
    (0..DRAWS).find_map(|draw| {
        let mut dice = Dice::new(headway_primitives::mix(seed) ^ draw);
        let (topology, graph) = topology::draw(&mut dice, FLIGHT);
        let bytes = dice.magnitude(1.0, PACKETS * 1460.0) as u64;
        // The number of hosts is known only after the network was built.
        let [src, dst] = [dice.below(64), dice.below(64)];
        let mut case = Case { graph, ..Case::default() };
        let of = |src: u64, dst: u64| {
            let flow = table([("src", number(src)), ("dst", number(dst)), ("bytes", number(bytes))]);
            let entry = table([("kind", "flows".into()), ("flows", Value::Array(vec![flow.into()]))]);
            Value::Array(vec![entry.into()])
        };
        case.scenario = table([
            ("seed", number(seed % 1000)),
            ("topology", topology.into()),
            ("transport", table([("name", transport.into())]).into()),
            // Any flow will do: without one the reader refuses the scenario.
            ("traffic", of(0, 1)),
        ]);
        let hosts = case.load(folder).ok()?.setup().ok().map(|setup| u64::from(setup.topology.hosts))?;
        let (src, dst) = (src % hosts, dst % hosts);
        case.scenario.insert("traffic".into(), of(src, if src == dst { (dst + 1) % hosts } else { dst }));
        is_as_fast(&case, folder)?.then_some(case)
    })
}

/// True if no link that its packets may take is slower than the interface that they leave by.
fn is_as_fast(case: &Case, folder: &Path) -> Option<bool> {
    let scenario = case.load(folder).ok()?;
    let setup = scenario.setup().ok()?;
    let spec = setup.resolve(scenario.seed).ok()?.spec;
    let network = Network::build(&spec.topology, &spec.fabric).ok()?;
    let flow = network.address(&spec).flows[0];
    // The first links are the interfaces', with the same numbers.
    let rate = |link: u32| network.links()[link as usize].spec.rate.bps();
    let ways = [network.links_any(flow.src, flow.dst), network.links_any(flow.dst, flow.src)].concat();
    Some(ways.into_iter().all(|link| rate(link) >= rate(flow.src)))
}

/// Runs a case; an error says what does not hold.
pub fn hold(case: &Case, transport: &str, folder: &Path) -> Result<(), String> {
    let scenario = case.load(folder).map_err(|e| e.to_string())?;
    let spec = scenario.setup().and_then(|setup| setup.resolve(scenario.seed)).map_err(|e| e.render())?.spec;
    let network = Network::build(&spec.topology, &spec.fabric).map_err(|e| e.to_string())?;
    let flow = network.address(&spec).flows[0];
    let outcome = simulate(&spec, 1, Bounds::default())?;
    let record = &outcome.flows[0];
    if record.state != FlowState::Done {
        return Err(format!("{:?} at {}", record.state, outcome.end));
    }
    let counts = [record.drops.map(u64::from), record.trims.map(u64::from), record.retransmitted];
    let path = network.path(flow.src, flow.dst);
    let held = path.bdp_packets(path.bottleneck, network.sizes()).max(1);
    let allowed = LATE.iter().find(|late| late.name == transport);
    let own = || network.links().iter().take(network.interfaces() as usize).map(|link| link.spec.rate);
    if allowed
        .is_some_and(|late| held < late.least || late.alike && own().any(|rate| Some(rate) != own().next()))
    {
        return Ok(());
    }
    // Packets that leave and arrive by several ports meet at random where switches spray them.
    let ports = network.ways(flow.src, flow.dst).len().min(network.ways(flow.dst, flow.src).len());
    if ports < 2 && counts.iter().any(|count| count.unwrap_or(0) > 0) {
        let [drops, trims, again] = counts.map(Option::unwrap_or_default);
        return Err(format!("{drops} packets dropped, {trims} trimmed, and {again} B sent again"));
    }
    let (trips, free) = allowed.map_or((0.0, 0.0), |late| {
        // One more, so that a path that holds a single packet has one doubling.
        (late.trips + late.doublings * libm::log2(f64::from(held) + 1.0), late.free)
    });
    let took = record.fct().unwrap_or(Time::MAX).0 as f64;
    // A request may go ahead of the first packet, and share its links.
    let ahead = path.bottleneck.time_of(2 * u64::from(network.sizes().control)).0 as f64;
    // Subflows of one pair of addresses may all leave by one port.
    let one = if transport.starts_with("mptcp") { ports as f64 - 1.0 } else { 0.3 };
    let free = free + if ports < 2 { 0.0 } else { one };
    let most = record.ideal.0 as f64 * (1.02 + free) + trips * path.base_rtt.0 as f64 + ahead;
    if took > most {
        let over = (took - record.ideal.0 as f64) / path.base_rtt.0 as f64;
        let slowdown = took / record.ideal.0 as f64;
        return Err(format!(
            "slowdown {slowdown:.3}, {over:.2} round trips of {} more than {} ({held} packets)",
            path.base_rtt, record.ideal
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_are_late_are_transports() {
        let known = headway_transport::registry::NAMES;
        assert!(LATE.iter().all(|late| known.contains(&late.name) && !late.why.is_empty()));
    }
}
