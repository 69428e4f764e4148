//! Whether messages that arrive at random met a network in a steady state.

use super::measures::begins_after;
use super::statistics::mean;
use crate::scenario::run_length::RunLength;
use crate::scenario::{Resolved, Setup};
use headway_network::{FlowRecord, FlowState, Outcome};
use headway_units::Time;

/// Fewer slowdowns in a half say nothing.
const LEAST: usize = 50;

/// Random arrivals of a run.
#[derive(Debug)]
pub struct Arrivals {
    /// Nothing where several entries load different links.
    pub(super) length: Option<RunLength>,
    /// Mean slowdowns of the messages that started in the first half of the arrivals after the warm-up, and in the
    /// second; nothing where one of the halves has too few.
    pub(super) halves: Option<(f64, f64)>,
    /// What bytes of unfinished messages grow by in the second half, over the bytes that arrive in it.
    pub(super) growth: Option<f64>,
}

impl Arrivals {
    /// Nothing where no messages arrive at random.
    pub(super) fn of(resolved: &Resolved, setup: &Setup, outcome: &Outcome) -> Option<Arrivals> {
        let is_random = |entry: &crate::traffic::Entry| entry.pattern.random_arrivals().is_some();
        let random: Vec<bool> = setup.traffic.iter().map(is_random).collect();
        random.contains(&true).then(|| Arrivals {
            length: setup.run_length(),
            halves: halves(&random, resolved, setup, outcome),
            growth: growth(&random, resolved, setup, outcome),
        })
    }
}

fn halves(random: &[bool], resolved: &Resolved, setup: &Setup, outcome: &Outcome) -> Option<(f64, f64)> {
    let flows = resolved.entries.iter().zip(&outcome.flows);
    let counts =
        |(entry, record): &(&usize, &FlowRecord)| random[**entry] && begins_after(record, setup.warmup);
    let mut arrivals: Vec<&FlowRecord> = flows.filter(counts).map(|(_, record)| record).collect();
    arrivals.sort_by_key(|record| record.start);
    let of = |part: &[&FlowRecord]| {
        let done = part.iter().filter(|record| record.state == FlowState::Done);
        let slowdowns: Vec<f64> = done.filter_map(|record| record.slowdown()).collect();
        if slowdowns.len() < LEAST { None } else { mean(&slowdowns) }
    };
    let (before, after) = arrivals.split_at(arrivals.len() / 2);
    of(before).zip(of(after))
}

/// The backlog at the start of the last message less that at the start of the middle one, of those after the warm-up, over the
/// bytes that arrive in between. A message counts with all of its bytes from its start until it is whole.
fn growth(random: &[bool], resolved: &Resolved, setup: &Setup, outcome: &Outcome) -> Option<f64> {
    let flows = resolved.entries.iter().zip(resolved.spec.flows.iter().zip(&outcome.flows));
    let flows = flows.filter(|(entry, _)| random[**entry]);
    let all: Vec<(Time, Option<Time>, u64)> =
        flows.filter_map(|(_, (flow, record))| Some((record.start?, record.finish, flow.bytes))).collect();
    let mut starts: Vec<Time> =
        all.iter().map(|(start, ..)| *start).filter(|start| *start >= setup.warmup).collect();
    starts.sort_unstable();
    let (middle, end) = (*starts.get(starts.len() / 2)?, *starts.last()?);
    let backlog = |at: Time| {
        let open =
            all.iter().filter(|(start, finish, _)| *start <= at && finish.is_none_or(|done| done > at));
        open.map(|(.., bytes)| *bytes as f64).sum::<f64>()
    };
    let arrived = all.iter().filter(|(start, ..)| middle < *start && *start <= end);
    let offered: f64 = arrived.map(|(.., bytes)| *bytes as f64).sum();
    (starts.len() >= 2 * LEAST && offered > 0.0).then(|| (backlog(end) - backlog(middle)) / offered)
}
