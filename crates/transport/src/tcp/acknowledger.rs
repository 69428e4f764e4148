//! Answers of a receiver to the sender of one sequence space: selective and delayed acknowledgements, and
//! DCTCP's echo of marks.

use super::packets::{Ack, Data};
use super::params::ConnectionParams;
use crate::arrived::Arrived;
use crate::shared::Shared;
use crate::timers::TimerKey;
use headway_packet::{Ecn, HostId, Packet, PacketFlags, TypedView};
use headway_units::Time;

crate::state_machine! {
    /// A sequence space at its receiver.
    "receiver connection" pub(crate) enum ReceiverState on ReceiverEvent {
        Current { Arrived => Owing, Last => Done }
        Owing { Arrived => Owing, Acknowledged => Current, Last => Done }
        Done {}
    }
    events { Arrived, Acknowledged, Last }
}

/// Delay after which a packet is acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckRules {
    every: u32,
    delay: Time,
    quick: u32,
    /// True if the time for which an acknowledgement is put off counts as round trip. RFC 7323 §4.3
    counts: bool,
}

impl AckRules {
    pub(crate) fn new(params: &ConnectionParams) -> AckRules {
        AckRules {
            every: params.ack_every as u32,
            delay: params.ack_delay,
            quick: params.quick_acks as u32,
            counts: true,
        }
    }

    /// The same rules, but echoes are moved on by the time for which an acknowledgement is put off.
    pub(crate) fn without_the_wait(self) -> AckRules {
        AckRules { counts: false, ..self }
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Acknowledger {
    arrived: Arrived,
    /// Distinct packets that have arrived.
    count: u32,
    /// True if the last packet was marked. RFC 8257 §3.2
    ce: bool,
    /// Packets in order that no acknowledgement has answered, the last of them, and the echo of the first.
    owed: u32,
    last: u32,
    echo: Time,
    /// Arrival time of the first of them.
    since: Time,
    /// Latest time at which the owed acknowledgement is sent, and the earliest of these that is armed.
    due: Time,
    armed: Time,
    tag: u32,
    entropy: u32,
    state: ReceiverState,
}

/// Destination of acknowledgements, and the function that completes them.
pub(crate) struct Towards<'a, K, F> {
    pub(crate) shared: &'a mut Shared<K>,
    pub(crate) peer: HostId,
    pub(crate) message: u32,
    /// The deadline of one that is put off.
    pub(crate) timer: K,
    /// Writes the fields of an acknowledgement in addition to its sequence space.
    pub(crate) complete: F,
}

/// A packet that has been taken in, and is to be answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    /// True if it arrived for the first time.
    pub(crate) first: bool,
    in_order: bool,
    changed: bool,
}

impl Acknowledger {
    /// Acknowledger for the sequence space that `packet` belongs to.
    pub(crate) fn new(packet: &Packet) -> Acknowledger {
        Acknowledger {
            arrived: Arrived::default(),
            count: 0,
            ce: false,
            owed: 0,
            last: 0,
            echo: Time::ZERO,
            since: Time::ZERO,
            due: Time::MAX,
            armed: Time::MAX,
            tag: packet.tag,
            entropy: packet.entropy,
            state: ReceiverState::Current,
        }
    }

    /// First packet that has not arrived.
    #[inline]
    pub(crate) fn next(&self) -> u32 {
        self.arrived.next()
    }

    /// Nothing more will come.
    pub(crate) fn finish_sequence(&mut self) {
        self.state.step(ReceiverEvent::Last);
    }

    /// A packet arrives, with number `sequence`. If marks began or ended with it, the packets before it are
    /// acknowledged first, so that every acknowledgement speaks of marked packets or of others. RFC 8257 §3.2
    #[inline]
    pub(crate) fn process_packet<K: TimerKey, F: Fn(&mut Packet)>(
        &mut self,
        to: &mut Towards<'_, K, F>,
        now: Time,
        (packet, sequence): (&Packet, u32),
        rules: AckRules,
    ) -> Taken {
        let ce = packet.ecn == Ecn::Ce;
        let changed = ce != self.ce;
        if changed {
            if self.owed > 0 {
                self.send_owed(to, self.owed_echo(now, rules));
            }
            self.ce = ce;
        }
        // MPTCP's data packets carry these two in the same fields as TCP's.
        let Data { index, left, .. } = Data::from_packet(packet);
        // RFC 5681 §4.2: a packet that fills part of a gap is answered at once, so it does not count as in order.
        let in_order = sequence == self.arrived.next() && !self.arrived.has_holes();
        let first = self.arrived.insert(sequence);
        self.count += u32::from(first);
        if self.owed == 0 {
            // RFC7323 §4.3: the earliest packet's time, so that a delay here counts as round trip.
            (self.echo, self.since) = (left, now);
        }
        (self.owed, self.last) = (self.owed + 1, index);
        self.state.step(ReceiverEvent::Arrived);
        Taken { first, in_order, changed }
    }

