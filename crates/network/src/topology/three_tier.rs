//! Pods of edge and aggregation switches under cores, with any numbers of each and any rates.

use super::keys::{HOST_DELAY, HOST_RATE, like, needed};
use super::sketch::{Sketch, spread, stands_for};
use super::{Declared, Hop, Info, Kind, NextHops, Size, Tier, Topology, Values, Wiring, ends, positive};
use crate::error::BuildError;
use crate::link::LinkSpec;

/// A fat-tree of any over-subscription: Al-Fares et al., SIGCOMM 2008, §3, with every number free.
///
/// Edge switch `e` of a pod is joined to every aggregation switch of the pod. Aggregation switch `a` of each pod is joined to
/// the cores `a * cores_per_agg .. (a + 1) * cores_per_agg`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreeTier {
    /// Number of pods.
    pub pods: u32,
    /// Edge switches of a pod.
    pub edges: u32,
    /// Hosts at each edge switch.
    pub hosts_per_edge: u32,
    /// Aggregation switches of a pod.
    pub aggs: u32,
    /// Cores above each aggregation switch.
    pub cores_per_agg: u32,
    /// Each host's link.
    pub host: LinkSpec,
    /// Each link between edge and aggregation.
    pub agg: LinkSpec,
    /// Each link between aggregation and core.
    pub core: LinkSpec,
}

impl Declared for ThreeTier {
    const INFO: Info = Info {
        name: "three-tier",
        summary: "pods of edge and aggregation switches under cores; any over-subscription, any rates",
        keys: &[
            needed("pods", Kind::Count, "pods"),
            needed("edges", Kind::Count, "edge switches of a pod"),
            needed("hosts_per_edge", Kind::Count, "hosts at each edge switch"),
            needed("aggs", Kind::Count, "aggregation switches of a pod"),
            needed("cores_per_agg", Kind::Count, "cores above each aggregation switch of a pod"),
            HOST_RATE,
            like("host_rate", "agg_rate", Kind::Rate, "of each link between edge and aggregation"),
            like("agg_rate", "core_rate", Kind::Rate, "of each link between aggregation and core"),
            HOST_DELAY,
            like("host_delay", "agg_delay", Kind::Duration, "of each link between edge and aggregation"),
            like("agg_delay", "core_delay", Kind::Duration, "of each link between aggregation and core"),
        ],
        size: &["pods", "edges", "hosts_per_edge", "aggs", "cores_per_agg"],
    };
    type NextHops = UpAndDown;

    fn of(values: &Values) -> ThreeTier {
        ThreeTier {
            pods: values.count("pods"),
            edges: values.count("edges"),
            hosts_per_edge: values.count("hosts_per_edge"),
            aggs: values.count("aggs"),
            cores_per_agg: values.count("cores_per_agg"),
            host: values.link("host_rate", "host_delay"),
            agg: values.link("agg_rate", "agg_delay"),
            core: values.link("core_rate", "core_delay"),
        }
    }
}

impl ThreeTier {
    /// Undirected links of a tier: between edge and aggregation, and between aggregation and core.
    fn joints(&self) -> [u64; 2] {
        let aggs = u64::from(self.pods).saturating_mul(self.aggs.into());
        [aggs.saturating_mul(self.edges.into()), aggs.saturating_mul(self.cores_per_agg.into())]
    }
}

impl Topology for ThreeTier {
    fn size(&self) -> Size {
        let (pods, edges, aggs) = (u64::from(self.pods), u64::from(self.edges), u64::from(self.aggs));
        let hosts = pods.saturating_mul(edges).saturating_mul(self.hosts_per_edge.into());
        let cores = aggs.saturating_mul(self.cores_per_agg.into());
        let switches = pods.saturating_mul(edges + aggs).saturating_add(cores);
        let links = self.joints().iter().fold(hosts, |sum, joints| sum.saturating_add(*joints));
        Size { hosts, switches, links: links.saturating_mul(2) }
    }

