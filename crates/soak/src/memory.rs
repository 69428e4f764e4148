//! Peak of the heap during a piece of work, thread by thread.
//!
//! A program that wants to know makes [`Counting`] its global allocator. Threads are counted apart, because
//! several runs go on at once and each is to be measured alone; a run has one thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes that this thread has taken and not given back, and the most that ever were since the last mark.
    static COUNT: Cell<(i64, i64)> = const { Cell::new((0, 0)) };
}

/// The system's allocator, with a count for each thread.
pub struct Counting;

fn note(change: i64) {
    // A thread that ends frees its own memory, after its counts are gone.
    let _ = COUNT.try_with(|count| {
        let (live, peak) = count.get();
        let live = live + change;
        count.set((live, peak.max(live)));
    });
}

#[allow(unsafe_code, reason = "an allocator is unsafe to write; this one hands every call on as it is")]
// SAFETY: every call goes to the system's allocator unchanged, and counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as i64);
        // SAFETY: as promised to us.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as i64);
        // SAFETY: as promised to us.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note(-(layout.size() as i64));
        // SAFETY: as promised to us.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The moment in which a move has both blocks is not counted.
        note(size as i64 - layout.size() as i64);
        // SAFETY: as promised to us.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// The most bytes that `work` had at a time beyond the memory in use before it; 0 where the program counts nothing.
pub fn peak_of<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = COUNT.with(|count| {
        let (live, _) = count.get();
        count.set((live, live));
        live
    });
    let made = work();
    let peak = COUNT.with(|count| count.get().1);
    (made, u64::try_from(peak - before).unwrap_or(0))
}
