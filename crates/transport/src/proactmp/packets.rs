//! Packets of ProactMP, with the meaning of their fields.

use headway_units::Time;

headway_packet::packets! {
    /// Packets of ProactMP.
    pub const PACKETS = "ProactMP" {
        /// Carries payload of the message.
        Data {
            /// Position in the message, in packets.
            index: u32 = index,
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
            /// Subflow, and above 16 bits how many the host that sends it allows.
            subflow: u32 = token,
            /// The sender's longest smoothed round trip in ns.
            round_trip: u32 = remaining,
            /// Departure time, in picoseconds of its sender's clock.
            left: Time = lifetime,
        }
        /// Permission for packets.
        Grant {
            /// The packet answered, where `answers` is 1.
            index: u32 = index,
            /// 1 where it answers a packet.
            answers: u32 = count,
            /// Packets permitted in all.
            permitted: u32 = token,
            /// Subflow, and above 16 bits how many the host that sends it allows.
            subflow: u32 = remaining,
            /// Departure time of the packet that it answers, in picoseconds; 0 for none.
            echo: Time = lifetime,
        }
        /// Response to a Request for a subflow.
        Rts {
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Subflow, and above 16 bits how many the host that sends it allows.
            subflow: u32 = token,
            /// The sender's longest smoothed round trip in ns.
            round_trip: u32 = remaining,
            /// Departure time, in picoseconds of its sender's clock.
            left: Time = lifetime,
        }
        /// Request: for the message, or for a subflow.
        Pull {
            /// Packets that leave without permission; 0 where it asks for a subflow.
            window: u32 = count,
            /// Subflow, and above 16 bits how many the host that sends it allows.
            subflow: u32 = remaining,
        }
        /// Packets have not arrived and are wanted again.
        Resend {
            /// First of them.
            first: u32 = index,
            /// Number of packets.
            missing: u32 = count,
            /// Subflow, and above 16 bits how many the host that sends it allows.
            subflow: u32 = remaining,
        }
        /// Announces a message, or asks for the arrivals.
        Probe {
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Subflow, and above 16 bits how many the host that sends it allows.
            subflow: u32 = token,
            /// The sender's longest smoothed round trip in ns.
            round_trip: u32 = remaining,
            /// Departure time, in picoseconds of its sender's clock.
            left: Time = lifetime,
        }
        /// The whole message has arrived.
        Finished {}
    }
}
