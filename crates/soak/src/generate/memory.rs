//! Memory that ports share, for a random scenario.

use super::Sketch;
use crate::case::{Case, number, table};
use crate::dice::Dice;
use toml::Value;

/// Lets the ports of switches share their memory, of a chip or with little of it, unless they are lossless.
pub(super) fn vary(dice: &mut Dice, sketch: &Sketch, case: &mut Case) {
    if !dice.percent(12) {
        return;
    }
    let mut memory = table([]);
    let mut put = |key: &str, value: Value| drop(memory.insert(key.into(), value));
    if dice.percent(25) {
        put("chip", (*dice.pick(&headway_network::Chip::WORDS[1..])).into());
    }
    let classes = dice.between(1, 8);
    let each = dice.percent(40);
    if each {
        put("classes", number(classes));
    }
    let alpha = |dice: &mut Dice| Value::Float(dice.magnitude(0.1, 16.0));
    match (each, dice.below(3)) {
        (true, 0) => put("alphas", (0..classes).map(|_| alpha(dice)).collect::<Vec<_>>().into()),
        (_, 1) => put("alpha", alpha(dice)),
        _ => {}
    }
    // Room for a few packets at an alpha of a tenth.
    put("size", number(dice.count(sketch.wire * 300, sketch.wire * 30_000)));
    if dice.percent(30) {
        put("reserve", number(dice.count(0, sketch.wire * 2)));
    }
    if dice.percent(30) {
        put("count_control", false.into());
    }
    if dice.percent(30) {
        put("mark", number(dice.count(sketch.wire * 4, sketch.wire * 1_000)));
    }
    let fabric = case.scenario.entry("fabric").or_insert_with(|| table([]).into());
    let Some(fabric) = fabric.as_table_mut().filter(|fabric| !fabric.contains_key("pfc")) else { return };
    fabric.insert("memory".into(), memory.into());
    if let Some(Value::Array(list)) = fabric.get_mut("at")
        && dice.percent(50)
    {
        let own = alpha(dice);
        list.iter_mut().filter_map(Value::as_table_mut).for_each(|at| {
            at.insert("memory_alpha".into(), own.clone());
        });
    }
}