    fn wire(&self, wiring: &mut Wiring) -> Result<(), BuildError> {
        let ThreeTier { pods, edges, hosts_per_edge: per, aggs, cores_per_agg: each, .. } = *self;
        for (name, number) in [
            ("pods", pods),
            ("edges", edges),
            ("hosts_per_edge", per),
            ("aggs", aggs),
            ("cores_per_agg", each),
        ] {
            positive(name, number)?;
        }
        let (all_edges, all_aggs, cores) = (pods * edges, pods * aggs, aggs * each);
        let hosts = all_edges * per;
        wiring.nodes(hosts, all_edges + all_aggs + cores);
        let (edge, agg, core) =
            (|e: u32| hosts + e, |a: u32| hosts + all_edges + a, |c: u32| hosts + all_edges + all_aggs + c);
        (0..hosts).for_each(|h| wiring.one_way(h, edge(h / per), self.host));
        (0..hosts).for_each(|h| wiring.one_way(edge(h / per), h, self.host));
        for e in 0..all_edges {
            (0..aggs).for_each(|a| wiring.one_way(edge(e), agg(e / edges * aggs + a), self.agg));
        }
        for a in 0..all_aggs {
            (0..edges).for_each(|e| wiring.one_way(agg(a), edge(a / aggs * edges + e), self.agg));
        }
        for a in 0..all_aggs {
            (0..each).for_each(|c| wiring.one_way(agg(a), core(a % aggs * each + c), self.core));
        }
        for c in 0..cores {
            (0..pods).for_each(|pod| wiring.one_way(core(c), agg(pod * aggs + c / each), self.core));
        }
        Ok(())
    }

    fn tiers(&self) -> Vec<Tier> {
        let mut tiers = ends(self.size().hosts, self.host);
        let [agg, core] = self.joints();
        tiers.extend([(agg, self.agg), (core, self.core)].map(|(joints, link)| Tier {
            count: joints.saturating_mul(2),
            link,
            from_switch: true,
            hops: 2,
        }));
        tiers
    }

    fn links_mut(&mut self) -> Vec<&mut LinkSpec> {
        vec![&mut self.host, &mut self.agg, &mut self.core]
    }

    fn host_link(&self) -> Option<LinkSpec> {
        Some(self.host)
    }

    fn switch_name(&self, switch: u32) -> String {
        let (edges, aggs) = (self.pods * self.edges, self.pods * self.aggs);
        match switch {
            edge if edge < edges => format!("edge{}.{}", edge / self.edges, edge % self.edges),
            agg if agg < edges + aggs => {
                format!("agg{}.{}", (agg - edges) / self.aggs, (agg - edges) % self.aggs)
            }
            core => format!("core{}", core - edges - aggs),
        }
    }

    fn racks(&self) -> Option<Vec<u32>> {
        Some((0..=self.pods * self.edges).map(|edge| edge * self.hosts_per_edge).collect())
    }

    fn core_bps(&self) -> Option<f64> {
        Some(self.joints()[0] as f64 * self.agg.rate.bps() as f64)
    }

    fn has_many_paths(&self) -> bool {
        self.aggs > 1 || self.cores_per_agg > 1
    }

