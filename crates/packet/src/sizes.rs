//! Sizes on the wire.

use headway_units::{Rate, Time};

/// Bytes that a packet takes: application payload, layer 3 and 4 header, Ethernet framing
/// (header, checksum, preamble and inter-frame gap), and a whole control packet.
///
/// The defaults are a standard frame: 1460 + 40 + 38 = 1538 B for full data, 84 B for control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Application bytes of a full data packet.
    pub payload: u16,
    /// Network and transport header bytes of a data packet.
    pub header: u16,
    /// Link-layer bytes around every data packet, preamble and inter-frame gap included.
    pub framing: u16,
    /// Bytes on the wire of a control packet, framing included.
    pub control: u16,
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes { payload: 1460, header: 40, framing: 38, control: 84 }
    }
}

impl Sizes {
    /// Bytes on the wire of a data packet that carries `payload` bytes; never below a control packet.
    pub const fn data_wire(&self, payload: u16) -> u16 {
        let wire = payload + self.header + self.framing;
        // A control packet fills the least Ethernet frame, which data cannot be below either.
        if wire < self.control { self.control } else { wire }
    }

    /// Bytes on the wire of a full data packet.
    pub const fn full_wire(&self) -> u16 {
        self.data_wire(self.payload)
    }

    /// Packets that a message of `bytes` is cut into; at least one.
    pub const fn packets_of(&self, bytes: u64) -> u64 {
        let n = bytes.div_ceil(self.payload as u64);
        // An empty message has to begin and to end as well.
        if n == 0 { 1 } else { n }
    }

    /// Payload of packet `index` of a message of `bytes`.
    pub const fn payload_of(&self, bytes: u64, index: u64) -> u16 {
        // Indices have 32 bits and payloads 16, so that the product fits.
        let start = index * self.payload as u64;
        let rest = bytes.saturating_sub(start);
        if rest < self.payload as u64 { rest as u16 } else { self.payload }
    }

    /// Wire bytes of a whole message.
    pub const fn message_wire(&self, bytes: u64) -> u64 {
        let n = self.packets_of(bytes);
        (n - 1) * self.full_wire() as u64 + self.data_wire(self.payload_of(bytes, n - 1)) as u64
    }

    /// Bytes of a packet with `wire` bytes that a switch has to see before it can pass the packet on: its headers and
    /// framing, or all of a shorter one. At least one.
    pub const fn head_bytes(&self, wire: u64) -> u64 {
        let head = self.header as u64 + self.framing as u64;
        // A constant function cannot call `min`.
        let head = if head < wire { head } else { wire };
        if head == 0 { 1 } else { head }
    }

    /// Serialisation time of a full data packet.
    pub const fn slot_time(&self, rate: Rate) -> Time {
        rate.time_of(self.full_wire() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_cut_into_full_packets_and_a_tail() {
        let sizes = Sizes::default();
        assert_eq!(sizes.packets_of(1460 * 3), 3);
        assert_eq!(sizes.packets_of(1460 * 3 + 1), 4);
        assert_eq!(sizes.payload_of(1460 * 3 + 1, 3), 1);
        assert_eq!(sizes.message_wire(1460 * 3 + 1), 3 * 1538 + 84);
        assert_eq!(sizes.message_wire(1), 84);
    }
}
