//! Formats of traces, and their readers.

use super::hpcc::Nodes;
use super::trace::{Binary, Cost, Trace, What};
use super::{chakra, cm, goal, goal_binary, hpcc, simai};
use crate::text::{Problem, ScenarioError, Source};
use headway_units::Time;
use std::sync::Arc;

/// Formats of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A connection matrix of htsim.
    Matrix,
    /// A GOAL schedule, as text or binary.
    Goal,
    /// A Chakra execution trace, with a file for each rank.
    Chakra,
    /// A workload of SimAI.
    SimAi,
    /// A flow list of an ns-3 of HPCC's family.
    Hpcc,
}

const FORMATS: [Format; NAMES.len()] =
    [Format::Matrix, Format::Goal, Format::Chakra, Format::SimAi, Format::Hpcc];

/// Names of formats, in the order of [`Format::at`].
pub const NAMES: [&str; 5] = ["cm", "goal", "chakra", "simai", "hpcc"];

/// Facts that the files of a trace do not contain.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Told<'a> {
    /// Unit of a matrix's start times; picoseconds if `None`.
    pub start_unit: Option<Time>,
    /// Ranks of a workload that does not say it.
    pub ranks: Option<u32>,
    /// Operations per second, for computations without a duration: see [`chakra::Said`].
    pub operations_per_second: Option<f64>,
    /// Bytes of a collective whose size the trace leaves open: see [`chakra::Said`].
    pub collective_bytes: Option<u64>,
    /// Host of each node of the topology, if its file numbers hosts and switches together.
    pub nodes: Option<Nodes<'a>>,
    /// Hosts of the network, where it is known.
    pub hosts: Option<u32>,
    /// Cost of collectives, and the position of the algorithm of an allreduce: a workload that is too large is refused
    /// before it is made.
    pub cost: Option<(Cost, usize)>,
    /// True if one group of each kind of a workload does its collectives for all that are equal.
    pub is_shared: bool,
}

/// The name of the file of one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// Part before the number in the names of all ranks.
    pub before: String,
    /// Part after the number.
    pub after: String,
    /// Number of the rank.
    pub rank: u32,
    /// True if the number is certainly that of a rank; otherwise it is one if there are files of all ranks from 0 on.
    pub is_certain: bool,
}

impl Format {
    /// The format at a position of [`NAMES`].
    pub fn at(position: usize) -> Format {
        FORMATS[position]
    }

    /// Its name in scenarios.
    pub fn name(self) -> &'static str {
        FORMATS.iter().zip(NAMES).find(|(format, _)| **format == self).map_or("", |(_, name)| name)
    }

    /// Splits the name of one rank's file, from which those of other ranks follow; `None` if a trace is a single file.
    pub fn of_rank(self, name: &str) -> Option<Ranked> {
        if self != Format::Chakra {
            return None;
        }
        // The last part of the name that is a number: `x.12.et`, `x.0.json`, `x.0.et.gz`.
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let parts: Vec<&str> = name.split('.').collect();
        // Not the first part: `3.et` has no name before the number that other ranks could share.
        if let Some(at) = parts.iter().rposition(|part| is_number(part)).filter(|at| *at > 0) {
            let end: String = parts[at + 1..].iter().flat_map(|part| [".", part]).collect();
            let before = format!("{}.", parts[..at].join("."));
            return Some(Ranked { before, after: end, rank: parts[at].parse().ok()?, is_certain: true });
        }
        // Or digits behind a dash: `x_12.et`.
        let (stem, end) = name.split_at(name.find('.').unwrap_or(name.len()));
        let (before, digits) = stem.split_at(stem.rfind(['_', '-'])? + 1);
        let rank = digits.parse().ok().filter(|_| is_number(digits))?;
        Some(Ranked { before: before.into(), after: end.into(), rank, is_certain: false })
    }

    /// Names of the file that lists the groups of a trace, in the order in which it is looked for in the folder of
    /// `name`.
    pub fn groups(self, name: &str) -> Vec<String> {
        let Some(Ranked { before, .. }) = self.of_rank(name) else { return Vec::new() };
        let stem = before.trim_end_matches(['.', '_', '-']);
        vec![format!("{stem}.json"), format!("{stem}.comm_group.json"), "comm_group.json".into()]
    }

    /// Reads the files of a trace, in the order of their ranks, and the list of their groups.
    pub fn read(
        self,
        files: Vec<Binary>,
        groups: Option<(Arc<Source>, bool)>,
        told: &Told<'_>,
    ) -> Result<Trace, ScenarioError> {
        if self == Format::Chakra {
            let Told { operations_per_second, collective_bytes, .. } = *told;
            return chakra::parse(files, &chakra::Said { operations_per_second, collective_bytes, groups });
        }
        let Some(file) = files.into_iter().next() else {
            return Err(ScenarioError::nowhere(Problem::Syntax("there is no file".into())));
        };
        if self == Format::Goal && goal_binary::is_one(&file.bytes) {
            return goal_binary::parse(&Arc::new(file));
        }
        let Binary { name, bytes } = file;
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let binary = Binary { name: name.clone(), bytes: error.into_bytes() };
            binary.fail(at..at + 1, format!("this is no text, as a trace of format `{}` is", self.name()))
        })?;
        let source = Source::new(name, text);
        match self {
            Format::Matrix => {
                let mut trace = cm::trace(&source, told.start_unit.unwrap_or(Time::ps(1)))?;
                if told.start_unit.is_none() {
                    let starts = trace.operations.iter().filter_map(|operation| match operation.what {
                        What::Message { start, .. } => Some(start),
                        _ => None,
                    });
                    let doubt = cm::doubt(&source.name, starts);
                    trace.notes.extend(doubt);
                }
                Ok(trace)
            }
            Format::Goal => goal::parse(&source),
            Format::Hpcc => hpcc::parse(&source, told.nodes, told.hosts),
            // Chakra has returned above.
            Format::SimAi | Format::Chakra => simai::parse(&source, told.ranks, told.cost, told.is_shared),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_have_names() {
        for (position, name) in NAMES.iter().enumerate() {
            assert_eq!(Format::at(position).name(), *name);
        }
    }

    #[test]
    fn files_of_ranks_differ_in_a_number() {
        let of = |name: &str| {
            Format::Chakra.of_rank(name).map(|found| {
                assert_eq!(found.is_certain, !name.contains('_'), "{name}");
                (found.before, found.after, found.rank)
            })
        };
        assert_eq!(of("rank_3.et"), Some(("rank_".into(), ".et".into(), 3)));
        assert_eq!(of("all.reduce.12.et"), Some(("all.reduce.".into(), ".et".into(), 12)));
        assert_eq!(of("x.0.et.gz"), Some(("x.".into(), ".et.gz".into(), 0)));
        assert_eq!(of("npu.3.json"), Some(("npu.".into(), ".json".into(), 3)));
        assert_eq!(of("x.et"), None);
        assert_eq!(of("3.et"), None);
        assert_eq!(Format::Goal.of_rank("x.0.et"), None);
    }
}
