//! Selective dropping: unscheduled packets are admitted only while the queue is short.
//!
//! Source: Aeolus, SIGCOMM 2020, whose text was not at hand. On commodity switches it is a RED queue with both
//! thresholds at 6 kB, four full packets, that would mark scheduled packets (sent ECN-capable, the mark is
//! ignored) and drops unscheduled ones, which are not. Both kinds share a queue; here, as in the published
//! Homa with Aeolus, a queue for each priority, the threshold counts them all. The counting rule, which
//! decides by one packet, stated once:
//!
//! * an unscheduled packet is dropped if `threshold` data packets or more wait, those on the wire not
//!   counted: of unscheduled packets alone, at most `threshold` wait behind one on the wire. `in_service = true`
//!   counts that one as well. Packets are counted, not bytes: a short one counts as much as a full one;
//! * scheduled packets, acknowledgements, probes and grants meet only the limits of the buffer.

use crate::MOST_CLASSES;
use crate::discipline::{Arrival, Discipline, PortContext};
use crate::{DisciplineInfo, DropReason};
use headway_packet::{Packet, PacketFlags};
use headway_params::ParamKind;

headway_params::params! {
    /// Rule that selects the unscheduled packets to drop.
    pub struct SelectionParams {
        /// Data packets that wait from which on unscheduled ones are dropped; 4 full packets are 6 kB.
        threshold: u64 = 4, ParamKind::Int { min: 1, max: 1_000_000 };
        /// True if the packet on the wire counts.
        in_service: bool = false, ParamKind::Bool;
    }
}

/// The rule for unscheduled packets, whatever the queues are.
#[derive(Clone, Debug)]
pub(crate) struct Selection {
    threshold: u32,
    in_service: u32,
}

impl Selection {
    pub(crate) fn new(params: &SelectionParams) -> Selection {
        Selection { threshold: params.threshold as u32, in_service: u32::from(params.in_service) }
    }

    #[inline]
    pub(crate) fn admit(&self, arrival: &Arrival, packet: &Packet) -> Result<(), DropReason> {
        let on_wire = if arrival.in_service { self.in_service } else { 0 };
        let unscheduled = packet.is_data() && packet.flags.has_all(PacketFlags::UNSCHEDULED);
        let queue = unscheduled && arrival.packets + on_wire >= self.threshold;
        if queue { Err(DropReason::Unscheduled) } else { Ok(()) }
    }
}

headway_params::params! {
    /// The queues of selective dropping.
    pub struct LevelParams {
        /// Number of queues; packets of a higher class than the last share the last.
        levels: u64 = 9, ParamKind::Int { min: 1, max: MOST_CLASSES };
    }
}

headway_params::joined_params! {
    /// Parameters of selective dropping.
    pub struct SelectiveDropParams {
        /// Rule that selects the packets to drop.
        selection: SelectionParams,
        /// Number of queues of the port, and the class that waits in each.
        queues: LevelParams,
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct SelectiveDrop {
    selection: Selection,
    levels: usize,
}

impl Discipline for SelectiveDrop {
    type Params = SelectiveDropParams;
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "selective-drop",
        summary: "strict priority queues; unscheduled packets are dropped while a few packets wait",
        paper: "Aeolus, SIGCOMM 2020",
        rewrites: &[],
        needs: &[],
    };

    fn new(params: &SelectiveDropParams, _: &PortContext) -> Self {
        SelectiveDrop { selection: Selection::new(&params.selection), levels: params.queues.levels as usize }
    }

    fn classes(&self) -> usize {
        self.levels
    }

    #[inline]
    fn class_of(&self, packet: &Packet) -> usize {
        usize::from(packet.priority).min(self.levels - 1)
    }

    #[inline]
    fn admit(&mut self, _: &PortContext, arrival: &Arrival, packet: &mut Packet) -> Result<(), DropReason> {
        self.selection.admit(arrival, packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::AnyDiscipline;
    use crate::testing::PacketPool;
    use crate::{Buffer, Fate, Limit, Packets, Port};
    use headway_packet::{HostId, PacketKind, Sizes};
    use headway_params::ParamValue;
    use headway_units::{Rate, Time};

    const UNSCHEDULED: (PacketKind, PacketFlags) = (PacketKind::Data, PacketFlags::UNSCHEDULED);
    const SCHEDULED: (PacketKind, PacketFlags) = (PacketKind::Data, PacketFlags(0));
    const PROBE: (PacketKind, PacketFlags) = (PacketKind::Probe, PacketFlags::UNSCHEDULED);

    /// Packets among these that are dropped, with the reason, at a busy port with room for ten that they
    /// reach together.
    fn drops(
        params: &[(&str, ParamValue)],
        packets: &[(PacketKind, PacketFlags)],
    ) -> Vec<(usize, DropReason)> {
        let buffer = Buffer { data: Limit::Packets(10), control: Limit::Packets(10) };
        let context = PortContext {
            rate: Rate::gbps(10),
            sizes: Sizes::default(),
            buffer,
            seed: 0,
            round_trip: None,
            to_host: false,
        };
        let params: Vec<_> = params.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
        let rules = AnyDiscipline::make("selective-drop", &params, &context).expect("known").expect("valid");
        let packet = |(class, (kind, flags)): (usize, &(PacketKind, PacketFlags))| {
            let mut packet = Packet::new(*kind, HostId(0), HostId(1), 0);
            (packet.wire, packet.flags, packet.priority) = (1538, *flags, 1 + class as u8 % 8);
            packet
        };
        let first = std::iter::once(&SCHEDULED);
        let mut pool = PacketPool(first.chain(packets).enumerate().map(packet).collect());
        let mut port = Port::new(rules, context.into());
        port.transmit_idle(Time::ZERO, pool.packet(0));
        let offered = (1..pool.0.len() as u32).filter_map(|i| {
            let full = port.offer(Time(1), i, &mut pool).err()?;
            let Fate::Dropped(reason) = full.fate else { panic!("kept or returned") };
            Some((i as usize - 1, reason))
        });
        let dropped = offered.collect();
        port.check().expect("identities");
        dropped
    }

    #[test]
    fn unscheduled_packets_find_room_for_four_over_all_classes() {
        let lost = [4, 5].map(|i| (i, DropReason::Unscheduled));
        assert_eq!(drops(&[], &[UNSCHEDULED; 6]), lost);
        let lost = [3, 4, 5].map(|i| (i, DropReason::Unscheduled));
        assert_eq!(drops(&[("in_service", ParamValue::Bool(true))], &[UNSCHEDULED; 6]), lost);
        assert_eq!(drops(&[("threshold", ParamValue::Int(6))], &[UNSCHEDULED; 6]), []);
    }

    #[test]
    fn scheduled_packets_and_probes_meet_only_the_buffer() {
        let many = [[SCHEDULED; 5].as_slice(), &[UNSCHEDULED], &[PROBE], &[SCHEDULED; 6]].concat();
        let lost = [(5, DropReason::Unscheduled), (12, DropReason::BufferFull)];
        assert_eq!(drops(&[], &many), lost);
    }
}
