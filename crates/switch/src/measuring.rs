//! Times at which a switch measures its links, and the samples that it has taken.

use crate::egress::Egress;
use headway_network::{
    Injector, LinkChoice, LinkRecord, LinkSampler, LinkStats, Miscounted, Network, Sample, SampleSpec,
};
use headway_units::Time;

/// See the module.
pub(crate) struct Measuring {
    every: Option<Time>,
    stats: LinkStats,
    sampler: LinkSampler,
    samples: Vec<Sample>,
}

impl Measuring {
    pub(crate) fn new(network: &Network, sample: Option<SampleSpec>) -> Measuring {
        let links = sample.as_ref().map_or(LinkChoice::None, |s| s.links.clone());
        Measuring {
            every: sample.map(|s| s.every),
            // A beginning that never comes, until `start` sets one.
            stats: LinkStats::of_fresh_ports(Time::MAX),
            sampler: LinkSampler::new(network, &links),
            samples: Vec::new(),
        }
    }

    /// Begins; returns the time of the first sample.
    pub(crate) fn start(&mut self, at: Time, egress: &[Egress]) -> Option<Time> {
        self.stats = LinkStats::start_measuring(at, egress.iter().map(|e| &e.port));
        self.stats.prime(&mut self.sampler);
        let every = self.every.filter(|_| !self.sampler.is_empty())?;
        Some(at + every)
    }

    /// Time for which it has been measured at `now`, if it is.
    pub(crate) fn measured_for(&self, now: Time) -> Option<Time> {
        self.stats.measured_for(now)
    }

    /// Takes a sample; returns the time of the next.
    pub(crate) fn sample(&mut self, now: Time, egress: &mut [Egress]) -> Time {
        let every = self.every.unwrap_or(Time::MAX);
        let at = self.stats.measured_for(now).unwrap_or(Time::ZERO);
        self.sampler.sample((now, at, every), egress, |egress| &mut egress.port, &mut self.samples);
        now.saturating_add(every)
    }

    pub(crate) fn take(&mut self) -> Vec<Sample> {
        std::mem::take(&mut self.samples)
    }

    pub(crate) fn links(
        &self,
        now: Time,
        network: &Network,
        egress: &[Egress],
        injector: &Injector,
    ) -> Result<Vec<LinkRecord>, Miscounted> {
        let ports = egress.iter().map(|e| &e.port);
        self.stats.records(now, network, ports, |number| injector.counts()[number])
    }
}
