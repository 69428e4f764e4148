//! Links that carry nothing while others of their kind are full.

use crate::scenario::Setup;
use crate::traffic::load::Racks;
use headway_network::{LinkRecord, Network, Outcome};
use headway_units::Time;
use std::collections::BTreeMap;

/// Part of the run from which on a link counts as full.
const FULL: f64 = 0.8;

/// A sentence about nodes of which some interfaces to the network carry nothing while another is full; `None` if there are none.
pub(super) fn idle_nics(setup: &Setup, outcome: &Outcome) -> Option<String> {
    let spec = &setup.topology.spec;
    let racks = Racks::of(spec).filter(|_| spec.interfaces() > spec.size().hosts)?;
    if outcome.end == Time::ZERO || setup.traffic.iter().all(|entry| entry.pattern.job().is_none()) {
        return None;
    }
    let network = Network::build(spec, &setup.fabric).ok()?;
    let busy = |link: &LinkRecord| busy_share(link, outcome);
    let mut found: Option<String> = None;
    let mut nodes = 0;
    for hosts in racks.bounds.windows(2) {
        let own = (hosts[0]..hosts[1]).flat_map(|host| network.owners().interfaces_of(host));
        let own: Vec<&LinkRecord> =
            own.filter(|one| spec.bears_load(*one)).map(|one| &outcome.links[one as usize]).collect();
        let silent = own.iter().filter(|link| link.counters.payload_bytes == 0).count();
        let Some(most) = own.iter().max_by(|a, b| busy(a).total_cmp(&busy(b))) else { continue };
        if silent == 0 || busy(most) < FULL {
            continue;
        }
        nodes += 1;
        found.get_or_insert_with(|| {
            format!(
                "{silent} of {} links into the network from h{} to h{} carry no data, while another is full",
                own.len(),
                hosts[0],
                hosts[1] - 1
            )
        });
    }
    let more = if nodes > 1 { format!(", and so in {} other nodes", nodes - 1) } else { String::new() };
    found.map(|text| format!("{text}{more}; a ring of several `channels` leaves a node by as many links"))
}

fn busy_share(link: &LinkRecord, outcome: &Outcome) -> f64 {
    link.busy.0 as f64 / outcome.end.0 as f64
}

/// A sentence about switches of which some links to switches of one kind carry nothing while another is full, where jobs run;
/// `None` if there are none.
pub(super) fn idle_uplinks(setup: &Setup, outcome: &Outcome) -> Option<String> {
    if outcome.end == Time::ZERO || setup.traffic.iter().all(|entry| entry.pattern.job().is_none()) {
        return None;
    }
    let kind = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').to_string();
    let mut groups: BTreeMap<(&str, String), Vec<&LinkRecord>> = BTreeMap::new();
    for link in outcome.links.iter().filter(|link| link.from_switch) {
        let Some((from, to)) = link.name.split_once("->") else { continue };
        // Links to hosts are full or silent as their hosts are.
        if kind(to) != "h" {
            groups.entry((from, kind(to))).or_default().push(link);
        }
    }
    let mut found: Option<String> = None;
    let mut switches = 0;
    for ((from, to), links) in &groups {
        let silent = links.iter().filter(|link| link.counters.payload_bytes == 0).count();
        if silent == 0 || !links.iter().any(|link| busy_share(link, outcome) >= FULL) {
            continue;
        }
        switches += 1;
        found.get_or_insert_with(|| {
            format!(
                "{silent} of {} links from {from} to {to} switches carry no data, while another is full",
                links.len()
            )
        });
    }
    let more =
        if switches > 1 { format!(", and so at {} other switches", switches - 1) } else { String::new() };
    found.map(|text| format!("{text}{more}; `fabric.routing = \"spray\"` or more flows at a time use all"))
}
