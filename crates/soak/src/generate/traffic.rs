//! Traffic of a random scenario's hosts: every kind that the lab lists, within a number of packets.

use super::{Sketch, fabric};
use crate::case::{FLOWS, duration, number, table};
use crate::dice::Dice;
use headway_lab::traffic::KINDS;
use headway_lab::traffic::draw::{self, Ground, Listed};
use serde_json::Value as Json;
use toml::{Table, Value};

/// The `[[traffic]]` tables, and what is in the files that they name; `several` has most of them bring a transport of
/// their own.
pub(super) fn draw(dice: &mut Dice, sketch: &Sketch, several: bool) -> (Vec<Value>, Option<Table>) {
    let entries = dice.count(1 + u64::from(several), 3);
    let packets = (dice.count(sketch.size.packets / 50, sketch.size.packets) / entries).max(1);
    let mut files = None;
    let one = |_| {
        let mut entry = entry(dice, sketch, packets, &mut files);
        if several && dice.percent(70) {
            let (name, own) = fabric::transport(dice, sketch.wild);
            // A bare name is the scenario's own transport, parameters included, if it is that one.
            let own = if own.len() == 1 { name.into() } else { own.into() };
            entry.insert("transport".into(), own);
        }
        entry.into()
    };
    ((0..entries).map(one).collect(), files.map(|flows| listed(sketch, &flows)))
}

/// Keys of entries that make another number of flows, or other flows, of the present ones: `flows` becomes a time in
/// which links carry no more than they may.
pub(super) fn vary(dice: &mut Dice, sketch: &Sketch, entries: &mut [Value]) {
    for entry in entries.iter_mut().filter_map(Value::as_table_mut) {
        if entry.contains_key("mean_deadline") && dice.percent(40) {
            entry.insert("least_deadline".into(), duration(dice.count(1, sketch.round_trip)));
        }
        if entry.get("kind").and_then(Value::as_str) != Some("poisson") {
            continue;
        }
        let mut word = |key: &str, words: &[&str]| {
            if dice.percent(30) {
                entry.insert(key.into(), (*dice.pick(words)).into());
            }
        };
        word("load_bytes", &["payload", "wire"]);
        word("load_reference", &["host-links", "core-links"]);
        word("pairs", &["any", "inter-rack"]);
        if dice.percent(30) {
            let packets = dice.count(1, sketch.size.packets.min(1_000));
            // An entry has a number of flows or a duration, not both.
            entry.remove("flows");
            entry.insert("duration".into(), duration((sketch.slot * packets / sketch.hosts).max(1)));
        }
    }
}

/// Some flows of lists wait for earlier ones, or for a step after them; an entry with a `stop` has none that wait.
pub(super) fn wait(dice: &mut Dice, sketch: &Sketch, entries: &mut [Value]) {
    for entry in entries.iter_mut().filter_map(Value::as_table_mut) {
        if entry.contains_key("stop") {
            continue;
        }
        let Some(flows) = entry.get_mut("flows").and_then(Value::as_array_mut) else { continue };
        let mut steps: Vec<Value> = Vec::new();
        for (number, flow) in flows.iter_mut().enumerate() {
            let Some(flow) = flow.as_table_mut() else { continue };
            flow.insert("name".into(), format!("f{number}").into());
            if number == 0 || dice.percent(40) {
                continue;
            }
            let mut causes: Vec<Value> = Vec::new();
            for _ in 0..dice.count(1, 3) {
                // An earlier one, so that no flows wait for each other.
                let name = format!("f{}", dice.below(number as u64));
                let known = table([("name", Value::from(name.as_str())), ("until", "known".into())]);
                causes.push(if dice.percent(30) { known.into() } else { name.into() });
            }
            if dice.percent(30) {
                let name = format!("step{number}");
                let mut step = table([("name", Value::from(name.as_str())), ("after", causes.into())]);
                if dice.percent(70) {
                    step.insert("host".into(), crate::case::number(dice.below(sketch.hosts)));
                }
                if dice.percent(70) {
                    step.insert("takes".into(), duration(dice.count(1, sketch.round_trip + sketch.slot)));
                }
                steps.push(step.into());
                causes = vec![name.into()];
            }
            flow.insert("after".into(), causes.into());
        }
        if !steps.is_empty() {
            entry.insert("steps".into(), Value::Array(steps));
        }
    }
}

