//! How `headway-perf serve` handles the messages of its clients. This part is a library, so that it can be fuzzed.

#![allow(clippy::disallowed_methods, reason = "a measurement is in real time")]

pub mod frames;
pub mod protocol;
pub mod service;
pub mod usage;
