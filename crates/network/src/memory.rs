//! The memory of switches that drop: one buffer that all ports of a switch share, with dynamic thresholds.
//!
//! A queue is the packets of one class that wait at one port. It may take its reserve, and of the pool that all queues
//! share no more than `alpha` times what is free of it (Choudhury and Hahne, ToN 1998): a port alone gets
//! `alpha / (1 + alpha)` of the pool, and `n` full queues `alpha / (1 + n alpha)` each. Lossless switches count packets by
//! the link that they came over instead ([`crate::pfc`]).

use crate::error::BuildError;
use crate::network::Network;
use headway_packet::Packet;
use headway_params::ParamKind;

/// Parts of a byte in which thresholds are computed: whole numbers are the same everywhere.
pub(crate) const ALPHA_BITS: u32 = 20;

/// A part of the free memory, in 2^-20.
#[inline]
pub(crate) fn part(free: u64, alpha: u64) -> u64 {
    ((u128::from(free) * u128::from(alpha)) >> ALPHA_BITS) as u64
}

headway_params::choice! {
    /// Switch chips whose memory is known.
    pub enum Chip {
        /// None of them: the keys say all.
        None = "none",
        /// Broadcom Trident 2.
        Trident2 = "trident2",
        /// Broadcom Trident 3.
        Trident3 = "trident3",
        /// Broadcom Tomahawk.
        Tomahawk = "tomahawk",
        /// Broadcom Tomahawk 2.
        Tomahawk2 = "tomahawk2",
        /// Broadcom Tomahawk 3.
        Tomahawk3 = "tomahawk3",
        /// Broadcom Tomahawk 4.
        Tomahawk4 = "tomahawk4",
        /// Broadcom Jericho with its external memory.
        Jericho = "jericho",
        /// The switches of ABM's simulations.
        Abm = "abm-ns3",
        /// The switches of Reverie's simulations.
        Reverie = "reverie-ns3",
    }
}

/// Memory of a chip, as one published configuration sets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChipMemory {
    /// Bytes of the whole memory.
    pub size: u64,
    /// Part of the free pool that a queue of data that may be dropped gets.
    pub alpha: f64,
    /// Bytes that each queue has for itself.
    pub reserve: u64,
    /// Rate of all ports together in Gb/s; 0 where the source has none.
    pub capacity: u64,
    /// Rate of its fastest port in Gb/s; 0 where the source has none.
    pub port: u64,
    /// Publication that says so.
    pub source: &'static str,
}

impl Chip {
    /// Every chip, in the order of their words.
    pub const ALL: [Chip; 10] = [
        Chip::None,
        Chip::Trident2,
        Chip::Trident3,
        Chip::Tomahawk,
        Chip::Tomahawk2,
        Chip::Tomahawk3,
        Chip::Tomahawk4,
        Chip::Jericho,
        Chip::Abm,
        Chip::Reverie,
    ];

    /// Its memory; `None` for no chip.
    pub fn memory(self) -> Option<ChipMemory> {
        let made = |size, alpha, reserve, (capacity, port), source| {
            Some(ChipMemory { size, alpha, reserve, capacity, port, source })
        };
        match self {
            Chip::None => None,
            Chip::Trident2 => {
                made(12_766_208, 8.0, 1518, (1_280, 40), "SONiC, buffers_defaults_t0.j2 of Arista-7050-QX32")
            }
            Chip::Trident3 => made(
                32_599_040,
                8.0,
                1792,
                (3_200, 100),
                "SONiC, buffers_defaults_t0.j2 of Arista-7050CX3-32S-C32",
            ),
            Chip::Tomahawk => made(
                15_982_720,
                8.0,
                1518,
                (3_200, 100),
                "SONiC, buffers_defaults_t0.j2 of Arista-7060CX-32S-C32",
            ),
            Chip::Tomahawk2 => made(
                42_349_632,
                0.5,
                1664,
                (6_400, 100),
                "SONiC, buffers_defaults_t0.j2 of Arista-7260CX3-Q64",
            ),
            Chip::Tomahawk3 => made(
                67_117_468,
                2.0,
                1778,
                (12_800, 400),
                "SONiC, buffers_defaults_t0.j2 of DellEMC-Z9332f-O32",
            ),
            Chip::Tomahawk4 => made(
                113_620_296,
                4.0,
                0,
                (25_600, 400),
                "SONiC, buffers_defaults_t0.j2 of DellEMC-Z9664f-O64",
            ),
            Chip::Jericho => made(
                4_000_000_000,
                1.0,
                0,
                (720, 100),
                "J. Warner, UCSC, pages on packet buffers: 4 GB for each packet processor of the Arista 7500R; no alpha is published",
            ),
            Chip::Abm => made(
                3_932_160,
                0.5,
                0,
                (400, 10),
                "ns3-datacenter, examples/ABM: 9.6 KiB a port and Gb/s (run-main.sh), 40 ports of 10 Gb/s; alphas of its data queues",
            ),
            Chip::Reverie => made(
                2_560_000,
                1.0,
                0,
                (500, 25),
                "ns3-datacenter, examples/Reverie: 5.12 kB a port and Gb/s (run-tcp-bursts.sh), 20 ports of 25 Gb/s",
            ),
        }
    }

