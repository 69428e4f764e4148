//! State of a graph's flows and steps during the run.
//!
//! Shards share it. In a run of several shards whatever concerns one node happens at one host, so that each number here
//! belongs to one shard; numbers of several nodes are read together only while all shards rest.

use headway_network::{Graph, StepRecord};
use headway_units::Time;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Placeholder for a time that has not come.
const NEVER: u64 = u64::MAX;

/// See the module.
pub(crate) struct Waiting {
    pub(crate) graph: Arc<Graph>,
    /// Number of things that still have to be over before each node begins.
    left: Box<[AtomicU32]>,
    /// Time at which each node began, the waiting of a flow for its own `start` included.
    began: Box<[AtomicU64]>,
    /// Time at which each step was over.
    over: Box<[AtomicU64]>,
}

impl Waiting {
    pub(crate) fn new(graph: &Arc<Graph>, flows: usize) -> Waiting {
        let nodes = flows + graph.steps().len();
        let never = |count: usize| (0..count).map(|_| AtomicU64::new(NEVER)).collect();
        Waiting {
            left: (0..nodes as u32).map(|node| AtomicU32::new(graph.needs(node))).collect(),
            began: never(nodes),
            over: never(graph.steps().len()),
            graph: Arc::clone(graph),
        }
    }

    /// True if a flow waits for anything. Flows that are added during the run are not in the graph.
    pub(crate) fn holds(&self, flow: u32) -> bool {
        // Steps are numbered after all flows of the graph.
        flow < self.graph.of_step(0) && self.graph.waits(flow) > 0
    }

    /// Counts down what a node waits for. `true` if this was the last; `false` if more is left, or the node has begun already.
    pub(crate) fn one_less(&self, node: u32) -> bool {
        let left = &self.left[node as usize];
        // A node that has begun needs nothing more: zero stays zero.
        let Some(now) = left.load(Relaxed).checked_sub(1) else { return false };
        left.store(now, Relaxed);
        now == 0
    }

    pub(crate) fn begin(&self, node: u32, now: Time) {
        self.began[node as usize].store(now.0, Relaxed);
    }

    /// Time at which a node began, if it has.
    pub(crate) fn began(&self, node: u32) -> Option<Time> {
        Some(Time(self.began[node as usize].load(Relaxed))).filter(|at| at.0 != NEVER)
    }

    pub(crate) fn end_step(&self, step: u32, now: Time) {
        self.over[step as usize].store(now.0, Relaxed);
    }

    /// Number of steps that are over.
    pub(crate) fn steps_over(&self) -> u64 {
        self.over.iter().filter(|at| at.load(Relaxed) != NEVER).count() as u64
    }

    /// True if a step goes on, or a flow that waits for nothing more is to begin at a time.
    pub(crate) fn is_under_way(&self) -> bool {
        let ready = |node: u32| self.left[node as usize].load(Relaxed) == 0;
        let first = self.graph.of_step(0);
        let flow = |node: u32| self.holds(node) && ready(node) && self.began(node).is_none();
        let step = |step: usize| ready(first + step as u32) && self.over[step].load(Relaxed) == NEVER;
        (0..first).any(flow) || (0..self.over.len()).any(step)
    }

    /// Records of all steps by the end of the run. One that waited for its processor then has not begun.
    pub(crate) fn records(&self, end: Time) -> Vec<StepRecord> {
        let over = |step: usize| Some(Time(self.over[step].load(Relaxed))).filter(|at| at.0 != NEVER);
        let one = |step: u32| StepRecord {
            start: self.began(self.graph.of_step(step)).filter(|at| *at <= end),
            finish: over(step as usize),
        };
        (0..self.graph.steps().len() as u32).map(one).collect()
    }
}
