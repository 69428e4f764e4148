//! Time of flows by cause ([`TimeByCause`]), for runs that record it.
//!
//! Each packet in flight has a [`Trip`] of its own, and each flow that has begun an account at its sender's shard. A
//! packet that leaves its sender takes along the state of the account then; links add to the trip their own times for
//! the packet. When a packet completes its message, its trip is the answer. No part is a difference of two that were
//! measured apart: each span of time is added where it begins and ends, so that the sum is exact.
//!
//! A run that does not ask has none of this, and executes no instruction of it: everything here is called where links are
//! [special](crate::links::Links), or once a message.

use headway_network::TimeByCause;
use headway_packet::{Packet, PacketFlags};
use headway_units::Time;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// State of a host's link.
#[derive(Clone, Default)]
struct Wire {
    /// Time at which it is free of all that was given to it.
    free: Time,
    /// Time that it was taken until then, or that packets for it waited for the processor while it was idle.
    taken: Time,
    /// Times at which the packets were pulled that wait for the processor or for the packets before them.
    pulled: VecDeque<Time>,
    /// The flow whose packet left last, if its account is here, and the part to which its time went.
    last: Option<(u32, Part)>,
}

/// A part of a flow's time, for a packet on its sender's link.
#[derive(Clone, Copy)]
enum Part {
    Retransmit,
    Serialise,
    Wait,
}

impl Part {
    fn of(self, by_cause: &mut TimeByCause) -> &mut Time {
        match self {
            Part::Retransmit => &mut by_cause.retransmit,
            Part::Serialise => &mut by_cause.serialise,
            Part::Wait => &mut by_cause.wait,
        }
    }
}

impl Wire {
    /// Time taken until `now`, which may be in the middle of something.
    fn taken_until(&self, now: Time) -> Time {
        // An idle wire counts as taken while the first packet in line waits for the processor.
        let prepared = self.pulled.front().map_or(Time::ZERO, |at| now.saturating_sub((*at).max(self.free)));
        // `taken` covers all until `free`, which may lie ahead: work beyond `now` does not count yet.
        self.taken.saturating_sub(self.free.saturating_sub(now)) + prepared
    }
}

/// The account of a flow at its sender.
struct Account {
    host: u32,
    /// Time until which its time has been recorded.
    until: Time,
    /// Time for which the link of the host was taken until then.
    taken: Time,
    by_cause: TimeByCause,
}

/// Record of a packet since it left its sender, and of its flow before that.
#[derive(Clone, Copy, Default)]
pub(crate) struct Trip {
    by_cause: TimeByCause,
    /// Earliest time at which the next link may begin with it.
    at: Time,
    /// On the link that it is on: when its first bit left, its last bit, and the last bit as the link's jitter has it.
    start: Time,
    ends: Time,
    left: Time,
}

/// A packet starts on a link.
pub(crate) struct Departure<'p> {
    pub(crate) link: u32,
    pub(crate) handle: u32,
    pub(crate) packet: &'p Packet,
    pub(crate) start: Time,
    pub(crate) ends: Time,
    /// Time at which its last bit leaves if the host is not punctual.
    pub(crate) left: Time,
}

/// See the module.
pub(crate) struct Attribution {
    /// Wires by host.
    wires: Vec<Wire>,
    /// Accounts of flows whose sender is in this shard, and that have begun.
    accounts: FxHashMap<u32, Account>,
    /// Trips by handle.
    trips: Vec<Trip>,
    /// Time by cause of flows whose bytes are all there.
    complete: FxHashMap<u32, TimeByCause>,
    /// Trips of packets that leave for other shards, by shard, in the order of their messages.
    post: Vec<Vec<Trip>>,
    /// Trips of packets that have come from other shards, by shard.
    pub(crate) inbox: Vec<Vec<Trip>>,
}

impl Attribution {
    pub(crate) fn new(hosts: u32, shards: usize) -> Attribution {
        let empty = || (0..shards).map(|_| Vec::new()).collect();
        Attribution {
            wires: vec![Wire::default(); hosts as usize],
            accounts: FxHashMap::default(),
            trips: Vec::new(),
            complete: FxHashMap::default(),
            post: empty(),
            inbox: empty(),
        }
    }

    /// A flow that began at `start` is handed to the machine of its host.
    pub(crate) fn open(&mut self, flow: u32, host: u32, start: Time, now: Time) {
        let by_cause = TimeByCause { host: now - start, ..TimeByCause::default() };
        let taken = self.wires[host as usize].taken_until(now);
        self.accounts.insert(flow, Account { host, until: now, taken, by_cause });
    }

    /// A packet is pulled from a machine and will wait for the processor of its host.
    pub(crate) fn pulled(&mut self, host: u32, now: Time) {
        self.wires[host as usize].pulled.push_back(now);
    }

    /// It was lost to a link that is down instead.
    pub(crate) fn refused(&mut self, host: u32, until: Time) {
        let wire = &mut self.wires[host as usize];
        if let Some(at) = wire.pulled.pop_front() {
            let began = at.max(wire.free);
            // The processor worked on it until then, so its flow's sender was not idle.
            wire.taken += until.saturating_sub(began);
            wire.free = wire.free.max(until);
        }
    }

