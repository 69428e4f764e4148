//! Every leaf joined to every spine.

use super::keys::{HOST_DELAY, HOST_RATE, like, needed};
use super::sketch::{SWITCHES_DRAWN, Sketch, spread, stands_for};
use super::{Declared, Hop, Info, Kind, NextHops, Size, Tier, Topology, Values, Wiring, positive, two_tiers};
use crate::error::BuildError;
use crate::link::LinkSpec;

/// Every leaf joined to every spine; host `r * hosts_per_rack + j` at leaf `r`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafSpine {
    /// Number of leaves, one for each rack.
    pub racks: u32,
    /// Hosts at each leaf.
    pub hosts_per_rack: u32,
    /// Number of spines.
    pub spines: u32,
    /// Each host's link.
    pub host: LinkSpec,
    /// Each link between a leaf and a spine.
    pub spine: LinkSpec,
}

impl Declared for LeafSpine {
    const INFO: Info = Info {
        name: "leaf-spine",
        summary: "every leaf joined to every spine; host r * hosts_per_rack + j is at leaf<r>",
        keys: &[
            needed("racks", Kind::Count, "leaves"),
            needed("hosts_per_rack", Kind::Count, "hosts at each leaf"),
            needed("spines", Kind::Count, "spines"),
            HOST_RATE,
            like("host_rate", "spine_rate", Kind::Rate, "of each link between leaf and spine"),
            HOST_DELAY,
            like("host_delay", "spine_delay", Kind::Duration, "of each link between leaf and spine"),
        ],
        size: &["racks", "hosts_per_rack", "spines"],
    };
    type NextHops = UpAndDown;

    fn of(values: &Values) -> LeafSpine {
        LeafSpine {
            racks: values.count("racks"),
            hosts_per_rack: values.count("hosts_per_rack"),
            spines: values.count("spines"),
            host: values.link("host_rate", "host_delay"),
            spine: values.link("spine_rate", "spine_delay"),
        }
    }
}

impl Topology for LeafSpine {
    fn size(&self) -> Size {
        let (racks, spines) = (u64::from(self.racks), u64::from(self.spines));
        let hosts = racks * u64::from(self.hosts_per_rack);
        Size { hosts, switches: racks + spines, links: 2 * hosts + 2 * racks * spines }
    }

    fn wire(&self, wiring: &mut Wiring) -> Result<(), BuildError> {
        let (racks, per, spines) = (self.racks, self.hosts_per_rack, self.spines);
        positive("racks", racks)?;
        positive("hosts_per_rack", per)?;
        positive("spines", spines)?;
        let hosts = racks * per;
        wiring.nodes(hosts, racks + spines);
        let (leaf, top) = (|r: u32| hosts + r, |s: u32| hosts + racks + s);
        (0..hosts).for_each(|h| wiring.one_way(h, leaf(h / per), self.host));
        (0..hosts).for_each(|h| wiring.one_way(leaf(h / per), h, self.host));
        for r in 0..racks {
            (0..spines).for_each(|s| wiring.one_way(leaf(r), top(s), self.spine));
        }
        for s in 0..spines {
            (0..racks).for_each(|r| wiring.one_way(top(s), leaf(r), self.spine));
        }
        Ok(())
    }

    fn tiers(&self) -> Vec<Tier> {
        two_tiers(self.size(), self.host, self.spine, 2)
    }

    fn links_mut(&mut self) -> Vec<&mut LinkSpec> {
        vec![&mut self.host, &mut self.spine]
    }

    fn host_link(&self) -> Option<LinkSpec> {
        Some(self.host)
    }

    fn switch_name(&self, switch: u32) -> String {
        match switch.checked_sub(self.racks) {
            None => format!("leaf{switch}"),
            Some(spine) => format!("spine{spine}"),
        }
    }

    fn racks(&self) -> Option<Vec<u32>> {
        Some((0..=self.racks).map(|rack| rack * self.hosts_per_rack).collect())
    }

    fn core_bps(&self) -> Option<f64> {
        Some(f64::from(self.racks) * f64::from(self.spines) * self.spine.rate.bps() as f64)
    }

    fn has_many_paths(&self) -> bool {
        self.spines > 1
    }

    fn draw(&self, sketch: &mut Sketch) {
        let (racks, each, spines) = (self.racks, self.hosts_per_rack, self.spines);
        let (leaves, tops) = (racks.min(SWITCHES_DRAWN), spines.min(SWITCHES_DRAWN));
        for s in 0..tops {
            sketch.switch(&format!("spine{s}"), 2, spread(s, tops), 0.1, stands_for(s, tops, spines));
        }
        let width = 0.85 / f64::from(leaves);
        for r in 0..leaves {
            let (name, x) = (format!("leaf{r}"), spread(r, leaves));
            let count = stands_for(r, leaves, racks);
            sketch.switch(&name, 1, x, 0.5, count);
            (0..tops).for_each(|s| sketch.link(&name, &format!("spine{s}"), &self.spine));
            let place = |t: f64| (x + (t - 0.5) * width, 0.9);
            sketch.hosts((&name, count), (r * each, each), &self.host, place);
        }
    }
}

/// Up to any spine, and down to the rack.
pub(crate) struct UpAndDown {
    hosts: u32,
    racks: u32,
    spines: u32,
    /// Rack of each host. A look-up is cheaper than a division.
    home: Vec<u32>,
}

impl NextHops<LeafSpine> for UpAndDown {
    const COMPUTED: bool = true;

    fn new(shape: &LeafSpine) -> UpAndDown {
        let hosts = shape.racks * shape.hosts_per_rack;
        let home = (0..hosts).map(|host| host / shape.hosts_per_rack).collect();
        UpAndDown { hosts, racks: shape.racks, spines: shape.spines, home }
    }

    #[inline(always)]
    fn hop(&self, switch: u32, dst: u32) -> Option<Hop> {
        let rack = self.home[dst as usize];
        let up = 2 * self.hosts;
        Some(if switch >= self.racks {
            Hop::One(up + self.racks * self.spines + (switch - self.racks) * self.racks + rack)
        } else if switch == rack {
            Hop::One(self.hosts + dst)
        } else {
            Hop::Many { first: up + switch * self.spines, count: self.spines, level: 0 }
        })
    }
}
