//! Packets of ExpressPass, with the meaning of their fields.

use headway_units::Time;

headway_packet::packets! {
    /// Packets of ExpressPass.
    pub const PACKETS = "ExpressPass" {
        /// Carries payload of the message.
        Data {
            /// Position in the message, in packets.
            index: u32 = index,
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
            /// Number of the credit used.
            credit: u32 = token,
            /// Departure time of the credit, in picoseconds of its sender's clock.
            echo: Time = lifetime,
        }
        /// Request for credits.
        Rts {
            /// Last packet of the first window, where there is one.
            last: u32 = index,
            /// The message is one of this many fair sharers.
            share: u32 = count,
            /// Number of the request.
            attempt: u32 = token,
            /// Packets still to be sent.
            left: u32 = remaining,
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
        }
        /// Permission for one packet.
        Credit {
            /// Number of the credit.
            number: u32 = token,
            /// Number of the request that it answers.
            attempt: u32 = count,
            /// Departure time, in picoseconds of its sender's clock.
            left: Time = lifetime,
        }
        /// No more credits.
        CreditStop {
            /// Number of packets sent.
            sent: u32 = index,
            /// Number of the request.
            attempt: u32 = token,
            /// Packets still to be sent.
            left: u32 = remaining,
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
        }
        /// Packets have not arrived and are wanted again.
        Resend {
            /// First of them.
            first: u32 = index,
            /// Number of packets.
            missing: u32 = count,
        }
        /// Asks for the outcome of the first window. Aeolus §4
        Probe {
            /// Last packet of the first window.
            index: u32 = index,
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Number of the request.
            attempt: u32 = token,
            /// Packets still to be sent.
            left: u32 = remaining,
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
