//! Trimming and marking at one port: the switch of Ultra Ethernet.
//!
//! Source: Ultra Ethernet 1.0 as its public simulator has it, uet-htsim; the specification's text was not at hand. Queues and trimming are those of
//! `trimming` in its variant csg-htsim: headers and control before all data, twice the bytes for them, the arriving packet
//! or the last one of the queue by the fall of a coin, the packet on the wire counted as waiting. Marking is that of `red-ecn`
//! with certainty at its second threshold: by the bytes of data that wait behind a packet. Headers and control are never marked.
//! Deliberate differences:
//!
//! * Marks are decided as a packet starts to leave, there as its last bit has left.
//!
//! A header says whether it was cut in front of its receiver ([`PacketFlags::LAST_HOP`]).
//! `trimming-core-ecn` is the same, but ports to hosts never mark: receivers that give credit schedule their own link.

use crate::discipline::{Arrival, Departing, Discipline, Overflow, PortContext, Space};
use crate::red_ecn::{RedEcn, RedEcnParams};
use crate::trimming::{TrimVariant, Trimming, TrimmingParams, Victim};
use crate::{Buffer, DisciplineInfo, DropReason, Limit, Rewrite};
use headway_packet::{Packet, PacketFlags, PacketKind, Sizes};
use headway_params::ParamKind;
use headway_primitives::mix;
use headway_units::Time;

headway_params::params! {
    /// Parameters of trimming with marks.
    pub struct TrimmingEcnParams {
        /// Bytes of data that wait up to which nothing is marked; 0 = a fifth of the packets of the data queue. UET §0.3
        kmin: u64 = 0, ParamKind::Length { min: 0, max: 1 << 31 };
        /// Bytes beyond which everything is marked, `kmin` at least; 0 = four fifths of the packets of the data queue. UET §0.3
        kmax: u64 = 0, ParamKind::Length { min: 0, max: 1 << 31 };
        /// Packet that is trimmed when the data queue is full. UET §0.3
        victim: Victim = Victim::Coin, ParamKind::Choice(Victim::WORDS);
        /// Headers served for each data packet while both wait; 0 = no bound. UET §0.3
        headers_per_data: u64 = 0, ParamKind::Int { min: 0, max: 1_000_000 };
    }
}

/// Packets of the data queue when a scenario does not say: a bandwidth-delay product of 100 Gb/s and links of 1 us. UET §0.2
const QUEUE_PACKETS: u32 = 43;

impl TrimmingEcnParams {
    fn trimming(&self) -> TrimmingParams {
        TrimmingParams {
            variant: TrimVariant::CsgHtsim,
            victim: self.victim,
            headers_per_data: self.headers_per_data,
            ..TrimmingParams::default()
        }
    }

    /// Bytes of so many fifths of the data queue's packets.
    fn fifths(port: &PortContext, fifths: u64) -> u64 {
        let full = u64::from(port.sizes.full_wire());
        let packets = match port.buffer.data {
            Limit::Packets(packets) => packets.into(),
            Limit::Bytes(bytes) => bytes / full,
        };
        // Rounded up: with fewer than five packets, the first threshold is one packet and not 0.
        (packets * fifths).div_ceil(5) * full
    }
}

/// See the module; `TO_HOSTS` = ports to hosts mark as well. Boxed, so that ports of other disciplines do not grow.
#[derive(Clone, Debug)]
pub struct TrimmingAndMarking<const TO_HOSTS: bool>(Box<State>);

#[derive(Clone, Debug)]
struct State {
    trimming: Trimming,
    /// Nothing at a port that does not mark.
    marking: Option<RedEcn>,
    to_host: bool,
    /// The packet that asks to be queued next was cut here.
    cut: bool,
}

/// Trimming, and marking everywhere.
pub(crate) type TrimmingEcn = TrimmingAndMarking<true>;
/// Trimming, and marking between switches.
pub(crate) type TrimmingCoreEcn = TrimmingAndMarking<false>;

