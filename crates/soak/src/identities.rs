//! The sums that docs/results.md promises, read from there and held against tables.

use crate::run::Run;
use headway_lab::RunOutput;
use headway_lab::results::{Column, Table};
use serde_json::Value as Json;

/// The page that says what adds up.
const PAGE: &str = include_str!("../../../docs/results.md");
/// Start of a block of identities; their subject follows.
const FENCE: &str = "```identities ";
/// Subject of the identities that hold for a link whose rate no fault changes, and that no fault takes down.
const AT_THEIR_RATE: &str = "links at their rate";
/// Tolerance for numbers that were divided.
const ROUNDING: f64 = 1e-9;

/// One line: terms on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// `links`, `links at their rate`, `flows`: in every row; `run`: of sums.
    pub of: String,
    /// Text as it is written.
    pub text: String,
    left: Vec<String>,
    right: Vec<String>,
    exact: bool,
}

/// Every identity of the page.
pub fn all() -> Vec<Identity> {
    let mut found = Vec::new();
    let mut of = None;
    for line in PAGE.lines() {
        match (line.strip_prefix(FENCE), &of) {
            (Some(what), _) => of = Some(what.to_string()),
            (None, Some(_)) if line == "```" => of = None,
            (None, Some(what)) => found.push(Identity::read(what, line)),
            _ => {}
        }
    }
    found
}

impl Identity {
    fn read(of: &str, text: &str) -> Identity {
        let (sides, exact) = match text.split_once(" <= ") {
            Some(sides) => (sides, false),
            None => (text.split_once(" = ").unwrap_or((text, "")), true),
        };
        let terms = |side: &str| side.split(" + ").map(|t| t.trim().to_string()).collect();
        Identity { of: of.into(), text: text.into(), left: terms(sides.0), right: terms(sides.1), exact }
    }

    /// An error says with which numbers it does not hold, or which name there is not. `is_steady` says of a link by
    /// its row whether it is up and at its rate all the time.
    pub fn check(&self, output: &RunOutput, is_steady: &dyn Fn(usize) -> bool) -> Result<(), String> {
        let table = match self.of.as_str() {
            "links" | AT_THEIR_RATE => &output.links,
            "flows" => &output.flows,
            _ => return self.compare("the run", &|term| of_run(output, term)),
        };
        let mut concerned = (0..table.rows()).filter(|row| self.of != AT_THEIR_RATE || is_steady(*row));
        concerned.try_for_each(|row| {
            let place = format!("row {row} of {}", self.of);
            self.compare(&place, &|term| cell(table, term, row))
        })
    }

    fn compare(&self, place: &str, value: &dyn Fn(&str) -> Option<f64>) -> Result<(), String> {
        let sum = |terms: &[String]| {
            terms.iter().try_fold(0.0, |sum, term| {
                let number = term.parse::<f64>().ok().or_else(|| value(term));
                number.map(|n| sum + n).ok_or_else(|| format!("there is no `{term}` in {place}"))
            })
        };
        let (left, right) = (sum(&self.left)?, sum(&self.right)?);
        // Counts are exact as floating point, since all are below 2^53.
        let holds = if self.exact { left == right } else { left <= right * (1.0 + ROUNDING) };
        if holds { Ok(()) } else { Err(format!("{place}: not {} ({left}, {right})", self.text)) }
    }
}

fn cell(table: &Table, column: &str, row: usize) -> Option<f64> {
    match table.column(column)? {
        Column::UInt64(numbers) => Some(numbers.value(row) as f64),
        Column::Float64(numbers) => Some(numbers.value(row)),
        _ => None,
    }
}

/// A sum over a table, or a number of the summary or of the manifest.
fn of_run(output: &RunOutput, term: &str) -> Option<f64> {
    let (place, name) = term.split_once('.')?;
    let number = |json: &Json| json.as_f64();
    match place {
        "summary" => number(&output.summary[name]),
        "manifest" => number(&output.manifest[name]),
        "faults" => output.manifest["faults"].as_array()?.iter().map(|link| begins_with(link, name)).sum(),
        "flows" if name == "count" => Some(output.flows.rows() as f64),
        "flows" => (0..output.flows.rows()).map(|row| cell(&output.flows, name, row)).sum(),
        "links" => (0..output.links.rows()).map(|row| cell(&output.links, name, row)).sum(),
        _ => None,
    }
}

/// The sum of the counts of a link's faults whose names begin so.
fn begins_with(link: &Json, name: &str) -> Option<f64> {
    link.as_object()?.iter().filter(|(key, _)| key.starts_with(name)).map(|(_, count)| count.as_f64()).sum()
}

/// Every identity of the page holds.
pub(crate) fn hold(run: &Run<'_>) -> Result<(), String> {
    all().iter().try_for_each(|identity| identity.check(&run.output, &|row| run.is_steady(row)))
}
