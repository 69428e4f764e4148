//! The handling of clients' messages by `headway-perf serve`. This part is a library, so that it can be fuzzed.

#![allow(clippy::disallowed_methods, reason = "a measurement is in real time")]

pub mod frames;
pub mod protocol;
pub mod service;
pub mod usage;
