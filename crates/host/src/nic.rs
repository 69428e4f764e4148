//! The host's own link: a port like any other, on a virtual departure clock.
//!
//! A packet starts when the wire is free and the machine has it, not when the thread gets round to it. What
//! was waiting when the wire became free started then, however late the thread is: a late thread must not
//! look like a gap, because gaps are what the port marks.

use crate::config::Config;
use crate::error::ConfigError;
use headway_fabric::registry::AnyDiscipline;
use headway_fabric::{Buffer, Limit, Need, Offers, Port, PortContext, PortCounters, Rewrite};
use headway_packet::{Packet, Sizes};
use headway_units::{Rate, Time};

/// Packets pass a host's own link one by one, before they are written and sealed, and none waits there: a mark or a rate
/// goes out with the packet, and what disciplines do to packets that wait never happens.
const OFFERS: Offers = Offers {
    driver: "a host's own link",
    rewrites: &[Rewrite::Mark, Rewrite::Rate, Rewrite::Trim, Rewrite::Return],
    needs: &[Need::RoundTrip, Need::Shaping, Need::Displacement],
};

/// Time by which packets may be handed to the kernel early. A system call and a wake-up take a few microseconds: packets
/// shorter than that on the wire are handed over several at a time.
const AHEAD: Time = Time::us(10);

/// Time that a thread takes for a turn in which it handles a batch of packets: a few microseconds for the system calls
/// and the wake-up, and a microsecond for each packet (docs/real-hosts.md). A packet waits for a turn of the other end
/// on average.
pub(crate) const TURN: Time = Time::us(25);

/// Time before its turn on a link of `rate` at which a packet may be handed over: a whole number of full packets,
/// none where one takes longer than [`AHEAD`].
pub(crate) fn lead_time(rate: Rate, sizes: Sizes) -> Time {
    let slot = sizes.slot_time(rate);
    slot.saturating_mul(AHEAD.0 / slot.0.max(1))
}

pub(crate) struct Nic {
    port: Port<()>,
    /// Largest lag of the departure clock.
    catch_up: Time,
    /// Largest lead of the departure clock.
    ahead: Time,
    /// True if the machine had nothing when it was last polled.
    machine_idle: bool,
    /// The first input since then.
    input: Option<Time>,
}

impl Nic {
    pub(crate) fn new(config: &Config, discipline: &str, sizes: Sizes) -> Result<Nic, ConfigError> {
        // Nothing waits in this port: packets are pulled from the machine one by one, when the wire is free.
        let buffer = Buffer { data: Limit::Packets(1), control: Limit::Packets(1) };
        // The configured one: a port has one for all peers, and no measured round trip is there yet.
        let round_trip = Some(config.path.base_rtt);
        let context = PortContext { rate: config.rate(), sizes, buffer, seed: 0, round_trip, to_host: false };
        let found = headway_fabric::registry::find(discipline);
        if let Some(source) = found.and_then(|(info, _)| OFFERS.check(&info).err()) {
            return Err(ConfigError::Unoffered { name: discipline.into(), source });
        }
        let rules = AnyDiscipline::make(discipline, &config.discipline_params, &context)
            .ok_or_else(|| ConfigError::UnknownDiscipline(discipline.into()))?;
        let rules = rules.map_err(|source| ConfigError::Discipline { name: discipline.into(), source })?;
        // At least one packet: a thread is always late by something, and would lose that share of the link.
        let catch_up = sizes.slot_time(config.rate()).saturating_mul(config.catch_up.max(1).into());
        let ahead = lead_time(config.rate(), sizes);
        Ok(Nic { port: Port::new(rules, context.into()), catch_up, ahead, machine_idle: true, input: None })
    }

    /// Notes an input that belongs to the instant `at`.
    pub(crate) fn note_input(&mut self, at: Time) {
        // Only the first counts: what is pulled now was ready then at the earliest.
        self.input.get_or_insert(at);
    }

    /// True if the wire is free for another packet, or nearly.
    pub(crate) fn is_free(&self, now: Time) -> bool {
        // `ahead` only decides when packets are handed over; their departures stay as far apart as the link has
        // them.
        self.port.free_at() <= now.saturating_add(self.ahead)
    }

    /// Time that batches add to a round trip: a turn of each end, where packets travel in batches.
    pub(crate) fn turn_time(&self) -> Time {
        if self.ahead > Time::ZERO { TURN * 2 } else { Time::ZERO }
    }

    /// Time at which the wire is free.
    pub(crate) fn free_at(&self) -> Time {
        self.port.free_at()
    }

    /// Largest lag of departures behind the link.
    pub(crate) fn catch_up(&self) -> Time {
        self.catch_up
    }

    /// The machine has nothing to send.
    pub(crate) fn machine_idle(&mut self) {
        (self.machine_idle, self.input) = (true, None);
    }

    /// Time at which the machine should be polled again without any input: not before the wire is idle, so that several
    /// packets are pulled at once.
    pub(crate) fn next(&self) -> Option<Time> {
        (!self.machine_idle || self.input.is_some()).then(|| self.port.free_at())
    }

    /// Puts a packet on the wire, which is free.
    pub(crate) fn transmit_packet(&mut self, now: Time, packet: &mut Packet) {
        // A machine that was not idle had this packet waiting: it starts when the wire became free.
        let ready = if self.machine_idle { self.input.unwrap_or(now) } else { Time::ZERO };
        let earliest = now.saturating_sub(self.catch_up);
        let start = ready.max(self.port.free_at()).max(earliest);
        (self.machine_idle, self.input) = (false, None);
        self.port.transmit_idle(start, packet);
    }

    pub(crate) fn port_counters(&self) -> PortCounters {
        self.port.counters()
    }
}
