//! Packets of RCP, with the meaning of their fields.

use headway_units::Time;

headway_packet::packets! {
    /// Packets of RCP.
    pub const PACKETS = "RCP" {
        /// Carries payload of the message.
        Data with RATE {
            /// Position in the message, in packets.
            index: u32 = index,
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
            /// Rate in kb/s, which ports may lower.
            rate: u32 = token,
            /// The sender's round trip in ns; 0 while it knows none.
            round_trip: u32 = remaining,
            /// Departure time, in picoseconds of its sender's clock.
            left: Time = lifetime,
        }
        /// SYN, or reference packet: asks for a rate.
        Rts with RATE {
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
            /// Rate in kb/s, which ports may lower.
            rate: u32 = token,
            /// The sender's round trip in ns; 0 while it knows none.
            round_trip: u32 = remaining,
            /// Departure time, in picoseconds of its sender's clock.
            left: Time = lifetime,
        }
        /// Packets have arrived.
        Ack {
            /// The packet answered.
            index: u32 = index,
            /// First packet that has not arrived.
            arrived: u32 = count,
            /// Two SACK blocks: start above the cumulative acknowledgement and length, 16 bits each.
            blocks: u64 = message_bytes,
            /// Third SACK block.
            block: u32 = token,
            /// Rate in kb/s that the packet answered brought.
            rate: u32 = remaining,
            /// Departure time of the packet that it answers, in picoseconds; 0 for none.
            echo: Time = lifetime,
        }
    }
}
