//! Time series, taken at fixed intervals.

use crate::ports::Egress;
use crate::progressing::{Progressing, UNOPENED};
use headway_network::{Entity, FlowState, LinkSampler, Metric, Network, Sample};
use headway_network::{FlowChoice, FlowSpec, ProbeChoice, SampleSpec};
use headway_packet::HostId;
use headway_transport::End;
use headway_transport::probes::Sink;
use headway_units::Time;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Deliveries of a shard since the last sample.
pub(crate) struct Deliveries {
    /// True for each flow that is sampled.
    wanted: Arc<[bool]>,
    /// True if flows that are added during the run are sampled.
    later: bool,
    /// Bytes delivered, by flow.
    fresh: Vec<u64>,
    /// Sampled flows that have had a byte delivered since the last sample, or are still open.
    active: Vec<u32>,
    listed: Vec<bool>,
}

impl Deliveries {
    #[inline]
    pub(crate) fn add(&mut self, tag: u32, bytes: u32) {
        let flow = tag as usize;
        if !self.wanted.get(flow).copied().unwrap_or(self.later) {
            return;
        }
        self.fresh[flow] += u64::from(bytes);
        if !self.listed[flow] {
            self.listed[flow] = true;
            self.active.push(tag);
        }
    }

    /// Makes room for so many flows.
    pub(crate) fn grow(&mut self, flows: usize) {
        self.fresh.resize(flows, 0);
        self.listed.resize(flows, false);
    }

    /// Flows and their bytes since the last sample.
    fn take(&mut self, flows: &[Progressing], all: &mut Vec<(u32, u64)>) {
        all.extend(self.active.iter().map(|&tag| (tag, std::mem::take(&mut self.fresh[tag as usize]))));
        // An open flow stays listed: a stall is a row of zero, not a missing row.
        let listed = &mut self.listed;
        self.active.retain(|&tag| {
            let open = flows[tag as usize].state() == FlowState::Unfinished;
            listed[tag as usize] = open;
            open
        });
    }
}

/// Probes of machines for each sampled flow that is under way.
struct Probes {
    choice: ProbeChoice,
    /// Flows that wait for no other, by start, and where in that order those begin that have not started.
    order: Vec<u32>,
    next: usize,
    /// Flows that wait for others, and whose message is not open.
    waiting: Vec<u32>,
    /// Flows under way.
    open: Vec<u32>,
}

impl Probes {
    /// Asks of all flows under way.
    fn take(
        &mut self,
        now: Time,
        (specs, flows, numbers): Flows<'_>,
        ask: &Ask<'_>,
        samples: &mut Vec<Sample>,
    ) {
        let started = |&&tag: &&u32| specs[tag as usize].start <= now;
        let fresh: Vec<u32> = self.order[self.next..].iter().take_while(started).copied().collect();
        self.next += fresh.len();
        self.open.extend(fresh);
        let number = |tag: u32| numbers[tag as usize].load(Relaxed);
        self.open.extend(self.waiting.extract_if(.., |&mut tag| number(tag) != UNOPENED));
        // A flow that has not begun stays listed: its host's processor may not have had time for it.
        self.open
            .retain(|&tag| matches!(flows[tag as usize].state(), FlowState::Unfinished | FlowState::Pending));
        // In order of flows, so that the rows do not depend on the order in which they began.
        self.open.sort_unstable();
        for &tag in &self.open {
            let FlowSpec { src, dst, .. } = specs[tag as usize];
            let message = number(tag);
            if message == UNOPENED {
                // The processor of its host has not had time for it.
                continue;
            }
            for (sends, host, peer) in [(true, src, dst), (false, dst, src)] {
                let end = End { sends, peer: HostId(peer), message, tag };
                ask(host, &end, &mut |info, value| {
                    if self.choice.has(info.name) {
                        let (entity, metric) = (Entity::Flow(tag), Metric::Probe(info.name));
                        samples.push(Sample { at: now, entity, metric, value });
                    }
                });
            }
        }
    }
}

/// All flows of a run: their specifications, their progress, and the numbers of their messages once they are open.
pub(crate) type Flows<'a> = (&'a [FlowSpec], &'a [Progressing], &'a [AtomicU32]);

