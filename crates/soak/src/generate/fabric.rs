//! Ports, packet sizes and transports of a random scenario, with parameters from their declared ranges.

use crate::case::{duration, number, table};
use crate::dice::Dice;
use headway_lab::scenario::fabric::ROUTINGS;
use headway_units::{ParamKind, ParamSpec, ParamValue};
use toml::{Table, Value};

/// The `[fabric]` and the `[transport]` table.
pub(super) fn draw(dice: &mut Dice) -> (Table, Table) {
    let transports = headway_transport::registry::all();
    let transport = dice.pick(&transports);
    let mut fabric = Table::new();
    let foreign = dice.percent(15).then(|| dice.pick(headway_fabric::registry::NAMES).to_string());
    if let Some(name) = &foreign {
        fabric.insert("discipline".into(), name.as_str().into());
    }
    if dice.percent(40) {
        fabric.insert("routing".into(), (*dice.pick(ROUTINGS)).into());
    }
    let largest = if dice.percent(20) { sizes(dice, &mut fabric) } else { 1538 };
    for key in ["buffer", "control_buffer"] {
        if dice.percent(30) {
            fabric.insert(key.into(), room(dice, largest));
        }
    }
    let own = transport.info.discipline;
    if dice.percent(40) {
        let found = headway_fabric::registry::find(foreign.as_deref().unwrap_or(own));
        fabric.extend(params(dice, &found.map(|(_, specs)| specs).unwrap_or_default()));
    }
    let mut table = table([("name", transport.info.name.into())]);
    if dice.percent(60) {
        table.extend(params(dice, &transport.params));
    }
    (fabric, table)
}

/// Some parameters, each of a value that its declaration allows.
pub(super) fn params(dice: &mut Dice, specs: &[ParamSpec]) -> Table {
    let chosen = dice.some(specs, 25);
    chosen.iter().map(|spec| (spec.name.to_string(), param(dice, spec))).collect()
}

fn param(dice: &mut Dice, spec: &ParamSpec) -> Value {
    match (&spec.kind, &spec.default) {
        (ParamKind::Bool, _) => Value::Boolean(dice.percent(50)),
        (ParamKind::Choice(words), _) => (*dice.pick(words)).into(),
        (ParamKind::Int { min, max }, default) => {
            let usual = if let ParamValue::Int(n) = default { *n } else { *min };
            number(whole(dice, *min, (*max).min(i64::MAX as u64), usual))
        }
        (ParamKind::Float { min, max }, default) => {
            let usual = if let ParamValue::Float(x) = default { *x } else { *min };
            Value::Float(real(dice, *min, *max, usual))
        }
        (ParamKind::Time, ParamValue::Time(usual)) if usual.0 > 0 => {
            duration(dice.count(usual.0 / 10, usual.0.saturating_mul(4)))
        }
        (ParamKind::Time, _) => duration(dice.count(1_000_000, 10_000_000_000)),
    }
}

/// Mostly of the magnitude that is usual, sometimes small, sometimes an end of the range.
fn whole(dice: &mut Dice, min: u64, max: u64, usual: u64) -> u64 {
    match dice.below(10) {
        0 => min,
        1 => max,
        2..5 => dice.count(min, max.min(min.saturating_add(100))),
        _ => dice.count(min.max(usual / 4), max.min(usual.saturating_mul(4).max(min.saturating_add(16)))),
    }
}

fn real(dice: &mut Dice, min: f64, max: f64, usual: f64) -> f64 {
    match dice.below(10) {
        0 => min,
        1 => max.min(usual * 100.0 + 1.0),
        2..5 => min + dice.share() * (max.min(usual * 4.0 + 1.0) - min),
        _ => (usual * dice.magnitude(0.25, 4.0)).clamp(min, max),
    }
}

/// Packet sizes; answers the largest packet's bytes on the wire.
fn sizes(dice: &mut Dice, fabric: &mut Table) -> u64 {
    let payload = dice.count(64, 9_000);
    let (header, framing) = (dice.below(81), dice.below(61));
    let control = dice.between(20, 120);
    for (key, bytes) in [("payload", payload), ("header", header), ("framing", framing), ("control", control)]
    {
        fabric.insert(key.into(), number(bytes));
    }
    (payload + header + framing).max(control)
}

/// Buffer space that has room for a few full packets: a port without is a path that does not live.
fn room(dice: &mut Dice, largest: u64) -> Value {
    if dice.percent(50) {
        return format!("{} packets", dice.count(4, 1_000)).into();
    }
    format!("{} B", dice.count(4 * largest, 1_000 * largest)).into()
}
