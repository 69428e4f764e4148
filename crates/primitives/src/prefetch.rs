//! A hint to the processor.

/// Cache lines asked for at most: more in flight only wait for one another.
const MOST_LINES: usize = 8;

/// Asks for the first cache lines of `item`, for code that knows well ahead which memory it will touch. Changes nothing.
#[inline(always)]
#[allow(unsafe_code, reason = "a prefetch has no safe form in the standard library")]
pub fn prefetch<T: ?Sized>(item: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start: *const i8 = std::ptr::from_ref(item).cast();
        for line in 0..size_of_val(item).div_ceil(64).min(MOST_LINES) {
            // SAFETY: a prefetch reads nothing and cannot fault, whatever the address; the last line may
            // begin past a small item, hence the wrapping addition, which never forms a place to read from.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(line * 64)) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = item;
}

/// Prefetches `items[index]`; does nothing outside the slice.
#[inline(always)]
pub fn prefetch_at<T>(items: &[T], index: usize) {
    if let Some(item) = items.get(index) {
        prefetch(item);
    }
}