impl draw::RandomSource for Dice {
    fn below(&mut self, n: u64) -> u64 {
        Dice::below(self, n)
    }

    fn share(&mut self) -> f64 {
        Dice::share(self)
    }

    fn magnitude(&mut self, least: f64, most: f64) -> f64 {
        Dice::magnitude(self, least, most)
    }

    fn count(&mut self, least: u64, most: u64) -> u64 {
        Dice::count(self, least, most)
    }
}

fn entry(dice: &mut Dice, sketch: &Sketch, packets: u64, file: &mut Option<Vec<Listed>>) -> Table {
    let kind = dice.pick(KINDS);
    let (hosts, payload, wire, pinned) = (sketch.hosts, sketch.payload, sketch.wire, sketch.pinned);
    let (slot, round_trip, file_names) = (sketch.slot, sketch.round_trip, FLOWS);
    let mut ground =
        Ground { dice, hosts, packets, payload, wire, slot, round_trip, pinned, file_names, file };
    let drawn = (kind.draw)(&mut ground);
    let mut table: Table =
        drawn.as_object().into_iter().flatten().map(|(key, value)| (key.clone(), as_toml(value))).collect();
    table.insert("kind".into(), kind.info.name.into());
    common(dice, sketch, &mut table);
    table
}

/// A drawn value in TOML, which has no null.
fn as_toml(value: &Json) -> Value {
    match value {
        Json::Null => panic!("a kind of traffic draws a key without a value"),
        Json::Bool(b) => Value::Boolean(*b),
        // Whole numbers first, since TOML tells 1 from 1.0.
        Json::Number(n) => n.as_u64().map_or_else(|| Value::Float(n.as_f64().unwrap_or(f64::NAN)), number),
        Json::String(text) => Value::String(text.clone()),
        Json::Array(list) => Value::Array(list.iter().map(as_toml).collect()),
        Json::Object(map) => Value::Table(map.iter().map(|(k, v)| (k.clone(), as_toml(v))).collect()),
    }
}

/// Contents of the file that entries name.
fn listed(sketch: &Sketch, flows: &[Listed]) -> Table {
    let one = |flow: &Listed| {
        let keys = [
            ("src", flow.src),
            ("dst", flow.dst),
            ("bytes", flow.bytes),
            ("start", flow.start_us),
            ("class", flow.class),
        ];
        Value::from(table(keys.map(|(key, n)| (key, number(n)))))
    };
    let list = Value::Array(flows.iter().map(one).collect());
    table([("nodes", number(sketch.hosts)), ("flow", list)])
}

/// Keys that entries of every kind may have.
fn common(dice: &mut Dice, sketch: &Sketch, table: &mut Table) {
    if dice.percent(10) {
        table.insert("class".into(), number(dice.below(8)));
    }
    if dice.percent(15) {
        table.insert("jitter".into(), start(dice, sketch));
    }
    if dice.percent(15) {
        let share = dice.count(1, 40);
        // A share need not be whole, and 0.375 is exact in binary.
        let share = if dice.percent(30) { Value::Float(share as f64 + 0.375) } else { number(share) };
        table.insert("share".into(), share);
    }
    if dice.percent(10) {
        table.insert("clump".into(), number(dice.count(1, 8)));
    }
    if dice.percent(8) {
        // After the latest start of any flow that is listed, with its jitter.
        let latest = sketch.round_trip * 4 + sketch.slot * 100;
        table.insert("stop".into(), duration(2 * latest + dice.count(1, latest + sketch.slot * 400)));
    }
    match dice.below(10) {
        0 => {
            table.insert(
                "deadline".into(),
                duration(dice.count(sketch.slot, sketch.round_trip * 50 + sketch.slot)),
            );
        }
        1 => {
            table.insert("mean_deadline".into(), duration(sketch.round_trip * 10 + sketch.slot));
        }
        _ => {}
    }
}

/// Within a few round trips, or a few packets where that is longer.
fn start(dice: &mut Dice, sketch: &Sketch) -> Value {
    let latest = sketch.round_trip * 4 + sketch.slot * 100;
    duration(if dice.percent(40) { 0 } else { dice.below(latest) })
}
