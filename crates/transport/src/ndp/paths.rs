//! Path of each packet: all paths in a random order, and again in another.

use super::{NdpParams, Spray};
use crate::endpoint::Path;
use headway_primitives::{mix, prefetch_at};

/// Entropies to vary where the network hashes them and paths are not numbered.
const HASHED_PATHS: u32 = 64;

/// Most passes of the list that a path is left out of.
const MOST_AVOIDED: u16 = 64;

/// A returned or lost packet counts against its path as this many trimmed ones.
pub(super) const SEVERE: u32 = 3;

/// Results of a path. NDP §3.2.3
#[derive(Clone, Copy, Default)]
struct Score {
    acks: u32,
    nacks: u32,
    /// Passes to leave it out after each use.
    avoid: u16,
    /// Passes that it is still left out of.
    skip: u16,
}

/// The paths of one message in one direction.
pub(super) struct Paths {
    spray: Spray,
    /// Entropy of path 0.
    base: u32,
    order: Vec<u16>,
    at: usize,
    seed: u64,
    draws: u64,
    /// Scores by path; empty where they are not kept.
    board: Vec<Score>,
    total: Score,
    samples: u32,
}

impl Paths {
    /// Over `path`, beginning at a path that follows from `seed`. Paths without numbers differ by entropies
    /// that follow `entropy`.
    pub(super) fn new(params: &NdpParams, path: &Path, entropy: u32, seed: u64, scored: bool) -> Paths {
        let numbered = path.paths > 0;
        let there = if numbered { path.paths } else { HASHED_PATHS };
        let limit = if params.paths == 0 { u64::from(u16::MAX) } else { params.paths };
        let count = match params.spray {
            Spray::Single => 1,
            // `limit` has at most 16 bits.
            Spray::Permuted | Spray::Random => u64::from(there).min(limit).max(1) as u16,
        };
        // A single path is the one that the message's own entropy stands for.
        let base = if numbered && params.spray != Spray::Single { 0 } else { entropy };
        // Receivers keep no scores, because nothing answers their packets.
        let kept = if scored && params.outliers && count > 1 { usize::from(count) } else { 0 };
        Paths {
            spray: params.spray,
            base,
            order: (0..count).collect(),
            at: 0,
            seed: mix(seed ^ u64::from(entropy)),
            draws: 0,
            board: vec![Score::default(); kept],
            total: Score::default(),
            samples: params.outlier_samples as u32,
        }
    }

    /// The entropy that a packet on `path` carries.
    #[inline]
    pub(super) fn path_entropy(&self, path: u16) -> u32 {
        self.base.wrapping_add(u32::from(path))
    }

    /// Asks for the next path.
    #[inline]
    pub(super) fn prefetch_next(&self) {
        prefetch_at(&self.order, self.at);
    }

    /// The path of the next packet: not `but`, if there is another, and no outlier. NDP §3.1.1
    #[inline]
    pub(super) fn next(&mut self, but: Option<u16>) -> u16 {
        let mut path = self.draw_path();
        if self.order.len() == 1 {
            return path;
        }
        // Bounded, because all other paths may be left out of this pass.
        for _ in 0..2 * self.order.len() {
            if but != Some(path) && !self.leaves_out(path) {
                break;
            }
            path = self.draw_path();
        }
        path
    }

