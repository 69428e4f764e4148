//! Common part of packet scripts: one host with its peers, and the steps that drive its machine.

#![allow(dead_code, reason = "each script uses what it needs")]

use headway_packet::{HostId, Packet, Sizes};
use headway_transport::endpoint::{Checked, Path};
use headway_transport::{Endpoint, EndpointEvent, HostContext, InitialWindow, Message};
use headway_units::{Rate, Time};

pub(crate) const HERE: HostId = HostId(0);
pub(crate) const PEER: HostId = HostId(1);
pub(crate) const OTHER: HostId = HostId(2);
pub(crate) const FULL: u64 = 1460;

pub(crate) fn us(n: u64) -> Time {
    Time::us(n)
}

/// A host at 10 Gb/s whose paths are all alike.
pub(crate) fn host_context(base_rtt: Time, max_rtt: Time, paths: u32) -> HostContext {
    let path = move |_| Path {
        longest_timeout: Time::MAX,
        base_rtt,
        max_rtt,
        bottleneck: Rate::gbps(10),
        paths,
        hops: 1,
    };
    HostContext { host: HERE, nic: Rate::gbps(10), sizes: Sizes::default(), seed: 0, path: Box::new(path) }
}

/// The first message of this host to `PEER`.
pub(crate) fn message_of(packets: u64) -> Message {
    Message {
        id: 0,
        dst: PEER,
        bytes: packets * FULL,
        class: 0,
        deadline: None,
        initial_window: InitialWindow::default(),
        responsive: true,
        entropy: 9,
        tag: 77,
    }
}

/// A machine, and the words for its outputs.
pub(crate) trait Steps {
    /// Type of the machine under test.
    type Machine: Endpoint;
    /// Deadlines in a row that are taken for a hang.
    const WAKES: u32 = 10_000;

    fn checked_machine(&mut self) -> &mut Checked<Self::Machine>;

    /// A packet in words.
    fn packet_words(packet: &Packet) -> String;

    /// The application's event in words, if the script mentions it.
    fn event_words(event: &EndpointEvent) -> Option<String> {
        Some(match event {
            EndpointEvent::Delivered { bytes, .. } => format!("delivered {bytes}"),
            EndpointEvent::Completed { .. } => "completed".into(),
            EndpointEvent::Acknowledged { .. } => "acknowledged".into(),
            EndpointEvent::Failed { reason, .. } => format!("failed: {reason}"),
        })
    }

    /// Time at which a deadline is met.
    fn deadline_met(&mut self, due: Time) -> Time {
        due
    }

    /// Opens a message, and returns the packets that leave over a free wire.
    fn open_message(&mut self, now: Time, message: Message) -> Vec<String> {
        self.checked_machine().open_message(now, &message);
        assert!(self.drain_events().is_empty());
        self.sent_words(now)
    }

    /// Hands in a packet and returns the application's events; the wire stays busy.
    fn receive_busy(&mut self, now: Time, packet: Packet) -> Vec<String> {
        self.checked_machine().receive_packet(now, &packet);
        self.drain_events()
    }

    /// Hands in a packet and answers everything that comes out over a free wire.
    fn receive_and_send(&mut self, now: Time, packet: Packet) -> Vec<String> {
        let mut out = self.receive_busy(now, packet);
        out.extend(self.sent_words(now));
        out
    }

    /// Deadlines met up to `until`, with the outputs of those that had an effect.
    fn effects_until(&mut self, until: Time) -> Vec<(Time, Vec<String>)> {
        let mut out = Vec::new();
        for wakes in 0.. {
            let Some(due) = self.checked_machine().next_timeout().filter(|at| *at <= until) else { break };
            assert!(wakes < Self::WAKES, "deadlines without end before {until}");
            let at = self.deadline_met(due);
            self.checked_machine().handle_timeout(at);
            let mut effect = self.drain_events();
            effect.extend(self.sent_words(at));
            // A deadline whose reason is gone passes without effect: machines cancel lazily.
            if !effect.is_empty() {
                out.push((at, effect));
            }
        }
        out
    }

    /// One packet for a free wire.
    fn poll_packet(&mut self, now: Time) -> Option<Packet> {
        let wanted = self.checked_machine().wants_transmit();
        let packet = self.checked_machine().poll_transmit(now);
        // A driver offers the wire only to a machine that says that it wants it.
        assert!(wanted || packet.is_none(), "a packet nobody announced");
        packet
    }

    /// Packets for a wire that is free for as long as there are any.
    fn poll_packets(&mut self, now: Time) -> Vec<Packet> {
        std::iter::from_fn(|| self.poll_packet(now)).collect()
    }

    /// Packets for a wire that is free for as long as there are any, in words.
    fn sent_words(&mut self, now: Time) -> Vec<String> {
        self.poll_packets(now).iter().map(Self::packet_words).collect()
    }

    fn drain_events(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.checked_machine().poll_event())
            .filter_map(|event| Self::event_words(&event))
            .collect()
    }
}
