//! One message at its receiver: which packets have arrived, which tokens are out, what to ask for next.

use crate::index_window::IndexWindow;
use crate::timers::Timers;
use headway_packet::HostId;
use headway_units::Time;
use std::collections::VecDeque;

crate::state_machine! {
    /// A message at its receiver.
    "receiver message" pub(super) enum ReceiverState on ReceiverEvent {
        Announced { Data => Active, Overdue => Active, AllAsked => Asked, Last => Done }
        Active { Data => Active, Limit => Downgraded, AllAsked => Asked, Overdue => Active, Last => Done }
        Downgraded { Answered => Active, Forgiven => Active, AllAsked => Asked, Last => Done }
        Asked { Data => Asked, Overdue => Active, Last => Done }
        Done {}
    }
    events { Data, Limit, Answered, Forgiven, AllAsked, Overdue, Last }
}

/// Doublings of the wait for an answer at most.
const MAX_BACKOFF: u32 = 10;

/// Numbers fixed for a pair of hosts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// Unanswered tokens at which the source is downgraded.
    pub(super) limit: u32,
    /// Packets that fill the path.
    pub(super) bdp: u32,
    /// Wait for an answer before a packet gets another token.
    pub(super) resend: Time,
    /// The longest that it becomes.
    pub(super) longest: Time,
    /// Wait for a downgraded source.
    pub(super) downgrade: Time,
    /// Validity of a token at the source.
    pub(super) lifetime: Time,
    /// Round trip through empty queues.
    pub(super) rtt: Time,
    /// True if tokens are passed by later ones that were answered, as only expiring tokens are.
    pub(super) passing: bool,
    /// True if a downgraded source gets one token at a time until it answers.
    pub(super) one_token: bool,
}

/// A token that is out, or a free one.
#[derive(Clone, Copy, Debug)]
struct Authorisation {
    index: u32,
    /// Number of earlier tokens for the packet that were given up.
    attempt: u32,
    at: Time,
    open: bool,
}

/// End of each authorisation of a message: each counts in exactly one field.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Retired {
    /// Its packet arrived.
    used: u32,
    /// Its packet had arrived by other means, or later tokens were answered long ago.
    expired: u32,
    /// Given up; its packet gets another token.
    written_off: u32,
}

/// A message being received.
pub(super) struct Incoming {
    pub(super) peer: HostId,
    pub(super) id: u32,
    pub(super) tag: u32,
    pub(super) entropy: u32,
    pub(super) packets: u32,
    pub(super) message_bytes: u64,
    /// Order of announcement, for ties.
    pub(super) order: u64,
    pub(super) state: ReceiverState,
    pub(super) terms: Terms,
    received: IndexWindow,
    /// Authorisations in order of number; the first has number `first`, the next will have `issued`.
    authorised: VecDeque<Authorisation>,
    first: u32,
    issued: u32,
    /// Numbers below this are free tokens.
    free: u32,
    /// One more than the highest number that was answered.
    answered: u32,
    open: u32,
    retired: Retired,
    /// Next packet of this pass over the message, and the first that was never asked for.
    cursor: u32,
    fresh: u32,
    /// Packets given up one by one, and how often by now.
    lost: VecDeque<(u32, u32)>,
    /// Authorisations below this number are answered, given up or in `retry_deadlines`.
    checked: u32,
    /// Deadlines of authorisations for packets that were given up before, by number.
    retry_deadlines: Timers<u32>,
    /// Time at which the last token was issued, or the free packets should have left.
    pub(super) asked_at: Time,
    /// Start of the first pass over it, where that is not some time after `asked_at`.
    pub(super) first_pass: Option<Time>,
    /// Time of its last arrival.
    heard_at: Time,
    /// Passes over the message since a packet last arrived.
    fruitless: u32,
    /// Token slots of this message that wait for something to ask for.
    pub(super) slots: u32,
    /// Tokens issued for it beyond the free ones.
    given: u32,
    /// Slots that came from other messages, and that went on to others.
    pub(super) gifts: u32,
    released: u32,
    /// Slots lent to other messages while it was silent.
    lent: u32,
    /// True if its source answered nothing since it was last downgraded.
    pub(super) silent: bool,
    /// Deadline armed for it.
    pub(super) armed: Option<Time>,
    /// True if it is in its receiver's list of messages with packets to ask for.
    pub(super) listed: bool,
}

