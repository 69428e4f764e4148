//! A message sent over several subflows: its data sequence, and which subflow carries what.
//!
//! The order of choice: a subflow repeats its lost packets itself, since its sequence space has to be complete;
//! then packets that a subflow that timed out has handed over; then new packets; and where the receive window keeps
//! these back, the packet that the receiver waits for.

use super::packets::Ack;
use super::params::{MultipathParams, Scheduler};
use super::subflow::{Subflow, SubflowEvent, SubflowState};
use crate::endpoint::HostContext;
use crate::first_window::FirstWindowSchedule;
use crate::message::Message;
use crate::tcp::connection::Connection;
use crate::tcp::control::erased::Controllers;
use crate::tcp::control::{Flow, Phase, Sibling};
use crate::tcp::outgoing::first_window;
use headway_packet::{Packet, PacketFlags, TypedView};
use headway_units::Time;
use std::collections::{BTreeMap, BTreeSet};

/// Window of a subflow up to which a packet that it holds may be repeated by others.
// Both numbers are the out-of-tree implementation's (`mptcp_rcv_buf_optimization`).
const SMALL: f64 = 4.0;

/// Smallest ratio of its round trip to the other's, for the same.
const SLOW: f64 = 4.0;

/// A message being sent.
pub(super) struct Outgoing {
    pub(super) message: Message,
    packets: u32,
    rules: MultipathParams,
    coupled: bool,
    pub(super) subflows: Vec<Subflow>,
    /// The controllers' view of each subflow, if they are coupled.
    views: Vec<Sibling>,
    initial_window: Option<FirstWindowSchedule>,
    /// Packets of the first window whose time has come.
    released: u32,
    /// First packet never sent; first one that the receiver has not; first one that it does not take yet.
    next: u32,
    una: u32,
    edge: u32,
    /// Packets that wait to be sent by another subflow than theirs.
    handed_over: BTreeSet<u32>,
    /// Subflows that have carried a packet, a bit each, where that is more than one or not for it to keep.
    carried: BTreeMap<u32, u32>,
    /// The subflow that was last given a packet.
    turn: usize,
    /// True if it waits for the wire.
    pub(super) queued: bool,
}

/// Packet that a subflow is to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// This sequence number again.
    Repeat(u32),
    /// The next packet never sent.
    New,
    /// A packet that another subflow has carried.
    Reinject(u32),
}

impl Outgoing {
    pub(super) fn new(
        rules: &MultipathParams,
        controllers: &Controllers,
        context: &HostContext,
        now: Time,
        message: &Message,
    ) -> Self {
        let mut fresh = Outgoing {
            message: *message,
            packets: context.sizes.packets_of(message.bytes) as u32,
            rules: rules.clone(),
            coupled: controllers.rules.coupled,
            subflows: Vec::new(),
            views: Vec::new(),
            initial_window: None,
            released: 0,
            next: 0,
            una: 0,
            edge: controllers.connection.initial_edge(),
            handed_over: BTreeSet::new(),
            carried: BTreeMap::new(),
            turn: 0,
            queued: false,
        };
        fresh.add_subflow(controllers, context, now);
        fresh
    }

    /// Adds a subflow, which is not established yet.
    fn add_subflow(&mut self, controllers: &Controllers, context: &HostContext, now: Time) {
        let path = (context.path)(self.message.dst);
        let number = self.subflows.len() as u32;
        let entropy = self.rules.path_manager.subflow_entropy(self.message.entropy, number, &path);
        let mut flow = Flow::from_message(&self.message, context, now, &controllers.connection);
        flow.entropy = entropy;
        let connection = Connection::new(controllers, &flow);
        self.subflows.push(Subflow::new(connection, entropy));
        self.views.push(self.subflows[number as usize].sibling_view());
    }

    /// Opens the subflows that the message is still allowed, now that data has been acknowledged. Answers those
    /// that begin with a handshake; the others may be used at once.
    pub(super) fn join_subflows(
        &mut self,
        controllers: &Controllers,
        context: &HostContext,
        now: Time,
    ) -> std::ops::Range<usize> {
        let first = self.subflows.len();
        let path = (context.path)(self.message.dst);
        let wanted = self.rules.path_manager.subflow_count(self.rules.subflows as u32, &path) as usize;
        if self.una == 0 || first >= wanted {
            return first..first;
        }
        for number in first..wanted {
            self.add_subflow(controllers, context, now);
            if controllers.connection.handshake {
                self.subflows[number].state.step(SubflowEvent::Allowed);
            } else {
                self.establish_subflow(number, controllers, context, now);
            }
        }
        if controllers.connection.handshake { first..wanted } else { wanted..wanted }
    }

    /// Data may flow on a subflow.
    fn establish_subflow(
        &mut self,
        number: usize,
        controllers: &Controllers,
        context: &HostContext,
        now: Time,
    ) {
        let (initial_window, settled) = match self.initial_window {
            Some(initial_window) => (initial_window, false),
            None => first_window(controllers, &self.message, context, self.packets, now),
        };
        // A subflow that joins begins as the first one did, but for a share of its path, which is not known.
        self.subflows[number].open_window(initial_window.window_packets(), settled);
        self.views[number] = self.subflows[number].sibling_view();
        if self.initial_window.is_none() {
            self.initial_window = Some(initial_window);
            self.release_first_window(now);
        }
    }

