//! Packets of SIRD, with the meaning of their fields.

headway_packet::packets! {
    /// Packets of SIRD.
    pub const PACKETS = "SIRD" {
        /// Carries payload of the message.
        Data {
            /// Position in the message, in packets.
            index: u32 = index,
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
            /// 1 if the sender holds more credit than it can use, else 0: the paper's bit csn.
            congested: u32 = remaining,
        }
        /// A message asks for credit.
        Rts {
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
        }
        /// Credit for a packet.
        Grant {
            /// The packet that it is for; 0 where a pair of hosts has one pool of credit.
            index: u32 = index,
            /// Packets of the message permitted in all, or credits that the pair of hosts has had in all.
            permitted: u32 = token,
        }
        /// Packets have not arrived, and their credit is given again.
        Resend {
            /// First of them.
            first: u32 = index,
            /// Number of packets.
            missing: u32 = count,
        }
        /// The whole message has arrived.
        Finished {}
    }
}
