//! Probabilistic ECN: data is marked at random between two thresholds, and always above the second.
//!
//! Source: DCQCN, SIGCOMM 2015 §3, as HPCC's simulator (SIGCOMM 2019) has it. The length counts when a packet
//! leaves, in bytes of the data that still waits behind it: nothing is marked up to `kmin`, everything above `kmax`, and in
//! between with a probability that rises from 0 to `pmax`. The lot is a hash of the port's seed and a count of its
//! draws: ports own no generator.

use crate::discipline::{Departing, Discipline, PortContext};
use crate::{DisciplineInfo, Rewrite};
use headway_packet::{Ecn, Packet};
use headway_params::ParamKind;
use headway_primitives::mix;
use headway_units::{Rate, Time};

/// Thresholds of a port at 25 Gb/s, where no parameter says them. HPCC §5.1
const USUAL: (u64, u64) = (100_000, 400_000);

headway_params::params! {
    /// Parameters of marking between two thresholds.
    pub struct RedEcnParams {
        /// Bytes of data that wait up to which nothing is marked; 0 = 100 kB for each 25 Gb/s of the port. HPCC §5.1
        kmin: u64 = 0, ParamKind::Length { min: 0, max: 1 << 31 };
        /// Bytes beyond which everything is marked, `kmin` at least; 0 = 400 kB for each 25 Gb/s of the port. HPCC §5.1
        kmax: u64 = 0, ParamKind::Length { min: 0, max: 1 << 31 };
        /// Probability of a mark at `kmax`. HPCC §5.1
        pmax: f64 = 0.2, ParamKind::Float { min: 0.0, max: 1.0 };
        /// Number of queues, served in the order of their class; packets of a higher class than the last share the last.
        levels: u64 = 2, ParamKind::Int { min: 1, max: crate::MOST_CLASSES };
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct RedEcn {
    seed: u64,
    kmin: u32,
    kmax: u32,
    /// Probability for each byte above `kmin`.
    slope: f32,
    draws: u32,
    levels: u8,
}

impl RedEcn {
    fn marks(&mut self, waiting: u64) -> bool {
        if waiting <= self.kmin.into() {
            return false;
        }
        if waiting > self.kmax.into() {
            return true;
        }
        self.draws = self.draws.wrapping_add(1);
        // As many bits as a number of single precision holds.
        let lot = (mix(self.seed ^ mix(self.draws.into())) >> 40) as f32 / (1u32 << 24) as f32;
        lot < self.slope * (waiting - u64::from(self.kmin)) as f32
    }
}

impl Discipline for RedEcn {
    type Params = RedEcnParams;
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "red-ecn",
        summary: "marks ECN-capable data at random between two thresholds, always above the second; tail drop",
        paper: "DCQCN, SIGCOMM 2015; HPCC, SIGCOMM 2019",
        rewrites: &[Rewrite::Mark],
        needs: &[],
    };

    fn new(params: &RedEcnParams, port: &PortContext) -> Self {
        let by_rate =
            |bytes: u64| (bytes as f64 * port.rate.bps() as f64 / Rate::gbps(25).bps() as f64) as u64;
        let or = |set: u64, usual: u64| {
            let bytes = if set == 0 { by_rate(usual) } else { set };
            // No queue reaches a threshold of 4 GiB.
            u32::try_from(bytes).unwrap_or(u32::MAX)
        };
        let kmin = or(params.kmin, USUAL.0);
        let kmax = or(params.kmax, USUAL.1).max(kmin);
        // Between equal thresholds there is no length for which the slope is asked.
        let slope = (params.pmax / f64::from((kmax - kmin).max(1))) as f32;
        RedEcn { seed: port.seed, kmin, kmax, slope, draws: 0, levels: params.levels as u8 }
    }

    fn classes(&self) -> usize {
        self.levels.into()
    }

    #[inline]
    fn class_of(&self, packet: &Packet) -> usize {
        packet.priority.min(self.levels - 1).into()
    }

    #[inline]
    fn depart(&mut self, departing: &Departing, packet: &mut Packet) {
        if packet.ecn == Ecn::Ect && self.marks(departing.data_bytes) {
            packet.ecn = Ecn::Ce;
        }
    }

    fn retune(&mut self, _: Time, fresh: Self) {
        *self = RedEcn { draws: self.draws, ..fresh };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffer, Limit};
    use headway_packet::{HostId, PacketKind, Sizes};

    fn rules(params: &RedEcnParams, rate: Rate) -> RedEcn {
        let buffer = Buffer { data: Limit::Packets(20), control: Limit::Packets(5) };
        let port =
            PortContext { rate, sizes: Sizes::default(), buffer, seed: 7, round_trip: None, to_host: false };
        RedEcn::new(params, &port)
    }

    /// The share of ten thousand packets that are marked ahead of so many bytes.
    fn share(rules: &mut RedEcn, waiting: u64) -> f64 {
        let mut marked = 0;
        for _ in 0..10_000 {
            let mut packet = Packet::new(PacketKind::Data, HostId(0), HostId(1), 0);
            packet.ecn = Ecn::Ect;
            let departing =
                Departing { now: Time::ZERO, takes: Time(1), data_waiting: 1, data_bytes: waiting };
            rules.depart(&departing, &mut packet);
            marked += u32::from(packet.ecn == Ecn::Ce);
        }
        f64::from(marked) / 10_000.0
    }

    #[test]
    fn the_share_of_marks_rises_between_the_thresholds() {
        let mut rules = rules(&RedEcnParams::default(), Rate::gbps(100));
        assert_eq!((rules.kmin, rules.kmax), (400_000, 1_600_000), "of a port at 100 Gb/s");
        for (waiting, expected) in
            [(0, 0.0), (400_000, 0.0), (700_000, 0.05), (1_000_000, 0.1), (1_600_000, 0.2), (1_600_001, 1.0)]
        {
            let share = share(&mut rules, waiting);
            assert!((share - expected).abs() < 0.015, "{share} at {waiting}, not {expected}");
        }
    }

    #[test]
    fn equal_thresholds_are_one() {
        let params = RedEcnParams { kmin: 300_000, kmax: 300_000, pmax: 1.0, ..RedEcnParams::default() };
        let mut rules = rules(&params, Rate::gbps(100));
        assert_eq!((share(&mut rules, 300_000), share(&mut rules, 300_001)), (0.0, 1.0));
    }

    #[test]
    fn what_is_not_capable_is_never_marked() {
        let mut rules = rules(&RedEcnParams::default(), Rate::gbps(100));
        let mut packet = Packet::new(PacketKind::Data, HostId(0), HostId(1), 0);
        let departing = Departing { now: Time::ZERO, takes: Time(1), data_waiting: 1, data_bytes: 1 << 30 };
        rules.depart(&departing, &mut packet);
        assert_eq!(packet.ecn, Ecn::NotEct);
    }
}
