//! Ports, packet sizes and transports of a random scenario, with parameters from their declared ranges.

use super::Sketch;
use crate::case::{duration, number, table};
use crate::dice::Dice;
use headway_lab::fabric::ROUTINGS;
use headway_params::{ParamKind, ParamSpec, ParamValue};
use toml::{Table, Value};

/// The `[fabric]` and the `[transport]` table; `several` asks for ports that suit any mixture as well as this one, and
/// `tiny` for small packets.
pub(super) fn draw(dice: &mut Dice, wild: bool, several: bool, tiny: bool) -> (Table, Table) {
    let (name, transport) = transport(dice, wild);
    let own = headway_transport::registry::find_entry(name).map_or("", |entry| entry.info.discipline);
    let mut fabric = Table::new();
    let discipline = if dice.percent(15) { *dice.pick(headway_fabric::registry::NAMES) } else { own };
    // A lone transport brings its own without being told.
    if several || discipline != own {
        fabric.insert("discipline".into(), discipline.into());
    }
    if dice.percent(40) {
        let routing = *dice.pick(ROUTINGS);
        fabric.insert("routing".into(), routing.into());
        if routing == "flowlet" && dice.percent(70) {
            fabric.insert("flowlet_gap".into(), duration(dice.count(0, 1_000_000_000)));
        }
    }
    let largest = match (tiny, dice.percent(20)) {
        (true, _) => sizes(dice, &mut fabric, 256),
        (false, true) => sizes(dice, &mut fabric, 9_000),
        (false, false) => 1538,
    };
    for key in ["buffer", "control_buffer"] {
        if dice.percent(30) {
            fabric.insert(key.into(), room(dice, largest));
        }
    }
    if dice.percent(40) {
        let found = headway_fabric::registry::find(discipline);
        fabric.extend(params(dice, wild, &found.map(|(_, specs)| specs).unwrap_or_default()));
    }
    (fabric, transport)
}

/// Some of `[[fabric.at]]`, and how switches forward: drawn when links have names.
pub(super) fn ports(dice: &mut Dice, sketch: &Sketch, fabric: &mut Table) {
    if dice.percent(10) {
        fabric.insert("forwarding".into(), "cut-through".into());
    }
    if !dice.percent(15) {
        return;
    }
    let one = |dice: &mut Dice| {
        let mut at = Table::new();
        match dice.below(3) {
            0 => drop(at.insert("links".into(), (*dice.pick(&["hosts", "edge", "switches"])).into())),
            1 => {
                let name = dice.pick(&sketch.links).as_str().into();
                drop(at.insert("links".into(), Value::Array(vec![name])));
            }
            _ => {
                let name = dice.pick(&sketch.switches).as_str().into();
                drop(at.insert("switches".into(), Value::Array(vec![name])));
            }
        }
        if dice.percent(40) {
            // Any other would leave transports without ports that they need, and flows unfinished.
            at.insert("discipline".into(), (*dice.pick(&["drop-tail", "strict-priority"])).into());
        }
        at.insert("buffer".into(), room(dice, sketch.wire));
        at
    };
    let list = (0..dice.between(1, 2)).map(|_| one(dice).into()).collect();
    fabric.insert("at".into(), Value::Array(list));
}

/// A transport's name, and its table.
pub(super) fn transport(dice: &mut Dice, wild: bool) -> (&'static str, Table) {
    let all = headway_transport::registry::all_entries();
    let entry = dice.pick(&all);
    let mut table = table([("name", entry.info.name.into())]);
    if dice.percent(60) {
        table.extend(params(dice, wild, &entry.params));
    }
    (entry.info.name, table)
}

/// Some parameters, each of a value that its declaration allows.
fn params(dice: &mut Dice, wild: bool, specs: &[ParamSpec]) -> Table {
    let chosen = dice.some(specs, 25);
    let drawn = chosen.iter().filter_map(|spec| {
        let value = if wild { anywhere(dice, spec) } else { near(dice, spec) };
        Some((spec.name.to_string(), value?))
    });
    drawn.collect()
}