/// Contents of an announcement, or of a data packet in its place.
pub(super) struct Announced {
    pub(super) peer: HostId,
    pub(super) id: u32,
    pub(super) tag: u32,
    pub(super) entropy: u32,
    pub(super) packets: u32,
    pub(super) message_bytes: u64,
    /// Number of free tokens.
    pub(super) free: u32,
    /// True if the free packets were sent long ago.
    pub(super) again: bool,
    /// Time in which the free packets leave their source.
    pub(super) burst: Time,
}

impl Incoming {
    pub(super) fn new(a: Announced, terms: Terms, order: u64, now: Time) -> Incoming {
        let mut message = Incoming {
            peer: a.peer,
            id: a.id,
            tag: a.tag,
            entropy: a.entropy,
            packets: a.packets,
            message_bytes: a.message_bytes,
            order,
            state: ReceiverState::Announced,
            terms,
            received: IndexWindow::default(),
            authorised: VecDeque::with_capacity(a.free as usize),
            first: 0,
            issued: 0,
            free: 0,
            answered: 0,
            open: 0,
            retired: Retired::default(),
            cursor: 0,
            fresh: 0,
            lost: VecDeque::new(),
            checked: 0,
            retry_deadlines: Timers::default(),
            asked_at: now,
            first_pass: None,
            heard_at: now,
            fruitless: 0,
            slots: 0,
            given: 0,
            gifts: 0,
            released: 0,
            lent: 0,
            silent: false,
            armed: None,
            listed: false,
        };
        for index in 0..a.free {
            // 128 bits, because a duration times a count of packets may exceed 64.
            let left = Time((u128::from(a.burst.0) * u128::from(index + 1) / u128::from(a.free)) as u64);
            message.authorise_packet(index, 0, now.saturating_add(left));
        }
        (message.cursor, message.fresh, message.free) = (a.free, a.free, a.free);
        if a.again {
            message.write_off_all();
            // The free packets of a repeated announcement are not on their way: the first pass asks for them, too.
            message.cursor = 0;
        }
        message
    }

    /// Packets that have not arrived.
    pub(super) fn remaining_packets(&self) -> u32 {
        self.packets - self.received.len()
    }

    /// Authorisations that are out.
    pub(super) fn open_tokens(&self) -> u32 {
        self.open
    }

    /// pHost §3: tokens issued since the newest that was answered.
    pub(super) fn unanswered_tokens(&self) -> u32 {
        self.issued - self.answered
    }

    /// True if one more token would be more than the source may leave unanswered.
    pub(super) fn at_limit(&self) -> bool {
        self.unanswered_tokens() >= self.terms.limit
    }

    /// Takes in a packet; `None` when it was there already, else whether it was the last.
    pub(super) fn store_packet(&mut self, index: u32) -> Option<bool> {
        if !self.received.insert(index) {
            return None;
        }
        self.fruitless = 0;
        Some(self.received.len() == self.packets)
    }

    fn authorise_packet(&mut self, index: u32, attempt: u32, at: Time) {
        // First attempts are overdue in the order of their numbers, which `checked` follows; repetitions wait longer
        // each time.
        if attempt > 0 {
            let Terms { resend, longest, .. } = self.terms;
            let timeout = resend.saturating_mul(1 << attempt.min(MAX_BACKOFF)).min(longest.max(resend));
            self.retry_deadlines.arm_deadline(at.saturating_add(timeout), self.issued);
        }
        self.authorised.push_back(Authorisation { index, attempt, at, open: true });
        self.issued += 1;
        self.open += 1;
        self.asked_at = self.asked_at.max(at);
    }