    fn draw(&self, sketch: &mut Sketch) {
        let (pods, edges, aggs) =
            (self.pods.min(PODS_DRAWN), self.edges.min(SWITCHES_OF_A_POD), self.aggs.min(SWITCHES_OF_A_POD));
        let cores = self.cores_per_agg.min(SWITCHES_OF_A_POD);
        for a in 0..aggs {
            for c in 0..cores {
                let count = stands_for(c, cores, self.cores_per_agg) * stands_for(a, aggs, self.aggs);
                let name = format!("core{}", a * self.cores_per_agg + c);
                sketch.switch(&name, 3, spread(a * cores + c, aggs * cores), 0.08, count);
            }
        }
        for pod in 0..pods {
            let alike = stands_for(pod, pods, self.pods);
            for a in 0..aggs {
                let (name, x) = (format!("agg{pod}.{a}"), spread(pod * aggs + a, pods * aggs));
                sketch.switch(&name, 2, x, 0.36, alike * stands_for(a, aggs, self.aggs));
                for c in 0..cores {
                    sketch.link(&name, &format!("core{}", a * self.cores_per_agg + c), &self.core);
                }
            }
            for e in 0..edges {
                let (name, x) = (format!("edge{pod}.{e}"), spread(pod * edges + e, pods * edges));
                let count = alike * stands_for(e, edges, self.edges);
                sketch.switch(&name, 1, x, 0.64, count);
                (0..aggs).for_each(|a| sketch.link(&name, &format!("agg{pod}.{a}"), &self.agg));
                let width = 0.85 / f64::from(pods * edges);
                let first = (pod * self.edges + e) * self.hosts_per_edge;
                let place = |t: f64| (x + (t - 0.5) * width, 0.92);
                sketch.hosts((&name, count), (first, self.hosts_per_edge), &self.host, place);
            }
        }
    }
}

/// Pods that are drawn at most.
const PODS_DRAWN: u32 = 4;
/// Switches of one tier of a pod, and cores above one switch, that are drawn at most.
const SWITCHES_OF_A_POD: u32 = 3;

/// Up to any core, and down to the pod and to the edge switch.
pub(crate) struct UpAndDown {
    pods: u32,
    edges_of_pod: u32,
    aggs_of_pod: u32,
    cores_per_agg: u32,
    hosts: u32,
    /// All edge switches; the aggregation switches follow, and end here.
    edges: u32,
    aggs_end: u32,
    /// First ports of the tiers.
    edge_up: u32,
    agg_down: u32,
    agg_up: u32,
    core_down: u32,
    /// Edge switch and pod of each host. A look-up is cheaper than two divisions.
    home: Vec<(u32, u32)>,
}

impl NextHops<ThreeTier> for UpAndDown {
    const COMPUTED: bool = true;

    fn new(shape: &ThreeTier) -> UpAndDown {
        let edges = shape.pods * shape.edges;
        let aggs = shape.pods * shape.aggs;
        let hosts = edges * shape.hosts_per_edge;
        let edge_up = 2 * hosts;
        let agg_down = edge_up + edges * shape.aggs;
        let agg_up = agg_down + aggs * shape.edges;
        let core_down = agg_up + aggs * shape.cores_per_agg;
        let home = |host: u32| (host / shape.hosts_per_edge, host / shape.hosts_per_edge / shape.edges);
        UpAndDown {
            pods: shape.pods,
            edges_of_pod: shape.edges,
            aggs_of_pod: shape.aggs,
            cores_per_agg: shape.cores_per_agg,
            hosts,
            edges,
            aggs_end: edges + aggs,
            edge_up,
            agg_down,
            agg_up,
            core_down,
            home: (0..hosts).map(home).collect(),
        }
    }

    #[inline(always)]
    fn hop(&self, switch: u32, dst: u32) -> Option<Hop> {
        let (edge, pod) = self.home[dst as usize];
        Some(if switch < self.edges {
            if switch == edge {
                Hop::One(self.hosts + dst)
            } else {
                let first = self.edge_up + switch * self.aggs_of_pod;
                Hop::Many { first, count: self.aggs_of_pod, level: 0 }
            }
        } else if switch < self.aggs_end {
            let agg = switch - self.edges;
            if agg.wrapping_sub(pod * self.aggs_of_pod) < self.aggs_of_pod {
                let first = self.agg_down + agg * self.edges_of_pod;
                Hop::One(first + edge - pod * self.edges_of_pod)
            } else {
                let first = self.agg_up + agg * self.cores_per_agg;
                Hop::Many { first, count: self.cores_per_agg, level: self.aggs_of_pod }
            }
        } else {
            Hop::One(self.core_down + (switch - self.aggs_end) * self.pods + pod)
        })
    }
}
