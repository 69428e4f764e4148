//! The `[[fault]]` tables: faults on links.

use super::changes;
use crate::text::{Item, Problem, Reader, ScenarioError, names};
use crate::topology::link_choice::{Known, choice, links_json};
use headway_network::{Fault, FaultSpec, LinkChoice};
use headway_packet::PacketKind;
use headway_units::Time;
use serde_json::{Value as Json, json};

type Read<T> = Result<T, ScenarioError>;

/// Reads the list.
pub fn read(item: &Item<'_>, known: &Known<'_>) -> Read<Vec<FaultSpec>> {
    let list = item.list().map_err(|e| e.help("faults are a list of tables: write [[fault]]"))?;
    let faults: Vec<FaultSpec> = list.iter().map(|item| one(&item.table()?, known)).collect::<Read<_>>()?;
    if let Some((first, second)) = headway_network::conflict(&faults) {
        return Err(changes::contradiction(&faults[second], &list[first], &list[second]));
    }
    Ok(faults)
}

fn one(table: &Reader<'_>, known: &Known<'_>) -> Read<FaultSpec> {
    if let Some(kind) = changes::Kind::of(table)? {
        return changes::read(kind, table, known);
    }
    let links = match table.get("links") {
        None => LinkChoice::All,
        Some(item) => choice(&item, known)?,
    };
    let kind = table.get("kind").map(|i| kind(&i)).transpose()?;
    // Alone it would look like a table without any fault.
    if table.get("dark_until").is_some() {
        table.need("dark_from")?;
    }
    let what = match (table.get("drop"), table.get("dark_from")) {
        (Some(item), None) => numbers(table, &item)?,
        (None, None) => chances(table)?,
        (drop, Some(from)) => blackhole(table, drop.as_ref(), &from)?,
    };
    table.finish(&[], None)?;
    Ok(FaultSpec { links, kind, what })
}

fn kind(item: &Item<'_>) -> Read<PacketKind> {
    let name = item.text()?;
    PacketKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
        let problem = Problem::NoSuchName { what: "kind of packet", name: name.into() };
        item.fail(problem).maybe_help(names::name_suggestion(name, PacketKind::ALL.map(PacketKind::name)))
    })
}

fn numbers(table: &Reader<'_>, item: &Item<'_>) -> Read<Fault> {
    for key in ["loss", "duplicate", "reorder", "reorder_by"] {
        if let Some(other) = table.get(key) {
            let problem = Problem::Contradiction(format!("`drop` and `{key}` in one [[fault]]"));
            return Err(other.fail(problem).help("packets by number and packets by chance are two tables"));
        }
    }
    let items = item.list()?;
    if items.is_empty() {
        return Err(item.range("at least one number of a packet", "an empty list"));
    }
    let mut numbers = Vec::with_capacity(items.len());
    for item in &items {
        let number = item.int(1, u64::MAX)?;
        if numbers.contains(&number) {
            return Err(item.fail(Problem::Contradiction(format!("packet {number} is listed twice"))));
        }
        numbers.push(number);
    }
    Ok(Fault::DropNth(numbers))
}

/// A span in which links lose every packet.
fn blackhole(table: &Reader<'_>, drop: Option<&Item<'_>>, from: &Item<'_>) -> Read<Fault> {
    let others = ["loss", "duplicate", "reorder", "reorder_by"].into_iter().filter_map(|key| table.get(key));
    if others.count() > 0 || drop.is_some() {
        let problem = Problem::Contradiction("`dark_from` and other faults in one [[fault]]".into());
        return Err(from.fail(problem).help("they are two tables"));
    }
    let until = table.get("dark_until");
    let (from, until) = (from.time()?, until.map_or(Ok((Time::MAX, None)), |i| Ok((i.time()?, Some(i))))?);
    match until {
        (end, Some(item)) if end <= from => Err(item.range(format!("later than {from}"), end)),
        (until, _) => Ok(Fault::Blackhole { from, until }),
    }
}

fn chances(table: &Reader<'_>) -> Read<Fault> {
    let keys = ["loss", "duplicate", "reorder"];
    let items = keys.map(|key| table.get(key));
    if items.iter().all(Option::is_none) {
        let problem = Problem::MissingKey { key: "drop".into(), table: table.name() };
        let help = "say down_at = \"1 ms\", or at = \"1 ms\" with a `rate`, or drop = [3], or dark_from = \"1 ms\", or a probability of `loss`, `duplicate` or `reorder`";
        // A misspelt key says more than a missing one.
        table.get("reorder_by");
        table.finish(&[], None)?;
        return Err(ScenarioError::new(problem, table.at()).help(help));
    }
    let mut sum = 0.0;
    let mut shares = [0.0; 3];
    for (item, share) in items.iter().zip(&mut shares) {
        let Some(item) = item else { continue };
        *share = item.number()?;
        // Written so that NaN is refused, too.
        if !(0.0..=1.0).contains(share) {
            return Err(item.range("a probability, from 0 to 1", *share));
        }
        sum += *share;
        if sum > 1.0 {
            let text = "`loss`, `duplicate` and `reorder` add up to more than 1".to_string();
            return Err(item.fail(Problem::Contradiction(text)).help("a packet meets at most one of them"));
        }
    }
    let by = table.get("reorder_by");
    let reorder_by = match (&items[2], &by) {
        (Some(_), Some(item)) => item.period()?,
        (Some(_), None) => table.need("reorder_by")?.period()?,
        (None, Some(item)) => {
            let table = "[[fault]] without `reorder`".into();
            return Err(item.fail(Problem::UnusedKey { key: "reorder_by".into(), table }));
        }
        (None, None) => Time::ZERO,
    };
    let [loss, duplicate, reorder] = shares;
    Ok(Fault::Random { loss, duplicate, reorder, reorder_by })
}

/// Every key with its value.
pub fn to_json(spec: &FaultSpec) -> Json {
    let links = links_json(&spec.links);
    let kind = spec.kind.map(PacketKind::name);
    match &spec.what {
        Fault::DropNth(numbers) => json!({ "links": links, "kind": kind, "drop": numbers }),
        Fault::Blackhole { from, until } => {
            json!({ "links": links, "kind": kind, "dark_from": from.to_string(),
            "dark_until": (*until < Time::MAX).then(|| until.to_string()) })
        }
        Fault::Down(down) => changes::down_json(&spec.links, down),
        Fault::Change(change) => changes::change_json(&spec.links, change),
        Fault::Random { loss, duplicate, reorder, reorder_by } => json!({ "links": links, "kind": kind,
            "loss": loss, "duplicate": duplicate, "reorder": reorder, "reorder_by": reorder_by.to_string() }),
    }
}
