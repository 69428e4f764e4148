//! Quantities that all other crates use: integer picoseconds and bits per second.
//!
//! Time is an integer count of picoseconds since the start of a run (64 bits hold 213 days). Nothing
//! that decides an event uses floating point.

mod rate;
mod time;

pub use rate::Rate;
pub use time::Time;
