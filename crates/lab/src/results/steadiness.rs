//! Whether messages that arrive at random met a network in a steady state.

use super::measures::begins_after;
use super::statistics::mean;
use crate::scenario::run_length::RunLength;
use crate::scenario::{Resolved, Setup};
use headway_network::{FlowRecord, FlowState, Outcome};

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
}

impl Arrivals {
    /// Nothing where no messages arrive at random.
    pub(super) fn of(resolved: &Resolved, setup: &Setup, outcome: &Outcome) -> Option<Arrivals> {
        let is_random = |entry: &crate::traffic::Entry| entry.pattern.random_arrivals().is_some();
        let random: Vec<bool> = setup.traffic.iter().map(is_random).collect();
        random.contains(&true).then(|| Arrivals {
            length: setup.run_length(),
            halves: halves(&random, resolved, setup, outcome),
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
