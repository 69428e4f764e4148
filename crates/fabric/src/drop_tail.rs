//! One first-in first-out queue with tail drop; control waits behind data but has its own space.

use crate::DisciplineInfo;
use crate::discipline::{Discipline, PortContext};
use headway_packet::Packet;

headway_params::params! {
    /// Drop-tail has nothing to set.
    pub struct DropTailParams {}
}

/// See the module.
#[derive(Clone, Debug)]
pub struct DropTail;

impl Discipline for DropTail {
    type Params = DropTailParams;
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "drop-tail",
        summary: "one first-in first-out queue, tail drop",
        paper: "",
        rewrites: &[],
        needs: &[],
    };

    const LIGHT: bool = true;
    const PLAIN: bool = true;

    fn new(_: &DropTailParams, _: &PortContext) -> Self {
        DropTail
    }

    fn classes(&self) -> usize {
        1
    }

    #[inline]
    fn class_of(&self, _: &Packet) -> usize {
        0
    }
}
