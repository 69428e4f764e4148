//! Statistics of links while they are measured: samples on the way and a record of each at the end, the same for every
//! driver of ports.

use crate::error::Miscounted;
use crate::injector::FaultCounts;
use crate::link::LinkChoice;
use crate::network::Network;
use crate::outcome::{Entity, LinkRecord, Metric, Sample};
use crate::pfc::PauseCounts;
use headway_fabric::Port;
use headway_gauges::Gauge;
use headway_units::Time;

/// The links that are sampled, with their busy time at the last sample.
#[derive(Clone, Debug, Default)]
pub struct LinkSampler(Vec<(u32, Time)>);

impl LinkSampler {
    /// The links that a choice means; `All` are those of switches.
    pub fn new(network: &Network, choice: &LinkChoice) -> LinkSampler {
        let wanted = |number: usize, name: &str| match choice {
            LinkChoice::None => false,
            LinkChoice::All => number >= network.interfaces() as usize,
            LinkChoice::Some(names) => names.iter().any(|n| n == name),
        };
        let names = network.link_names();
        let chosen = names.iter().enumerate().filter(|(number, name)| wanted(*number, name));
        LinkSampler(chosen.map(|(number, _)| (number as u32, Time::ZERO)).collect())
    }

    /// True if no link is sampled.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a sample of each link, over the `length` that has passed since the last; `at` is the time of the rows.
    /// `egress` is the driver's record of each link, in their order, and `port` the port in it.
    pub fn sample<E>(
        &mut self,
        (now, at, length): (Time, Time, Time),
        egress: &mut [E],
        port: impl Fn(&mut E) -> &mut Port<u32>,
        samples: &mut Vec<Sample>,
    ) {
        for (link, last) in &mut self.0 {
            let port = port(&mut egress[*link as usize]);
            let busy = port.busy_until(now);
            let share = busy.saturating_sub(*last).0 as f64 / length.0 as f64;
            *last = busy;
            let entity = Entity::Link(*link);
            let rows = [
                (Metric::QueueBytes, port.queue_bytes() as f64),
                (Metric::QueueMaxBytes, port.take_peak() as f64),
                (Metric::Utilisation, share),
            ];
            let gauges = port.gauges(now).into_iter().map(|g| (Metric::Gauge(g.name), g.value as f64));
            let rows = rows.into_iter().chain(gauges);
            samples.extend(rows.map(|(metric, value)| Sample { at, entity, metric, value }));
        }
    }
}

/// Counts of a port when measuring began.
#[derive(Clone, Debug, Default)]
struct Before {
    busy: Time,
    integral: u128,
    gauges: Vec<Gauge>,
}

/// Counters and means of links over the time that is measured.
#[derive(Clone, Debug)]
pub struct LinkStats {
    start: Time,
    before: Vec<Before>,
}

impl LinkStats {
    /// Measures all that ports count, as of a time since `start`: zero in a run that begins with fresh ports, and the
    /// end of time where measuring has not begun.
    pub fn of_fresh_ports(start: Time) -> LinkStats {
        LinkStats { start, before: Vec::new() }
    }

    /// Measures from `at`, by each port's counts until then.
    pub fn start_measuring<'a>(at: Time, ports: impl Iterator<Item = &'a Port<u32>>) -> LinkStats {
        let before = |port: &Port<u32>| Before {
            busy: port.busy_until(at),
            integral: port.queue_integral(at),
            gauges: port.gauges(at),
        };
        LinkStats { start: at, before: ports.map(before).collect() }
    }

    /// Time for which it has been measured at `now`, if it is.
    pub fn measured_for(&self, now: Time) -> Option<Time> {
        (now >= self.start).then(|| now.saturating_sub(self.start))
    }

    /// The busy time that `sampler` compares its first sample with.
    pub fn prime(&self, sampler: &mut LinkSampler) {
        for (link, busy) in &mut sampler.0 {
            *busy = self.before.get(*link as usize).map_or(Time::ZERO, |before| before.busy);
        }
    }

    /// The records of all links at `now`, in their order; an error where a port's counters contradict each other, which only
    /// a bug can cause.
    pub fn records<'a>(
        &self,
        now: Time,
        network: &Network,
        ports: impl Iterator<Item = &'a Port<u32>>,
        faults: impl Fn(usize) -> FaultCounts,
    ) -> Result<Vec<LinkRecord>, Miscounted> {
        let length = now.saturating_sub(self.start).0;
        let fresh = Before::default();
        let record = |(number, (name, port)): (usize, (String, &Port<u32>))| {
            if let Err(source) = port.check() {
                return Err(Miscounted { link: name, at: now, source });
            }
            let before = self.before.get(number).unwrap_or(&fresh);
            let integral = port.queue_integral(now).saturating_sub(before.integral) as f64;
            let mut counters = port.counters();
            counters.busy = counters.busy.saturating_sub(before.busy);
            let gauges = port.gauges(now).into_iter().enumerate().map(|(i, gauge)| {
                let then = before.gauges.get(i);
                then.map_or(gauge, |then| gauge.since(now, then, self.start))
            });
            Ok(LinkRecord {
                name,
                from_switch: number >= network.interfaces() as usize,
                rate: network.links()[number].spec.rate,
                counters,
                busy: port.busy_until(now).saturating_sub(before.busy),
                queue_mean_bytes: if length == 0 { 0.0 } else { integral / length as f64 },
                faults: faults(number),
                gauges: gauges.collect(),
                pauses: PauseCounts::default(),
                volumes: Vec::new(),
            })
        };
        network.link_names().into_iter().zip(ports).enumerate().map(record).collect()
    }
}
