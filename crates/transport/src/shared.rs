//! State that the sending and the receiving half of a machine share.

use crate::control_queue::ControlQueue;
use crate::endpoint::{EndpointEvent, FORGOTTEN, HostContext, Path};
use crate::first_window::FirstWindowSchedule;
use crate::message::{InitialWindow, Message};
use crate::timers::{TimerKey, Timers};
use headway_packet::{HostId, Packet, PacketKind, TypedView};
use headway_primitives::prefetch;
use headway_units::Time;
use std::collections::VecDeque;

/// A host's deadlines, its control packets that wait for the wire, and its events.
pub struct Shared<K> {
    /// Identity and surroundings of the host.
    pub context: HostContext,
    /// Deadlines, each with the reason for it.
    pub timers: Timers<K>,
    /// Control packets in the order of their making; the wire takes them before any data.
    pub control: ControlQueue,
    /// Events that the application has not drained yet.
    pub events: VecDeque<EndpointEvent>,
}

impl<K: TimerKey> Shared<K> {
    /// Starts with neither deadlines nor packets nor events.
    pub fn new(context: HostContext) -> Shared<K> {
        Shared {
            context,
            timers: Timers::default(),
            control: ControlQueue::default(),
            events: VecDeque::new(),
        }
    }

    /// Asks for what every input touches.
    #[inline]
    pub fn prefetch_queues(&self) {
        self.timers.prefetch_earliest();
        self.control.front().into_iter().for_each(prefetch);
    }

    /// The first control packet that waits for the wire: some protocols have a packet of data leave with control.
    pub fn pop_control(&mut self) -> Option<Packet> {
        self.control.pop_control()
    }

    /// A control packet about a message of `peer`, ready but for the fields of its kind.
    pub fn control_packet(&self, kind: PacketKind, peer: HostId, id: u32, tag: u32, entropy: u32) -> Packet {
        let mut packet = Packet::new(kind, self.context.host, peer, id);
        packet.wire = self.context.sizes.control;
        packet.tag = tag;
        packet.entropy = entropy;
        packet
    }

    /// A control packet about a message of `peer` with the fields of `view`.
    #[inline]
    pub fn control_view<V: TypedView>(
        &self,
        view: V,
        peer: HostId,
        id: u32,
        tag: u32,
        entropy: u32,
    ) -> Packet {
        view.put_on(self.control_packet(V::VIEW.kind, peer, id, tag, entropy))
    }

    /// Bytes of a message arrived here for the first time, with this packet.
    pub fn report_delivered(&mut self, packet: &Packet) {
        let Packet { tag, src, message, .. } = *packet;
        self.events.push_back(EndpointEvent::Delivered { tag, src, message, bytes: packet.payload.into() });
    }

    /// All bytes of a message have arrived here, the last of them with this packet.
    pub fn report_completed(&mut self, packet: &Packet) {
        let Packet { tag, src, message, .. } = *packet;
        self.events.push_back(EndpointEvent::Completed { tag, src, message });
    }

    /// The receiver has all of a message that was sent.
    pub fn report_acknowledged(&mut self, message: &Message) {
        self.events.push_back(EndpointEvent::Acknowledged { tag: message.tag });
    }

    /// Tells the sender of this packet that its message is complete: as it becomes so, and as often as the sender
    /// shows that it has not heard.
    pub fn say_finished(&mut self, packet: &Packet) {
        let (peer, id, tag) = (packet.src, packet.message, packet.tag);
        let done = self.control_packet(PacketKind::Finished, peer, id, tag, packet.entropy);
        self.control.push_back(done);
    }

    /// Drops the deadlines about `peer`, and the control packets that wait for it.
    pub fn forget_peer(&mut self, peer: HostId) {
        // Deadlines without a peer are about this host alone, and stay.
        self.timers.retain(|key| key.peer() != Some(peer));
        drop_to(&mut self.control, peer);
    }

    /// Fails messages whose receiver is gone, in the order of their numbers.
    pub fn fail_messages(&mut self, messages: impl Iterator<Item = Message>) {
        push_failures(&mut self.events, messages.collect());
    }
}

// Code that does not depend on the type of the timer keys is compiled once.

fn drop_to(control: &mut ControlQueue, peer: HostId) {
    control.retain(|packet| packet.dst != peer);
}

/// Drops the control packets about a message.
pub(crate) fn drop_about(control: &mut ControlQueue, tag: u32) {
    control.retain(|packet| packet.tag != tag);
}

fn push_failures(events: &mut VecDeque<EndpointEvent>, mut messages: Vec<Message>) {
    // Messages may come from a hash map, whose order must not show in a run.
    messages.sort_unstable_by_key(|message| message.id);
    let failed = |m: &Message| EndpointEvent::Failed { tag: m.tag, reason: FORGOTTEN };
    events.extend(messages.iter().map(failed));
}

