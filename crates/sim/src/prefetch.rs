//! A hint to the processor, and the only unsafe code of the engine.

/// Asks for the first two cache lines of `items[index]`; does nothing outside the slice.
#[inline(always)]
#[allow(unsafe_code, reason = "a prefetch has no safe form in the standard library")]
pub(crate) fn prefetch<T>(items: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(item) = items.get(index) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let start: *const i8 = std::ptr::from_ref(item).cast();
        // SAFETY: a prefetch reads nothing and cannot fault, whatever the address; the second line may lie
        // past a small item, hence the wrapping addition, which never forms a place to read from.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(start);
            if size_of::<T>() > 64 {
                _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(64));
                _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(128));
                _mm_prefetch::<_MM_HINT_T0>(start.wrapping_add(192));
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (items, index);
}
