//! Port: one egress of a node, with its queues and its wire.

mod pause;

use crate::DropReason;
use crate::counters::{BrokenIdentity, PortCounters};
use crate::discipline::{Arrival, Departing, Overflow, PortContext};
use crate::queues::Queues;
use crate::registry::AnyDiscipline;
use crate::{Buffer, Limit};
use headway_gauges::Gauge;
use headway_packet::{Ecn, Packet};
use headway_units::{Rate, Time};
use std::sync::Arc;

/// Reasons to drop that any port has; those that come from a link that is down follow them, and after these that of a
/// lossless switch.
const FULL: usize = DropReason::LinkDown as usize;
const DOWN: std::ops::Range<usize> = FULL..DropReason::HeadroomFull as usize;

/// Storage of the packets behind a port's handles.
pub trait Packets<H> {
    /// The packet behind a handle.
    fn packet(&mut self, handle: H) -> &mut Packet;

    /// Cuts the payload off a data packet in no queue, which leaves `control` bytes of it on the wire unless the
    /// driver knows better; `false` when it cannot be cut.
    #[inline]
    fn trim_payload(&mut self, handle: H, control: u16) -> bool {
        self.packet(handle).trim_payload(control);
        true
    }
}

/// A packet that has started to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure<H> {
    /// Handle of the packet that leaves.
    pub handle: H,
    /// Time at which its last bit leaves.
    pub ends: Time,
}

/// Fate of a packet that a full queue refused, or threw out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its rest waits here.
    Kept,
    /// It is gone, and its handle is the caller's again.
    Dropped(DropReason),
    /// It is on its way back; the caller forwards it from here to where it now says.
    Returned,
}

/// A queue was full when a packet was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full<H> {
    /// The packet that was hit: the one offered, or one that waited and gave way to it.
    pub handle: H,
    /// True if its payload was cut off.
    pub trimmed: bool,
    /// Fate of the packet.
    pub fate: Fate,
}

/// Queues, rules and counters of one egress, with its departure clock.
///
/// The driver offers packets ([`Port::offer`]), and takes the next one whenever the wire is free
/// ([`Port::next`]). A packet offered to a free wire must be taken in the same instant.
///
/// A network has many ports and each packet meets a different one, so the cost of a hop is mostly the cache
/// lines of its port. The order of the fields is their place in memory: first those that every packet touches,
/// then those that a waiting packet touches, last those of drops and reports.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Port<H> {
    free_at: Time,
    /// The rate of `context`, at hand.
    rate: Rate,
    rules: AnyDiscipline,
    passed: Passed,
    queues: Queues<H>,
    /// The time integral of the bytes waiting, less `bytes waiting x now`: a packet takes its bytes times
    /// the instant it begins to wait out of it, and adds its bytes times the instant it ceases to.
    waited: i128,
    /// Most bytes that waited since the last [`Port::take_peak`].
    peak: u64,
    queue_max_bytes: u64,
    queue_max_packets: u32,
    context: Arc<PortContext>,
    /// Drops by reason; those of a link that is down are counted apart.
    dropped: [u64; FULL],
    returned: u64,
    trimmed: u64,
    rare: Option<Box<Rare>>,
}

/// State that few ports need, kept apart because a port fills its cache lines to the last byte.
#[derive(Clone, Debug, Default)]
struct Rare {
    /// State of a link that is down, or ever was.
    outage: Option<Outage>,
    /// State of a port that the far end of its link may stop.
    gate: Option<pause::Gate>,
}

/// Cost of a link that goes down, and the state of its port when it is up again.
#[derive(Clone, Debug)]
struct Outage {
    context: Arc<PortContext>,
    /// Packets dropped: data, and control.
    dropped: [u64; 2],
}

/// Counters that change on every packet.
#[derive(Clone, Debug, Default)]
#[repr(C)]
struct Passed {
    received: u64,
    dequeued: u64,
    marked: u64,
    wire_bytes: u64,
    payload_bytes: u64,
    busy: Time,
}

impl<H: Copy> Port<H> {
    /// A port with these rules.
    pub fn new(rules: AnyDiscipline, context: Arc<PortContext>) -> Port<H> {
        Port {
            free_at: Time::ZERO,
            rate: context.rate,
            queues: Queues::new(rules.classes(), rules.is_strict(), rules.shapes()),
            rules,
            passed: Passed::default(),
            waited: 0,
            peak: 0,
            queue_max_bytes: 0,
            queue_max_packets: 0,
            context,
            dropped: [0; FULL],
            returned: 0,
            trimmed: 0,
            rare: None,
        }
    }

