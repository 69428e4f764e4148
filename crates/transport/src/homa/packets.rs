//! Packets of Homa, with the meaning of their fields.

use headway_units::Time;

headway_packet::packets! {
    /// Packets of Homa.
    pub const PACKETS = "Homa" {
        /// Carries payload of the message.
        Data {
            /// Position in the message, in packets.
            index: u32 = index,
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
            /// Departure time, in picoseconds of its sender's clock.
            left: Time = lifetime,
        }
        /// Permission for packets.
        Grant {
            /// First packet that it adds.
            first: u32 = index,
            /// Packets that it adds.
            added: u32 = count,
            /// Packets permitted in all.
            permitted: u32 = token,
            /// Class of the packets permitted.
            class: u32 = remaining,
            /// Departure time of the packet that it answers, in picoseconds; 0 for none.
            echo: Time = lifetime,
        }
        /// Packets have not arrived and are wanted again.
        Resend {
            /// First of them.
            first: u32 = index,
            /// Number of packets.
            missing: u32 = count,
            /// Class to send them in.
            class: u32 = remaining,
        }
        /// The sender has heard, and serves others first.
        Busy {}
        /// Asks for the arrived packets.
        Probe {
            /// Last packet of the first window.
            index: u32 = index,
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
        }
        /// A packet of the first window, or a probe, has arrived. Aeolus §4
        Ack {
            /// Index of the packet.
            index: u32 = index,
        }
        /// The whole message has arrived.
        Finished {}
    }
}
