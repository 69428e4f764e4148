//! Flows that a source gives while the run goes on, and the times that it waits for.
//!
//! Only a run of one shard has them, and a run without a source executes none of this. They begin by events of the same
//! kind as flows that waited for others (see [`super::graph`]), numbered after the nodes of the run's graph.

use super::Engine;
use crate::check::check_flow;
use crate::links::FLOW_START;
use crate::progressing::Progressing;
use crate::rank;
use headway_network::{Ask, Cause, FlowSpec, FlowState, Happening, Pairs, RunError, Source, Until};
use headway_units::Time;
use rustc_hash::FxHashSet;
use slab::Slab;
use std::sync::Arc;

/// Flows that there is room for when the first is given.
const FIRST_ROOM: usize = 1 << 10;

/// See the module.
#[derive(Default)]
pub(crate) struct Given {
    /// Flows so far, numbered after those of the specification.
    pub(crate) flows: Vec<FlowSpec>,
    /// The interfaces that they take.
    pairs: Pairs,
    /// Ends that have not been reported yet.
    heard: Vec<Happening>,
    /// Events to come, by the number in their event.
    due: Slab<Due>,
    /// Number of requests so far: those of one instant happen in this order.
    asked: u64,
    /// Flows that the run waits for until their senders know that they are complete.
    unknown: FxHashSet<u32>,
    /// Number of flows that the run waits for beyond those of its specification, over or not.
    pub(crate) awaited: u64,
}

/// An event to come.
enum Due {
    /// A flow begins.
    Flow(u32),
    /// A time is over, by the source's own number.
    Timer(u64),
}

impl Given {
    /// True if a flow is to begin, or a time to be over.
    pub(crate) fn is_due(&self) -> bool {
        !self.due.is_empty()
    }
}

impl Engine<'_> {
    /// Allows flows to be added from now on.
    pub(crate) fn take_flows(&mut self) {
        self.given.get_or_insert_default();
        self.tells = true;
    }

    /// A flow that was given, by its number among all.
    #[cold]
    pub(super) fn given_flow(&self, number: u32) -> &FlowSpec {
        let given = self.given.as_ref().map_or(&[][..], |given| &given.flows);
        &given[number as usize - self.spec.flows.len()]
    }

    /// Number of flows, those included that were added during the run.
    pub(crate) fn all_flows(&self) -> usize {
        self.spec.flows.len() + self.given.as_ref().map_or(0, |given| given.flows.len())
    }

    /// The run goes on although nothing is to come; with `false` no longer.
    pub(crate) fn hold(&mut self, on: bool) {
        // Counted like a flow that the run waits for, which keeps it from ending.
        let Some(given) = &mut self.given else { return };
        if on {
            given.awaited += 1;
            self.open += 1;
        } else {
            given.awaited -= 1;
            self.open -= 1;
        }
    }

    /// Reports ends to a source, and schedules its requests.
    pub(crate) fn consult(&mut self, source: &mut dyn Source) -> Result<(), RunError> {
        let Some(given) = &mut self.given else { return Ok(()) };
        let mut heard = std::mem::take(&mut given.heard);
        heard.drain(..).for_each(|happening| source.hear(self.now, happening));
        // Put back for its capacity.
        given.heard = heard;
        while let Some(ask) = source.ask() {
            self.accept(ask)?;
        }
        Ok(())
    }

    /// True if there is something that a source has not heard of.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        self.given.as_ref().is_some_and(|given| !given.heard.is_empty())
    }

    fn accept(&mut self, ask: Ask) -> Result<(), RunError> {
        match ask {
            Ask::Flow { flow, known } => {
                let number = self.add_flow(flow)?;
                let Some(given) = &mut self.given else { return Ok(()) };
                let responsive = u64::from(flow.responsive);
                let waits = responsive + u64::from(known && given.unknown.insert(number));
                given.awaited += waits;
                self.open += waits;
                let FlowSpec { start, src, .. } = *self.flow(number);
                self.schedule_given(src, start, Due::Flow(number));
            }
            Ask::Timer { after, number } => {
                if let Some(given) = &mut self.given {
                    given.awaited += 1;
                    self.open += 1;
                }
                // A timer belongs to no host; the number only fills the event's field.
                self.schedule_given(0, self.now.saturating_add(after), Due::Timer(number));
            }
        }
        Ok(())
    }

    /// Takes a flow in, and returns its number.
    fn add_flow(&mut self, flow: FlowSpec) -> Result<u32, RunError> {
        let number = self.all_flows();
        let refuse = |reason: String| RunError::Flow { flow: number, reason };
        check_flow(self.spec.transports.len(), &self.network, &flow).map_err(refuse)?;
        // Half of the numbers, since nodes of the graph share the field of an event with them.
        if number >= u32::MAX as usize / 2 {
            return Err(refuse("there are more flows than can be numbered".into()));
        }
        if flow.stop.is_some() || flow.connection.is_some() {
            return Err(refuse(
                "a flow that is given while the run goes on has no stop and no connection".into(),
            ));
        }
        // A source gives starts as times from now.
        let start = self.now.saturating_add(flow.start);
        if let Some(given) = &mut self.given {
            let network = &self.network;
            let addressed = network.address_flow(self.spec.seed, number as u32, flow, &mut given.pairs);
            given.flows.push(FlowSpec { start, ..addressed });
        }
        if number >= self.flows.len() {
            // Doubled, so that adding one flow after another takes linear time in all.
            let room = (2 * self.flows.len()).max(FIRST_ROOM);
            let more = (self.flows.len()..room).map(|_| Progressing::default());
            // A new list is possible only because such a run has one shard: others would keep the old one.
            let flows: Arc<[Progressing]> = self.flows.iter().map(Progressing::copy).chain(more).collect();
            self.flows = flows;
            if let Some(deliveries) = &mut self.deliveries {
                deliveries.grow(room);
            }
        }
        Ok(number as u32)
    }

    fn schedule_given(&mut self, host: u32, at: Time, due: Due) {
        let nodes = self.nodes();
        let Some(given) = &mut self.given else { return };
        given.asked += 1;
        let (rank, place) = (rank::of_node(u64::from(nodes) + given.asked), given.due.insert(due) as u32);
        // + 1, since 0 in place of a packet means flows that start as planned.
        self.ports.links.queue.push(at.0, rank, FLOW_START | host, nodes + place + 1);
    }

    /// A flow that was given begins, or a time is over.
    pub(super) fn begin_given(&mut self, place: u32) {
        let Some(due) = self.given.as_mut().map(|given| given.due.remove(place as usize)) else { return };
        match due {
            Due::Flow(number) => self.begin_flow(number),
            Due::Timer(number) => {
                if let Some(given) = &mut self.given {
                    given.heard.push(Happening::Timer(number));
                }
                self.end_step();
            }
        }
    }

    /// Something is over of which a source hears.
    pub(super) fn note_over(&mut self, cause: Cause) {
        let (Some(given), Cause::Flow(flow, until)) = (&mut self.given, cause) else { return };
        given.heard.push(Happening::Flow(flow, until));
        if until == Until::Known && given.unknown.remove(&flow) {
            self.end_step();
        }
    }

    /// The run no longer waits for a flow that was given up.
    pub(super) fn lost(&mut self, number: u32) {
        let Some(given) = &mut self.given else { return };
        if self.flows[number as usize].state() != FlowState::Failed {
            return;
        }
        given.heard.push(Happening::Lost(number));
        if given.unknown.remove(&number) {
            self.end_step();
        }
    }
}
