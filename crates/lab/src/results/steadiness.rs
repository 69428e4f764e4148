//! Checks that messages that arrive at random met a network in a steady state.

use super::measures::slowdown;
use super::open::{Found, Sample, begun, took};
use crate::scenario::run_length::RunLength;
use crate::scenario::{Resolved, Setup};
use headway_network::{FlowRecord, Network, Outcome};
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
    pub(super) halves: Option<(Found, Found)>,
    /// Growth of the bytes of unfinished messages in the second half, over the bytes that arrive in it.
    pub(super) growth: Option<f64>,
}

/// One message that arrived at random and began.
type Began<'a> = (Time, u64, &'a FlowRecord);

impl Arrivals {
    /// Nothing where no messages arrive at random.
    pub(super) fn of(
        resolved: &Resolved,
        setup: &Setup,
        network: Option<&Network>,
        outcome: &Outcome,
    ) -> Option<Arrivals> {
        let is_random = |entry: &crate::traffic::Entry| entry.pattern.random_arrivals().is_some();
        let random: Vec<bool> = setup.traffic.iter().map(is_random).collect();
        if !random.contains(&true) {
            return None;
        }
        let flows = resolved.entries.iter().zip(resolved.spec.flows.iter().zip(&outcome.flows));
        let flows = flows.filter(|(entry, _)| random[**entry]);
        let began = flows.filter_map(|(_, (flow, record))| Some((begun(record)?, flow.bytes, record)));
        let mut began: Vec<Began<'_>> = began.collect();
        began.sort_by_key(|(start, ..)| *start);
        let first = began.partition_point(|(start, ..)| *start < setup.warmup);
        let middle = first + (began.len() - first) / 2;
        Some(Arrivals {
            length: network.and_then(|network| setup.run_length_in(network)),
            halves: mean_slowdown(&began[first..middle], outcome.end)
                .zip(mean_slowdown(&began[middle..], outcome.end)),
            // Enough messages for two halves.
            growth: if began.len() - first < 2 * LEAST { None } else { growth(&began, middle) },
        })
    }
}

/// Their mean slowdown; nothing where too few count.
fn mean_slowdown(part: &[Began<'_>], end: Time) -> Option<Found> {
    // Those that began in the warm-up are no part of either half.
    let counted = |(.., record): &Began<'_>| slowdown(record, took(record, Time::ZERO, end)?);
    let slowdowns = Sample::of(part.iter().filter_map(counted));
    if slowdowns.counts().0 < LEAST { None } else { slowdowns.mean() }
}

/// The backlog at the start of the last message less that at the start of the `middle` one, over the bytes that arrive in
/// between. A message counts with all of its bytes from its start until it is whole.
fn growth(began: &[Began<'_>], middle: usize) -> Option<f64> {
    let (from, to) = (began[middle].0, began.last()?.0);
    let until = |at: Time| &began[..began.partition_point(|(start, ..)| *start <= at)];
    let bytes = |part: &[Began<'_>]| part.iter().map(|(_, bytes, _)| *bytes as f64).sum::<f64>();
    let backlog = |at: Time| {
        let open = until(at).iter().filter(|(.., record)| record.finish.is_none_or(|done| done > at));
        open.map(|(_, bytes, _)| *bytes as f64).sum::<f64>()
    };
    let offered = bytes(&began[until(from).len()..]);
    (offered > 0.0).then(|| (backlog(to) - backlog(from)) / offered)
}
