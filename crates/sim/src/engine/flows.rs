//! Beginning and end of flows, and what machines report about them.

use super::{Engine, Stop};
use crate::links::{FLOW_START, GIVEN_UP, STOPPED};
use crate::progressing::UNOPENED;
use crate::rank;
use headway_network::{Cause, FlowSpec, FlowState, Until};
use headway_packet::HostId;
use headway_transport::{End, Endpoint, EndpointEvent, Message};
use std::sync::atomic::Ordering::Relaxed;

impl Engine<'_> {
    #[inline]
    pub(super) fn note(&mut self, event: EndpointEvent) {
        match event {
            EndpointEvent::Delivered { tag, bytes, .. } => {
                let all = self.flows[tag as usize].deliver(bytes);
                if let Some(deliveries) = &mut self.deliveries {
                    deliveries.add(tag, bytes);
                }
                if let Some(nearness) = &mut self.nearness
                    && all + nearness.within >= self.spec.flows[tag as usize].bytes
                {
                    self.comes_near(tag);
                }
            }
            EndpointEvent::Completed { tag, .. } => {
                if self.ports.links.attribution.is_some() {
                    self.attribute(tag);
                }
                if !self.waits_to_be_handed_out(tag) {
                    self.finish_flow(tag);
                }
            }
            EndpointEvent::Failed { tag, .. } => {
                // A flow that was stopped fails at its sender as it was asked to.
                let over = self.flow(tag).stop.is_some_and(|stop| stop <= self.now);
                if !over && !self.is_handing_out(tag) {
                    self.give_up(tag);
                }
            }
            EndpointEvent::Acknowledged { tag } => {
                self.flows[tag as usize].know(self.now);
                self.over(Cause::Flow(tag, Until::Known));
                if self.spec.until == Until::Known && self.flows[tag as usize].state() == FlowState::Done {
                    self.end_flow(tag);
                }
            }
        }
    }

    /// All bytes of a flow are there: the packet that was delivered and released just now is the last of them.
    #[cold]
    #[inline(never)]
    fn attribute(&mut self, tag: u32) {
        let dst = self.flow(tag).dst;
        let links = &mut self.ports.links;
        let Some(attribution) = &mut links.attribution else { return };
        if let Some((handle, packet)) = links.pool.latest()
            && packet.tag == tag
            && packet.dst.0 == dst
        {
            attribution.complete(tag, handle);
        }
    }

    /// A flow may end within a window from now on.
    #[cold]
    #[inline(never)]
    fn comes_near(&mut self, tag: u32) {
        if let Some(nearness) = &mut self.nearness
            && self.spec.flows[tag as usize].responsive
            && self.flows[tag as usize].comes_near()
        {
            nearness.came += 1;
        }
    }

    pub(super) fn finish_flow(&mut self, tag: u32) {
        if !self.flows[tag as usize].finish(self.now) {
            return;
        }
        // The acknowledgement may be there already, while the receiver's processor still handed the message out.
        if self.spec.until == Until::Received || self.flows[tag as usize].known().is_some() {
            self.end_flow(tag);
        }
        self.over(Cause::Flow(tag, Until::Received));
    }

    pub(super) fn end_flow(&mut self, tag: u32) {
        // A flow ends once, whichever of completion, stop and failure comes first.
        if !self.flows[tag as usize].count() {
            return;
        }
        self.done += 1;
        let responsive = u64::from(self.flow(tag).responsive);
        self.ended += responsive;
        self.open -= responsive;
    }

    /// A sender gives a message up. Its run goes on for a while: a failure comes without notice, and other shards may
    /// be ahead.
    #[cold]
    #[inline(never)]
    fn give_up(&mut self, tag: u32) {
        if self.flows[tag as usize].give_up() {
            self.comes_near(tag);
            let what = GIVEN_UP | self.flow(tag).src;
            let at = self.now.saturating_add(self.patience);
            self.ports.links.queue.push(at.0, rank::of_work(what), what, tag);
        }
    }

    pub(super) fn schedule_next_flow(&mut self) {
        if let Some(&flow) = self.order.get(self.next_flow) {
            let FlowSpec { start, src, .. } = self.spec.flows[flow as usize];
            self.ports.links.queue.push(start.0, rank::of_start(src), FLOW_START | src, 0);
        }
    }

    /// Starts the flows of one host that start now.
    pub(super) fn start_flows(&mut self) {
        let Some(&first) = self.order.get(self.next_flow) else { return };
        // One event for each host, since the rank of a start is its host's.
        let src = self.spec.flows[first as usize].src;
        while let Some(&number) = self.order.get(self.next_flow) {
            let flow = &self.spec.flows[number as usize];
            if flow.start > self.now || flow.src != src {
                break;
            }
            self.next_flow += 1;
            self.begin_flow(number);
        }
        self.schedule_next_flow();
    }

    pub(super) fn begin_flow(&mut self, number: u32) {
        self.flows[number as usize].begin();
        if !self.waits_to_open(number) {
            self.open_message(number);
        }
    }

    pub(super) fn schedule_next_stop(&mut self) {
        if let Some(&Stop { at, host, .. }) = self.stops.0.get(self.stops.1) {
            self.ports.links.queue.push(at.0, rank::of_work(STOPPED | host), STOPPED | host, 0);
        }
    }

    /// Flows of one host are over that are over now.
    #[cold]
    #[inline(never)]
    pub(super) fn stop_flows(&mut self) {
        let Some(&Stop { host, .. }) = self.stops.0.get(self.stops.1) else { return };
        while let Some(&stop) = self.stops.0.get(self.stops.1).filter(|s| s.at <= self.now && s.host == host)
        {
            self.stops.1 += 1;
            let flow = &self.spec.flows[stop.flow as usize];
            let sends = flow.src == host;
            let peer = HostId(if sends { flow.dst } else { flow.src });
            // The receiver's end says what became of it: there bytes arrive.
            // Not if all bytes are there and only the processor has to hand them out: then it completes.
            if !sends && !self.is_handing_out(stop.flow) && self.flows[stop.flow as usize].stop() {
                self.comes_near(stop.flow);
                self.end_flow(stop.flow);
                self.over(Cause::Flow(stop.flow, Until::Received));
            }
            if sends && self.flows[stop.flow as usize].known().is_none() {
                self.over(Cause::Flow(stop.flow, Until::Known));
            }
            let message = self.numbers[stop.flow as usize].load(Relaxed);
            if message != UNOPENED {
                let end = End { sends, peer, message, tag: stop.flow };
                self.hosts[host as usize].endpoint.abandon_message(self.now, end);
                self.settle(host);
            }
        }
        self.schedule_next_stop();
    }

    /// Hands a flow's message to its machine.
    pub(super) fn open_message(&mut self, number: u32) {
        let flow = *self.flow(number);
        let message = self.message(number, &flow);
        if flow.stop.is_some_and(|stop| stop <= self.now) {
            // It was over before the processor of its host had time for it.
            return;
        }
        if self.ports.links.attribution.is_some() {
            self.open_account(number);
        }
        self.hosts[flow.src as usize].endpoint.open_message(self.now, &message);
        self.settle(flow.src);
    }

    /// Records the time of a flow by cause from now on.
    #[cold]
    #[inline(never)]
    fn open_account(&mut self, number: u32) {
        let flow = *self.flow(number);
        let waited = self.waiting.as_ref().filter(|waiting| waiting.holds(number));
        let start = waited.map_or(Some(flow.start), |waiting| waiting.began(number)).unwrap_or(self.now);
        if flow.src >= self.ports.pulled {
            self.ports.catch_up(flow.src, self.now);
        }
        if let Some(attribution) = &mut self.ports.links.attribution {
            attribution.open(number, flow.src, start, self.now);
        }
    }

    fn message(&mut self, number: u32, flow: &FlowSpec) -> Message {
        let next = self.message_numbers.entry((flow.src, flow.dst, flow.transport)).or_insert(0);
        let id = *next;
        *next += 1;
        let mut message = flow.message(id, number, self.network.entropy(self.spec.seed, number, flow));
        message.deadline = self.deadline(number);
        if let Some(known) = self.numbers.get(number as usize) {
            known.store(id, Relaxed);
        }
        if flow.connection.is_some_and(|carrier| !self.is_connected(carrier)) {
            message.initial_window.connected = false;
            self.unconnected += 1;
        }
        message
    }

    /// True if the connection of a flow is open at both ends: data has arrived over it.
    fn is_connected(&self, flow: u32) -> bool {
        let flow = &self.flows[flow as usize];
        match flow.state() {
            FlowState::Done => true,
            FlowState::Unfinished | FlowState::Stopped => flow.delivered() > 0,
            FlowState::Pending | FlowState::Failed => false,
        }
    }
}
