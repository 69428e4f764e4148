//! Programs of ranks: the result of the readers of all formats of traces.
//!
//! A trace is a list of operations, each at a rank, and of their causes. Readers check what a format says about one
//! operation; `matching` finds which receive a send belongs to, and the traffic kind `trace` makes flows and steps.

use crate::text::{Origin, Problem, ScenarioError, Source};
use headway_units::Time;
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

/// Most operations of a trace, most of its messages and most of its waits: more would not fit into memory as flows.
pub const MOST_OPERATIONS: u64 = 20_000_000;

/// Cost of a collective of so many ranks: its messages, and the waits that it causes.
pub type Cost = fn(Collective, u32, usize) -> (u64, u64);

/// A file of a trace.
#[derive(Clone, Debug)]
pub enum File {
    /// A text file.
    Text(Arc<Source>),
    /// Binary data, and the name that messages show for them.
    Binary(Arc<Binary>),
}

/// A binary file.
#[derive(Clone, Debug)]
pub struct Binary {
    /// A path, or a text in place of one.
    pub name: String,
    /// All of it.
    pub bytes: Vec<u8>,
}

impl File {
    /// The place of some bytes.
    pub fn origin(&self, span: Range<usize>) -> Origin {
        match self {
            File::Text(source) => Origin::new(source, span),
            File::Binary(binary) => binary.origin(span),
        }
    }

    /// An error at some bytes.
    pub fn fail(&self, span: Range<usize>, text: impl Into<String>) -> ScenarioError {
        ScenarioError::new(Problem::Syntax(text.into()), &self.origin(span))
    }
}

/// Bytes in a line of a place in a binary file.
const LINE: usize = 16;

impl Binary {
    /// The file as a text if it is one, so that places in it are lines.
    pub fn into_file(self) -> File {
        match String::from_utf8(self.bytes) {
            Ok(text) if !text.contains('\0') => File::Text(Source::new(self.name, text)),
            Ok(text) => File::Binary(Arc::new(Binary { name: self.name, bytes: text.into_bytes() })),
            Err(error) => File::Binary(Arc::new(Binary { name: self.name, bytes: error.into_bytes() })),
        }
    }

    /// The place of some bytes: the line of a listing in hexadecimal digits that the first of them is in.
    pub fn origin(&self, span: Range<usize>) -> Origin {
        let start = span.start.min(self.bytes.len());
        let line = start / LINE * LINE;
        let mut text = format!("{line:08x} ");
        let bytes = &self.bytes[line..(line + LINE).min(self.bytes.len())];
        // Writing to a string cannot fail.
        bytes.iter().for_each(|byte| {
            let _ = write!(text, " {byte:02x}");
        });
        // Eight digits and two spaces come before the first byte.
        let column = 10 + 3 * (start - line);
        // One line is shown, so that the mark ends with it.
        let last = span.end.clamp(start + 1, line + LINE) - line;
        let end = (9 + 3 * last).min(text.len());
        let source = Source::listing(format!("{}, byte {start}", self.name), text);
        Origin::new(&source, column.min(end)..end)
    }

    /// An error at some bytes.
    pub fn fail(&self, span: Range<usize>, text: impl Into<String>) -> ScenarioError {
        ScenarioError::new(Problem::Syntax(text.into()), &self.origin(span))
    }
}

/// Bytes of one file of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Position among the files of the trace.
    pub file: u32,
    /// Range of the bytes.
    pub span: Range<usize>,
}

/// A collective that all ranks of a group do together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Collective {
    /// All get the sum of what all have; the size is that of a rank's buffer.
    AllReduce,
    /// All get what all have; the size is that of everything together.
    AllGather,
    /// Each gets its part of the sum; the size is that of a rank's buffer before.
    ReduceScatter,
    /// Each sends something else to each; the size is what a rank has for all, itself included.
    AllToAll,
    /// The root sends the same to all.
    Broadcast,
    /// The root gets the sum of what all have.
    Reduce,
    /// The root gets what all have; the size is that of everything together.
    Gather,
    /// The root sends something else to each; the size is that of everything together.
    Scatter,
    /// No rank goes on before all have arrived.
    Barrier,
}

