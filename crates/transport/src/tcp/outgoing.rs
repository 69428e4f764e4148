//! A message sent over one connection: its packets, and the times at which they may leave.

use super::connection::{Connection, Pick, SenderState};
use super::control::Flow;
use super::control::erased::Controllers;
use super::input::Heard;
use super::packets::{Ack, Data};
use super::params::ConnectionParams;
use crate::endpoint::HostContext;
use crate::first_window::FirstWindowSchedule;
use crate::message::Message;
use headway_packet::{Ecn, Packet, PacketFlags, TypedView};
use headway_units::Time;

/// A message being sent.
pub(super) struct Outgoing {
    pub(super) message: Message,
    packets: u32,
    pub(super) connection: Connection,
    /// First packet that the receiver does not take yet.
    edge: u32,
    initial_window: Option<FirstWindowSchedule>,
    /// Packets of the first window whose time has come.
    released: u32,
    /// Earliest time of the next packet, and the last such instant for which a timer is armed.
    pace: Time,
    pub(super) pace_armed: Time,
    /// True if it waits for the wire.
    pub(super) queued: bool,
}

/// Answer of a message to a free wire.
pub(super) enum Poll {
    Send(Packet),
    /// Nothing before this instant.
    Later(Time),
    Nothing,
}

impl Outgoing {
    pub(super) fn new(
        controllers: &Controllers,
        context: &HostContext,
        now: Time,
        message: &Message,
    ) -> Self {
        let flow = Flow::from_message(message, context, now, &controllers.connection);
        Outgoing {
            message: *message,
            packets: flow.packets,
            connection: Connection::new(controllers, &flow),
            edge: controllers.connection.initial_edge(),
            initial_window: None,
            released: 0,
            pace: now,
            pace_armed: Time::MAX,
            queued: false,
        }
    }

    /// Data may flow from now on: opens the first window.
    pub(super) fn open_first_window(&mut self, controllers: &Controllers, context: &HostContext, now: Time) {
        let (initial_window, settled) = first_window(controllers, &self.message, context, self.packets, now);
        self.connection.establish(initial_window.window_packets(), settled);
        self.initial_window = Some(initial_window);
        // The sender calls `release_first_window` again for the time of the rest.
        self.release_first_window(now);
    }

    /// Releases the packets of the first window whose time has come; returns the time of the next release.
    pub(super) fn release_first_window(&mut self, now: Time) -> Option<Time> {
        let initial_window = self.initial_window.as_mut()?;
        self.released += initial_window.take_released(now).1;
        initial_window.next()
    }

    /// True if there is a packet never sent that everything but the window permits.
    #[inline]
    fn has_data(&self) -> bool {
        let (next, Some(initial_window)) = (self.connection.board.next(), &self.initial_window) else {
            return false;
        };
        // An unresponsive application stalls after its first window. AMRT §VIII-D
        let end = if self.message.responsive { self.packets } else { initial_window.window_packets() };
        // Once the whole first window is out, the congestion window alone decides.
        let released = initial_window.next().is_none() || next < self.released;
        next < end && next < self.edge && released
    }

    #[inline]
    pub(super) fn pick_packet(&mut self) -> Option<Pick> {
        let has_data = self.has_data();
        self.connection.pick_packet(has_data)
    }

    /// The next packet, for a wire that is free now.
    pub(super) fn poll_packet(&mut self, context: &HostContext, now: Time) -> Poll {
        let Some(pick) = self.pick_packet() else { return Poll::Nothing };
        if let Some(gap) = self.connection.control.packet_gap() {
            if now < self.pace {
                return Poll::Later(self.pace);
            }
            // From the actual departure: time lost in waiting for the wire is not made up for by a burst.
            self.pace = now.saturating_add(gap);
        }
        let index = self.connection.record_departure(now, pick);
        // Packets that the receive window holds back count as data: the sender does not lack it.
        let more = self.connection.board.next() < self.packets;
        self.connection.account_usage(now, more);
        Poll::Send(self.make_data(context, index, pick != Pick::New, now))
    }

    #[inline]
    fn make_data(&self, context: &HostContext, index: u32, again: bool, now: Time) -> Packet {
        let first_window = self.initial_window.as_ref().map_or(1, FirstWindowSchedule::window_packets);
        let packet = context.data_packet(&self.message, index, first_window);
        let mut packet = Data { left: now, ..Data::from_packet(&packet) }.put_on(packet);
        packet.ecn = if self.connection.marks { Ecn::Ect } else { Ecn::NotEct };
        packet.flags = PacketFlags::only_if(again, PacketFlags::AGAIN);
        packet
    }

    /// Takes in an acknowledgement. Returns true if everything is acknowledged.
    #[inline]
    pub(super) fn process_ack(&mut self, now: Time, packet: &Packet) -> bool {
        match self.connection.process_ack(now, packet, self.packets, &[]) {
            Heard::Stray => false,
            Heard::All => true,
            Heard::Some => {
                let Ack { arrived, window, .. } = Ack::from_packet(packet);
                // An acknowledgement that was overtaken must not move the edge back.
                self.edge = self.edge.max(arrived.saturating_add(window));
                false
            }
        }
    }

    /// The retransmission timer has expired. Returns true if it was the SYN that was lost.
    pub(super) fn timed_out(&mut self, now: Time) -> bool {
        self.connection.timed_out(now);
        // A repetition does not wait for the pace.
        self.pace = now;
        self.connection.state == SenderState::Connecting
    }
}

/// The first window of a message, and whether it begins past slow start.
pub(crate) fn first_window(
    controllers: &Controllers,
    message: &Message,
    context: &HostContext,
    packets: u32,
    now: Time,
) -> (FirstWindowSchedule, bool) {
    let path = (context.path)(message.dst);
    let shared = message.initial_window.share > 1;
    let window = match shared {
        // One of several that share the path already, past slow start.
        true => context.bdp_packets(&path, &message.initial_window),
        false => controllers.initial_window(),
    };
    let slot = context.sizes.slot_time(path.bottleneck);
    (FirstWindowSchedule::new(message.initial_window, window, packets, slot, now), shared)
}

impl Flow {
    /// Properties of a message opened now, for its controller.
    pub(crate) fn from_message(
        message: &Message,
        context: &HostContext,
        now: Time,
        params: &ConnectionParams,
    ) -> Flow {
        Flow {
            start: now,
            bytes: message.bytes,
            packets: context.sizes.packets_of(message.bytes) as u32,
            payload: context.sizes.payload,
            deadline: message.deadline,
            rtt: params.prime_rtt.then(|| (context.path)(message.dst).base_rtt),
            entropy: message.entropy,
            path: (context.path)(message.dst),
        }
    }
}
