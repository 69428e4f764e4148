//! Keys leave copies on the stack while they are made, which nothing overwrites when the keys themselves are.

use zeroize::Zeroize;

/// Bytes of the stack that are overwritten: more than making keys takes.
const DEPTH: usize = 32 << 10;

/// Result of `make`, which is to be in a place of its own: the traces on the stack are overwritten.
pub(crate) fn call_scrubbed<R>(make: impl FnOnce() -> R) -> R {
    // Both calls begin at the same depth of the stack, so that `scrub_stack` covers what `call_below` has used.
    let made = call_below(make);
    scrub_stack();
    made
}

/// Calls `make` in a stack frame of its own, apart from the caller's.
#[inline(never)]
fn call_below<R>(make: impl FnOnce() -> R) -> R {
    make()
}

/// Overwrites the stack where [`call_below`] was.
#[inline(never)]
fn scrub_stack() {
    // `zeroize` writes through volatile accesses, which the compiler must not leave out although nothing reads
    // the array.
    [0u64; DEPTH / size_of::<u64>()].zeroize();
}