impl Collective {
    /// Name in words.
    pub fn name(self) -> &'static str {
        match self {
            Collective::AllReduce => "all-reduce",
            Collective::AllGather => "all-gather",
            Collective::ReduceScatter => "reduce-scatter",
            Collective::AllToAll => "all-to-all",
            Collective::Broadcast => "broadcast",
            Collective::Reduce => "reduce",
            Collective::Gather => "gather",
            Collective::Scatter => "scatter",
            Collective::Barrier => "barrier",
        }
    }
}

/// Kind of a rank's operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// It sends a message that is received without being asked for.
    Message {
        /// Rank that receives.
        to: u32,
        /// Size in bytes, at least one.
        bytes: u64,
        /// Delay after all that it waits for; or from the start of the run, if it waits for nothing.
        start: Time,
        /// Its class, where the file says one.
        class: Option<u16>,
        /// Time at which it ends even if not all has arrived, if the file sets one.
        stop: Option<Time>,
    },
    /// It sends a message that the other rank receives by an operation.
    Send {
        /// Rank that receives.
        to: u32,
        /// May be none.
        bytes: u64,
        /// It belongs to a receive with this tag.
        tag: u32,
        /// Processor on which it takes its overhead.
        processor: Option<u16>,
    },
    /// It receives a message.
    Receive {
        /// Rank that sends, or `None` for any.
        from: Option<u32>,
        /// Largest size in bytes.
        bytes: u64,
        /// Tag of the message, or `None` for any.
        tag: Option<u32>,
        /// Processor on which it takes its overhead.
        processor: Option<u16>,
    },
    /// A computation.
    Compute {
        /// Duration of the computation.
        takes: Time,
        /// Operations of one processor take turns.
        processor: Option<u16>,
    },
    /// It takes part in a collective. The n-th of a group at each rank belong together.
    Collective {
        /// Kind of the collective.
        collective: Collective,
        /// Size in bytes, as [`Collective`] defines it.
        bytes: u64,
        /// Position among the groups of the trace.
        group: u32,
        /// Position of the root in the group, where there is one.
        root: u32,
    },
    /// It joins its causes.
    Join {
        /// Number of them that have to be over; all if `None`.
        needs: Option<u32>,
        /// It happens at no rank: others hear of it at once.
        nowhere: bool,
    },
}

/// Something that a rank does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Rank that does it.
    pub rank: u32,
    /// Kind of the operation.
    pub what: What,
    /// Name in the file, if it has one.
    pub name: Option<Box<str>>,
    /// Place where that is written.
    pub at: Place,
}

/// Part of an operation that another waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// That all is over that the other waits for.
    Begun,
    /// That it is over for its rank.
    Over,
    /// The last byte of the message is there.
    Received,
    /// The sender of the message knows that.
    Known,
}

/// An operation waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Position of the operation that waits.
    pub operation: u32,
    /// Position of the one that it waits for.
    pub cause: u32,
    /// Event of the other operation that is waited for.
    pub when: When,
}

/// A link that is down during the whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Number of the aggregation switch, over all pods.
    pub switch: u64,
    /// Number of its link to the core.
    pub link: u64,
    /// Place where that is written.
    pub at: Place,
}

