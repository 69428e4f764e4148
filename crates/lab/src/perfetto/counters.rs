//! Samples as counters.

use super::read::Columns;
use super::{Failed, Tree, nanoseconds, picoseconds};
use crate::results::schema::{self, METRICS};
use crate::text::LabError;
use headway_network::Metric;
use headway_perfetto::{Track, Writer};
use rustc_hash::FxHashMap;
use std::io::Write;

/// A counter, and until when it has been told.
struct Counter {
    track: Track,
    /// True if its values are of whole intervals, and not of their ends.
    of_interval: bool,
    /// True if the value is zero in an interval without a row.
    falls: bool,
    until: Option<u64>,
}

/// A counter for each thing and metric: of a link below its port, of a flow below its sender. `every` is the interval
/// in picoseconds, or the reason why it is unknown.
pub(super) fn write<W: Write>(
    trace: &mut Writer<W>,
    series: &Columns<'_>,
    flows: &Columns<'_>,
    tree: &Tree,
    every: Result<u64, LabError>,
) -> Result<(), Failed> {
    // First, because a run without samples need not say an interval.
    if series.rows() == 0 {
        return Ok(());
    }
    // At least 1, since it divides.
    let every = every?.max(1);
    let (names, src) = (flows.text("name")?, flows.small("src")?);
    let senders: FxHashMap<&str, u32> = names.iter().flatten().zip(src.values().iter().copied()).collect();
    let units = units();
    let (times, entities) = (series.numbers("t_s")?, series.text("entity")?);
    let (metrics, values) = (series.text("metric")?, series.numbers("value")?);
    let mut counters: FxHashMap<(&str, &str), Counter> = FxHashMap::default();
    for row in 0..series.rows() {
        let (entity, metric) = (entities.value(row), metrics.value(row));
        let end = picoseconds(times.value(row));
        let counter = match counters.entry((entity, metric)) {
            std::collections::hash_map::Entry::Occupied(there) => there.into_mut(),
            std::collections::hash_map::Entry::Vacant(place) => {
                let (parent, name) = match tree.ports.get(entity) {
                    Some(port) => (Some(*port), metric.to_string()),
                    None => {
                        (senders.get(entity).and_then(|src| tree.host(*src)), format!("{metric} of {entity}"))
                    }
                };
                let unit = units.get(metric).copied().unwrap_or_default();
                place.insert(Counter {
                    track: trace.counter_track(parent, &name, unit)?,
                    of_interval: [Metric::ThroughputBps, Metric::Utilisation, Metric::QueueMaxBytes]
                        .iter()
                        .any(|one| one.name() == metric),
                    falls: metric == Metric::ThroughputBps.name(),
                    until: None,
                })
            }
        };
        // The last interval of a run is cut short by its end.
        let from = if counter.of_interval { (end - 1) / every * every } else { end };
        // Intervals without a delivery have no row for a flow that is over: its counter has to fall.
        if let Some(until) = counter.until.filter(|until| counter.falls && *until < from) {
            trace.count(counter.track, nanoseconds(until), 0.0)?;
        }
        trace.count(counter.track, nanoseconds(from), values.value(row))?;
        counter.until = Some(end);
    }
    // In order of tracks: the order of a map would vary the file.
    let mut rest: Vec<&Counter> = counters.values().filter(|counter| counter.falls).collect();
    rest.sort_unstable_by_key(|counter| counter.track);
    for counter in rest {
        if let Some(until) = counter.until {
            trace.count(counter.track, nanoseconds(until), 0.0)?;
        }
    }
    Ok(())
}

/// The unit of each metric, gauge and probe.
fn units() -> FxHashMap<&'static str, &'static str> {
    let declared = schema::gauges().into_iter().chain(schema::probes()).map(|one| one.field);
    METRICS.iter().copied().chain(declared).map(|field| (field.name, field.unit)).collect()
}
