//! Sizes of messages: a named table, a table in a file, or a distribution in closed form.

use super::Context;
use super::keys::{Key, Takes, key};
use super::reading::{check_size, message};
use crate::files;
use crate::import::kinds;
use crate::text::{Item, Origin, Problem, Reader, ScenarioError, Source, Value, names};
use crate::workload::cdf::{self, Cdf, Interpolation};
use crate::workload::library;
use crate::workload::random::Stream;
use crate::workload::table::Unit;
use serde_json::{Value as Json, json};

/// A distribution of sizes and its origin.
pub(super) struct MessageSizes {
    /// Distribution of sizes.
    pub cdf: Cdf,
    /// Mean that its source divides a load by.
    pub published: Option<f64>,
    /// Digest of the file it is from.
    pub digest: Option<String>,
    /// Name as in the scenario, with defaults.
    pub name: Json,
}

/// The key that goes with `cdf`.
pub(super) const INTERPOLATION: Key = key(
    "interpolation",
    Takes::Word(&["linear", "step"]),
    "by the file",
    "of a file: straight lines between rows, or only the rows' own sizes; by default lines, but steps where the first probability is not 0 or the file's mean says so",
);

/// Another key that goes with `cdf`.
pub(super) const SIZE_UNIT: Key = key(
    "size_unit",
    Takes::Word(&["bytes", "packets"]),
    "by the file",
    "unit of the sizes of a file that does not say it; a packet has 1460 bytes",
);

/// Kinds of distributions in closed form.
const CLOSED: [&str; 2] = ["uniform", "pareto"];

/// The keys `cdf` and `interpolation`.
pub(super) fn read(table: &Reader<'_>, context: &Context<'_>) -> Result<MessageSizes, ScenarioError> {
    drawn(table, &table.need("cdf")?, context)
}

fn drawn(table: &Reader<'_>, item: &Item<'_>, context: &Context<'_>) -> Result<MessageSizes, ScenarioError> {
    let sizes = match item.value() {
        Value::Table(_) => closed(item)?,
        _ => named(table, item, context)?,
    };
    check_size(item, sizes.cdf.range().1, context)?;
    Ok(sizes)
}

/// Size of a message.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Amount {
    /// Always the same.
    Fixed(u64),
    /// Drawn for each message.
    Drawn(Cdf),
}

impl Amount {
    /// Reads a number of bytes, or a value of `cdf` of `poisson`; returns also its form in a resolved scenario.
    pub(super) fn read(
        table: &Reader<'_>,
        item: &Item<'_>,
        context: &Context<'_>,
    ) -> Result<(Amount, Json), ScenarioError> {
        let is_number = match item.value() {
            Value::Text(text) => {
                text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first))
            }
            Value::Table(_) => false,
            _ => true,
        };
        if is_number {
            let bytes = message(item, context)?;
            return Ok((Amount::Fixed(bytes), bytes.into()));
        }
        let drawn = drawn(table, item, context)?;
        let shown = json!({ "cdf": drawn.name, "interpolation": drawn.cdf.interpolation().name(),
            "cdf_digest": drawn.digest, "mean_bytes": drawn.cdf.mean() });
        Ok((Amount::Drawn(drawn.cdf), shown))
    }

    /// Draws the size of one message.
    pub(super) fn draw(&self, stream: &mut Stream) -> u64 {
        match self {
            Amount::Fixed(bytes) => *bytes,
            Amount::Drawn(cdf) => cdf.sample(stream),
        }
    }

    /// Bytes on average.
    pub(super) fn mean(&self) -> u64 {
        match self {
            Amount::Fixed(bytes) => *bytes,
            Amount::Drawn(cdf) => libm::round(cdf.mean()) as u64,
        }
    }
}

fn named(table: &Reader<'_>, item: &Item<'_>, context: &Context<'_>) -> Result<MessageSizes, ScenarioError> {
    let name = item.text()?.to_string();
    if let Some(workload) = library::find(&name) {
        let (cdf, published) = (workload.cdf()?, workload.published_mean);
        return Ok(MessageSizes { cdf, published, digest: None, name: name.into() });
    }
    // Names of the library contain no dot, and a file has one or lies in a folder.
    if !name.contains(['/', '.']) {
        let known = library::WORKLOADS.iter().map(|w| w.name);
        let problem = Problem::NoSuchName { what: "flow-size distribution", name: name.clone() };
        return Err(item.fail(problem).maybe_help(names::name_suggestion(&name, known)));
    }
    let rule = table.get("interpolation").map(|item| item.choice(Interpolation::NAMES)).transpose()?;
    let rule = rule.map(|rule| [Interpolation::Linear, Interpolation::Step][rule]);
    let unit = table.get("size_unit").map(|item| item.choice(Unit::NAMES)).transpose()?;
    let unit = unit.map(|unit| [Unit::Bytes, Unit::Packets][unit]);
    let (path, text) = files::read(item, context.folder)?;
    let source = Source::new(path.display().to_string(), text);
    let read = Cdf::read(&source, rule, unit).map_err(|error| {
        match kinds::other(source.text.as_bytes(), |kind| kind.reader == kinds::Reader::Sizes) {
            Some((text, help)) => {
                let error = ScenarioError::new(Problem::Distribution(text), &Origin::line(&source, 1));
                error.maybe_help(help.map(Into::into))
            }
            None => error,
        }
    })?;
    said(&name, &read, context);
    let digest = Some(files::digest(&source.text));
    Ok(MessageSizes { cdf: read.cdf, published: None, digest, name: name.into() })
}