/// A program of ranks.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Number of ranks.
    pub ranks: u32,
    /// Operations of the ranks, in the order of the files.
    pub operations: Vec<Operation>,
    /// Dependencies between operations.
    pub waits: Vec<Wait>,
    /// Ranks of each group, in order.
    pub groups: Vec<Vec<u32>>,
    /// Name of each group in the file, if it has one; empty for all ranks.
    pub group_names: Vec<String>,
    /// Links that are down.
    pub failures: Vec<Failure>,
    /// True if a collective stands for that of all equal groups: its first rank alone has it, all of its ranks begin
    /// when that one does, and that one goes on when all are done.
    pub is_shared: bool,
    /// Statements of the file that Headway does not follow, and assumptions.
    pub notes: Vec<String>,
    /// Lines that give a message its class, if any do, in words.
    pub classed: Option<String>,
    /// Files that places refer to.
    pub files: Vec<File>,
}

impl Trace {
    /// A trace from one text.
    pub(super) fn of_text(source: &Arc<Source>) -> Trace {
        Trace { files: vec![File::Text(Arc::clone(source))], ..Trace::default() }
    }

    /// Adds an operation, and returns its position.
    pub(super) fn push(&mut self, rank: u32, what: What, name: Option<&str>, at: Place) -> u32 {
        self.operations.push(Operation { rank, what, name: name.map(Into::into), at });
        self.operations.len() as u32 - 1
    }

    /// An operation waits for another.
    pub(super) fn wait(&mut self, operation: u32, cause: u32, when: When) {
        self.waits.push(Wait { operation, cause, when });
    }

    /// Origin of a place, for messages.
    pub fn origin(&self, place: &Place) -> Origin {
        self.files[place.file as usize].origin(place.span.clone())
    }

    /// An error at an operation.
    pub fn fail(&self, operation: u32, text: impl Into<String>) -> ScenarioError {
        let at = &self.operations[operation as usize].at;
        ScenarioError::new(Problem::Contradiction(text.into()), &self.origin(at))
    }

    /// Name of a group in messages.
    pub fn group_called(&self, group: usize) -> String {
        match self.group_names.get(group).filter(|name| !name.is_empty()) {
            Some(name) => format!("group `{name}` ({})", shown(&self.groups[group])),
            None => format!("the group of {}", shown(&self.groups[group])),
        }
    }

    /// Name of an operation in messages.
    pub fn called(&self, operation: u32) -> String {
        let one = &self.operations[operation as usize];
        match &one.name {
            Some(name) => name.to_string(),
            None => format!("operation {operation} of rank {}", one.rank),
        }
    }
}

/// Ranks in words, those in a row together.
pub fn shown(ranks: &[u32]) -> String {
    const MOST: usize = 8;
    if let [only] = ranks {
        return format!("rank {only}");
    }
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for &rank in ranks {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => spans.push((rank, rank)),
        }
    }
    let one = |(from, to): &(u32, u32)| match to - from {
        0 => from.to_string(),
        1 => format!("{from}, {to}"),
        _ => format!("{from} to {to}"),
    };
    let text: Vec<String> = spans.iter().take(MOST).map(one).collect();
    let more =
        if spans.len() > MOST { format!(" and others, {} in all", ranks.len()) } else { String::new() };
    match ranks {
        [] => "no rank".into(),
        _ => format!("ranks {}{more}", text.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_a_binary_file_are_lines_of_hexadecimal_digits() {
        let binary = Binary { name: "x.et".into(), bytes: (0..40).collect() };
        let at = binary.origin(17..19);
        assert_eq!(at.source.name, "x.et, byte 17");
        assert_eq!(&at.source.text[at.span], "11 12");
        assert!(at.source.text.starts_with("00000010  10 11 12"));
        for (span, shown) in [(0..1, "00"), (15..30, "0f"), (39..40, "27"), (40..41, ""), (99..120, "")] {
            let at = binary.origin(span.clone());
            assert_eq!(&at.source.text[at.span], shown, "{span:?}");
        }
        let error = binary.fail(17..19, "odd").render();
        assert!(error.contains("[x.et, byte 17]") && !error.contains(":1:"), "{error}");
        let none = Binary { name: "x".into(), bytes: Vec::new() };
        assert_eq!(none.origin(0..1).source.text, "00000000 ");
    }
}
