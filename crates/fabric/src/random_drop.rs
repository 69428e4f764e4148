//! A first-in first-out queue near whose end data is dropped at random.
//!
//! Source: csg-htsim's random queue, over which its Swift and its MPTCP run. Data that would leave less than `room` packets of the
//! buffer free is dropped with `probability`, and what does not fit is always. With a `room` as large as the buffer, the lot
//! is drawn for every data packet. Control meets only its own limit. The lot is a hash of the port's seed and a count of its
//! draws: ports own no generator.

use crate::discipline::{Arrival, Discipline, PortContext};
use crate::{DisciplineInfo, DropReason, Limit};
use headway_packet::Packet;
use headway_params::ParamKind;
use headway_primitives::mix;
use headway_units::Time;

headway_params::params! {
    /// Parameters of the random drop: its place in the queue, and its probability.
    pub struct RandomDropParams {
        /// Probability with which data is dropped there. csg-htsim: 0.1
        probability: f64 = 0.1, ParamKind::Float { min: 0.0, max: 1.0 };
        /// Full packets of room at the end of the buffer for which lots are drawn. csg-htsim: 3
        room: u64 = 3, ParamKind::Int { min: 1, max: 1_000_000 };
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct RandomDrop {
    seed: u64,
    draws: u32,
    /// A lot out of 2^32 below this drops a packet.
    below: u64,
    room: u64,
}

impl RandomDrop {
    /// True if a data packet would leave less room than there must be for it to be spared.
    fn is_near_the_end(&self, port: &PortContext, arrival: &Arrival, wire: u16) -> bool {
        match port.buffer.data {
            Limit::Packets(most) => u64::from(arrival.packets) + 1 + self.room > most.into(),
            Limit::Bytes(most) => {
                let room = self.room * u64::from(port.sizes.full_wire());
                arrival.bytes + u64::from(wire) + room > most
            }
        }
    }
}

impl Discipline for RandomDrop {
    type Params = RandomDropParams;
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "random-drop",
        summary: "one first-in first-out queue; data is dropped by lot when it is nearly full",
        paper: "csg-htsim",
        rewrites: &[],
        needs: &[],
    };

    fn new(params: &RandomDropParams, port: &PortContext) -> Self {
        let below = (params.probability * (1u64 << 32) as f64) as u64;
        RandomDrop { seed: port.seed, draws: 0, below, room: params.room }
    }

    fn classes(&self) -> usize {
        1
    }

    fn class_of(&self, _: &Packet) -> usize {
        0
    }

    fn admit(
        &mut self,
        port: &PortContext,
        arrival: &Arrival,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        if !packet.is_data() || !self.is_near_the_end(port, arrival, packet.wire) {
            return Ok(());
        }
        self.draws = self.draws.wrapping_add(1);
        let lot = mix(self.seed ^ mix(self.draws.into())) >> 32;
        if lot < self.below { Err(DropReason::BufferFull) } else { Ok(()) }
    }

    fn retune(&mut self, _: Time, fresh: Self) {
        *self = RandomDrop { draws: self.draws, ..fresh };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Buffer;
    use headway_packet::{HostId, PacketKind, Sizes};
    use headway_units::Rate;

    /// The share of ten thousand packets that are dropped while so much waits in a buffer.
    fn share(params: &RandomDropParams, data: Limit, kind: PacketKind, (packets, bytes): (u32, u64)) -> f64 {
        let port = PortContext {
            rate: Rate::gbps(10),
            sizes: Sizes::default(),
            buffer: Buffer { data, control: data },
            seed: 7,
            round_trip: None,
            to_host: false,
        };
        let mut rules = RandomDrop::new(params, &port);
        let mut packet = Packet::new(kind, HostId(0), HostId(1), 0);
        packet.wire = 1538;
        let arrival = Arrival { now: Time::ZERO, packets, bytes, in_service: true };
        let dropped = (0..10_000).filter(|_| rules.admit(&port, &arrival, &mut packet).is_err()).count();
        dropped as f64 / 10_000.0
    }

    #[test]
    fn data_is_dropped_by_lot_from_where_less_than_the_room_is_left() {
        let params = RandomDropParams::default();
        let near = |found: f64, wanted: f64| assert!((found - wanted).abs() < 0.01, "{found}, not {wanted}");
        let packets = |waiting| share(&params, Limit::Packets(20), PacketKind::Data, (waiting, 0));
        assert_eq!((packets(0), packets(16)), (0.0, 0.0));
        near(packets(17), 0.1);
        near(packets(19), 0.1);
        let bytes = |waiting| share(&params, Limit::Bytes(20 * 1538), PacketKind::Data, (0, waiting));
        assert_eq!((bytes(0), bytes(16 * 1538)), (0.0, 0.0));
        near(bytes(16 * 1538 + 1), 0.1);
        let control = share(&params, Limit::Packets(20), PacketKind::Ack, (19, 0));
        assert_eq!(control, 0.0);
    }

    #[test]
    fn a_room_as_large_as_the_buffer_draws_for_every_packet() {
        let of = |probability| {
            let params = RandomDropParams { probability, room: 20 };
            share(&params, Limit::Packets(20), PacketKind::Data, (0, 0))
        };
        assert_eq!((of(0.0), of(1.0)), (0.0, 1.0));
        assert!((of(0.25) - 0.25).abs() < 0.015, "{}", of(0.25));
    }
}
