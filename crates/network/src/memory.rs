//! The memory of switches that drop: one buffer that all ports of a switch share, with dynamic thresholds.
//!
//! A queue is the packets of one class that wait at one port. It may take its reserve, and of the pool that all queues
//! share no more than `alpha` times what is free of it (Choudhury and Hahne, ToN 1998): a port alone gets
//! `alpha / (1 + alpha)` of the pool, and `n` full queues `alpha / (1 + n alpha)` each. Lossless switches count packets by
//! the link that they came over instead ([`crate::pfc`]).

use crate::chips::{MemorySpec, part, whole_alpha};
use crate::error::BuildError;
use crate::network::Network;

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
                Queue { alpha: whole_alpha(alpha), bytes: 0 }
            }));
            outbound.push(Some(Outbound { switch, place }));
        }
        for (switch, memory) in switches.iter_mut().enumerate() {
            let ports = (memory.queues.len() / classes) as u64;
            let needed = spec.reserved_by(ports);
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
    use crate::chips::Chip;

    fn memory(pool: u64, ports: usize, alpha: f64, reserve: u64) -> SharedMemory {
        let alpha = whole_alpha(alpha);
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
        let cases =
            [(&one, vec![1.0], Some(1_966_500)), (&two, vec![1.0, 0.5], None), (&eight, vec![0.5; 8], None)];
        for (arrivals, alphas, first) in cases {
            let theirs = queues_of_abm(size, arrivals, &alphas);
            let mut own = memory(size, alphas.len(), 1.0, 0);
            for (place, alpha) in alphas.iter().enumerate() {
                own.queues[place * 2 + 1].alpha = whole_alpha(*alpha);
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
