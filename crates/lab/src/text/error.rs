//! Errors in inputs, and the way in which they are shown.

use super::show;
use super::source::Origin;
use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

/// Mistake in a scenario or in a file it names.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Problem {
    /// Not TOML, not CSV, not a connection matrix.
    #[error("{0}")]
    Syntax(String),
    /// A key that no table of this name knows.
    #[error("unknown key `{key}` in {table}")]
    UnknownKey {
        /// The key as it is written.
        key: String,
        /// Name of the table that holds the key.
        table: String,
    },
    /// A key that exists, but is not used here.
    #[error("key `{key}` has no effect: {table} does not use it")]
    UnusedKey {
        /// The key as it is written.
        key: String,
        /// Name of the table that holds the key.
        table: String,
    },
    /// A key that must be there.
    #[error("{table} lacks the key `{key}`")]
    MissingKey {
        /// The key as it is written.
        key: String,
        /// Table in which it should stand.
        table: String,
    },
    /// A value of the wrong type.
    #[error("`{key}` takes {expected}, not {found}")]
    Type {
        /// The key as it is written.
        key: String,
        /// Values that the key takes, in words.
        expected: String,
        /// The value that was found, in words.
        found: String,
    },
    /// A quantity that cannot be read: no unit, a wrong one, or no number.
    #[error("`{key}`: {reason}")]
    Quantity {
        /// The key as it is written.
        key: String,
        /// Reason, in words.
        reason: String,
    },
    /// A value outside of its range.
    #[error("`{key}` must be {allowed}, not {found}")]
    Range {
        /// The key as it is written.
        key: String,
        /// The range in words.
        allowed: String,
        /// The value that was found.
        found: String,
    },
    /// NaN or an infinity.
    #[error("`{key}` is {found}, and must be a finite number")]
    NotFinite {
        /// The key as it is written.
        key: String,
        /// `nan`, `inf` or `-inf`.
        found: String,
    },
    /// A name that is not registered.
    #[error("there is no {what} `{name}`")]
    NoSuchName {
        /// Kind of the thing.
        what: &'static str,
        /// Name in the scenario.
        name: String,
    },
    /// A path of an override that names no key.
    #[error("`{path}` names no key: {reason}")]
    Path {
        /// Keys joined by dots, as they were written.
        path: String,
        /// Place where it stops, and the reason.
        reason: String,
    },
    /// A flow from a host to itself.
    #[error("flow `{flow}` goes from host {host} to itself")]
    SelfFlow {
        /// Name of the flow.
        flow: String,
        /// Number of the host, from 0.
        host: u32,
    },
    /// A host that is not there.
    #[error("host {host} is not there: the network has {}", numbered(*hosts))]
    NoSuchHost {
        /// Number of the host.
        host: i64,
        /// Number of hosts.
        hosts: u64,
    },
    /// No path between two hosts.
    #[error("host {dst} cannot be reached from host {src}")]
    Unreachable {
        /// Number of the sending host.
        src: u32,
        /// Number of the receiving host.
        dst: u32,
    },
    /// A topology that cannot be built.
    #[error("{0}")]
    Topology(String),
    /// A distribution that is not one.
    #[error("{0}")]
    Distribution(String),
    /// Traffic that offers more than the network can carry.
    #[error("{0}")]
    Overload(String),
    /// A file that cannot be read.
    #[error("cannot read {path}: {reason}")]
    Unreadable {
        /// Path of the file.
        path: String,
        /// The reason, as the operating system gives it.
        reason: String,
    },
    /// A run that would not fit into memory.
    #[error("this run needs about {needed}, more than the limit of {limit}")]
    TooBig {
        /// The estimate of memory, in words.
        needed: String,
        /// The limit, in words.
        limit: String,
    },
    /// Anything else that contradicts itself.
    #[error("{0}")]
    Contradiction(String),
}

/// `1 host, number 0`, or `4 hosts, numbered from 0 to 3`.
fn numbered(hosts: u64) -> String {
    match hosts {
        0 | 1 => format!("{}, number 0", counted(hosts, "host")),
        n => format!("{n} hosts, numbered from 0 to {}", n - 1),
    }
}

