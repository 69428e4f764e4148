//! What machines, ports and hosts measure of themselves: gauges, levels over time, and the distribution of round trips.

mod meter;
mod round_trips;

pub use meter::{Gauge, GaugeInfo, GaugeUnit, Level, SpareMeter};
pub use round_trips::RoundTrips;
