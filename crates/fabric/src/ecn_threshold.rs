//! ECN threshold: one tail-drop queue that marks ECN-capable data while it is longer than K packets.
//!
//! Source: DCTCP, SIGCOMM 2010 §3.1; a RED queue with both thresholds at K that looks at the instantaneous
//! length. The counting rule decides every result by one packet, so it is stated here once:
//!
//! * the length is that of data packets that wait **plus the packet on the wire**, before the arriving one
//!   is added; a packet is marked if that is at least K. N synchronised DCTCP senders then peak at K + N.
//!   `in_service = false` leaves the packet on the wire out;
//! * the buffer's limit counts waiting packets alone, as at every port here: a switch of "250 packets, the one
//!   in service included" has `buffer = "249 packets"`;
//! * acknowledgements share the queue but are neither counted nor marked;
//! * a packet that is to be marked and does not fit is dropped; a packet that is not ECN-capable passes unmarked.

use crate::Rewrite;
use crate::discipline::{Arrival, Departing, Discipline, PortContext};
use crate::{DisciplineInfo, DropReason};
use headway_packet::{Ecn, Packet};
use headway_params::ParamKind;

headway_params::choice! {
    /// Time at which the length is looked at.
    pub enum MarkAt {
        /// As the packet arrives.
        Enqueue = "enqueue",
        /// As its transmission starts: the packets that wait behind it, and it. Tells the sender a queueing delay sooner.
        Dequeue = "dequeue",
    }
}

headway_params::params! {
    /// Parameters of threshold marking.
    pub struct EcnThresholdParams {
        /// K: packets in the queue from which on data is marked; 20 at 1 Gb/s, 65 at 10 Gb/s. DCTCP §3.5
        threshold: u64 = 20, ParamKind::Int { min: 1, max: 1_000_000 };
        /// True if the packet on the wire counts.
        in_service: bool = true, ParamKind::Bool;
        /// Time at which the length is looked at.
        mark_at: MarkAt = MarkAt::Enqueue, ParamKind::Choice(MarkAt::WORDS);
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct EcnThreshold {
    threshold: u32,
    in_service: u32,
    mark_at: MarkAt,
}

impl EcnThreshold {
    #[inline]
    fn mark(&self, length: u32, packet: &mut Packet) {
        if length >= self.threshold && packet.ecn == Ecn::Ect {
            packet.ecn = Ecn::Ce;
        }
    }
}

impl Discipline for EcnThreshold {
    type Params = EcnThresholdParams;
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "ecn-threshold",
        summary: "one queue, tail drop; marks ECN-capable data while the queue is K packets or longer",
        paper: "DCTCP, SIGCOMM 2010 §3.1",
        rewrites: &[Rewrite::Mark],
        needs: &[],
    };

    const LIGHT: bool = true;

    fn new(params: &EcnThresholdParams, _: &PortContext) -> Self {
        EcnThreshold {
            threshold: params.threshold as u32,
            in_service: u32::from(params.in_service),
            mark_at: params.mark_at,
        }
    }

    fn classes(&self) -> usize {
        1
    }

    #[inline]
    fn class_of(&self, _: &Packet) -> usize {
        0
    }

    #[inline]
    fn admit(&mut self, _: &PortContext, arrival: &Arrival, packet: &mut Packet) -> Result<(), DropReason> {
        if self.mark_at == MarkAt::Enqueue {
            let on_wire = if arrival.in_service { self.in_service } else { 0 };
            self.mark(arrival.packets + on_wire, packet);
        }
        Ok(())
    }

    #[inline]
    fn depart(&mut self, departing: &Departing, packet: &mut Packet) {
        if self.mark_at == MarkAt::Dequeue {
            self.mark(departing.data_waiting + self.in_service, packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::AnyDiscipline;
    use crate::testing::PacketPool;
    use crate::{Buffer, Limit, Packets, Port};
    use headway_packet::{HostId, PacketKind, Sizes};
    use headway_params::ParamValue;
    use headway_units::{Rate, Time};

    fn data(ecn: Ecn) -> Packet {
        let mut packet = Packet::new(PacketKind::Data, HostId(0), HostId(1), 0);
        (packet.wire, packet.ecn) = (1538, ecn);
        packet
    }

    /// For each of eight packets that arrive together at a port of K = 3 and room for five, true if it leaves marked.
    fn marks(params: &[(&str, ParamValue)], ecn: Ecn) -> Vec<bool> {
        let buffer = Buffer { data: Limit::Packets(5), control: Limit::Packets(5) };
        let context = PortContext {
            rate: Rate::gbps(1),
            sizes: Sizes::default(),
            buffer,
            seed: 0,
            round_trip: None,
            to_host: false,
        };
        let k = ("threshold".to_string(), ParamValue::Int(3));
        let rest = params.iter().map(|(name, value)| (name.to_string(), value.clone()));
        let params: Vec<_> = std::iter::once(k).chain(rest).collect();
        let rules = AnyDiscipline::make("ecn-threshold", &params, &context).expect("known").expect("valid");
        let (mut port, mut pool) = (Port::new(rules, context.into()), PacketPool(vec![data(ecn); 8]));
        port.transmit_idle(Time::ZERO, pool.packet(0));
        let accepted: Vec<u32> = (1..8).filter(|&i| port.offer(Time(1), i, &mut pool).is_ok()).collect();
        assert_eq!(accepted, [1, 2, 3, 4, 5], "the buffer holds five beside the one on the wire");
        while port.next(port.free_at(), &mut pool).is_some() {}
        pool.0[..6].iter().map(|p| p.ecn == Ecn::Ce).collect()
    }

    #[test]
    fn marks_from_k_packets_on_by_each_counting_rule() {
        // The fourth packet finds three: one on the wire and two that wait.
        assert_eq!(marks(&[], Ecn::Ect), [false, false, false, true, true, true]);
        let outside = [("in_service", ParamValue::Bool(false))];
        assert_eq!(marks(&outside, Ecn::Ect), [false, false, false, false, true, true]);
        // Packet 1 leaves ahead of four others, packet 3 ahead of two: with itself three.
        let dequeue = [("mark_at", ParamValue::Choice("dequeue".into()))];
        assert_eq!(marks(&dequeue, Ecn::Ect), [false, true, true, true, false, false]);
    }

    #[test]
    fn what_is_not_capable_is_never_marked() {
        for ecn in [Ecn::NotEct, Ecn::Spare] {
            assert_eq!(marks(&[], ecn), [false; 6]);
        }
    }
}