    /// Time at which the wire is free again; in the past when it is free.
    #[inline]
    pub fn free_at(&self) -> Time {
        self.free_at
    }

    /// True if nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// True if a packet that finds the wire free goes straight to it ([`Port::transmit_idle`]): nothing waits, and the
    /// rules never hold anything back. Where they may, it is offered, and leaves when [`Port::next_start`] says.
    #[inline]
    pub fn can_bypass(&self) -> bool {
        self.queues.can_bypass()
    }

    /// True if rules may hold packets back although the wire is free.
    #[inline]
    pub fn is_shaped(&self) -> bool {
        self.queues.is_shaped()
    }

    /// The instant from which the next waiting packet may start; in the past when it may at once, `None` when
    /// nothing waits. Another arrival may bring it forward.
    #[inline]
    pub fn next_start(&self) -> Option<Time> {
        let classes = self.queues.classes();
        match classes {
            0 => None,
            _ if self.is_shaped() => match classes & !self.held() {
                0 => None,
                open => Some(self.free_at.max(self.rules.eligible_at(open))),
            },
            _ => Some(self.free_at),
        }
    }

    /// Slices of the handles of waiting packets, class by class, the first to leave first in each: places
    /// known without reading them, for drivers that fetch ahead.
    #[inline]
    pub fn waiting_places(&self) -> impl Iterator<Item = &[H]> {
        self.queues.handle_slices()
    }

    /// Shows the packets that will have started to leave at `now`, guessed from standard packet sizes.
    #[inline(always)]
    pub fn show_leaving(&self, now: Time, mut show: impl FnMut(H)) {
        let mut starts = self.free_at;
        if starts > now {
            return;
        }
        let sizes = &self.context.sizes;
        let mut controls = self.queues.control_packets();
        self.queues.show(|handle| {
            show(handle);
            starts += if controls > 0 {
                self.rate.time_of(sizes.control.into())
            } else {
                sizes.slot_time(self.rate)
            };
            controls = controls.saturating_sub(1);
            starts <= now
        });
    }

    /// The rate of its link now.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Bytes on the wire of all packets that have begun to leave.
    pub fn sent_bytes(&self) -> u64 {
        self.passed.wire_bytes
    }

    /// Bytes waiting, the packet on the wire not counted.
    pub fn queue_bytes(&self) -> u64 {
        self.queues.bytes()
    }

    /// Packets in the queues, without the one on the wire.
    pub fn waiting(&self) -> u32 {
        self.queues.waiting_packets()
    }

    /// Counters so far.
    pub fn counters(&self) -> PortCounters {
        let passed = &self.passed;
        let mut dropped = [0; DropReason::ALL.len()];
        dropped[..FULL].copy_from_slice(&self.dropped);
        if let Some(outage) = self.outage() {
            dropped[DOWN].copy_from_slice(&outage.dropped);
        }
        if let Some(gate) = self.gate() {
            let [data, control] = gate.refused;
            dropped[DropReason::HeadroomFull as usize] = data;
            dropped[DropReason::ControlFull as usize] += control;
            dropped[DOWN].iter_mut().zip(gate.unstopped).for_each(|(all, more)| *all += more);
        }
        PortCounters {
            received: passed.received,
            // Not counted apart; `check` compares it with the packets that left and those that wait.
            enqueued: passed.received.wrapping_sub(dropped.iter().sum::<u64>() + self.returned),
            dequeued: passed.dequeued,
            dropped,
            returned: self.returned,
            trimmed: self.trimmed,
            marked: passed.marked,
            wire_bytes: passed.wire_bytes,
            payload_bytes: passed.payload_bytes,
            busy: passed.busy,
            queue_max_bytes: self.queue_max_bytes,
            queue_max_packets: self.queue_max_packets,
        }
    }

    /// Properties of the port.
    pub fn context(&self) -> &PortContext {
        &self.context
    }

    /// Time spent transmitting up to `now`, the unsent part of the packet on the wire not counted.
    pub fn busy_until(&self, now: Time) -> Time {
        if self.is_down() {
            return self.passed.busy;
        }
        self.passed.busy.saturating_sub(self.free_at.saturating_sub(now))
    }