impl<const TO_HOSTS: bool> Discipline for TrimmingAndMarking<TO_HOSTS> {
    type Params = TrimmingEcnParams;
    const INFO: DisciplineInfo = DisciplineInfo {
        name: if TO_HOSTS { "trimming-ecn" } else { "trimming-core-ecn" },
        summary: if TO_HOSTS {
            "full data queues trim packets to headers, served first; data is marked at random between two thresholds"
        } else {
            "full data queues trim packets to headers, served first; data is marked at random between two thresholds, at ports between switches only"
        },
        paper: "Ultra Ethernet 1.0",
        rewrites: &[Rewrite::Mark, Rewrite::Trim],
        needs: &[],
    };

    fn headers_starve_data(params: &TrimmingEcnParams) -> bool {
        Trimming::headers_starve_data(&params.trimming())
    }

    fn new(params: &TrimmingEcnParams, port: &PortContext) -> Self {
        let or = |set: u64, fifths| if set == 0 { TrimmingEcnParams::fifths(port, fifths) } else { set };
        let (kmin, kmax) = (or(params.kmin, 1), or(params.kmax, 4));
        let marking = RedEcnParams { kmin, kmax, pmax: 1.0, levels: 2 };
        // Coins and lots fall independently.
        let apart = PortContext { seed: mix(port.seed), ..*port };
        TrimmingAndMarking(Box::new(State {
            trimming: Trimming::new(&params.trimming(), port),
            marking: (TO_HOSTS || !port.to_host).then(|| RedEcn::new(&marking, &apart)),
            to_host: port.to_host,
            cut: false,
        }))
    }

    fn buffer(params: &TrimmingEcnParams, sizes: &Sizes, space: Space) -> Buffer {
        let data = Some(space.data.unwrap_or(Limit::Packets(QUEUE_PACKETS)));
        let Buffer { data, control } = Trimming::buffer(&params.trimming(), sizes, Space { data, ..space });
        Buffer { data, control }
    }

    fn classes(&self) -> usize {
        self.0.trimming.classes()
    }

    #[inline]
    fn class_of(&self, packet: &Packet) -> usize {
        self.0.trimming.class_of(packet)
    }

    #[inline]
    fn admit(
        &mut self,
        port: &PortContext,
        arrival: &Arrival,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        if std::mem::take(&mut self.0.cut) && packet.kind == PacketKind::Header && self.0.to_host {
            packet.flags = packet.flags.with(PacketFlags::LAST_HOP);
        }
        self.0.trimming.admit(port, arrival, packet)
    }

    fn overflow(&mut self, packet: &Packet) -> Overflow {
        // The packet that is cut now asks to be queued before any other does.
        self.0.cut = packet.is_data();
        self.0.trimming.overflow(packet)
    }

    /// Nothing was cut, and the next packet is from elsewhere.
    fn not_done(&mut self) {
        self.0.cut = false;
    }

    const CHOOSES: bool = true;

    #[inline]
    fn choose(&mut self, now: Time, occupied: u32) -> usize {
        self.0.trimming.choose(now, occupied)
    }

    #[inline]
    fn depart(&mut self, departing: &Departing, packet: &mut Packet) {
        if let Some(marking) = self.0.marking.as_mut().filter(|_| packet.is_data()) {
            marking.depart(departing, packet);
        }
        self.0.trimming.depart(departing, packet);
    }

