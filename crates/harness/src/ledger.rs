//! The promises, checked packet by packet and event by event.

use crate::plan::{NIC, Plan};
use headway_packet::{HostId, Packet, PacketFlags, PacketKind, Sizes};
use headway_transport::endpoint::Path;
use headway_transport::first_window::FirstWindowSchedule;
use headway_transport::promises::{Bound, ByteBooks, Promised};
use headway_transport::{EndpointEvent, InitialWindow, Message};
use headway_units::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A message's name: sender, receiver, number.
pub type Key = (HostId, HostId, u32);

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// An event or packet about a message that was not opened, or with another's handle.
    Unknown,
    /// More bytes delivered than distinct bytes have arrived.
    DeliveredTooMuch,
    /// Completed before every byte was delivered.
    CompletedShort,
    /// Completed a second time.
    CompletedAgain,
    /// The sender forgot the message before the receiver had all of it.
    AcknowledgedEarly,
    /// The sender reported the end a second time.
    AcknowledgedAgain,
    /// The sender gave up.
    GaveUp,
    /// A data packet left for the first time without permission.
    Unauthorised,
    /// A sender claims a wider first window than its path and its message allow, or two different ones.
    WrongWindow,
    /// More data packets have left than permissions were given, repetitions included.
    Overspent,
    /// A machine that said it had nothing to send had something.
    HidPacket,
    /// Sizes, addresses or positions of a packet do not fit its message.
    Malformed,
    /// A message is unfinished, and nothing is in flight, armed or ready to leave.
    Hang,
    /// State is left although every message is finished and nothing more will happen.
    StateLeft,
    /// Messages are unfinished after far more events than recovery can need.
    Endless,
    /// Every message is finished, but timers or packets go on for ever.
    NeverQuiet,
    /// Its code raised an exception.
    Raised,
}

/// Broken promise, with place and time.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The promise that was broken.
    pub broken: Broken,
    /// Time of the violation.
    pub at: Time,
    /// Particulars of the violation, in words.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {}: {}", self.broken, self.at, self.detail)
    }
}

/// The ledger's record of a message.
#[derive(Debug)]
pub struct Record {
    message: Message,
    packets: u32,
    delivered: u64,
    completed: bool,
    /// Time at which the receiver had all of it.
    pub completed_at: Option<Time>,
    acknowledged: bool,
    /// Payload bytes of distinct packets that have reached the receiver.
    arrived_bytes: u64,
    arrived: BTreeSet<u32>,
    sent: BTreeSet<u32>,
    /// Packets permitted by name in grants and tokens that have reached the sender.
    named: BTreeSet<u32>,
    acked: BTreeSet<u32>,
    /// All packets before this one are among them.
    in_sequence: u32,
    /// The first window that a sender with default parameters may claim if it needs permissions.
    first_window: Option<u32>,
    /// The widest window that it may come to have, where that is not its first.
    widest: u32,
    /// First window that its data packets claim.
    claimed: Option<u32>,
    /// Data packets that left, except repetitions of packet 0: a sender may make those by itself.
    spent: u64,
    /// Packets permitted, counted as often as they were.
    permitted: u64,
    /// Highest number of a permission that counts from the beginning of the message.
    number: u32,
    /// Acknowledgements that told the sender nothing.
    repeated_acks: u32,
    /// True if an answer of the receiver has reached the sender.
    answered: bool,
    /// True if permissions with names, or packets declared to go without, have been seen: the message's
    /// sender may then use nothing else.
    receiver_driven: bool,
    /// Record of a message that is pulled by number.
    pulls: Pulls,
    /// Numbers of the credits that have reached the sender, and whether it may still use them.
    credits: BTreeMap<u32, bool>,
    /// Record of a message whose permissions are counted in bytes.
    bytes: Bytes,
    /// Record of a message that has subflows.
    subflows: Subflows,
}

/// Packets that the subflows of a message have sent, by subflow and number in it. Each has a first window, and a window
/// that grows with acknowledgements on it; a packet of the message may leave on several of them.
#[derive(Debug, Default)]
struct Subflows {
    numbers: BTreeSet<u32>,
    sent: BTreeSet<(u32, u32)>,
    acked: BTreeSet<(u32, u32)>,
    /// Acknowledgements that told a subflow nothing.
    repeated_acks: u32,
}