    /// Acknowledges a packet, at once if that is `urgent`.
    #[inline]
    pub(crate) fn answer_packet<K: TimerKey, F: Fn(&mut Packet)>(
        &mut self,
        to: &mut Towards<'_, K, F>,
        now: Time,
        (packet, taken): (&Packet, Taken),
        (rules, urgent): (AckRules, bool),
    ) {
        let quick = self.owed >= rules.every || self.count <= rules.quick;
        if urgent || !taken.in_order || taken.changed || quick {
            // RFC 7323 §4.3 echoes the last packet in order here. The packet's own time is echoed instead, so
            // that repetitions are measured.
            let echo =
                if taken.in_order { self.owed_echo(now, rules) } else { Data::from_packet(packet).left };
            self.send_owed(to, echo);
        } else {
            self.put_off(to, now.saturating_add(rules.delay));
        }
    }

    #[inline]
    fn put_off<K: TimerKey, F>(&mut self, to: &mut Towards<'_, K, F>, due: Time) {
        // The first owed packet sets the deadline: later ones must not put it off.
        if self.owed == 1 {
            self.due = due;
        }
        // An earlier timer that is armed comes first, and arms this one if it is still needed.
        if self.due < self.armed {
            self.armed = self.due;
            to.shared.timers.arm_deadline(self.due, to.timer);
        }
    }

    /// The deadline `at` has come: the owed acknowledgement has been put off for as long as it may.
    pub(crate) fn handle_overdue<K: TimerKey, F: Fn(&mut Packet)>(
        &mut self,
        to: &mut Towards<'_, K, F>,
        (at, now): (Time, Time),
        rules: AckRules,
    ) {
        // Deadlines are not cancelled, so one that another has replaced is ignored.
        if self.armed != at {
            return;
        }
        self.armed = Time::MAX;
        // Enough packets arrived in the meantime to answer them at once.
        if self.owed == 0 {
            return;
        }
        if self.due <= now {
            self.send_owed(to, self.owed_echo(now, rules));
        } else {
            self.put_off(to, self.due);
        }
    }

    /// Time that an acknowledgement of the owed packets echoes.
    #[inline]
    fn owed_echo(&self, now: Time, rules: AckRules) -> Time {
        if rules.counts {
            return self.echo;
        }
        self.echo.saturating_add(now.saturating_sub(self.since))
    }

    /// Acknowledges everything that has arrived.
    #[inline]
    fn send_owed<K: TimerKey, F: Fn(&mut Packet)>(&mut self, to: &mut Towards<'_, K, F>, echo: Time) {
        self.push_ack(to, self.last, echo);
        self.owed = 0;
        self.state.step(ReceiverEvent::Acknowledged);
    }

    /// Acknowledges the arrivals, owed or not.
    pub(crate) fn push_ack<K: TimerKey, F: Fn(&mut Packet)>(
        &self,
        to: &mut Towards<'_, K, F>,
        index: u32,
        echo: Time,
    ) {
        // `set_sack` fills in the blocks.
        let ack = Ack { index, arrived: self.arrived.next(), blocks: 0, block: 0, window: 0, echo };
        let mut ack = to.shared.control_view(ack, to.peer, to.message, self.tag, self.entropy);
        ack.set_sack(self.arrived.reported_blocks());
        // RFC 8257 §3.2: the packets that it answers were all marked, or none was.
        ack.flags = PacketFlags::only_if(self.ce, PacketFlags::ECE);
        (to.complete)(&mut ack);
        to.shared.control.push_back(ack);
    }
}