/// Within a factor four of the default; `None` where that is a 0 that stands for something else.
fn near(dice: &mut Dice, spec: &ParamSpec) -> Option<Value> {
    Some(match (&spec.kind, &spec.default) {
        (ParamKind::Int { min, max } | ParamKind::Bytes { min, max }, ParamValue::Int(usual))
            if *usual > 0 =>
        {
            number(dice.count((*min).max(usual / 4), (*max).min(usual.saturating_mul(4))))
        }
        (ParamKind::Float { min, max }, ParamValue::Float(usual)) if *usual > 0.0 => {
            Value::Float((usual * dice.magnitude(0.25, 4.0)).clamp(*min, *max))
        }
        (ParamKind::Time { min, max }, ParamValue::Time(usual)) if usual.0 > 0 => {
            duration(dice.count(min.0.max(usual.0 / 4), max.0.min(usual.0.saturating_mul(4))))
        }
        (ParamKind::Rate { min, max }, ParamValue::Rate(usual)) => {
            let bps =
                dice.count(min.bps().max(usual.bps() / 4), max.bps().min(usual.bps().saturating_mul(4)));
            format!("{bps} bps").into()
        }
        (ParamKind::Length { min, max }, ParamValue::Int(usual)) if *usual > 0 => {
            let bytes = dice.count((*min).max(usual / 4), (*max).min(usual.saturating_mul(4)));
            format!("{bytes} B").into()
        }
        (ParamKind::Bool | ParamKind::Choice(_), _) => return anywhere(dice, spec),
        // A 0 that stands for something else has nothing near it.
        _ => return None,
    })
}

/// Anywhere in its range, and often at an end of it.
fn anywhere(dice: &mut Dice, spec: &ParamSpec) -> Option<Value> {
    Some(match &spec.kind {
        ParamKind::Bool => Value::Boolean(dice.percent(50)),
        ParamKind::Choice(words) => (*dice.pick(words)).into(),
        ParamKind::Length { min, max } => {
            let (any, small) = (dice.count(*min, *max), dice.count(*min, (*max).min(min + 100)));
            format!("{} B", dice.pick(&[*min, *max, any, small])).into()
        }
        ParamKind::Int { min, max } | ParamKind::Bytes { min, max } => {
            // TOML's numbers end before ours do.
            let (min, max) = (*min, (*max).min(i64::MAX as u64));
            let (any, small) = (dice.count(min, max), dice.count(min, max.min(min + 100)));
            number(*dice.pick(&[min, max, any, small]))
        }
        ParamKind::Float { min, max } => {
            let between = min + dice.share() * (max - min);
            let small = (min + dice.share()).min(*max);
            Value::Float(*dice.pick(&[*min, *max, between, small]))
        }
        ParamKind::Rate { min, max } => {
            let any = dice.count(min.bps(), max.bps());
            format!("{} bps", dice.pick(&[min.bps(), max.bps(), any])).into()
        }
        ParamKind::Time { min, max } => {
            let (any, small) =
                (dice.count(min.0, max.0), dice.count(min.0, max.0.min(min.0 + 10_000_000_000)));
            duration(*dice.pick(&[min.0, max.0, any, small, small]))
        }
    })
}

/// Packet sizes; returns the largest packet's bytes on the wire.
fn sizes(dice: &mut Dice, fabric: &mut Table, most: u64) -> u64 {
    let payload = dice.count(64, most);
    let (header, framing) = (dice.below(81), dice.below(61));
    let control = dice.between(20, 120);
    for (key, bytes) in [("payload", payload), ("header", header), ("framing", framing), ("control", control)]
    {
        fabric.insert(key.into(), number(bytes));
    }
    // Data may be shorter than control.
    (payload + header + framing).max(control)
}

/// Buffer space that has room for a few full packets: a port without is a path that does not live.
fn room(dice: &mut Dice, largest: u64) -> Value {
    if dice.percent(50) {
        return format!("{} packets", dice.count(4, 1_000)).into();
    }
    format!("{} B", dice.count(4 * largest, 1_000 * largest)).into()
}