    /// The smallest of Broadcom's shallow chips that carries so many Gb/s, with ports of so many; the largest where none
    /// does.
    pub fn for_capacity(gbps: u64, port: u64) -> Option<(Chip, ChipMemory)> {
        let own = [Chip::Trident2, Chip::Trident3, Chip::Tomahawk2, Chip::Tomahawk3, Chip::Tomahawk4];
        let known: Vec<(Chip, ChipMemory)> =
            own.iter().filter_map(|chip| Some((*chip, chip.memory()?))).collect();
        let fits = |(_, memory): &&(Chip, ChipMemory)| memory.capacity >= gbps && memory.port >= port;
        known.iter().find(fits).or(known.last()).copied()
    }
}

headway_params::params! {
    /// Parameters of the memory of switches that drop: `[fabric.memory]`.
    pub struct MemoryParams {
        /// A chip whose memory, `alpha` and `reserve` hold where the table does not say.
        chip: Chip = Chip::None, ParamKind::Choice(Chip::WORDS);
        /// Memory of each switch for all its ports; the chip's if there is one. 0 only then.
        size: u64 = 0, ParamKind::Bytes { min: 0, max: 1 << 40 };
        /// Part of the free pool that a queue, the packets of a class at a port, may take; the chip's if there is one.
        alpha: f64 = 1.0, ParamKind::Float { min: 0.001, max: 1024.0 };
        /// Part of the memory that each queue has for itself; the chip's if there is one.
        reserve: u64 = 0, ParamKind::Bytes { min: 0, max: 1 << 30 };
        /// Classes of data with a queue of their own: data of priority 1 is the first, and the last takes all that follow.
        classes: u64 = 1, ParamKind::Int { min: 1, max: 8 };
        /// True if control takes memory too, as a class of its own with the alpha of the first.
        count_control: bool = true, ParamKind::Bool;
        /// Bytes of the whole pool from which on data that can be marked is, whatever the discipline does at its port; 0 = never.
        mark: u64 = 0, ParamKind::Bytes { min: 0, max: 1 << 40 };
    }
}

/// The memory of switches that drop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemorySpec {
    /// Its parameters, those of a chip filled in.
    pub params: MemoryParams,
    /// Alphas of the classes of data in place of `alpha`; empty where that holds for all.
    pub alphas: Vec<f64>,
}

impl MemorySpec {
    /// Classes of packets, control first.
    pub fn all_classes(&self) -> usize {
        1 + self.params.classes as usize
    }

    /// The class of a packet; 0 for control.
    #[inline]
    pub fn class_of(&self, packet: &Packet) -> usize {
        match packet.is_data() {
            true => usize::from(packet.priority).clamp(1, self.params.classes as usize),
            false => 0,
        }
    }

    /// The alpha of a class; control has that of the first class of data.
    pub fn alpha_of(&self, class: usize) -> f64 {
        self.alphas.get(class.saturating_sub(1)).copied().unwrap_or(self.params.alpha)
    }

