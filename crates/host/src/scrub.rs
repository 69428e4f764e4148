//! Keys leave copies on the stack while they are made, which nothing overwrites when the keys themselves are.

use zeroize::Zeroize;

/// Bytes of the stack that are overwritten: more than making keys takes.
const DEPTH: usize = 32 << 10;

/// What `make` makes, which is to be in a place of its own: what it left on the stack is overwritten.
pub(crate) fn scrubbed<R>(make: impl FnOnce() -> R) -> R {
    let made = below(make);
    scrub();
    made
}

/// Nothing of it is on the stack of whoever calls it.
#[inline(never)]
fn below<R>(make: impl FnOnce() -> R) -> R {
    make()
}

/// Where [`below`] was.
#[inline(never)]
fn scrub() {
    [0u64; DEPTH / size_of::<u64>()].zeroize();
}
