//! A k-ary fat-tree.

use super::keys::{HOST_DELAY, HOST_RATE, like, needed};
use super::sketch::{Sketch, spread, stands_for};
use super::{
    Declared, Hop, Info, Key, Kind, NextHops, Size, Tier, Topology, Usual, Values, Wiring, positive,
    two_tiers,
};
use crate::error::BuildError;
use crate::link::LinkSpec;

/// `k` pods of `k/2` edge and `k/2` aggregation switches, `(k/2)^2` cores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FatTree {
    /// Ports a switch, even.
    pub k: u32,
    /// Hosts at each edge switch (`k/2` in the textbook).
    pub hosts_per_edge: u32,
    /// Each host's link.
    pub host: LinkSpec,
    /// Each link between switches.
    pub fabric: LinkSpec,
}

const HOSTS_PER_EDGE: Key = Key {
    name: "hosts_per_edge",
    kind: Kind::Count,
    usual: Usual::Count("k/2", |values| values.count("k") / 2),
    doc: "hosts at each edge switch",
};

impl Declared for FatTree {
    const INFO: Info = Info {
        name: "fat-tree",
        summary: "k pods of k/2 edge and k/2 aggregation switches under (k/2)^2 cores",
        keys: &[
            needed("k", Kind::EvenCount, "ports of a switch"),
            HOSTS_PER_EDGE,
            HOST_RATE,
            like("host_rate", "fabric_rate", Kind::Rate, "of each link between switches"),
            HOST_DELAY,
            like("host_delay", "fabric_delay", Kind::Duration, "of each link between switches"),
        ],
        size: &["k", "hosts_per_edge"],
    };
    type NextHops = UpAndDown;

    fn of(values: &Values) -> FatTree {
        FatTree {
            k: values.count("k"),
            hosts_per_edge: values.count("hosts_per_edge"),
            host: values.link("host_rate", "host_delay"),
            fabric: values.link("fabric_rate", "fabric_delay"),
        }
    }
}

impl Topology for FatTree {
    fn size(&self) -> Size {
        let half = u64::from(self.k / 2);
        let edges = u64::from(self.k) * half;
        let hosts = edges * u64::from(self.hosts_per_edge);
        Size { hosts, switches: 2 * edges + half * half, links: 2 * hosts + 4 * edges * half }
    }

    fn wire(&self, wiring: &mut Wiring) -> Result<(), BuildError> {
        let (k, per) = (self.k, self.hosts_per_edge);
        if k < 2 || !k.is_multiple_of(2) {
            return Err(BuildError::Shape(format!("k must be even and at least 2, not {k}")));
        }
        positive("hosts_per_edge", per)?;
        let half = k / 2;
        let edges = k * half;
        let hosts = edges * per;
        wiring.nodes(hosts, 2 * edges + half * half);
        let (edge, agg, core) =
            (|e: u32| hosts + e, |a: u32| hosts + edges + a, |c: u32| hosts + 2 * edges + c);
        (0..hosts).for_each(|h| wiring.one_way(h, edge(h / per), self.host));
        (0..hosts).for_each(|h| wiring.one_way(edge(h / per), h, self.host));
        for e in 0..edges {
            (0..half).for_each(|a| wiring.one_way(edge(e), agg(e / half * half + a), self.fabric));
        }
        for a in 0..edges {
            (0..half).for_each(|e| wiring.one_way(agg(a), edge(a / half * half + e), self.fabric));
        }
        for a in 0..edges {
            (0..half).for_each(|c| wiring.one_way(agg(a), core(a % half * half + c), self.fabric));
        }
        for c in 0..half * half {
            (0..k).for_each(|pod| wiring.one_way(core(c), agg(pod * half + c / half), self.fabric));
        }
        Ok(())
    }

    fn tiers(&self) -> Vec<Tier> {
        two_tiers(self.size(), self.host, self.fabric, 4)
    }

    fn links_mut(&mut self) -> Vec<&mut LinkSpec> {
        vec![&mut self.host, &mut self.fabric]
    }

    fn host_link(&self) -> Option<LinkSpec> {
        Some(self.host)
    }

    fn switch_name(&self, switch: u32) -> String {
        let half = self.k / 2;
        let tier = half * self.k;
        match switch / tier {
            0 => format!("edge{}.{}", switch / half, switch % half),
            1 => format!("agg{}.{}", (switch - tier) / half, switch % half),
            _ => format!("core{}", switch - 2 * tier),
        }
    }

