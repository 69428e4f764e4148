//! Credit shaping whose data queue drops unscheduled packets: ExpressPass with Aeolus.
//!
//! Source: Aeolus, SIGCOMM 2020 §4, over ExpressPass, SIGCOMM 2017 §3. Credits are shaped as under
//! [`crate::CreditShaping`]; in the one queue of everything else unscheduled data meets the rule of
//! [`crate::SelectiveDrop`], which says what is counted.

use crate::Need;
use crate::discipline::{Arrival, Departing, Discipline, PortContext, Space};
use crate::selective_drop::{Selection, SelectionParams};
use crate::{Buffer, CreditShaping, CreditShapingParams, DisciplineInfo, DropReason, Lengths};
use headway_packet::{Packet, Sizes};
use headway_units::Time;

headway_params::joined_params! {
    /// Parameters of selective credit shaping.
    pub struct SelectiveCreditShapingParams {
        /// Parameters of the credits.
        shaping: CreditShapingParams,
        /// Parameters of unscheduled packets.
        selection: SelectionParams,
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct SelectiveCreditShaping {
    shaping: CreditShaping,
    selection: Selection,
}

impl Discipline for SelectiveCreditShaping {
    type Params = SelectiveCreditShapingParams;
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "selective-credit-shaping",
        summary: "credit shaping; unscheduled packets are dropped while a few packets wait",
        paper: "Aeolus, SIGCOMM 2020 §4, over ExpressPass, SIGCOMM 2017 §3",
        rewrites: &[],
        needs: &[Need::Shaping],
    };

    fn new(params: &SelectiveCreditShapingParams, port: &PortContext) -> Self {
        SelectiveCreditShaping {
            shaping: CreditShaping::new(&params.shaping, port),
            selection: Selection::new(&params.selection),
        }
    }

    fn buffer(params: &SelectiveCreditShapingParams, sizes: &Sizes, space: Space) -> Buffer {
        CreditShaping::buffer(&params.shaping, sizes, space)
    }

    fn classes(&self) -> usize {
        self.shaping.classes()
    }

    #[inline]
    fn class_of(&self, packet: &Packet) -> usize {
        self.shaping.class_of(packet)
    }

    fn admit(
        &mut self,
        port: &PortContext,
        arrival: &Arrival,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        self.selection.admit(arrival, packet)?;
        self.shaping.admit(port, arrival, packet)
    }

    const CHOOSES: bool = CreditShaping::CHOOSES;
    const SHAPES: bool = CreditShaping::SHAPES;

    #[inline]
    fn choose(&mut self, now: Time, occupied: u32) -> usize {
        self.shaping.choose(now, occupied)
    }

    #[inline]
    fn eligible_at(&self, occupied: u32) -> Time {
        self.shaping.eligible_at(occupied)
    }

    fn discard<L: Lengths>(&mut self, now: Time, lengths: &L, packet: &Packet) {
        self.shaping.discard(now, lengths, packet);
    }

    fn retune(&mut self, now: Time, fresh: Self) {
        self.shaping.retune(now, fresh.shaping);
    }

    fn depart(&mut self, departing: &Departing, packet: &mut Packet) {
        self.shaping.depart(departing, packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{self, AnyDiscipline};
    use crate::testing::PacketPool;
    use crate::{Fate, Packets, Port};
    use headway_packet::{HostId, PacketFlags, PacketKind};
    use headway_units::Rate;

    /// Handles below 100 are unscheduled data, those below 200 scheduled data, all others credits.
    fn pool() -> PacketPool {
        let packet = |i: u32| {
            let kind = if i < 200 { PacketKind::Data } else { PacketKind::Credit };
            let mut packet = Packet::new(kind, HostId(0), HostId(1), i);
            packet.flags = PacketFlags::only_if(i < 100, PacketFlags::UNSCHEDULED);
            packet.wire = if i < 200 { 1538 } else { 84 };
            packet
        };
        PacketPool((0..300).map(packet).collect())
    }

    #[test]
    fn unscheduled_data_finds_four_places_and_credits_are_shaped_as_ever() {
        let (name, sizes) = ("selective-credit-shaping", Sizes::default());
        let buffer = registry::buffer(name, &[], &sizes, Space::default()).expect("known").expect("valid");
        let context =
            PortContext { rate: Rate::gbps(10), sizes, buffer, seed: 0, round_trip: None, to_host: false };
        let rules = AnyDiscipline::make(name, &[], &context).expect("known").expect("valid");
        let (mut port, mut pool) = (Port::new(rules, context.into()), pool());
        port.transmit_idle(Time::ZERO, pool.packet(199));
        let mut refused = Vec::new();
        for handle in (0..6).chain(100..102).chain([6]).chain(200..203) {
            if let Err(full) = port.offer(Time(1), handle, &mut pool) {
                assert!(matches!(full.fate, Fate::Dropped(DropReason::Unscheduled)));
                refused.push(handle);
            }
        }
        assert_eq!(refused, [4, 5, 6]);
        let mut left = Vec::new();
        while let Some(start) = port.next_start() {
            left.push(port.next(start, &mut pool).expect("it may leave").handle);
        }
        port.check().expect("identities");
        assert_eq!(
            left,
            [200, 201, 0, 202, 1, 2, 3, 100, 101],
            "two credits at once, then one for each packet"
        );
    }
}
