//! The paths of a message's subflows: what multipath transports have in common.
//!
//! The entropy alone distinguishes a subflow from the others of its message. It stands for an address pair and
//! two ports: switches hash it, or take it for the number of a path (`routing = "pinned"`).

use crate::endpoint::Path;
use headway_primitives::mix;

headway_params::choice! {
    /// Policy that chooses the paths of a message's subflows.
    pub enum PathManager {
        /// The same addresses and other ports: random paths, where switches hash or number them. Two subflows may
        /// meet on one path.
        Ndiffports = "ndiffports",
        /// One for each pair of addresses: as many different paths as there are, in order from the message's own.
        FullMesh = "full-mesh",
    }
}

impl PathManager {
    /// Number of subflows of a message to the end of `path`, if `wanted` are allowed.
    pub fn subflow_count(self, wanted: u32, path: &Path) -> u32 {
        let pairs = match self {
            // Each pair of addresses is one path, and a mesh has one subflow on each. Hashed
            // paths are not counted and set no limit.
            PathManager::FullMesh if path.paths > 0 => path.paths,
            _ => u32::MAX,
        };
        // At least one: a message without a subflow could not be sent.
        wanted.clamp(1, pairs)
    }

    /// True if several of `wanted` subflows must take paths that differ, which only switches that follow the packets
    /// give them.
    pub fn needs_pinned_paths(self, wanted: u64) -> bool {
        // Only a mesh promises different paths: other ports may meet on one.
        self == PathManager::FullMesh && wanted > 1
    }

    /// The entropy of subflow `number` of a message whose own is `entropy`, which subflow 0 has.
    pub fn subflow_entropy(self, entropy: u32, number: u32, path: &Path) -> u32 {
        match self {
            // Subflow 0 keeps the message's entropy, so that one subflow takes the path that a
            // transport without subflows would.
            _ if number == 0 => entropy,
            // The paths after that of the first subflow, in a circle.
            // Reduced first: the sum of a large entropy and a number could overflow.
            PathManager::FullMesh if path.paths > 0 => (entropy % path.paths + number) % path.paths,
            // Both in one word before mixing: neighbouring messages and subflows get unrelated entropies.
            _ => mix(u64::from(entropy) << 32 | u64::from(number)) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::{Rate, Time};

    #[test]
    fn a_full_mesh_takes_each_numbered_path_once() {
        let path = |paths| Path {
            longest_timeout: Time::MAX,
            base_rtt: Time::us(1),
            max_rtt: Time::us(1),
            bottleneck: Rate::gbps(1),
            paths,
            hops: 1,
        };
        assert_eq!(PathManager::FullMesh.subflow_count(8, &path(2)), 2);
        assert_eq!(PathManager::FullMesh.subflow_count(8, &path(0)), 8, "hashed paths are not counted");
        // Close to the largest entropy: an unreduced sum would overflow.
        let mesh = |n| PathManager::FullMesh.subflow_entropy(u32::MAX - 1, n, &path(3)) % 3;
        let mut taken: Vec<u32> = (0..3).map(mesh).collect();
        taken.sort_unstable();
        assert_eq!(taken, [0, 1, 2]);
    }

    #[test]
    fn other_ports_draw_lots() {
        let path = Path {
            longest_timeout: Time::MAX,
            base_rtt: Time::us(1),
            max_rtt: Time::us(1),
            bottleneck: Rate::gbps(1),
            paths: 2,
            hops: 1,
        };
        assert_eq!(PathManager::Ndiffports.subflow_count(8, &path), 8);
        assert_eq!(PathManager::Ndiffports.subflow_count(0, &path), 1);
        let port = |n| PathManager::Ndiffports.subflow_entropy(7, n, &path);
        assert_eq!(port(0), 7, "the first subflow is the message's own");
        // Of 64 fair draws 32 are expected, with a standard deviation of 4: the bounds are four of these away.
        let odd = (0..64).filter(|n| port(*n) % 2 == 1).count();
        assert!((16..48).contains(&odd), "{odd} of 64 on one of two paths");
    }
}
