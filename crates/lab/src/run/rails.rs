//! Interfaces that carry nothing while others of their kind are full.

use crate::scenario::Setup;
use crate::traffic::load::Racks;
use headway_network::{LinkRecord, Network, Outcome};
use headway_units::Time;

/// Part of the run from which on a link counts as full.
const FULL: f64 = 0.8;

/// A sentence about nodes of which some interfaces to the network carry nothing while another is full; `None` if there are none.
pub(super) fn idle(setup: &Setup, outcome: &Outcome) -> Option<String> {
    let spec = &setup.topology.spec;
    let racks = Racks::of(spec).filter(|_| spec.interfaces() > spec.size().hosts)?;
    if outcome.end == Time::ZERO || setup.traffic.iter().all(|entry| entry.pattern.job().is_none()) {
        return None;
    }
    let network = Network::build(spec, &setup.fabric).ok()?;
    let busy = |link: &LinkRecord| link.busy.0 as f64 / outcome.end.0 as f64;
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
