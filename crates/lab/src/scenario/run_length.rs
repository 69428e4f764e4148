//! Checks that random arrivals last long enough for the network to reach a steady state.
//!
//! A link at which messages arrive at random is taken as an M/G/1 queue. In heavy traffic its mean queue approaches the
//! steady state as `exp(-t / r)` does, with the relaxation time `r = 2 p E[S^2] / (E[S] (1 - p)^2)`: `S` is the time that a
//! message takes on the link, and `p` the load. (Abate and Whitt, Transient behavior of regulated Brownian motion I, 1987;
//! Whitt, Planning queueing simulations, Management Science 35(11), 1989.)

use super::Setup;
use crate::traffic::RandomArrivals;
use crate::traffic::load::{Loaded, Reference, capacity, mean_wire};
use headway_network::Network;
use headway_units::Time;

/// A warm-up that lets all but a seventh of the start-up pass, in relaxation times.
const WARMUP: f64 = 2.0;
/// Relaxation times of arrivals that are measured after it.
const MEASURED: f64 = 5.0;

/// Share of the arrivals' time from which on a flow that lasts so long counts as one that takes what it finds.
const ELASTIC: f64 = 0.1;

/// Duration of the arrivals, and the duration that they need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunLength {
    /// Load of the links that are loaded most.
    pub load: f64,
    /// Part of it that is of traffic that does not arrive at random, such as calls, roughly.
    pub other_load: f64,
    /// Earliest arrival of the first message, in seconds.
    pub start_s: f64,
    /// Time for which messages arrive, in seconds, roughly.
    pub arrivals_s: f64,
    /// Part of that time that the warm-up leaves out, in seconds.
    pub warmup_s: f64,
    /// The relaxation time, in seconds; none where the load is not less than the links carry.
    pub relaxation_s: Option<f64>,
    /// Share of the mean queue of the steady state that the measured messages miss at most, about, because the network was
    /// empty first.
    pub missing: f64,
    /// Messages a second.
    pub per_second: f64,
}

impl RunLength {
    /// A warm-up and a length of all arrivals, in seconds, with which little is missing.
    pub fn advice(&self) -> Option<(f64, f64)> {
        let relaxation = self.relaxation_s?;
        Some((WARMUP * relaxation, (WARMUP + MEASURED) * relaxation))
    }
}

impl Setup {
    /// Duration of its random arrivals, and the one that it needs; `None` without such arrivals, or if several load
    /// different links.
    pub fn run_length(&self) -> Option<RunLength> {
        self.traffic.iter().find_map(|entry| entry.pattern.random_arrivals())?;
        self.run_length_in(&Network::build(&self.topology.spec, &self.fabric).ok()?)
    }

    /// As [`Setup::run_length`], in a network that is built already.
    pub(crate) fn run_length_in(&self, network: &Network) -> Option<RunLength> {
        let hosts = self.topology.hosts;
        let (entries, random): (Vec<_>, Vec<RandomArrivals<'_>>) =
            self.traffic.iter().filter_map(|entry| Some((entry, entry.pattern.random_arrivals()?))).unzip();
        let loaded = Loaded::of(random.iter().map(|one| one.heaviest), network)?;
        let per_second: f64 = random.iter().map(|one| one.per_second).sum();
        // Messages of an entry that sends more of them weigh more.
        let weighted = |of: &dyn Fn(&RandomArrivals<'_>) -> f64| {
            random.iter().map(|one| of(one) * one.per_second).sum::<f64>() / per_second
        };
        // Headers, framing and padding make every message longer, about in proportion.
        let overhead =
            weighted(&|one| mean_wire(one.sizes, &self.fabric.sizes)) / weighted(&|one| one.sizes.mean());
        let square = weighted(&|one| one.sizes.mean_square()) / weighted(&|one| one.sizes.mean());
        let seconds = |time: Time| time.as_secs_f64();
        let start_s = random.iter().map(|one| seconds(one.start)).fold(f64::INFINITY, f64::min);
        let end = |(entry, one): (&&crate::traffic::Entry, &RandomArrivals<'_>)| {
            let ends = entry.common.stop.map_or(f64::INFINITY, seconds);
            (seconds(one.start) + entry.expected_flows(hosts) / one.per_second).min(ends)
        };
        let end_s = entries.iter().zip(&random).map(end).fold(0.0, f64::max).min(seconds(self.stop));
        let arrivals_s = (end_s - start_s).max(0.0);
        let link_bps = loaded.capacity_bps / loaded.links.len() as f64;
        let other_load = self.other_bps(arrivals_s, &random, link_bps) / loaded.capacity_bps;
        let load = loaded.share() + other_load;
        // E[S^2] / E[S]: of the two factors of overhead above, one cancels with the one below.
        let service_s = 8.0 * overhead * square / link_bps;
        let relaxation_s = (load < 1.0).then(|| 2.0 * load * service_s / ((1.0 - load) * (1.0 - load)));
        let warmup_s = (seconds(self.warmup) - start_s).clamp(0.0, arrivals_s);
        let measured = arrivals_s - warmup_s;
        // The mean of exp(-t / r) over the time that is measured; all is missing where no steady state exists.
        let missing = relaxation_s.map_or(1.0, |r| {
            let left = |t: f64| libm::exp(-t / r);
            if measured > 0.0 { r / measured * (left(warmup_s) - left(arrivals_s)) } else { left(warmup_s) }
        });
        Some(RunLength { load, other_load, start_s, arrivals_s, warmup_s, relaxation_s, missing, per_second })
    }

    /// Bits on the wire a second that all other traffic puts on the links that random arrivals load most. Each entry spreads what it
    /// sends over the time of those arrivals, or over what it takes at least by its own pauses, whichever is longer.
    fn other_bps(&self, arrivals_s: f64, random: &[RandomArrivals<'_>], link_bps: f64) -> f64 {
        let hosts = self.topology.hosts;
        let crosses = match random.first().map(|one| one.heaviest.on) {
            Some(Reference::HostLinks) => 1.0,
            Some(Reference::CoreLinks) => capacity(&self.topology).crossing,
            // Who else sends to these hosts is not known here.
            Some(Reference::ReceiverLinks) | None => 0.0,
        };
        let sizes = &self.fabric.sizes;
        // As if all packets were full: the sizes of this traffic are not at hand.
        let overhead = f64::from(sizes.full_wire()) / f64::from(sizes.payload);
        let one = |entry: &crate::traffic::Entry| {
            if entry.pattern.random_arrivals().is_some() || entry.pattern.is_external() {
                return 0.0;
            }
            let (lasts, bytes) = entry.pattern.horizon(hosts);
            // Flows that last take what others leave: they are no load of their own.
            let each_s = 8.0 * bytes as f64 / entry.expected_flows(hosts).max(1.0) / link_bps;
            if each_s > ELASTIC * arrivals_s {
                return 0.0;
            }
            let lasts_s = arrivals_s.max(lasts.as_secs_f64());
            if lasts_s > 0.0 { 8.0 * overhead * crosses * bytes as f64 / lasts_s } else { 0.0 }
        };
        self.traffic.iter().map(one).sum()
    }
}
