//! What `headway-perf serve` does with what anybody says to it: apart from the program, so that it can be fuzzed.

#![allow(clippy::disallowed_methods, reason = "a measurement is in real time")]

pub mod frames;
pub mod protocol;
pub mod service;
pub mod usage;