impl Subflows {
    /// A data packet leaves.
    fn count_departure(&mut self, packet: &Packet) {
        self.numbers.insert(packet.remaining);
        self.sent.insert((packet.remaining, packet.token));
    }

    /// An acknowledgement reaches the sender.
    fn count_answer(&mut self, ack: &Packet) {
        let (number, own) = (ack.subflow_number(), ack.in_subflow());
        let before = self.acked.len();
        // An answer may name packets that never left on this subflow.
        let below = self.sent.range((number, 0)..(number, own.count)).copied();
        self.acked.extend(below);
        for block in own.sack_blocks() {
            self.acked.extend(self.sent.range((number, block.start)..(number, block.end)).copied());
        }
        self.repeated_acks += u32::from(self.acked.len() == before);
    }

    /// Packets of the message that may have left, if each first window is this wide.
    fn most_sent(&self, first_window: u32) -> u32 {
        // Twice, as in slow start: an acknowledged packet makes room for itself and for one more.
        first_window * self.numbers.len() as u32 + 2 * self.acked.len() as u32 + self.repeated_acks
    }
}

/// Permissions and packets of a sender that is pulled by number. Permissions have no names: the number is the
/// count of packets that may leave in all, beyond those of the first window. A packet may leave again when
/// the sender has heard that it did not arrive, with a permission or, if the answer allows it, without; and
/// when it has not been heard of for a round trip.
#[derive(Debug, Default)]
struct Pulls {
    /// Highest number that has reached the sender, and how often the receiver has repeated one.
    number: u64,
    repeated: u64,
    /// Packets sent for the first time without permission, and all packets sent with it.
    pushed: u64,
    pulled: u64,
    /// Packets known not to have arrived.
    returned: BTreeSet<u32>,
    departed: BTreeMap<u32, Time>,
}

impl Pulls {
    /// The promise that this packet breaks, if any.
    fn check_departure(&mut self, now: Time, packet: &Packet, base_rtt: Time) -> Option<Broken> {
        let pushed = packet.flags.has_all(PacketFlags::UNSCHEDULED);
        let again = packet.flags.has_all(PacketFlags::AGAIN);
        let before = self.departed.insert(packet.index, now);
        self.pulled += u64::from(!pushed);
        let permitted = pushed || self.pulled <= self.number;
        let Some(before) = before else {
            self.pushed += u64::from(pushed);
            // A sender with nothing under way answers a repeated pull with a packet that nothing permits.
            let pushes = self.pushed <= u64::from(packet.count) + self.repeated;
            return (again || !permitted || !pushes).then_some(Broken::Unauthorised);
        };
        let known = self.returned.remove(&packet.index);
        // Within a base round trip no sender can know of a loss.
        let lost = pushed && now - before >= base_rtt;
        (!again || !permitted || !(known || lost)).then_some(Broken::Overspent)
    }

    /// A packet reaches the sender.
    fn count_answer(&mut self, packet: &Packet) {
        if packet.flags.has_all(PacketFlags::PULL) {
            self.number = self.number.max(packet.token.into());
            self.repeated += u64::from(packet.flags.has_all(PacketFlags::AGAIN));
        }
        if matches!(packet.kind, PacketKind::Nack | PacketKind::Header) {
            self.returned.insert(packet.index);
        }
    }
}

/// Permissions and packets of a sender whose permissions are bytes: in pulls, which count the bytes on the wire that
/// may leave in all beyond the first window; or, as long as no pulls have come, a window, which arrivals move on. A
/// packet may leave again when the sender has heard that it did not arrive, or when it has not been heard of for a
/// round trip.
#[derive(Debug, Default)]
struct Bytes {
    /// Bytes permitted in all, and taken.
    permitted: u64,
    taken: u64,
    /// Packets that have arrived, as far as heard, and those that leave room because they did not or left again.
    received: u64,
    made_room: u64,
    returned: BTreeSet<u32>,
    departed: BTreeMap<u32, Time>,
}

