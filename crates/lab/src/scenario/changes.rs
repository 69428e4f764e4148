//! The `[[fault]]` tables in which links or switches go down, or links get another rate or delay.

use crate::text::{Item, Problem, Reader, ScenarioError};
use crate::topology::link_choice::{self, Known, choice, links_json};
use headway_network::{Change, Down, Fault, FaultSpec, LinkChoice};
use headway_units::Time;
use serde_json::{Value as Json, json};

type Read<T> = Result<T, ScenarioError>;

/// Keys of links that go down, of links that change, and of everything else.
const DOWN: [&str; 4] = ["down_at", "up_at", "converge", "switches"];
const CHANGE: [&str; 4] = ["at", "until", "rate", "delay"];
const PACKETS: [&str; 8] =
    ["drop", "dark_from", "dark_until", "loss", "duplicate", "reorder", "reorder_by", "kind"];

/// Kind of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Down,
    Change,
}

impl Kind {
    /// Kind by the keys of a table; `None` for those about packets.
    pub(super) fn of(table: &Reader<'_>) -> Read<Option<Kind>> {
        let first = |keys: &[&'static str]| keys.iter().find_map(|key| Some((*key, table.get(key)?)));
        let (down, change) = (first(&DOWN), first(&CHANGE));
        let kind = match (&down, &change) {
            (None, None) => return Ok(None),
            (Some(_), None) => Kind::Down,
            (None, Some(_)) => Kind::Change,
            (Some((one, item)), Some((other, _))) => return Err(mixed(item, one, other)),
        };
        // Keys about packets are checked against the one kind that is there: mixtures of the two are refused above.
        let (own, item) = down.or(change).unzip();
        if let (Some(own), Some(item), Some((other, _))) = (own, item, first(&PACKETS)) {
            return Err(mixed(&item, own, other));
        }
        Ok(Some(kind))
    }
}

fn mixed(item: &Item<'_>, one: &str, other: &str) -> ScenarioError {
    let problem = Problem::Contradiction(format!("`{one}` and `{other}` in one [[fault]]"));
    item.fail(problem)
        .help("use one [[fault]] table for links that go down, another for links that change, and another for lost packets")
}

/// Reads a table of this kind.
pub(super) fn read(kind: Kind, table: &Reader<'_>, known: &Known<'_>) -> Read<FaultSpec> {
    let links = table.get("links").map(|item| choice(&item, known)).transpose()?;
    let (links, what) = match kind {
        Kind::Down => {
            let down = down(table, known)?;
            if links.is_none() && down.switches.is_empty() {
                return Err(lacks(table, "links", "say which links, or which `switches`, go down"));
            }
            (links.unwrap_or(LinkChoice::None), Fault::Down(down))
        }
        Kind::Change => {
            let change = change(table)?;
            let links = links.ok_or_else(|| lacks(table, "links", "say which links change, or \"all\""))?;
            (links, Fault::Change(change))
        }
    };
    table.finish(&[], None)?;
    Ok(FaultSpec { links, kind: None, what })
}

fn lacks(table: &Reader<'_>, key: &str, help: &str) -> ScenarioError {
    let problem = Problem::MissingKey { key: key.into(), table: table.name() };
    ScenarioError::new(problem, table.at()).help(help)
}

fn down(table: &Reader<'_>, known: &Known<'_>) -> Read<Down> {
    let at = table.need("down_at")?.time()?;
    let until = end(table, "up_at", at)?;
    let converge = match table.get("converge") {
        None => Time::ZERO,
        // Before it is read as a time, which would refuse the word.
        Some(item) if item.text().is_ok_and(|word| word == "never") => Time::MAX,
        Some(item) => item.time()?,
    };
    let switches =
        table.get("switches").map(|item| link_choice::switches(&item, known.switches)).transpose()?;
    Ok(Down { switches: switches.unwrap_or_default(), at, until, converge })
}

fn change(table: &Reader<'_>) -> Read<Change> {
    let at = table.need("at")?.time()?;
    let until = end(table, "until", at)?;
    let rate = table.get("rate").map(|item| item.rate()).transpose()?;
    let delay = table.get("delay").map(|item| item.time()).transpose()?;
    if rate.is_none() && delay.is_none() {
        return Err(lacks(table, "rate", "say which `rate`, or which `delay`, the links have then"));
    }
    Ok(Change { at, until, rate, delay })
}

/// The end of a span, later than its beginning.
fn end(table: &Reader<'_>, key: &str, from: Time) -> Read<Time> {
    let Some(item) = table.get(key) else { return Ok(Time::MAX) };
    match item.time()? {
        until if until > from => Ok(until),
        until => Err(item.range(format!("later than {from}"), until)),
    }
}

/// Two tables of which the second contradicts the first.
pub(super) fn contradiction(second: &FaultSpec, first_at: &Item<'_>, second_at: &Item<'_>) -> ScenarioError {
    let (what, help) = match &second.what {
        Fault::Down(_) => (
            "one of its links or switches is already down at that time",
            "set `up_at` in the first table, or let the second begin later",
        ),
        _ => (
            "the first table sets this value of one of its links until a later time",
            "let the second begin at the `until` of the first, or remove `until`: a value holds until the next change",
        ),
    };
    let origin = first_at.at();
    let (line, _) = origin.source.line_column(origin.span.start);
    let text = format!("this contradicts the [[fault]] on line {line}: {what}");
    second_at.fail(Problem::Contradiction(text)).help(help)
}

/// A time, or nothing where it never comes.
fn time(time: Time) -> Option<String> {
    (time < Time::MAX).then(|| time.to_string())
}

/// Every key with its value.
pub(super) fn down_json(links: &LinkChoice, down: &Down) -> Json {
    let converge = time(down.converge).unwrap_or_else(|| "never".into());
    json!({ "links": links_json(links), "switches": down.switches, "down_at": down.at.to_string(),
        "up_at": time(down.until), "converge": converge })
}

/// Every key with its value.
pub(super) fn change_json(links: &LinkChoice, change: &Change) -> Json {
    json!({ "links": links_json(links), "at": change.at.to_string(), "until": time(change.until),
        "rate": change.rate.map(|rate| rate.to_string()), "delay": change.delay.map(|delay| delay.to_string()) })
}
