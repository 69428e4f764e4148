//! What a switch writes down: link records and samples, in the form in which simulations leave theirs.

use crate::egress::Egress;
use crate::frame::FrameError;
use headway_network::{Entity, Injector, LinkChoice, LinkRecord, Metric, Network, Sample, SampleSpec};
use headway_units::{Gauge, Time};

/// Frames outside the ports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchCounters {
    /// From hosts, good and bad.
    pub received: u64,
    /// Dropped at the door, by [`FrameError`].
    pub refused: [u64; FrameError::ALL.len()],
    /// Without a route.
    pub unroutable: u64,
    /// To hosts.
    pub delivered: u64,
}

/// What the books were opened with, by link.
#[derive(Clone, Default)]
struct Before {
    busy: Time,
    integral: u128,
    gauges: Vec<Gauge>,
}

/// See the module.
pub struct Books {
    every: Option<Time>,
    /// When; `Time::MAX` before.
    opened: Time,
    before: Vec<Before>,
    /// Sampled links, with their busy time at the last sample.
    sampled: Vec<(u32, Time)>,
    samples: Vec<Sample>,
}

impl Books {
    pub(crate) fn new(network: &Network, sample: Option<SampleSpec>) -> Books {
        let links = sample.as_ref().map_or(LinkChoice::None, |s| s.links.clone());
        let wanted = |number: usize, name: &String| match &links {
            LinkChoice::None => false,
            LinkChoice::All => number >= network.hosts() as usize,
            LinkChoice::Some(names) => names.contains(name),
        };
        let names = network.link_names();
        let sampled = names.iter().enumerate().filter(|(i, n)| wanted(*i, n));
        Books {
            every: sample.map(|s| s.every),
            opened: Time::MAX,
            before: vec![Before::default(); names.len()],
            sampled: sampled.map(|(i, _)| (i as u32, Time::ZERO)).collect(),
            samples: Vec::new(),
        }
    }

    /// Opens the books; answers when the first sample is due.
    pub(crate) fn start(&mut self, at: Time, egress: &[Egress]) -> Option<Time> {
        self.opened = at;
        let before = |e: &Egress| Before {
            busy: e.port.busy_until(at),
            integral: e.port.queue_integral(at),
            gauges: e.port.gauges(at),
        };
        self.before = egress.iter().map(before).collect();
        for (link, busy) in &mut self.sampled {
            *busy = self.before[*link as usize].busy;
        }
        let every = self.every.filter(|_| !self.sampled.is_empty())?;
        Some(at + every)
    }

    /// How long the books have been open at `now`, if they are.
    pub(crate) fn open_for(&self, now: Time) -> Option<Time> {
        (now >= self.opened).then(|| now.saturating_sub(self.opened))
    }

    /// Takes a sample; answers when the next is due.
    pub(crate) fn sample(&mut self, now: Time, egress: &mut [Egress]) -> Time {
        let every = self.every.unwrap_or(Time::MAX);
        let at = now.saturating_sub(self.opened);
        for (link, last) in &mut self.sampled {
            let port = &mut egress[*link as usize].port;
            let busy = port.busy_until(now);
            let share = busy.saturating_sub(*last).0 as f64 / every.0 as f64;
            *last = busy;
            let rows = [
                (Metric::QueueBytes, port.queue_bytes() as f64),
                (Metric::QueueMaxBytes, port.take_peak() as f64),
                (Metric::Utilisation, share),
            ];
            let entity = Entity::Link(*link);
            let gauges = port.gauges(now).into_iter().map(|g| (Metric::Gauge(g.name), g.value as f64));
            let rows = rows.into_iter().chain(gauges);
            self.samples.extend(rows.map(|(metric, value)| Sample { at, entity, metric, value }));
        }
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
    ) -> Vec<LinkRecord> {
        let open = now.saturating_sub(self.opened).0;
        let record = |(number, (name, egress)): (usize, (String, &Egress))| {
            let (port, before) = (&egress.port, &self.before[number]);
            if let Err(broken) = port.check() {
                panic!("counters of {name}: {broken}");
            }
            let integral = port.queue_integral(now).saturating_sub(before.integral) as f64;
            let mut counters = port.counters();
            counters.busy = counters.busy.saturating_sub(before.busy);
            let gauges =
                port.gauges(now).into_iter().enumerate().map(|(i, gauge)| match before.gauges.get(i) {
                    Some(then) => gauge.since(now, then, self.opened),
                    None => gauge,
                });
            let gauges = gauges.collect();
            LinkRecord {
                name,
                from_switch: number >= network.hosts() as usize,
                rate: network.links()[number].spec.rate,
                faults: injector.counts()[number],
                counters,
                busy: port.busy_until(now).saturating_sub(before.busy),
                queue_mean_bytes: if open == 0 { 0.0 } else { integral / open as f64 },
                gauges,
            }
        };
        network.link_names().into_iter().zip(egress).enumerate().map(record).collect()
    }
}