    /// Bytes that each of `full` queues of data holds once they have taken what they may, at a switch of so many ports.
    pub fn share_of(&self, ports: u64, full: u64) -> u64 {
        let classes = self.params.classes + u64::from(self.params.count_control);
        let reserves = self.params.reserve.saturating_mul(classes).saturating_mul(ports);
        let pool = self.params.size.saturating_sub(reserves) as f64;
        let alpha = self.alpha_of(1);
        self.params.reserve + (alpha * pool / (1.0 + full as f64 * alpha)) as u64
    }
}

/// The packets of one class at one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Queue {
    /// Part of the free pool, in 2^-20.
    alpha: u64,
    bytes: u64,
}

/// The memory of one switch.
///
/// Queues are by port and class. The driver asks for the [`SharedMemory::room`] of a packet's queue before it offers the
/// packet to the port, and notes what was queued and what left.
#[derive(Clone, Debug, Default)]
pub struct SharedMemory {
    pool: u64,
    used: u64,
    used_max: u64,
    reserve: u64,
    classes: usize,
    queues: Vec<Queue>,
}

impl SharedMemory {
    #[inline]
    fn at(&self, place: u32, class: usize) -> usize {
        debug_assert!(class < self.classes);
        place as usize * self.classes + class
    }

    /// Bytes in the pool of a queue of so many.
    #[inline]
    fn shared(&self, bytes: u64) -> u64 {
        bytes.saturating_sub(self.reserve)
    }

    /// Bytes of the pool that are free.
    #[inline]
    pub fn free(&self) -> u64 {
        self.pool - self.used
    }

    /// Bytes by which a queue may grow, when so many more of the pool are taken.
    #[inline]
    pub fn room(&self, place: u32, class: usize, more: u64) -> u64 {
        let Queue { alpha, bytes } = self.queues[self.at(place, class)];
        let free = self.free().saturating_sub(more);
        let most = part(free, alpha).min(self.shared(bytes).saturating_add(free));
        self.reserve.saturating_add(most).saturating_sub(bytes)
    }

    /// Notes that a packet waits, and returns `false` if that is more than the pool has.
    #[must_use]
    pub fn take(&mut self, place: u32, class: usize, bytes: u64) -> bool {
        let at = self.at(place, class);
        let before = self.queues[at].bytes;
        self.queues[at].bytes = before + bytes;
        self.used += self.shared(before + bytes) - self.shared(before);
        self.used_max = self.used_max.max(self.used);
        self.used <= self.pool
    }

    /// Notes that a packet waits no more.
    pub fn release(&mut self, place: u32, class: usize, bytes: u64) {
        let at = self.at(place, class);
        let before = self.queues[at].bytes;
        self.queues[at].bytes = before - bytes;
        self.used -= self.shared(before) - self.shared(before - bytes);
    }

    /// Bytes of the pool that are taken.
    #[inline]
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Most bytes of the pool that were taken.
    pub fn used_max(&self) -> u64 {
        self.used_max
    }

    /// Bytes of the pool.
    pub fn pool(&self) -> u64 {
        self.pool
    }

    /// Bytes that wait in a class at a port.
    pub fn bytes(&self, place: u32, class: usize) -> u64 {
        self.queues[self.at(place, class)].bytes
    }

    /// Checks that queues add up to what is taken, and that the pool has it.
    pub fn check(&self) -> Result<(), String> {
        let sum: u64 = self.queues.iter().map(|queue| self.shared(queue.bytes)).sum();
        match sum == self.used && self.used_max <= self.pool {
            true => Ok(()),
            false => Err(format!(
                "{} B of {} B of the pool are taken, {} B at the most, and queues hold {sum} B of it",
                self.used, self.pool, self.used_max
            )),
        }
    }
}

/// A port of a switch with shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outbound {
    /// Number of the switch.
    pub switch: u32,
    /// Its place among the ports of the switch.
    pub place: u32,
}

/// The shared memories of a network's switches.
#[derive(Clone, Debug)]
pub struct Memories {
    spec: MemorySpec,
    /// By link; `None` for links of hosts.
    outbound: Vec<Option<Outbound>>,
    switches: Vec<SharedMemory>,
}

