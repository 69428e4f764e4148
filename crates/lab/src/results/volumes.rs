//! Bytes of links by entry of traffic: the busiest links, with the share of each entry of traffic.

use crate::scenario::{Resolved, Setup};
use headway_network::{LinkRecord, Outcome};
use serde_json::{Value as Json, json};
use std::cmp::Reverse;

/// Largest number of links that are listed.
const MOST: usize = 16;

/// The links with the most bytes, the busiest first; `None` if volumes are not sampled.
pub(super) fn busiest_links(resolved: &Resolved, setup: &Setup, outcome: &Outcome) -> Option<Json> {
    resolved.spec.sample.as_ref().filter(|sample| !sample.volumes.is_empty())?;
    let mut links: Vec<(u64, &LinkRecord)> =
        outcome.links.iter().map(|link| (link.volumes.iter().sum(), link)).collect();
    // Among several with as many bytes, those that come first.
    links.sort_by_key(|(bytes, _)| Reverse(*bytes));
    let of_entry = |(entry, bytes): (usize, &u64), all: u64| {
        let kind = setup.traffic.get(entry).map(|traffic| traffic.kind);
        json!({ "entry": entry, "kind": kind, "bytes": bytes, "share": *bytes as f64 / all as f64 })
    };
    // Shares of nothing would divide by zero.
    let told = links.iter().take(MOST).filter(|(bytes, _)| *bytes > 0).map(|(bytes, link)| {
        let entries = link.volumes.iter().enumerate().map(|one| of_entry(one, *bytes));
        json!({ "link": link.name, "bytes": bytes, "entries": entries.collect::<Vec<_>>() })
    });
    Some(told.collect())
}
