//! Routes around links that are down: shortest paths over those that are up.
//!
//! Nothing is computed before a packet asks for it, and results are kept for as long as the same links are
//! down. Where all usual next hops are still next hops, and no others, the choice among them is the usual one, so
//! that flows which a failure does not concern stay where they are.

use crate::link::Link;
use crate::network::Network;
use crate::router::Targets;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// Next hop of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The usual next hops, as if every link were up.
    Usual,
    /// One of these ports, of which there is at least one.
    Few {
        ports: Box<[u32]>,
        /// Level of the usual next hops.
        level: u32,
    },
    /// The destination cannot be reached.
    Nowhere,
}

/// Links between nodes, without regard to outages.
#[derive(Debug)]
pub(crate) struct Joints {
    /// Ports of each switch to other switches, with the switch at the far end.
    out: Vec<Vec<(u32, u32)>>,
    /// By switch or other target: the ports that lead to it, each with the switch at the near end.
    into: Vec<Vec<(u32, u32)>>,
    /// By interface: the switch it hangs on and that switch's port to it; `u32::MAX` for one without a switch. One of several ports is
    /// a target of its own.
    attached: Vec<(u32, u32)>,
}

impl Joints {
    pub(crate) fn new(network: &Network) -> Joints {
        let hosts = network.interfaces();
        let targets = Targets::new((hosts, network.switches()), network.owners());
        let mut joints = Joints {
            out: vec![Vec::new(); network.switches() as usize],
            into: vec![Vec::new(); targets.all as usize],
            attached: vec![(u32::MAX, u32::MAX); hosts as usize],
        };
        for (port, Link { from, to, .. }) in network.links().iter().enumerate() {
            let Some(near) = from.checked_sub(hosts) else { continue };
            match to.checked_sub(hosts) {
                None => match targets.of(*to) {
                    None => joints.attached[*to as usize] = (near, port as u32),
                    Some(target) => {
                        let address = network.owners().address_of(*to);
                        joints.attached[address as usize] = (target, u32::MAX);
                        joints.out[near as usize].push((port as u32, target));
                        joints.into[target as usize].push((port as u32, near));
                    }
                },
                Some(far) => {
                    joints.out[near as usize].push((port as u32, far));
                    joints.into[far as usize].push((port as u32, near));
                }
            }
        }
        joints
    }
}

/// Routes while certain links are down.
#[derive(Debug)]
pub(crate) struct Detours {
    down: FxHashSet<u32>,
    /// Hops to a destination's switch from every switch, `u32::MAX` if unreachable.
    distances: FxHashMap<u32, Box<[u32]>>,
    /// Next hops by switch and destination's switch.
    next: FxHashMap<(u32, u32), Next>,
    joints: std::sync::Arc<Joints>,
}

impl Detours {
    pub(crate) fn new(down: &[u32], joints: std::sync::Arc<Joints>) -> Detours {
        let down = down.iter().copied().collect();
        Detours { down, distances: FxHashMap::default(), next: FxHashMap::default(), joints }
    }

    /// Next hop from a switch of packets for a host.
    pub(crate) fn next(&mut self, network: &Network, switch: u32, dst: u32) -> &Next {
        let (home, access) = self.joints.attached[dst as usize];
        if home == u32::MAX {
            return &Next::Usual;
        }
        if self.down.contains(&access) {
            return &Next::Nowhere;
        }
        // The port to the host itself has no alternative.
        if home == switch {
            return &Next::Usual;
        }
        if !self.next.contains_key(&(switch, home)) {
            let found = self.find(network, switch, home, dst);
            self.next.insert((switch, home), found);
        }
        &self.next[&(switch, home)]
    }

    fn find(&mut self, network: &Network, switch: u32, home: u32, dst: u32) -> Next {
        let Detours { down, distances, joints, .. } = self;
        let distance = distances.entry(home).or_insert_with(|| hops(home, joints, down));
        let here = distance[switch as usize];
        if here == u32::MAX {
            return Next::Nowhere;
        }
        // Checked: the distance of an unreachable switch is the largest number.
        let nearer = |far: u32| distance[far as usize].checked_add(1) == Some(here);
        let open =
            joints.out[switch as usize].iter().filter(|(port, far)| !down.contains(port) && nearer(*far));
        let ports: Box<[u32]> = open.map(|(port, _)| *port).collect();
        let (usual, level) = network.router.all(switch, dst);
        if *ports == *usual { Next::Usual } else { Next::Few { ports, level } }
    }
}

/// Hops from every switch to `target` over links that are up.
fn hops(target: u32, joints: &Joints, down: &FxHashSet<u32>) -> Box<[u32]> {
    let mut distance = vec![u32::MAX; joints.into.len()];
    distance[target as usize] = 0;
    let mut queue = VecDeque::from([target]);
    while let Some(switch) = queue.pop_front() {
        let next = distance[switch as usize] + 1;
        for (port, near) in &joints.into[switch as usize] {
            if distance[*near as usize] == u32::MAX && !down.contains(port) {
                distance[*near as usize] = next;
                queue.push_back(*near);
            }
        }
    }
    distance.into()
}
