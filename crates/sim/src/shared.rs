//! A list whose elements belong to several shards of a network, each to one.
//!
//! Shards have handles of the same list and touch their own elements only, so that no two threads ever touch the same
//! one. Debug builds, and with them all tests, check the owner at every access. What needs the list as a whole says
//! that all other shards rest.

use std::ops::{Index, IndexMut};
use std::sync::Arc;

/// The memory of a list, freed with its last handle.
struct Memory<T>(*mut [T]);

impl<T> Drop for Memory<T> {
    #[allow(unsafe_code, reason = "the memory came from a box")]
    fn drop(&mut self) {
        // SAFETY: made by `Box::into_raw` in `Shared::of`, and nothing else frees it.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// One shard's handle of a list.
pub(crate) struct Shared<T> {
    first: *mut T,
    len: usize,
    owners: Owners,
    _memory: Arc<Memory<T>>,
}

// SAFETY: handles reach elements of their own shard alone, or all of them while the other shards rest, so an element is
// never touched by two threads at a time; that is what `Send` of `T` allows.
#[allow(unsafe_code, reason = "elements of one list belong to several threads, each to one")]
unsafe impl<T: Send> Send for Shared<T> {}

/// Owner of each element, where that is checked.
#[derive(Clone, Default)]
struct Owners {
    #[cfg(debug_assertions)]
    of: Option<(Arc<[u8]>, u8)>,
}

impl Owners {
    #[inline(always)]
    fn check(&self, index: usize) {
        #[cfg(debug_assertions)]
        if let Some((of, me)) = &self.of {
            assert_eq!(of[index], *me, "element {index} belongs to another shard");
        }
        let _ = index;
    }
}

impl<T> Shared<T> {
    /// One handle a shard, `owners` naming the shard of each element.
    pub(crate) fn of(list: Vec<T>, shards: usize, owners: &Arc<[u8]>) -> Vec<Shared<T>> {
        debug_assert_eq!(list.len(), owners.len());
        let len = list.len();
        let all = Box::into_raw(list.into_boxed_slice());
        let memory = Arc::new(Memory(all));
        let handle = |shard: usize| {
            let owners = Owners {
                #[cfg(debug_assertions)]
                // One shard owns all: there is nothing to check.
                of: (shards > 1).then(|| (Arc::clone(owners), shard as u8)),
            };
            // Release builds do not use it otherwise.
            let _ = shard;
            Shared { first: all.cast(), len, owners, _memory: Arc::clone(&memory) }
        };
        (0..shards).map(handle).collect()
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// An element of this shard, if there is one of this number.
    #[inline(always)]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        (index < self.len).then(|| &self[index])
    }

    /// The whole list.
    ///
    /// # Safety
    /// No other handle of this list may be used as long as the returned slice is in use.
    #[allow(unsafe_code, reason = "whoever calls this has stopped all other shards")]
    pub(crate) unsafe fn whole(&mut self) -> &mut [T] {
        // SAFETY: the elements are there as long as this handle is, and the caller makes sure that no other handle
        // accesses them.
        unsafe { std::slice::from_raw_parts_mut(self.first, self.len) }
    }
}

impl<T> Index<usize> for Shared<T> {
    type Output = T;

    #[inline(always)]
    #[allow(unsafe_code, reason = "other elements of the list belong to other threads")]
    fn index(&self, index: usize) -> &T {
        assert!(index < self.len, "element {index} of {}", self.len);
        self.owners.check(index);
        // SAFETY: within the list, and of this shard alone, whose handle is borrowed.
        unsafe { &*self.first.add(index) }
    }
}

impl<T> IndexMut<usize> for Shared<T> {
    #[inline(always)]
    #[allow(unsafe_code, reason = "other elements of the list belong to other threads")]
    fn index_mut(&mut self, index: usize) -> &mut T {
        assert!(index < self.len, "element {index} of {}", self.len);
        self.owners.check(index);
        // SAFETY: within the list, and of this shard alone, whose only handle is borrowed for this.
        unsafe { &mut *self.first.add(index) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_write_their_own_elements_at_the_same_time() {
        let owners: Arc<[u8]> = (0..1000).map(|i| (i % 3) as u8).collect();
        let mut handles = Shared::of(vec![0u64; 1000], 3, &owners);
        let write = |shard: usize, handle: &mut Shared<u64>| {
            for round in 0..50 {
                (0..1000).filter(|i| i % 3 == shard).for_each(|i| handle[i] += (i + round) as u64);
            }
        };
        #[allow(clippy::disallowed_methods, reason = "threads are what is tested")]
        std::thread::scope(|scope| {
            for (shard, handle) in handles.iter_mut().enumerate() {
                scope.spawn(move || write(shard, handle));
            }
        });
        #[allow(unsafe_code, reason = "all threads have ended")]
        // SAFETY: they have.
        let all = unsafe { handles[0].whole() };
        // 50 rounds add i each, and 0 + ... + 49 = 49 * 25.
        assert!(all.iter().enumerate().all(|(i, sum)| *sum == (50 * i + 49 * 25) as u64));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "belongs to another shard")]
    fn debug_builds_notice_whoever_takes_another_shards_element() {
        let owners: Arc<[u8]> = [0, 1].into();
        let handles = Shared::of(vec![1, 2], 2, &owners);
        assert_eq!(handles[0][0], 1);
        let _ = handles[0][1];
    }
}
