//! Entropy of each packet of a message, which decides the one of several equal paths that it takes.
//!
//! Switches that hash the entropy send packets of one message over many paths. A policy chooses the next entropy, and may learn
//! from the outcome of those before: packets arrived, arrived marked, arrived without their payload, or did not arrive.
//! Rules and numbers are those of the public simulator of Ultra Ethernet (uet-htsim); REPS is arXiv 2407.21625.

use crate::endpoint::Path;
use headway_primitives::mix;
use headway_units::Time;
use std::collections::VecDeque;

headway_params::choice! {
    /// Policy that spreads the packets of a message over the paths.
    pub enum Spraying {
        /// All entropies in turn, without regard to marks and losses.
        Oblivious = "oblivious",
        /// All in turn, but for those that a penalty leaves out for a while.
        Bitmap = "bitmap",
        /// Those of packets that arrived unmarked, each once; others at random.
        Reps = "reps",
        /// Those of packets that arrived unmarked, each once; others as `bitmap`.
        Mixed = "mixed",
    }
}

/// Entropies that a message uses where switches hash them, unless a parameter says otherwise.
pub const USUAL_ENTROPIES: u64 = 64;

/// Outcome of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It arrived, and all queues on its way were short.
    Good,
    /// It arrived with a mark.
    Marked,
    /// It arrived without its payload.
    Trimmed,
    /// Nothing was heard of it for too long.
    Lost,
}

/// Turns for which an entropy is left out, by the fate of its packet, and the most that they add up to.
const MARKED_PENALTY: u8 = 1;
const TRIMMED_PENALTY: u8 = 4;
const MOST_PENALTY: u8 = 15;
/// Entropies that REPS keeps, and draws from at random after a loss. REPS §3
const RING: usize = 8;
const EXPLORED: u32 = 16;

/// A source of numbers that depends on nothing but its seed.
#[derive(Clone, Debug)]
struct Lots {
    seed: u64,
    draws: u64,
}

