//! A random scenario of a seed.
//!
//! Every scenario is one that the reader accepts: where what was drawn contradicts itself, it is drawn again
//! from the next stream of the same seed. Work is bounded in packets, so that any number of scenarios takes a
//! foreseeable time; delays are bounded in packets that a link holds, for the same reason.

mod fabric;
mod faults;
mod lossless;
mod memory;
pub(crate) mod topology;
mod traffic;

use crate::case::{Case, duration, number, table};
use crate::dice::Dice;
use headway_lab::Scenario;
use headway_network::Network;
use headway_units::Rate;
use std::collections::BTreeSet;
use std::path::Path;
use toml::{Table, Value};

/// Limits on the size of a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Packets of data of all flows together, about.
    pub packets: u64,
    /// Packets that the longest link holds, about.
    pub flight: f64,
}

impl Size {
    /// Size for tests: hundreds take seconds.
    pub const SMALL: Size = Size { packets: 6_000, flight: 200.0 };
    /// Size for a long soak.
    pub const LARGE: Size = Size { packets: 200_000, flight: 20_000.0 };
}

/// Earlier choices that later ones depend on.
pub(crate) struct Sketch {
    pub(crate) size: Size,
    /// Hosts of the network.
    pub(crate) hosts: u64,
    /// Names of links.
    pub(crate) links: Vec<String>,
    /// Names of switches.
    pub(crate) switches: Vec<String>,
    /// True if parameters are from anywhere in their ranges.
    pub(crate) wild: bool,
    /// Time of a full packet on the slowest link, in picoseconds.
    pub(crate) slot: u64,
    /// Longest base round trip, in picoseconds.
    pub(crate) round_trip: u64,
    /// Application bytes of a full packet.
    pub(crate) payload: u64,
    /// Bytes of a full packet on the wire.
    pub(crate) wire: u64,
    /// True if paths are pinned.
    pub(crate) pinned: bool,
}

/// Draws before a seed is given up.
const DRAWS: u64 = 40;

/// The scenario of a seed, and the number of draws that were refused.
///
/// # Panics
/// If hardly any draw is accepted: the generator does not fit the reader then.
pub fn generate(seed: u64, size: Size, folder: &Path) -> (Case, u64) {
    // From a stream of its own, so that all other seeds stay.
    let far = Dice::new(headway_primitives::mix(!seed)).below(FAR) == 0;
    for draw in 0..DRAWS {
        let mut dice = Dice::new(headway_primitives::mix(seed) ^ draw);
        if let Some(case) = attempt(&mut dice, size, far, folder) {
            return (case, draw);
        }
    }
    panic!("{DRAWS} draws of seed {seed} made no scenario");
}

/// A random scenario with lossless switches, whose links have no faults but changes, and times at which they are down.
pub fn generate_lossless(seed: u64, size: Size, folder: &Path) -> Case {
    for draw in 0.. {
        let (mut case, _) = generate(headway_primitives::mix(seed) ^ draw, size, folder);
        for key in ["stop", "sample", "hosts"] {
            case.scenario.remove(key);
        }
        if let Some(Value::Array(faults)) = case.scenario.get_mut("fault") {
            faults.retain(|fault| fault.get("at").is_some() || fault.get("up_at").is_some());
            if faults.is_empty() {
                case.scenario.remove("fault");
            }
        }
        let mut dice = Dice::new(headway_primitives::mix(seed ^ draw << 32));
        if lossless::draw(&mut dice, &mut case, folder) {
            return case;
        }
    }
    unreachable!("some draw suits lossless switches")
}

/// One in this many has long links and tiny packets, and little to send: what flows for a round trip without being
/// asked for, as credits do, is then most of the traffic in flight.
const FAR: u64 = 160;

/// One in this many is large.
const RARELY: u64 = 40;

/// Percentage of scenarios with parameters from anywhere in their declared ranges. A time-out of a thousand round trips
/// or a credit of one byte is allowed and takes for ever, so that these scenarios have a `stop`, and are not checked
/// for whether their flows finish.
const WILD: u64 = 25;

