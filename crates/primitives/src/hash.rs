//! A hash of one number, for choices that must look random and be the same in every run.

/// SplitMix64's finaliser: every output bit depends on every input bit.
#[inline]
pub const fn mix(mut z: u64) -> u64 {
    // Constants of Stafford's variant 13, as in SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
