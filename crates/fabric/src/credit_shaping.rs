//! Credit shaping: a small queue of credits that a token bucket lets through, before an ordinary one of data.
//!
//! Source: ExpressPass §3. Each credit that passes a port brings one full data packet back over the same link,
//! so that credits get the share of the link which leaves just enough for that data: 84 of every 84 + 1538 bytes.
//! Credits that find their queue full are dropped, in the place of the data they would have brought. Credits go
//! first whenever the bucket lets them; all other control travels with the data. This is exact where routes are
//! symmetric, `routing = "symmetric"`. Deliberate differences, and the reasons:
//!
//! * The bucket of the authors' simulator counts whole bytes and waits as long as the missing ones take; here
//!   nothing is rounded but the time of a packet.
//! * The packet on the wire does not count against a buffer, as with every other discipline here.

use crate::Need;
use crate::discipline::{Arrival, Departing, Discipline, PortContext, Space};
use crate::{Buffer, DisciplineInfo, DropReason, Lengths, Limit};
use headway_packet::{Packet, PacketKind, Sizes};
use headway_params::ParamKind;
use headway_primitives::TokenBucket;
use headway_units::Time;
use std::collections::VecDeque;

headway_params::params! {
    /// Parameters of credit shaping.
    pub struct CreditShapingParams {
        /// Credits of usual size that wait at most; their bytes are what counts.
        credit_queue: u64 = 8, ParamKind::Int { min: 1, max: 1_000_000 };
        /// Credits of usual size that may follow each other without a gap: the depth of the token bucket.
        credit_burst: u64 = 2, ParamKind::Int { min: 1, max: 1_000_000 };
        /// Bytes of a usual credit, framing included; 0 = those of a control packet. The mean, where sizes vary.
        credit_bytes: u64 = 0, ParamKind::Bytes { min: 0, max: 16_384 };
    }
}

/// Class of credits, and of everything else.
const CREDITS: usize = 0;
const DATA: usize = 1;

/// Data packets that a port holds when a scenario does not say: those of the authors' scripts.
const DATA_PACKETS: u32 = 250;

/// See the module.
#[derive(Clone, Debug)]
pub struct CreditShaping(
    /// Apart, so that ports of other disciplines do not carry it along.
    Box<Shaper>,
);

#[derive(Clone, Debug)]
struct Shaper {
    bucket: TokenBucket,
    /// Sizes of the credits that wait.
    waiting: VecDeque<u16>,
    bytes: u64,
    limit: u64,
}