/// Sizes of at most so many bytes, with nothing that states their unit, may be packets.
const MAY_BE_PACKETS: u64 = 65_536;
/// Means that differ by more than this share are both shown.
const APART: f64 = 0.01;

/// Adds notes on the assumptions about a table and on the mean that results.
fn said(name: &str, read: &cdf::Read, context: &Context<'_>) {
    let mut notes = context.notes.borrow_mut();
    if let Some(taken) = &read.taken {
        notes.push(format!(
            "`{name}` is read as {taken}; a table with the header `bytes,cdf` and numbers alone says so itself"
        ));
    }
    if let Some(why) = &read.stepped {
        notes.push(format!("`{name}` is read by steps, since {why}; `interpolation` says which"));
    }
    let (mean, most) = (read.cdf.mean(), read.cdf.range().1);
    if read.is_unit_open && most <= MAY_BE_PACKETS {
        notes.push(format!(
            "`{name}` has no size above {most} B, and nothing says that these are bytes; `size_unit = \"packets\"` reads \
             packets of 1460 B"
        ));
    }
    let apart = |other: f64| (other / mean - 1.0).abs() > APART;
    let bytes = |mean: f64| format!("{} B", grouped(libm::round(mean) as u64));
    if let Some(stated) = read.stated.filter(|stated| apart(*stated)) {
        let line = format!(
            "`{name}` states a mean of {} in its first line, and has one of {}",
            bytes(stated),
            bytes(mean)
        );
        notes.push(line);
    }
    let [own, others] = match read.cdf.interpolation() {
        Interpolation::Linear => ["straight lines", "steps"],
        Interpolation::Step => ["steps", "straight lines"],
    };
    let other = read.other.filter(|other| apart(*other));
    let other = other.map_or(String::new(), |other| format!("; by {others} it would be {}", bytes(other)));
    let stated = read.stated.map_or(String::new(), |mean| format!("; its first line states {}", bytes(mean)));
    let line = format!("sizes of `{name}`: mean {} by {own}{other}{stated}", bytes(mean));
    context.facts.borrow_mut().push(line);
}

/// A number with a comma before each three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `{ kind = "uniform", mean, spread }` or `{ kind = "pareto", mean, shape, most }`.
fn closed(item: &Item<'_>) -> Result<MessageSizes, ScenarioError> {
    let table = item.table()?;
    let kind = table.need("kind")?.choice(&CLOSED)?;
    let mean_item = table.need("mean")?;
    let mean = mean_item.bytes(1)?;
    let (cdf, name) = if kind == 0 {
        let spread = match table.get("spread") {
            None => 1.0,
            Some(item) => match item.number()? {
                spread if (0.0..=1.0).contains(&spread) => spread,
                spread => return Err(item.range("from 0 to 1", spread)),
            },
        };
        let half = libm::round(mean as f64 * spread) as u64;
        let (from, to) = ((mean - half).max(1), mean.saturating_add(half));
        let name = json!({ "kind": CLOSED[0], "mean": mean, "spread": spread, "from": from, "to": to });
        (Cdf::uniform(from, to), name)
    } else {
        let shape_item = table.need("shape")?;
        let shape = shape_item.number()?;
        if !(shape > 1.0 && shape <= 100.0) {
            return Err(shape_item.range("more than 1, where a mean exists, and at most 100", shape));
        }
        let least = mean as f64 * (shape - 1.0) / shape;
        if least < 1.0 {
            return Err(mean_item.range("large enough for a smallest size of one byte", mean));
        }
        let most_item = table.need("most")?;
        let most = most_item.bytes(1)?;
        if most as f64 <= least {
            return Err(most_item.range(format!("more than the smallest size, {least:.0} B"), most));
        }
        let name = json!({ "kind": CLOSED[1], "mean": mean, "shape": shape, "most": most });
        (Cdf::pareto(least, shape, most), name)
    };
    table.finish(&["spread", "shape", "most"], Some(format!("kind = \"{}\"", CLOSED[kind])))?;
    Ok(MessageSizes { cdf, published: None, digest: None, name })
}
