//! Lossless switches for a random scenario.

use super::{Sketch, is_accepted};
use crate::case::{Case, duration, number, table};
use crate::dice::Dice;
use headway_network::{Lossless, Network, Surplus};
use headway_units::Time;
use std::path::Path;
use toml::{Table, Value};

/// More memory than any switch needs.
const PLENTY: u64 = 1 << 40;

/// Makes the switches of a scenario lossless, with little memory or much; `false` where it has something that does not go
/// with them, and is left as it was.
pub(super) fn draw(dice: &mut Dice, case: &mut Case, folder: &Path) -> bool {
    let mut made = case.clone();
    let fabric = made.scenario.entry("fabric").or_insert_with(|| Table::new().into());
    let Some(fabric) = fabric.as_table_mut() else { return false };
    // Lossless switches have one memory for all ports.
    fabric.remove("buffer");
    fabric.remove("memory");
    if let Some(Value::Array(list)) = fabric.get_mut("at") {
        list.iter_mut().filter_map(Value::as_table_mut).for_each(|at| {
            at.remove("buffer");
            at.remove("memory_alpha");
        });
        // An entry that set a buffer alone sets nothing now.
        list.retain(|at| at.get("discipline").is_some());
    }
    // Enough to be accepted, until the switches say what they need at least.
    let mut pfc = table([("buffer", number(PLENTY))]);
    let mut put = |key: &str, value: Value| drop(pfc.insert(key.into(), value));
    // Credits and other control may be larger than data that is small.
    put("largest_packet", number(9_200));
    if dice.percent(50) {
        put("alpha", Value::Float(dice.magnitude(0.01, 8.0)));
    }
    if dice.percent(40) {
        put("classes", number(dice.between(1, 8)));
    }
    if dice.percent(30) {
        put("resume_offset", number(dice.count(1, 100_000)));
    }
    if dice.percent(30) {
        put("reserve", number(dice.count(0, 20_000)));
    }
    if dice.percent(20) {
        put("out_of_band", true.into());
    }
    if dice.percent(15) {
        put("pause_control", true.into());
    }
    if dice.percent(20) {
        put("on_deadlock", "report".into());
    }
    fabric.insert("pfc".into(), pfc.clone().into());
    // The least that its switches need, and something for the pool.
    let least = || {
        let scenario = made.load(folder).ok()?;
        let setup = scenario.setup().ok()?;
        let network = Network::build(&setup.topology.spec, &setup.fabric).ok()?;
        let surplus = Surplus { jitter: Time::us(1_000), telemetry: 42, faults: &setup.faults };
        Some(Lossless::new(&network, surplus).ok()??.set_apart())
    };
    let Some(least) = least() else { return false };
    pfc.insert("buffer".into(), number(least + dice.count(10_000, 20_000_000)));
    if let Some(fabric) = made.scenario.get_mut("fabric").and_then(Value::as_table_mut) {
        fabric.insert("pfc".into(), pfc.into());
    }
    let fits = is_accepted(&made, folder);
    if fits {
        *case = made;
    }
    fits
}

/// Keys that lossless switches may have as well, where they are.
pub(super) fn vary(dice: &mut Dice, sketch: &Sketch, case: &mut Case) {
    let fabric = case.scenario.get_mut("fabric").and_then(Value::as_table_mut);
    let Some(pfc) = fabric.and_then(|fabric| fabric.get_mut("pfc")).and_then(Value::as_table_mut) else {
        return;
    };
    if dice.percent(10) {
        // The memory is written, and holds.
        pfc.insert("chip".into(), (*dice.pick(headway_network::Chip::WORDS)).into());
    }
    if dice.percent(30) {
        pfc.insert("frame".into(), number(dice.between(64, 200)));
    }
    if dice.percent(30) {
        let every = dice.count(sketch.slot, sketch.round_trip * 20 + sketch.slot * 200);
        pfc.insert("deadlock_check".into(), duration(every.max(1_000)));
    }
}
