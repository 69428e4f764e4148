//! Packets in the network, by 32-bit handle.

use crate::prefetch::prefetch;
use headway_packet::Packet;

/// Slots with a free list; the last slot released is the next one used, while it is still in cache.
#[derive(Default)]
pub(crate) struct Pool {
    slots: Vec<Packet>,
    free: Vec<u32>,
}

impl Pool {
    #[inline]
    pub(crate) fn insert(&mut self, packet: Packet) -> u32 {
        if let Some(handle) = self.free.pop() {
            self.slots[handle as usize] = packet;
            return handle;
        }
        self.slots.push(packet);
        self.slots.len() as u32 - 1
    }

    #[inline]
    pub(crate) fn get(&self, handle: u32) -> &Packet {
        &self.slots[handle as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, handle: u32) -> &mut Packet {
        &mut self.slots[handle as usize]
    }

    /// Asks for a packet that is wanted soon.
    #[inline]
    pub(crate) fn prefetch(&self, handle: u32) {
        prefetch(&self.slots, handle as usize);
    }

    #[inline]
    pub(crate) fn release(&mut self, handle: u32) {
        self.free.push(handle);
    }
}
