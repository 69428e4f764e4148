//! Hosts around one switch.

use super::keys::{DELAY, RATE, needed};
use super::sketch::Sketch;
use super::{Declared, FromTable, Info, Kind, Size, Tier, Topology, Values, Wiring, ends, positive};
use crate::error::BuildError;
use crate::link::LinkSpec;

/// `hosts` hosts around switch `s0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SingleSwitch {
    /// Number of hosts.
    pub hosts: u32,
    /// Each host's link.
    pub link: LinkSpec,
}

impl Declared for SingleSwitch {
    const INFO: Info = Info {
        name: "single-switch",
        summary: "hosts around one switch, s0",
        keys: &[needed("hosts", Kind::Count, "number of hosts"), RATE, DELAY],
        size: &["hosts"],
    };
    type NextHops = FromTable;

    fn of(values: &Values) -> SingleSwitch {
        SingleSwitch { hosts: values.count("hosts"), link: values.link("rate", "delay") }
    }
}

impl Topology for SingleSwitch {
    fn size(&self) -> Size {
        let hosts = u64::from(self.hosts);
        Size { hosts, switches: 1, links: 2 * hosts }
    }

    fn wire(&self, wiring: &mut Wiring) -> Result<(), BuildError> {
        positive("hosts", self.hosts)?;
        wiring.nodes(self.hosts, 1);
        (0..self.hosts).for_each(|h| wiring.join(h, wiring.switch(0), self.link));
        Ok(())
    }

    fn tiers(&self) -> Vec<Tier> {
        ends(self.hosts.into(), self.link)
    }

    fn links_mut(&mut self) -> Vec<&mut LinkSpec> {
        vec![&mut self.link]
    }

    fn host_link(&self) -> Option<LinkSpec> {
        Some(self.link)
    }

    fn draw(&self, sketch: &mut Sketch) {
        sketch.switch("s0", 1, 0.5, 0.2, 1);
        sketch.hosts(("s0", 1), (0, self.hosts), &self.link, |t| (t, 0.85));
    }
}
