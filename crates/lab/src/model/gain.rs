//! Common part of the models of AMRT and RPO: the gain of a transport that refills a link over one that never does, of
//! utilisation against the rate that is left, and of completion time against the moment of the loss.

use super::path::{self, Path, list, number};
use super::{Axis, Curve, ModelError, Panel, Picture, Range};
use crate::text::key::{Key, Takes, key, needed};
use crate::text::quantity::show_bytes;
use crate::text::{Item, Reader, ScenarioError};
use serde_json::{Map, Value as Json, json};

/// Points of a curve between the wanted ones: equations with a ceiling make steps.
const POINTS: u32 = 80;

/// The keys of both.
pub(super) const KEYS: &[Key] = &[
    path::RATE,
    path::RTT,
    path::PACKET,
    needed("sizes", Takes::ListOfBytes, "of flows, a curve each"),
    needed("rate_shares", Takes::Numbers, "R/C, the share of the link that is left to the flow"),
    needed(
        "loss_shares",
        Takes::Numbers,
        "time at which the share falls, as a part of the time that the flow would take at full rate: T_R/T_i or T_c/T_i",
    ),
    key("fixed_rate_share", Takes::Number, "`0.5`", "R/C where the moment of the loss varies"),
];

/// A table that is right.
pub(super) const EXAMPLE: &str = "rate = \"10 Gbps\"\nrtt = \"100 us\"\npacket = 1500\nsizes = [\"1 MB\"]\nrate_shares = [0.1, 0.9]\nloss_shares = [0.0, 0.5]";

/// Inputs of a gain.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gain {
    path: Path,
    sizes: Vec<u64>,
    rate_shares: Vec<f64>,
    loss_shares: Vec<f64>,
    fixed_rate_share: f64,
}

/// Titles and curves in which the two models differ.
pub(super) struct Drawn {
    pub(super) title: &'static str,
    /// The caption, of which `{c}` is the path in packets and `{fixed}` the fixed share.
    pub(super) caption: &'static str,
    /// Titles of the panels of utilisation.
    pub(super) u_gains: &'static [&'static str],
    /// Titles of the panels of completion time.
    pub(super) fct_gains: &'static [&'static str],
    /// The axis of the moment of the loss.
    pub(super) loss: &'static str,
    /// All gains, those of utilisation first, for C, R/C, the size in packets, and the moment of the loss.
    pub(super) gains: fn(f64, f64, f64, f64) -> Result<Vec<f64>, ModelError>,
}

impl Gain {
    pub(super) fn read(table: &Reader<'_>) -> Result<Gain, ScenarioError> {
        Ok(Gain {
            path: Path::read(table)?,
            sizes: list(&table.need("sizes")?, |i| i.bytes(1))?,
            rate_shares: list(&table.need("rate_shares")?, |i| share(i, f64::MIN_POSITIVE))?,
            // The least number above 0 stands for an open end of the range.
            loss_shares: list(&table.need("loss_shares")?, |i| share(i, 0.0))?,
            fixed_rate_share: table
                .get("fixed_rate_share")
                .map_or(Ok(0.5), |i| share(&i, f64::MIN_POSITIVE))?,
        })
    }

    pub(super) fn table(&self) -> Map<String, Json> {
        let mut map = self.path.table();
        map.insert("sizes".into(), json!(self.sizes));
        map.insert("sizes_packets".into(), self.sizes.iter().map(|bytes| self.packets(*bytes)).collect());
        map.insert("rate_shares".into(), json!(self.rate_shares));
        map.insert("loss_shares".into(), json!(self.loss_shares));
        map.insert("fixed_rate_share".into(), json!(self.fixed_rate_share));
        map
    }

    fn packets(&self, bytes: u64) -> f64 {
        bytes as f64 / self.path.packet as f64
    }

    pub(super) fn draw(&self, drawn: &Drawn) -> Result<Picture, ModelError> {
        let c = self.path.packets();
        let (mut by_rate, mut by_loss) = (Vec::new(), Vec::new());
        for bytes in &self.sizes {
            let (name, size) = (show_bytes(*bytes), self.packets(*bytes));
            let at_rate = |x: f64| (drawn.gains)(c, x, size, 0.0);
            by_rate.push((name.clone(), points(&self.rate_shares, at_rate)?));
            // `x` is a part of T_i = size / C.
            let at_loss = |x: f64| (drawn.gains)(c, self.fixed_rate_share, size, x * size / c);
            by_loss.push((name, points(&self.loss_shares, at_loss)?));
        }
        let us = drawn.u_gains.len();
        let u = drawn.u_gains.iter().enumerate().map(|(at, title)| panel(title, "R/C", &by_rate, at));
        let fct =
            drawn.fct_gains.iter().enumerate().map(|(at, title)| panel(title, drawn.loss, &by_loss, us + at));
        let caption = drawn
            .caption
            .replace("{c}", &format!("{c:.2}"))
            .replace("{fixed}", &self.fixed_rate_share.to_string());
        Ok(Picture { title: drawn.title, caption, columns: 2, panels: u.chain(fct).collect() })
    }
}

/// The gains at one place of the horizontal axis.
type Point = (f64, Vec<f64>);

/// The gains at the wanted places, and at places enough between them for a curve.
fn points(
    wanted: &[f64],
    gains: impl Fn(f64) -> Result<Vec<f64>, ModelError>,
) -> Result<Vec<Point>, ModelError> {
    let low = wanted.iter().copied().fold(f64::INFINITY, f64::min);
    let high = wanted.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let between = (0..=POINTS).map(|i| low + (high - low) * f64::from(i) / f64::from(POINTS));
    let mut places: Vec<f64> = wanted.iter().copied().chain(between).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places.into_iter().map(|x| Ok((x, gains(x)?))).collect()
}

/// The gain at position `at`, a curve a size.
fn panel(title: &str, label: &'static str, sizes: &[(String, Vec<Point>)], at: usize) -> Panel {
    let curve = |(name, points): &(String, Vec<Point>)| Curve {
        name: name.clone(),
        x: points.iter().map(|(x, _)| *x).collect(),
        y: points.iter().map(|(_, gains)| gains[at]).collect(),
    };
    Panel {
        title: title.into(),
        x: Axis { label, quantity: "ratio", range: Range::Fixed(0.0, 1.0) },
        y: Axis { label: "gain", quantity: "ratio", range: Range::Fit(1.0) },
        curves: sizes.iter().map(curve).collect(),
        reference: Some((1.0, "1: no gain")),
    }
}

/// A share from `least` up to, but not including, 1.
fn share(item: &Item<'_>, least: f64) -> Result<f64, ScenarioError> {
    let allowed = if least > 0.0 { "more than 0 and less than 1" } else { "at least 0 and less than 1" };
    number(item, allowed, |share| (least..1.0).contains(&share))
}