    /// Retires the authorisation that a data packet used; returns true if one was open.
    ///
    /// A packet that comes by a token given up already retires the token that replaced it.
    pub(super) fn retire_answered(&mut self, now: Time, number: u32, index: u32) -> bool {
        self.heard_at = now;
        self.silent = false;
        let place = number.checked_sub(self.first).map(|n| n as usize);
        let named = place.filter(|&n| self.authorised.get(n).is_some_and(|a| a.open && a.index == index));
        let place = named.or_else(|| self.authorised.iter().position(|a| a.open && a.index == index));
        let number = place.map_or(number, |n| self.first + n as u32);
        // A number that was never issued comes from the wire, and answers nothing.
        if number < self.issued {
            self.answered = self.answered.max(number + 1);
        }
        if let Some(place) = place {
            self.authorised[place].open = false;
            self.open -= 1;
            self.retired.used += 1;
        }
        self.drop_front();
        // In the authors' simulator an answer wakes nothing: the message is looked at when its turn at the pacer
        // comes.
        if !self.terms.one_token {
            self.note_answer();
        }
        place.is_some()
    }

    /// A source that has answered enough is not downgraded any more.
    pub(super) fn note_answer(&mut self) {
        if self.state == ReceiverState::Downgraded && !self.at_limit() {
            self.state.step(ReceiverEvent::Answered);
        }
    }

    /// Forgets authorisations at the front that are retired or passed for good.
    fn drop_front(&mut self) {
        while let Some(front) = self.authorised.front() {
            let passed = self.terms.passing && self.first + self.terms.limit < self.answered;
            if front.open && !passed {
                break;
            }
            if front.open {
                // pHost §3: tokens expire at the source; so many later ones were answered that this one has.
                self.open -= 1;
                self.retired.expired += 1;
            }
            self.authorised.pop_front();
            self.first += 1;
        }
        debug_assert!(
            self.is_conserved(),
            "{:?} of {} issued, {} open",
            self.retired,
            self.issued,
            self.open
        );
    }

    fn is_conserved(&self) -> bool {
        let r = self.retired;
        r.used + r.expired + r.written_off + self.open == self.issued
    }

    /// Gives up every authorisation that is out, and forgives the source its unanswered tokens.
    fn write_off_all(&mut self) {
        self.retired.written_off += self.open;
        self.open = 0;
        self.authorised.clear();
        (self.first, self.checked) = (self.issued, self.issued);
        self.answered = self.issued;
        debug_assert!(self.is_conserved());
    }

    /// None of the free packets has come: tokens start without them.
    pub(super) fn start_without(&mut self) {
        self.write_off_all();
        self.state.step(ReceiverEvent::Overdue);
    }

    /// A new pass over the message: missing packets get tokens again.
    pub(super) fn next_pass(&mut self) {
        self.first_pass = None;
        if !self.terms.one_token {
            self.write_off_all();
        }
        self.cursor = 0;
        self.fruitless = (self.fruitless + 1).min(MAX_BACKOFF);
        self.state.step(ReceiverEvent::Overdue);
    }

    /// pHost §3: after the time-out a downgraded source gets a new window.
    pub(super) fn forgive_unanswered(&mut self) {
        if self.terms.one_token {
            // Room for exactly one token below the limit.
            self.answered = self.answered.max((self.issued + 1).saturating_sub(self.terms.limit));
            // A source that is gone answers none, and the list would grow for as long as the run lasts.
            self.drop_front();
            return self.state.step(ReceiverEvent::Forgiven);
        }
        if !self.terms.passing {
            // Tokens that were out are issued again, one for one, as repetitions: each has a deadline of its own.
            let open = self.authorised.iter().filter(|a| a.open).map(|a| (a.index, a.attempt.max(1)));
            self.lost.extend(open);
        }
        self.write_off_all();
        self.state.step(ReceiverEvent::Forgiven);
    }

    /// Time at which the source, downgraded, has been silent for long enough.
    pub(super) fn restored_at(&self) -> Time {
        let last = if self.terms.one_token { self.asked_at } else { self.asked_at.max(self.heard_at) };
        last.saturating_add(self.terms.downgrade)
    }

