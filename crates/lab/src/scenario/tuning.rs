//! Parameters of transports that follow from the traffic, where a scenario names flow-size distributions.

use crate::topology::Topology;
use crate::traffic::Entry;
use crate::workload::{Cdf, Interpolation};
use headway_network::{FabricSpec, Network, Params, TransportSpec};
use headway_transport::endpoint::Traffic;
use headway_transport::{Path, registry};
use headway_units::Rate;

/// Sizes that stand for a distribution read as straight lines.
const SAMPLES: u32 = 10_000;

/// Lets each transport that is configured by its traffic see the distributions of its entries; one that has
/// none keeps its defaults. One whose hosts count rounds together always sees the longest path, so that they agree.
pub(super) fn tune(
    transports: &mut [TransportSpec],
    entries: &[Entry],
    topology: &Topology,
    fabric: &FabricSpec,
) {
    for (position, transport) in transports.iter_mut().enumerate() {
        if !registry::tunes_params(&transport.name) {
            continue;
        }
        let own = entries.iter().filter(|entry| usize::from(entry.common.transport) == position);
        let whatever_sizes = registry::find_entry(&transport.name)
            .is_some_and(|found| found.capabilities.shared_clock || found.capabilities.network_wide);
        let Some((mut traffic, network)) = traffic(own, topology, fabric, whatever_sizes) else { continue };
        let tuned =
            |traffic: &Traffic| registry::tune_params(&transport.name, &transport.params, traffic)?.ok();
        let Some(params) = tuned(&traffic) else { continue };
        let mut apart: Vec<(Vec<u32>, Params)> = Vec::new();
        // Networks that are alike, such as nodes, are tuned once.
        let mut known: Vec<(Path, Rate, Option<Params>)> = Vec::new();
        for part in if network.owners().are_alike() { Vec::new() } else { network.parts() } {
            // A part of one interface has no path.
            let Some((first, last)) = part.first().zip(part.last()).filter(|(a, b)| a != b) else { continue };
            traffic.path = network.path(*first, *last);
            traffic.nic = network.links()[*first as usize].spec.rate;
            let place = known.iter().position(|(path, nic, _)| (path, nic) == (&traffic.path, &traffic.nic));
            let place = place.unwrap_or_else(|| {
                let own = tuned(&traffic).filter(|own| *own != params);
                known.push((traffic.path, traffic.nic, own));
                known.len() - 1
            });
            let Some(own) = known[place].2.clone() else { continue };
            match apart.iter_mut().find(|(_, known)| *known == own) {
                Some((interfaces, _)) => interfaces.extend(part),
                None => apart.push((part, own)),
            }
        }
        transport.apart = apart.into_iter().map(|(interfaces, own)| (interfaces.into(), own)).collect();
        transport.params = params;
    }
}

/// The network, and the sizes of all random messages of these entries, each distribution weighted by its messages a second. `None`
/// without any, unless only the network matters.
fn traffic<'a>(
    entries: impl Iterator<Item = &'a Entry>,
    topology: &Topology,
    fabric: &FabricSpec,
    whatever_sizes: bool,
) -> Option<(Traffic, Network)> {
    let random = entries.filter_map(|entry| entry.pattern.random_arrivals());
    let random: Vec<(&Cdf, f64)> = random.map(|arrivals| (arrivals.sizes, arrivals.per_second)).collect();
    let all: f64 = random.iter().map(|(_, rate)| rate).sum();
    if random.is_empty() && !whatever_sizes {
        return None;
    }
    let network = Network::build(&topology.spec, fabric).ok()?;
    let (first, last) = network.pair(0, topology.hosts.checked_sub(1)?)?;
    let sized = |&(cdf, rate): &(&Cdf, f64)| sizes(cdf).into_iter().map(move |(b, w)| (b, w * rate / all));
    let traffic = Traffic {
        sizes: random.iter().flat_map(sized).collect(),
        mean: random.iter().map(|(cdf, rate)| cdf.mean() * rate / all).sum(),
        // Hosts are numbered along the network: its ends are as far apart as any two.
        path: network.path(first, last),
        nic: network.links()[first as usize].spec.rate,
        packet: fabric.sizes,
        oversubscription: network.oversubscription(),
    };
    Some((traffic, network))
}

/// Sizes of a distribution with their weights: exact where only the rows' sizes occur.
fn sizes(cdf: &Cdf) -> Vec<(u64, f64)> {
    match cdf.interpolation() {
        Interpolation::Step => {
            let before = std::iter::once(0.0).chain(cdf.rows().iter().map(|row| row.1));
            cdf.rows().iter().zip(before).map(|(row, before)| (row.0.max(1), row.1 - before)).collect()
        }
        Interpolation::Linear => {
            // The middle of each share of probability: its ends would bias the mean.
            let middle = |i: u32| (f64::from(i) + 0.5) / f64::from(SAMPLES);
            (0..SAMPLES).map(|i| (cdf.quantile(middle(i)), 1.0 / f64::from(SAMPLES))).collect()
        }
    }
}
