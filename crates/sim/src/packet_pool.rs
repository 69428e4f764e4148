//! Packets in the network, by 32-bit handle.
//!
//! Every hop reads its packet several times, so the bounds of a handle are not checked again each time. What
//! makes that sound: handles come from [`PacketPool::insert`] alone, an engine has one pool, and its slots never
//! become fewer. Debug builds, and with them all tests, check.

use headway_packet::{HostId, Packet, PacketKind};
use headway_primitives::prefetch_at;

/// A packet on a cache line of its own.
#[repr(align(64))]
struct Slot(Packet);

/// Slots with a free list; the last slot released is the next one used, while it is still in cache.
#[derive(Default)]
pub(crate) struct PacketPool {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

impl PacketPool {
    #[inline]
    pub(crate) fn insert(&mut self, packet: Packet) -> u32 {
        if let Some(handle) = self.free.pop() {
            self.slots[handle as usize] = Slot(packet);
            return handle;
        }
        self.grow(packet)
    }

    /// A place for a packet, which still holds a former one.
    #[inline]
    pub(crate) fn reserve(&mut self) -> u32 {
        match self.free.pop() {
            Some(handle) => handle,
            None => self.grow(Packet::new(PacketKind::Data, HostId(0), HostId(0), 0)),
        }
    }

    /// A place that was not there before. Room is reserved for four times as many, because all packets move when there is
    /// none left; the unused part of it is address space and no memory.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, packet: Packet) -> u32 {
        if self.slots.len() == self.slots.capacity() {
            // With those in use, four times as many.
            let more = (3 * self.slots.len()).max(64);
            if self.slots.try_reserve_exact(more).is_err() {
                // There is not so much address space: a quarter more.
                self.slots.reserve_exact(more / 12);
            }
        }
        self.slots.push(Slot(packet));
        self.slots.len() as u32 - 1
    }

    /// The most packets that ever were in the network at a time.
    pub(crate) fn slots(&self) -> u64 {
        self.slots.len() as u64
    }

    #[inline]
    #[allow(unsafe_code, reason = "three instructions in a hundred")]
    pub(crate) fn get(&self, handle: u32) -> &Packet {
        debug_assert!((handle as usize) < self.slots.len(), "handle {handle} is of another pool");
        // SAFETY: a slot was made for every handle that `insert` gave out, and none is ever removed.
        &unsafe { self.slots.get_unchecked(handle as usize) }.0
    }

    #[inline]
    #[allow(unsafe_code, reason = "three instructions in a hundred")]
    pub(crate) fn get_mut(&mut self, handle: u32) -> &mut Packet {
        debug_assert!((handle as usize) < self.slots.len(), "handle {handle} is of another pool");
        // SAFETY: as in `get`.
        &mut unsafe { self.slots.get_unchecked_mut(handle as usize) }.0
    }

    /// The handle that was released last, and its packet as it was then; `None` if another has its place.
    #[cold]
    pub(crate) fn latest(&self) -> Option<(u32, &Packet)> {
        self.free.last().map(|handle| (*handle, self.get(*handle)))
    }

    /// Asks for a packet that is wanted soon.
    #[inline]
    pub(crate) fn prefetch(&self, handle: u32) {
        prefetch_at(&self.slots, handle as usize);
    }

    #[inline]
    pub(crate) fn release(&mut self, handle: u32) {
        self.free.push(handle);
    }
}

/// A packet in the pool, for [`headway_fabric::Port`].
impl headway_fabric::Packets<u32> for PacketPool {
    #[inline]
    fn packet(&mut self, handle: u32) -> &mut Packet {
        self.get_mut(handle)
    }
}