impl Bytes {
    /// The promise that this packet breaks, if any, of a sender that needs pulls, or has a window of so many packets at the
    /// most.
    fn check_departure(
        &mut self,
        now: Time,
        packet: &Packet,
        base_rtt: Time,
        window: Option<u32>,
    ) -> Option<Broken> {
        let pulled = window.is_none();
        let pushed = packet.flags.has_all(PacketFlags::UNSCHEDULED);
        let again = packet.flags.has_all(PacketFlags::AGAIN);
        let before = self.departed.insert(packet.index, now);
        let permitted = !pulled || pushed || self.taken < self.permitted;
        self.taken += if pulled && !pushed { packet.wire.into() } else { 0 };
        let Some(before) = before else {
            // Such senders take new packets in order.
            let room = match window {
                None if pushed => packet.count.into(),
                None => u64::MAX,
                Some(window) => u64::from(window.max(packet.count)) + self.received + self.made_room,
            };
            let fits = u64::from(packet.index) < room;
            return (again || !permitted || !fits).then_some(Broken::Unauthorised);
        };
        self.made_room += 1;
        let known = self.returned.remove(&packet.index);
        let lost = now - before >= base_rtt;
        (!again || !permitted || !(known || lost)).then_some(Broken::Overspent)
    }

    /// A packet reaches the sender.
    fn count_answer(&mut self, packet: &Packet) {
        match packet.kind {
            PacketKind::Pull => self.permitted = self.permitted.max(packet.message_bytes),
            PacketKind::Ack => self.received = self.received.max(packet.remaining.into()),
            PacketKind::Nack | PacketKind::Header => {
                self.made_room += 1;
                self.returned.insert(packet.index);
            }
            _ => {}
        }
    }
}

/// Credits that all messages from one host to another share. Their number counts from the first one on.
#[derive(Debug, Default)]
struct Pool {
    number: u32,
    used: u32,
}

impl Pool {
    /// True if there is a credit for the packet, or it needs none because it leaves for the first time in its first window.
    fn pay_credit(&mut self, packet: &Packet) -> bool {
        let free = packet.index < packet.count && !packet.flags.has_all(PacketFlags::AGAIN);
        self.used += u32::from(!free);
        free || self.used <= self.number
    }
}

/// Behaviour that a transport declares for its machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// True if windows grow: `Capabilities::window_grows`.
    pub window_grows: bool,
    /// True if grants name packets: `Promised::GRANTS_NAME`.
    pub grants_name: bool,
    /// True if every packet takes a credit: `Capabilities::credits`.
    pub credits: bool,
    /// True if first windows do without credits: `Promised::FIRST_WINDOW`.
    pub bursts: bool,
    /// True if messages have subflows: `Promised::SUBFLOWS`.
    pub subflows: bool,
    /// Unit of permissions, if they are counted in bytes: `Promised::BYTES`.
    pub bytes: ByteBooks,
    /// Bound on packets that nothing permits: `Promised::BOUND`.
    pub bound: Bound,
    /// The widest first window: `Promised::WIDEST_WINDOW`.
    pub widest_window: (u32, u32),
    /// Bytes that every packet has for what ports write into packets: `Capabilities::telemetry`.
    pub telemetry: u16,
}

impl Default for Expected {
    fn default() -> Expected {
        Expected {
            window_grows: false,
            grants_name: true,
            credits: false,
            bursts: true,
            subflows: false,
            bytes: ByteBooks::None,
            bound: Bound::FirstWindow,
            widest_window: (1000, 0),
            telemetry: 0,
        }
    }
}

impl Expected {
    /// Expectations that follow from a transport's declarations.
    pub fn of_transport<T: Promised>() -> Expected {
        Expected {
            window_grows: T::CAPABILITIES.window_grows,
            grants_name: T::GRANTS_NAME,
            credits: T::CAPABILITIES.credits,
            bursts: T::FIRST_WINDOW,
            subflows: T::SUBFLOWS,
            bytes: T::BYTES,
            bound: T::BOUND,
            widest_window: T::WIDEST_WINDOW,
            telemetry: T::CAPABILITIES.telemetry,
        }
    }
}

