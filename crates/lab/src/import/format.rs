//! Which format a trace has, and its reader.

use super::trace::{Binary, Trace};
use super::{chakra, cm, goal, goal_binary, simai};
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
}

/// A format, its name, and how names of its files end.
const FORMATS: [(Format, &str, &[&str]); 4] = [
    (Format::Matrix, "cm", &["cm"]),
    (Format::Goal, "goal", &["goal", "bin"]),
    (Format::Chakra, "chakra", &["et"]),
    (Format::SimAi, "simai", &["txt"]),
];

/// Names of formats, in the order of [`Format::at`].
pub const NAMES: [&str; 4] = ["cm", "goal", "chakra", "simai"];

/// What the files of a trace do not say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Told {
    /// What start times of a matrix count; picoseconds if `None`.
    pub start_unit: Option<Time>,
    /// Ranks of a workload that does not say it.
    pub ranks: Option<u32>,
    /// See [`chakra::Said`].
    pub operations_per_second: Option<f64>,
    /// See [`chakra::Said`].
    pub collective_bytes: Option<u64>,
}

impl Format {
    /// The format at a position of [`NAMES`].
    pub fn at(position: usize) -> Format {
        FORMATS[position].0
    }

    /// Its name in scenarios.
    pub fn name(self) -> &'static str {
        FORMATS.iter().find(|(format, ..)| *format == self).map_or("", |(_, name, _)| name)
    }

    /// The format of a file whose name ends in this way, or that begins with these bytes.
    pub fn of(ending: Option<&str>, bytes: &[u8]) -> Option<Format> {
        let by_name =
            ending.and_then(|ending| FORMATS.iter().find(|(.., endings)| endings.contains(&ending)));
        if let Some((format, ..)) = by_name {
            return Some(*format);
        }
        if goal_binary::is_one(bytes) {
            return Some(Format::Goal);
        }
        chakra::why_not(bytes).is_none().then_some(Format::Chakra)
    }

    /// The name of the file of a rank, if that of rank 0 or of another is this one; `None` where a trace is one file.
    pub fn of_rank(self, name: &str) -> Option<(String, String, u32)> {
        if self != Format::Chakra {
            return None;
        }
        // The last part of the name that is a number: `x.12.et`, `x.0.json`, `x.0.et.gz`.
        let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let parts: Vec<&str> = name.split('.').collect();
        let at = parts.iter().rposition(|part| is_number(&part)).filter(|at| *at > 0)?;
        let end: String = parts[at + 1..].iter().flat_map(|part| [".", part]).collect();
        Some((format!("{}.", parts[..at].join(".")), end, parts[at].parse().ok()?))
    }

    /// Names of the file that lists the groups of a trace, in the order in which it is looked for beside `name`.
    pub fn groups(self, name: &str) -> Vec<String> {
        let Some((before, ..)) = self.of_rank(name) else { return Vec::new() };
        vec![format!("{before}json"), format!("{before}comm_group.json"), "comm_group.json".into()]
    }

    /// Reads the files of a trace, in the order of their ranks, and the list of their groups.
    pub fn read(
        self,
        files: Vec<Binary>,
        groups: Option<(Arc<Source>, bool)>,
        told: &Told,
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
            Format::Matrix => cm::trace(&source, told.start_unit.unwrap_or(Time::ps(1))),
            Format::Goal => goal::parse(&source),
            Format::SimAi | Format::Chakra => simai::parse(&source, told.ranks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_known_by_name_or_content() {
        for (position, (format, name, endings)) in FORMATS.iter().enumerate() {
            assert_eq!((NAMES[position], Format::at(position), format.name()), (*name, *format, *name));
            assert_eq!(Format::of(Some(endings[0]), b""), Some(*format));
        }
        assert_eq!(Format::of(None, &4223u64.to_le_bytes()), Some(Format::Goal));
        assert_eq!(Format::of(Some("trace"), b"\x07\x0a\x050.0.4"), Some(Format::Chakra));
        assert_eq!(Format::of(Some("log"), b"hello"), None);
    }

    #[test]
    fn files_of_ranks_differ_in_a_number() {
        let of = |name: &str| Format::Chakra.of_rank(name);
        assert_eq!(of("all.reduce.12.et"), Some(("all.reduce.".into(), ".et".into(), 12)));
        assert_eq!(of("x.0.et.gz"), Some(("x.".into(), ".et.gz".into(), 0)));
        assert_eq!(of("npu.3.json"), Some(("npu.".into(), ".json".into(), 3)));
        assert_eq!(of("x.et"), None);
        assert_eq!(of("3.et"), None);
        assert_eq!(Format::Goal.of_rank("x.0.et"), None);
    }
}
