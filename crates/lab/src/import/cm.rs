//! htsim's connection matrices (`.cm`).
//!
//! `Nodes N`, `Connections M`, then one line a flow: `src->dst id I start T size B`. Start times were
//! microseconds once and are picoseconds now: a scenario says which (`start_unit`, default `ps`). Triggers
//! and failures change what a matrix means, so a file that has them is refused by name.

use super::{ImportedFlow, Places};
use crate::text::error::counted;
use crate::text::source::BYTE_ORDER_MARK;
use crate::text::{Origin, Problem, ScenarioError, Source, names};
use headway_network::FlowSpec;
use headway_units::Time;
use std::fmt::Write;
use std::sync::Arc;

/// Names of the units that start times may be in.
pub const START_UNITS: &[&str] = &["ps", "us"];

/// Picoseconds of the unit at this position of [`START_UNITS`].
pub fn start_unit(index: usize) -> Time {
    [Time::ps(1), Time::us(1)][index]
}

/// A matrix as its file gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// Hosts of the network that it was made for.
    pub nodes: u64,
    /// Where that is written.
    pub nodes_at: Origin,
    /// Its connections.
    pub flows: Vec<ImportedFlow>,
}

/// Reads a matrix whose start times count `unit`.
pub fn parse(source: &Arc<Source>, unit: Time) -> Result<Imported, ScenarioError> {
    let mut matrix = Matrix { source, nodes: None, promised: None, flows: Vec::new() };
    for (index, line) in source.text.lines().enumerate() {
        let line = line.trim_start_matches(BYTE_ORDER_MARK);
        let words: Vec<&str> = line.split_whitespace().take_while(|w| !w.starts_with('#')).collect();
        if !words.is_empty() {
            matrix.line(index + 1, line.trim(), &words, unit)?;
        }
    }
    matrix.finish()
}

struct Matrix<'a> {
    source: &'a Arc<Source>,
    nodes: Option<(u64, Origin)>,
    /// Connections, and the line that says so.
    promised: Option<(u64, usize)>,
    flows: Vec<ImportedFlow>,
}

impl Matrix<'_> {
    fn fail(&self, line: usize, text: impl Into<String>) -> ScenarioError {
        ScenarioError::new(Problem::Syntax(text.into()), &Origin::line(self.source, line))
    }

    fn fail_at(&self, part: &str, text: impl Into<String>) -> ScenarioError {
        ScenarioError::new(Problem::Syntax(text.into()), &Origin::part(self.source, part))
    }

    fn line(&mut self, line: usize, text: &str, words: &[&str], unit: Time) -> Result<(), ScenarioError> {
        if words[0].contains("->") {
            let flow = self.flow(line, text, words, unit)?;
            self.flows.push(flow);
            return Ok(());
        }
        let count = |this: &Self| match words {
            [_, count] => {
                count.parse::<u64>().map_err(|_| this.fail_at(count, format!("`{count}` is not a count")))
            }
            _ => Err(this.fail(line, format!("`{}` takes one count", words[0]))),
        };
        match words[0] {
            "Nodes" if self.nodes.is_some() => return Err(self.fail(line, "`Nodes` is there twice")),
            "Connections" if self.promised.is_some() => {
                return Err(self.fail(line, "`Connections` is there twice"));
            }
            "Nodes" => self.nodes = Some((count(self)?, Origin::part(self.source, words[1]))),
            "Connections" => self.promised = Some((count(self)?, line)),
            "Triggers" | "trigger" | "Failures" | "failure" => {
                let text = format!("`{}` is not supported", words[0]);
                let help = "only flows that start at a given time can be imported";
                return Err(self.fail(line, text).help(help));
            }
            other => {
                let error = self.fail(line, format!("`{other}` is not a line of a connection matrix"));
                return Err(error.maybe_help(names::suggestion(other, ["Nodes", "Connections"])));
            }
        }
        Ok(())
    }

    fn flow(
        &self,
        line: usize,
        text: &str,
        words: &[&str],
        unit: Time,
    ) -> Result<ImportedFlow, ScenarioError> {
        let number = |text: &str| {
            text.parse::<u64>().map_err(|_| self.fail_at(text, format!("`{text}` is not a whole number")))
        };
        let (from, to) = words[0].split_once("->").unwrap_or_default();
        let (src, dst) = (number(from)?, number(to)?);
        let (mut id, mut start, mut bytes) = (None, None, None);
        for pair in words[1..].chunks(2) {
            let &[key, value] = pair else {
                return Err(self.fail_at(pair[0], format!("`{}` has no value", pair[0])));
            };
            match key {
                "id" => id = Some(number(value)?),
                "start" => start = Some((number(value)?, value)),
                "size" => bytes = Some((number(value)?, value)),
                "trigger" | "send_done_trigger" | "recv_done_trigger" | "prio" | "flowid" => {
                    let help = "only flows that start at a given time can be imported";
                    return Err(self.fail_at(key, format!("`{key}` is not supported")).help(help));
                }
                other => {
                    let error = self.fail_at(other, format!("`{other}` is not part of a connection"));
                    return Err(error.maybe_help(names::suggestion(other, ["id", "start", "size"])));
                }
            }
        }
        let (start, written) = start.ok_or_else(|| self.fail(line, "the connection has no `start`"))?;
        let start =
            start.checked_mul(unit.0).ok_or_else(|| self.fail_at(written, "the start is too late"))?;
        let (bytes, size) = bytes.ok_or_else(|| self.fail(line, "the connection has no `size`"))?;
        if bytes == 0 {
            return Err(self.fail_at(size, "the `size` is 0"));
        }
        if let Some((nodes, _)) = &self.nodes {
            for (host, part) in [(src, from), (dst, to)] {
                if host >= *nodes {
                    return Err(self.fail_at(part, format!("host {host} is not there: `Nodes {nodes}`")));
                }
            }
        }
        let id = id.map_or_else(|| (self.flows.len() + 1).to_string(), |id| id.to_string());
        let places = Places::of(self.source, text, [from, to, size]);
        Ok(ImportedFlow {
            id,
            src,
            dst,
            bytes,
            start: Time(start),
            class: None,
            deadline: None,
            path: None,
            share: None,
            transport: None,
            places,
        })
    }

    fn finish(self) -> Result<Imported, ScenarioError> {
        let held = self.flows.len() as u64;
        match self.promised {
            Some((promised, line)) if promised != held => {
                let text = format!("promises {}, the file holds {held}", counted(promised, "connection"));
                let help = if promised > held { "is the file cut off?" } else { "the count is too small" };
                Err(self.fail(line, text).help(help))
            }
            _ => match self.nodes {
                Some((nodes, nodes_at)) => Ok(Imported { nodes, nodes_at, flows: self.flows }),
                None => {
                    let error = self.fail(1, "the matrix does not say for how many hosts it is");
                    Err(error.help("a connection matrix begins with `Nodes N`"))
                }
            },
        }
    }
}