/// Record of one run.
#[derive(Debug)]
pub struct Ledger {
    /// Records of all messages.
    pub records: BTreeMap<Key, Record>,
    sizes: Sizes,
    hosts: u32,
    /// Behaviour that its machines declare.
    expected: Expected,
    /// True if receivers pull by number.
    pulls: bool,
    /// Pools of credit that all messages between a sender and a receiver share.
    pools: BTreeMap<(HostId, HostId), Pool>,
    /// The path between any two hosts, and the time of a full packet on the wire.
    path: Path,
    slot: Time,
    /// True if machines have default parameters.
    default: bool,
    /// Messages not yet completed and acknowledged.
    unfinished: usize,
}

impl Ledger {
    /// Goes by the declarations of a transport.
    pub fn expect_behaviour(&mut self, expected: Expected) {
        self.expected = expected;
        let (thousandths, least) = expected.widest_window;
        let product = u64::from(self.path.bdp_packets(NIC, &self.sizes)) * u64::from(thousandths);
        let widest = (product.div_ceil(1000) as u32).max(least);
        for record in self.records.values_mut() {
            // A message that begins as one of several, or as a scenario says, may come to have the window of one alone.
            let alone = record.message.initial_window == InitialWindow::default();
            record.widest = if alone { 0 } else { widest };
            if !self.default {
                // Other parameters may ask for windows of any size.
                record.widest = if alone { 0 } else { u32::MAX };
                continue;
            }
            let (first, packets) = (record.message.initial_window, record.packets);
            let schedule = FirstWindowSchedule::new(first, widest, packets, self.slot, Time::ZERO);
            record.first_window = Some(schedule.window_packets());
        }
    }

    /// A ledger for the messages of `plan`.
    pub fn new(plan: &Plan, pulls: bool) -> Ledger {
        let sizes = Sizes::default();
        let path = plan.common_path();
        let default = plan.parameters.iter().all(|&choice| choice == 0);
        let record = |message: Message| Record {
            message,
            packets: sizes.packets_of(message.bytes) as u32,
            first_window: None,
            widest: 0,
            claimed: None,
            delivered: 0,
            completed: false,
            completed_at: None,
            acknowledged: false,
            arrived_bytes: 0,
            arrived: BTreeSet::new(),
            sent: BTreeSet::new(),
            named: BTreeSet::new(),
            acked: BTreeSet::new(),
            in_sequence: 0,
            spent: 0,
            permitted: 0,
            number: 0,
            repeated_acks: 0,
            answered: false,
            receiver_driven: false,
            pulls: Pulls::default(),
            bytes: Bytes::default(),
            credits: BTreeMap::new(),
            subflows: Subflows::default(),
        };
        let opens = plan.numbered_messages();
        let unfinished = opens.len();
        let keyed = opens.into_iter().map(|(_, src, m)| ((HostId(src.into()), m.dst, m.id), record(m)));
        let mut ledger = Ledger {
            records: keyed.collect(),
            sizes,
            hosts: plan.hosts.into(),
            expected: Expected::default(),
            pulls,
            pools: BTreeMap::new(),
            path,
            slot: plan.slot_time(),
            default,
            unfinished,
        };
        ledger.expect_behaviour(Expected::default());
        ledger
    }

    /// Messages that are not both completed and acknowledged.
    pub fn unfinished_messages(&self) -> usize {
        self.unfinished
    }

    /// The message that a packet is about.
    fn key_of(packet: &Packet) -> Key {
        match packet.kind {
            // Its addresses are exchanged, as those of an answer.
            PacketKind::Header if packet.flags.has_all(PacketFlags::BOUNCED) => {
                (packet.dst, packet.src, packet.message)
            }
            PacketKind::Data
            | PacketKind::Header
            | PacketKind::Rts
            | PacketKind::Busy
            | PacketKind::Probe
            | PacketKind::CreditStop => (packet.src, packet.dst, packet.message),
            _ => (packet.dst, packet.src, packet.message),
        }
    }

