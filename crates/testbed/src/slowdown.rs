//! Time scaling: the same scenario on slower links.
//!
//! Rates are divided and times multiplied by one factor, so that every path keeps its bandwidth-delay
//! product in packets and every ratio of times; ordinary hosts keep up then (10 Gb/s and 100 us become
//! 100 Mb/s and 10 ms at a factor of 100). Results are scaled back into the scenario's own units.

use headway_gauges::Gauge;
use headway_network::{
    Entity, Fault, HostCosts, LinkRecord, LinkSpec, Metric, Outcome, RunSpec, Sample, SampleSpec,
    TransportSpec,
};
use headway_packet::Sizes;
use headway_params::ParamValue;
use headway_units::{Rate, Time};

/// A run that is `factor` times slower, with packets of these sizes. Transports that stand for the kernel's TCP, by their
/// number, keep their times: no kernel's clock is slowed down.
pub fn slow_down(spec: &RunSpec, factor: u64, sizes: Sizes, of_kernel: impl Fn(usize) -> bool) -> RunSpec {
    let mut slow = spec.clone();
    slow.topology.links_mut().into_iter().for_each(|one| *one = slow_link(*one, factor));
    slow.fabric.sizes = sizes;
    slow.fabric.switch_latency = spec.fabric.switch_latency * factor;
    let fabric = &spec.fabric;
    slow.fabric.params =
        slow_params(&fabric.params, of_discipline(&fabric.discipline, &fabric.params), factor);
    for at in &mut slow.fabric.at {
        at.params = slow_params(&at.params, of_discipline(&at.discipline, &at.params), factor);
    }
    for (number, transport) in
        slow.transports.iter_mut().enumerate().filter(|(number, _)| !of_kernel(*number))
    {
        transport.params = slow_params(&spec.transports[number].params, of_transport(transport), factor);
    }
    for flow in &mut slow.flows {
        flow.start = flow.start * factor;
        flow.deadline = flow.deadline.map(|d| d * factor);
        flow.stop = flow.stop.map(|stop| stop * factor);
    }
    for fault in &mut slow.faults {
        slow_fault(&mut fault.what, factor);
    }
    // Real hosts have timing noise and costs of their own.
    slow.jitter = Time::ZERO;
    slow.costs = HostCosts::default();
    slow.stop = wall_time(spec, factor);
    // Hosts on real packets do not measure times by cause.
    slow.sample = slow.sample.filter(SampleSpec::is_periodic);
    if let Some(sample) = &mut slow.sample {
        sample.every = sample.every.saturating_mul(factor);
    }
    slow
}

fn slow_fault(fault: &mut Fault, factor: u64) {
    let slow = |time: &mut Time| *time = time.saturating_mul(factor);
    match fault {
        // Counts packets, which a slower run has as many of.
        Fault::DropNth(_) => {}
        // Probabilities are for a packet and stay; only the delay is a time.
        Fault::Random { reorder_by, .. } => slow(reorder_by),
        Fault::Blackhole { from, until } => [from, until].into_iter().for_each(slow),
        Fault::Down(down) => [&mut down.at, &mut down.until, &mut down.converge].into_iter().for_each(slow),
        Fault::Change(change) => {
            [&mut change.at, &mut change.until].into_iter().chain(&mut change.delay).for_each(slow);
            change.rate = change.rate.map(|r| slow_rate(r, factor));
        }
    }
}

fn slow_rate(rate: Rate, factor: u64) -> Rate {
    // A rate is at least 1 bit/s.
    Rate::new((rate.bps() / factor).max(1)).unwrap_or(rate)
}

fn slow_link(spec: LinkSpec, factor: u64) -> LinkSpec {
    LinkSpec { rate: slow_rate(spec.rate, factor), delay: spec.delay * factor }
}

/// The parameters that are set, with every time and rate as it stands slowed: defaults and the values of a preset are
/// times of the scenario too.
fn slow_params(
    set: &[(String, ParamValue)],
    standing: Vec<(String, ParamValue)>,
    factor: u64,
) -> Vec<(String, ParamValue)> {
    // Times and rates come from `standing`, which has those that are set as well.
    let kept = set.iter().filter(|(_, value)| !matches!(value, ParamValue::Time(_) | ParamValue::Rate(_)));
    let slow = standing.into_iter().filter_map(|(name, value)| match value {
        // A time of more than a day is longer than any run, however slow.
        ParamValue::Time(t) => Some((name, ParamValue::Time(t.saturating_mul(factor).min(Time::DAY)))),
        ParamValue::Rate(r) => Some((name, ParamValue::Rate(slow_rate(r, factor)))),
        ParamValue::Bool(_) | ParamValue::Int(_) | ParamValue::Float(_) | ParamValue::Choice(_) => None,
    });
    kept.cloned().chain(slow).collect()
}