    fn retune(&mut self, now: Time, fresh: Self) {
        if let (Some(marking), Some(fresh)) = (&mut self.0.marking, fresh.0.marking) {
            marking.retune(now, fresh);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::AnyDiscipline;
    use crate::testing::PacketPool;
    use crate::{Full, Packets, Port};
    use headway_packet::{Ecn, HostId};
    use headway_params::ParamValue;
    use headway_units::Rate;

    const SIZES: Sizes = Sizes { payload: 4086, header: 64, framing: 0, control: 64 };

    /// A port with a packet on its wire, and those of `offered` packets, arriving then, that were hit, the first of
    /// them `Header`s.
    fn port(
        name: &str,
        to_host: bool,
        space: Space,
        headers: usize,
        offered: usize,
    ) -> (Port<u32>, PacketPool, Vec<Full<u32>>) {
        let victim = [("victim".to_string(), ParamValue::Choice("arrival".into()))];
        let buffer = crate::registry::buffer(name, &victim, &SIZES, space).expect("known").expect("valid");
        let (rate, seed, round_trip) = (Rate::gbps(100), 3, None);
        let context = PortContext { rate, sizes: SIZES, buffer, seed, round_trip, to_host };
        let rules = AnyDiscipline::make(name, &victim, &context).expect("known").expect("valid");
        let packet = |i: usize| {
            let mut p = Packet::new(PacketKind::Data, HostId(1), HostId(2), 0);
            (p.wire, p.payload, p.priority, p.ecn) = (4150, 4086, 1, Ecn::Ect);
            if (1..=headers).contains(&i) {
                p.trim_payload(64);
            }
            p
        };
        let mut pool = PacketPool((0..=offered).map(packet).collect());
        let mut port = Port::new(rules, context.into());
        port.transmit_idle(Time::ZERO, pool.packet(0));
        let hit = (1..=offered as u32).filter_map(|i| port.offer(Time(1), i, &mut pool).err()).collect();
        (port, pool, hit)
    }

    /// Marks of data packets, and of anything else, in the order of departure.
    fn marks(port: &mut Port<u32>, pool: &mut PacketPool) -> (Vec<bool>, usize) {
        let (mut data, mut others) = (Vec::new(), 0);
        while let Some(departure) = port.next(port.free_at(), pool) {
            let packet = *pool.packet(departure.handle);
            let marked = packet.ecn == Ecn::Ce;
            match packet.is_data() {
                true => data.push(marked),
                false => others += usize::from(marked),
            }
        }
        port.check().expect("identities");
        (data, others)
    }

    #[test]
    fn marks_begin_at_a_fifth_of_the_queue_and_are_certain_from_four_fifths_on() {
        let (mut port, mut pool, hit) = port("trimming-ecn", true, Space::default(), 0, 60);
        // One on the wire, 42 that wait.
        assert_eq!(hit.len(), 18, "43 packets fit, that on the wire among them");
        let (data, others) = marks(&mut port, &mut pool);
        assert_eq!((data.len(), others), (42, 0), "headers are never marked");
        // 35 packets behind one are four fifths, 9 are a fifth.
        assert!(data[..6].iter().all(|&marked| marked), "{data:?}");
        assert!(data[32..].iter().all(|&marked| !marked), "{data:?}");
        let between = data[6..32].iter().filter(|&&marked| marked).count();
        assert!((6..=20).contains(&between), "{between} of 26");
    }

    #[test]
    fn ports_to_hosts_do_not_mark_where_receivers_schedule_their_link() {
        for (to_host, marked) in [(true, false), (false, true)] {
            let (mut port, mut pool, _) = port("trimming-core-ecn", to_host, Space::default(), 0, 42);
            assert_eq!(marks(&mut port, &mut pool).0.contains(&true), marked);
        }
    }

    #[test]
    fn a_header_says_whether_it_was_cut_in_front_of_its_receiver() {
        let two = Space { data: Some(Limit::Packets(2)), control: None };
        for to_host in [false, true] {
            // Two headers from elsewhere, and three packets of which one finds room.
            let (_, mut pool, hit) = port("trimming-ecn", to_host, two, 2, 5);
            assert_eq!(hit.iter().map(|full| full.handle).collect::<Vec<_>>(), [4, 5]);
            let says =
                |pool: &mut PacketPool, handle| pool.packet(handle).flags.has_all(PacketFlags::LAST_HOP);
            assert_eq!([1, 2, 3].map(|handle| says(&mut pool, handle)), [false; 3]);
            assert_eq!([4, 5].map(|handle| says(&mut pool, handle)), [to_host; 2]);
        }
    }
}
