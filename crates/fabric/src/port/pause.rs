//! Ports that the far end of their link may stop, class by class: those of a lossless fabric. And ports whose buffer is a
//! memory that they share.
//!
//! The driver defines the classes and stops them: it names the queues that must not be served for now
//! ([`Port::hold`]). Rules choose among the others, as they do where those are empty. A port whose rules have one queue
//! for everything gets one for control ahead of it, and one for each class of data: else a packet that may leave would
//! wait behind one that may not.

use super::{Departure, Full, Packets, Port};
use crate::Buffer;
use crate::queues::{MOST_CLASSES, Queues};
use headway_packet::Packet;
use headway_units::Time;
use std::sync::Arc;

/// State of a port that can be stopped.
#[derive(Clone, Debug, Default)]
pub(super) struct Gate {
    /// Bit `c` is set while queue `c` must not be served.
    held: u32,
    /// True if the driver chooses the queue of a packet, instead of the rules.
    split: bool,
    /// Packets dropped because the switch had no room: data, and control.
    pub(super) refused: [u64; 2],
    /// Drops among these of packets over a link that a fault kept from being stopped.
    pub(super) unstopped: [u64; 2],
}

impl<H: Copy> Port<H> {
    /// Makes a fresh port one that can be stopped; `classes` are those of packets, control first.
    ///
    /// Packets go through its queues from then on, and [`Port::can_bypass`] is `false`.
    pub fn make_pausable(&mut self, classes: usize) {
        debug_assert!(self.is_empty() && self.passed.received == 0, "a fresh port");
        let own = self.rules.classes();
        let split = own == 1;
        let queues = if split { classes.min(MOST_CLASSES as usize) } else { own };
        // Rules without an order of their own choose the lowest class, if they are asked.
        self.queues = Queues::new(queues, false, true);
        self.rare.get_or_insert_default().gate = Some(Gate { split, ..Gate::default() });
    }

    /// Makes a fresh port one whose driver asks for each departure at the time of it: packets go through its queues from
    /// then on, and [`Port::can_bypass`] is `false`.
    pub fn make_exact(&mut self) {
        debug_assert!(self.is_empty() && self.passed.received == 0, "a fresh port");
        self.queues = Queues::new(self.rules.classes(), false, true);
    }

    /// Sets the limits of its buffer until the next call. A link that is down keeps none.
    pub fn limit_buffer(&mut self, buffer: Buffer) {
        if !self.is_down() {
            Arc::make_mut(&mut self.context).buffer = buffer;
        }
    }

    /// Packets of data, or of control, that wait, and their bytes.
    #[inline]
    pub fn waiting_of(&self, data: bool) -> (u32, u64) {
        self.queues.waiting(data)
    }

    #[inline]
    pub(super) fn gate(&self) -> Option<&Gate> {
        self.rare.as_ref()?.gate.as_ref()
    }

    /// The queues that must not be served.
    #[inline]
    pub fn held(&self) -> u32 {
        self.gate().map_or(0, |gate| gate.held)
    }

    /// From now on, queue `c` is not served where bit `c` is set.
    pub fn hold(&mut self, held: u32) {
        if let Some(gate) = self.rare.as_mut().and_then(|rare| rare.gate.as_mut()) {
            gate.held = held;
        }
    }

    /// True if a packet that arrives now may go straight to the wire, if no queue that it would be in is held: the wire
    /// is free, nothing waits that may leave, and the rules hold nothing back.
    #[inline]
    pub fn passes(&self, now: Time) -> bool {
        now >= self.free_at && self.queues.is_empty() && !self.rules.shapes()
    }

    /// [`Port::offer`] to a port that can be stopped; `class` is the packet's, 0 for control.
    pub fn offer_in_class<P: Packets<H>>(
        &mut self,
        now: Time,
        handle: H,
        class: usize,
        packets: &mut P,
    ) -> Result<(), Full<H>> {
        self.passed.received += 1;
        let packet = packets.packet(handle);
        let data = packet.is_data();
        match self.admit(now, packet, data) {
            Ok(own) => {
                let split = self.gate().is_some_and(|gate| gate.split);
                let class = if split { class } else { own };
                self.enqueue(now, handle, packet.wire, (class, data));
                Ok(())
            }
            Err(reason) => Err(self.overflow(now, handle, reason, packets)),
        }
    }

    /// Shows the first packet of each queue that holds any, with the number of the queue. Of the queues that share the
    /// last number, the first alone.
    pub fn show_heads(&self, mut show: impl FnMut(usize, H)) {
        let mut rest = self.queues.classes();
        while rest != 0 {
            let class = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            if let Some(handle) = self.queues.first(class) {
                show(class, handle);
            }
        }
    }

    /// Shows every packet that waits.
    pub fn show_waiting(&self, mut show: impl FnMut(H)) {
        self.queues.show(|handle| {
            show(handle);
            true
        });
    }

    /// Shows every packet that waits, those of queues that share a number too.
    pub fn show_all_waiting(&self, show: impl FnMut(H)) {
        self.queues.show_all(show);
    }

