//! What must hold of every run, whatever is run.

use crate::identities;
use headway_lab::{RunOutput, Scenario};
use headway_network::Ideals;
use headway_sim::{
    Entity, Fault, FaultSpec, FlowSpec, FlowState, LinkChoice, Metric, Network, Outcome, RunSpec,
};
use headway_units::Time;

/// A run and everything that is known of it.
pub struct Run<'a> {
    /// What was asked for.
    pub scenario: &'a Scenario,
    /// What the simulator got.
    pub spec: RunSpec,
    /// The network of it.
    pub network: Network,
    /// What came out.
    pub outcome: Outcome,
    /// What of it is written.
    pub output: RunOutput,
    /// Bytes of memory that were said.
    pub said: u64,
    /// Most bytes of the heap; 0 where nobody counted.
    pub peak: u64,
    /// What came out when the same was run once more.
    pub again: Option<Outcome>,
}

impl Run<'_> {
    /// Whether links get another rate during the run.
    pub fn changes_rates(&self) -> bool {
        self.spec.faults.iter().any(|f| matches!(f.what, Fault::Change(change) if change.rate.is_some()))
    }

    /// Whether links go down: flows may get another path, and the packet that is cut off counts whole.
    pub fn goes_down(&self) -> bool {
        self.spec.faults.iter().any(|f| matches!(f.what, Fault::Down(_)))
    }

    /// Whether links get another rate or another delay.
    fn changes_links(&self) -> bool {
        self.spec.faults.iter().any(|f| matches!(f.what, Fault::Change(_)))
    }
}

/// One thing that must hold.
#[derive(Clone, Copy)]
pub struct Invariant {
    /// In a few words.
    pub name: &'static str,
    /// What was found instead, where it does not hold.
    pub holds: fn(&Run<'_>) -> Result<(), String>,
}

/// All of them.
pub const ALL: &[Invariant] = &[
    Invariant { name: "the same order of events twice", holds: repeats },
    Invariant { name: "every flow whose path lives finishes", holds: finishes },
    Invariant { name: "bytes are exact", holds: bytes },
    Invariant { name: "no flow is faster than its ideal", holds: ideal },
    Invariant { name: "no link is above its rate", holds: rate },
    Invariant { name: "what docs/results.md adds up does", holds: identities::hold },
    Invariant { name: "no packet comes from nowhere", holds: switches },
    Invariant { name: "samples add up", holds: samples },
    Invariant { name: "memory is within the estimate", holds: memory },
];

fn check(holds: bool, found: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(found()) }
}

fn repeats(run: &Run<'_>) -> Result<(), String> {
    let Some(again) = &run.again else { return Err("the second run did not start".into()) };
    let (a, b) = (&run.outcome, again);
    check(a.digest == b.digest, || format!("digest {:016x}, then {:016x}", a.digest, b.digest))?;
    check(a == b, || "the same digest with another outcome".into())
}

/// Whether anything may keep a flow from finishing that is no fault of its transport.
fn may_stay(run: &Run<'_>, flow: &FlowSpec) -> bool {
    let stopped = run.outcome.end >= run.spec.stop && (run.spec.stop < SAFETY || is_slow(run, flow));
    stopped || is_starved(run, flow) || cut_off(run, flow)
}

/// Whether a hundred seconds are few for it: paths may have round trips of seconds, or rates of a megabit a second.
fn is_slow(run: &Run<'_>, flow: &FlowSpec) -> bool {
    let ideal = run.network.ideal_fct(flow.src, flow.dst, flow.bytes);
    SAFETY.saturating_sub(flow.start) < ideal.saturating_mul(20)
}

/// Whether it, or another flow to its receiver, never answers: what that receiver has permitted is gone for ever, and
/// an algorithm that bounds what it permits may have nothing left, as ProactMP's has.
fn is_starved(run: &Run<'_>, flow: &FlowSpec) -> bool {
    run.spec.flows.iter().any(|other| !other.responsive && other.dst == flow.dst)
}

