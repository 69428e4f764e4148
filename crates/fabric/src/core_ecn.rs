//! Strict priorities, and ECN marks at the ports between switches only: the switch that SIRD assumes.
//!
//! Source: K. Prasopoulos et al., NSDI 2025, as its authors' simulator has it. A receiver schedules its own link by credits,
//! and learns of queues elsewhere by marks. A port to a host therefore never marks. The length is that of data packets
//! that wait as a packet arrives; the arriving one and the one on the wire do not count. Queues are those of
//! `strict-priority`.

use crate::discipline::{Arrival, Discipline, PortContext};
use crate::{DisciplineInfo, DropReason, MOST_CLASSES, Need, Rewrite};
use headway_packet::{Ecn, Packet};
use headway_params::ParamKind;
use headway_units::Time;

/// Bandwidth-delay products that may wait before data is marked. SIRD §5: NThr
const USUAL_THRESHOLD: f64 = 1.25;

headway_params::params! {
    /// Parameters of marking between switches.
    pub struct CoreEcnParams {
        /// Number of queues; packets of a higher class than the last share the last.
        levels: u64 = 9, ParamKind::Int { min: 1, max: MOST_CLASSES };
        /// True if control has the first queue for itself; otherwise it shares it with the first class of data.
        control_apart: bool = true, ParamKind::Bool;
        /// Bytes of data that wait from which on data is marked; 0 = 1.25 round trips of the port's rate. SIRD's simulator: 123 kB at 100 Gb/s
        threshold: u64 = 0, ParamKind::Bytes { min: 0, max: 1 << 40 };
        /// The round trip that stands in place of the network's; 0 = the network's.
        round_trip: Time = Time::ZERO, ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// True if ports to hosts mark as well.
        mark_to_hosts: bool = false, ParamKind::Bool;
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct CoreEcn {
    /// Infinite at a port that does not mark.
    threshold: u64,
    levels: u8,
    /// Classes that lie before the first queue.
    skipped: u8,
}

impl Discipline for CoreEcn {
    type Params = CoreEcnParams;
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "core-ecn",
        summary: "strict priority queues; marks ECN-capable data at ports between switches while enough data waits",
        paper: "SIRD, NSDI 2025",
        rewrites: &[Rewrite::Mark],
        needs: &[Need::RoundTrip],
    };

    fn own_round_trip(params: &CoreEcnParams) -> Option<(&'static str, Time)> {
        Some(("round_trip", params.round_trip))
    }

    fn new(params: &CoreEcnParams, port: &PortContext) -> Self {
        let said = (params.round_trip > Time::ZERO).then_some(params.round_trip);
        let round_trip = said.or(port.round_trip).unwrap_or(Time::ZERO);
        let usual = (port.rate.bytes_in(round_trip) as f64 * USUAL_THRESHOLD) as u64;
        let threshold = if params.threshold == 0 { usual } else { params.threshold };
        let marks = params.mark_to_hosts || !port.to_host;
        CoreEcn {
            threshold: if marks { threshold } else { u64::MAX },
            levels: params.levels as u8,
            skipped: u8::from(!params.control_apart),
        }
    }

    fn classes(&self) -> usize {
        self.levels.into()
    }

    #[inline]
    fn class_of(&self, packet: &Packet) -> usize {
        packet.priority.saturating_sub(self.skipped).min(self.levels - 1).into()
    }

    #[inline]
    fn admit(&mut self, _: &PortContext, arrival: &Arrival, packet: &mut Packet) -> Result<(), DropReason> {
        if packet.ecn == Ecn::Ect && packet.is_data() && arrival.bytes > self.threshold {
            packet.ecn = Ecn::Ce;
        }
        Ok(())
    }

    fn retune(&mut self, _: Time, fresh: Self) {
        *self = fresh;
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
    use headway_units::Rate;

    /// For each of ten packets of 1538 bytes that arrive together, true if it leaves marked.
    fn marks(params: &[(&str, ParamValue)], to_host: bool) -> Vec<bool> {
        let buffer = Buffer { data: Limit::Packets(20), control: Limit::Packets(5) };
        // A round trip of the port carries 5,000 bytes; a quarter more is four packets and some.
        let context = PortContext {
            rate: Rate::gbps(10),
            sizes: Sizes::default(),
            buffer,
            seed: 0,
            round_trip: Some(Time::us(4)),
            to_host,
        };
        let params: Vec<_> = params.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
        let rules = AnyDiscipline::make("core-ecn", &params, &context).expect("known").expect("valid");
        let mut packet = Packet::new(PacketKind::Data, HostId(0), HostId(1), 0);
        (packet.wire, packet.ecn, packet.priority) = (1538, Ecn::Ect, 1);
        let (mut port, mut pool) = (Port::new(rules, context.into()), PacketPool(vec![packet; 10]));
        port.transmit_idle(Time::ZERO, pool.packet(0));
        (1..10).for_each(|i| port.offer(Time(1), i, &mut pool).expect("room"));
        pool.0.iter().map(|p| p.ecn == Ecn::Ce).collect()
    }

    #[test]
    fn a_port_between_switches_marks_beyond_its_threshold_and_one_to_a_host_never_does() {
        // Packet 6 finds five waiting: 7690 bytes are more than 6250, the 6152 of four are not.
        let beyond = |first: usize| (0..10).map(|i| i >= first).collect::<Vec<_>>();
        assert_eq!(marks(&[], false), beyond(6));
        assert_eq!(marks(&[], true), beyond(10));
        assert_eq!(marks(&[("mark_to_hosts", ParamValue::Bool(true))], true), beyond(6));
        assert_eq!(marks(&[("threshold", ParamValue::Int(1538))], false), beyond(3));
        let shorter = [("round_trip", ParamValue::Time(Time::us(1)))];
        assert_eq!(marks(&shorter, false), beyond(3), "1562 bytes");
    }
}
