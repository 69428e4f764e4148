//! Packets of pHost, with the meaning of their fields.

use headway_units::Time;

headway_packet::packets! {
    /// Packets of pHost.
    pub const PACKETS = "pHost" {
        /// Carries payload of the message.
        Data {
            /// Position in the message, in packets.
            index: u32 = index,
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
            /// Number of the token used.
            number: u32 = token,
        }
        /// Announcement of a message.
        Rts {
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Time until the last free packet leaves, in picoseconds.
            lifetime: Time = lifetime,
            /// Packets of the message.
            packets: u32 = remaining,
        }
        /// Permission for one packet.
        Token {
            /// Index of the packet.
            index: u32 = index,
            /// Number of packets: always 1.
            permitted: u32 = count,
            /// Number of the token.
            number: u32 = token,
            /// Packets still to be received.
            missing: u32 = remaining,
            /// Validity after its arrival, in picoseconds.
            lifetime: Time = lifetime,
        }
        /// The whole message has arrived.
        Finished {}
    }
}