/// When a run ends that the scenario lets go on.
const SAFETY: Time = Time::s(100);

/// Whether a link that its packets or their answers may take is dark for ever, or something is down for ever.
fn cut_off(run: &Run<'_>, flow: &FlowSpec) -> bool {
    let for_ever = |f: &FaultSpec| matches!(&f.what, Fault::Down(down) if down.until == Time::MAX);
    if run.spec.faults.iter().any(for_ever) {
        return true;
    }
    let names = run.network.link_names();
    let dark = run.spec.faults.iter().filter(|f| matches!(f.what, Fault::Dark { until: Time::MAX, .. }));
    let mut on = dark.map(|f| &f.links).peekable();
    if on.peek().is_none() {
        return false;
    }
    let there = run.network.links_any(flow.src, flow.dst);
    let back = run.network.links_any(flow.dst, flow.src);
    let mut taken = there.iter().chain(&back).map(|n| &names[*n as usize]);
    on.any(|links| match links {
        LinkChoice::None => false,
        LinkChoice::All => true,
        LinkChoice::Some(list) => taken.any(|name| list.contains(name)),
    })
}

fn finishes(run: &Run<'_>) -> Result<(), String> {
    for (number, (flow, record)) in run.spec.flows.iter().zip(&run.outcome.flows).enumerate() {
        if record.state == FlowState::Done || may_stay(run, flow) {
            continue;
        }
        return Err(format!(
            "flow {number} from h{} to h{} has {} of {} B at {} ({:?}, {} events)",
            flow.src,
            flow.dst,
            record.delivered,
            flow.bytes,
            run.outcome.end,
            record.state,
            run.outcome.events
        ));
    }
    Ok(())
}

fn bytes(run: &Run<'_>) -> Result<(), String> {
    for (number, (flow, record)) in run.spec.flows.iter().zip(&run.outcome.flows).enumerate() {
        let done = record.state == FlowState::Done;
        let right = if done { record.delivered == flow.bytes } else { record.delivered <= flow.bytes };
        check(right, || {
            format!("flow {number} ({:?}) has {} of {} B", record.state, record.delivered, flow.bytes)
        })?;
        check(record.finish.is_some() == done, || {
            format!("flow {number} is {:?} with {:?}", record.state, record.finish)
        })?;
        let in_time = record.finish.is_none_or(|at| at >= flow.start && at <= run.outcome.end);
        check(in_time, || {
            format!("flow {number} ended at {:?}, the run at {}", record.finish, run.outcome.end)
        })?;
    }
    Ok(())
}

fn ideal(run: &Run<'_>) -> Result<(), String> {
    if run.changes_links() || run.network.has_uneven_paths() && run.goes_down() {
        return Ok(());
    }
    let ideals = Ideals::new(&run.network, &run.spec);
    for (number, (flow, record)) in run.spec.flows.iter().zip(&run.outcome.flows).enumerate() {
        let Some(finish) = record.finish else { continue };
        let least = if ideals.takes_several(flow) {
            at_least(run, flow)
        } else {
            record.ideal.saturating_sub(head_start(run, flow))
        };
        let took = finish - flow.start;
        check(took >= least, || format!("flow {number} took {took}, and cannot in less than {least}"))?;
    }
    Ok(())
}

/// What a sender gains that lets its short last packet go first, as Homa's does: the path's slowest link begins earlier.
fn head_start(run: &Run<'_>, flow: &FlowSpec) -> Time {
    let sizes = run.network.sizes();
    let last = match sizes.packets(flow.bytes) {
        1 => return Time::ZERO,
        packets => sizes.data_wire(sizes.payload_of(flow.bytes, packets - 1)),
    };
    let gain = |number: &u32| {
        let rate = run.network.links()[*number as usize].spec.rate;
        rate.time_of(sizes.full_wire().into()) - rate.time_of(last.into())
    };
    let links = run.network.links_any(flow.src, flow.dst);
    links.iter().map(gain).fold(Time::ZERO, Time::saturating_add)
}

