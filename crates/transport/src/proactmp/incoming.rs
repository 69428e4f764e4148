//! One message at its receiver.

use super::packets::{Data, Grant, Pull, Resend};
use super::params::{Owd, Settings};
use super::paths::PathList;
use super::{Key, Shared, TimerKey, subflow_label};
use crate::endpoint::Path;
use crate::index_window::IndexWindow;
use crate::probes::{self, Sink};
use headway_gauges::GaugeInfo;
use headway_packet::{Packet, PacketFlags, TypedView};
use headway_units::Time;

crate::state_machine! {
    /// A message at its receiver.
    "receiver message" pub(super) enum ReceiverState on ReceiverEvent {
        Requested { Data => Active, Overdue => Requested, Last => Done }
        Active { Data => Active, Overdue => Active, Last => Done }
        Done {}
    }
    events { Data, Overdue, Last }
}

/// Round trip that time-outs follow from. ProactMP §III
pub(super) const LONGEST_ROUND_TRIP: GaugeInfo = GaugeInfo::seconds(
    "longest_rtt_s",
    "longest round trip",
    "the longest smoothed round trip of the sender's subflows, as the receiver was told it",
);

/// A message being received.
pub(super) struct Incoming {
    packets: u32,
    bytes: u64,
    payload: u64,
    tag: u32,
    pub(super) state: ReceiverState,
    /// Packets sent without credit.
    pub(super) window: u32,
    pub(super) received: IndexWindow,
    /// One past the last packet that has arrived.
    high: u32,
    /// Payload that has arrived.
    pub(super) held: u64,
    /// Packets permitted, from the beginning of the message.
    granted: u32,
    /// True if unscheduled packets took credit. See `charge_unscheduled`
    charged: bool,
    pub(super) paths: PathList,
    pub(super) owd: Owd,
    pub(super) path: Path,
    /// Age among this host's messages.
    pub(super) age: u64,
    /// True if it waits for credit.
    pub(super) waiting: bool,
    /// Subflows that both ends allow.
    allowed: u32,
    /// The sender's longest smoothed round trip.
    srtt: Time,
    /// Last arrival, or RESEND, or the first permission after everything had arrived.
    since: Time,
    /// Packets that had arrived at an earlier look, and its time.
    looked: (u32, Time),
    /// Packets asked for, and how far others are taken for lost with them.
    asked: (u32, u32),
    suspect: u32,
    backoff: u32,
    /// The one deadline in force; others of this message are left over and mean nothing.
    due: Option<Time>,
}

impl Incoming {
    /// Values for probes: see [`crate::Endpoint::probe_message`].
    pub(super) fn report_probes(&self, found: &mut Sink<'_>) {
        found(&probes::OUTSTANDING, f64::from(self.granted.saturating_sub(self.received.len())));
        if self.srtt > Time::ZERO {
            found(&LONGEST_ROUND_TRIP, self.srtt.as_secs_f64());
        }
    }

    /// State for a message on its first packet, or `None` for one that cannot be.
    pub(super) fn new(settings: &Settings, shared: &Shared, now: Time, packet: &Packet) -> Option<Incoming> {
        let context = &shared.context;
        // Responses and probes say these two where data packets do.
        let Data { window, message_bytes, .. } = Data::from_packet(packet);
        let packets = u32::try_from(context.sizes.packets_of(message_bytes)).ok()?;
        let path = (context.path)(packet.src);
        let window = window.clamp(1, packets);
        Some(Incoming {
            packets,
            bytes: message_bytes,
            payload: context.sizes.payload.into(),
            tag: packet.tag,
            state: ReceiverState::Requested,
            window,
            received: IndexWindow::default(),
            high: 0,
            held: 0,
            granted: window,
            charged: settings.charge_unscheduled,
            paths: PathList::new(packet.entropy),
            owd: settings.one_way_delay(&path, context),
            path,
            age: 0,
            waiting: false,
            allowed: 0,
            srtt: Time::ZERO,
            since: now,
            looked: (0, now),
            asked: (0, 0),
            suspect: 0,
            backoff: 0,
            due: None,
        })
    }

    /// True if its first packet has arrived.
    pub(super) fn has_begun(&self) -> bool {
        self.state != ReceiverState::Requested
    }

    pub(super) fn is_whole(&self) -> bool {
        self.received.len() == self.packets
    }

    /// Payload of packets `from..end`.
    pub(super) fn payload_of(&self, from: u32, end: u32) -> u64 {
        let upto = |n: u32| (u64::from(n) * self.payload).min(self.bytes);
        upto(end) - upto(from)
    }