    /// The first subflow needs no handshake, or has had it.
    pub(super) fn begin_first(&mut self, controllers: &Controllers, context: &HostContext, now: Time) {
        self.establish_subflow(0, controllers, context, now);
    }

    /// Releases the packets of the first window whose time has come; returns the time of the next release.
    pub(super) fn release_first_window(&mut self, now: Time) -> Option<Time> {
        let initial_window = self.initial_window.as_mut()?;
        self.released += initial_window.take_released(now).1;
        initial_window.next()
    }

    /// End of the packets that the application has given so far.
    fn given_end(&self) -> u32 {
        let Some(initial_window) = &self.initial_window else { return 0 };
        let most = if self.message.responsive { self.packets } else { initial_window.window_packets() };
        if initial_window.next().is_some() { most.min(self.released) } else { most }
    }

    /// The subflow that gets the next packet, among those that are free and `may` have it.
    fn schedule_subflow(&self, may: impl Fn(usize) -> bool) -> Option<usize> {
        let count = self.subflows.len();
        let free = |&number: &usize| self.subflows[number].is_free() && may(number);
        match self.rules.scheduler {
            // From the subflow after the last one on; the last one comes last.
            Scheduler::RoundRobin => (1..=count).map(|step| (self.turn + step) % count).find(free),
            Scheduler::MinRtt => {
                // `None` is less than any time: a subflow without a round trip is tried first.
                (0..count)
                    .filter(free)
                    .min_by_key(|&number| self.subflows[number].connection.rtt.smoothed_rtt())
            }
        }
    }

    /// The packet that leaves next, and its subflow.
    pub(super) fn choose_task(&mut self) -> Option<(usize, Task)> {
        let lost =
            |(number, subflow): (usize, &mut Subflow)| Some((number, Task::Repeat(subflow.pick_lost()?)));
        if let Some(found) = self.subflows.iter_mut().enumerate().find_map(lost) {
            return Some(found);
        }
        if let Some(found) = self.pick_reinjection() {
            return Some(found);
        }
        let end = self.given_end();
        if self.next < end && self.next < self.edge {
            return self.schedule_subflow(|_| true).map(|number| (number, Task::New));
        }
        if self.next < end
            && let Some(found) = self.pick_rescue()
        {
            return Some(found);
        }
        let hole =
            |(number, subflow): (usize, &mut Subflow)| Some((number, Task::Repeat(subflow.pick_hole()?)));
        self.subflows.iter_mut().enumerate().find_map(hole)
    }

    fn has_carried(&self, index: u32, number: usize) -> bool {
        self.carried.get(&index).is_some_and(|bits| bits >> number & 1 == 1)
    }

    /// The first packet that was handed over, for a subflow that has not carried it; once all have, for any.
    fn pick_reinjection(&mut self) -> Option<(usize, Task)> {
        let index = *self.handed_over.first()?;
        let tried = |(number, subflow): (usize, &Subflow)| {
            !subflow.is_established() || self.has_carried(index, number)
        };
        // All subflows have carried it, and none got it through: any of them may try again.
        if self.subflows.iter().enumerate().all(tried) {
            self.carried.remove(&index);
        }
        let number = self.schedule_subflow(|number| !self.has_carried(index, number))?;
        Some((number, Task::Reinject(index)))
    }

    /// The receive window keeps new packets back: the packet that the receiver waits for, for a subflow that is
    /// free, if the one that has it is hardly moving.
    fn pick_rescue(&self) -> Option<(usize, Task)> {
        let (holder, free) = self.blocked_pair()?;
        let [slow, fast] = [holder, free].map(|number| &self.subflows[number].connection);
        let [theirs, ours] = [slow, fast].map(|connection| connection.rtt.smoothed_rtt());
        let slower = theirs?.as_secs_f64() > SLOW * ours?.as_secs_f64();
        let moves = slow.window.cwnd > SMALL && !slower;
        // Once by each subflow, which `has_carried` checks.
        (!moves && !self.has_carried(self.una, free)).then_some((free, Task::Reinject(self.una)))
    }

    /// If the receive window keeps new packets back: the subflow with the packet that the receiver waits for, and one
    /// that could send.
    fn blocked_pair(&self) -> Option<(usize, usize)> {
        let full = self.next < self.given_end() && self.next >= self.edge;
        if !full || !self.rules.opportunistic || self.subflows.len() < 2 {
            return None;
        }
        let holder = self.subflows.iter().position(|subflow| subflow.holds_packet(self.una))?;
        Some((holder, self.schedule_subflow(|number| number != holder)?))
    }

