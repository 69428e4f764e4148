//! Packets of RoCE, with the meaning of their fields.

use headway_units::Time;

headway_packet::packets! {
    /// Packets of RoCE.
    pub const PACKETS = "RoCE" {
        /// Carries payload of the message.
        Data {
            /// Position in the message, in packets.
            index: u32 = index,
            /// Packets of the message that may leave before anything is heard.
            window: u32 = count,
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
            /// Departure time, in picoseconds of its sender's clock.
            left: Time = lifetime,
        }
        /// Packets have arrived in order; with ECE, also a congestion notification.
        Ack {
            /// The packet answered.
            index: u32 = index,
            /// First packet that has not arrived.
            arrived: u32 = count,
            /// Departure time of the packet that it answers, in picoseconds of its sender's clock.
            echo: Time = lifetime,
        }
        /// A packet has arrived behind a gap; with ECE, also a congestion notification.
        Nack {
            /// The packet answered. It is kept where repetition is selective, and dropped otherwise.
            index: u32 = index,
            /// First packet that has not arrived.
            arrived: u32 = count,
            /// Departure time of the packet that it answers, in picoseconds of its sender's clock.
            echo: Time = lifetime,
        }
    }
}
