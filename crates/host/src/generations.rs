//! The keys of a session, which are renewed while it lasts.
//!
//! Keys are made in generations, each from a secret that the keys of the one before cannot be computed from
//! ([`Chain`]). A datagram's number says of which generation its keys are: the upper half of the 64 bits is the
//! generation, and the lower half counts the datagrams of it. So a renewal needs no message of its own, and a datagram
//! that arrives late or early opens by itself.
//!
//! Either end begins a new generation when one is due ([`Renewal`]), with the next datagram that it sends. The other end
//! follows when it opens that one, which answers: neither begins another before the peer has been heard with this one.
//! So an end that seals with generation *n* has a peer that seals with *n* - 1, *n* or *n* + 1, however datagrams are
//! lost or reordered:
//!
//! ```text
//! first ..= heard - 1   from before the peer was heard with `heard`; kept for late datagrams, and then overwritten
//! heard                 the newest that the peer was heard with
//! sending               that, or the one after
//! sending + 1           what the peer may come with next
//! ```
//!
//! Neither begins one sooner than [`Renewal::late`] after it has begun the one before and heard the peer with it. What
//! is more than one generation behind the newest was therefore sent longer ago than that, as was what comes when the
//! keys of before are gone.

use crate::config::Renewal;
use crate::counters::Count;
use crate::replay::ReplayWindow;
use crate::scrub::call_scrubbed;
use crate::seal::{Chain, Seals};
use headway_units::Time;
use std::collections::VecDeque;

/// The keys of one generation, and which datagrams have been opened with them.
pub(crate) struct Generation {
    pub(crate) seals: Seals,
    pub(crate) replay: ReplayWindow,
    /// Window for headers that came back: of datagrams sent from here.
    pub(crate) returned: ReplayWindow,
}

/// See the module.
pub(crate) struct Generations {
    /// Secret that the keys after the last of those that are held come from.
    chain: Chain,
    /// Consecutive ones from `first` to `sending + 1`, each in one place of memory.
    held: VecDeque<Box<Generation>>,
    first: u32,
    heard: u32,
    sending: u32,
    /// Datagrams sent with `sending`, and since when.
    sent: u32,
    since: Time,
    /// Time at which the peer was first heard with `heard`.
    heard_since: Time,
    /// Time at which those before `heard` are overwritten.
    retire_at: Option<Time>,
}

/// Generation of a datagram, and its number in that.
fn split_counter(counter: u64) -> (u32, u64) {
    ((counter >> 32) as u32, counter & u64::from(u32::MAX))
}

impl Generations {
    /// The first generation of a session.
    pub(crate) fn new(now: Time, chain: Chain) -> Option<Generations> {
        let mut made = Generations {
            chain,
            // At most four are held: the one before, the one heard with, the one after, and the next.
            held: VecDeque::with_capacity(4),
            first: 0,
            heard: 0,
            sending: 0,
            sent: 0,
            since: now,
            heard_since: now,
            retire_at: None,
        };
        made.make_keys()?;
        Some(made)
    }

    /// Makes keys up to the generation that the peer may come with.
    fn make_keys(&mut self) -> Option<()> {
        // In `usize`, because `sending + 1` of the last generation would not fit into 32 bits.
        while self.first as usize + self.held.len() <= self.sending as usize + 1 {
            let made = call_scrubbed(|| {
                let (replay, returned) = (ReplayWindow::default(), ReplayWindow::default());
                Some(Box::new(Generation { seals: self.chain.next_seals()?, replay, returned }))
            });
            self.held.push_back(made?);
        }
        Some(())
    }

    /// The number of a datagram that leaves now, which may be the first of a new generation. `None` when those of a
    /// generation are used up: that many have left, and the peer has answered none.
    pub(crate) fn next_number(&mut self, now: Time, renewal: &Renewal) -> Option<u64> {
        // A renewal that is due but may not begin is not an error: sealing goes on with the same keys, up to
        // 2^32 datagrams.
        let due = self.sent >= renewal.datagrams || now >= self.since.saturating_add(renewal.time);
        if due && self.may_begin(now, renewal) {
            self.begin_generation(now, self.sending + 1)?;
        }
        let number = u64::from(self.sending) << 32 | u64::from(self.sent);
        // The number is refused before it would run into the generation's half.
        self.sent = self.sent.checked_add(1)?;
        Some(number)
    }

