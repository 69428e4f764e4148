//! Quantities every other crate agrees on: integer picoseconds, bits per second, and parameters that
//! protocols and port disciplines declare as data.
//!
//! Time is an integer count of picoseconds since the start of a run (64 bits hold 213 days). Nothing
//! that decides an event uses floating point.

mod bucket;
mod meter;
mod mix;
mod params;
mod prefetch;
mod rate;
mod round_trips;
mod time;

pub use bucket::TokenBucket;
pub use meter::{Gauge, Level, SpareMeter};
pub use mix::mix;
pub use params::{ParamError, ParamField, ParamKind, ParamSpec, ParamValue, Params, rebased};
pub use prefetch::{prefetch, prefetch_at};
pub use rate::Rate;
pub use round_trips::RoundTrips;
pub use time::Time;
