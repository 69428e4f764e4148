//! Leaf-spine whose hosts are at two leaves.

use super::keys::{HOST_DELAY, HOST_RATE, like, needed};
use super::sketch::{SWITCHES_DRAWN, Sketch, spread, stands_for};
use super::{Declared, Hop, Info, Kind, NextHops, Size, Tier, Topology, Values, Wiring, positive, two_tiers};
use crate::error::BuildError;
use crate::link::LinkSpec;
use headway_units::Rate;

/// Leaves of a rack.
const HOMES: u32 = 2;

/// Racks of two leaves, an MLAG pair without a link between them. Each host of a rack has a port at both, and every leaf is
/// joined to every spine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DualHomed {
    /// Number of racks.
    pub racks: u32,
    /// Hosts of each rack.
    pub hosts_per_rack: u32,
    /// Number of spines.
    pub spines: u32,
    /// Each of a host's two links.
    pub host: LinkSpec,
    /// Each link between a leaf and a spine.
    pub spine: LinkSpec,
}

impl Declared for DualHomed {
    const INFO: Info = Info {
        name: "dual-homed",
        summary: "leaf-spine of racks with two leaves; host r * hosts_per_rack + j has a port at leaf<r>.0 and one at leaf<r>.1",
        keys: &[
            needed("racks", Kind::Count, "racks, each with two leaves"),
            needed("hosts_per_rack", Kind::Count, "hosts of each rack"),
            needed("spines", Kind::Count, "spines"),
            HOST_RATE,
            like("host_rate", "spine_rate", Kind::Rate, "of each link between leaf and spine"),
            HOST_DELAY,
            like("host_delay", "spine_delay", Kind::Duration, "of each link between leaf and spine"),
        ],
        size: &["racks", "hosts_per_rack", "spines"],
    };
    type NextHops = ToEitherLeaf;

    fn of(values: &Values) -> DualHomed {
        DualHomed {
            racks: values.count("racks"),
            hosts_per_rack: values.count("hosts_per_rack"),
            spines: values.count("spines"),
            host: values.link("host_rate", "host_delay"),
            spine: values.link("spine_rate", "spine_delay"),
        }
    }
}

impl DualHomed {
    fn hosts(&self) -> u32 {
        self.racks * self.hosts_per_rack
    }

    fn leaves(&self) -> u32 {
        self.racks * HOMES
    }
}

impl Topology for DualHomed {
    fn size(&self) -> Size {
        let (racks, spines) = (u64::from(self.racks), u64::from(self.spines));
        let (hosts, leaves) = (racks * u64::from(self.hosts_per_rack), racks * u64::from(HOMES));
        let links = hosts * u64::from(HOMES) + leaves * spines;
        Size { hosts, switches: leaves + spines, links: 2 * links }
    }

    fn interfaces(&self) -> u64 {
        self.size().hosts * u64::from(HOMES)
    }

    fn wire(&self, wiring: &mut Wiring) -> Result<(), BuildError> {
        positive("racks", self.racks)?;
        positive("hosts_per_rack", self.hosts_per_rack)?;
        positive("spines", self.spines)?;
        let (hosts, leaves, spines) = (self.hosts(), self.leaves(), self.spines);
        // Ports at the first leaf of each rack, then those at the second.
        wiring.interfaces((0..HOMES).flat_map(|_| 0..hosts).collect(), leaves + spines);
        wiring.bond((0..HOMES).flat_map(|_| 0..hosts).collect());
        let first = hosts * HOMES;
        let home = |port: u32| first + port % hosts / self.hosts_per_rack * HOMES + port / hosts;
        (0..first).for_each(|port| wiring.one_way(port, home(port), self.host));
        (0..first).for_each(|port| wiring.one_way(home(port), port, self.host));
        let top = first + leaves;
        for leaf in 0..leaves {
            (0..spines).for_each(|s| wiring.one_way(first + leaf, top + s, self.spine));
        }
        for s in 0..spines {
            (0..leaves).for_each(|leaf| wiring.one_way(top + s, first + leaf, self.spine));
        }
        Ok(())
    }