    fn may_begin(&self, now: Time, renewal: &Renewal) -> bool {
        let rested = now >= self.since.max(self.heard_since).saturating_add(renewal.late);
        // Two below the end, because keys are also held for the generation after the one that seals.
        rested && self.heard == self.sending && self.sending < u32::MAX - 1
    }

    fn begin_generation(&mut self, now: Time, generation: u32) -> Option<()> {
        (self.sending, self.sent, self.since) = (generation, 0, now);
        self.make_keys()
    }

    /// The keys for a number of [`Generations::next_number`].
    pub(crate) fn sealing_keys(&self, counter: u64) -> Option<&Seals> {
        let place = split_counter(counter).0.checked_sub(self.first)?;
        self.held.get(place as usize).map(|generation| &generation.seals)
    }

    /// The keys with which a datagram of this number is to be opened, and its number among theirs.
    pub(crate) fn opening_keys(&mut self, counter: u64) -> Result<(&mut Generation, u64), Count> {
        let (generation, number) = split_counter(counter);
        // Its keys are overwritten: it is a copy, or later than `Renewal::late`.
        let place = generation.checked_sub(self.first).ok_or(Count::dropped_replayed)?;
        // Before a renewal that was not announced.
        let found = self.held.get_mut(place as usize).ok_or(Count::dropped_forged)?;
        // Asked before the seal is opened, which costs more; the number is entered afterwards, when it is known
        // to be genuine.
        if found.replay.is_new(number) { Ok((found, number)) } else { Err(Count::dropped_replayed) }
    }

    /// The keys of a datagram that was sent from here and came back, and its number among theirs.
    pub(crate) fn returning_keys(&mut self, counter: u64) -> Result<(&mut Generation, u64), Count> {
        let (generation, number) = split_counter(counter);
        // This endpoint has not sent it yet.
        if (generation, number) >= (self.sending, self.sent.into()) {
            return Err(Count::dropped_forged);
        }
        let place = generation.checked_sub(self.first).ok_or(Count::dropped_late)?;
        let found = self.held.get_mut(place as usize).ok_or(Count::dropped_late)?;
        if found.returned.is_new(number) { Ok((found, number)) } else { Err(Count::dropped_replayed) }
    }

    /// A datagram of this number was opened. `Some` when it is the first of a renewal: when those before are to be
    /// retired.
    pub(crate) fn note_opened(&mut self, now: Time, counter: u64, renewal: &Renewal) -> Option<Time> {
        let (generation, _) = split_counter(counter);
        // Late datagrams of the generation before change nothing.
        if generation <= self.heard {
            return None;
        }
        (self.heard, self.heard_since) = (generation, now);
        if self.sending < generation {
            self.begin_generation(now, generation)?;
        }
        // The generation right before stays for `late`; older ones were sent longer ago than that.
        while self.first + 1 < self.heard {
            self.held.pop_front();
            self.first += 1;
        }
        let at = now.saturating_add(renewal.late);
        self.retire_at = Some(at);
        Some(at)
    }