fn attempt(dice: &mut Dice, most: Size, far: bool, folder: &Path) -> Option<Case> {
    let mut size = most;
    // The number is drawn in either case, so that `far` shifts no later choice.
    if dice.below(RARELY) != 0 || far {
        size = Size {
            packets: size.packets.min(Size::SMALL.packets),
            flight: size.flight.min(Size::SMALL.flight),
        };
    }
    let flight = if far { (most.flight / 20.0, most.flight) } else { (0.01, size.flight) };
    let (topology, graph) = topology::draw(dice, flight);
    let seed = dice.below(1 << 32);
    // From a stream of its own, so that all other choices stay.
    let mut asked = Dice::new(headway_primitives::mix(!seed));
    let mut scenario = table([("seed", number(seed)), ("topology", topology.into())]);
    let wild = dice.percent(WILD);
    let several = dice.percent(15);
    let (fabric, transport) = fabric::draw(dice, wild, several, far);
    if !fabric.is_empty() {
        scenario.insert("fabric".into(), fabric.into());
    }
    scenario.insert("transport".into(), transport.into());
    let mut case = Case { scenario, graph, flows: None };
    // Everything below is drawn in units of the network: its links, its slot, its round trip.
    let sketch = Sketch { wild, ..sketch(&case, size, folder)? };
    // From a stream of its own, so that all other choices stay.
    let mut own = Dice::new(headway_primitives::mix(dice.below(1 << 62)));
    let fabric = case.scenario.entry("fabric").or_insert_with(|| Table::new().into());
    if let Some(fabric) = fabric.as_table_mut() {
        fabric::ports(&mut own, &sketch, fabric);
    }
    if own.percent(10) {
        case.scenario.insert("until".into(), "known".into());
    }
    if asked.percent(10) {
        case.scenario.insert("warmup".into(), duration(asked.count(1, sketch.round_trip * 4 + sketch.slot)));
    }
    if asked.percent(10) {
        let links = asked.some(&sketch.links, 20);
        if !links.is_empty() {
            case.scenario.insert("bottleneck".into(), Value::from(links));
        }
    }
    if dice.percent(15) {
        let jitter = duration(dice.count(1, sketch.slot * 2));
        case.scenario.insert("hosts".into(), table([("jitter", jitter)]).into());
    }
    if dice.percent(15) {
        let hosts = case.scenario.entry("hosts").or_insert_with(|| Table::new().into());
        if let Some(hosts) = hosts.as_table_mut() {
            costs(dice, &sketch, hosts);
        }
    }
    // A single key may be the jitter, which a queue goes with.
    let costly = case.scenario.get("hosts").and_then(Value::as_table).is_some_and(|hosts| hosts.len() > 1);
    if own.percent(10) && !costly {
        let hosts = case.scenario.entry("hosts").or_insert_with(|| Table::new().into());
        if let Some(hosts) = hosts.as_table_mut().filter(|h| h.is_empty() || h.contains_key("jitter")) {
            hosts.insert("queue".into(), "fifo".into());
            hosts.insert("buffer".into(), format!("{} packets", own.count(8, 2_000)).into());
        }
    }
    if dice.percent(10) {
        case.scenario.insert("start".into(), start(dice).into());
    }
    let (mut traffic, flows) = traffic::draw(dice, &sketch, several);
    if own.percent(25) {
        traffic::wait(&mut own, &sketch, &mut traffic);
    }
    case.scenario.insert("traffic".into(), traffic.into());
    case.flows = flows;
    if dice.percent(30) {
        case.scenario.insert("fault".into(), faults::draw(dice, &sketch).into());
    }
    let mut latest = None;
    if dice.percent(30) {
        let (mut sample, filled) = sample(dice, &sketch);
        let filled = ask(&mut asked, &case, &mut sample, filled);
        case.scenario.insert("sample".into(), sample.into());
        latest = Some(filled);
    }
    if wild || dice.percent(10) {
        let usual = (sketch.round_trip * 40).max(sketch.slot * 4_000);
        let stop = dice.count(usual / 200, usual);
        latest = Some(latest.map_or(stop, |filled| filled.min(stop)));
    }
    if let Some(stop) = latest {
        case.scenario.insert("stop".into(), duration(stop));
    }
    // Last: the whole scenario decides how much memory its switches need.
    if own.percent(15) && !wild {
        lossless::draw(&mut own, &mut case, folder);
    }
    if !is_accepted(&case, folder) {
        return None;
    }
    // On a copy, so that a variation that is refused does not cost the scenario.
    let mut varied = case.clone();
    if let Some(Value::Array(entries)) = varied.scenario.get_mut("traffic") {
        traffic::vary(&mut asked, &sketch, entries);
    }
    lossless::vary(&mut asked, &sketch, &mut varied);
    memory::vary(&mut asked, &sketch, &mut varied);
    Some(if is_accepted(&varied, folder) { varied } else { case })
}

/// True if a run would begin.
fn is_accepted(case: &Case, folder: &Path) -> bool {
    let begins =
        |scenario: Scenario| scenario.setup().is_ok_and(|setup| setup.resolve(scenario.seed).is_ok());
    case.load(folder).is_ok_and(begins)
}

