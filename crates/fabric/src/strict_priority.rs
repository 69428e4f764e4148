//! Strict priorities with tail drop: the switch that pHost assumes.

use crate::discipline::{Discipline, DisciplineInfo, PortContext};
use headway_packet::Packet;
use headway_units::ParamKind;

headway_units::params! {
    /// Parameters of strict priority queueing.
    pub struct StrictPriorityParams {
        /// Number of queues; packets of a higher class than the last share the last.
        levels: u64 = 8, ParamKind::Int { min: 1, max: 32 };
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct StrictPriority {
    levels: usize,
}

impl Discipline for StrictPriority {
    type Params = StrictPriorityParams;
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "strict-priority",
        summary: "strict priority queues, data classes share one tail-drop buffer",
        paper: "pHost, CoNEXT 2015",
    };

    const LIGHT: bool = true;

    fn new(params: &StrictPriorityParams, _: &PortContext) -> Self {
        StrictPriority { levels: params.levels as usize }
    }

    fn classes(&self) -> usize {
        self.levels
    }

    #[inline]
    fn class_of(&self, packet: &Packet) -> usize {
        usize::from(packet.priority).min(self.levels - 1)
    }
}