impl HostContext {
    /// Packets of a first window that a parameter sets to `set`, or with 0 to a bandwidth-delay product of the pair.
    pub fn first_window(&self, set: u64, path: &Path, initial_window: &InitialWindow) -> u32 {
        if set == 0 { self.bdp_packets(path, initial_window) } else { set as u32 }
    }

    /// The first window of a message that is opened `now`: [`HostContext::first_window`] gives its packets.
    pub fn initial_window(&self, set: u64, message: &Message, now: Time) -> FirstWindowSchedule {
        let path = (self.path)(message.dst);
        let window = self.first_window(set, &path, &message.initial_window);
        // Sharers meet at the slowest link, so their packets are spaced by its slots.
        let (packets, slot) =
            (self.sizes.packets_of(message.bytes) as u32, self.sizes.slot_time(path.bottleneck));
        FirstWindowSchedule::new(message.initial_window, window, packets, slot, now)
    }

    /// Packets that fill the path in a round trip, for a first window as `initial_window` has it: at the rate of this
    /// host's link, at which it leaves, or for one of several that share the path fairly, at the path's rate,
    /// which they share.
    pub fn bdp_packets(&self, path: &Path, initial_window: &InitialWindow) -> u32 {
        let rate = if initial_window.share > 1 { path.bottleneck } else { self.nic };
        path.bdp_packets(rate, &self.sizes)
    }

    /// Packet `index` of a message whose first window has `window` packets, ready but for its authorisation,
    /// marks and flags.
    pub fn data_packet(&self, message: &Message, index: u32, window: u32) -> Packet {
        let mut packet = Packet::new(PacketKind::Data, self.host, message.dst, message.id);
        packet.index = index;
        packet.count = window;
        packet.message_bytes = message.bytes;
        packet.payload = self.sizes.payload_of(message.bytes, u64::from(index));
        packet.wire = self.sizes.data_wire(packet.payload);
        packet.entropy = message.entropy;
        packet.tag = message.tag;
        // One class below control packets, which have 0.
        packet.priority = 1;
        packet
    }
}

/// Extra time, beyond a time-out, that packets may take because their sender sends others first. A time-out of some
/// round trips has room for a bandwidth-delay product of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaving {
    allowed: u32,
    slot: Time,
}

impl Leaving {
    /// The same time, however many packets there are.
    pub const AT_ONCE: Leaving = Leaving { allowed: u32::MAX, slot: Time::ZERO };

    /// Extra time of the bytes beyond a bandwidth-delay product, over the slowest link of a path.
    pub fn over_path(path: &Path, context: &HostContext) -> Leaving {
        let slot = context.sizes.slot_time(path.bottleneck);
        Leaving { allowed: path.bdp_packets(context.nic, &context.sizes), slot }
    }

    /// Extra time of the bytes that do not fit into a time-out of this length, of which a largest round trip
    /// is for the last packet.
    pub fn within_timeout(timeout: Time, path: &Path, context: &HostContext) -> Leaving {
        let slot = context.sizes.slot_time(path.bottleneck);
        // A rate so high that a slot rounds to zero must not divide by it.
        let room = timeout.saturating_sub(path.max_rtt).0 / slot.0.max(1);
        Leaving { allowed: u32::try_from(room).unwrap_or(u32::MAX), slot }
    }

    /// Extra time for `packets` packets on their way.
    pub fn extra_time(self, packets: u32) -> Time {
        // `AT_ONCE` allows any number: its extra time is always zero.
        self.slot.saturating_mul(packets.saturating_sub(self.allowed).into())
    }
}

/// A time multiplied by a parameter, in whole picoseconds.
pub fn scale_time(time: Time, factor: f64) -> Time {
    // The factor is a scenario constant with few digits; thousandths keep the product an integer.
    // Half a thousandth rounds to the nearest.
    let thousandths = factor * 1000.0 + 0.5;
    // Most products have room; those of 128 bits cost a hundred instructions.
    match time.0.checked_mul(thousandths as u64) {
        Some(product) if thousandths < 1e18 => Time(product / 1000),
        _ => {
            let product = u128::from(time.0).saturating_mul(thousandths as u128) / 1000;
            u64::try_from(product).map_or(Time::MAX, Time)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_of_64_bits_is_that_of_128() {
        // Times on both sides of the border of 64 bits; the last factors saturate, or are not numbers.
        let times = [0, 1, 999, 52_480_000, 1 << 40, u64::MAX / 3000, u64::MAX / 2999, u64::MAX];
        for factor in [0.0, 0.1, 1.0, 2.9996, 3.0, 1000.0, 1e15, 1e16, 2e16, f64::INFINITY, f64::NAN] {
            for time in times {
                let wide = u128::from(time).saturating_mul((factor * 1000.0 + 0.5) as u128) / 1000;
                // An exact product that exceeds a time is not compared: `scale_time` saturates there.
                if wide <= u64::MAX.into() {
                    assert_eq!(scale_time(Time(time), factor), Time(wide as u64), "{time} by {factor}");
                }
            }
        }
    }
}