/// Asks a host's machine of one end of a message.
pub(crate) type Ask<'a> = dyn Fn(u32, &End, &mut Sink<'_>) + 'a;

/// Choice of samples, and the samples so far.
pub(crate) struct Sampler {
    every: Time,
    last: Time,
    wanted: Option<Arc<[bool]>>,
    later: bool,
    links: LinkSampler,
    probes: Option<Probes>,
    samples: Vec<Sample>,
    most: u64,
}

impl Sampler {
    /// `order` are the flows that wait for no other, by start.
    pub(crate) fn new(spec: &SampleSpec, network: &Network, flows: &[FlowSpec], order: &[u32]) -> Sampler {
        let wanted = match &spec.flows {
            FlowChoice::None => None,
            FlowChoice::All => Some(vec![true; flows.len()]),
            FlowChoice::Some(list) => {
                let mut wanted = vec![false; flows.len()];
                list.iter().for_each(|&f| wanted[f as usize] = true);
                Some(wanted)
            }
        };
        let asks = spec.probes != ProbeChoice::None;
        let probes = wanted.as_ref().filter(|_| asks).map(|wanted| {
            let mut starts = vec![false; flows.len()];
            order.iter().for_each(|&tag| starts[tag as usize] = true);
            Probes {
                choice: spec.probes.clone(),
                order: order.iter().copied().filter(|&tag| wanted[tag as usize]).collect(),
                next: 0,
                waiting: (0..flows.len() as u32)
                    .filter(|&f| wanted[f as usize] && !starts[f as usize])
                    .collect(),
                open: Vec::new(),
            }
        });
        Sampler {
            every: spec.every,
            last: Time::ZERO,
            wanted: wanted.map(Into::into),
            later: spec.flows == FlowChoice::All,
            links: LinkSampler::new(network, &spec.links),
            probes,
            samples: Vec::new(),
            most: spec.most,
        }
    }

    /// Counts that a shard has to keep for it.
    pub(crate) fn deliveries(&self) -> Option<Box<Deliveries>> {
        let wanted = Arc::clone(self.wanted.as_ref()?);
        let (fresh, listed) = (vec![0; wanted.len()], vec![false; wanted.len()]);
        Some(Box::new(Deliveries { wanted, later: self.later, fresh, active: Vec::new(), listed }))
    }

    /// Rows so far.
    pub(crate) fn rows(&self) -> u64 {
        self.samples.len() as u64
    }

    /// True if there are as many rows as there may be.
    pub(crate) fn is_full(&self) -> bool {
        self.samples.len() as u64 >= self.most
    }

    /// True if machines are probed for flows.
    pub(crate) fn asks(&self) -> bool {
        self.probes.is_some()
    }

    pub(crate) fn every(&self) -> Time {
        self.every
    }

    /// Takes a sample of the time since the last one.
    pub(crate) fn take<'d>(
        &mut self,
        now: Time,
        egress: &mut [Egress],
        all: Flows<'_>,
        deliveries: impl Iterator<Item = &'d mut Deliveries>,
        ask: &Ask<'_>,
    ) {
        let length = now - self.last;
        // The end of a run may fall on a sample that has been taken.
        if length == Time::ZERO {
            return;
        }
        self.last = now;
        let mut fresh = Vec::new();
        deliveries.for_each(|shard| shard.take(all.1, &mut fresh));
        // In order of flows, whatever the shard they come from.
        fresh.sort_unstable();
        for (tag, bytes) in fresh {
            let value = bytes as f64 * 8.0 / length.as_secs_f64();
            let (at, entity, metric) = (now, Entity::Flow(tag), Metric::ThroughputBps);
            self.samples.push(Sample { at, entity, metric, value });
        }
        if let Some(probes) = &mut self.probes {
            probes.take(now, all, ask, &mut self.samples);
        }
        self.links.sample((now, now, length), egress, |egress| &mut egress.port, &mut self.samples);
    }

    pub(crate) fn finish(self) -> Vec<Sample> {
        self.samples
    }
}