    /// Overwrites keys that are due to be.
    pub(crate) fn retire_keys(&mut self, now: Time) {
        if self.retire_at.is_none_or(|at| at > now) {
            return;
        }
        self.retire_at = None;
        while self.first < self.heard {
            self.held.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::{Cipher, agreed_chains};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    // Small enough that a few hundred datagrams cross many renewals.
    const RENEWAL: Renewal = Renewal { datagrams: 5, time: Time::ms(20), late: Time::ms(2) };

    /// A datagram on its way: a number, and a seal over nothing.
    type Sealed = (u64, [u8; 16]);

    fn both_ends() -> [Generations; 2] {
        let (one, other) = agreed_chains(Cipher::ChaCha20Poly1305, Cipher::ChaCha20Poly1305);
        [one, other].map(|chain| Generations::new(Time::ZERO, chain).expect("keys"))
    }

    fn seal_next(from: &mut Generations, now: Time) -> Sealed {
        let counter = from.next_number(now, &RENEWAL).expect("a number");
        let seals = from.sealing_keys(counter).expect("keys for it");
        (counter, seals.seal_payload(counter, b"header", &mut []).expect("sealed"))
    }

    /// Receives a datagram; true if it renewed the keys.
    fn open_sealed(to: &mut Generations, now: Time, (counter, mut tag): Sealed) -> Result<bool, Count> {
        let (generation, number) = to.opening_keys(counter)?;
        generation.seals.open_payload(counter, b"header", &mut tag).ok_or(Count::dropped_forged)?;
        generation.replay.insert(number);
        Ok(to.note_opened(now, counter, &RENEWAL).is_some())
    }

    fn generation_range(of: &Generations) -> (u32, u32) {
        assert!(of.first <= of.heard && of.heard <= of.sending && of.sending <= of.heard + 1);
        assert!(of.heard - of.first <= 1, "two generations are held back at most");
        assert_eq!(of.first as usize + of.held.len(), of.sending as usize + 2);
        (of.heard, of.sending)
    }

    proptest! {
        #![proptest_config(headway_testing::cases!(256))]

        /// Datagrams of two ends, each with the time since the last, its delay (less than is waited for), whether it is
        /// lost, and how often it is repeated: whatever comes is opened, once, and nothing that is in time is dropped.
        #[test]
        fn nothing_in_time_is_lost_over_renewals(
            steps in proptest::collection::vec(
                (any::<bool>(), 0u64..600, 0u64..1990, 0u8..10, 0u8..3), 1..300,
            ),
        ) {
            let mut ends = both_ends();
            let mut now = Time::ZERO;
            let (mut on_the_way, mut number) = (BTreeMap::new(), 0u32);
            for (second, pause, delay, loss, copies) in steps {
                let next = now + Time::us(pause);
                now = next;
                while let Some(((at, _), _)) = on_the_way.first_key_value()
                    && *at <= next
                {
                    let ((at, _), (end, sealed, copy)) = on_the_way.pop_first().expect("it is there");
                    let to: &mut Generations = &mut ends[end];
                    to.retire_keys(at);
                    let outcome = open_sealed(to, at, sealed);
                    prop_assert!(copy == (outcome == Err(Count::dropped_replayed)), "{:?}", outcome);
                    prop_assert!(copy || outcome.is_ok(), "{:?}", outcome);
                }
                let from = usize::from(second);
                ends[from].retire_keys(now);
                let sealed = seal_next(&mut ends[from], now);
                for copy in 0..copies {
                    // The first copy comes first.
                    let at = now + Time::us(delay + u64::from(copy) * 5);
                    if loss > 1 {
                        on_the_way.insert((at, number), (1 - from, sealed, copy > 0));
                        number += 1;
                    }
                }
                let [(_, one), (_, other)] = ends.each_ref().map(generation_range);
                prop_assert!(one.abs_diff(other) <= 1);
            }
        }
    }

    #[test]
    fn keys_are_renewed_by_number_by_time_and_no_sooner_than_late_ones_can_come() {
        let [mut one, mut other] = both_ends();
        let generation = |(counter, _): Sealed| counter >> 32;
        let at = Time::ms(5);
        let first: Vec<Sealed> = (0..5).map(|_| seal_next(&mut one, at)).collect();
        assert!(first.iter().all(|sealed| generation(*sealed) == 0));
        let renewed = seal_next(&mut one, at);
        assert_eq!(renewed.0, 1 << 32, "the sixth");
        for _ in 0..20 {
            assert_eq!(
                generation(seal_next(&mut one, at + Time::s(1))),
                1,
                "none before the peer has answered"
            );
        }
        // It comes before all that left before it, and all are opened.
        assert_eq!(open_sealed(&mut other, at, renewed), Ok(true));
        assert!(first.iter().all(|sealed| open_sealed(&mut other, at, *sealed) == Ok(false)));
        let answer = seal_next(&mut other, at);
        assert_eq!(generation(answer), 1, "who is told of it follows");
        assert_eq!(open_sealed(&mut one, at, answer), Ok(true));
        assert_eq!(generation(seal_next(&mut one, at)), 1);
        assert_eq!(generation(seal_next(&mut one, at + RENEWAL.late)), 2, "and then the next one may come");

        let [mut one, _] = both_ends();
        assert_eq!(generation(seal_next(&mut one, Time::ms(19))), 0);
        assert_eq!(generation(seal_next(&mut one, Time::ms(20))), 1, "its time is over");
    }

    #[test]
    fn both_may_begin_at_once() {
        let [mut one, mut other] = both_ends();
        let at = RENEWAL.time;
        let (there, back) = (seal_next(&mut one, at), seal_next(&mut other, at));
        assert_eq!((there.0, back.0), (1 << 32, 1 << 32));
        assert_eq!(open_sealed(&mut other, at, there), Ok(true));
        assert_eq!(open_sealed(&mut one, at, back), Ok(true));
        assert_eq!((generation_range(&one), generation_range(&other)), ((1, 1), (1, 1)));
    }

    #[test]
    fn what_comes_too_late_or_was_not_announced_makes_no_keys() {
        let [mut one, mut other] = both_ends();
        let old = seal_next(&mut one, Time::ZERO);
        let renewed = seal_next(&mut one, RENEWAL.time);
        assert_eq!(open_sealed(&mut other, RENEWAL.time, renewed), Ok(true));
        other.retire_keys(RENEWAL.time + RENEWAL.late);
        assert_eq!(open_sealed(&mut other, RENEWAL.time + RENEWAL.late, old), Err(Count::dropped_replayed));
        let held = other.held.len();
        // 2 would be the next one, for which keys are held already.
        for generation in [3, 4, 1000, u32::MAX] {
            let counter = u64::from(generation) << 32;
            assert_eq!(open_sealed(&mut other, RENEWAL.time, (counter, [0; 16])), Err(Count::dropped_forged));
        }
        // Keys that may come next cost no memory of their own, however often an attacker tries.
        for number in 0..100 {
            let counter = 2 << 32 | number;
            assert_eq!(open_sealed(&mut other, RENEWAL.time, (counter, [0; 16])), Err(Count::dropped_forged));
        }
        assert_eq!((other.held.len(), generation_range(&other)), (held, (1, 1)));
    }

    #[test]
    fn only_what_was_sent_comes_back() {
        let [mut one, _] = both_ends();
        let (first, _) = seal_next(&mut one, Time::ZERO);
        let (renewed, _) = seal_next(&mut one, RENEWAL.time);
        for counter in [first, renewed] {
            let (generation, number) = one.returning_keys(counter).expect("it was sent");
            generation.returned.insert(number);
            assert_eq!(one.returning_keys(counter).err(), Some(Count::dropped_replayed));
        }
        for counter in [renewed + 1, 2 << 32, u64::MAX] {
            assert_eq!(one.returning_keys(counter).err(), Some(Count::dropped_forged), "{counter}");
        }
    }

    #[test]
    fn numbers_end_before_they_are_those_of_another_generation() {
        let [mut one, _] = both_ends();
        // 2^32 datagrams are too many to send in a test.
        one.sent = u32::MAX - 1;
        let renewal = Renewal { datagrams: u32::MAX, time: Time::MAX, ..RENEWAL };
        assert_eq!(one.next_number(Time::ZERO, &renewal), Some(u64::from(u32::MAX) - 1));
        assert_eq!(one.next_number(Time::ZERO, &renewal), None);
        assert_eq!(one.next_number(Time::ZERO, &renewal), None);
    }

    /// Everything that an endpoint holds, tried on the datagrams that were sent: keys both ways, and those that follow.
    fn opens_any(state: &mut Generations, (counter, tag): Sealed) -> bool {
        let tried = |seals: &Seals| {
            let forwards = seals.open_payload(counter, b"header", &mut tag.clone()).is_some();
            forwards || seals.seal_payload(counter, b"header", &mut []).is_some_and(|made| made == tag)
        };
        let held = state.held.iter().any(|generation| tried(&generation.seals));
        held || (0..1000).any(|_| tried(&state.chain.next_seals().expect("keys")))
    }

    #[test]
    fn what_is_left_after_a_renewal_opens_nothing_of_before() {
        let renewed = || {
            let [mut one, mut other] = both_ends();
            let before = seal_next(&mut one, Time::ZERO);
            assert_eq!(open_sealed(&mut other, Time::ZERO, before), Ok(false));
            let at = RENEWAL.time;
            let (there, back) = (seal_next(&mut one, at), seal_next(&mut other, at));
            assert_eq!(
                (open_sealed(&mut other, at, there), open_sealed(&mut one, at, back)),
                (Ok(true), Ok(true))
            );
            ([one, other], before, there)
        };
        let (ends, before, _) = renewed();
        for mut end in ends {
            assert!(opens_any(&mut end, before), "while late datagrams may come");
        }
        let (ends, before, after) = renewed();
        for mut end in ends {
            end.retire_keys(RENEWAL.time + RENEWAL.late);
            assert!(!opens_any(&mut end, before), "then no more");
            let (ends, ..) = renewed();
            let [mut same, _] = ends;
            assert!(opens_any(&mut same, after), "what came after the renewal is not older than it");
        }
    }
}