/// A count with its noun: `1 host`, `2 hosts`.
pub fn counted(n: u64, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// A problem, its place, and advice.
#[derive(Clone, PartialEq)]
pub struct ScenarioError(Box<Inner>);

#[derive(Clone, PartialEq)]
struct Inner {
    problem: Problem,
    at: Option<Origin>,
    label: Option<String>,
    help: Option<String>,
}

impl ScenarioError {
    /// A problem at a place.
    pub fn new(problem: Problem, at: &Origin) -> ScenarioError {
        ScenarioError(Box::new(Inner { problem, at: Some(at.clone()), label: None, help: None }))
    }

    /// A problem of nowhere in particular.
    pub fn nowhere(problem: Problem) -> ScenarioError {
        ScenarioError(Box::new(Inner { problem, at: None, label: None, help: None }))
    }

    /// The error with a line of advice below it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> ScenarioError {
        self.0.help = Some(help.into());
        self
    }

    /// Adds advice, if there is any.
    #[must_use]
    pub fn maybe_help(mut self, help: Option<String>) -> ScenarioError {
        self.0.help = help.or(self.0.help);
        self
    }

    /// Replaces its place by another, or none.
    #[must_use]
    pub fn placed(mut self, place: impl Fn(Origin) -> Option<Origin>) -> ScenarioError {
        self.0.at = self.0.at.and_then(place);
        self
    }

    /// Changes the words of its problem and its advice; its place stays.
    #[must_use]
    pub fn reworded(mut self, words: impl Fn(&str) -> String) -> ScenarioError {
        self.0.help = self.0.help.map(|help| words(&help));
        let text = self.0.problem.to_string();
        let other = words(&text);
        if other != text {
            // The words of another kind of problem follow from its parts.
            self.0.problem = Problem::Contradiction(other);
        }
        self
    }

    /// Adds words under the caret.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> ScenarioError {
        self.0.label = Some(label.into());
        self
    }

    /// The mistake that was found.
    pub fn problem(&self) -> &Problem {
        &self.0.problem
    }

    /// The place in the file; `None` where the error has none.
    pub fn origin(&self) -> Option<&Origin> {
        self.0.at.as_ref()
    }

    /// The whole diagnostic as text without colour: message, file, line, caret, advice.
    pub fn render(&self) -> String {
        let Inner { problem, at, label, help } = &*self.0;
        show::problem(&problem.to_string(), at.as_ref(), label.as_deref().unwrap_or("here"), help.as_deref())
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.problem.fmt(f)
    }
}

impl fmt::Debug for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {:?}", self.0.problem, self.0.at)
    }
}

impl std::error::Error for ScenarioError {}

/// Anything that keeps a run from starting or its results from being written.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The scenario is wrong.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The simulator refused.
    #[error("the simulator refused the run: {0}")]
    Run(#[from] headway_network::RunError),
    /// Results cannot be written.
    #[error("cannot write {path}: {reason}")]
    Unwritable {
        /// The file or directory.
        path: PathBuf,
        /// The reason, as the operating system gives it.
        reason: String,
        /// Kind of the operating system's error.
        kind: std::io::ErrorKind,
    },
    /// Results of a run cannot be read.
    #[error("cannot read {path}: {reason}")]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// Fault of the file.
        reason: String,
    },
    /// A port's counters contradict each other: such numbers are not written.
    #[error("{0}; no results are written")]
    Counters(#[from] headway_network::Miscounted),
    /// A capture cannot be written.
    #[error("cannot write the capture {path}: {reason}")]
    Capture {
        /// Path of the file.
        path: PathBuf,
        /// The reason, as the operating system gives it.
        reason: String,
        /// Kind of the operating system's error, if it is the cause.
        kind: Option<std::io::ErrorKind>,
    },
    /// A machine of the caller's own transport has failed; the caller knows the reason.
    #[error("a machine of the scenario's own transport failed; no results are written")]
    Machine,
    /// A table that could not be made.
    #[error("cannot make the table of results: {0}")]
    Table(String),
}

impl LabError {
    /// Text for a person.
    pub fn render(&self) -> String {
        match self {
            LabError::Scenario(error) => error.render(),
            LabError::Unwritable { kind, path, .. } => format!("  × {self}\n  help: {}", remedy(*kind, path)),
            LabError::Capture { kind: Some(kind @ std::io::ErrorKind::NotFound), path, .. } => {
                format!("  × {self}\n  help: {}", remedy(*kind, path))
            }
            other => format!("  × {other}"),
        }
    }
}

/// Advice for results that cannot be written.
fn remedy(kind: std::io::ErrorKind, path: &Path) -> Cow<'static, str> {
    use std::io::ErrorKind as Kind;
    let fixed = match kind {
        Kind::NotFound => {
            let folder =
                path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let folder = folder.display();
            return format!("the folder {folder} is not there: mkdir -p {folder}. If it was there, something removed it meanwhile: run the command again").into();
        }
        Kind::StorageFull | Kind::QuotaExceeded => {
            "make room on this disk, or give another results directory"
        }
        Kind::PermissionDenied | Kind::ReadOnlyFilesystem => {
            "give another results directory, or make this one writable"
        }
        _ => "give another results directory",
    };
    fixed.into()
}
