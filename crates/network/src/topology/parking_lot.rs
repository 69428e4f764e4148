//! Switches in a row.

use super::keys::{BOTTLENECK_DELAY, BOTTLENECK_RATE, DELAY, RATE, needed};
use super::sketch::{SWITCHES_DRAWN, Sketch, spread, stands_for};
use super::{Declared, FromTable, Info, Kind, Size, Tier, Topology, Values, Wiring, positive, two_tiers};
use crate::error::BuildError;
use crate::link::LinkSpec;

/// Switches `s0 .. s<bottlenecks>` in a row; host `i * hosts_per_switch + j` at switch `i`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParkingLot {
    /// Number of links between switches.
    pub bottlenecks: u32,
    /// Hosts at each switch.
    pub hosts_per_switch: u32,
    /// Each host's link.
    pub access: LinkSpec,
    /// Each link between switches.
    pub bottleneck: LinkSpec,
}

impl Declared for ParkingLot {
    const INFO: Info = Info {
        name: "parking-lot",
        summary: "switches in a row; host i * hosts_per_switch + j is at switch s<i>",
        keys: &[
            needed("bottlenecks", Kind::Count, "links between switches, one less than switches"),
            needed("hosts_per_switch", Kind::Count, "hosts at each switch"),
            RATE,
            BOTTLENECK_RATE,
            DELAY,
            BOTTLENECK_DELAY,
        ],
        size: &["bottlenecks", "hosts_per_switch"],
    };
    type NextHops = FromTable;

    fn of(values: &Values) -> ParkingLot {
        ParkingLot {
            bottlenecks: values.count("bottlenecks"),
            hosts_per_switch: values.count("hosts_per_switch"),
            access: values.link("rate", "delay"),
            bottleneck: values.link("bottleneck_rate", "bottleneck_delay"),
        }
    }
}

impl Topology for ParkingLot {
    fn size(&self) -> Size {
        let switches = u64::from(self.bottlenecks) + 1;
        let hosts = switches.saturating_mul(self.hosts_per_switch.into());
        Size { hosts, switches, links: 2 * hosts + 2 * u64::from(self.bottlenecks) }
    }

    fn wire(&self, wiring: &mut Wiring) -> Result<(), BuildError> {
        positive("bottlenecks", self.bottlenecks)?;
        positive("hosts_per_switch", self.hosts_per_switch)?;
        let switches = self.bottlenecks + 1;
        let hosts = switches * self.hosts_per_switch;
        wiring.nodes(hosts, switches);
        (0..hosts).for_each(|h| wiring.join(h, wiring.switch(h / self.hosts_per_switch), self.access));
        (0..self.bottlenecks)
            .for_each(|i| wiring.join(wiring.switch(i), wiring.switch(i + 1), self.bottleneck));
        Ok(())
    }

    fn tiers(&self) -> Vec<Tier> {
        two_tiers(self.size(), self.access, self.bottleneck, self.bottlenecks.into())
    }

    fn links_mut(&mut self) -> Vec<&mut LinkSpec> {
        vec![&mut self.access, &mut self.bottleneck]
    }

    fn host_link(&self) -> Option<LinkSpec> {
        Some(self.access)
    }

    /// A flow along the row crosses any number of links, so that the core lacks a single capacity.
    fn racks(&self) -> Option<Vec<u32>> {
        Some((0..=self.bottlenecks + 1).map(|switch| switch * self.hosts_per_switch).collect())
    }

    fn bottlenecks(&self) -> Vec<String> {
        (0..self.bottlenecks).map(|i| format!("s{i}->s{}", i + 1)).collect()
    }

    fn draw(&self, sketch: &mut Sketch) {
        let (switches, each) = (self.bottlenecks + 1, self.hosts_per_switch);
        let shown = switches.min(SWITCHES_DRAWN);
        for i in 0..shown {
            let (name, x) = (format!("s{i}"), spread(i, shown));
            let count = stands_for(i, shown, switches);
            sketch.switch(&name, 1, x, 0.3, count);
            if i > 0 {
                sketch.link(&format!("s{}", i - 1), &name, &self.bottleneck);
            }
            let width = 0.85 / f64::from(shown);
            let place = |t: f64| (x + (t - 0.5) * width, 0.85);
            sketch.hosts((&name, count), (i * each, each), &self.access, place);
        }
    }
}
