//! Time series, taken at fixed intervals.

use crate::ports::Egress;
use crate::progressing::Progressing;
use headway_network::{Entity, FlowState, LinkSampler, Metric, Network, Sample};
use headway_network::{FlowChoice, FlowSpec, SampleSpec};
use headway_units::Time;

/// What is sampled, and what the last sample saw.
pub(crate) struct Sampler {
    every: Time,
    last: Time,
    /// Whether a flow is sampled; empty when none is.
    wanted: Vec<bool>,
    /// Bytes delivered since the last sample, by flow.
    fresh: Vec<u64>,
    /// Sampled flows that have had a byte delivered since the last sample, or are still open.
    active: Vec<u32>,
    listed: Vec<bool>,
    links: LinkSampler,
    samples: Vec<Sample>,
    most: u64,
}

impl Sampler {
    pub(crate) fn new(spec: &SampleSpec, network: &Network, flows: &[FlowSpec]) -> Sampler {
        let mut wanted = vec![spec.flows == FlowChoice::All; flows.len()];
        if let FlowChoice::Some(list) = &spec.flows {
            list.iter().for_each(|&f| wanted[f as usize] = true);
        }
        Sampler {
            every: spec.every,
            last: Time::ZERO,
            fresh: vec![0; flows.len()],
            active: Vec::new(),
            listed: vec![false; flows.len()],
            wanted,
            links: LinkSampler::new(network, &spec.links),
            samples: Vec::new(),
            most: spec.most,
        }
    }

    /// Rows so far.
    pub(crate) fn rows(&self) -> u64 {
        self.samples.len() as u64
    }

    /// Whether there are as many rows as there may be.
    pub(crate) fn is_full(&self) -> bool {
        self.samples.len() as u64 >= self.most
    }

    pub(crate) fn every(&self) -> Time {
        self.every
    }

    #[inline]
    pub(crate) fn delivered(&mut self, tag: u32, bytes: u32) {
        let flow = tag as usize;
        if !self.wanted[flow] {
            return;
        }
        self.fresh[flow] += u64::from(bytes);
        if !self.listed[flow] {
            self.listed[flow] = true;
            self.active.push(tag);
        }
    }

    /// Takes a sample of the time since the last one.
    pub(crate) fn take(&mut self, now: Time, egress: &mut [Egress], flows: &[Progressing]) {
        let length = now - self.last;
        if length == Time::ZERO {
            return;
        }
        self.last = now;
        self.sample_flows(now, length, flows);
        self.links.sample((now, now, length), egress, |egress| &mut egress.port, &mut self.samples);
    }

    fn sample_flows(&mut self, now: Time, length: Time, flows: &[Progressing]) {
        let mut active = std::mem::take(&mut self.active);
        active.sort_unstable();
        for &tag in &active {
            let bits = std::mem::take(&mut self.fresh[tag as usize]) as f64 * 8.0;
            let value = bits / length.as_secs_f64();
            let (at, entity, metric) = (now, Entity::Flow(tag), Metric::ThroughputBps);
            self.samples.push(Sample { at, entity, metric, value });
        }
        // An open flow stays listed: a stall is a row of zero, not a missing row.
        active.retain(|&tag| {
            let open = flows[tag as usize].state == FlowState::Unfinished;
            self.listed[tag as usize] = open;
            open
        });
        self.active = active;
    }

    pub(crate) fn finish(self) -> Vec<Sample> {
        self.samples
    }
}
