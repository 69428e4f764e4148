//! What a port counts, and the identities its counters obey.

use headway_units::Time;

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DropReason {
    /// The buffer for data was full.
    BufferFull = 0,
    /// The buffer for control was full.
    ControlFull = 1,
    /// A packet of a first window met a queue, at a port that lets such packets use spare room alone.
    Unscheduled = 2,
    /// The link was down: data that waited when it went down, or came meanwhile.
    LinkDown = 3,
    /// The same of control.
    ControlLinkDown = 4,
}

impl DropReason {
    /// Every reason, in the order of [`PortCounters::dropped`].
    pub const ALL: [DropReason; 5] = [
        DropReason::BufferFull,
        DropReason::ControlFull,
        DropReason::Unscheduled,
        DropReason::LinkDown,
        DropReason::ControlLinkDown,
    ];

    /// Name in results.
    pub fn name(self) -> &'static str {
        match self {
            DropReason::BufferFull => "buffer_full",
            DropReason::ControlFull => "control_full",
            DropReason::Unscheduled => "unscheduled",
            DropReason::LinkDown => "link_down",
            DropReason::ControlLinkDown => "control_link_down",
        }
    }
}

/// Counters of one port since the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Packets offered.
    pub received: u64,
    /// Packets that entered a queue, and were not thrown out of it again, or passed straight to the wire.
    pub enqueued: u64,
    /// Packets that left on the wire.
    pub dequeued: u64,
    /// Packets dropped, by [`DropReason`].
    pub dropped: [u64; DropReason::ALL.len()],
    /// Packets sent back to where they came from.
    pub returned: u64,
    /// Packets whose payload was cut off; what was left of them is counted as any other packet.
    pub trimmed: u64,
    /// Packets that left with a mark.
    pub marked: u64,
    /// Bytes that left, framing included.
    pub wire_bytes: u64,
    /// Application bytes that left.
    pub payload_bytes: u64,
    /// Time spent transmitting.
    pub busy: Time,
    /// Most bytes that ever waited, the packet on the wire not counted.
    pub queue_max_bytes: u64,
    /// Most data packets that ever waited.
    pub queue_max_packets: u32,
}

impl PortCounters {
    /// Packets dropped for any reason.
    pub fn drops(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// Data packets dropped. Headers that trimming left are control by then, and counted in `trimmed`.
    pub fn data_drops(&self) -> u64 {
        let control = [DropReason::ControlFull, DropReason::ControlLinkDown];
        self.drops() - control.map(|reason| self.dropped[reason as usize]).iter().sum::<u64>()
    }

    /// The identities of a port that now holds `waiting` packets; an error names the broken one.
    pub fn check(&self, waiting: u64) -> Result<(), String> {
        if self.received != self.drops() + self.returned + self.enqueued {
            return Err(format!(
                "received {} is not dropped {} + returned {} + enqueued {}",
                self.received,
                self.drops(),
                self.returned,
                self.enqueued
            ));
        }
        if self.enqueued != self.dequeued + waiting {
            return Err(format!(
                "enqueued {} is not dequeued {} + waiting {waiting}",
                self.enqueued, self.dequeued
            ));
        }
        Ok(())
    }
}
