//! What goes wrong on the links of a random scenario.

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
    let mut fault = match dice.below(10) {
        0..3 => numbers(dice),
        3..5 => dark(dice, sketch),
        _ => chances(dice, sketch),
    };
    if dice.percent(60) {
        let names = (0..dice.between(1, 3)).map(|_| dice.pick(&sketch.links).clone());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names.dedup();
        fault.insert("links".into(), names.into());
    }
    if dice.percent(40) {
        fault.insert("kind".into(), dice.pick(&PacketKind::ALL).name().into());
    }
    fault
}

fn numbers(dice: &mut Dice) -> Table {
    let mut list: Vec<u64> = (0..dice.between(1, 4)).map(|_| dice.count(1, 200)).collect();
    list.sort_unstable();
    list.dedup();
    table([("drop", Value::Array(list.into_iter().map(number).collect()))])
}

/// Mostly it becomes light again, so that its flows have to finish.
fn dark(dice: &mut Dice, sketch: &Sketch) -> Table {
    let unit = sketch.round_trip.max(sketch.slot * 20);
    let from = dice.count(1, unit * 4);
    let mut dark = table([("dark_from", duration(from))]);
    if dice.percent(80) {
        dark.insert("dark_until".into(), duration(from + dice.count(1, unit * 8)));
    }
    dark
}

fn chances(dice: &mut Dice, sketch: &Sketch) -> Table {
    let mut fault = Table::new();
    for key in ["loss", "duplicate", "reorder"] {
        if dice.percent(60) {
            fault.insert(key.into(), Value::Float(dice.magnitude(0.0005, 0.04)));
        }
    }
    if fault.is_empty() {
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
