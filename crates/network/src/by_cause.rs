//! Completion time of a flow by cause.

use headway_units::Time;

/// The completion time of a flow by cause. The parts add up to it, to the picosecond.
///
/// Until the packet starts whose arrival completed the flow, the parts say what the link of the sender was doing: time of its
/// own packets, time of others', and time in which it was idle, which belongs to the packet that ended it. From
/// there on they follow that packet. docs/results.md has the definition of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeByCause {
    /// Time at the two hosts: the link of the sender was taken by packets of others, a processor or an interface by
    /// anything.
    pub host: Time,
    /// Time for which the link of the sender was idle before a first transmission of the flow; and before its control
    /// packets.
    pub wait: Time,
    /// Bits of the flow's packets went onto a link.
    pub serialise: Time,
    /// Propagation, and the time that switches take to forward.
    pub propagate: Time,
    /// Time in queues of switches.
    pub queue: Time,
    /// Packets of the flow were sent again, or the link of the sender was idle and one of these went next.
    pub retransmit: Time,
    /// Link at which the packet that completed the flow waited longest behind others, and that time; `None` if it never
    /// waited.
    pub held: Option<(u32, Time)>,
}

impl TimeByCause {
    /// The parts by name, in the order of results.
    pub fn parts(&self) -> [(&'static str, Time); 6] {
        [
            ("host", self.host),
            ("wait", self.wait),
            ("serialise", self.serialise),
            ("propagate", self.propagate),
            ("queue", self.queue),
            ("retransmit", self.retransmit),
        ]
    }

    /// All parts together.
    pub fn sum(&self) -> Time {
        self.parts().iter().fold(Time::ZERO, |sum, (_, part)| sum + *part)
    }
}