    /// Halves the window of a slow subflow that holds up the others, once a round trip of the faster.
    pub(super) fn penalise_holder(&mut self, now: Time) {
        let Some((holder, free)) = self.blocked_pair() else { return };
        let [theirs, ours] = [holder, free].map(|number| self.subflows[number].connection.rtt.smoothed_rtt());
        let due = self.subflows[free].penalised.is_none_or(|at| Some(now.saturating_sub(at)) >= ours);
        // A window that losses or marks hold down already is left alone.
        if theirs > ours && due && self.subflows[holder].connection.phase() == Phase::Open {
            self.subflows[holder].halve_window();
            self.subflows[free].penalised = Some(now);
            // Coupled controllers of the other subflows must see the halved window.
            self.views[holder] = self.subflows[holder].sibling_view();
        }
    }

    /// The next packet, for a wire that is free now, and the subflow it leaves on.
    pub(super) fn poll_packet(&mut self, context: &HostContext, now: Time) -> Option<(usize, Packet)> {
        let (number, task) = self.choose_task()?;
        let subflow = &mut self.subflows[number];
        let (index, sequence) = match task {
            Task::Repeat(sequence) => (subflow.repeat_sequence(now, sequence), sequence),
            Task::New => (self.next, subflow.carry_packet(now, self.next)),
            Task::Reinject(index) => (index, subflow.carry_packet(now, index)),
        };
        match task {
            Task::Repeat(_) => {}
            Task::New => self.next += 1,
            Task::Reinject(_) => {
                self.handed_over.remove(&index);
                *self.carried.entry(index).or_default() |= 1 << number;
            }
        }
        self.turn = number;
        let more = self.next < self.packets;
        let subflow = &mut self.subflows[number];
        subflow.connection.account_usage(now, more);
        let first_window = self.initial_window.as_ref().map_or(1, FirstWindowSchedule::window_packets);
        let packet = context.data_packet(&self.message, index, first_window);
        let mut packet = subflow.sign_packet(packet, number as u32, sequence, now);
        // A packet that another subflow carried first counts as repeated, too.
        packet.flags = PacketFlags::only_if(task != Task::New, PacketFlags::AGAIN);
        Some((number, packet))
    }

    /// Takes in the part of an acknowledgement about the message. Returns true if all of it has arrived, or nothing
    /// if it is of packets never sent.
    pub(super) fn advance_message(&mut self, ack: &Packet) -> Option<bool> {
        let data_ack = Ack::from_packet(ack).data_ack;
        if data_ack > self.next {
            return None;
        }
        // TCP's field for its window carries the receive window of the whole message.
        let window = crate::tcp::packets::Ack::from_packet(&ack.in_subflow()).window;
        // An acknowledgement that was overtaken must not move the edge back.
        self.edge = self.edge.max(data_ack.saturating_add(window));
        if data_ack > self.una {
            self.una = data_ack;
            // Arrived packets need not be sent by another subflow any more.
            self.handed_over = self.handed_over.split_off(&self.una);
            self.carried = self.carried.split_off(&self.una);
        }
        Some(self.una == self.packets)
    }

    /// Takes in the part of an acknowledgement about its subflow.
    pub(super) fn acknowledge_subflow(&mut self, number: usize, now: Time, ack: &Packet) {
        let subflow = &mut self.subflows[number];
        if !self.coupled {
            return subflow.process_ack(now, ack, &[]);
        }
        // For this call only: `sibling_view` clears it.
        self.views[number].own = true;
        subflow.process_ack(now, ack, &self.views);
        self.views[number] = subflow.sibling_view();
    }

    /// A packet of a handshake is answered. Returns true if there is another to send.
    pub(super) fn process_answer(
        &mut self,
        number: usize,
        controllers: &Controllers,
        context: &HostContext,
        (now, ack): (Time, &Packet),
    ) -> bool {
        let subflow = &mut self.subflows[number];
        if !subflow.process_answer(now, ack) {
            return false;
        }
        if subflow.state == SubflowState::Joining {
            subflow.state.step(SubflowEvent::Answered);
            return true;
        }
        subflow.state.step(SubflowEvent::Answered);
        self.establish_subflow(number, controllers, context, now);
        false
    }

    /// A subflow's retransmission timer has expired. Returns true if it was in a handshake.
    pub(super) fn timed_out(&mut self, number: usize, now: Time) -> bool {
        let alone = self.subflows.len() == 1;
        let subflow = &mut self.subflows[number];
        let connecting = subflow.is_connecting();
        subflow.connection.timed_out(now);
        if connecting {
            return true;
        }
        subflow.state.step(SubflowEvent::TimedOut);
        // A single subflow repeats its packets itself.
        if !alone {
            for index in subflow.hand_over(self.una) {
                self.handed_over.insert(index);
                *self.carried.entry(index).or_default() |= 1 << number;
            }
        }
        self.views[number] = self.subflows[number].sibling_view();
        false
    }

    /// The message is over.
    pub(super) fn close_subflows(&mut self) {
        self.subflows.iter_mut().for_each(|subflow| subflow.state.step(SubflowEvent::Over));
    }
}
