//! What the fields of TCP's packets hold.

use headway_units::Time;

headway_packet::packets! {
    /// Packets of TCP.
    pub const PACKETS = "TCP" {
        /// Payload.
        Data {
            /// Position in the message, in packets.
            index: u32 = index,
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
            /// When it left, in picoseconds of its sender's clock.
            left: Time = lifetime,
        }
        /// SYN.
        Rts {
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
            /// When it left, in picoseconds of its sender's clock.
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
            /// When the packet left that it answers, in picoseconds; 0 for none.
            echo: Time = lifetime,
        }
    }
}
