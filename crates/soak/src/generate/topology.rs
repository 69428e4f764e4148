//! The network of a random scenario: any kind that the lab lists, each key by the values it takes.

use crate::case::{GRAPH, duration, number, table};
use crate::dice::Dice;
use headway_network::topology::{KINDS, Key, Kind, Usual};
use toml::{Table, Value};

/// Bits of a full packet of default sizes.
const PACKET_BITS: f64 = 1538.0 * 8.0;
/// Rates from and to.
const RATES: (f64, f64) = (1e7, 4e11);

/// Rates and delays of a network's links, around one of each.
struct Links {
    rate: f64,
    /// Packets of full size that a link of this rate holds.
    flight: f64,
}

/// A topology, and the graph if it is one; `flight` is from how many to how many packets its links hold, about.
pub(crate) fn draw(dice: &mut Dice, flight: (f64, f64)) -> (Table, Option<Table>) {
    let (info, _) = dice.pick(KINDS);
    let links = Links { rate: dice.magnitude(RATES.0, RATES.1), flight: dice.magnitude(flight.0, flight.1) };
    let mut topology = table([("kind", info.name.into())]);
    let mut graph = None;
    for key in info.all_keys() {
        if !matches!(key.usual, Usual::Needed) && dice.percent(50) {
            continue;
        }
        let value = match key.kind {
            Kind::Graph => {
                graph = Some(graph_of(dice, &links));
                GRAPH.into()
            }
            Kind::Count | Kind::EvenCount | Kind::Rate | Kind::Duration => value(dice, key, &links),
        };
        topology.insert(key.name.into(), value);
    }
    // Any topology has a first host.
    if dice.percent(8) {
        let names = Value::Array(vec!["h0->*".into()]);
        let mut link = table([("links", names), ("rate", links.rate(dice))]);
        if dice.percent(50) {
            link.insert("delay".into(), links.delay(dice));
        }
        topology.insert("link".into(), Value::Array(vec![link.into()]));
    }
    (topology, graph)
}

fn value(dice: &mut Dice, key: &Key, links: &Links) -> Value {
    match key.kind {
        Kind::Rate => links.rate(dice),
        Kind::Duration => links.delay(dice),
        Kind::EvenCount => number(2 * dice.between(1, 3)),
        Kind::Count | Kind::Graph => number(dice.count(1, 6)),
    }
}

impl Links {
    /// The network's rate, or one not far from it.
    fn rate(&self, dice: &mut Dice) -> Value {
        let factor = if dice.percent(50) { 1.0 } else { dice.magnitude(0.05, 20.0) };
        let bps = (self.rate * factor).clamp(RATES.0, RATES.1) as u64;
        // Rates that people write, and rates that no packet divides.
        let bps = if dice.percent(50) { bps / 1_000_000 * 1_000_000 } else { bps };
        format!("{bps} bps").into()
    }

    fn delay(&self, dice: &mut Dice) -> Value {
        let factor = match dice.below(10) {
            0 => 0.0,
            1..5 => dice.magnitude(0.01, 1.0),
            _ => 1.0,
        };
        duration((self.flight * factor * PACKET_BITS / self.rate * 1e12) as u64)
    }
}

/// Hosts at random switches of a connected graph, which may join two switches twice.
fn graph_of(dice: &mut Dice, links: &Links) -> Table {
    let (hosts, switches) = (dice.between(2, 10), dice.between(1, 7));
    let mut edges = Vec::new();
    for host in 0..hosts {
        edges.push((format!("h{host}"), format!("s{}", dice.below(switches))));
        // Some hosts have a second interface, if it is at the same switch.
        if dice.percent(10) {
            edges.push((format!("h{host}"), format!("s{}", dice.below(switches))));
        }
    }
    for switch in 1..switches {
        // Each to an earlier one, so that all are connected.
        edges.push((format!("s{switch}"), format!("s{}", dice.below(switch))));
    }
    for _ in 0..dice.below(2 * switches) {
        let (a, b) = (dice.below(switches), dice.below(switches));
        if a != b {
            edges.push((format!("s{a}"), format!("s{b}")));
        }
    }
    let link = |(a, b): (String, String)| {
        let (rate, delay) = (links.rate(dice), links.delay(dice));
        Value::from(table([("a", a.into()), ("b", b.into()), ("rate", rate), ("delay", delay)]))
    };
    let list: Vec<Value> = edges.into_iter().map(link).collect();
    table([("hosts", number(hosts)), ("switches", number(switches)), ("link", Value::Array(list))])
}