    /// Number of `slots` that may go on to other messages: those lent earlier are there already, and no more
    /// than it was given, or got from others.
    pub(super) fn release_slots(&mut self, slots: u32) -> u32 {
        let repaid = slots.min(self.lent);
        self.lent -= repaid;
        // A slot that it got became a token in most cases, which counts as given: the larger number has both.
        let count = (slots - repaid).min(self.given.max(self.gifts).saturating_sub(self.released));
        self.released += count;
        count
    }

    /// Number of its slots that others may borrow.
    pub(super) fn lend_slots(&mut self) -> u32 {
        let own = self.given.max(self.gifts).saturating_sub(self.released);
        let count = self.slots.min(own).saturating_sub(self.lent);
        self.lent += count;
        count
    }

    /// Gives up the authorisations whose packets should have arrived by now; returns their number.
    pub(super) fn give_up_overdue(&mut self, now: Time) -> u32 {
        let mut count = 0;
        while self.next_unanswered().is_some_and(|at| at <= now) {
            count += self.give_up(self.checked);
            self.checked += 1;
        }
        while let Some((_, number)) = self.retry_deadlines.pop_due(now) {
            count += self.give_up(number);
        }
        if count > 0 {
            self.state.step(ReceiverEvent::Overdue);
        }
        self.drop_front();
        count
    }

    /// Gives up one authorisation, unless it has retired; returns the number that this makes.
    fn give_up(&mut self, number: u32) -> u32 {
        if number < self.free {
            // Its source was never asked: a lost first window does not count as silence.
            self.answered = self.answered.max(number + 1);
        }
        let place = number.checked_sub(self.first).and_then(|n| self.authorised.get_mut(n as usize));
        let Some(overdue) = place.filter(|a| a.open) else { return 0 };
        // Left in its place, which follows from its number.
        overdue.open = false;
        self.open -= 1;
        if self.received.contains(overdue.index) {
            self.retired.expired += 1;
        } else {
            self.retired.written_off += 1;
            self.lost.push_back((overdue.index, overdue.attempt + 1));
        }
        1
    }

    /// Time at which the oldest authorisation for a packet asked for the first time is overdue.
    fn next_unanswered(&mut self) -> Option<Time> {
        // It only goes up, so that each authorisation is passed once.
        self.checked = self.checked.max(self.first);
        loop {
            let oldest = self.authorised.get((self.checked - self.first) as usize)?;
            if oldest.open && oldest.attempt == 0 {
                return Some(oldest.at.saturating_add(self.terms.resend));
            }
            self.checked += 1;
        }
    }

    /// Time at which an authorisation is overdue; early rather than late.
    pub(super) fn overdue_at(&mut self) -> Option<Time> {
        [self.next_unanswered(), self.retry_deadlines.next()].into_iter().flatten().min()
    }

    /// Wait after a pass over the message; doubles while nothing comes.
    pub(super) fn pass_timeout(&self) -> Time {
        self.terms.resend.saturating_mul(1 << self.fruitless)
    }

    /// The packet to ask for next. pHost §3: upward from the last one asked for, then the holes.
    pub(super) fn wanted_packet(&mut self) -> Option<u32> {
        while let Some(&(index, _)) = self.lost.front() {
            if !self.received.contains(index) {
                return Some(index);
            }
            self.lost.pop_front();
        }
        let index = self.received.next_missing(self.cursor);
        (index < self.packets).then_some(index)
    }