    /// A packet leaves `host`.
    pub fn check_departure(&mut self, now: Time, host: HostId, packet: &Packet) -> Result<(), Violation> {
        let fail = |broken| Err(Violation { broken, at: now, detail: format!("{packet:?}") });
        if packet.src != host || packet.dst == host || packet.dst.0 >= self.hosts {
            return fail(Broken::Malformed);
        }
        let Some(record) = self.records.get_mut(&Self::key_of(packet)) else { return fail(Broken::Unknown) };
        if packet.tag != record.message.tag {
            return fail(Broken::Unknown);
        }
        if !packet.is_data() {
            // Credits may be of different sizes on purpose.
            let sized = packet.wire == self.sizes.control + self.expected.telemetry
                || packet.kind == PacketKind::Credit;
            let well_formed = packet.payload == 0 && packet.wire > 0 && sized;
            return if well_formed { Ok(()) } else { fail(Broken::Malformed) };
        }
        let payload = self.sizes.payload_of(record.message.bytes, packet.index.into());
        let well_formed = packet.index < record.packets
            && packet.payload == payload
            && packet.wire == self.sizes.data_wire(payload) + self.expected.telemetry
            && packet.message_bytes == record.message.bytes;
        if !well_formed {
            return fail(Broken::Malformed);
        }
        // Only senders that need permission say of a packet that it goes without.
        record.receiver_driven |= packet.flags.has_all(PacketFlags::UNSCHEDULED);
        if !record.claim_window(packet.count) {
            return fail(Broken::WrongWindow);
        }
        if self.expected.credits {
            return record.spends_credit(packet, self.expected.bursts).map_or(Ok(()), fail);
        }
        if self.expected.bytes != ByteBooks::None {
            let window = (self.expected.bytes == ByteBooks::Window).then_some(record.widest);
            let broken = record.bytes.check_departure(now, packet, self.path.base_rtt, window);
            return broken.map_or(Ok(()), fail);
        }
        if self.pulls {
            return record.pulls.check_departure(now, packet, self.path.base_rtt).map_or(Ok(()), fail);
        }
        if self.expected.subflows {
            record.subflows.count_departure(packet);
            let allowed = packet.index < record.subflows.most_sent(packet.count);
            return if allowed { Ok(()) } else { fail(Broken::Unauthorised) };
        }
        // A pool comes into being with the first credit that a receiver gives to the pair instead of to a
        // message.
        if let Some(pool) = self.pools.get_mut(&(packet.src, packet.dst)) {
            let first = record.sent.insert(packet.index);
            let broken = if first { Broken::Unauthorised } else { Broken::Overspent };
            return if pool.pay_credit(packet) { Ok(()) } else { fail(broken) };
        }
        if record.sent.insert(packet.index) && !record.is_permitted(packet, &self.expected) {
            return fail(Broken::Unauthorised);
        }
        if !record.can_afford(packet) {
            return fail(Broken::Overspent);
        }
        Ok(())
    }

    /// A packet reaches its destination.
    pub fn record_arrival(&mut self, packet: &Packet) {
        let key = Self::key_of(packet);
        let Some(record) = self.records.get_mut(&key) else { return };
        // Kinds without a count concern one packet.
        let named = packet.index..packet.index.saturating_add(packet.count.max(1));
        if self.expected.bytes != ByteBooks::None && packet.dst == key.0 {
            return record.bytes.count_answer(packet);
        }
        record.answered |= matches!(packet.kind, PacketKind::Ack | PacketKind::Nack);
        match packet.kind {
            PacketKind::Data => {
                let new = record.arrived.insert(packet.index);
                record.arrived_bytes += if new { u64::from(packet.payload) } else { 0 };
            }
            // Before the next arm, which such a grant fits as well.
            PacketKind::Grant if packet.flags.has_all(PacketFlags::PULL.with(PacketFlags::UNSCHEDULED)) => {
                record.receiver_driven = true;
                // The number is a total, so that a grant that was overtaken by a later one adds nothing.
                let pool = self.pools.entry((packet.dst, packet.src)).or_default();
                pool.number = pool.number.max(packet.token);
            }
            PacketKind::Grant if packet.flags.has_all(PacketFlags::PULL) => {
                record.raise_permission(packet.token)
            }
            // A request for packets that have not arrived permits them, each once more.
            PacketKind::Grant | PacketKind::Token | PacketKind::Resend => {
                record.receiver_driven = true;
                record.permitted += u64::from(packet.count.max(1));
                record.named.extend(named);
            }
            PacketKind::Credit => {
                // A credit that the network repeats is still one credit.
                record.credits.entry(packet.token).or_insert(true);
            }
            PacketKind::Ack if self.expected.subflows => record.subflows.count_answer(packet),
            PacketKind::Ack if self.pulls => {
                record.acked.insert(packet.index);
                record.pulls.count_answer(packet);
            }
            PacketKind::Ack => {
                let before = record.acked.len();
                record.acked.insert(packet.index);
                // Cumulative and selective acknowledgements, where a protocol has them.
                record.hears_in_sequence(packet.count);
                packet.sack_blocks().for_each(|block| record.acked.extend(block));
                record.repeated_acks += u32::from(record.acked.len() == before);
            }
            PacketKind::Nack | PacketKind::Pull => {
                // Packets that have arrived in sequence, where a protocol puts their number in this field too.
                record.hears_in_sequence(packet.count);
                record.pulls.count_answer(packet);
            }
            PacketKind::Header if packet.flags.has_all(PacketFlags::BOUNCED) => {
                record.pulls.count_answer(packet)
            }
            // Announcements, requests and refusals permit nothing of themselves.
            _ => {}
        }
    }

