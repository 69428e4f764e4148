//! Helpers that the tests of ports share.

use crate::Packets;
use headway_packet::Packet;

/// Packets, by their place.
pub(crate) struct PacketPool(pub(crate) Vec<Packet>);

impl Packets<u32> for PacketPool {
    fn packet(&mut self, handle: u32) -> &mut Packet {
        &mut self.0[handle as usize]
    }
}
