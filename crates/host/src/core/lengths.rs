//! Lengths of messages that are about the same.

/// Lengths of messages, told apart by powers of two: a set of them.
#[derive(Clone, Copy, Default)]
pub(super) struct Lengths(u64);

impl Lengths {
    fn length_bit(bytes: u64) -> u64 {
        // A message of no bytes shares the bit of one byte.
        1 << bytes.checked_ilog2().unwrap_or(0)
    }

    pub(super) fn has_length(self, bytes: u64) -> bool {
        self.0 & Lengths::length_bit(bytes) != 0
    }

    pub(super) fn insert(&mut self, bytes: u64) {
        self.0 |= Lengths::length_bit(bytes);
    }

    pub(super) fn remove_length(&mut self, bytes: u64) {
        self.0 &= !Lengths::length_bit(bytes);
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_alike_up_to_twice_as_much() {
        let mut lengths = Lengths::default();
        assert!(lengths.is_empty() && !lengths.has_length(0));
        lengths.insert(1 << 20);
        assert!(
            lengths.has_length((2 << 20) - 1)
                && !lengths.has_length(2 << 20)
                && !lengths.has_length((1 << 20) - 1)
        );
        lengths.insert(u64::MAX);
        // In the same power of two as `1 << 20`, and so of the same length as far as turns go.
        lengths.remove_length(1_500_000);
        assert!(lengths.has_length(1 << 63) && !lengths.has_length(1 << 20));
        lengths.remove_length(u64::MAX - 1);
        assert!(lengths.is_empty());
    }
}
