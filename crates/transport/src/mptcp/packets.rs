//! Packets of MPTCP, with the meaning of their fields.

use headway_units::Time;

headway_packet::packets! {
    /// Packets of MPTCP.
    pub const PACKETS = "MPTCP" {
        /// Carries payload of the message.
        Data {
            /// Position in the message, in packets.
            index: u32 = index,
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
            /// Number in the subflow.
            sequence: u32 = token,
            /// Number of the subflow that it travels on.
            subflow: u32 = remaining,
            /// Departure time, in picoseconds of its sender's clock.
            left: Time = lifetime,
        }
        /// SYN of a subflow.
        Rts {
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
            /// Number of the subflow that it opens.
            subflow: u32 = remaining,
            /// 1 in the third packet of a join.
            confirms: u32 = token,
            /// Departure time, in picoseconds of its sender's clock.
            left: Time = lifetime,
        }
        /// Packets have arrived, of the subflow and of the message.
        Ack {
            /// The packet answered, in the subflow.
            index: u32 = index,
            /// First packet of the message that has not arrived.
            data_ack: u32 = count,
            /// Two SACK blocks: start above the cumulative acknowledgement and length, 16 bits each.
            blocks: u64 = message_bytes,
            /// First packet of the subflow that has not arrived.
            arrived: u32 = token,
            /// Subflow, in the highest 8 bits, and receive window in packets.
            subflow_and_window: u32 = remaining,
            /// Departure time of the packet that it answers, in picoseconds; 0 for none.
            echo: Time = lifetime,
        }
    }
}