/// The network's properties, from a scenario with a single flow.
fn sketch(case: &Case, size: Size, folder: &Path) -> Option<Sketch> {
    let mut trial = case.clone();
    let flow = table([("src", number(0)), ("dst", number(1)), ("bytes", number(1))]);
    let flows = Value::Array(vec![flow.into()]);
    let entry = table([("kind", "flows".into()), ("flows", flows)]);
    trial.scenario.insert("traffic".into(), Value::Array(vec![entry.into()]));
    let scenario: Scenario = trial.load(folder).ok()?;
    let setup = scenario.setup().ok()?;
    let network = Network::build(&setup.topology.spec, &setup.fabric).ok()?;
    let sizes = network.sizes();
    let slowest = network.links().iter().map(|l| l.spec.rate.bps()).min()?;
    let pairs = (1..network.hosts()).filter_map(|h| network.pair(0, h));
    let trips = pairs.map(|(src, dst)| network.path(src, dst).base_rtt.0);
    Some(Sketch {
        size,
        hosts: u64::from(network.hosts()),
        links: network.link_names(),
        switches: network.switch_names(),
        wild: false,
        // Some draws divide by it.
        slot: Rate::new(slowest)?.time_of(u64::from(sizes.full_wire())).0.max(1),
        round_trip: trips.max()?,
        payload: u64::from(sizes.payload),
        wire: u64::from(sizes.full_wire()),
        pinned: setup.fabric.routing == headway_network::Routing::Pinned,
    })
}

/// Costs of hosts' processors and interfaces: less than wires, so that a run takes no longer than it may.
fn costs(dice: &mut Dice, sketch: &Sketch, hosts: &mut Table) {
    let mut put = |key: &str, value: Value| hosts.insert(key.into(), value);
    if dice.percent(60) {
        put("packet_cost", duration(dice.count(1, sketch.slot / 4 + 1)));
    }
    if dice.percent(40) {
        put("message_cost", duration(dice.count(1, sketch.slot * 2)));
    }
    if dice.percent(40) {
        put("coalesce", duration(dice.count(1, sketch.slot * 4)));
        if dice.percent(50) {
            put("coalesce_packets", number(dice.between(1, 16)));
        }
    }
    if dice.percent(40) {
        put("burst", number(dice.between(1, (sketch.wire * 20).min(1_000_000))));
    }
}

fn start(dice: &mut Dice) -> Table {
    let mode = *dice.pick(&["as-written", "line-rate"]);
    table([("mode", mode.into()), ("clump", number(dice.between(1, 4)))])
}

/// Rows of samples that a scenario may make: a run whose flows wait for long would need all memory there is.
const ROWS: u64 = 400_000;
/// Most rows of one flow or one link in an interval.
const ROWS_EACH: u64 = 4;
/// More flows than any scenario has.
const FLOWS: u64 = 600;

/// Adds the entries by which links are reported, and the probes of the flows that are sampled: all that their
/// transports declare, or some of them. Returns the time after which there may be too many rows.
fn ask(dice: &mut Dice, case: &Case, sample: &mut Table, filled: u64) -> u64 {
    if dice.percent(40) {
        sample.insert("volumes".into(), true.into());
    }
    let known = probes(&case.scenario);
    if known.is_empty() || !sample.contains_key("flows") || dice.percent(50) {
        return filled;
    }
    let some = dice.some(&known, 50);
    let asked = if some.is_empty() { true.into() } else { Value::from(some) };
    sample.insert("probes".into(), asked);
    // Each probe is one more row of a flow in an interval.
    filled / (1 + known.len() as u64)
}

/// Names of the probes that the transports of a scenario declare.
fn probes(scenario: &Table) -> Vec<&'static str> {
    let entries = scenario.get("traffic").and_then(Value::as_array).into_iter().flatten();
    let own = entries.filter_map(|entry| entry.get("transport")).chain(scenario.get("transport"));
    let names = own.filter_map(|own| own.get("name").unwrap_or(own).as_str());
    let declared = names.filter_map(headway_transport::registry::find_entry).flat_map(|entry| entry.probes);
    let known: BTreeSet<&str> = declared.map(|probe| probe.name).collect();
    known.into_iter().collect()
}

/// Quantities that are sampled, and the time after which there may be too many rows.
fn sample(dice: &mut Dice, sketch: &Sketch) -> (Table, u64) {
    let every = dice.count(sketch.slot * 4, (sketch.slot * 400).max(sketch.round_trip * 4));
    let mut table = table([("every", duration(every))]);
    let both = dice.percent(50);
    if both || dice.percent(50) {
        table.insert("flows".into(), "all".into());
    }
    if both || table.len() == 1 {
        let some = Value::Array(vec![dice.pick(&sketch.links).as_str().into()]);
        let links = if dice.percent(50) { "all".into() } else { some };
        table.insert("links".into(), links);
    }
    if dice.percent(50) {
        table.insert("causes".into(), true.into());
    }
    let rows = (sketch.links.len() as u64 + FLOWS) * ROWS_EACH;
    (table, every * (ROWS / rows).max(20))
}
