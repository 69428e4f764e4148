//! Packets of Ultra Ethernet, with the meaning of their fields; EQDS has the same.

headway_packet::packets! {
    /// Packets of Ultra Ethernet's transport, and of EQDS.
    pub const PACKETS = "UET" {
        /// Carries payload of the message.
        Data {
            /// Position in the message, in packets.
            index: u32 = index,
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
            /// 1 if an acknowledgement is wanted at once, else 0.
            ask: u32 = token,
            /// Credit wanted in all, in units of 256 bytes on the wire; 0 where nothing is pulled.
            target: u32 = remaining,
        }
        /// Header of a data packet whose payload a switch cut off.
        Header {
            /// Position in the message, in packets.
            index: u32 = index,
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
            /// 1 if an acknowledgement is wanted at once, else 0.
            ask: u32 = token,
            /// Credit wanted in all, in units of 256 bytes on the wire; 0 where nothing is pulled.
            target: u32 = remaining,
        }
        /// A message asks for credit, or whether it has arrived.
        Rts {
            /// Packets to be sent again, but for the first of them.
            again: u32 = index,
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
            /// Credit wanted in all, in units of 256 bytes on the wire.
            target: u32 = remaining,
        }
        /// Packets have arrived.
        Ack {
            /// The packet that this answers; for a request, the last one before `arrived`, or 0.
            index: u32 = index,
            /// First packet that has not arrived.
            arrived: u32 = count,
            /// Packets that have arrived, a bit each, the lowest for packet `arrived` + `from`.
            bitmap: u64 = message_bytes,
            /// Start of the bitmap, in packets from `arrived`.
            from: u32 = token,
            /// Packets that have arrived, in all.
            received: u32 = remaining,
        }
        /// A packet has arrived without its payload.
        Nack {
            /// Index of the packet.
            index: u32 = index,
            /// First packet that has not arrived.
            arrived: u32 = count,
        }
        /// Permission to send.
        Pull {
            /// Bytes on the wire permitted in all, those of the first window not among them.
            permitted: u64 = message_bytes,
        }
    }
}
