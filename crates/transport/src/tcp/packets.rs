//! Packets of TCP, with the meaning of their fields.

use headway_units::Time;

headway_packet::packets! {
    /// Packets of TCP.
    pub const PACKETS = "TCP" {
        /// Carries payload of the message.
        Data {
            /// Position in the message, in packets.
            index: u32 = index,
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
            /// Departure time, in picoseconds of its sender's clock.
            left: Time = lifetime,
        }
        /// Opens the connection of the message: a SYN.
        Rts {
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
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
            /// Receive window in packets.
            window: u32 = remaining,
            /// Departure time of the packet that it answers, in picoseconds; 0 for none.
            echo: Time = lifetime,
        }
    }
}