    /// `host` tells its application something.
    pub fn check_event(&mut self, now: Time, host: HostId, event: &EndpointEvent) -> Result<(), Violation> {
        let fail = |broken| Err(Violation { broken, at: now, detail: format!("host {}: {event:?}", host.0) });
        let (tag, key) = match *event {
            EndpointEvent::Delivered { tag, src, message, .. }
            | EndpointEvent::Completed { tag, src, message } => (tag, (src, host, message)),
            EndpointEvent::Acknowledged { tag } | EndpointEvent::Failed { tag, .. } => {
                // These events carry the handle alone, which no two messages of a plan share.
                let own = |(k, r): (&Key, &Record)| (k.0 == host && r.message.tag == tag).then_some(*k);
                let Some(key) = self.records.iter().find_map(own) else { return fail(Broken::Unknown) };
                (tag, key)
            }
        };
        let Some(record) = self.records.get_mut(&key).filter(|r| r.message.tag == tag) else {
            return fail(Broken::Unknown);
        };
        match *event {
            EndpointEvent::Delivered { bytes, .. } => {
                record.delivered += u64::from(bytes);
                if record.completed || record.delivered > record.arrived_bytes {
                    return fail(Broken::DeliveredTooMuch);
                }
            }
            EndpointEvent::Completed { .. } => {
                if record.completed {
                    return fail(Broken::CompletedAgain);
                }
                let whole = record.arrived.len() as u32 == record.packets;
                if !whole || record.delivered != record.message.bytes {
                    return fail(Broken::CompletedShort);
                }
                record.completed = true;
                record.completed_at = Some(now);
            }
            EndpointEvent::Acknowledged { .. } => {
                if record.acknowledged {
                    return fail(Broken::AcknowledgedAgain);
                }
                // A sender cannot know it before the receiver does.
                if !record.completed {
                    return fail(Broken::AcknowledgedEarly);
                }
                record.acknowledged = true;
                self.unfinished -= 1;
            }
            EndpointEvent::Failed { .. } => return fail(Broken::GaveUp),
        }
        Ok(())
    }

    /// Nothing is scheduled any more; `live` is the number of messages that each machine still holds.
    pub fn check_finish(&self, now: Time, live: &[usize]) -> Result<(), Violation> {
        let fail = |broken, detail| Err(Violation { broken, at: now, detail });
        if let Some((key, record)) = self.records.iter().find(|(_, r)| !r.completed || !r.acknowledged) {
            let progress = format!(
                "{key:?}: {} of {} packets arrived, completed: {}, acknowledged: {}",
                record.arrived.len(),
                record.packets,
                record.completed,
                record.acknowledged
            );
            return fail(Broken::Hang, progress);
        }
        if live.iter().any(|&n| n > 0) {
            return fail(Broken::StateLeft, format!("live messages by host: {live:?}"));
        }
        Ok(())
    }

    /// The run was stopped after too many events.
    pub fn endless_violation(&self, now: Time, events: u64) -> Violation {
        let broken = if self.unfinished > 0 { Broken::Endless } else { Broken::NeverQuiet };
        Violation { broken, at: now, detail: format!("{} unfinished after {events} events", self.unfinished) }
    }
}

impl Record {
    /// True if a first window of `count` packets is the one claimed before and no wider than allowed.
    fn claim_window(&mut self, count: u32) -> bool {
        let limit = self.first_window.filter(|_| self.receiver_driven).unwrap_or(u32::MAX);
        *self.claimed.get_or_insert(count) == count && count <= limit
    }

