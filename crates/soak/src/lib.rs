//! Random scenarios through the lab, and what must hold of each.
//!
//! [`generate`] makes a scenario of a seed: text that the lab's own reader reads. What there is to choose from
//! it asks the registries for, so that a new transport, discipline or parameter is covered from the day it is
//! registered. [`judge`] runs one and holds the outcome against [`invariants`]; [`shrink`] makes a scenario that
//! breaks one as small as it can while the same one breaks.

pub mod case;
pub mod dice;
mod ends;
mod finish;
pub mod generate;
pub mod identities;
pub mod invariants;
pub mod judge;
pub mod links;
pub mod lone;
pub mod memory;
pub mod run;
pub mod shrink;
mod simulate;

pub use case::Case;
pub use generate::{Size, generate, generate_lossless};
pub use judge::{Failure, Verdict, judge, judge_within};
pub use simulate::{Bounds, simulate};