    /// Bytes waiting multiplied by picoseconds, from the start of the run to `now`.
    pub fn queue_integral(&self, now: Time) -> u128 {
        (self.waited + bytes_times(self.queues.bytes(), now)) as u128
    }

    /// Most bytes that waited since the last call.
    pub fn take_peak(&mut self) -> u64 {
        // The next interval begins with the bytes that wait now.
        std::mem::replace(&mut self.peak, self.queues.bytes())
    }

    /// Measurements of the port's rules, in addition to the counters.
    pub fn gauges(&self, now: Time) -> Vec<Gauge> {
        self.rules.gauges(now, &self.queues)
    }

    /// Checks the counters' identities, and that no count has fallen below zero.
    pub fn check(&self) -> Result<(), BrokenIdentity> {
        self.queues.check()?;
        self.counters().check(u64::from(self.queues.waiting_packets()))
    }

    /// Queues a packet, or says which packet was hit for want of room, and how.
    #[inline(always)]
    pub fn offer<P: Packets<H>>(&mut self, now: Time, handle: H, packets: &mut P) -> Result<(), Full<H>> {
        self.passed.received += 1;
        let packet = packets.packet(handle);
        let data = packet.is_data();
        match self.admit(now, packet, data) {
            Ok(class) => {
                self.enqueue(now, handle, packet.wire, (class, data));
                Ok(())
            }
            Err(reason) => Err(self.overflow(now, handle, reason, packets)),
        }
    }

    #[inline(always)]
    fn admit(&mut self, now: Time, packet: &mut Packet, data: bool) -> Result<usize, DropReason> {
        let (waiting, bytes) = self.queues.waiting(data);
        let arrival = Arrival { now, packets: waiting, bytes, in_service: now < self.free_at };
        let admitted = self.rules.arrive(&self.context, &arrival, &self.queues, packet);
        let limit = self.context.buffer.limit(data);
        if !limit.admits(waiting, bytes, packet.wire) && admitted.is_ok() {
            return Err(if data { DropReason::BufferFull } else { DropReason::ControlFull });
        }
        admitted
    }

    #[inline(always)]
    fn enqueue(&mut self, now: Time, handle: H, wire: u16, (class, data): (usize, bool)) {
        self.waited -= bytes_times(wire.into(), now);
        self.queues.push(class, data, handle, wire);
        self.note_peak();
    }

    /// Makes room, or finds none.
    // Out of line, because nearly all packets fit: their path through `offer` stays short.
    #[cold]
    #[inline(never)]
    fn overflow<P: Packets<H>>(
        &mut self,
        now: Time,
        handle: H,
        reason: DropReason,
        packets: &mut P,
    ) -> Full<H> {
        let verdict = self.rules.overflow(packets.packet(handle));
        if self.is_down() {
            self.rules.not_done();
            return Full {
                handle,
                trimmed: false,
                fate: Fate::Dropped(self.refused(packets.packet(handle))),
            };
        }
        match verdict {
            Overflow::Trim => self.trim(now, handle, packets),
            Overflow::TrimLast { class } if self.gives_way(class, handle, packets) => {
                self.trim_last(now, handle, class, packets)
            }
            Overflow::TrimLast { .. } => self.trim(now, handle, packets),
            Overflow::Displace { from, to } if self.gives_way(from, handle, packets) => {
                let last = self.queues.pop_last(from);
                self.displace(now, handle, reason, (last, to), packets)
            }
            Overflow::DisplaceFirst { from, to }
                if self.fits_instead(self.queues.first(from), handle, packets) =>
            {
                let first = self.queues.pop(from);
                self.displace(now, handle, reason, (Some(first), to), packets)
            }
            Overflow::Return => {
                self.returned += 1;
                packets.packet(handle).bounce_header();
                Full { handle, trimmed: false, fate: Fate::Returned }
            }
            Overflow::Drop | Overflow::Displace { .. } | Overflow::DisplaceFirst { .. } => {
                self.dropped[reason as usize] += 1;
                Full { handle, trimmed: false, fate: Fate::Dropped(reason) }
            }
        }
    }

    /// True if a packet fits once the last one of a class has left.
    fn gives_way<P: Packets<H>>(&self, class: usize, handle: H, packets: &mut P) -> bool {
        self.fits_instead(self.queues.last(class), handle, packets)
    }

