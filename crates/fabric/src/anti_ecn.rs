//! Anti-ECN: a packet keeps its mark only where the port stood idle ahead of it.
//!
//! Source: AMRT §IV-A. Packets start with the bit set; every port ANDs its own finding into it, so one
//! saturated hop clears it for good. Differences from the paper's text, and the reasons:
//!
//! * Equation 1 marks when the start-to-start interval is *at least* MSS/C. Back-to-back full frames
//!   satisfy that exactly, so a saturated link marks everything and its queue grows by a
//!   bandwidth-delay product a round trip. The text of the same section says *greater than*, and that is
//!   the default (`exceeds`), with the time of a full frame on the wire for MSS/C. Equation 1 as printed is
//!   `literal`.
//! * The text also speaks of room for one more packet. A rule that wants a whole idle slot (`full-slot`)
//!   never fills gaps shorter than that; it and `half-slot` are kept for comparison.
//! * Control packets between two data packets take their own time out of the gap: that time is not
//!   spare, and they neither carry nor clear marks.

use crate::discipline::{Departing, Discipline, PortContext};
use crate::{DisciplineInfo, Rewrite};
use headway_packet::{Ecn, Packet};
use headway_params::ParamKind;
use headway_units::Time;

headway_params::choice! {
    /// Rule by which a gap counts as room for one more packet.
    pub enum GapRule {
        /// Start to start more than the time of a full frame: the text of §IV-A. After a full packet that is any idle
        /// time at all, and after a shorter one as much as it lacks.
        Exceeds = "exceeds",
        /// The port was idle for any time at all.
        AnyGap = "any-gap",
        /// Idle for at least half the time of a full packet.
        HalfSlot = "half-slot",
        /// Idle for at least the time of a full packet.
        FullSlot = "full-slot",
        /// Start to start at least the time of `gap_bytes`: equation 1 as printed.
        Literal = "literal",
    }
}