impl Memories {
    /// Memory of its switches, empty; an error if it is not enough for the reserves. `None` for a network without any that
    /// is shared.
    pub fn new(network: &Network) -> Result<Option<Memories>, BuildError> {
        let Some(spec) = network.fabric().memory.clone() else { return Ok(None) };
        let (hosts, classes) = (network.interfaces(), spec.all_classes());
        let empty = SharedMemory { reserve: spec.params.reserve, classes, ..SharedMemory::default() };
        let mut switches = vec![empty; network.switches() as usize];
        let mut outbound = Vec::with_capacity(network.links().len());
        for (number, link) in network.links().iter().enumerate() {
            let Some(switch) = link.from.checked_sub(hosts) else {
                outbound.push(None);
                continue;
            };
            let memory = &mut switches[switch as usize];
            let place = (memory.queues.len() / classes) as u32;
            let own = network.alpha_at(number as u32);
            memory.queues.extend((0..classes).map(|class| {
                let alpha = own.unwrap_or_else(|| spec.alpha_of(class));
                Queue { alpha: (alpha * f64::from(1u32 << ALPHA_BITS)).round() as u64, bytes: 0 }
            }));
            outbound.push(Some(Outbound { switch, place }));
        }
        let counted = spec.params.classes + u64::from(spec.params.count_control);
        for (switch, memory) in switches.iter_mut().enumerate() {
            let ports = (memory.queues.len() / classes) as u64;
            let needed = spec.params.reserve.saturating_mul(counted).saturating_mul(ports);
            let Some(pool) = spec.params.size.checked_sub(needed).filter(|pool| *pool > 0 || ports == 0)
            else {
                let switch = network.node_name(hosts + switch as u32);
                return Err(BuildError::SharedMemory { switch, ports, needed, size: spec.params.size });
            };
            memory.pool = pool;
        }
        Ok(Some(Memories { spec, outbound, switches }))
    }

    /// Its specification.
    pub fn spec(&self) -> &MemorySpec {
        &self.spec
    }

    /// The switch and the place of a port; `None` for a host's.
    #[inline]
    pub fn outbound(&self, link: u32) -> Option<Outbound> {
        self.outbound[link as usize]
    }

    /// The memory of a switch.
    #[inline]
    pub fn of_switch(&self, switch: u32) -> &SharedMemory {
        &self.switches[switch as usize]
    }

    /// The memory of a switch, to take from it and to give back.
    #[inline]
    pub fn of_switch_mut(&mut self, switch: u32) -> &mut SharedMemory {
        &mut self.switches[switch as usize]
    }

