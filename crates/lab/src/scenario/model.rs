//! The `[model]` table: a closed-form model to evaluate instead of a network to run, or beside it.

use crate::model::{l2dct, scheduling};
use crate::text::{Item, Reader, ScenarioError};
use headway_units::{Rate, Time};
use serde_json::{Value as Json, json};

/// Models that can be named.
pub const NAMES: [&str; 5] = ["amrt-gain", "rpo-gain", "scheduling", "l2dct-backoff", "l2dct-cycle"];

/// Every key of every model, to tell an unused key from an unknown one.
pub const KEYS: &[&str] = &[
    "rate",
    "rtt",
    "packet",
    "sizes",
    "rate_shares",
    "loss_shares",
    "fixed_rate_share",
    "jobs",
    "weights",
    "threshold",
    "cases",
];

/// A model and what to evaluate it for.
#[derive(Clone, Debug, PartialEq)]
pub enum Settings {
    /// AMRT's or RPO's gain over a transport that never refills. TNSM 2022 §V, ICNP 2021 §V
    Gain(Gain),
    /// Jobs on one server under three disciplines. L2DCT §I
    Scheduling(Vec<(String, scheduling::Job)>),
    /// L2DCT's back-off against the share of marked packets, for some weights. L2DCT §II-B
    Backoff(Vec<f64>),
    /// L2DCT's steady state. L2DCT §II-C
    Cycle(Cycles),
}

/// A path in units of the models.
#[derive(Clone, Debug, PartialEq)]
struct PathUnits {
    rate: Rate,
    rtt: Time,
    packet: u64,
}

impl PathUnits {
    fn read(table: &Reader<'_>) -> Result<PathUnits, ScenarioError> {
        Ok(PathUnits {
            rate: table.need("rate")?.rate()?,
            rtt: table.need("rtt")?.period()?,
            packet: table.need("packet")?.bytes(1)?,
        })
    }

    /// Packets that fill it.
    fn packets(&self) -> f64 {
        self.rate.bps() as f64 * (self.rtt.0 as f64 / 1e12) / 8.0 / self.packet as f64
    }

    fn to_json(&self) -> Json {
        json!({ "rate": self.rate.to_string(), "rtt": self.rtt.to_string(), "packet": self.packet,
            "path_packets": self.packets() })
    }
}

/// What a gain is evaluated for.
#[derive(Clone, Debug, PartialEq)]
pub struct Gain {
    /// Position in [`NAMES`].
    of: usize,
    path: PathUnits,
    sizes: Vec<u64>,
    rate_shares: Vec<f64>,
    loss_shares: Vec<f64>,
    fixed_rate_share: f64,
}

/// What L2DCT's steady state is evaluated for.
#[derive(Clone, Debug, PartialEq)]
pub struct Cycles {
    path: PathUnits,
    threshold: f64,
    cases: Vec<l2dct::Setting>,
}

/// Reads the table.
pub fn read(item: &Item<'_>) -> Result<Settings, ScenarioError> {
    let table = item.table()?;
    let name = table.need("name")?.choice(&NAMES)?;
    let settings = match name {
        0 | 1 => Settings::Gain(gain(name, &table)?),
        2 => Settings::Scheduling(list(&table.need("jobs")?, job)?),
        3 => Settings::Backoff(list(&table.need("weights")?, weight)?),
        _ => Settings::Cycle(cycles(&table)?),
    };
    table.finish(KEYS, Some(format!("name = \"{}\"", NAMES[name])))?;
    Ok(settings)
}

fn gain(of: usize, table: &Reader<'_>) -> Result<Gain, ScenarioError> {
    Ok(Gain {
        of,
        path: PathUnits::read(table)?,
        sizes: list(&table.need("sizes")?, |i| i.bytes(1))?,
        rate_shares: list(&table.need("rate_shares")?, |i| share(i, f64::MIN_POSITIVE))?,
        loss_shares: list(&table.need("loss_shares")?, |i| share(i, 0.0))?,
        fixed_rate_share: table.get("fixed_rate_share").map_or(Ok(0.5), |i| share(&i, f64::MIN_POSITIVE))?,
    })
}

