//! Time scaling: the same scenario on slower links.
//!
//! Rates are divided and times multiplied by one factor, so that every path keeps its bandwidth-delay
//! product in packets and every ratio of times; ordinary hosts keep up then (10 Gb/s and 100 us become
//! 100 Mb/s and 10 ms at a factor of 100). Results are scaled back into the scenario's own units.

use headway_gauges::Gauge;
use headway_network::{
    Entity, Fault, HostCosts, LinkRecord, LinkSpec, Metric, Outcome, RunSpec, Sample, TransportSpec,
};
use headway_packet::Sizes;
use headway_params::ParamValue;
use headway_units::{Rate, Time};

/// A run that is `factor` times slower, with packets of these sizes.
pub fn slow_down(spec: &RunSpec, factor: u64, sizes: Sizes) -> RunSpec {
    let mut slow = spec.clone();
    slow.topology.links_mut().into_iter().for_each(|one| *one = link(*one, factor));
    slow.fabric.sizes = sizes;
    slow.fabric.switch_latency = spec.fabric.switch_latency * factor;
    slow.fabric.params = params(&spec.fabric.params, factor);
    slow.transports = spec
        .transports
        .iter()
        .map(|t| TransportSpec { name: t.name.clone(), params: params(&t.params, factor) })
        .collect();
    for flow in &mut slow.flows {
        flow.start = flow.start * factor;
        flow.deadline = flow.deadline.map(|d| d * factor);
    }
    for fault in &mut slow.faults {
        slow_fault(&mut fault.what, factor);
    }
    // Real hosts have timing noise and costs of their own.
    slow.jitter = Time::ZERO;
    slow.costs = HostCosts::default();
    slow.stop = spec.stop.saturating_mul(factor);
    if let Some(sample) = &mut slow.sample {
        sample.every = sample.every * factor;
    }
    slow
}

fn slow_fault(fault: &mut Fault, factor: u64) {
    let slow = |time: &mut Time| *time = time.saturating_mul(factor);
    match fault {
        Fault::DropNth(_) => {}
        Fault::Random { reorder_by, .. } => slow(reorder_by),
        Fault::Blackhole { from, until } => [from, until].into_iter().for_each(slow),
        Fault::Down(down) => [&mut down.at, &mut down.until, &mut down.converge].into_iter().for_each(slow),
        Fault::Change(change) => {
            [&mut change.at, &mut change.until].into_iter().chain(&mut change.delay).for_each(slow);
            change.rate = change.rate.map(|r| rate(r, factor));
        }
    }
}

fn rate(rate: Rate, factor: u64) -> Rate {
    Rate::new((rate.bps() / factor).max(1)).unwrap_or(rate)
}

fn link(spec: LinkSpec, factor: u64) -> LinkSpec {
    LinkSpec { rate: rate(spec.rate, factor), delay: spec.delay * factor }
}

fn params(list: &[(String, ParamValue)], factor: u64) -> Vec<(String, ParamValue)> {
    let slow = |value: &ParamValue| match value {
        // What lasts longer than a day lasts longer than any run, however slow.
        ParamValue::Time(t) => ParamValue::Time(t.saturating_mul(factor).min(Time::DAY)),
        ParamValue::Rate(r) => ParamValue::Rate(rate(*r, factor)),
        ParamValue::Bool(_) | ParamValue::Int(_) | ParamValue::Float(_) | ParamValue::Choice(_) => {
            value.clone()
        }
    };
    list.iter().map(|(name, value)| (name.clone(), slow(value))).collect()
}

/// An outcome of a slowed run in the units of the scenario that was slowed.
pub fn speed_up(outcome: &mut Outcome, factor: u64) {
    for flow in &mut outcome.flows {
        flow.finish = flow.finish.map(|t| t / factor);
        flow.ideal = flow.ideal / factor;
    }
    outcome.links.iter_mut().for_each(|link| speed_up_link(link, factor));
    outcome.samples.iter_mut().for_each(|sample| speed_up_sample(sample, factor));
    let parts = outcome.by_transport.iter_mut().flat_map(|record| &mut record.gauges);
    for gauge in outcome.host_gauges.iter_mut().flatten().chain(parts) {
        *gauge = gauge.sped_up(factor);
    }
    let trips = outcome.by_transport.iter_mut().map(|record| &mut record.round_trips);
    for trips in trips.chain([&mut outcome.round_trips]).flatten() {
        *trips = trips.sped_up(factor);
    }
    outcome.end = outcome.end / factor;
}

fn speed_up_link(link: &mut LinkRecord, factor: u64) {
    link.rate = Rate::new(link.rate.bps() * factor).unwrap_or(link.rate);
    link.busy = link.busy / factor;
    link.counters.busy = link.counters.busy / factor;
    link.gauges.iter_mut().for_each(|gauge| *gauge = gauge.sped_up(factor));
}

fn speed_up_sample(sample: &mut Sample, factor: u64) {
    sample.at = sample.at / factor;
    match (sample.entity, sample.metric) {
        (Entity::Flow(_), Metric::ThroughputBps) => sample.value *= factor as f64,
        (_, Metric::Gauge(name)) => sample.value *= Gauge::faster(name, factor),
        _ => {}
    }
}

/// The factor that brings the fastest link down to `rate`, at least 1.
pub fn factor_for(fastest: Rate, rate: Rate) -> u64 {
    fastest.bps().div_ceil(rate.bps()).max(1)
}

/// How long a run of the scenario lasts on the testbed.
pub fn wall_time(spec: &RunSpec, factor: u64) -> Time {
    spec.stop.saturating_mul(factor)
}
