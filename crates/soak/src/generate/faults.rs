//! Faults on the links of a random scenario.

use super::Sketch;
use crate::case::{duration, number, table};
use crate::dice::Dice;
use headway_packet::PacketKind;
use toml::{Table, Value};

/// The `[[fault]]` tables.
pub(super) fn draw(dice: &mut Dice, sketch: &Sketch) -> Vec<Value> {
    (0..dice.between(1, 2)).map(|_| one(dice, sketch).into()).collect()
}

fn one(dice: &mut Dice, sketch: &Sketch) -> Table {
    match dice.below(14) {
        // Outages and changes choose their links themselves, and have no `kind`.
        0..2 => return down(dice, sketch),
        2..4 => return change(dice, sketch),
        _ => {}
    }
    let mut fault = match dice.below(10) {
        0..3 => numbers(dice, sketch),
        3..5 => blackhole(dice, sketch),
        _ => chances(dice, sketch),
    };
    if dice.percent(60) {
        fault.insert("links".into(), links(dice, sketch));
    }
    if dice.percent(40) {
        fault.insert("kind".into(), dice.pick(&PacketKind::ALL).name().into());
    }
    fault
}

fn links(dice: &mut Dice, sketch: &Sketch) -> Value {
    let names = (0..dice.between(1, 3)).map(|_| dice.pick(&sketch.links).clone());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.dedup();
    names.into()
}

/// A time in which something happens to most flows.
fn moment(dice: &mut Dice, sketch: &Sketch) -> u64 {
    dice.count(1, sketch.round_trip.max(sketch.slot * 20) * 4)
}

/// Links or switches that go down, and mostly come up again.
fn down(dice: &mut Dice, sketch: &Sketch) -> Table {
    let at = moment(dice, sketch);
    let mut down = table([("down_at", duration(at))]);
    if dice.percent(30) {
        let name = dice.pick(&sketch.switches).as_str();
        down.insert("switches".into(), Value::Array(vec![name.into()]));
    } else {
        down.insert("links".into(), links(dice, sketch));
    }
    if dice.percent(80) {
        down.insert("up_at".into(), duration(at + moment(dice, sketch)));
    }
    match dice.below(3) {
        0 => drop(down.insert("converge".into(), "never".into())),
        1 => drop(down.insert("converge".into(), duration(moment(dice, sketch)))),
        _ => {}
    }
    down
}

/// Links that get another rate or another delay, not far from their former one.
fn change(dice: &mut Dice, sketch: &Sketch) -> Table {
    let at = moment(dice, sketch);
    let mut change = table([("at", duration(at)), ("links", links(dice, sketch))]);
    let both = dice.percent(30);
    if both || dice.percent(50) {
        // The rate of the slowest link, from the time that a full packet takes there.
        let bps = sketch.wire * 8 * 1_000_000_000_000 / sketch.slot;
        let bps = (bps as f64 * dice.magnitude(0.2, 5.0)) as u64;
        change.insert("rate".into(), format!("{} bps", bps.max(1_000_000)).into());
    }
    if both || change.len() == 2 {
        change.insert("delay".into(), duration(dice.below(sketch.round_trip + 1)));
    }
    if dice.percent(60) {
        change.insert("until".into(), duration(at + moment(dice, sketch)));
    }
    change
}

/// On few links: where every link of a path loses the first packets, time-outs double until the run is over.
fn numbers(dice: &mut Dice, sketch: &Sketch) -> Table {
    let mut list: Vec<u64> = (0..dice.between(1, 3)).map(|_| dice.count(1, 200)).collect();
    list.sort_unstable();
    list.dedup();
    let list = Value::Array(list.into_iter().map(number).collect());
    table([("drop", list), ("links", links(dice, sketch))])
}

/// A link that loses every packet. Mostly it ends, so that its flows have to finish.
fn blackhole(dice: &mut Dice, sketch: &Sketch) -> Table {
    let from = moment(dice, sketch);
    let mut fault = table([("dark_from", duration(from))]);
    if dice.percent(80) {
        fault.insert("dark_until".into(), duration(from + moment(dice, sketch)));
    }
    fault
}

fn chances(dice: &mut Dice, sketch: &Sketch) -> Table {
    let mut fault = Table::new();
    for key in ["loss", "duplicate", "reorder"] {
        if dice.percent(60) {
            fault.insert(key.into(), Value::Float(dice.magnitude(0.0005, 0.04)));
        }
    }
    if fault.is_empty() {
        // A table without any key is refused.
        fault.insert("loss".into(), Value::Float(0.01));
    }
    if fault.contains_key("reorder") {
        fault.insert(
            "reorder_by".into(),
            duration(dice.count(1, sketch.round_trip.max(sketch.slot * 10) * 2)),
        );
    }
    fault
}
