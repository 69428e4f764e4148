//! The C interface: Headway as the network of other programs.
//!
//! A program opens a scenario, hands messages over, and lets time go on; it is called back when messages have arrived.
//! `include/headway_sim.h` is made of [`border`] by a test, and docs/c-interface.md explains it.
//!
//! [`calls`] is everything without a pointer; [`border`] turns pointers into references, texts and answers, and keeps
//! panics on this side.

pub mod border;
pub mod calls;
mod matching;
pub mod status;
