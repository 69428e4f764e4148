//! The `[model]` table: a closed-form model to evaluate instead of a network to run.

use crate::text::{Item, ScenarioError};
use headway_units::{Rate, Time};
use serde_json::{Value as Json, json};

/// Models that can be named.
const NAMES: [&str; 2] = ["amrt-gain", "rpo-gain"];

/// AMRT's or RPO's gain over a transport that never refills (TNSM 2022 §V, ICNP 2021 §V), and what to evaluate
/// it for.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Position in [`NAMES`].
    name: usize,
    rate: Rate,
    rtt: Time,
    packet: u64,
    sizes: Vec<u64>,
    rate_shares: Vec<f64>,
    loss_shares: Vec<f64>,
    fixed_rate_share: f64,
}

/// Reads the table.
pub fn read(item: &Item<'_>) -> Result<Settings, ScenarioError> {
    let table = item.table()?;
    let settings = Settings {
        name: table.need("name")?.choice(&NAMES)?,
        rate: table.need("rate")?.rate()?,
        rtt: table.need("rtt")?.period()?,
        packet: table.need("packet")?.bytes(1)?,
        sizes: list(&table.need("sizes")?, |i| i.bytes(1))?,
        rate_shares: list(&table.need("rate_shares")?, |i| share(i, f64::MIN_POSITIVE))?,
        loss_shares: list(&table.need("loss_shares")?, |i| share(i, 0.0))?,
        fixed_rate_share: table.get("fixed_rate_share").map_or(Ok(0.5), |i| share(&i, f64::MIN_POSITIVE))?,
    };
    table.finish(&[], None)?;
    Ok(settings)
}

fn list<T>(
    item: &Item<'_>,
    read: impl Fn(&Item<'_>) -> Result<T, ScenarioError>,
) -> Result<Vec<T>, ScenarioError> {
    let items = item.list()?;
    if items.is_empty() {
        return Err(item.range("at least one value", "an empty list"));
    }
    items.iter().map(read).collect()
}

/// A share from `least` up to, but not including, 1.
fn share(item: &Item<'_>, least: f64) -> Result<f64, ScenarioError> {
    let allowed = if least > 0.0 { "more than 0 and less than 1" } else { "at least 0 and less than 1" };
    let share = item.number()?;
    if (least..1.0).contains(&share) { Ok(share) } else { Err(item.range(allowed, share)) }
}

impl Settings {
    /// Every key with its value.
    pub fn to_json(&self) -> Json {
        json!({ "name": NAMES[self.name], "rate": self.rate.to_string(), "rtt": self.rtt.to_string(), "packet": self.packet,
            "sizes": self.sizes, "rate_shares": self.rate_shares, "loss_shares": self.loss_shares,
            "fixed_rate_share": self.fixed_rate_share })
    }

    /// The settings in the model's units, packets and round trips, as a report draws them.
    pub fn report(&self) -> [(String, Json); 5] {
        let packet = self.packet as f64;
        let capacity = self.rate.bps() as f64 * (self.rtt.0 as f64 / 1e12) / 8.0 / packet;
        let sizes: Vec<f64> = self.sizes.iter().map(|s| *s as f64 / packet).collect();
        [
            ("c_packets_per_rtt".into(), json!(capacity)),
            ("sizes_packets".into(), json!(sizes)),
            ("r_over_c".into(), json!(self.rate_shares)),
            ("t_r_over_t_i".into(), json!(self.loss_shares)),
            ("fixed_r_over_c".into(), json!(self.fixed_rate_share)),
        ]
    }
}