    /// A packet starts on a link.
    pub(crate) fn depart(&mut self, departure: &Departure<'_>) {
        let Departure { link, handle, start, ends, left, .. } = *departure;
        // The first links are those of hosts, so that a packet on one of them begins its trip there.
        let sent = ((link as usize) < self.wires.len()).then(|| self.leave(departure));
        let trip = self.trip(handle);
        match sent {
            Some(by_cause) => trip.by_cause = by_cause,
            None => {
                // Cannot fall below zero: no link begins with a packet before `at`, which `arrive` has set.
                let waited = start - trip.at;
                trip.by_cause.queue += waited;
                let longest = trip.by_cause.held.map_or(Time::ZERO, |(_, longest)| longest);
                // Only the longest wait is named: it is the link to look at first.
                if waited > longest {
                    trip.by_cause.held = Some((link, waited));
                }
            }
        }
        (trip.start, trip.ends, trip.left) = (start, ends, left);
    }

    /// A packet leaves a host: returns the record of its flow until now.
    fn leave(&mut self, departure: &Departure<'_>) -> TimeByCause {
        let Departure { link: host, packet, start, ends, .. } = *departure;
        let wire = &mut self.wires[host as usize];
        if let Some(at) = wire.pulled.pop_front() {
            // While the packet waits for the processor, an idle wire counts as taken.
            wire.taken += start - at.max(wire.free).min(start);
        }
        // The packet before was lost to a link that went down and came up again before its end.
        let cut = wire.free.saturating_sub(start);
        if cut > Time::ZERO {
            wire.taken = wire.taken - cut;
            if let Some((account, part)) =
                wire.last.and_then(|(flow, part)| Some((self.accounts.get_mut(&flow)?, part)))
            {
                let told = part.of(&mut account.by_cause);
                *told = *told - cut;
                (account.until, account.taken) = (start, account.taken - cut);
            }
        }
        let before = wire.taken;
        wire.taken += ends - start;
        (wire.free, wire.last) = (ends, None);
        // Answers to a flow leave the host that receives it.
        let Some(account) = self.accounts.get_mut(&packet.tag).filter(|account| account.host == host) else {
            return TimeByCause::default();
        };
        let by_cause = &mut account.by_cause;
        // The link served other flows for so long since the account's last entry; the rest of the span it was idle.
        let others = before - account.taken;
        let idle = start - account.until - others;
        let again = packet.flags.has_all(PacketFlags::AGAIN);
        by_cause.host += others;
        // A gap before a retransmission is what the loss cost, such as a timeout. Before other packets, the sender
        // waited for permission.
        *if again { &mut by_cause.retransmit } else { &mut by_cause.wait } += idle;
        let sent = *by_cause;
        let part = match packet.is_data() {
            true if again => Part::Retransmit,
            true => Part::Serialise,
            // A sender's control packets ask for permission: they are part of waiting for it.
            false => Part::Wait,
        };
        *part.of(by_cause) += ends - start;
        wire.last = Some((packet.tag, part));
        (account.until, account.taken) = (ends, wire.taken);
        sent
    }

    /// A packet will be at the far end of its link: its last bit at `arrives`, and the bits that the next link needs to
    /// begin at `at`.
    pub(crate) fn arrive(&mut self, handle: u32, arrives: Time, at: Time) {
        let trip = self.trip(handle);
        // Cut-through: the next link may begin before the last bit, and has that part of the serialisation.
        trip.by_cause.serialise += trip.ends - trip.start - (arrives - at);
        trip.by_cause.host += trip.left - trip.ends;
        trip.by_cause.propagate += arrives - trip.left;
        trip.at = at;
    }

    /// A fault makes a second packet of one.
    pub(crate) fn copy(&mut self, handle: u32, copy: u32) {
        let trip = *self.trip(handle);
        *self.trip(copy) = trip;
    }

    /// A packet goes to another shard.
    pub(crate) fn mail(&mut self, handle: u32, shard: u8) {
        let trip = *self.trip(handle);
        self.post[usize::from(shard)].push(trip);
    }

    /// Trips for a shard, which are to be put into its inbox.
    pub(crate) fn outgoing(&mut self, shard: usize) -> &mut Vec<Trip> {
        &mut self.post[shard]
    }

    /// A packet has come from another shard.
    pub(crate) fn receive(&mut self, handle: u32, trip: Trip) {
        *self.trip(handle) = trip;
    }

    /// All bytes of a flow are there since this packet of it is.
    pub(crate) fn complete(&mut self, flow: u32, handle: u32) {
        let by_cause = self.trip(handle).by_cause;
        // Only the first completion counts; a packet that is repeated later changes nothing.
        self.complete.entry(flow).or_insert(by_cause);
    }

    /// Time of a flow by cause, if it is complete.
    pub(crate) fn of(&self, flow: u32) -> Option<TimeByCause> {
        self.complete.get(&flow).copied()
    }

    fn trip(&mut self, handle: u32) -> &mut Trip {
        let handle = handle as usize;
        if handle >= self.trips.len() {
            self.trips.resize(handle + 1, Trip::default());
        }
        &mut self.trips[handle]
    }
}
