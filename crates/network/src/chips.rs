//! Settings of the memory of switches that drop, chips whose memory is published, and the arithmetic of thresholds.

use headway_packet::Packet;
use headway_params::ParamKind;

/// Parts of a byte in which thresholds are computed: whole numbers are the same everywhere.
pub(crate) const ALPHA_BITS: u32 = 20;

/// A part of memory, in 2^-20.
pub(crate) fn whole_alpha(alpha: f64) -> u64 {
    (alpha * f64::from(1u32 << ALPHA_BITS)).round() as u64
}

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

    /// Bytes that the queues of a switch of so many ports have for themselves.
    pub(crate) fn reserved_by(&self, ports: u64) -> u64 {
        let classes = self.params.classes + u64::from(self.params.count_control);
        self.params.reserve.saturating_mul(classes).saturating_mul(ports)
    }

    /// Bytes that each of `full` queues of data holds once they have taken what they may, at a switch of so many ports.
    pub fn share_of(&self, ports: u64, full: u64) -> u64 {
        let pool = self.params.size.saturating_sub(self.reserved_by(ports)) as f64;
        let alpha = self.alpha_of(1);
        self.params.reserve + (alpha * pool / (1.0 + full as f64 * alpha)) as u64
    }
}