    /// The sender hears that the first `count` packets have arrived.
    fn hears_in_sequence(&mut self, count: u32) {
        // Not every protocol counts packets in sequence here, so that the number may be beyond the message.
        let end = count.min(self.packets);
        self.acked.extend(self.in_sequence..end);
        self.in_sequence = self.in_sequence.max(end);
    }

    /// A permission whose number counts all packets from the beginning of the message: one that comes late,
    /// or again, permits nothing. A sender may choose the packets, but goes no further than that number.
    fn raise_permission(&mut self, number: u32) {
        self.receiver_driven = true;
        let before = self.number.max(self.claimed.unwrap_or(0));
        if number > before {
            self.permitted += u64::from(number - before);
            self.named.extend(before..number.min(self.packets));
            self.number = number;
        }
    }

    /// Conservation: packets that may leave for the first time.
    ///
    /// Packets of the first window (`count` of every data packet says how many), then packets named by permissions that
    /// have arrived. A sender that hears acknowledgements instead of permissions has a window: at most `count` packets
    /// sent and not acknowledged. A window that grows does so by at most one packet for each acknowledged one, as in
    /// slow start; and an acknowledgement without news says that a packet has left the network, so that one more may
    /// enter it. Where grants name no packets, they count: new packets beyond the first window are as many as
    /// permitted. A sender whose rate is its only bound may send anything once it is answered. Interchangeable credits
    /// are counted apart ([`Record::spends_credit`]), and so are pulls and subflows; a protocol whose permissions are
    /// none of these states its rule here.
    fn is_permitted(&self, packet: &Packet, expected: &Expected) -> bool {
        let unscheduled = packet.index < packet.count;
        if self.receiver_driven && !expected.grants_name {
            return unscheduled || self.sent.range(packet.count..).count() as u64 <= self.permitted;
        }
        if self.receiver_driven {
            return unscheduled || self.named.contains(&packet.index);
        }
        let (acked, first_window) = (self.acked.len(), packet.count as usize);
        if expected.window_grows {
            // Such a sender takes packets in order: the bound is one on the position as well.
            return (packet.index as usize) < first_window + 2 * acked + self.repeated_acks as usize;
        }
        let window = match expected.bound {
            Bound::FirstWindow => first_window,
            Bound::WidestWindow => first_window.max(self.widest as usize),
            Bound::Rate if self.answered => return true,
            Bound::Rate => first_window,
        };
        unscheduled || self.sent.len() <= acked.saturating_add(window)
    }

    /// Conservation where permissions are numbers instead of names: each packet, first or repeated, takes one that has
    /// come and was not used, but for packets of a first window, where there is one, that leave for the first time.
    fn spends_credit(&mut self, packet: &Packet, bursts: bool) -> Option<Broken> {
        let first = self.sent.insert(packet.index);
        if !bursts && packet.count > 0 {
            return Some(Broken::WrongWindow);
        }
        if bursts && packet.flags.has_all(PacketFlags::UNSCHEDULED) {
            let free = packet.index < packet.count;
            let broken = if free { Broken::Overspent } else { Broken::Unauthorised };
            return (!first || !free).then_some(broken);
        }
        match self.credits.get_mut(&packet.token) {
            Some(unused) if *unused => {
                *unused = false;
                None
            }
            _ => Some(if first { Broken::Unauthorised } else { Broken::Overspent }),
        }
    }

    /// Conservation: packets that may leave at all. Each permission is used once; one that the network
    /// repeats counts twice, because a sender cannot tell it from one given again.
    fn can_afford(&mut self, packet: &Packet) -> bool {
        // The sender may repeat packet 0 by itself: a receiver that has heard nothing cannot ask for it.
        if packet.index > 0 || !packet.flags.has_all(PacketFlags::AGAIN) {
            self.spent += 1;
        }
        !self.receiver_driven || self.spent <= u64::from(packet.count) + self.permitted
    }
}

/// Time in which a message of `packets` packets crosses an empty path.
pub fn ideal_time(plan: &Plan, bytes: u64) -> Time {
    NIC.time_of(Sizes::default().message_wire(bytes)) + plan.delay_time()
}