    /// True if a packet fits once another of its kind that waits has left.
    fn fits_instead<P: Packets<H>>(&self, other: Option<H>, handle: H, packets: &mut P) -> bool {
        let Some(other) = other else { return false };
        let (gone, kind) = (packets.packet(other).wire, packets.packet(other).is_data());
        let (wire, data) = (packets.packet(handle).wire, packets.packet(handle).is_data());
        let (waiting, bytes) = self.queues.waiting(data);
        kind == data && self.context.buffer.limit(data).admits(waiting - 1, bytes - u64::from(gone), wire)
    }

    /// Trims the last packet of a class, which holds one, and queues another in its place.
    fn trim_last<P: Packets<H>>(&mut self, now: Time, handle: H, class: usize, packets: &mut P) -> Full<H> {
        let Some(last) = self.queues.pop_last(class) else { return self.trim(now, handle, packets) };
        let wire = packets.packet(last).wire;
        self.waited += bytes_times(wire.into(), now);
        self.queues.left(true, wire);
        self.enqueue(now, handle, packets.packet(handle).wire, (class, true));
        self.trim(now, last, packets)
    }

    /// Drops a packet that was taken out of its queue, and queues another of its kind in its place.
    fn displace<P: Packets<H>>(
        &mut self,
        now: Time,
        handle: H,
        reason: DropReason,
        (victim, to): (Option<H>, usize),
        packets: &mut P,
    ) -> Full<H> {
        let mut hit = handle;
        if let Some(victim) = victim {
            let (wire, data) = (packets.packet(victim).wire, packets.packet(victim).is_data());
            self.waited += bytes_times(wire.into(), now);
            self.queues.left(data, wire);
            self.enqueue(now, handle, packets.packet(handle).wire, (to, data));
            hit = victim;
        }
        self.dropped[reason as usize] += 1;
        Full { handle: hit, trimmed: false, fate: Fate::Dropped(reason) }
    }

    /// Cuts the payload off a packet that is in no queue, and queues the header if it can. A packet that cannot be
    /// cut is dropped.
    fn trim<P: Packets<H>>(&mut self, now: Time, handle: H, packets: &mut P) -> Full<H> {
        debug_assert!(packets.packet(handle).is_data());
        if !packets.trim_payload(handle, self.context.sizes.control) {
            let reason = DropReason::BufferFull;
            self.dropped[reason as usize] += 1;
            return Full { handle, trimmed: false, fate: Fate::Dropped(reason) };
        }
        self.trimmed += 1;
        match self.admit(now, packets.packet(handle), false) {
            Ok(class) => {
                self.enqueue(now, handle, packets.packet(handle).wire, (class, false));
                Full { handle, trimmed: true, fate: Fate::Kept }
            }
            Err(reason) => Full { trimmed: true, ..self.overflow(now, handle, reason, packets) },
        }
    }

    /// Starts the next packet on a wire that is free at `now`, [`Port::next_start`] or later.
    #[inline(always)]
    pub fn next<P: Packets<H>>(&mut self, now: Time, packets: &mut P) -> Option<Departure<H>> {
        debug_assert!(now >= self.free_at, "the wire is busy until {}", self.free_at);
        if self.queues.is_empty() {
            return None;
        }
        debug_assert!(self.next_start().is_some_and(|start| now >= start), "nothing may leave at {now}");
        // Most ports serve the lowest class first, and need not ask their rules.
        let class = if self.queues.strict {
            self.queues.occupied().trailing_zeros() as usize
        } else {
            let classes = self.queues.classes();
            // Queues are held back at ports that shape alone.
            let open = if self.is_shaped() { classes & !self.held() } else { classes };
            self.rules.choose(now, open)
        };
        let handle = self.queues.pop(class);
        let packet = packets.packet(handle);
        self.waited += bytes_times(packet.wire.into(), now);
        self.queues.left(packet.is_data(), packet.wire);
        let ends = self.start(now, packet);
        Some(Departure { handle, ends })
    }

    /// True if the wire is free and nothing waits for it.
    #[inline]
    pub fn is_idle(&self, now: Time) -> bool {
        now >= self.free_at && self.queues.is_empty()
    }

