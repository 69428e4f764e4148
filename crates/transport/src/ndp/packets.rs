//! Packets of NDP, with the meaning of their fields.

headway_packet::packets! {
    /// Packets of NDP.
    pub const PACKETS = "NDP" {
        /// Carries payload of the message.
        Data {
            /// Position in the message, in packets.
            index: u32 = index,
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
            /// Class of the message.
            class: u32 = remaining,
        }
        /// Header of a data packet whose payload a switch cut off.
        Header {
            /// Position in the message, in packets.
            index: u32 = index,
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
            /// Class of the message.
            class: u32 = remaining,
        }
        /// A packet has arrived.
        Ack {
            /// Index of the packet.
            index: u32 = index,
            /// First packet that has not arrived.
            arrived: u32 = count,
            /// Packets permitted in all; 0 says nothing.
            permitted: u32 = token,
        }
        /// A packet has arrived without its payload.
        Nack {
            /// Index of the packet.
            index: u32 = index,
            /// First packet that has not arrived.
            arrived: u32 = count,
            /// Packets permitted in all; 0 says nothing.
            permitted: u32 = token,
        }
        /// Permission for packets.
        Pull {
            /// First packet that has not arrived.
            arrived: u32 = count,
            /// Packets permitted in all.
            permitted: u32 = token,
        }
    }
}