    fn racks(&self) -> Option<Vec<u32>> {
        Some((0..=self.k * (self.k / 2)).map(|edge| edge * self.hosts_per_edge).collect())
    }

    fn core_bps(&self) -> Option<f64> {
        let half = f64::from(self.k / 2);
        Some(f64::from(self.k) * half * half * self.fabric.rate.bps() as f64)
    }

    fn has_many_paths(&self) -> bool {
        true
    }

    fn draw(&self, sketch: &mut Sketch) {
        let (k, half, each) = (self.k, self.k / 2, self.hosts_per_edge);
        let most = if k <= ALL_PODS { ALL_PODS } else { SOME_PODS };
        let (pods, places, cores) = (k.min(most), half.min(most), half.min(CORES_DRAWN));
        for a in 0..places {
            for c in 0..cores {
                let x = spread(a * cores + c, places * cores);
                let count = stands_for(c, cores, half) * stands_for(a, places, half);
                sketch.switch(&format!("core{}", a * half + c), 3, x, 0.08, count);
            }
        }
        let columns = pods * places;
        for pod in 0..pods {
            for i in 0..places {
                let x = spread(pod * places + i, columns);
                let count = stands_for(pod, pods, k) * stands_for(i, places, half);
                let (edge, agg) = (format!("edge{pod}.{i}"), format!("agg{pod}.{i}"));
                sketch.switch(&agg, 2, x, 0.36, count);
                sketch.switch(&edge, 1, x, 0.64, count);
                (0..cores).for_each(|c| sketch.link(&agg, &format!("core{}", i * half + c), &self.fabric));
                (0..places).for_each(|j| sketch.link(&edge, &format!("agg{pod}.{j}"), &self.fabric));
                let width = 0.85 / f64::from(columns);
                let place = |t: f64| (x + (t - 0.5) * width, 0.92);
                sketch.hosts((&edge, count), ((pod * half + i) * each, each), &self.host, place);
            }
        }
    }
}

/// Pods that are all drawn.
const ALL_PODS: u32 = 4;
/// In a larger network: the pods that are drawn, and the switches of one layer of a pod.
const SOME_PODS: u32 = 3;
/// Cores above each place in a pod that are drawn at most.
const CORES_DRAWN: u32 = 2;

/// Up to any core, and down to the pod and to the edge switch.
pub(crate) struct UpAndDown {
    k: u32,
    half: u32,
    hosts: u32,
    /// Edge switches; as many aggregation switches follow.
    edges: u32,
    /// First ports of the tiers.
    edge_up: u32,
    agg_down: u32,
    agg_up: u32,
    core_down: u32,
    /// Edge switch and pod of each host. A look-up is cheaper than two divisions.
    home: Vec<(u32, u32)>,
}

impl NextHops<FatTree> for UpAndDown {
    const COMPUTED: bool = true;

    fn new(shape: &FatTree) -> UpAndDown {
        let (k, half) = (shape.k, shape.k / 2);
        let edges = k * half;
        let hosts = edges * shape.hosts_per_edge;
        let edge_up = 2 * hosts;
        let agg_down = edge_up + edges * half;
        let agg_up = agg_down + edges * half;
        let core_down = agg_up + edges * half;
        let home = |host: u32| (host / shape.hosts_per_edge, host / shape.hosts_per_edge / half);
        let home = (0..hosts).map(home).collect();
        UpAndDown { k, half, hosts, edges, edge_up, agg_down, agg_up, core_down, home }
    }

    #[inline(always)]
    fn hop(&self, switch: u32, dst: u32) -> Option<Hop> {
        let (edge, pod) = self.home[dst as usize];
        Some(if switch < self.edges {
            if switch == edge {
                Hop::One(self.hosts + dst)
            } else {
                Hop::Many { first: self.edge_up + switch * self.half, count: self.half, level: 0 }
            }
        } else if switch < 2 * self.edges {
            let agg = switch - self.edges;
            let first = agg * self.half;
            if agg.wrapping_sub(pod * self.half) < self.half {
                Hop::One(self.agg_down + first + edge - pod * self.half)
            } else {
                Hop::Many { first: self.agg_up + first, count: self.half, level: self.half }
            }
        } else {
            Hop::One(self.core_down + (switch - 2 * self.edges) * self.k + pod)
        })
    }
}