    /// Puts a packet straight on a wire that is idle: a host's link, or an empty switch port. Never
    /// drops, because nothing waits. Returns the time at which its last bit leaves.
    #[inline]
    pub fn transmit_idle(&mut self, now: Time, packet: &mut Packet) -> Time {
        debug_assert!(self.is_idle(now));
        self.passed.received += 1;
        self.start(now, packet)
    }

    #[inline(always)]
    fn start(&mut self, now: Time, packet: &mut Packet) -> Time {
        let takes = self.rate.time_of(u64::from(packet.wire));
        let (data_waiting, data_bytes) = self.queues.waiting(true);
        let departing = Departing { now, takes, data_waiting, data_bytes };
        self.rules.depart(&departing, &self.queues, packet);
        self.passed.dequeued += 1;
        self.passed.marked += u64::from(matches!(packet.ecn, Ecn::Spare | Ecn::Ce));
        self.passed.wire_bytes += u64::from(packet.wire);
        self.passed.payload_bytes += u64::from(packet.payload);
        self.passed.busy += takes;
        self.free_at = now + takes;
        self.free_at
    }

    #[inline]
    fn note_peak(&mut self) {
        let bytes = self.queues.bytes();
        if bytes > self.peak {
            self.peak = bytes;
            self.queue_max_bytes = self.queue_max_bytes.max(bytes);
        }
        self.queue_max_packets = self.queue_max_packets.max(self.queues.data_packets());
    }
}

/// Links that go down, come up, and change their rate. Drivers bring a port up to date before each of these.
impl<H: Copy> Port<H> {
    fn outage(&self) -> Option<&Outage> {
        self.rare.as_ref()?.outage.as_ref()
    }

    /// True if the link is down: then the wire is never free, and nothing is admitted.
    #[inline]
    pub fn is_down(&self) -> bool {
        self.free_at == Time::MAX
    }

    /// The link goes down at `now`: waiting packets are dropped and handed to `gone`, and a packet that is offered from
    /// now on is dropped too. The rest of the packet on the wire is not sent; its driver loses it.
    pub fn take_down<P: Packets<H>>(&mut self, now: Time, packets: &mut P, mut gone: impl FnMut(H, &mut P)) {
        if self.is_down() {
            return;
        }
        self.passed.busy = self.busy_until(now);
        // The wire of a dead link is never free, so that nothing starts on it without a check of its own.
        self.free_at = Time::MAX;
        let none = Limit::Packets(0);
        // Without room, every packet is refused by the usual check; `bring_up` puts the context back.
        let shut = PortContext { buffer: Buffer { data: none, control: none }, ..*self.context };
        let context = std::mem::replace(&mut self.context, Arc::new(shut));
        // Drops of earlier outages count on.
        let dropped = self.outage().map_or([0; 2], |before| before.dropped);
        self.rare.get_or_insert_default().outage = Some(Outage { context, dropped });
        while let Some(class) = self.queues.lowest() {
            let handle = self.queues.pop(class);
            let packet = packets.packet(handle);
            self.waited += bytes_times(packet.wire.into(), now);
            self.queues.left(packet.is_data(), packet.wire);
            self.rules.discard(now, &self.queues, packet);
            self.refused(packets.packet(handle));
            gone(handle, packets);
        }
    }

    /// The link is up again at `now`, with its wire free.
    pub fn bring_up(&mut self, now: Time) {
        if let (true, Some(outage)) = (self.is_down(), self.outage()) {
            self.context = Arc::clone(&outage.context);
            self.free_at = now;
        }
    }

    /// A host hands over a packet while its link is down: it is dropped. Returns the time that it would have taken, so
    /// that a host does not lose all it has in one instant.
    pub fn refuse(&mut self, packet: &Packet) -> Time {
        debug_assert!(self.is_down());
        self.passed.received += 1;
        self.refused(packet);
        self.rate.time_of(u64::from(packet.wire))
    }

    /// Counts a packet that a link which is down cost.
    fn refused(&mut self, packet: &Packet) -> DropReason {
        let reason = if packet.is_data() { DropReason::LinkDown } else { DropReason::ControlLinkDown };
        if let Some(outage) = self.rare.as_mut().and_then(|rare| rare.outage.as_mut()) {
            outage.dropped[reason as usize - FULL] += 1;
        }
        reason
    }

