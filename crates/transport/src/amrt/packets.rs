//! Packets of AMRT, with the meaning of their fields.

headway_packet::packets! {
    /// Packets of AMRT.
    pub const PACKETS = "AMRT" {
        /// Carries payload of the message.
        Data {
            /// Position in the message, in packets.
            index: u32 = index,
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
        }
        /// Permission for packets.
        Grant {
            /// First packet permitted.
            first: u32 = index,
            /// Packets permitted, 2 for a mark.
            permitted: u32 = count,
        }
        /// The whole message has arrived.
        Finished {}
    }
}
