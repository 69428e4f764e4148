//! Flows that wait for others, and the steps between them.
//!
//! A run without a graph executes none of this. An event of the kind of a flow's start has the number of a node in place of
//! a packet, one higher: the start of a flow, or the end of a step.

use super::Engine;
use crate::links::FLOW_START;
use crate::rank;
use crate::waiting::Waiting;
use headway_network::{Cause, Gap, GraphStep, Node};
use headway_units::Time;
use std::sync::Arc;

/// The number of an interface of a host in one direction, beyond those of processors.
fn interface(gap: Gap) -> u32 {
    u32::from(u16::MAX) + 1 + u32::from(gap.sends)
}

impl Engine<'_> {
    /// Steps that wait for nothing begin with the run: those of this shard.
    pub(super) fn begin_steps(&mut self, steps: &[u32]) {
        let Some(waiting) = self.waiting.clone() else { return };
        for &step in steps {
            let node = waiting.graph.of_step(step);
            let one = waiting.graph.steps()[step as usize];
            let end = self.begin_step(&waiting, node, one);
            self.schedule_node(one.host, node, end);
        }
    }

    /// A step begins, now or when its processor and its interface are free. Returns its end.
    fn begin_step(&mut self, waiting: &Waiting, node: u32, step: GraphStep) -> Time {
        let (by_processor, by_interface) = (step.processor.map(u32::from), step.gap.map(interface));
        let free = |key: Option<u32>| key.and_then(|key| self.processors.get(&(step.host, key))).copied();
        // `None`, a resource that was never used, is less than any time.
        let waits = free(by_processor).max(free(by_interface)).unwrap_or(Time::ZERO);
        let begin = self.now.max(waits);
        let end = begin.saturating_add(step.takes);
        // A processor is free when the step ends, an interface after its gap.
        if let Some(processor) = by_processor {
            self.processors.insert((step.host, processor), end);
        }
        if let (Some(key), Some(gap)) = (by_interface, step.gap) {
            self.processors.insert((step.host, key), begin.saturating_add(gap.lasts));
        }
        waiting.begin(node, begin);
        end
    }

    fn schedule_node(&mut self, host: Option<u32>, node: u32, at: Time) {
        let what = FLOW_START | host.unwrap_or(0);
        self.ports.links.queue.push(at.0, rank::of_node(node.into()), what, node + 1);
    }

    /// Number of flows and steps of the run's graph.
    pub(super) fn nodes(&self) -> u32 {
        self.waiting.as_ref().map_or(0, |waiting| waiting.graph.nodes())
    }

    /// Something is over that others may wait for.
    #[inline]
    pub(super) fn over(&mut self, cause: Cause) {
        if self.tells {
            self.tell(cause);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell(&mut self, cause: Cause) {
        self.note_over(cause);
        self.release(cause);
    }

    fn release(&mut self, cause: Cause) {
        let Some(waiting) = self.waiting.clone() else { return };
        let graph = Arc::clone(&waiting.graph);
        let mut causes = vec![cause];
        // Steps that take no time end at once, and may release others: a loop instead of recursion, whose
        // depth is that of the graph.
        while let Some(cause) = causes.pop() {
            for &number in graph.after(cause).iter().filter(|node| waiting.one_less(**node)) {
                match graph.node(number) {
                    Node::Flow(flow) => {
                        let flow = &self.spec.flows[flow as usize];
                        let at = self.now.saturating_add(flow.start);
                        self.schedule_node(Some(flow.src), number, at);
                    }
                    Node::Step(step) => {
                        let one = graph.steps()[step as usize];
                        let end = self.begin_step(&waiting, number, one);
                        // Without an event of its own, which would make a chain of such steps cost one event each.
                        if end == self.now {
                            waiting.end_step(step, self.now);
                            self.end_step();
                            causes.push(Cause::Step(step));
                        } else {
                            self.schedule_node(one.host, number, end);
                        }
                    }
                }
            }
        }
    }

    /// The start of a flow that waited, or the end of a step.
    #[cold]
    #[inline(never)]
    pub(super) fn node(&mut self, number: u32) {
        if let Some(place) = number.checked_sub(self.nodes()) {
            return self.begin_given(place);
        }
        let Some(waiting) = self.waiting.clone() else { return };
        match waiting.graph.node(number) {
            Node::Flow(flow) => {
                waiting.begin(number, self.now);
                self.released += u64::from(self.spec.flows[flow as usize].responsive);
                self.begin_flow(flow);
            }
            Node::Step(step) => {
                waiting.end_step(step, self.now);
                self.end_step();
                self.release(Cause::Step(step));
            }
        }
    }

    /// Counts a step as over: the run waits for steps as it does for flows.
    pub(super) fn end_step(&mut self) {
        self.ended += 1;
        self.open -= 1;
    }

    /// The deadline of a flow, as a time since the start of the run: that of one that waited counts from its start.
    pub(super) fn deadline(&self, number: u32) -> Option<Time> {
        let flow = self.flow(number);
        let waited = self.waiting.as_ref().filter(|waiting| waiting.holds(number));
        match waited.and_then(|waiting| waiting.began(number)) {
            Some(began) => {
                // The deadline in the specification counts from the planned start.
                flow.deadline.map(|deadline| began.saturating_add(deadline.saturating_sub(flow.start)))
            }
            None => flow.deadline,
        }
    }
}
