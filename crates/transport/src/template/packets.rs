//! What the fields of the template's packets hold.

headway_packet::packets! {
    /// Packets of the template.
    pub const PACKETS = "template" {
        /// Payload.
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
            /// The packet.
            index: u32 = index,
        }
    }
}