/// The value of every parameter of a transport. A scenario has set nothing that the transport refuses.
fn of_transport(spec: &TransportSpec) -> Vec<(String, ParamValue)> {
    let settings = headway_transport::registry::param_settings(&spec.name, &spec.params);
    settings.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

/// The value of every parameter of a discipline of ports.
fn of_discipline(discipline: &str, params: &[(String, ParamValue)]) -> Vec<(String, ParamValue)> {
    let known = headway_fabric::registry::find(discipline).map(|(_, specs)| specs).unwrap_or_default();
    let set = |name: &str| params.iter().find(|(one, _)| one == name).map(|(_, value)| value.clone());
    known.into_iter().map(|one| (one.name.to_string(), set(one.name).unwrap_or(one.default))).collect()
}

/// An outcome of a slowed run in the units of the scenario that was slowed.
pub fn speed_up(outcome: &mut Outcome, factor: u64) {
    for flow in &mut outcome.flows {
        flow.start = flow.start.map(|t| t / factor);
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
    // Not the rate as written where that is no multiple of the factor: the link really was that much slower.
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
    // Rounded up: the slowed link must not be faster than `rate`.
    fastest.bps().div_ceil(rate.bps()).max(1)
}

/// Longest duration of a run on the testbed, in the scenario's own time, if the scenario does not set `stop`.
pub const LONGEST: Time = Time::s(100);

/// Longest duration of the scenario's run on the testbed.
pub fn wall_time(spec: &RunSpec, factor: u64) -> Time {
    let stop = if spec.stop == Time::MAX { LONGEST } else { spec.stop };
    stop.saturating_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every time and rate that parameters name, whether or not the scenario does.
    fn clock_params(values: &[(String, ParamValue)]) -> Vec<(String, ParamValue)> {
        let timed = |value: &ParamValue| matches!(value, ParamValue::Time(_) | ParamValue::Rate(_));
        values.iter().filter(|(_, value)| timed(value)).cloned().collect()
    }

    #[test]
    fn times_that_no_scenario_writes_are_slowed_down_for_every_transport() {
        let mut timed = 0;
        for entry in headway_transport::registry::all_entries() {
            let spec = TransportSpec::new(entry.info.name, Vec::new());
            let slowed = slow_params(&spec.params, of_transport(&spec), 100);
            let slow = TransportSpec::new(spec.name.clone(), slowed);
            for ((name, before), (_, after)) in
                clock_params(&of_transport(&spec)).iter().zip(clock_params(&of_transport(&slow)))
            {
                let ParamValue::Time(before) = before else { continue };
                let expected = before.saturating_mul(100).min(Time::DAY);
                assert_eq!(after, ParamValue::Time(expected), "{} {name}", entry.info.name);
                timed += u32::from(*before > Time::ZERO);
            }
        }
        // Guards against a registry whose parameters have silently stopped being times.
        assert!(timed > 20, "{timed}");
    }

    #[test]
    fn what_a_preset_sets_is_slowed_down_and_what_is_written_beside_it() {
        let set = vec![
            ("preset".to_string(), ParamValue::Choice("linux-4.19".into())),
            ("ack_delay".to_string(), ParamValue::Time(Time::us(7))),
        ];
        let spec = TransportSpec::new("tcp", set.clone());
        let slow = TransportSpec::new("tcp", slow_params(&set, of_transport(&spec), 10));
        let value = |name: &str| of_transport(&slow).into_iter().find(|(one, _)| one == name).map(|(_, v)| v);
        assert_eq!(value("min_rto"), Some(ParamValue::Time(Time::ms(2000))));
        assert_eq!(value("ack_delay"), Some(ParamValue::Time(Time::us(70))));
        assert_eq!(value("preset"), Some(ParamValue::Choice("linux-4.19".into())));
    }
}
