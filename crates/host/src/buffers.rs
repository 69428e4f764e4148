//! Buffers of messages that are received, used again.
//!
//! The memory of a long message that is freed goes to the kernel, and the next message gets it page by page, each of
//! which the kernel first clears: a third of the processor time of an endpoint that receives messages of a megabyte.
//! So a few buffers stay while such messages come, and go when none has come for a while ([`Buffers::clear`]).

use bytes::Bytes;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of the smallest buffer that is worth keeping.
const SMALLEST: usize = 64 << 10;

/// True if the buffer of so long a message is worth keeping.
pub(crate) fn is_kept(length: usize) -> bool {
    length >= SMALLEST
}

/// See the module.
#[derive(Clone)]
pub(crate) struct Buffers(Arc<Mutex<Shelf>>);

struct Shelf {
    free: Vec<Vec<u8>>,
    bytes: usize,
    /// Bytes that are kept at most.
    most: usize,
    /// True if returned buffers are kept.
    open: bool,
    /// True if anything was taken since the last check.
    used: bool,
}

/// Room for a message. Where another message had it before, it holds that one's bytes: every byte has to be written.
pub(crate) struct Buffer {
    room: Vec<u8>,
    length: usize,
    home: Buffers,
}

impl Buffers {
    /// Keeps so many bytes at most.
    pub(crate) fn new(most: usize) -> Buffers {
        let (free, bytes, open, used) = (Vec::new(), 0, false, false);
        Buffers(Arc::new(Mutex::new(Shelf { free, bytes, most, open, used })))
    }

    fn lock_shelf(&self) -> MutexGuard<'_, Shelf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Room for so many bytes.
    pub(crate) fn take_buffer(&self, length: usize) -> Buffer {
        let kept = if is_kept(length) { self.lock_shelf().take_fitting(length) } else { None };
        let room = kept.unwrap_or_else(|| vec![0; length]);
        Buffer { room, length, home: self.clone() }
    }

    /// Gives the kept memory back to the system, and keeps nothing until room is taken again, unless some was taken
    /// since the last time; returns true if it goes on.
    pub(crate) fn clear(&self) -> bool {
        let mut shelf = self.lock_shelf();
        // Two calls without use in between are needed: `used` is what happened since the last one.
        shelf.open = std::mem::take(&mut shelf.used);
        if !shelf.open {
            (shelf.free, shelf.bytes) = (Vec::new(), 0);
        }
        shelf.open
    }
}

impl Shelf {
    /// The smallest that is large enough, and not much larger.
    fn take_fitting(&mut self, length: usize) -> Option<Vec<u8>> {
        (self.open, self.used) = (true, true);
        // At most twice as large: a charge counts the message's bytes, not those of the room that it lies in.
        let fits = |room: &Vec<u8>| room.len() >= length && room.len() / 2 <= length;
        let found = self.free.iter().enumerate().filter(|(_, room)| fits(room));
        let (place, _) = found.min_by_key(|(_, room)| room.len())?;
        let room = self.free.swap_remove(place);
        self.bytes -= room.len();
        Some(room)
    }
}

impl Buffer {
    /// Buffer that the bytes go to.
    pub(crate) fn spare_bytes(&mut self) -> &mut [u8] {
        &mut self.room[..self.length]
    }

    /// The message, all of whose bytes were written. Its room comes back when the last part of it is dropped.
    pub(crate) fn into_bytes(mut self) -> Bytes {
        if !is_kept(self.length) {
            // Small ones are never kept, and a `Bytes` of a vector needs no owner with a lock.
            return Bytes::from(std::mem::take(&mut self.room));
        }
        Bytes::from_owner(self)
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.room[..self.length]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let room = std::mem::take(&mut self.room);
        let mut shelf = self.home.lock_shelf();
        // A room that was taken before `clear` closed the shelf comes back to a closed one, and is freed.
        if shelf.open && is_kept(room.len()) && shelf.bytes + room.len() <= shelf.most {
            shelf.bytes += room.len();
            shelf.free.push(room);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 16 << 20;

    fn filled_message(buffers: &Buffers, length: usize, fill: u8) -> Bytes {
        let mut buffer = buffers.take_buffer(length);
        buffer.spare_bytes().fill(fill);
        buffer.into_bytes()
    }

    fn kept_bytes(buffers: &Buffers) -> usize {
        let shelf = buffers.lock_shelf();
        assert_eq!(shelf.bytes, shelf.free.iter().map(Vec::len).sum::<usize>());
        shelf.bytes
    }

    #[test]
    fn room_comes_back_with_the_last_part_of_a_message() {
        let buffers = Buffers::new(MOST);
        let whole = filled_message(&buffers, 1 << 20, 1);
        let place = whole.as_ptr();
        let part = whole.slice(100..200);
        drop(whole);
        assert_eq!(kept_bytes(&buffers), 0, "a part is held");
        drop(part);
        assert_eq!(kept_bytes(&buffers), 1 << 20);
        let next = filled_message(&buffers, (1 << 20) - 5, 2);
        assert_eq!((next.as_ptr(), next.len(), kept_bytes(&buffers)), (place, (1 << 20) - 5, 0));
        assert!(next.iter().all(|&byte| byte == 2));
        drop(next);
        assert_eq!(kept_bytes(&buffers), 1 << 20, "all of the room, not what the message took of it");
    }

    #[test]
    fn what_is_kept_is_bounded_fits_and_goes_when_it_is_not_used() {
        let buffers = Buffers::new(MOST);
        // 100 MB at a time, of which 16 are kept.
        drop((0..100).map(|_| filled_message(&buffers, 1 << 20, 0)).collect::<Vec<_>>());
        assert_eq!(kept_bytes(&buffers), MOST);
        let small = filled_message(&buffers, 100 << 10, 0);
        assert_eq!(kept_bytes(&buffers), MOST, "a megabyte is not spent on 100 kB");
        drop((small, filled_message(&buffers, 1000, 0)));
        assert!(buffers.clear(), "used since");
        assert_eq!(kept_bytes(&buffers), MOST);
        let held = filled_message(&buffers, 1 << 20, 0);
        assert!(buffers.clear() && !buffers.clear());
        drop(held);
        assert_eq!(kept_bytes(&buffers), 0, "what is late is not kept");
    }
}