impl Lots {
    /// A number below `end`.
    fn draw_below(&mut self, end: u32) -> u32 {
        // A counter instead of the run's generator: the entropies of one message do not depend on other messages.
        self.draws += 1;
        // The steps of SplitMix64, of which `mix` is the finaliser; the upper half of a product maps it to a
        // range without a division.
        let random = mix(self.seed.wrapping_add(self.draws.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        ((u128::from(random) * u128::from(end)) >> 64) as u32
    }
}

/// All numbers below `count` in turn: each once, then in another order.
#[derive(Clone, Debug)]
struct Walk {
    count: u32,
    /// The power of two that holds them all.
    span: u32,
    at: u32,
    twist: u32,
}

impl Walk {
    fn new(count: u32, lots: &mut Lots) -> Walk {
        let span = count.next_power_of_two();
        Walk { count, span, at: 0, twist: lots.draw_below(span) }
    }

    fn next(&mut self, lots: &mut Lots) -> u32 {
        loop {
            // An exclusive or with a number below the power of two is a permutation: each number once a cycle.
            let number = self.at ^ self.twist;
            self.at += 1;
            if self.at == self.span {
                (self.at, self.twist) = (0, lots.draw_below(self.span));
            }
            // Unless `count` is a power of two, numbers beyond it are skipped: fewer than half of all.
            if number < self.count {
                return number;
            }
        }
    }
}

/// The last entropies that were good. REPS §3
#[derive(Clone, Debug, Default)]
struct Ring {
    kept: [u32; RING],
    /// Entries in use, position of the next write, and entries not used since.
    len: usize,
    head: usize,
    fresh: usize,
    /// Position of the next entry to take while nothing new is trusted.
    frozen_at: usize,
    /// End of that time; [`Time::ZERO`] = not frozen.
    frozen: Time,
    /// Entropies still to be drawn at random.
    explore: u32,
}

impl Ring {
    fn keep_entropy(&mut self, entropy: u32) {
        self.kept[self.head] = entropy;
        self.head = (self.head + 1) % RING;
        self.len = (self.len + 1).min(RING);
        // At most a ring: an entry that was overwritten can no longer be used again.
        self.fresh = (self.fresh + 1).min(RING);
    }

    fn next(&mut self) -> Option<u32> {
        // After a freeze the entropies known before it may lead over the failed path, so new ones are drawn first.
        if self.explore > 0 {
            self.explore -= 1;
            return None;
        }
        // While frozen, entries are used again and again, also those that were used before.
        if self.frozen > Time::ZERO && self.len > 0 {
            let entropy = self.kept[self.frozen_at % self.len];
            self.frozen_at = (self.frozen_at + 1) % self.len;
            self.fresh = self.fresh.saturating_sub(1);
            return Some(entropy);
        }
        // The oldest of those that have not been used.
        let oldest = (self.head + RING - self.fresh) % RING;
        (self.fresh > 0).then(|| {
            self.fresh -= 1;
            self.kept[oldest]
        })
    }

    fn note_fate(&mut self, now: Time, entropy: u32, fate: Fate, freeze: Time) {
        // Losses come in groups: another one while frozen or exploring must not put off the end.
        if fate == Fate::Lost && self.frozen == Time::ZERO && self.explore == 0 {
            self.frozen = now.saturating_add(freeze);
        }
        // Looked at when something is heard, as no timer belongs to an entropy.
        if self.frozen > Time::ZERO && now > self.frozen {
            *self = Ring { explore: EXPLORED, ..Ring::default() };
        }
        // After the reset, so that the good entropy that ended a freeze is the first in the fresh ring.
        if fate == Fate::Good {
            self.keep_entropy(entropy);
        }
    }
}

/// The entropies of one message in one direction.
#[derive(Clone, Debug)]
pub struct Entropies {
    policy: Spraying,
    /// Entropy of number 0, and how many there are.
    base: u32,
    count: u32,
    lots: Lots,
    walk: Walk,
    /// Turns for which each is left out; empty for a policy without penalties.
    penalties: Vec<u8>,
    good: VecDeque<u32>,
    ring: Ring,
    /// Time after a loss during which REPS trusts nothing new.
    freeze: Time,
}

impl Entropies {
    /// Entropies of a message with this entropy of its own over `path`: `count` of them where switches hash, or one for each path
    /// where paths have numbers. Random choices depend on `seed`.
    pub fn new(
        policy: Spraying,
        count: u64,
        (path, freeze): (&Path, Time),
        entropy: u32,
        seed: u64,
    ) -> Entropies {
        // Numbered paths count from 0, so the message's own entropy is not added to them.
        let (base, count) = match path.paths {
            0 => (entropy, u32::try_from(count).unwrap_or(u32::MAX).max(1)),
            paths => (0, paths),
        };
        // Mixed with the message's entropy, so that messages of machines with one seed walk in different orders.
        let mut lots = Lots { seed: mix(seed ^ u64::from(entropy)), draws: 0 };
        let walk = Walk::new(count, &mut lots);
        // Only these two policies read penalties; the others allocate nothing.
        let counted = matches!(policy, Spraying::Bitmap | Spraying::Mixed);
        let penalties = if counted { vec![0; count as usize] } else { Vec::new() };
        let (good, ring) = (VecDeque::new(), Ring::default());
        Entropies { policy, base, count, lots, walk, penalties, good, ring, freeze }
    }

    /// The entropy of the next packet.
    pub fn next_entropy(&mut self) -> u32 {
        let number = match self.policy {
            Spraying::Oblivious => self.walk.next(&mut self.lots),
            Spraying::Bitmap => self.next_unpunished(),
            Spraying::Mixed => match self.good.pop_front() {
                Some(number) => number,
                None => self.next_unpunished(),
            },
            Spraying::Reps => match self.ring.next() {
                Some(number) => number,
                // Drawn, not walked: with nothing known, REPS explores at random. REPS §3
                None => self.lots.draw_below(self.count),
            },
        };
        self.base.wrapping_add(number)
    }

    /// The next of the walk without a penalty. Only the first one that is passed over has less of it then. After a whole
    /// cycle any will do.
    fn next_unpunished(&mut self) -> u32 {
        let mut number = self.walk.next(&mut self.lots);
        // One look more than there are entropies: if all of them have a penalty, the last one found is taken.
        for passed in 0..=self.count {
            let Some(penalty) = self.penalties.get_mut(number as usize).filter(|penalty| **penalty > 0)
            else {
                break;
            };
            // As in uet-htsim: one packet pays off one turn of one entropy.
            if passed == 0 {
                *penalty -= 1;
            }
            number = self.walk.next(&mut self.lots);
        }
        number
    }

    /// Takes in the fate of a packet with this entropy.
    pub fn note_fate(&mut self, now: Time, entropy: u32, fate: Fate) {
        // An entropy below the base wraps to a number that is out of range, too.
        let number = entropy.wrapping_sub(self.base);
        if number >= self.count {
            return;
        }
        if let Some(penalty) = self.penalties.get_mut(number as usize) {
            let more = match fate {
                Fate::Good => 0,
                Fate::Marked => MARKED_PENALTY,
                Fate::Trimmed => TRIMMED_PENALTY,
                Fate::Lost => MOST_PENALTY,
            };
            // Saturates, so that an entropy with many losses is tried again after 15 turns.
            *penalty = (*penalty + more).min(MOST_PENALTY);
        }
        match self.policy {
            Spraying::Mixed if fate == Fate::Good => self.good.push_back(number),
            Spraying::Reps => self.ring.note_fate(now, number, fate, self.freeze),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Rate;

    const FREEZE: Time = Time::us(10);

    fn test_path(paths: u32) -> Path {
        let (base_rtt, max_rtt) = (Time::us(1), Time::us(2));
        Path { longest_timeout: Time::MAX, base_rtt, max_rtt, bottleneck: Rate::gbps(10), paths, hops: 1 }
    }

    fn test_entropies(policy: Spraying, count: u64) -> Entropies {
        Entropies::new(policy, count, (&test_path(0), FREEZE), 1000, 5)
    }

    fn take_entropies(entropies: &mut Entropies, n: usize) -> Vec<u32> {
        (0..n).map(|_| entropies.next_entropy() - 1000).collect()
    }

    #[test]
    fn a_walk_has_every_entropy_once_a_cycle_and_cycles_differ() {
        for count in [1, 5, 64] {
            let mut walk = test_entropies(Spraying::Oblivious, count);
            let cycles: Vec<_> = (0..6).map(|_| take_entropies(&mut walk, count as usize)).collect();
            for cycle in &cycles {
                let mut sorted = cycle.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..count as u32).collect::<Vec<_>>());
            }
            assert!(count < 64 || cycles.windows(2).any(|pair| pair[0] != pair[1]));
        }
        let mut numbered = Entropies::new(Spraying::Oblivious, 64, (&test_path(3), FREEZE), 1000, 5);
        let mut all: Vec<_> = (0..3).map(|_| numbered.next_entropy()).collect();
        all.sort_unstable();
        assert_eq!(all, [0, 1, 2], "paths that have numbers are named by them");
    }

    #[test]
    fn a_penalty_leaves_an_entropy_out_for_as_many_turns() {
        for (fate, turns) in [(Fate::Good, 0), (Fate::Marked, 1), (Fate::Trimmed, 4), (Fate::Lost, 15)] {
            let mut bitmap = test_entropies(Spraying::Bitmap, 8);
            bitmap.note_fate(Time::ZERO, 1003, fate);
            // A cycle without the entropy is seven picks; it may stand anywhere in the cycle in which it comes back.
            let until =
                take_entropies(&mut bitmap, 400).iter().position(|&number| number == 3).expect("it is back");
            assert!((7 * turns..=8 * turns + 8).contains(&until), "{fate:?}: after {until}");
        }
        let mut all = test_entropies(Spraying::Bitmap, 4);
        (1000..1004).for_each(|entropy| all.note_fate(Time::ZERO, entropy, Fate::Lost));
        assert_eq!(take_entropies(&mut all, 9).len(), 9, "all are left out, and one is taken");
    }

    #[test]
    fn good_entropies_are_used_again_once_each() {
        let mut mixed = test_entropies(Spraying::Mixed, 64);
        let mut reps = test_entropies(Spraying::Reps, 64);
        for policy in [&mut mixed, &mut reps] {
            [7, 9, 11].iter().for_each(|n| policy.note_fate(Time::ZERO, 1000 + n, Fate::Good));
            policy.note_fate(Time::ZERO, 1012, Fate::Marked);
            assert_eq!(take_entropies(policy, 3), [7, 9, 11]);
        }
        // A ring of eight: overwritten entries are lost.
        (0..10).for_each(|n| reps.note_fate(Time::ZERO, 1000 + n, Fate::Good));
        assert_eq!(take_entropies(&mut reps, 8), [2, 3, 4, 5, 6, 7, 8, 9]);
        (0..10).for_each(|n| mixed.note_fate(Time::ZERO, 1000 + n, Fate::Good));
        assert_eq!(take_entropies(&mut mixed, 10), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn reps_goes_on_with_what_was_good_after_a_loss_and_then_looks_around() {
        // With a million entropies a random draw does not hit one of the four that are known.
        let mut reps = test_entropies(Spraying::Reps, 1 << 20);
        [7, 9].iter().for_each(|n| reps.note_fate(Time::ZERO, 1000 + n, Fate::Good));
        reps.note_fate(Time::us(1), 1040, Fate::Lost);
        assert_eq!(take_entropies(&mut reps, 5), [7, 9, 7, 9, 7], "again and again");
        reps.note_fate(Time::us(5), 1011, Fate::Good);
        assert!(take_entropies(&mut reps, 3).contains(&11), "what is good still counts");
        reps.note_fate(Time::us(12), 1013, Fate::Good);
        // Sixteen: as many as are drawn at random after a freeze.
        let lots = take_entropies(&mut reps, 16);
        assert!(lots.iter().all(|n| ![7, 9, 11, 13].contains(n)), "{lots:?} are drawn from a million");
        assert_eq!(take_entropies(&mut reps, 1), [13]);
    }

    #[test]
    fn an_entropy_of_somebody_else_says_nothing() {
        let mut mixed = test_entropies(Spraying::Mixed, 4);
        // 17 is below the base of 1000 and wraps; 1004 is the first above the message's four.
        mixed.note_fate(Time::ZERO, 17, Fate::Good);
        mixed.note_fate(Time::ZERO, 1004, Fate::Lost);
        assert!(mixed.good.is_empty() && mixed.penalties == [0; 4]);
    }
}