headway_params::params! {
    /// Parameters of anti-ECN marking.
    pub struct AntiEcnParams {
        /// Gaps that keep a mark. AMRT §IV-A eq. 1
        rule: GapRule = GapRule::Exceeds, ParamKind::Choice(GapRule::WORDS);
        /// Bytes of the packet that a gap must have room for; 0 = a full frame, or 1500 under `literal`.
        gap_bytes: u64 = 0, ParamKind::Bytes { min: 0, max: 65_535 };
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct AntiEcn {
    /// Shortest gap that keeps a mark.
    min_gap: Time,
    /// Start of the gap: the end of the last data packet, or its start under a rule that counts from start to start;
    /// later by the control packets since.
    gap_start: Time,
    from_start: bool,
    literal: bool,
    seen_data: bool,
}

impl Discipline for AntiEcn {
    type Params = AntiEcnParams;
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "anti-ecn",
        summary: "control before data, tail drop; data keeps its mark only after an idle gap",
        paper: "AMRT, IEEE TNSM 2022 §IV-A",
        rewrites: &[Rewrite::Mark],
        needs: &[],
    };

    const LIGHT: bool = true;

    fn new(params: &AntiEcnParams, port: &PortContext) -> Self {
        let bytes = match (params.gap_bytes, params.rule) {
            (0, GapRule::Literal) => 1500,
            (0, _) => u64::from(port.sizes.full_wire()),
            (n, _) => n,
        };
        let slot = port.rate.time_of(bytes);
        let min_gap = match params.rule {
            GapRule::AnyGap => Time(1),
            // Rounded up: a gap of less than half a slot must not count.
            GapRule::HalfSlot => Time(slot.0.div_ceil(2)),
            GapRule::FullSlot | GapRule::Literal => slot,
            // A gap of `min_gap` itself counts; one that is longer than a slot is 1 ps more.
            GapRule::Exceeds => Time(slot.0 + 1),
        };
        let literal = params.rule == GapRule::Literal;
        let from_start = literal || params.rule == GapRule::Exceeds;
        AntiEcn { min_gap, gap_start: Time::ZERO, from_start, literal, seen_data: false }
    }

    fn classes(&self) -> usize {
        2
    }

    #[inline]
    fn class_of(&self, packet: &Packet) -> usize {
        usize::from(packet.priority > 0)
    }

    fn retune(&mut self, _: Time, fresh: Self) {
        self.min_gap = fresh.min_gap;
    }

    // AMRT §IV-A
    #[inline]
    fn depart(&mut self, departing: &Departing, packet: &mut Packet) {
        let taken = |skipped: bool| if skipped { Time::ZERO } else { departing.takes };
        if !packet.is_data() {
            self.gap_start += taken(self.literal);
            return;
        }
        // The first data packet of a port follows an endless gap.
        let spare = !self.seen_data || departing.now.saturating_sub(self.gap_start) >= self.min_gap;
        if !spare && packet.ecn == Ecn::Spare {
            packet.ecn = Ecn::NotEct;
        }
        self.seen_data = true;
        self.gap_start = departing.now + taken(self.from_start);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffer, Limit};
    use headway_packet::{HostId, PacketKind, Sizes};
    use headway_units::Rate;

    fn port() -> PortContext {
        let buffer = Buffer { data: Limit::Packets(128), control: Limit::Packets(128) };
        PortContext {
            rate: Rate::gbps(10),
            sizes: Sizes::default(),
            buffer,
            seed: 0,
            round_trip: None,
            to_host: false,
        }
    }

    /// Marks of full data packets whose transmissions start at the given times, in slots of 1/10.
    fn marks(rule: GapRule, tenths: &[u64]) -> Vec<bool> {
        let mut rules = AntiEcn::new(&AntiEcnParams { rule, gap_bytes: 0 }, &port());
        let slot = Rate::gbps(10).time_of(1538);
        tenths
            .iter()
            .map(|&t| {
                let mut packet = data();
                let now = slot * t / 10;
                rules.depart(&Departing { now, takes: slot, data_waiting: 0, data_bytes: 0 }, &mut packet);
                packet.ecn == Ecn::Spare
            })
            .collect()
    }

    fn data() -> Packet {
        let mut packet = Packet::new(PacketKind::Data, HostId(0), HostId(1), 0);
        packet.ecn = Ecn::Spare;
        packet
    }

    #[test]
    fn each_rule_draws_its_line() {
        let starts = [0, 10, 21, 36, 56];
        assert_eq!(marks(GapRule::Exceeds, &starts), [true, false, true, true, true]);
        assert_eq!(marks(GapRule::AnyGap, &starts), [true, false, true, true, true]);
        assert_eq!(marks(GapRule::HalfSlot, &starts), [true, false, false, true, true]);
        assert_eq!(marks(GapRule::FullSlot, &starts), [true, false, false, false, true]);
        assert_eq!(marks(GapRule::Literal, &starts), [true, true, true, true, true]);
    }

    #[test]
    fn the_interval_after_a_short_packet_counts_from_its_start() {
        // Half a slot of data, idle until 0.8 and then until 1.2 slots after its start.
        for (start, exceeds) in [(8, false), (10, false), (12, true)] {
            for (rule, expected) in [(GapRule::Exceeds, exceeds), (GapRule::AnyGap, true)] {
                let mut rules = AntiEcn::new(&AntiEcnParams { rule, gap_bytes: 0 }, &port());
                let slot = Rate::gbps(10).time_of(1538);
                let departing = |now, takes| Departing { now, takes, data_waiting: 0, data_bytes: 0 };
                rules.depart(&departing(Time::ZERO, Time(slot.0 / 2)), &mut data());
                let mut next = data();
                rules.depart(&departing(slot * start / 10, slot), &mut next);
                assert_eq!(next.ecn == Ecn::Spare, expected, "{rule:?} at {start} tenths of a slot");
            }
        }
    }

    #[test]
    fn a_cleared_bit_stays_cleared_and_control_takes_its_time_out_of_the_gap() {
        let mut rules = AntiEcn::new(&AntiEcnParams::default(), &port());
        let slot = Rate::gbps(10).time_of(1538);
        let control = Rate::gbps(10).time_of(84);
        rules
            .depart(&Departing { now: Time::ZERO, takes: slot, data_waiting: 0, data_bytes: 0 }, &mut data());
        let mut grant = Packet::new(PacketKind::Grant, HostId(0), HostId(1), 0);
        rules.depart(&Departing { now: slot, takes: control, data_waiting: 0, data_bytes: 0 }, &mut grant);
        let mut second = data();
        let now = slot + control;
        rules.depart(&Departing { now, takes: slot, data_waiting: 0, data_bytes: 0 }, &mut second);
        assert_eq!(second.ecn, Ecn::NotEct, "the gap was filled by control");
        let mut third = second;
        rules.depart(
            &Departing { now: now + slot * 5, takes: slot, data_waiting: 0, data_bytes: 0 },
            &mut third,
        );
        assert_eq!(third.ecn, Ecn::NotEct, "an upstream hop had no room");
    }
}
