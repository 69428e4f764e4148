//! Strict priorities with tail drop: the switch that pHost and Homa assume.
//!
//! Homa's switches have eight queues, of which control shares the first with the shortest messages
//! (`levels = 8`, `control_apart = false`); here control has one of its own above eight of data unless a
//! scenario says otherwise. All data of a port shares one buffer: what finds it full is dropped, whatever its
//! class. Ports share nothing: a switch whose ports borrow from one memory is approximated by larger buffers.

use crate::discipline::{Discipline, PortContext};
use crate::{DisciplineInfo, MOST_CLASSES};
use headway_packet::Packet;
use headway_params::ParamKind;

headway_params::params! {
    /// Parameters of strict priority queueing.
    pub struct StrictPriorityParams {
        /// Number of queues; packets of a higher class than the last share the last.
        levels: u64 = 9, ParamKind::Int { min: 1, max: MOST_CLASSES };
        /// True if control has the first queue for itself; otherwise it shares it with the first class of data.
        control_apart: bool = true, ParamKind::Bool;
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct StrictPriority {
    levels: usize,
    /// Classes that lie before the first queue.
    skipped: u8,
}

impl Discipline for StrictPriority {
    type Params = StrictPriorityParams;
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "strict-priority",
        summary: "strict priority queues, data classes share one tail-drop buffer",
        paper: "pHost, CoNEXT 2015; Homa, SIGCOMM 2018",
        rewrites: &[],
        needs: &[],
    };

    const LIGHT: bool = true;

    fn new(params: &StrictPriorityParams, _: &PortContext) -> Self {
        StrictPriority { levels: params.levels as usize, skipped: u8::from(!params.control_apart) }
    }

    fn classes(&self) -> usize {
        self.levels
    }

    #[inline]
    fn class_of(&self, packet: &Packet) -> usize {
        usize::from(packet.priority.saturating_sub(self.skipped)).min(self.levels - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffer, Limit};
    use headway_packet::{HostId, PacketKind, Sizes};
    use headway_units::Rate;

    /// The queue of each of the classes 0 to 9.
    fn queues(levels: u64, control_apart: bool) -> Vec<usize> {
        let buffer = Buffer { data: Limit::Packets(1), control: Limit::Packets(1) };
        let port = PortContext {
            rate: Rate::gbps(10),
            sizes: Sizes::default(),
            buffer,
            seed: 0,
            round_trip: None,
            to_host: false,
        };
        let rules = StrictPriority::new(&StrictPriorityParams { levels, control_apart }, &port);
        let mut packet = Packet::new(PacketKind::Data, HostId(0), HostId(1), 0);
        let mut queue = |class| {
            packet.priority = class;
            rules.class_of(&packet)
        };
        (0..10).map(&mut queue).collect()
    }

    #[test]
    fn eight_classes_of_data_lie_behind_control_or_begin_with_it() {
        assert_eq!(queues(9, true), [0, 1, 2, 3, 4, 5, 6, 7, 8, 8]);
        assert_eq!(queues(8, false), [0, 0, 1, 2, 3, 4, 5, 6, 7, 7]);
        assert_eq!(queues(1, true), [0; 10]);
    }
}
