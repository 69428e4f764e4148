//! Histogram of the delays of a switch's frames, against the time they were due.

/// A histogram in powers of two of nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DelayHistogram {
    /// Frames that left less than `2^i` ns late (and not less than the bin before).
    bins: [u64; 32],
    worst_ns: u64,
}

impl DelayHistogram {
    /// Adds a frame that left `late_ns` after its time.
    pub fn note(&mut self, late_ns: u64) {
        let bin = (64 - late_ns.leading_zeros() as usize).min(self.bins.len() - 1);
        self.bins[bin] += 1;
        self.worst_ns = self.worst_ns.max(late_ns);
    }

    /// Number of frames noted.
    pub fn frames(&self) -> u64 {
        self.bins.iter().sum()
    }

    /// An upper bound, within a factor of two, of the delay that `share` of the frames kept below.
    pub fn quantile_ns(&self, share: f64) -> u64 {
        let wanted = (self.frames() as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (bin, count) in self.bins.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return (1u64 << bin).min(self.worst_ns.max(1));
            }
        }
        self.worst_ns
    }

    /// The latest of all.
    pub fn worst_ns(&self) -> u64 {
        self.worst_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_bound_what_was_noted() {
        let mut late = DelayHistogram::default();
        (0..99).for_each(|_| late.note(900));
        late.note(70_000);
        assert_eq!(late.quantile_ns(0.5), 1024);
        assert_eq!(late.quantile_ns(1.0), 70_000);
        assert_eq!((late.frames(), late.worst_ns()), (100, 70_000));
    }
}
