//! Rules for the flows that have to finish.

use crate::run::Run;
use crate::simulate::{Bounds, simulate};
use headway_fabric::registry;
use headway_network::{
    Ending, Fault, FlowRecord, FlowSpec, FlowState, LinkChoice, Outcome, RunSpec, TransportSpec,
};
use headway_transport::registry as transports;
use headway_units::Time;
use std::cell::LazyCell;

/// True if anything other than its transport's fault may keep a flow from finishing; `flooded` returns [`floods`],
/// which is the same for all flows of a run.
fn may_stay(run: &Run<'_>, flow: &FlowSpec, flooded: &dyn Fn() -> bool) -> bool {
    let stopped = run.outcome.end >= run.spec.stop;
    let fabric = &run.spec.fabric;
    let headers_first = registry::headers_starve_data(&fabric.discipline, &fabric.params)
        || fabric.at.iter().any(|at| registry::headers_starve_data(&at.discipline, &at.params));
    // Pauses that wait for each other are not a transport's fault.
    stopped
        || run.outcome.deadlock.is_some()
        || is_starved(run, flow)
        || cut_off(run, flow)
        || headers_first
        // Last, because it looks at every flow of the run.
        || flooded()
}

/// True if transports do not slow down to a link that drops what does not fit, with as many flows as may meet there and
/// have not finished: buffers stay full for as long as they send, and their repetitions find no room again and again.
/// `headway run` warns where one flow is enough.
fn floods(run: &Run<'_>) -> bool {
    let least = |transport: &TransportSpec| {
        transports::least_rate(&transport.name, &transport.params).map_or(0, |rate| rate.bps())
    };
    let least: Vec<u64> = run.spec.transports.iter().map(least).collect();
    // Lossless switches pause their senders instead.
    if run.spec.fabric.pfc.is_some() || least.iter().all(|rate| *rate == 0) {
        return false;
    }
    let mut sent = vec![0u64; run.network.links().len()];
    let flows = run.spec.flows.iter().zip(&run.outcome.flows);
    for ((flow, record), &(src, dst)) in flows.zip(&run.ends) {
        if record.state != FlowState::Unfinished {
            continue;
        }
        for link in run.network.links_any(src, dst) {
            let rate = &mut sent[link as usize];
            *rate = rate.saturating_add(least[usize::from(flow.transport)]);
        }
    }
    run.network.links().iter().zip(sent).any(|(link, sent)| sent > link.spec.rate.bps())
}

/// True if a run has good reasons to go on until it is stopped: flows that keep trying the impossible.
pub(crate) fn may_go_on(run: &Run<'_>) -> bool {
    let waits = |record: &FlowRecord| record.state == FlowState::Pending && run.spec.graph.is_some();
    let over = |record: &FlowRecord| matches!(record.state, FlowState::Done | FlowState::Stopped);
    let flooded = LazyCell::new(|| floods(run));
    let mut flows = run.spec.flows.iter().zip(&run.outcome.flows);
    flows.all(|(flow, record)| over(record) || waits(record) || may_stay(run, flow, &|| *flooded))
}

/// True if it, or another flow to its receiver, never answers, or is cut off: the permissions of that receiver are lost
/// for ever, and an algorithm that bounds what it permits may have nothing left, as ProactMP's has.
fn is_starved(run: &Run<'_>, flow: &FlowSpec) -> bool {
    let gone = |other: &FlowSpec| !other.responsive || cut_off(run, other);
    run.spec.flows.iter().any(|other| other.dst == flow.dst && gone(other))
}

/// True if a link that its packets or their answers may take loses every packet for ever, or is down for ever. A flow
/// that meets no such link has to finish, whatever is dead elsewhere.
fn cut_off(run: &Run<'_>, flow: &FlowSpec) -> bool {
    let names = run.network.link_names();
    let blackholes =
        run.spec.faults.iter().filter(|f| matches!(f.what, Fault::Blackhole { until: Time::MAX, .. }));
    let dark = |name: &String| {
        blackholes.clone().any(|fault| match &fault.links {
            LinkChoice::None => false,
            LinkChoice::All => true,
            LinkChoice::Some(list) => list.contains(name),
        })
    };
    // Of all interfaces that it may take.
    let pairs = run.network.pairs(flow.src, flow.dst);
    let ways = pairs.iter().flat_map(|(src, dst)| [(*src, *dst), (*dst, *src)]);
    let mut taken = ways.flat_map(|(from, to)| run.network.links_any(from, to)).map(|number| number as usize);
    taken.any(|number| run.extremes[number].dead || dark(&names[number]))
}

/// True if any flow began and did not end.
fn has_open(run: &Run<'_>) -> bool {
    run.outcome.flows.iter().any(|record| matches!(record.state, FlowState::Unfinished | FlowState::Failed))
}

pub(crate) fn hold(run: &Run<'_>) -> Result<(), String> {
    let (mut later, flooded) = (None, LazyCell::new(|| floods(run)));
    for (number, (flow, record)) in run.spec.flows.iter().zip(&run.outcome.flows).enumerate() {
        // One that the scenario stops need not finish, and is not open for longer.
        if matches!(record.state, FlowState::Done | FlowState::Stopped) || may_stay(run, flow, &|| *flooded) {
            continue;
        }
        // One that waits for others never begins if they do not end; these are judged by themselves.
        if record.state == FlowState::Pending && run.spec.graph.is_some() && has_open(run) {
            continue;
        }
        if run.outcome.ending == Ending::NoProgress {
            // Packets that were lost again and again may arrive in a run that waits for longer.
            // Time-outs that double get about four more.
            let longer = || {
                simulate(&RunSpec { stop: run.outcome.end * 16, ..run.spec.clone() }, 1, Bounds::default())
                    .ok()
            };
            let outcome: &Option<Outcome> = later.get_or_insert_with(longer);
            if outcome.as_ref().is_some_and(|outcome| outcome.flows[number].state == FlowState::Done) {
                continue;
            }
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