    /// The link has another rate from `now` on: the packet on the wire finishes at the old one. `fresh` are the
    /// port's rules as they would be made for the new rate.
    pub fn retune(&mut self, now: Time, fresh: AnyDiscipline, rate: Rate) {
        self.rate = rate;
        let outage = self.rare.as_mut().and_then(|rare| rare.outage.as_mut());
        let kept = outage.map(|outage| &mut outage.context);
        for context in kept.into_iter().chain([&mut self.context]) {
            *context = Arc::new(PortContext { rate, ..**context });
        }
        self.rules.retune(now, fresh);
    }
}

/// Bytes times picoseconds.
#[inline]
fn bytes_times(bytes: u64, time: Time) -> i128 {
    (u128::from(bytes) * u128::from(time.0)) as i128
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::PacketPool;
    use crate::{Buffer, Limit};
    use headway_packet::{HostId, PacketKind, Sizes};
    use headway_units::Rate;

    fn port(name: &str, data: u32) -> Port<u32> {
        let buffer = Buffer { data: Limit::Packets(data), control: Limit::Packets(2) };
        let round_trip = Some(Time::us(100));
        let context = PortContext {
            rate: Rate::gbps(10),
            sizes: Sizes::default(),
            buffer,
            seed: 0,
            round_trip,
            to_host: false,
        };
        let rules = AnyDiscipline::make(name, &[], &context).expect("known").expect("valid");
        Port::new(rules, Arc::new(context))
    }

    fn pool() -> PacketPool {
        let packet = |i: u32| {
            let kind = if i < 8 { PacketKind::Data } else { PacketKind::Grant };
            let mut p = Packet::new(kind, HostId(0), HostId(1), i);
            p.wire = if i < 8 { 1538 } else { 84 };
            p.priority = u8::from(i < 8);
            p
        };
        PacketPool((0..12).map(packet).collect())
    }

    #[test]
    fn tail_drop_counts_what_does_not_fit_and_the_identities_hold() {
        let (mut port, mut pool) = (port("drop-tail", 3), pool());
        assert_eq!(port.transmit_idle(Time::ZERO, pool.packet(0)), Time(1_230_400));
        for i in 1..6 {
            let outcome = port.offer(Time(1), i, &mut pool);
            assert_eq!(outcome.is_ok(), i < 4, "packet {i}");
        }
        assert_eq!(port.counters().dropped, [2, 0, 0, 0, 0, 0]);
        assert_eq!(port.counters().queue_max_packets, 3);
        port.check().expect("identities");
        let mut order = Vec::new();
        while let Some(d) = port.next(port.free_at(), &mut pool) {
            order.push(d.handle);
        }
        assert_eq!(order, [1, 2, 3]);
        port.check().expect("identities");
        // Three packets wait 1230400 - 1 ps, two another slot, one a third slot.
        assert_eq!(port.queue_integral(port.free_at()), 1538 * (3 * 1_230_399 + 2 * 1_230_400 + 1_230_400));
    }

    #[test]
    fn a_count_that_fell_below_zero_is_a_broken_identity() {
        let (mut port, mut pool) = (port("drop-tail", 3), pool());
        port.offer(Time::ZERO, 0, &mut pool).expect("room");
        let whole = port.clone();
        port.queues = Queues::new(1, true, false);
        port.queues.push(0, false, 0, 1538);
        assert_eq!(port.check(), Ok(()), "as many packets, of another kind");
        port.queues.wrap(true, 1538);
        let data = u64::from(u32::MAX);
        assert_eq!(port.check(), Err(BrokenIdentity::Waiting { control: 1, data, held: 1 }));
        let mut port = whole.clone();
        port.queue_max_packets = u32::MAX;
        assert!(matches!(port.check(), Err(BrokenIdentity::Peak { packets: 0xffff_ffff, .. })));
        let mut port = whole.clone();
        port.queues.wrap_bytes(2000);
        assert!(matches!(port.check(), Err(BrokenIdentity::Bytes { packets: 1, .. })));
        let mut port = whole;
        port.dropped[0] = 2;
        assert!(matches!(port.check(), Err(BrokenIdentity::Received { received: 1, drops: 2, .. })));
    }

    #[test]
    fn control_overtakes_data_and_has_its_own_space() {
        let (mut port, mut pool) = (port("strict-priority", 2), pool());
        port.transmit_idle(Time::ZERO, pool.packet(0));
        for i in [1, 8, 2, 9, 10] {
            let _ = port.offer(Time(5), i, &mut pool);
        }
        assert_eq!(port.counters().dropped, [0, 1, 0, 0, 0, 0]);
        let order: Vec<_> =
            std::iter::from_fn(|| port.next(port.free_at(), &mut pool)).map(|d| d.handle).collect();
        assert_eq!(order, [8, 9, 1, 2]);
        assert_eq!(port.busy_until(Time(615_200)), Time(615_200), "it never stood idle");
    }

    /// Packets of every kind that some discipline treats in its own way.
    fn mixed() -> PacketPool {
        let packet = |i: u32| {
            let kind =
                [PacketKind::Data, PacketKind::Credit, PacketKind::Data, PacketKind::Grant][i as usize % 4];
            let mut p = Packet::new(kind, HostId(0), HostId(1), i);
            p.wire = if kind == PacketKind::Data { 1538 } else { 84 };
            p.priority = (i % 3) as u8;
            p.ecn = Ecn::Ect;
            p
        };
        PacketPool((0..64).map(packet).collect())
    }

    #[test]
    fn a_link_that_goes_down_drops_what_waits_and_what_comes_under_every_discipline() {
        for name in crate::registry::NAMES {
            let (mut port, mut pool) = (port(name, 8), mixed());
            let mut now = Time::ZERO;
            for round in 0..3 {
                for handle in 0..20 {
                    let _ = port.offer(now, handle, &mut pool);
                    now += Time::ns(100);
                    if let Some(start) = port.next_start().filter(|start| *start <= now) {
                        port.next(start.max(port.free_at()), &mut pool);
                    }
                }
                let (before, waiting) = (port.counters(), port.waiting());
                assert!(waiting > 0, "{name}: nothing waits");
                let mut gone = Vec::new();
                port.take_down(now, &mut pool, |handle, _| gone.push(handle));
                assert_eq!(
                    (gone.len() as u32, port.waiting(), port.queue_bytes()),
                    (waiting, 0, 0),
                    "{name}"
                );
                assert_eq!(port.counters().busy, before.busy.min(port.busy_until(now)), "{name}");
                for handle in 20..30 {
                    let full = port.offer(now, handle, &mut pool).expect_err("it is down");
                    let down = matches!(
                        full.fate,
                        Fate::Dropped(DropReason::LinkDown | DropReason::ControlLinkDown)
                    );
                    assert!(down && !full.trimmed && full.handle == handle, "{name}: {full:?}");
                }
                port.refuse(pool.packet(31));
                let after = port.counters();
                let lost = |c: &PortCounters| c.dropped[DOWN].iter().sum::<u64>();
                assert_eq!(lost(&after) - lost(&before), u64::from(waiting) + 11, "{name}");
                assert_eq!(after.dropped[..FULL], before.dropped[..FULL], "{name}: for no other reason");
                assert_eq!((port.next_start(), port.is_down()), (None, true), "{name}");
                port.check().unwrap_or_else(|why| panic!("{name}: {why}"));
                now += Time::us(50 * (round + 1));
                assert_eq!(port.busy_until(now), after.busy, "{name}: nothing is sent");
                port.bring_up(now);
                assert!(!port.is_down() && port.free_at() == now, "{name}");
            }
            port.check().unwrap_or_else(|why| panic!("{name}: {why}"));
        }
    }

    #[test]
    fn a_new_rate_holds_from_the_next_packet_on_under_every_discipline() {
        for name in crate::registry::NAMES {
            let (mut port, mut pool) = (port(name, 8), mixed());
            for handle in [0, 2, 4] {
                port.offer(Time::ZERO, handle, &mut pool).expect("room");
            }
            let first = port.next(Time::ZERO, &mut pool).expect("it leaves").ends;
            let context = PortContext { rate: Rate::gbps(1), ..*port.context() };
            let fresh = AnyDiscipline::make(name, &[], &context).expect("known").expect("valid");
            port.retune(Time(1), fresh, Rate::gbps(1));
            assert_eq!((first, port.free_at()), (Time(1_230_400), first), "{name}: it finishes as it began");
            let second = port.next(first, &mut pool).expect("it leaves").ends;
            assert_eq!(second, first + Time(12_304_000), "{name}");
            assert_eq!(port.context().rate, Rate::gbps(1), "{name}");
            port.check().unwrap_or_else(|why| panic!("{name}: {why}"));
        }
    }
}
