//! Bytes in parts as equal as whole numbers allow.

/// A number of bytes in so many parts: the first ones have a byte more, if it does not divide evenly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    total: u64,
    count: u64,
}

impl Parts {
    /// Divides `total` into at least one part.
    pub(crate) fn of(total: u64, count: u64) -> Parts {
        Parts { total, count: count.max(1) }
    }

    /// The size of a part.
    pub(crate) fn get(self, index: u64) -> u64 {
        // The first parts have one byte more where the division leaves a rest.
        self.total / self.count + u64::from(index < self.total % self.count)
    }

    /// The size of so many parts from one on.
    pub(crate) fn sum(self, from: u64, count: u64) -> u64 {
        let more = |upto: u64| upto.min(self.total % self.count);
        count * (self.total / self.count) + more(from + count) - more(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_even_and_add_up() {
        for (total, count) in [(10, 3), (9, 3), (2, 3), (0, 1), (1_000_003, 128)] {
            let parts = Parts::of(total, count);
            let all: Vec<u64> = (0..count).map(|index| parts.get(index)).collect();
            assert_eq!(all.iter().sum::<u64>(), total);
            assert!(all.iter().max().expect("parts") - all.iter().min().expect("parts") <= 1);
            for from in 0..count {
                for n in 0..=count - from {
                    let some = &all[from as usize..(from + n) as usize];
                    assert_eq!(parts.sum(from, n), some.iter().sum::<u64>());
                }
            }
        }
    }
}