    /// Issues the next token for `index`, the packet [`Incoming::wanted_packet`]: its number, and true if the packet
    /// had a token before.
    pub(super) fn issue_token(&mut self, now: Time, index: u32) -> (u32, bool) {
        let attempt = match self.lost.front() {
            Some(&(lost, attempt)) if lost == index => {
                self.lost.pop_front();
                attempt
            }
            _ => {
                self.cursor = index + 1;
                0
            }
        };
        let again = index < self.fresh;
        self.fresh = self.fresh.max(index + 1);
        let number = self.issued;
        self.authorise_packet(index, attempt, now);
        self.given += 1;
        (number, again)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_message() -> Incoming {
        let terms = Terms {
            limit: 12,
            bdp: 10,
            resend: Time(100),
            longest: Time::MAX,
            downgrade: Time(300),
            lifetime: Time::MAX,
            rtt: Time(100),
            passing: false,
            one_token: false,
        };
        let announced = Announced {
            peer: HostId(1),
            id: 0,
            tag: 0,
            entropy: 0,
            packets: 500,
            message_bytes: 500 * 1460,
            free: 5,
            again: false,
            burst: Time(5),
        };
        Incoming::new(announced, terms, 1, Time::ZERO)
    }

    /// Answers packets `0..answers`, each with a new token.
    fn answer_packets(message: &mut Incoming, answers: u32) {
        for index in 0..answers {
            assert!(message.retire_answered(Time(10), index, index));
            assert_eq!(message.store_packet(index), Some(false));
            assert_eq!(message.wanted_packet(), Some(index + 5));
            assert_eq!(message.issue_token(Time(10), index + 5), (index + 5, false));
        }
    }

    #[test]
    fn what_was_lent_is_not_passed_on_again() {
        let mut m = test_message();
        answer_packets(&mut m, 50);
        m.slots = m.open_tokens();
        assert_eq!((m.slots, m.lend_slots()), (5, 5));
        assert_eq!(m.lend_slots(), 0, "lent already");
        m.forgive_unanswered();
        assert_eq!((m.open_tokens(), m.unanswered_tokens(), m.wanted_packet()), (0, 0, Some(50)));
        assert_eq!(m.release_slots(3), 0, "others have them");
        assert_eq!(m.release_slots(4), 2, "two more than were lent");
    }

    /// A receiver asks a source that is gone for as long as it lives, and takes no more memory for it.
    #[test]
    fn tokens_of_a_source_that_is_gone_are_forgotten_one_by_one() {
        let mut m = test_message();
        (m.terms.passing, m.terms.one_token) = (true, true);
        m.start_without();
        for number in 0..10_000 {
            let Some(index) = m.wanted_packet() else {
                m.state.step(ReceiverEvent::AllAsked);
                m.next_pass();
                continue;
            };
            m.issue_token(Time(number), index);
            if m.at_limit() {
                m.state.step(ReceiverEvent::Limit);
                m.forgive_unanswered();
            }
            assert!(m.authorised.len() <= 2 * m.terms.limit as usize + 1, "{number}: {}", m.authorised.len());
            assert!(m.is_conserved() && m.open as usize <= m.authorised.len());
        }
        assert!(m.issued > 9_000 && m.retired.expired > 9_000, "{:?}", m.retired);
    }

    #[test]
    fn no_more_is_passed_on_than_was_given() {
        let mut m = test_message();
        answer_packets(&mut m, 2);
        assert_eq!((m.release_slots(1), m.release_slots(5), m.release_slots(1)), (1, 1, 0));
        let mut free = test_message();
        assert_eq!(free.release_slots(5), 0);
    }

    #[test]
    fn every_authorisation_retires_once() {
        let mut m = test_message();
        answer_packets(&mut m, 3);
        // The free packets were to leave by 5 and the tokens left at 10; both wait 100.
        assert_eq!(m.give_up_overdue(Time(111)), 5, "two free ones and three tokens");
        assert_eq!((m.open_tokens(), m.wanted_packet()), (0, Some(3)));
        assert_eq!(m.issue_token(Time(111), 3), (8, true));
        assert!(m.retire_answered(Time(112), 3, 3), "late, by its first token: the second retires");
        assert!(!m.retire_answered(Time(113), 8, 3), "and is used up");
        let Retired { used, expired, written_off } = m.retired;
        assert_eq!((used, expired, written_off, m.open_tokens(), m.issued), (4, 0, 5, 0, 9));
    }
}
