//! Perfetto traces: tracks with slices and counters, and arrows between slices, in the protobuf format that
//! <https://ui.perfetto.dev> and `trace_processor` read.
//!
//! The crate does not know what it draws. The writer streams: it keeps the names of arguments in memory, and nothing else.
//! The messages are the few fields of Perfetto's `protos/perfetto/trace` that it needs, with their numbers there; the format
//! never gives a number away twice.

mod messages;
mod protobuf;
mod writer;

#[doc(hidden)]
pub use protobuf::is_default;
pub use writer::{Arg, Slice, Track, Value, Writer};
