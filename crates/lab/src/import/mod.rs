//! Flow lists and traces from other simulators, and tables; and flow lists back.

pub mod chakra;
pub mod cm;
pub mod csv;
pub mod format;
pub mod goal;
pub mod goal_binary;
pub mod hpcc;
pub mod kinds;
pub mod logs;
pub mod matching;
pub mod simai;
pub mod trace;

use crate::text::{Origin, Share, Source};
use headway_units::Time;
use std::ops::Range;
use std::sync::Arc;

/// A flow as a file gives it, not yet checked against a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedFlow {
    /// Name in the file.
    pub id: String,
    /// Host that sends.
    pub src: u64,
    /// Host that receives.
    pub dst: u64,
    /// Bytes of the application.
    pub bytes: u64,
    /// Time at which the flow starts.
    pub start: Time,
    /// Application class, where the file says.
    pub class: Option<u16>,
    /// Deadline from the start, where the file says.
    pub deadline: Option<Time>,
    /// Number of its path, where the file says.
    pub path: Option<Given<u32>>,
    /// Number of fair sharers that it starts as one of, if the file sets it.
    pub share: Option<Given<Share>>,
    /// Name of its transport, where the file says.
    pub transport: Option<Given<String>>,
    /// Places of the flow in its file.
    pub places: Places,
}

/// A value, and the bytes of the file in which it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given<T> {
    /// The value that was read.
    pub value: T,
    /// Place of the value in the text.
    pub at: Range<usize>,
}

/// The bytes of the file in which a flow stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// Byte range of the whole row in the file.
    pub row: Range<usize>,
    /// Place of its source.
    pub src: Range<usize>,
    /// Place of its destination.
    pub dst: Range<usize>,
    /// Place of its size.
    pub bytes: Range<usize>,
}

impl Places {
    /// The places of a row and of three parts of it, given as slices of the file's text.
    fn of(source: &Arc<Source>, row: &str, [src, dst, bytes]: [&str; 3]) -> Places {
        let place = |part: &str| Origin::part(source, part).span;
        Places { row: place(row), src: place(src), dst: place(dst), bytes: place(bytes) }
    }
}
