//! What the hosts of a random scenario are asked to send: every kind that the lab lists, within a number of packets.

use super::{Sketch, fabric};
use crate::case::{FLOWS, duration, number, table};
use crate::dice::Dice;
use headway_lab::traffic::KINDS;
use headway_lab::workload::library::WORKLOADS;
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
    ((0..entries).map(one).collect(), files)
}

fn entry(dice: &mut Dice, sketch: &Sketch, packets: u64, files: &mut Option<Table>) -> Table {
    let kinds: Vec<&str> = KINDS.iter().map(|k| k.0).collect();
    let kind = *dice.pick(&kinds);
    let mut table = match kind {
        "flows" => flows(dice, sketch, packets),
        "file" => file(dice, sketch, packets, files),
        "poisson" => poisson(dice, sketch, packets),
        "incast" => incast(dice, sketch, packets),
        "permutation" => {
            let bytes = bytes(dice, sketch, packets / sketch.hosts);
            table([("bytes", bytes), ("start", start(dice, sketch))])
        }
        "many-to-many" => many_to_many(dice, sketch, packets),
        "on-off" => on_off(dice, sketch, packets),
        other => panic!("the generator knows no traffic of kind {other}"),
    };
    table.insert("kind".into(), kind.into());
    common(dice, sketch, &mut table);
    table
}

/// Entries that read a file read the same one, as a table or as a matrix.
fn file(dice: &mut Dice, sketch: &Sketch, packets: u64, files: &mut Option<Table>) -> Table {
    if files.is_none() {
        let count = dice.count(1, packets.min(60));
        let latest = (sketch.round_trip * 4 + sketch.slot * 100) / 1_000_000;
        let one = |_| {
            let (src, dst) = pair(dice, sketch);
            let flow = table([
                ("src", number(src)),
                ("dst", number(dst)),
                ("bytes", bytes(dice, sketch, packets / count)),
                ("start", number(dice.below(latest + 1))),
                ("class", number(dice.below(8))),
            ]);
            Value::from(flow)
        };
        let list = Value::Array((0..count).map(one).collect());
        *files = Some(table([("nodes", number(sketch.hosts)), ("flow", list)]));
    }
    let name = *dice.pick(&FLOWS);
    let mut entry = table([("path", name.into())]);
    if name == FLOWS[1] {
        entry.insert("start_unit".into(), "us".into());
    }
    entry
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
        table.insert("share".into(), number(dice.count(1, 40)));
    }
    if dice.percent(10) {
        table.insert("clump".into(), number(dice.count(1, 8)));
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

/// A message of up to so many packets; often one byte more or less than whole packets.
fn bytes(dice: &mut Dice, sketch: &Sketch, packets: u64) -> Value {
    let most = packets.max(1);
    let whole = if dice.percent(50) { most } else { dice.count(1, most) } * sketch.payload;
    number(match dice.below(8) {
        0 => dice.count(1, sketch.payload),
        1 => whole,
        2 => whole + 1,
        3 => (whole - 1).max(1),
        _ => dice.between((whole / 2).max(1), whole),
    })
}

/// Within a few round trips, or a few packets where that is longer.
fn start(dice: &mut Dice, sketch: &Sketch) -> Value {
    let latest = sketch.round_trip * 4 + sketch.slot * 100;
    duration(if dice.percent(40) { 0 } else { dice.below(latest) })
}

/// Two hosts.
fn pair(dice: &mut Dice, sketch: &Sketch) -> (u64, u64) {
    let src = dice.below(sketch.hosts);
    (src, (src + 1 + dice.below(sketch.hosts - 1)) % sketch.hosts)
}

fn flows(dice: &mut Dice, sketch: &Sketch, packets: u64) -> Table {
    let count = dice.count(1, packets.min(60));
    let one = |_| {
        let (src, dst) = pair(dice, sketch);
        let mut flow = table([
            ("src", number(src)),
            ("dst", number(dst)),
            ("bytes", bytes(dice, sketch, packets / count)),
            ("start", start(dice, sketch)),
        ]);
        if sketch.pinned && dice.percent(70) {
            flow.insert("path".into(), number(dice.below(12)));
        }
        Value::from(flow)
    };
    let list: Vec<Value> = (0..count).map(one).collect();
    table([("flows", Value::Array(list))])
}

fn poisson(dice: &mut Dice, sketch: &Sketch, packets: u64) -> Table {
    let flows = dice.count(1, packets.min(80));
    let mean = dice.count(1, (packets / flows).max(1)) * sketch.payload;
    let cdf = match dice.below(3) {
        // A published table has its own mean, in tens of packets or in thousands.
        0 if flows < 4 && packets > 1_000 => dice.pick(WORKLOADS).name.into(),
        1 => {
            let most = mean.saturating_mul(20);
            let kind = ("kind", "pareto".into());
            let mean = ("mean", format!("{mean} B").into());
            table([
                kind,
                mean,
                ("shape", Value::Float(1.1 + dice.share())),
                ("most", format!("{most} B").into()),
            ])
            .into()
        }
        _ => {
            let mean = ("mean", format!("{mean} B").into());
            table([("kind", "uniform".into()), mean, ("spread", Value::Float(dice.share()))]).into()
        }
    };
    let load = Value::Float(dice.magnitude(0.05, 1.0));
    table([("cdf", cdf), ("load", load), ("flows", number(flows)), ("start", start(dice, sketch))])
}

fn incast(dice: &mut Dice, sketch: &Sketch, packets: u64) -> Table {
    let senders = dice.between(1, sketch.hosts - 1);
    let repeat = dice.count(1, (packets / senders).clamp(1, 6));
    let mut table = table([
        ("senders", number(senders)),
        ("receiver", number(dice.below(sketch.hosts))),
        ("bytes", bytes(dice, sketch, packets / senders / repeat)),
        ("start", start(dice, sketch)),
    ]);
    if repeat > 1 {
        table.insert("repeat".into(), number(repeat));
        table.insert("period".into(), duration(dice.count(sketch.slot, sketch.round_trip * 4 + sketch.slot)));
    }
    table
}

fn many_to_many(dice: &mut Dice, sketch: &Sketch, packets: u64) -> Table {
    let senders = dice.between(1, sketch.hosts - 1);
    let receivers = dice.between(1, sketch.hosts - senders);
    let fan_out = dice.between(1, receivers);
    let mut table = table([
        ("senders", number(senders)),
        ("receivers", number(receivers)),
        ("fan_out", number(fan_out)),
        ("bytes", bytes(dice, sketch, packets / senders / fan_out)),
        ("start", start(dice, sketch)),
    ]);
    if dice.percent(30) {
        table.insert("responsive_ratio".into(), Value::Float(dice.share()));
    }
    table
}

fn on_off(dice: &mut Dice, sketch: &Sketch, packets: u64) -> Table {
    let (src, dst) = pair(dice, sketch);
    let periods = dice.count(1, 5);
    let slots = dice.count(1, (packets / periods).max(1));
    let (on, off) = (sketch.slot * slots, dice.count(sketch.slot, sketch.slot * 100));
    let rate = sketch.wire * 8 * 1_000_000_000_000 / sketch.slot;
    table([
        ("src", number(src)),
        ("dst", number(dst)),
        ("rate", format!("{rate} bps").into()),
        ("on", duration(on)),
        ("off", duration(off)),
        ("until", duration((on + off) * periods)),
    ])
}
