//! Invariants of every run, of any scenario.

use crate::run::Run;
use crate::{ends, finish, identities, links};
use headway_fabric::DropReason;
use headway_network::{BASE, Ideals};
use headway_network::{Entity, Fault, FaultSpec, FlowSpec, FlowState, Forwarding, Metric};
use headway_units::Time;

/// One thing that must hold.
#[derive(Clone, Copy)]
pub struct Invariant {
    /// Name in a few words.
    pub name: &'static str,
    /// Returns the observation instead, where it does not hold.
    pub holds: fn(&Run<'_>) -> Result<(), String>,
}

/// All of them.
pub const ALL: &[Invariant] = &[
    Invariant { name: "the same events twice, on any number of threads", holds: repeats },
    Invariant { name: "every flow whose path lives finishes", holds: finish::hold },
    Invariant { name: "bytes are exact", holds: bytes },
    Invariant { name: "no flow is faster than its ideal", holds: ideal },
    Invariant { name: "no link is above its rate", holds: rate },
    Invariant { name: "what docs/results.md adds up does", holds: identities::hold },
    Invariant { name: "no packet comes from nowhere", holds: switches },
    Invariant { name: "lossless switches lose nothing, and pauses take turns", holds: lossless },
    Invariant { name: "an earlier end makes no number look better", holds: ends::hold },
    Invariant { name: "samples add up", holds: samples },
    Invariant { name: "times by cause add up", holds: causes },
    Invariant { name: "no more memory is taken than was said", holds: enough },
    Invariant { name: "not much more memory is said than is taken", holds: sharp },
];

fn check(holds: bool, found: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(found()) }
}

fn repeats(run: &Run<'_>) -> Result<(), String> {
    let Some((threads, again)) = &run.again else { return Err("the second run did not start".into()) };
    let (a, b) = (&run.outcome, again);
    // First, because it tells another order of events from other numbers for the same one.
    check(a.digest == b.digest, || {
        format!("digest {:016x}, then {:016x} on {threads} threads", a.digest, b.digest)
    })?;
    check(a == b, || format!("the same digest with another outcome on {threads} threads"))
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
        let in_time = record
            .finish
            .is_none_or(|at| record.start.is_some_and(|start| at >= start) && at <= run.outcome.end);
        check(in_time, || {
            format!("flow {number} ended at {:?}, the run at {}", record.finish, run.outcome.end)
        })?;
    }
    Ok(())
}

fn ideal(run: &Run<'_>) -> Result<(), String> {
    // If links go down, packets may take another way, which matters where ways differ as written or by a fault.
    let differ = run.network.has_uneven_paths() || links::differ(&run.network, &run.extremes);
    let diverted = differ && run.extremes.iter().any(|link| link.downs > 0);
    let addressed = run.network.address(&run.spec);
    let mut ideals = Ideals::new(&run.network, &addressed);
    for (number, (flow, record)) in addressed.flows.iter().zip(&run.outcome.flows).enumerate() {
        let Some(took) = record.fct() else { continue };
        // Several paths may carry more together than one, but all leave by one link and arrive by one.
        let least = match ideals.path(number).filter(|_| !diverted) {
            Some(path) => floor(run, flow, &path, &path),
            None => floor(run, flow, &[flow.src, last_link(run, flow)], &[flow.src]) / ports(run, flow),
        };
        check(took >= least, || format!("flow {number} took {took}, and cannot in less than {least}"))?;
    }
    Ok(())
}

/// Ports by which the packets of a flow may leave and arrive at once.
fn ports(run: &Run<'_>, flow: &FlowSpec) -> u64 {
    let ways = |from, to| run.network.ways(from, to).len() as u64;
    ways(flow.src, flow.dst).min(ways(flow.dst, flow.src)).max(1)
}

/// The link by which everything for a host arrives.
fn last_link(run: &Run<'_>, flow: &FlowSpec) -> u32 {
    let last = run.network.links().iter().position(|link| link.to == flow.dst);
    last.map_or(flow.src, |number| number as u32)
}

/// Lower bound of a flow's time for any order of its packets: some packet reaches each of these links, all cross it,
/// and the last of them goes on to the end. A flow has one packet that may be short, so it is not both the first and
/// the last of several.
fn floor(run: &Run<'_>, flow: &FlowSpec, links: &[u32], delays: &[u32]) -> Time {
    let sizes = run.network.sizes();
    let packets = sizes.packets_of(flow.bytes);
    let last = u64::from(sizes.data_wire(sizes.payload_of(flow.bytes, packets - 1)));
    let first = if packets == 1 { last } else { u64::from(sizes.full_wire()) };
    let rate = |number: &u32| run.extremes[*number as usize].rate;
    let sum = |times: &mut dyn Iterator<Item = Time>| times.fold(Time::ZERO, Time::saturating_add);
    let times = |links: &[u32], bytes: u64| sum(&mut links.iter().map(|n| rate(n).time_of(bytes)));
    let through = (0..links.len()).map(|at| {
        let (before, after, rate) = (&links[..at], &links[at + 1..], rate(&links[at]));
        let work = (rate.time_of(first) * (packets - 1)).saturating_add(rate.time_of(last));
        // A switch that cuts through sends a packet on when it has seen the header; the last bit may then be as good as
        // there.
        let (first, last, after) = match run.spec.fabric.forwarding {
            Forwarding::StoreAndForward => (first, last, after),
            Forwarding::CutThrough => (sizes.head_bytes(first), sizes.head_bytes(last), &links[..0]),
        };
        let short_last = times(before, first).saturating_add(times(after, last));
        let short_first = times(before, last).saturating_add(times(after, first));
        work.saturating_add(short_last.min(short_first))
    });
    let waits = sum(&mut delays.iter().map(|n| run.extremes[*n as usize].delay));
    through.max().unwrap_or(Time::ZERO).saturating_add(waits)
}

