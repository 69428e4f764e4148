//! Two switches and the link between them.

use super::keys::{BOTTLENECK_DELAY, BOTTLENECK_RATE, DELAY, RATE, needed};
use super::sketch::Sketch;
use super::{Declared, FromTable, Info, Kind, Size, Tier, Topology, Values, Wiring, positive, two_tiers};
use crate::error::BuildError;
use crate::link::LinkSpec;
use headway_units::Rate;

/// Hosts `0 .. senders` at `s0`, then `receivers` hosts at `s1`, one link between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dumbbell {
    /// Hosts at `s0`.
    pub senders: u32,
    /// Hosts at `s1`.
    pub receivers: u32,
    /// Each host's link.
    pub access: LinkSpec,
    /// The link `s0->s1`.
    pub bottleneck: LinkSpec,
}

impl Declared for Dumbbell {
    const INFO: Info = Info {
        name: "dumbbell",
        summary: "senders at s0, receivers at s1, one link between; hosts are numbered senders first",
        keys: &[
            needed("senders", Kind::Count, "hosts at s0"),
            needed("receivers", Kind::Count, "hosts at s1"),
            RATE,
            BOTTLENECK_RATE,
            DELAY,
            BOTTLENECK_DELAY,
        ],
        size: &["senders", "receivers"],
    };
    type NextHops = FromTable;

    fn of(values: &Values) -> Dumbbell {
        Dumbbell {
            senders: values.count("senders"),
            receivers: values.count("receivers"),
            access: values.link("rate", "delay"),
            bottleneck: values.link("bottleneck_rate", "bottleneck_delay"),
        }
    }
}

impl Topology for Dumbbell {
    fn size(&self) -> Size {
        let hosts = u64::from(self.senders) + u64::from(self.receivers);
        Size { hosts, switches: 2, links: 2 * hosts + 2 }
    }

    fn wire(&self, wiring: &mut Wiring) -> Result<(), BuildError> {
        positive("senders", self.senders)?;
        positive("receivers", self.receivers)?;
        let hosts = self.senders + self.receivers;
        wiring.nodes(hosts, 2);
        (0..hosts).for_each(|h| wiring.join(h, wiring.switch(u32::from(h >= self.senders)), self.access));
        wiring.join(wiring.switch(0), wiring.switch(1), self.bottleneck);
        Ok(())
    }

    fn tiers(&self) -> Vec<Tier> {
        two_tiers(self.size(), self.access, self.bottleneck, 1)
    }

    fn links_mut(&mut self) -> Vec<&mut LinkSpec> {
        vec![&mut self.access, &mut self.bottleneck]
    }

    fn host_link(&self) -> Option<LinkSpec> {
        Some(self.access)
    }

    fn racks(&self) -> Option<Vec<u32>> {
        Some(vec![0, self.senders, self.senders + self.receivers])
    }

    fn core_bps(&self) -> Option<f64> {
        Some(2.0 * self.bottleneck.rate.bps() as f64)
    }

    fn between(&self, senders: &[u32], receivers: &[u32]) -> Option<Rate> {
        let on_the_left = |hosts: &[u32]| hosts.iter().filter(|h| **h < self.senders).count();
        match (on_the_left(senders), on_the_left(receivers)) {
            (n, 0) if n == senders.len() => Some(self.bottleneck.rate),
            (0, n) if n == receivers.len() => Some(self.bottleneck.rate),
            _ => None,
        }
    }

    fn bottlenecks(&self) -> Vec<String> {
        vec!["s0->s1".into()]
    }

    fn draw(&self, sketch: &mut Sketch) {
        sketch.switch("s0", 1, 0.35, 0.5, 1);
        sketch.switch("s1", 1, 0.65, 0.5, 1);
        sketch.link("s0", "s1", &self.bottleneck);
        sketch.hosts(("s0", 1), (0, self.senders), &self.access, |t| (0.08, t));
        sketch.hosts(("s1", 1), (self.senders, self.receivers), &self.access, |t| (0.92, t));
    }
}
