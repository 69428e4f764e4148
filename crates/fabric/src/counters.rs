//! Counters of a port, and the identities that they obey.

use headway_units::Time;

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DropReason {
    /// The buffer for data was full, or so nearly full that the port drops at random.
    BufferFull = 0,
    /// The buffer for control was full.
    ControlFull = 1,
    /// A packet of a first window met a queue, at a port that lets such packets use spare room alone.
    Unscheduled = 2,
    /// The link was down: data that waited when it went down, or came meanwhile. Also data that a lossless switch had no
    /// room for because the link that it came over could not be stopped: it was down in the other direction, or came up when
    /// its room was full.
    LinkDown = 3,
    /// The link was down: control that waited when it went down, or came meanwhile.
    ControlLinkDown = 4,
    /// Data found no room in the memory of a lossless switch, neither shared nor in the headroom of the link that it came
    /// over: that is too small.
    HeadroomFull = 5,
}

impl DropReason {
    /// Every reason, in the order of [`PortCounters::dropped`].
    pub const ALL: [DropReason; 6] = [
        DropReason::BufferFull,
        DropReason::ControlFull,
        DropReason::Unscheduled,
        DropReason::LinkDown,
        DropReason::ControlLinkDown,
        DropReason::HeadroomFull,
    ];

    /// True if only control packets are dropped for it; otherwise only data.
    pub fn is_of_control(self) -> bool {
        matches!(self, DropReason::ControlFull | DropReason::ControlLinkDown)
    }

    /// Name in results.
    pub fn name(self) -> &'static str {
        match self {
            DropReason::BufferFull => "buffer_full",
            DropReason::ControlFull => "control_full",
            DropReason::Unscheduled => "unscheduled",
            DropReason::LinkDown => "link_down",
            DropReason::ControlLinkDown => "control_link_down",
            DropReason::HeadroomFull => "headroom_full",
        }
    }
}

/// Counters of one port since the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Packets offered to the port, accepted or not.
    pub received: u64,
    /// Packets that entered a queue, and were not thrown out of it again, or passed straight to the wire.
    pub enqueued: u64,
    /// Packets that left on the wire, or have begun to.
    pub dequeued: u64,
    /// Packets dropped, by [`DropReason`].
    pub dropped: [u64; DropReason::ALL.len()],
    /// Packets sent back to where they came from.
    pub returned: u64,
    /// Packets whose payload was cut off; the rest of each is counted as any other packet.
    pub trimmed: u64,
    /// Packets that left with a mark.
    pub marked: u64,
    /// Bytes of those packets, framing included.
    pub wire_bytes: u64,
    /// Application bytes of those packets.
    pub payload_bytes: u64,
    /// Time that those packets take, the unsent part of the one on the wire included.
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
        let data = DropReason::ALL.iter().filter(|reason| !reason.is_of_control());
        data.map(|reason| self.dropped[*reason as usize]).sum()
    }

    /// The identities of a port that now holds `waiting` packets; an error names the broken one.
    pub fn check(&self, waiting: u64) -> Result<(), BrokenIdentity> {
        let (received, enqueued, dequeued) = (self.received, self.enqueued, self.dequeued);
        let (drops, returned) = (self.drops(), self.returned);
        if Some(received) != drops.checked_add(returned).and_then(|gone| gone.checked_add(enqueued)) {
            return Err(BrokenIdentity::Received { received, drops, returned, enqueued });
        }
        if Some(enqueued) != dequeued.checked_add(waiting) {
            return Err(BrokenIdentity::Enqueued { enqueued, dequeued, waiting });
        }
        let (packets, bytes) = (u64::from(self.queue_max_packets), self.queue_max_bytes);
        if packets > received || bytes > received.saturating_mul(u16::MAX.into()) {
            return Err(BrokenIdentity::Peak { packets, bytes, received });
        }
        Ok(())
    }
}

/// Counters of a port that contradict each other: a bug in a discipline or in its driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the fields are the counters of that name")]
pub enum BrokenIdentity {
    /// A packet that was received is neither gone nor queued.
    #[error("received {received} is not dropped {drops} + returned {returned} + enqueued {enqueued}")]
    Received { received: u64, drops: u64, returned: u64, enqueued: u64 },
    /// A packet that was queued neither left nor waits.
    #[error("enqueued {enqueued} is not dequeued {dequeued} + waiting {waiting}")]
    Enqueued { enqueued: u64, dequeued: u64, waiting: u64 },
    /// The counts of waiting packets are not those of the queues.
    #[error("waiting by kind, control {control} and data {data}, is not what the queues hold: {held}")]
    Waiting { control: u64, data: u64, held: u64 },
    /// More bytes than the packets that wait can have.
    #[error("{packets} packets that wait cannot have {bytes} bytes")]
    Bytes { packets: u64, bytes: u64 },
    /// More waited at once than ever came.
    #[error("{packets} packets or {bytes} bytes waited at once, but only {received} packets came")]
    Peak { packets: u64, bytes: u64, received: u64 },
}
