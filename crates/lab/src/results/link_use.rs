//! How much of their nominal load links got while flows were still arriving.

use crate::scenario::Setup;
use headway_network::{Network, Outcome};

/// The nominal and the reached use of the links that the scenario's load refers to; nothing without such a load, or with
/// several that refer to different links.
pub(super) fn link_use(setup: &Setup, outcome: &Outcome) -> Option<(f64, Option<f64>)> {
    let mut loads = setup.traffic.iter().filter_map(|entry| entry.pattern.nominal_load());
    let first = loads.next()?;
    let mut bps = first.bps;
    for other in loads {
        if (other.on, &other.receivers) != (first.on, &first.receivers) {
            return None;
        }
        bps += other.bps;
    }
    let network = Network::build(&setup.topology.spec, &setup.fabric).ok()?;
    let links = first.links(&network);
    let rate = |link: usize| network.links()[link].spec.rate.bps() as f64;
    let all: f64 = links.iter().map(|&link| rate(link)).sum();
    let reached =
        outcome.arrivals.as_ref().filter(|arrivals| arrivals.end > arrivals.middle).map(|arrivals| {
            let length = (arrivals.end - arrivals.middle).0 as f64;
            let busy = |link: usize| arrivals.busy[link].0 as f64 / length;
            links.iter().map(|&link| rate(link) * busy(link)).sum::<f64>() / all
        });
    Some((bps / all, reached))
}