impl Discipline for CreditShaping {
    type Params = CreditShapingParams;
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "credit-shaping",
        summary: "a short queue of credits at the rate whose data fills the link, before a queue of everything else",
        paper: "ExpressPass, SIGCOMM 2017 §3",
        rewrites: &[],
        needs: &[Need::Shaping],
    };

    fn new(params: &CreditShapingParams, port: &PortContext) -> Self {
        let credit = match params.credit_bytes {
            0 => u64::from(port.sizes.control).max(1),
            bytes => bytes,
        };
        let full = u64::from(port.sizes.full_wire());
        let bucket = TokenBucket::of_link(port.rate, credit, full, credit * params.credit_burst);
        let limit = credit * params.credit_queue;
        CreditShaping(Box::new(Shaper { bucket, waiting: VecDeque::new(), bytes: 0, limit }))
    }

    /// Requests, stops and negative acknowledgements have as much room as data has.
    fn buffer(_: &CreditShapingParams, _: &Sizes, space: Space) -> Buffer {
        let data = space.data.unwrap_or(Limit::Packets(DATA_PACKETS));
        Buffer { data, control: space.control.unwrap_or(data) }
    }

    fn classes(&self) -> usize {
        2
    }

    #[inline]
    fn class_of(&self, packet: &Packet) -> usize {
        if packet.kind == PacketKind::Credit { CREDITS } else { DATA }
    }

    fn admit(
        &mut self,
        port: &PortContext,
        arrival: &Arrival,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        if packet.kind != PacketKind::Credit {
            return Ok(());
        }
        let shaper = &mut *self.0;
        let bytes = shaper.bytes + u64::from(packet.wire);
        // Credits that the buffer for control cannot hold must not be counted as waiting either.
        let room = port.buffer.control.admits(arrival.packets, arrival.bytes, packet.wire);
        if bytes > shaper.limit || !room {
            return Err(DropReason::ControlFull);
        }
        shaper.bytes = bytes;
        shaper.waiting.push_back(packet.wire);
        Ok(())
    }

    const CHOOSES: bool = true;
    const SHAPES: bool = true;

    #[inline]
    fn choose(&mut self, now: Time, occupied: u32) -> usize {
        // Data fills the link while credits wait for tokens.
        let credits = occupied & (1 << CREDITS) != 0 && self.0.eligible_at() <= now;
        if credits { CREDITS } else { DATA }
    }

    #[inline]
    fn eligible_at(&self, occupied: u32) -> Time {
        // Data may start at any time; only credits on their own wait for tokens.
        if occupied & (1 << DATA) != 0 { Time::ZERO } else { self.0.eligible_at() }
    }

    fn discard<L: Lengths>(&mut self, _: Time, _: &L, packet: &Packet) {
        if packet.kind == PacketKind::Credit
            && let Some(bytes) = self.0.waiting.pop_front()
        {
            self.0.bytes -= u64::from(bytes);
        }
    }

    fn retune(&mut self, now: Time, fresh: Self) {
        self.0.bucket.retime(now, &fresh.0.bucket);
    }

    fn depart(&mut self, departing: &Departing, packet: &mut Packet) {
        if packet.kind == PacketKind::Credit {
            let shaper = &mut *self.0;
            // A host's own link takes credits that never waited here.
            if let Some(bytes) = shaper.waiting.pop_front() {
                shaper.bytes -= u64::from(bytes);
            }
            shaper.bucket.take(departing.now, packet.wire.into());
        }
    }
}

