//! Share of their nominal load that links got while flows were still arriving.

use crate::scenario::Setup;
use crate::traffic::load::Loaded;
use headway_network::{Network, Outcome};

/// The nominal and the reached use of the links that the scenario's load refers to; nothing without such a load, or with
/// several that refer to different links.
pub(super) fn link_use(setup: &Setup, network: &Network, outcome: &Outcome) -> Option<(f64, Option<f64>)> {
    let loads = setup.traffic.iter().filter_map(|entry| entry.pattern.nominal_load());
    let loaded = Loaded::of(loads, network)?;
    let rate = |link: usize| network.links()[link].spec.rate.bps() as f64;
    let reached =
        // A time without length would divide by zero.
        outcome.arrivals.as_ref().filter(|arrivals| arrivals.end > arrivals.middle).map(|arrivals| {
            let length = (arrivals.end - arrivals.middle).0 as f64;
            let busy = |link: usize| arrivals.busy[link].0 as f64 / length;
            loaded.links.iter().map(|&link| rate(link) * busy(link)).sum::<f64>() / loaded.capacity_bps
        });
    Some((loaded.share(), reached))
}
