//! Measurements that machines, ports and hosts make: gauges, values over time, and the distribution of round trips.

mod meter;
mod round_trips;

pub use meter::{Gauge, GaugeInfo, GaugeUnit, Level, SpareMeter};
pub use round_trips::RoundTrips;
