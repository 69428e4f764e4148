//! Packets in the network, by 32-bit handle.

use crate::prefetch::prefetch;
use headway_packet::Packet;

/// A packet on a cache line of its own.
#[repr(align(64))]
struct Slot(Packet);

/// Slots with a free list; the last slot released is the next one used, while it is still in cache.
#[derive(Default)]
pub(crate) struct Pool {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl Pool {
    #[inline]
    pub(crate) fn insert(&mut self, packet: Packet) -> u32 {
        if let Some(handle) = self.free.pop() {
            self.slots[handle as usize] = Slot(packet);
            return handle;
        }
        self.slots.push(Slot(packet));
        self.slots.len() as u32 - 1
    }

    #[inline]
    pub(crate) fn get(&self, handle: u32) -> &Packet {
        &self.slots[handle as usize].0
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, handle: u32) -> &mut Packet {
        &mut self.slots[handle as usize].0
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