fn job(item: &Item<'_>) -> Result<(String, scheduling::Job), ScenarioError> {
    let table = item.table()?;
    let name = table.need("name")?.text()?.to_string();
    let job = scheduling::Job {
        arrival: number(&table.need("arrival")?, "at least 0", |n| n >= 0.0)?,
        size: number(&table.need("size")?, "more than 0", |n| n > 0.0)?,
    };
    table.finish(&[], None)?;
    Ok((name, job))
}

fn weight(item: &Item<'_>) -> Result<f64, ScenarioError> {
    number(item, "more than 0", |n| n > 0.0)
}

fn cycles(table: &Reader<'_>) -> Result<Cycles, ScenarioError> {
    let path = PathUnits::read(table)?;
    let threshold = number(&table.need("threshold")?, "at least 0", |n| n >= 0.0)?;
    let case = |item: &Item<'_>| {
        let table = item.table()?;
        let flows = table.need("flows")?.count()?;
        let weight = weight(&table.need("weight")?)?;
        let increase = number(&table.need("increase")?, "more than 0", |n| n > 0.0)?;
        table.finish(&[], None)?;
        Ok(l2dct::Setting { flows: flows.into(), bdp: path.packets(), threshold, weight, increase })
    };
    let cases = list(&table.need("cases")?, case)?;
    Ok(Cycles { path, threshold, cases })
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

/// A finite number of which `right` is true.
fn number(item: &Item<'_>, allowed: &str, right: impl Fn(f64) -> bool) -> Result<f64, ScenarioError> {
    let number = item.number()?;
    if number.is_finite() && right(number) { Ok(number) } else { Err(item.range(allowed, number)) }
}

/// A share from `least` up to, but not including, 1.
fn share(item: &Item<'_>, least: f64) -> Result<f64, ScenarioError> {
    let allowed = if least > 0.0 { "more than 0 and less than 1" } else { "at least 0 and less than 1" };
    number(item, allowed, |share| (least..1.0).contains(&share))
}

impl Settings {
    /// Its name in scenarios.
    pub fn name(&self) -> &'static str {
        match self {
            Settings::Gain(gain) => NAMES[gain.of],
            Settings::Scheduling(_) => NAMES[2],
            Settings::Backoff(_) => NAMES[3],
            Settings::Cycle(_) => NAMES[4],
        }
    }

    /// Every key with its value, and what follows in the units of the models: `path_packets`, the packets that fill the
    /// path, and `sizes_packets`.
    pub fn to_json(&self) -> Json {
        let mut found = match self {
            Settings::Gain(gain) => {
                let mut found = gain.path.to_json();
                let packets = |bytes: &u64| *bytes as f64 / gain.path.packet as f64;
                found["sizes"] = json!(gain.sizes);
                found["sizes_packets"] = gain.sizes.iter().map(packets).collect();
                found["rate_shares"] = json!(gain.rate_shares);
                found["loss_shares"] = json!(gain.loss_shares);
                found["fixed_rate_share"] = json!(gain.fixed_rate_share);
                found
            }
            Settings::Scheduling(jobs) => {
                let row = |(name, job): &(String, scheduling::Job)| json!({ "name": name, "arrival": job.arrival, "size": job.size });
                json!({ "jobs": jobs.iter().map(row).collect::<Vec<_>>() })
            }
            Settings::Backoff(weights) => json!({ "weights": weights }),
            Settings::Cycle(cycles) => {
                let row = |c: &l2dct::Setting| json!({ "flows": c.flows as u64, "weight": c.weight, "increase": c.increase });
                let mut found = cycles.path.to_json();
                found["threshold"] = json!(cycles.threshold);
                found["cases"] = cycles.cases.iter().map(row).collect();
                found
            }
        };
        // The name first, as it is written.
        let mut map = serde_json::Map::from_iter([("name".to_string(), Json::from(self.name()))]);
        if let Json::Object(rest) = &mut found {
            map.append(rest);
        }
        Json::Object(map)
    }
}