/// Several paths may carry more together than the fastest of them, but all leave by one link and arrive by one.
fn at_least(run: &Run<'_>, flow: &FlowSpec) -> Time {
    let sizes = run.network.sizes();
    let packets = sizes.packets(flow.bytes);
    let last = u64::from(sizes.data_wire(sizes.payload_of(flow.bytes, packets - 1)));
    let wire = u64::from(sizes.full_wire()) * (packets - 1) + last;
    let ends = [flow.src, flow.dst].map(|host| run.network.links()[host as usize]);
    let through = ends.iter().map(|link| link.spec.rate.time_of(wire)).max().unwrap_or(Time::ZERO);
    through + ends[0].spec.delay
}

fn rate(run: &Run<'_>) -> Result<(), String> {
    let end = run.outcome.end;
    for link in &run.outcome.links {
        let (counters, name) = (&link.counters, &link.name);
        check(link.busy <= end, || format!("{name} was busy for {} of {end}", link.busy))?;
        let needed = link.rate.time_of(counters.wire_bytes);
        check(run.changes_rates() || run.goes_down() || needed <= counters.busy, || {
            format!("{name}: {} B take {needed}, and it was busy for {}", counters.wire_bytes, counters.busy)
        })?;
        let unsent = counters.busy - link.busy;
        check(unsent <= link.rate.time_of(u64::from(u16::MAX)), || format!("{name}: {unsent} on the wire"))?;
        check(counters.payload_bytes <= counters.wire_bytes, || {
            format!("{name}: {} B of payload in {} B", counters.payload_bytes, counters.wire_bytes)
        })?;
    }
    Ok(())
}

/// What arrives at a switch is what was sent to it: doubled, lost and returned packets are counted, and the rest is
/// on the way.
fn switches(run: &Run<'_>) -> Result<(), String> {
    let (hosts, links) = (run.network.hosts(), run.network.links());
    let records = &run.outcome.links;
    for switch in hosts..hosts + run.network.switches() {
        let sum = |of: &dyn Fn(usize) -> u64, at: &dyn Fn(usize) -> bool| -> u64 {
            (0..links.len()).filter(|n| at(*n)).map(of).sum()
        };
        let (into, out) = (|n: usize| links[n].to == switch, |n: usize| links[n].from == switch);
        let sent = sum(&|n| records[n].counters.dequeued + records[n].faults.duplicated, &into);
        let lost = sum(&|n| records[n].faults.dropped(), &into);
        let offered = sum(&|n| records[n].counters.received, &out);
        let again = sum(&|n| records[n].counters.returned, &out);
        check(offered + lost <= sent + again, || {
            let name = run.network.node_name(switch);
            format!(
                "{name} was sent {sent} packets, {lost} of them lost; its ports received {offered}, {again} again"
            )
        })?;
    }
    Ok(())
}

fn samples(run: &Run<'_>) -> Result<(), String> {
    let mut last = Time::ZERO;
    for sample in &run.outcome.samples {
        check(sample.at >= last, || format!("a sample at {} after one at {last}", sample.at))?;
        last = sample.at;
        check(sample.value.is_finite() && sample.value >= 0.0, || format!("{sample:?}"))?;
        if let (Metric::Utilisation, Entity::Link(number)) = (sample.metric, sample.entity) {
            let name = &run.outcome.links[number as usize].name;
            check(sample.value <= 1.0, || format!("{name} was {} of an interval busy", sample.value))?;
        }
    }
    Ok(())
}

/// The estimate is of a process: the heap, and what every run takes. It may be too low by half.
fn memory(run: &Run<'_>) -> Result<(), String> {
    let taken = run.peak + headway_sim::BASE;
    check(run.peak == 0 || taken as f64 <= WITHIN * run.said as f64, || {
        format!("a peak of {} B beside the program, {} B were said of both", run.peak, run.said)
    })
}

/// By how much an estimate of memory may be too low.
const WITHIN: f64 = 1.5;
