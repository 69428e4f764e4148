//! Packets of dcPIM, with the meaning of their fields.

use headway_units::Time;

headway_packet::packets! {
    /// Packets of dcPIM.
    pub const PACKETS = "dcPIM" {
        /// Carries payload of the message.
        Data {
            /// Position in the message, in packets.
            index: u32 = index,
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
            /// Number of the token that it takes.
            number: u32 = token,
        }
        /// A message is announced.
        Rts {
            /// Packets of the message that leave without permission.
            window: u32 = count,
            /// Bytes of the whole message.
            message_bytes: u64 = message_bytes,
        }
        /// The receiver asks for channels of the sender, or takes some that were offered.
        Credit {
            /// 0 it asks, 1 it takes.
            stage: u32 = index,
            /// Number of channels.
            channels: u32 = count,
            /// Of these, channels wanted at once.
            prompt: u32 = remaining,
            /// Epoch of the matching and, below it in two decimal places, its round.
            round: u64 = message_bytes,
            /// Packets of the message that are still to come.
            packets: u32 = token,
        }
        /// The sender offers channels.
        Busy {
            /// Number of channels.
            channels: u32 = count,
            /// Of these, channels that may be used at once.
            prompt: u32 = remaining,
            /// As in the packet that it answers.
            round: u64 = message_bytes,
            /// As in the packet that it answers.
            packets: u32 = token,
        }
        /// Permission for a packet.
        Token {
            /// Index of the packet.
            index: u32 = index,
            /// Number of packets, which is 1.
            count: u32 = count,
            /// Number among the tokens of the message.
            number: u32 = token,
            /// Its rank among the tokens of the sender: lower ones are used first, and leave first.
            rank: u32 = remaining,
            /// Packets of the message that are still to come.
            packets: u64 = message_bytes,
            /// Time after its arrival for which it is valid.
            lifetime: Time = lifetime,
        }
        /// The whole message has arrived.
        Finished {}
    }
}