    /// Bytes not permitted yet.
    pub(super) fn ungranted_bytes(&self) -> u64 {
        self.payload_of(self.granted, self.packets)
    }

    /// Credit that it holds.
    pub(super) fn outstanding_bytes(&self) -> u64 {
        let first = if self.charged { 0 } else { self.window };
        let first = self.received.next_missing(first);
        (first..self.granted).filter(|i| !self.received.contains(*i)).map(|i| self.payload_of(i, i + 1)).sum()
    }

    /// Takes in a packet: the credit that it gives back, or `None` for one that was here already.
    /// ProactMP §III-C4, algorithm 1, line 4
    pub(super) fn store_packet(&mut self, now: Time, packet: &Packet) -> Option<u64> {
        let Data { index, round_trip, .. } = Data::from_packet(packet);
        (self.since, self.srtt) = (now, Time(u64::from(round_trip) * 1000));
        // A sender that keeps to the protocol sends nothing beyond its permissions; such a packet would return credit
        // that was never taken.
        if index >= self.granted || !self.received.insert(index) {
            return None;
        }
        self.state.step(ReceiverEvent::Data);
        self.backoff = 0;
        self.high = self.high.max(index + 1);
        let bytes = self.payload_of(index, index + 1);
        self.held += bytes;
        Some(if index < self.window && !self.charged { 0 } else { bytes })
    }

    /// The option Pro_Capable: how many subflows the sender allows. ProactMP §III-B1
    pub(super) fn agree_subflows(&mut self, settings: &Settings, entropy: u32, theirs: u32) {
        let both = settings.allowed_subflows(&self.path).min(theirs);
        if both > self.allowed {
            self.allowed = both;
            let path = self.path;
            self.paths.extend(both, |number| settings.path_manager.subflow_entropy(entropy, number, &path));
        }
    }

    /// Number of packets that this much credit permits, and their bytes: whole ones, and at most `most`.
    pub(super) fn fitting_packets(&self, credit: u64, most: u32) -> (u32, u64) {
        let left = self.packets - self.granted;
        let count = match credit {
            // The last packet may be shorter than the payload that credit is divided by.
            credit if credit >= self.ungranted_bytes() => left,
            credit => u32::try_from(credit / self.payload.max(1)).unwrap_or(u32::MAX),
        };
        let count = count.min(left).min(most);
        (count, self.payload_of(self.granted, self.granted + count))
    }

    /// Permits `count` more packets.
    pub(super) fn raise_granted(&mut self, now: Time, count: u32) {
        // The sender had nothing to send until now, so that its silence is not counted.
        if self.received.next_missing(0) >= self.granted {
            (self.since, self.looked) = (now, (self.high, now));
        }
        self.granted += count;
    }

    /// A control packet to the sender on the path of `entropy`.
    fn control_packet<V: TypedView>(&self, shared: &Shared, key: Key, view: V, entropy: u32) -> Packet {
        shared.control_view(view, key.0, key.1, self.tag, entropy)
    }

    /// The state of the grants; with `answered`, in answer to that packet. ProactMP §III-C3
    pub(super) fn say_granted(&self, shared: &mut Shared, key: Key, answered: Option<&Packet>) {
        // An answer takes the path of its packet, so that the round trip that it ends is of that subflow.
        let (number, entropy) =
            match answered.map(|packet| super::number_of(Data::from_packet(packet).subflow)) {
                Some(number) => {
                    (number, self.paths.subflow_entropy(number as usize).unwrap_or(self.paths.last_heard().1))
                }
                None => self.paths.last_heard(),
            };
        // A Response has its time in the field where data packets have theirs; as it has no index, that is 0.
        let (index, answers, echo) = match answered.map(Data::from_packet) {
            Some(Data { index, left, .. }) => (index, 1, left),
            None => (0, 0, Time::ZERO),
        };
        let subflow = subflow_label(number, self.allowed);
        let grant = Grant { index, answers, permitted: self.granted, subflow, echo };
        let grant = self.control_packet(shared, key, grant, entropy);
        shared.control.push_back(Packet { flags: PacketFlags::PULL, ..grant });
    }

    /// Asks for the message: the sender may begin. ProactMP §III-A
    pub(super) fn say_request(&self, shared: &mut Shared, key: Key) {
        let (number, entropy) = self.paths.last_heard();
        let request = Pull { window: self.window, subflow: subflow_label(number, self.allowed) };
        shared.control.push_back(self.control_packet(shared, key, request, entropy));
    }