    /// Largest number of ports of a switch.
    pub fn most_ports(&self) -> u64 {
        let ports = |memory: &SharedMemory| (memory.queues.len() / memory.classes) as u64;
        self.switches.iter().map(ports).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(pool: u64, ports: usize, alpha: f64, reserve: u64) -> SharedMemory {
        let alpha = (alpha * f64::from(1u32 << ALPHA_BITS)) as u64;
        let queues = vec![Queue { alpha, bytes: 0 }; ports * 2];
        SharedMemory { pool, reserve, classes: 2, queues, ..SharedMemory::default() }
    }

    /// Bytes that queues hold once each of these ports has taken packets of this size until none fits.
    fn filled(memory: &mut SharedMemory, ports: std::ops::Range<u32>, packet: u64) -> Vec<u64> {
        let mut took = true;
        while std::mem::take(&mut took) {
            for port in ports.clone() {
                if memory.room(port, 1, 0) >= packet {
                    assert!(memory.take(port, 1, packet));
                    took = true;
                }
            }
        }
        ports.map(|port| memory.bytes(port, 1)).collect()
    }

    #[test]
    fn one_port_alone_gets_its_part_and_eight_share_it() {
        for alpha in [0.125, 0.5, 1.0, 2.0, 8.0] {
            for full in [1, 2, 8] {
                let pool = 9_000_000;
                let mut memory = memory(pool, 16, alpha, 0);
                let each = alpha * pool as f64 / (1.0 + f64::from(full) * alpha);
                for held in filled(&mut memory, 0..full, 1000) {
                    assert!(
                        (held as f64 - each).abs() <= 1000.0 * (1.0 + alpha),
                        "{alpha} {full}: {held} {each}"
                    );
                }
                memory.check().expect("it adds up");
            }
        }
    }

    #[test]
    fn a_reserve_is_there_when_the_pool_is_gone() {
        let mut memory = memory(100_000, 3, 1024.0, 2_000);
        assert_eq!(filled(&mut memory, 0..1, 500), [102_000], "nearly complete sharing");
        assert_eq!(filled(&mut memory, 1..2, 500), [2_000]);
        memory.release(0, 1, 500);
        assert_eq!(memory.room(2, 1, 0), 2_500);
        assert_eq!(memory.room(0, 0, 0), 2_500, "control has a queue of its own");
        memory.check().expect("it adds up");
    }

    /// The queues at the end in ABM's ns-3 (ns3-datacenter). A packet is dropped if its queue would be longer than alpha times
    /// the remaining memory, rounded down, or if the packet would leave no memory.
    fn queues_of_abm(size: u64, arrivals: &[(usize, u64)], alphas: &[f64]) -> Vec<u64> {
        let mut queues = vec![0; alphas.len()];
        for &(queue, packet) in arrivals {
            let remaining = size - queues.iter().sum::<u64>();
            let most = (alphas[queue] * remaining as f64) as u64;
            if queues[queue] + packet <= most && remaining > packet {
                queues[queue] += packet;
            }
        }
        queues
    }

    #[test]
    fn queues_are_as_long_as_in_the_simulator_of_abm() {
        let size = 3_932_160;
        let one: Vec<(usize, u64)> = (0..4_000).map(|_| (0, 1500)).collect();
        let two: Vec<(usize, u64)> = (0..8_000).map(|turn| (turn % 2, 1500)).collect();
        // Eight ports fill one after the other, and the first ones hold more than those that come last.
        let eight: Vec<(usize, u64)> = (0..32_000).map(|turn| (turn / 4_000, 1500)).collect();
        // By hand: 1311 packets are the most for which q + 1500 <= B - q holds before each of them.
        let cases: [(&[(usize, u64)], Vec<f64>, Option<u64>); 3] =
            [(&one, vec![1.0], Some(1_966_500)), (&two, vec![1.0, 0.5], None), (&eight, vec![0.5; 8], None)];
        for (arrivals, alphas, first) in cases {
            let theirs = queues_of_abm(size, arrivals, &alphas);
            let mut own = memory(size, alphas.len(), 1.0, 0);
            for (place, alpha) in alphas.iter().enumerate() {
                own.queues[place * 2 + 1].alpha = (alpha * f64::from(1u32 << ALPHA_BITS)) as u64;
            }
            for &(queue, packet) in arrivals {
                if own.room(queue as u32, 1, 0) >= packet {
                    assert!(own.take(queue as u32, 1, packet));
                }
            }
            let ours: Vec<u64> = (0..alphas.len()).map(|place| own.bytes(place as u32, 1)).collect();
            assert!(theirs.iter().zip(&ours).all(|(a, b)| a.abs_diff(*b) <= 1500), "{theirs:?} {ours:?}");
            assert!(first.is_none_or(|first| first == ours[0]), "{ours:?}");
        }
    }

    #[test]
    fn chips_grow_with_what_they_carry() {
        let name = |gbps, port| Chip::for_capacity(gbps, port).map(|(chip, _)| chip.word());
        let names = [(400, 10), (1_280, 40), (400, 100), (6_400, 100), (800, 400), (51_200, 800)];
        let names: Vec<_> = names.iter().filter_map(|(gbps, port)| name(*gbps, *port)).collect();
        assert_eq!(names, ["trident2", "trident2", "trident3", "tomahawk2", "tomahawk3", "tomahawk4"]);
        assert!(Chip::ALL.iter().zip(Chip::WORDS).all(|(chip, word)| chip.word() == *word));
    }
}