    /// The next path of the permutation; Fisher and Yates's shuffle, a step a packet.
    #[inline]
    fn draw_path(&mut self) -> u16 {
        if self.order.len() == 1 {
            return 0;
        }
        if self.at == self.order.len() {
            self.at = 0;
        }
        let left = self.order.len() - self.at;
        self.draws += 1;
        // The steps of SplitMix64, of which `mix` is the finaliser; the upper half of a product maps it to a
        // range without a division.
        let random = mix(self.seed.wrapping_add(self.draws.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let offset = ((u128::from(random) * left as u128) >> 64) as usize;
        self.order.swap(self.at, self.at + offset);
        let path = self.order[self.at];
        // Independent choices are the first step of a shuffle over and over.
        self.at = if self.spray == Spray::Random { 0 } else { self.at + 1 };
        path
    }

    /// True if a path is left out of this pass of the list. NDP §3.2.3
    #[inline]
    fn leaves_out(&mut self, path: u16) -> bool {
        let Some(score) = self.board.get_mut(usize::from(path)) else { return false };
        if score.skip > 0 {
            score.skip -= 1;
            return true;
        }
        score.skip = score.avoid;
        false
    }

    /// A packet on `path` arrived whole.
    #[inline]
    pub(super) fn count_ack(&mut self, path: u16) {
        if let Some(score) = self.board.get_mut(usize::from(path)) {
            score.acks += 1;
            self.total.acks += 1;
            self.judge_path(path);
        }
    }

    /// A packet on `path` was trimmed, or something worse that counts as several.
    #[inline]
    pub(super) fn count_nack(&mut self, path: u16, weight: u32) {
        if let Some(score) = self.board.get_mut(usize::from(path)) {
            score.nacks += weight;
            self.total.nacks += weight;
            self.judge_path(path);
        }
    }

    /// An outlier has more than 1.25 times the mean's negative acknowledgements for each positive one, and
    /// more than three in ten: the numbers of the authors' simulator, the paper has none.
    fn judge_path(&mut self, path: u16) {
        let (mean_acks, mean_nacks) = (u64::from(self.total.acks), u64::from(self.total.nacks));
        let score = &mut self.board[usize::from(path)];
        let (acks, nacks) = (u64::from(score.acks), u64::from(score.nacks));
        // Products instead of ratios: a dead path has no acknowledgements to divide by.
        let outlier = score.acks + score.nacks > self.samples
            && 4 * nacks * mean_acks > 5 * mean_nacks * acks
            && 10 * nacks > 3 * acks;
        score.avoid =
            if outlier { (score.avoid + 1).min(MOST_AVOIDED) } else { score.avoid.saturating_sub(1) };
        // A path that has become better comes back without waiting for the passes of before.
        score.skip = score.skip.min(score.avoid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::{Rate, Time};

    fn test_paths(params: &NdpParams, count: u32) -> Paths {
        let path = Path {
            longest_timeout: Time::MAX,
            base_rtt: Time::us(1),
            max_rtt: Time::us(2),
            bottleneck: Rate::gbps(10),
            paths: count,
            hops: 1,
        };
        Paths::new(params, &path, 77, 5, true)
    }

    #[test]
    fn every_pass_uses_each_path_once_and_passes_differ() {
        let mut paths = test_paths(&NdpParams::default(), 16);
        let passes: Vec<Vec<u16>> = (0..4).map(|_| (0..16).map(|_| paths.next(None)).collect()).collect();
        for pass in &passes {
            let mut sorted = pass.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..16).collect::<Vec<_>>());
        }
        assert!(passes.windows(2).all(|w| w[0] != w[1]));
        assert_eq!(paths.path_entropy(3), 3, "numbered paths");
    }

    #[test]
    fn a_bad_path_is_left_out_and_comes_back() {
        let mut paths = test_paths(&NdpParams { outlier_samples: 20, ..NdpParams::default() }, 4);
        for _ in 0..40 {
            (0..3).for_each(|p| paths.count_ack(p));
            paths.count_nack(3, 1);
        }
        let uses = |paths: &mut Paths| (0..400).filter(|_| paths.next(None) == 3).count();
        let bad = uses(&mut paths);
        assert!((1..40).contains(&bad), "used {bad} times in 400");
        (0..400).for_each(|_| (0..4).for_each(|p| paths.count_ack(p)));
        let good = uses(&mut paths);
        assert!((95..=105).contains(&good), "used {good} times in 400");
    }

    #[test]
    fn without_numbers_entropies_follow_the_messages_own_and_single_has_one() {
        let hashed = test_paths(&NdpParams::default(), 0);
        assert_eq!((hashed.order.len(), hashed.path_entropy(5)), (64, 82));
        let mut single = test_paths(&NdpParams { spray: Spray::Single, ..NdpParams::default() }, 16);
        assert!((0..20).all(|_| single.next(Some(0)) == 0));
        assert_eq!(single.path_entropy(0), 77);
    }

    #[test]
    fn a_repetition_avoids_the_path_that_failed() {
        let mut paths = test_paths(&NdpParams::default(), 2);
        assert!((0..20).all(|_| paths.next(Some(1)) == 0));
    }
}