/// Writes flows as a matrix, start times in picoseconds.
pub fn write<'a>(nodes: u32, flows: impl IntoIterator<Item = &'a FlowSpec>) -> String {
    let flows: Vec<&FlowSpec> = flows.into_iter().collect();
    let mut out = format!("Nodes {nodes}\nConnections {}\n", flows.len());
    for (id, flow) in flows.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{}->{} id {} start {} size {}",
            flow.src,
            flow.dst,
            id + 1,
            flow.start.0,
            flow.bytes
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<ImportedFlow>, ScenarioError> {
        parse(&Source::new("x.cm", text), Time::ps(1)).map(|matrix| matrix.flows)
    }

    #[test]
    fn a_matrix_reads_back_as_it_was_written() {
        let text = "Nodes 4\nConnections 2\n3->0 id 1 start 5 size 1000000\n1->2 id 2 start 0 size 7\n";
        let flows = read(text).expect("a matrix");
        assert_eq!((flows[0].src, flows[0].dst, flows[0].start, flows[0].bytes), (3, 0, Time(5), 1_000_000));
        let spec = |f: &ImportedFlow| FlowSpec {
            src: f.src as u32,
            dst: f.dst as u32,
            bytes: f.bytes,
            start: f.start,
            class: 0,
            deadline: None,
            initial_window: headway_transport::InitialWindow::default(),
            responsive: true,
            transport: 0,
            path: None,
            connection: None,
            stop: None,
        };
        let specs: Vec<FlowSpec> = flows.iter().map(spec).collect();
        assert_eq!(write(4, &specs), text);
    }

    #[test]
    fn start_times_count_the_unit_that_is_asked_for() {
        let source = Source::new("x.cm", "Nodes 2\n0->1 id 1 start 5 size 10\n");
        assert_eq!(parse(&source, start_unit(1)).expect("a matrix").flows[0].start, Time::us(5));
    }

    #[test]
    fn what_a_matrix_must_not_hold_is_refused_by_name_and_line() {
        let cases = [
            (
                "Nodes 4\nConnections 3\n3->0 id 1 start 5 size 10\n",
                2,
                "promises 3 connections, the file holds 1",
            ),
            ("Nodes 4\nTriggers 1\n", 2, "`Triggers` is not supported"),
            ("0->1 id 1 trigger 1 size 10\n", 1, "`trigger` is not supported"),
            ("Nodes 4\n0->4 id 1 start 0 size 10\n", 2, "host 4 is not there: `Nodes 4`"),
            ("0->1 id 1 start 0\n", 1, "the connection has no `size`"),
            ("0->1 id 1 start x size 2\n", 1, "`x` is not a whole number"),
            ("0->1 id\n", 1, "`id` has no value"),
            ("0->1 id 1 start 0 size 10\n", 1, "the matrix does not say for how many hosts it is"),
            ("", 1, "the matrix does not say for how many hosts it is"),
            ("Nodes 4\nNodes 5\n", 2, "`Nodes` is there twice"),
            ("Nodes 4\n0->1 id 1 start 0 size 0\n", 2, "the `size` is 0"),
            ("hello\n", 1, "`hello` is not a line of a connection matrix"),
        ];
        for (text, line, message) in cases {
            let error = read(text).expect_err(message);
            assert_eq!(error.to_string(), message);
            let at = error.origin().expect("a place");
            assert_eq!(at.source.line_column(at.span.start).0, line, "{message}");
        }
    }
}