    /// Takes the wire from `now` on for this many bytes that do not belong to a packet. Returns the time at which the
    /// last bit leaves.
    pub fn occupy(&mut self, now: Time, bytes: u64) -> Time {
        debug_assert!(now >= self.free_at, "the wire is busy until {}", self.free_at);
        let takes = self.rate.time_of(bytes);
        self.passed.busy += takes;
        self.free_at = now + takes;
        self.free_at
    }

    /// Counts a packet that its switch had no room for; `by_fault` says that the link it came over could not be stopped because it
    /// was down in the other direction, or had just come up.
    pub fn refuse_for_headroom(&mut self, packet: &Packet, by_fault: bool) {
        self.passed.received += 1;
        if let Some(gate) = self.rare.as_mut().and_then(|rare| rare.gate.as_mut()) {
            let counts = if by_fault { &mut gate.unstopped } else { &mut gate.refused };
            counts[usize::from(!packet.is_data())] += 1;
        }
    }

    /// The next packet that may leave, if it may now.
    pub fn next_open<P: Packets<H>>(&mut self, now: Time, packets: &mut P) -> Option<Departure<H>> {
        match self.next_start() {
            Some(start) if start <= now => self.next(now, packets),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::AnyDiscipline;
    use crate::testing::PacketPool;
    use crate::{Buffer, Limit, PortContext};
    use headway_packet::{HostId, PacketKind, Sizes};
    use headway_units::Rate;

    fn port(name: &str) -> Port<u32> {
        let buffer = Buffer { data: Limit::Packets(50), control: Limit::Packets(50) };
        let context = PortContext {
            rate: Rate::gbps(10),
            sizes: Sizes::default(),
            buffer,
            seed: 0,
            round_trip: Some(Time::us(50)),
            to_host: false,
        };
        let rules = AnyDiscipline::make(name, &[], &context).expect("known").expect("valid");
        let mut port = Port::new(rules, context.into());
        port.make_pausable(3);
        port
    }

    /// Data of the classes 1 and 2 in turn, and control after each third.
    fn pool() -> PacketPool {
        let packet = |i: u32| {
            let kind = if i % 3 == 2 { PacketKind::Grant } else { PacketKind::Data };
            let mut packet = Packet::new(kind, HostId(0), HostId(1), i);
            packet.wire = if i % 3 == 2 { 84 } else { 1538 };
            packet.priority = [1, 2, 0][i as usize % 3];
            packet
        };
        PacketPool((0..30).map(packet).collect())
    }

    #[test]
    fn what_is_held_waits_and_all_else_goes_on_under_every_discipline() {
        for name in crate::registry::NAMES {
            if !crate::registry::is_holdable(name) {
                continue;
            }
            let mut port = port(name);
            let mut pool = pool();
            let class = |pool: &mut PacketPool, handle: u32| usize::from(pool.packet(handle).priority);
            for handle in 0..9 {
                let class = class(&mut pool, handle);
                port.offer_in_class(Time::ZERO, handle, class, &mut pool).expect("room");
            }
            let mut now = Time::ZERO;
            let hold = |port: &mut Port<u32>, pool: &mut PacketPool| {
                let mut held = 0;
                port.show_heads(|queue, handle| {
                    held |= u32::from(pool.packet(handle).is_data()) << queue;
                });
                port.hold(held);
            };
            hold(&mut port, &mut pool);
            let mut left = Vec::new();
            while let Some(start) = port.next_start() {
                now = now.max(start);
                let departure = port.next(now, &mut pool).expect("it may start");
                left.push(departure.handle);
                hold(&mut port, &mut pool);
            }
            assert!(left.iter().all(|handle| handle % 3 == 2), "{name}: {left:?}");
            if !name.contains("credit") {
                assert_eq!(left, [2, 5, 8], "{name}");
            }
            port.hold(0);
            while let Some(start) = port.next_start() {
                now = now.max(start);
                left.push(port.next(now, &mut pool).expect("it may start").handle);
            }
            left.sort_unstable();
            assert_eq!(left, [0, 1, 2, 3, 4, 5, 6, 7, 8], "{name}");
            port.check().unwrap_or_else(|why| panic!("{name}: {why}"));
        }
    }

    #[test]
    fn a_frame_takes_the_wire_and_is_no_packet() {
        let mut port = port("drop-tail");
        assert_eq!(port.occupy(Time::ZERO, 84), Time(67_200));
        let mut pool = pool();
        port.offer_in_class(Time(1), 0, 1, &mut pool).expect("room");
        assert_eq!(port.next_start(), Some(Time(67_200)));
        assert_eq!(port.next(Time(67_200), &mut pool).map(|d| d.ends), Some(Time(67_200 + 1_230_400)));
        let counters = port.counters();
        assert_eq!((counters.dequeued, counters.wire_bytes), (1, 1538));
        assert_eq!(counters.busy, Time(67_200 + 1_230_400));
        port.check().expect("identities");
    }
}
