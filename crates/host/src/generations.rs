//! The keys of a session, which are renewed while it lasts.
//!
//! Keys are made in generations, each from a secret that the keys of the one before cannot be computed from
//! ([`Chain`]). A datagram's number says of which generation its keys are: the upper half of the 64 bits is the
//! generation, and the lower half counts the datagrams of it. So nothing else is said about a renewal, and a datagram
//! that arrives late or early opens by itself.
//!
//! Either end begins a new generation when one is due ([`Renewal`]), with the next datagram that it sends. The other end
//! follows when it opens that one, which answers: nobody begins another before the peer has been heard with this one. So
//! an end that seals with generation *n* has a peer that seals with *n* - 1, *n* or *n* + 1, however datagrams are lost or
//! reordered:
//!
//! ```text
//! first ..= heard - 1   from before the peer was heard with `heard`; kept for late datagrams, and then overwritten
//! heard                 the newest that the peer was heard with
//! sending               that, or the one after
//! sending + 1           what the peer may come with next
//! ```
//!
//! Nobody begins one sooner than [`Renewal::late`] after it began or heard of the one before. What is more than one
//! generation behind the newest is therefore later than that, as is what comes when the keys of before are gone.

use crate::config::Renewal;
use crate::counters::Count;
use crate::replay::ReplayWindow;
use crate::seal::{Chain, Seals};
use headway_units::Time;
use std::collections::VecDeque;

/// The keys of one generation, and which datagrams have been opened with them.
pub(crate) struct Generation {
    pub(crate) seals: Seals,
    pub(crate) replay: ReplayWindow,
    /// The same of headers that came back: of datagrams sent from here.
    pub(crate) returned: ReplayWindow,
}

/// See the module.
pub(crate) struct Generations {
    /// What the keys after the last of those that are held come from.
    chain: Chain,
    /// Consecutive ones from `first` to `sending + 1`, each in one place of memory.
    held: VecDeque<Box<Generation>>,
    first: u32,
    heard: u32,
    sending: u32,
    /// Datagrams sent with `sending`, and since when.
    sent: u32,
    since: Time,
    /// When those before `heard` are overwritten.
    retire_at: Option<Time>,
}

/// Generation of a datagram, and its number in that.
fn parts(counter: u64) -> (u32, u64) {
    ((counter >> 32) as u32, counter & u64::from(u32::MAX))
}

impl Generations {
    /// The first generation of a session.
    pub(crate) fn new(now: Time, chain: Chain) -> Option<Generations> {
        let mut made = Generations {
            chain,
            held: VecDeque::with_capacity(4),
            first: 0,
            heard: 0,
            sending: 0,
            sent: 0,
            since: now,
            retire_at: None,
        };
        made.hold()?;
        Some(made)
    }

    /// Makes keys up to what the peer may come with.
    fn hold(&mut self) -> Option<()> {
        while self.first as usize + self.held.len() <= self.sending as usize + 1 {
            let (replay, returned) = (ReplayWindow::default(), ReplayWindow::default());
            self.held.push_back(Box::new(Generation { seals: self.chain.step()?, replay, returned }));
        }
        Some(())
    }

    /// The number of a datagram that leaves now, which may be the first of a new generation. `None` when those of a
    /// generation are used up: that many have left, and the peer has answered none.
    pub(crate) fn number(&mut self, now: Time, renewal: &Renewal) -> Option<u64> {
        let due = self.sent >= renewal.datagrams || now >= self.since.saturating_add(renewal.time);
        if due && self.may_begin(now, renewal) {
            self.begin(now, self.sending + 1)?;
        }
        let number = u64::from(self.sending) << 32 | u64::from(self.sent);
        self.sent = self.sent.checked_add(1)?;
        Some(number)
    }

    fn may_begin(&self, now: Time, renewal: &Renewal) -> bool {
        let rested = now >= self.since.saturating_add(renewal.late);
        rested && self.heard == self.sending && self.sending < u32::MAX - 1
    }

    fn begin(&mut self, now: Time, generation: u32) -> Option<()> {
        (self.sending, self.sent, self.since) = (generation, 0, now);
        self.hold()
    }

    /// The keys for a number of [`Generations::number`].
    pub(crate) fn sealing(&self, counter: u64) -> Option<&Seals> {
        let place = parts(counter).0.checked_sub(self.first)?;
        self.held.get(place as usize).map(|generation| &generation.seals)
    }

    /// The keys with which a datagram of this number is to be opened, and its number among theirs.
    pub(crate) fn opening(&mut self, counter: u64) -> Result<(&mut Generation, u64), Count> {
        let (generation, number) = parts(counter);
        let place = generation.checked_sub(self.first).ok_or(Count::dropped_replayed)?;
        // Before a renewal that was not announced.
        let found = self.held.get_mut(place as usize).ok_or(Count::dropped_forged)?;
        if found.replay.is_new(number) { Ok((found, number)) } else { Err(Count::dropped_replayed) }
    }

    /// The keys of a datagram that was sent from here and came back, and its number among theirs.
    pub(crate) fn returning(&mut self, counter: u64) -> Result<(&mut Generation, u64), Count> {
        let (generation, number) = parts(counter);
        if (generation, number) >= (self.sending, self.sent.into()) {
            return Err(Count::dropped_forged);
        }
        let place = generation.checked_sub(self.first).ok_or(Count::dropped_late)?;
        let found = self.held.get_mut(place as usize).ok_or(Count::dropped_late)?;
        if found.returned.is_new(number) { Ok((found, number)) } else { Err(Count::dropped_replayed) }
    }

    /// A datagram of this number was opened. `Some` when it is the first of a renewal: when those before are to be
    /// retired.
    pub(crate) fn opened(&mut self, now: Time, counter: u64, renewal: &Renewal) -> Option<Time> {
        let (generation, _) = parts(counter);
        if generation <= self.heard {
            return None;
        }
        self.heard = generation;
        if self.sending < generation {
            self.begin(now, generation)?;
        }
        while self.first + 1 < self.heard {
            self.held.pop_front();
            self.first += 1;
        }
        let at = now.saturating_add(renewal.late);
        self.retire_at = Some(at);
        Some(at)
    }

    /// Overwrites what is due to be.
    pub(crate) fn retire(&mut self, now: Time) {
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
