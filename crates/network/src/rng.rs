//! Named generators: one stream for each (run seed, purpose, entity), so that adding an entity or a
//! purpose never shifts another's numbers.

use headway_primitives::mix;
use rand_pcg::Pcg32;

/// Purpose of random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// A switch's choice among next hops for every packet.
    Spray = 1,
    /// A flow's ECMP entropy.
    Entropy = 2,
    /// A switch's ECMP salt.
    Salt = 3,
    /// Faults on a link.
    Faults = 4,
    /// Random decisions of a port.
    Port = 5,
    /// Delays of a host's packets.
    HostTiming = 6,
    /// Choice of a flow among equal interfaces.
    Interface = 7,
}

/// A number that depends on the seed, the purpose and the entity alone.
pub fn derive(seed: u64, purpose: Purpose, entity: u64) -> u64 {
    mix(mix(seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_add(mix((purpose as u64) << 56 ^ entity)))
}

/// The stream of an entity for a purpose.
pub fn stream(seed: u64, purpose: Purpose, entity: u64) -> Pcg32 {
    Pcg32::new(derive(seed, purpose, entity), entity)
}
