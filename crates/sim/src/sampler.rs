//! Time series, taken at fixed intervals.

use crate::progressing::Progressing;
use crate::wires::Egress;
use headway_network::Network;
use headway_network::{Entity, FlowState, Metric, Sample};
use headway_network::{FlowChoice, FlowSpec, LinkChoice, SampleSpec};
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
    /// Link number and busy time at the last sample.
    links: Vec<(u32, Time)>,
    samples: Vec<Sample>,
    most: u64,
}

impl Sampler {
    pub(crate) fn new(spec: &SampleSpec, network: &Network, flows: &[FlowSpec]) -> Sampler {
        let mut wanted = vec![spec.flows == FlowChoice::All; flows.len()];
        if let FlowChoice::Some(list) = &spec.flows {
            list.iter().for_each(|&f| wanted[f as usize] = true);
        }
        let chosen = |number: usize, name: &str| match &spec.links {
            LinkChoice::None => false,
            LinkChoice::All => number >= network.hosts() as usize,
            LinkChoice::Some(names) => names.iter().any(|n| n == name),
        };
        let names = network.link_names();
        let links =
            names.iter().enumerate().filter(|(i, n)| chosen(*i, n)).map(|(i, _)| (i as u32, Time::ZERO));
        Sampler {
            every: spec.every,
            last: Time::ZERO,
            fresh: vec![0; flows.len()],
            active: Vec::new(),
            listed: vec![false; flows.len()],
            wanted,
            links: links.collect(),
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
        for (number, busy_before) in &mut self.links {
            let port = &mut egress[*number as usize].port;
            let busy = port.busy_until(now);
            let share = (busy - *busy_before).0 as f64 / length.0 as f64;
            *busy_before = busy;
            let entity = Entity::Link(*number);
            let rows = [
                (Metric::QueueBytes, port.queue_bytes() as f64),
                (Metric::QueueMaxBytes, port.take_peak() as f64),
                (Metric::Utilisation, share),
            ];
            let gauges = port.gauges(now).into_iter().map(|g| (Metric::Gauge(g.name), g.value as f64));
            let rows = rows.into_iter().chain(gauges);
            self.samples.extend(rows.map(|(metric, value)| Sample { at: now, entity, metric, value }));
        }
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
