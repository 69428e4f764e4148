//! Packets of the template, with the meaning of their fields.

headway_packet::packets! {
    /// Packets of the template.
    pub const PACKETS = "template" {
        /// Carries payload of the message.
        Data {
            /// Position in the message, in packets.
            index: u32 = index,
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
        }
        /// A packet has arrived.
        Ack {
            /// Index of the packet.
            index: u32 = index,
        }
    }
}
