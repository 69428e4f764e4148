//! Bytes that each link carries for each group of flows, if that is asked.

use headway_network::RunSpec;

/// See the module.
pub(crate) struct Volumes {
    /// The first flow of each group.
    firsts: Vec<u32>,
    /// Bytes by link, then by group.
    bytes: Vec<u64>,
}

impl Volumes {
    /// `None` if volumes are not sampled.
    pub(crate) fn new(spec: &RunSpec, links: usize) -> Option<Box<Volumes>> {
        let firsts = spec.sample.as_ref().map(|sample| sample.volumes.clone()).unwrap_or_default();
        let bytes = vec![0; links * firsts.len()];
        (!firsts.is_empty()).then(|| Box::new(Volumes { firsts, bytes }))
    }

    /// A packet of a flow has begun to leave over a link.
    pub(crate) fn count(&mut self, link: u32, flow: u32, wire: u16) {
        let group = self.firsts.partition_point(|first| *first <= flow).saturating_sub(1);
        self.bytes[link as usize * self.firsts.len() + group] += u64::from(wire);
    }

    /// Bytes of one link, by group.
    pub(crate) fn of(&self, link: usize) -> &[u64] {
        &self.bytes[link * self.firsts.len()..][..self.firsts.len()]
    }
}