impl Shaper {
    /// Time at which the first credit that waits may leave.
    #[inline]
    fn eligible_at(&self) -> Time {
        self.waiting.front().map_or(Time::ZERO, |&bytes| self.bucket.eligible_at(bytes.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{self, AnyDiscipline};
    use crate::testing::PacketPool;
    use crate::{Packets, Port};
    use headway_packet::HostId;
    use headway_params::ParamValue;
    use headway_units::Rate;

    /// Handles below 100 are data packets, those below 200 requests, all others credits.
    fn pool() -> PacketPool {
        let packet = |i: u32| {
            let kind = match i {
                0..100 => PacketKind::Data,
                100..200 => PacketKind::Rts,
                _ => PacketKind::Credit,
            };
            let mut packet = Packet::new(kind, HostId(0), HostId(1), i);
            packet.wire = if i < 100 { 1538 } else { 84 };
            packet
        };
        PacketPool((0..300).map(packet).collect())
    }

    fn port(params: &[(&str, u64)], space: Space) -> Port<u32> {
        let params: Vec<_> = params.iter().map(|(k, v)| (k.to_string(), ParamValue::Int(*v))).collect();
        let sizes = Sizes::default();
        let buffer =
            registry::buffer("credit-shaping", &params, &sizes, space).expect("known").expect("valid");
        let context =
            PortContext { rate: Rate::gbps(10), sizes, buffer, seed: 0, round_trip: None, to_host: false };
        let rules = AnyDiscipline::make("credit-shaping", &params, &context).expect("known").expect("valid");
        Port::new(rules, context.into())
    }

    /// Packets that leave, and the start of each transmission, in bytes of wire time.
    fn departures(port: &mut Port<u32>, pool: &mut PacketPool) -> Vec<(u32, u64)> {
        let mut out = Vec::new();
        while let Some(start) = port.next_start() {
            let departure = port.next(start, pool).expect("it may leave");
            out.push((departure.handle, start.0 / 800));
        }
        port.check().expect("identities");
        out
    }

    #[test]
    fn credits_leave_two_at_once_and_then_one_for_each_data_packet() {
        let (mut port, mut pool) = (port(&[], Space::default()), pool());
        for handle in 200..205 {
            assert!(!port.can_bypass(), "credits go past no queue");
            port.offer(Time::ZERO, handle, &mut pool).expect("room");
        }
        let expected = [(200, 0), (201, 84), (202, 1622), (203, 2 * 1622), (204, 3 * 1622)];
        assert_eq!(departures(&mut port, &mut pool), expected);
    }

    #[test]
    fn data_fills_what_credits_leave_and_both_fill_the_wire() {
        let (mut port, mut pool) = (port(&[("credit_burst", 1)], Space::default()), pool());
        for handle in (200..204).chain(1..4) {
            port.offer(Time::ZERO, handle, &mut pool).expect("room");
        }
        let slot = 1622;
        let expected = [
            (200, 0),
            (1, 84),
            (201, slot),
            (2, slot + 84),
            (202, 2 * slot),
            (3, 2 * slot + 84),
            (203, 3 * slot),
        ];
        assert_eq!(departures(&mut port, &mut pool), expected);
    }

    #[test]
    fn a_credit_that_is_held_back_lets_later_data_go_first() {
        let (mut port, mut pool) = (port(&[("credit_burst", 1)], Space::default()), pool());
        port.offer(Time::ZERO, 200, &mut pool).expect("room");
        port.next(Time::ZERO, &mut pool).expect("the bucket is full");
        port.offer(Time::ZERO, 201, &mut pool).expect("room");
        assert_eq!(port.next_start(), Some(Time(1622 * 800)));
        port.offer(Time(700_000), 1, &mut pool).expect("room");
        assert_eq!(port.next_start(), Some(Time(84 * 800)), "since then the wire is free");
        assert_eq!(port.next(Time(700_000), &mut pool).map(|d| d.handle), Some(1));
        assert_eq!(port.next_start(), Some(Time(700_000 + 1538 * 800)), "the credit waits for the data");
    }

    #[test]
    fn only_credits_fill_the_credit_queue_which_counts_bytes() {
        let (mut port, mut pool) = (port(&[], Space::default()), pool());
        port.transmit_idle(Time::ZERO, pool.packet(0));
        for handle in (100..140).chain(200..208) {
            assert!(port.offer(Time(1), handle, &mut pool).is_ok(), "{handle}");
        }
        assert!(port.offer(Time(1), 208, &mut pool).is_err());
        assert!(port.offer(Time(1), 1, &mut pool).is_ok());
        assert_eq!(port.counters().dropped, [0, 1, 0, 0, 0, 0]);
        let left = departures(&mut port, &mut pool);
        assert_eq!(left.len(), 49);
        // Nine credits of 76 bytes are 684, more than eight of 84; eight of 76 leave no room for one of 84.
        let (mut port, mut pool) = (super::tests::port(&[], Space::default()), super::tests::pool());
        port.transmit_idle(Time::ZERO, pool.packet(0));
        (200..208).for_each(|handle| pool.packet(handle).wire = 76);
        assert!((200..208).all(|handle| port.offer(Time(1), handle, &mut pool).is_ok()));
        assert!(port.offer(Time(1), 208, &mut pool).is_err());
        pool.packet(209).wire = 64;
        assert!(port.offer(Time(1), 209, &mut pool).is_ok(), "672 bytes in all");
    }

    #[test]
    fn control_without_room_is_not_counted_as_waiting() {
        let space = Space { data: None, control: Some(Limit::Packets(3)) };
        let (mut port, mut pool) = (port(&[], space), pool());
        port.transmit_idle(Time::ZERO, pool.packet(0));
        let fits =
            |port: &mut Port<u32>, pool: &mut PacketPool, handle| port.offer(Time(1), handle, pool).is_ok();
        let admitted: Vec<bool> =
            [200, 100, 201, 202, 101].into_iter().map(|h| fits(&mut port, &mut pool, h)).collect();
        assert_eq!(admitted, [true, true, true, false, false]);
        assert_eq!(departures(&mut port, &mut pool).len(), 3);
    }

    #[test]
    fn larger_credits_take_their_own_share() {
        let (mut port, mut pool) =
            (port(&[("credit_bytes", 88), ("credit_burst", 1)], Space::default()), pool());
        for handle in 200..203 {
            pool.packet(handle).wire = 88;
            port.offer(Time::ZERO, handle, &mut pool).expect("room");
        }
        assert_eq!(departures(&mut port, &mut pool), [(200, 0), (201, 1626), (202, 2 * 1626)]);
    }
}