    /// Adds a subflow, if one is wanted. ProactMP §III-B2
    pub(super) fn request_subflow(&mut self, settings: &Settings, shared: &mut Shared, now: Time, key: Key) {
        if self.allowed < 2 || (!settings.always_join && self.ungranted_bytes() <= 2 * self.owd.bytes) {
            return;
        }
        let timeout = self.resend_timeout(settings);
        let Some(number) = self.paths.next_to_join(settings, &self.path, now, timeout) else { return };
        let entropy = self.paths.subflow_entropy(number as usize).unwrap_or(0);
        let request = Pull { window: 0, subflow: subflow_label(number, self.allowed) };
        shared.control.push_back(self.control_packet(shared, key, request, entropy));
    }

    pub(super) fn resend_timeout(&self, settings: &Settings) -> Time {
        settings.resend_timeout(&self.path, self.srtt)
    }

    /// True if something that is permitted has not arrived.
    fn is_missing(&self) -> bool {
        self.received.next_missing(0) < self.granted
    }

    /// Arms this message's one deadline, while anything is missing. ProactMP §III-C5
    pub(super) fn arm_missing_timer(&mut self, settings: &Settings, shared: &mut Shared, key: Key) {
        if !self.is_missing() {
            return;
        }
        let timeout = self.resend_timeout(settings);
        let idle_at = self.since.saturating_add(settings.doubled_timeout(&self.path, timeout, self.backoff));
        // Rescanning is pointless before the next arrival.
        let look = if self.since > self.looked.1 { self.looked.1.saturating_add(timeout) } else { idle_at };
        let at = idle_at.min(look);
        // An armed deadline that comes early looks again.
        if self.due.is_none_or(|due| at < due) {
            shared.timers.arm_deadline(at, TimerKey::Missing(key.0, key.1));
            self.due = Some(at);
        }
    }

    /// The deadline has come. ProactMP §III-C5
    pub(super) fn check_overdue(&mut self, settings: &Settings, shared: &mut Shared, now: Time, key: Key) {
        if self.due.is_none_or(|due| now < due) {
            return;
        }
        self.due = None;
        let timeout = self.resend_timeout(settings);
        if !self.is_missing() {
            return;
        }
        if now >= self.since.saturating_add(settings.doubled_timeout(&self.path, timeout, self.backoff)) {
            (self.since, self.looked) = (now, (self.high, now));
            self.backoff += 1;
            self.suspect = self.granted;
            self.state.step(ReceiverEvent::Overdue);
            if settings.request && !self.has_begun() {
                // Either the Request is lost, or all that came after it.
                self.say_request(shared, key);
            }
            self.request_range(shared, key);
        } else if now >= self.looked.1.saturating_add(timeout) {
            // Packets that arrived a time-out ago were sent after those that are missing below them.
            if self.received.next_missing(0) < self.looked.0 {
                self.suspect = self.looked.0;
                self.state.step(ReceiverEvent::Overdue);
                self.request_range(shared, key);
            }
            self.looked = (self.high, now);
        }
        self.request_subflow(settings, shared, now, key);
        self.arm_missing_timer(settings, shared, key);
    }

    /// Everything unscheduled is missing.
    pub(super) fn ask_for_all(&mut self, shared: &mut Shared, now: Time, key: Key) {
        (self.since, self.suspect) = (now, self.window);
        self.request_range(shared, key);
    }

    /// Asks for the first range that is missing, no longer than OWDbytes. ProactMP §III-C5
    fn request_range(&mut self, shared: &mut Shared, key: Key) {
        let from = self.received.next_missing(0);
        let most = u32::try_from(self.owd.bytes / self.payload.max(1)).unwrap_or(u32::MAX).max(1);
        let limit = self.suspect.min(from.saturating_add(most));
        let end = (from..limit).find(|i| self.received.contains(*i)).unwrap_or(limit);
        self.asked = (from, end);
        if from >= end {
            return;
        }
        let (number, entropy) = self.paths.last_heard();
        let resend =
            Resend { first: from, missing: end - from, subflow: subflow_label(number, self.allowed) };
        shared.control.push_back(self.control_packet(shared, key, resend, entropy));
    }

    /// Once the range asked for is there, requests the next one without waiting.
    pub(super) fn ask_on(&mut self, shared: &mut Shared, key: Key) {
        let (from, end) = self.asked;
        if from < end && self.received.next_missing(from) >= end {
            self.request_range(shared, key);
        }
    }
}