fn rate(run: &Run<'_>) -> Result<(), String> {
    let end = run.outcome.end;
    // Longer than any packet: parameters may make credits longer than data.
    let largest = u64::from(u16::MAX);
    for (link, extremes) in run.outcome.links.iter().zip(&run.extremes) {
        let (counters, name) = (&link.counters, &link.name);
        check(link.busy <= end, || format!("{name} was busy for {} of {end}", link.busy))?;
        // A packet that a link cut off as it went down counts whole.
        let sent = counters.wire_bytes.saturating_sub(extremes.downs * largest);
        let needed = extremes.rate.time_of(sent);
        check(needed <= counters.busy, || {
            format!("{name}: {sent} B take {needed}, and it was busy for {}", counters.busy)
        })?;
        // Counters have all of a packet from its first bit on; at the end of a run it may still be on the wire.
        let unsent = counters.busy - link.busy;
        check(unsent <= extremes.lowest.time_of(largest), || format!("{name}: {unsent} on the wire"))?;
        check(counters.payload_bytes <= counters.wire_bytes, || {
            format!("{name}: {} B of payload in {} B", counters.payload_bytes, counters.wire_bytes)
        })?;
    }
    Ok(())
}

/// Packets that arrive at a switch are those that were sent to it: doubled, lost and returned packets are counted, and
/// the rest is on the way.
fn switches(run: &Run<'_>) -> Result<(), String> {
    let (hosts, links) = (run.network.interfaces(), run.network.links());
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

/// With the headroom that follows from links and packets, no switch is without room. Packets that a fault doubles or
/// delays come on top. A pause that came over a link which goes down is void, and nothing else ends it.
fn lossless(run: &Run<'_>) -> Result<(), String> {
    let Some(pfc) = &run.spec.fabric.pfc else { return Ok(()) };
    let late = |fault: &FaultSpec| matches!(fault.what, Fault::Random { duplicate, reorder, .. } if duplicate > 0.0 || reorder > 0.0);
    let right = pfc.headroom == 0 && pfc.headroom_less == 0 && !run.spec.faults.iter().any(late);
    let links = run.network.links();
    for (link, place) in run.outcome.links.iter().zip(links) {
        let (name, pauses) = (&link.name, &link.pauses);
        let ways_back = links.iter().zip(&run.extremes);
        let voids: u64 = ways_back
            .filter(|(other, _)| (other.from, other.to) == (place.to, place.from))
            .map(|(_, extremes)| extremes.downs)
            .sum();
        let dropped = link.counters.dropped[DropReason::HeadroomFull as usize];
        check(dropped == 0 || !right, || format!("{name} dropped {dropped} packets for want of headroom"))?;
        // More resumes than pauses are wrong as well.
        let open = pauses.received.checked_sub(pauses.resumes_received);
        // Each class may be stopped at the end, and once more for each time that the way back went down.
        check(open.is_some_and(|open| open <= pfc.classes * (1 + voids)), || format!("{name}: {pauses:?}"))?;
        check(pauses.stopped <= run.outcome.end, || format!("{name} was stopped for {}", pauses.stopped))?;
    }
    Ok(())
}

/// Every flow that is done has its time by cause, and the parts are its completion time.
fn causes(run: &Run<'_>) -> Result<(), String> {
    let asked = run.spec.sample.as_ref().is_some_and(|sample| sample.causes);
    for (number, record) in run.outcome.flows.iter().enumerate() {
        let told = run.outcome.by_cause(number);
        check(told.map(|told| told.sum()) == record.fct().filter(|_| asked), || {
            format!("flow {number} took {:?}, by cause {told:?}", record.fct())
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

/// The estimate is of a process: the heap, and what every run takes.
fn enough(run: &Run<'_>) -> Result<(), String> {
    check((run.peak + BASE) as f64 <= WITHIN * run.said as f64, || {
        format!(
            "a peak of {} B without the program itself, and an estimate of {} B for both",
            run.peak, run.said
        )
    })
}

/// Forecasts of samples assume that every flow lasts for the whole run: here they count as many as there were. If flows
/// never began, because others did not end, less was needed than was forecast.
fn sharp(run: &Run<'_>) -> Result<(), String> {
    if run.outcome.flows.iter().any(|record| record.state == FlowState::Pending) {
        return Ok(());
    }
    let samples = run.outcome.samples.len() as u64 * headway_network::PER_SAMPLE;
    let said = run.said.saturating_sub(run.said_samples.saturating_sub(samples));
    // 0 in programs whose allocator does not count.
    check(run.peak == 0 || said as f64 <= WITHIN * (run.peak + BASE) as f64, || {
        format!("a peak of {} B without the program itself, and an estimate of {said} B for both", run.peak)
    })
}

/// Factor by which an estimate of memory may be too low, or too high.
const WITHIN: f64 = 1.5;