    fn tiers(&self) -> Vec<Tier> {
        let ends = Size { hosts: self.interfaces(), ..self.size() };
        two_tiers(ends, self.host, self.spine, 2)
    }

    fn links_mut(&mut self) -> Vec<&mut LinkSpec> {
        vec![&mut self.host, &mut self.spine]
    }

    fn host_link(&self) -> Option<LinkSpec> {
        let rate = Rate::new(self.host.rate.bps().saturating_mul(HOMES.into()));
        Some(LinkSpec { rate: rate.unwrap_or(self.host.rate), ..self.host })
    }

    fn switch_name(&self, switch: u32) -> String {
        match switch.checked_sub(self.leaves()) {
            None => format!("leaf{}.{}", switch / HOMES, switch % HOMES),
            Some(spine) => format!("spine{spine}"),
        }
    }

    fn racks(&self) -> Option<Vec<u32>> {
        Some((0..=self.racks).map(|rack| rack * self.hosts_per_rack).collect())
    }

    fn core_bps(&self) -> Option<f64> {
        Some(f64::from(self.leaves()) * f64::from(self.spines) * self.spine.rate.bps() as f64)
    }

    fn has_many_paths(&self) -> bool {
        true
    }

    fn draw(&self, sketch: &mut Sketch) {
        let (each, spines) = (self.hosts_per_rack, self.spines);
        let (racks, tops) = (self.racks.min(SWITCHES_DRAWN / HOMES), spines.min(SWITCHES_DRAWN));
        for s in 0..tops {
            sketch.switch(&format!("spine{s}"), 2, spread(s, tops), 0.1, stands_for(s, tops, spines));
        }
        let width = 0.85 / f64::from(racks);
        for rack in 0..racks {
            let (x, count) = (spread(rack, racks), stands_for(rack, racks, self.racks));
            for home in 0..HOMES {
                let name = format!("leaf{rack}.{home}");
                let at = x + (f64::from(home) - 0.5) * width / 2.0;
                sketch.switch(&name, 1, at, 0.5, count);
                (0..tops).for_each(|s| sketch.link(&name, &format!("spine{s}"), &self.spine));
            }
            let place = |t: f64| (x + (t - 0.5) * width, 0.9);
            sketch.hosts((&format!("leaf{rack}.0"), count), (rack * each, each), &self.host, place);
            let shown = if sketch.draws_every_host() { each } else { 1 };
            for host in rack * each..rack * each + shown {
                sketch.link(&format!("h{host}"), &format!("leaf{rack}.1"), &self.host);
            }
        }
    }
}

/// Up to any spine, and down to the leaf of the port.
pub(crate) struct ToEitherLeaf {
    ports: u32,
    leaves: u32,
    spines: u32,
    /// By port: its leaf.
    home: Vec<u32>,
}

impl NextHops<DualHomed> for ToEitherLeaf {
    const COMPUTED: bool = true;

    fn new(shape: &DualHomed) -> ToEitherLeaf {
        let (hosts, ports) = (shape.hosts(), shape.hosts() * HOMES);
        let home = |port: u32| port % hosts / shape.hosts_per_rack * HOMES + port / hosts;
        ToEitherLeaf {
            ports,
            leaves: shape.leaves(),
            spines: shape.spines,
            home: (0..ports).map(home).collect(),
        }
    }

    #[inline(always)]
    fn hop(&self, switch: u32, dst: u32) -> Option<Hop> {
        let (leaf, up) = (self.home[dst as usize], 2 * self.ports);
        Some(if switch >= self.leaves {
            Hop::One(up + self.leaves * self.spines + (switch - self.leaves) * self.leaves + leaf)
        } else if switch == leaf {
            Hop::One(self.ports + dst)
        } else {
            Hop::Many { first: up + switch * self.spines, count: self.spines, level: 0 }
        })
    }
}
