//! A path in the units of the models, and what tables of models have in common.

use crate::text::key::{Key, Takes, needed};
use crate::text::{Item, Reader, ScenarioError};
use headway_units::{Rate, Time};
use serde_json::{Map, Value as Json};

pub(super) const RATE: Key = needed("rate", Takes::Rate, "of the link");
pub(super) const RTT: Key = needed("rtt", Takes::Duration, "the round trip without queues");
pub(super) const PACKET: Key = needed("packet", Takes::Bytes, "of a packet");

/// A link, and a round trip over it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path {
    rate: Rate,
    rtt: Time,
    /// Bytes of a packet.
    pub(super) packet: u64,
}

impl Path {
    pub(super) fn read(table: &Reader<'_>) -> Result<Path, ScenarioError> {
        Ok(Path {
            rate: table.need("rate")?.rate()?,
            rtt: table.need("rtt")?.period()?,
            packet: table.need("packet")?.bytes(1)?,
        })
    }

    /// Packets that fill it.
    pub(super) fn packets(&self) -> f64 {
        self.rate.bps() as f64 * (self.rtt.0 as f64 / 1e12) / 8.0 / self.packet as f64
    }

    /// Its keys with their values, and `path_packets`, the packets that fill it.
    pub(super) fn table(&self) -> Map<String, Json> {
        Map::from_iter([
            ("rate".to_string(), Json::from(self.rate.to_string())),
            ("rtt".into(), Json::from(self.rtt.to_string())),
            ("packet".into(), Json::from(self.packet)),
            ("path_packets".into(), Json::from(self.packets())),
        ])
    }
}

/// A list that is not empty.
pub(super) fn list<T>(
    item: &Item<'_>,
    read: impl Fn(&Item<'_>) -> Result<T, ScenarioError>,
) -> Result<Vec<T>, ScenarioError> {
    let items = item.list()?;
    if items.is_empty() {
        return Err(item.range("at least one value", "an empty list"));
    }
    items.iter().map(read).collect()
}

/// A finite number of which `right` is true.
pub(super) fn number(
    item: &Item<'_>,
    allowed: &str,
    right: impl Fn(f64) -> bool,
) -> Result<f64, ScenarioError> {
    let number = item.number()?;
    if number.is_finite() && right(number) { Ok(number) } else { Err(item.range(allowed, number)) }
}
