//! Packets of RPO, with the meaning of their fields.

use headway_units::Time;

headway_packet::packets! {
    /// Packets of RPO.
    pub const PACKETS = "RPO" {
        /// Carries payload of the message.
        Data {
            /// Position in the message, in packets.
            index: u32 = index,
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
            /// Number of the departure; the lowest bit is its queue, 1 for opportunistic.
            departure: u32 = token,
            /// The sender's smoothed round trip, in picoseconds; 0 before the first.
            round_trip: Time = lifetime,
        }
        /// Permission for packets that the sender chooses.
        Grant {
            /// The packet that earned it, or that is missing.
            index: u32 = index,
            /// Packets permitted.
            permitted: u32 = count,
            /// Number of the departure that it answers.
            departure: u32 = token,
            /// All packets below have arrived.
            arrived_below: u32 = remaining,
            /// All packets from this one on have arrived.
            arrived_from: u64 = message_bytes,
        }
        /// The whole message has arrived.
        Finished {}
    }
}
