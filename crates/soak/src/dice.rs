//! Random choices of a generator, from one seed.

use rand_core::Rng;
use rand_pcg::Pcg64;

/// A stream of choices.
pub struct Dice(Pcg64);

impl Dice {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Dice {
        Dice(Pcg64::new(u128::from(headway_primitives::mix(seed)), 0x50a1))
    }

    /// A number from 0 up to, and not including, `n`, which is at least 1.
    pub fn below(&mut self, n: u64) -> u64 {
        // The upper half of the product is below `n`, without a division.
        ((u128::from(self.0.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// A number from `least` to `most`, both included.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        let span = most - least;
        // `span + 1` would overflow.
        if span == u64::MAX { self.0.next_u64() } else { least + self.below(span + 1) }
    }

    /// A share from 0 up to 1.
    pub fn share(&mut self) -> f64 {
        // A double has 53 bits for them.
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True so many times in a hundred.
    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// One of a list that is not empty.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len() as u64) as usize]
    }

    /// Any order of magnitude from `least` to `most`, both positive, is equally likely.
    pub fn magnitude(&mut self, least: f64, most: f64) -> f64 {
        let (from, to) = (libm::log(least), libm::log(most));
        // The exponential of a logarithm may miss the range by a rounding.
        libm::exp(from + self.share() * (to - from)).clamp(least, most)
    }

    /// A whole number from `least` to `most`, of which any order of magnitude is equally likely.
    pub fn count(&mut self, least: u64, most: u64) -> u64 {
        // Nearly one more, so that the largest number is drawn as well.
        let drawn = self.magnitude(least.max(1) as f64, most.max(1) as f64 + 0.999) as u64;
        drawn.clamp(least, most)
    }

    /// Each of a list with the chance `percent`, in order.
    pub fn some<T: Clone>(&mut self, list: &[T], percent: u64) -> Vec<T> {
        list.iter().filter(|_| self.percent(percent)).cloned().collect()
    }
}
