//! The paths to one peer: pairs of an address of this endpoint and one of the peer's.
//!
//! A path has a number, its place in the list, which a packet's entropy names: machines that send over several paths
//! choose by it, and others take the one that their message was given. A path carries packets when its other end has answered a
//! challenge there, and another as long as the longest datagram, until no answer has come for a while. What is meant for one that
//! carries none takes the next that does, so that a subflow goes on by itself when its path dies, and goes back when it returns.

use headway_packet::paths::{CHALLENGE_BYTES, MOST_ADDRESSES};
use headway_units::Time;
use std::collections::VecDeque;
use std::net::SocketAddr;

/// Paths to a peer at most, those included that are being tried.
pub(super) const MOST_PATHS: usize = 16;
/// Challenges to an address from which none has been answered.
const PROVING_TRIES: u32 = 3;
/// Challenges of one length before it counts as too long for the path.
const SIZING_TRIES: u32 = 3;
/// A search for the longest datagram of a path ends within so many bytes.
const PRECISION: u16 = 16;
/// Of the challenges to a path that carries packets one in so many is as long as the longest datagram.
const FULL_EVERY: u64 = 4;
/// Challenges of one path that may still be answered.
const MOST_ASKED: usize = 8;
/// Shortest wait for an answer.
const LEAST_WAIT: Time = Time::ms(10);
/// Longest pause between challenges to a path that is dead, and between attempts at one whose datagrams are too short.
const LONGEST_PAUSE: Time = Time::s(1);

/// State of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathState {
    /// Its other end has not answered yet.
    Proving,
    /// The other end answers; that the path carries the longest datagrams has not been seen yet.
    Sizing,
    /// It carries packets.
    Open,
    /// The other end answers short datagrams only: packets, which are cut to one length, take other paths.
    Narrow,
    /// No answer has come for [`crate::Config::path_timeout`].
    Dead,
}

impl PathState {
    /// Its name, in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            PathState::Proving => "proving",
            PathState::Sizing => "sizing",
            PathState::Open => "open",
            PathState::Narrow => "narrow",
            PathState::Dead => "dead",
        }
    }
}

/// Counters of a path since it was planned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathCounts {
    /// Packets that left by it.
    pub packets_sent: u64,
    /// Their bytes, headers of IP and UDP not counted.
    pub bytes_sent: u64,
    /// Packets that arrived by it and were accepted.
    pub packets_received: u64,
    /// Their bytes, headers of IP and UDP not counted.
    pub bytes_received: u64,
    /// Challenges that left.
    pub challenges: u64,
    /// Answers to them.
    pub answers: u64,
    /// Times it was given up because no answer came, or because the kernel refused to send there.
    pub deaths: u64,
    /// Times it answered again after that.
    pub returns: u64,
}

/// A challenge that may be answered.
#[derive(Clone, Copy, Debug)]
struct Asked {
    number: u64,
    at: Time,
    bytes: u16,
}

/// One path.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) local: u8,
    pub(super) remote: SocketAddr,
    /// True if its other end has ever answered there.
    pub(super) proven: bool,
    alive: bool,
    asked: VecDeque<Asked>,
    /// Challenges in a row without an answer.
    missed: u32,
    /// Time at which the path needs its next step.
    due: Time,
    /// The last answer.
    heard: Time,
    /// Smoothed by an eighth, and the newest.
    srtt: Option<Time>,
    /// Longest datagram that is known to arrive, and shortest one that is taken not to.
    carries: u16,
    too_long: u16,
    /// Challenges as long as the longest datagram that left since the last answer to one, and when the last of them did.
    unanswered_full: u32,
    full_at: Time,
    /// Time at which the longest is tried again.
    retry: Time,
    pause: Time,
    pub(super) counts: PathCounts,
}

/// Next step for a path.
pub(super) enum Care {
    /// Nothing to do before the slot's `due` time.
    Wait,
    /// Send a challenge of so many bytes.
    Challenge(u16),
    /// The path has died.
    Died,
    /// Long datagrams do not arrive any more.
    Narrowed,
    /// Its other end never answered.
    Unproven,
}

/// Effect of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    None,
    /// The path carries packets from now on, for the first time or again.
    Opened,
}

/// Length and time-out against which a path is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aim {
    /// Bytes of the longest datagram.
    pub(super) longest: u16,
    /// See [`crate::Config::path_timeout`].
    pub(super) timeout: Time,
}

impl Slot {
    pub(super) fn new(now: Time, local: u8, remote: SocketAddr) -> Slot {
        Slot {
            local,
            remote,
            proven: false,
            alive: true,
            asked: VecDeque::new(),
            missed: 0,
            due: now,
            heard: now,
            srtt: None,
            carries: 0,
            too_long: u16::MAX,
            unanswered_full: 0,
            full_at: Time::ZERO,
            retry: now,
            pause: LEAST_WAIT,
            counts: PathCounts::default(),
        }
    }

    /// The path by which two endpoints have met. It carries packets until it is found not to.
    fn home_path(now: Time, local: u8, remote: SocketAddr, aim: Aim) -> Slot {
        // The MTU is part of the terms of the handshake, so full datagrams are taken to arrive until a
        // challenge shows otherwise.
        Slot { proven: true, carries: aim.longest, ..Slot::new(now, local, remote) }
    }

    pub(super) fn path_state(&self, aim: Aim) -> PathState {
        match () {
            () if !self.proven => PathState::Proving,
            // Before the lengths, which are those of before it died.
            () if !self.alive => PathState::Dead,
            () if self.carries >= aim.longest => PathState::Open,
            () if self.too_long <= aim.longest => PathState::Narrow,
            () => PathState::Sizing,
        }
    }

    fn is_usable(&self, aim: Aim) -> bool {
        self.path_state(aim) == PathState::Open
    }

    /// Its round trip, smoothed; `None` before the first answer.
    pub(super) fn round_trip(&self) -> Option<Time> {
        self.srtt
    }

    /// Longest datagram that is known to arrive; 0 before the first answer.
    pub(super) fn longest_carried(&self) -> u16 {
        self.carries
    }

    /// Time at which the path needs its next step.
    pub(super) fn next_due(&self) -> Time {
        self.due
    }

    /// Longest wait for an answer before another challenge leaves.
    fn answer_wait(&self, aim: Aim) -> Time {
        let known = self.srtt.map_or(LEAST_WAIT, |rtt| rtt.saturating_mul(3)).max(LEAST_WAIT);
        // At most a quarter of the time-out, so that several challenges are lost before a path counts as dead.
        known.saturating_mul(1 << self.missed.min(6)).min((aim.timeout / 4).max(LEAST_WAIT))
    }

    /// So long after the last answer it is dead.
    fn silence_limit(&self, aim: Aim) -> Time {
        // A path whose answers take longer than the time-out would otherwise die and return without end.
        aim.timeout.max(self.srtt.unwrap_or_default().saturating_mul(4))
    }

    /// Something is under way after a pause without challenges: the silence until now means nothing.
    pub(super) fn restart_silence(&mut self, now: Time) {
        self.heard = self.heard.max(now);
        // A search that is under way goes on: to clear its challenges would count their lengths as never tried.
        if !self.is_trying_lengths() {
            self.asked.clear();
            (self.missed, self.pause, self.due) = (0, LEAST_WAIT, now);
        }
    }

    /// Next step for the path at this time.
    pub(super) fn next_step(&mut self, now: Time, aim: Aim) -> Care {
        if now < self.due {
            return Care::Wait;
        }
        // Each wait that passes with a challenge outstanding counts once, however many are outstanding.
        self.missed += u32::from(!self.asked.is_empty());
        if !self.proven {
            return if self.missed >= PROVING_TRIES {
                Care::Unproven
            } else {
                Care::Challenge(CHALLENGE_BYTES as u16)
            };
        }
        let state = self.path_state(aim);
        // While lengths are tried, what is not answered may have been too long.
        let trying = state == PathState::Sizing || (state == PathState::Narrow && self.is_searching());
        // A path that was not asked has not been silent.
        let silent = self.missed > 0 && now >= self.heard.saturating_add(self.silence_limit(aim));
        if self.alive && silent && !trying {
            self.mark_dead(now);
            return Care::Died;
        }
        match state {
            PathState::Sizing => Care::Challenge(self.next_length(aim)),
            PathState::Narrow if trying => Care::Challenge(self.next_length(aim)),
            PathState::Narrow if now >= self.retry => {
                // The network may have changed: the longest is tried first again, and then the search.
                self.too_long = u16::MAX;
                self.missed = 0;
                Care::Challenge(aim.longest)
            }
            // Short challenges were answered after the last full one left: the path lives, and only full
            // datagrams are lost.
            PathState::Open if self.unanswered_full >= SIZING_TRIES && self.heard > self.full_at => {
                (self.carries, self.too_long) = (CHALLENGE_BYTES as u16, aim.longest);
                (self.unanswered_full, self.missed) = (0, 0);
                Care::Narrowed
            }
            PathState::Open => {
                // Mostly short ones, which take little of a link.
                // After one full challenge without an answer the next come sooner, to tell loss from a smaller
                // MTU.
                let every = if self.unanswered_full > 0 { 2 } else { FULL_EVERY };
                let full = self.counts.challenges.is_multiple_of(every);
                Care::Challenge(if full { aim.longest } else { CHALLENGE_BYTES as u16 })
            }
            PathState::Narrow | PathState::Dead | PathState::Proving => {
                Care::Challenge(CHALLENGE_BYTES as u16)
            }
        }
    }

    fn is_searching(&self) -> bool {
        self.too_long - self.carries > PRECISION
    }

    /// True if a search for the longest datagram is under way that has an upper end.
    fn is_trying_lengths(&self) -> bool {
        self.too_long < u16::MAX && self.is_searching()
    }

    /// Length of a challenge that narrows the search down.
    fn next_length(&mut self, aim: Aim) -> u16 {
        let length = |slot: &Slot| match slot.too_long {
            // No upper end is known yet. The longest is tried first, because most paths carry it.
            u16::MAX => aim.longest,
            too_long => slot.carries + (too_long - slot.carries) / 2,
        };
        if self.missed >= SIZING_TRIES {
            // A short one was answered since: the length is to blame.
            self.too_long = length(self);
            self.missed = 0;
            if !self.is_searching() {
                self.retry = self.due.saturating_add(LONGEST_PAUSE);
            }
        }
        length(self)
    }

    /// Notes that a challenge leaves.
    pub(super) fn note_challenge(&mut self, now: Time, number: u64, bytes: u16, aim: Aim) {
        // The oldest has waited longest, and its answer is the least likely to come.
        if self.asked.len() == MOST_ASKED {
            self.asked.pop_front();
        }
        self.asked.push_back(Asked { number, at: now, bytes });
        self.counts.challenges += 1;
        if bytes >= aim.longest {
            (self.unanswered_full, self.full_at) = (self.unanswered_full + 1, now);
        }
        let settled = self.missed == 0 && matches!(self.path_state(aim), PathState::Open | PathState::Narrow);
        let pause = match () {
            () if self.proven && !self.alive => {
                // A dead path is asked less and less often, but for ever: it is taken back when it answers.
                self.pause = self.pause.saturating_mul(2).min(LONGEST_PAUSE);
                self.pause
            }
            () if settled && !(self.path_state(aim) == PathState::Narrow && self.is_searching()) => {
                aim.timeout / 4
            }
            () => self.answer_wait(aim),
        };
        // Never at once, or `look_after_paths` would not come to an end.
        self.due = now.saturating_add(pause.max(Time::us(1)));
    }

    /// An answer has come. `None` when it is to nothing that was asked.
    pub(super) fn note_answer(&mut self, now: Time, number: u64, bytes: u64, aim: Aim) -> Option<News> {
        let place = self.asked.iter().position(|asked| asked.number == number)?;
        let asked = self.asked[place];
        let before = self.path_state(aim);
        // Those before it were overtaken, or are lost.
        self.asked.drain(..=place);
        // Exact even after repetitions, because each challenge has a number of its own.
        let rtt = now.saturating_sub(asked.at);
        // The gain of RFC 6298, section 2.
        self.srtt = Some(self.srtt.map_or(rtt, |old| Time(old.0 - old.0 / 8 + rtt.0 / 8)));
        (self.heard, self.missed, self.proven) = (now, 0, true);
        self.counts.answers += 1;
        if !self.alive {
            // The route may be another one now, so the length that it carries has to be found again.
            (self.carries, self.too_long) = (0, u16::MAX);
            self.counts.returns += 1;
        }
        (self.alive, self.pause) = (true, LEAST_WAIT);
        if asked.bytes >= aim.longest {
            self.unanswered_full = 0;
        }
        // The peer says how long the challenge was when it arrived: one that was cut short on the way proves
        // nothing.
        if bytes == u64::from(asked.bytes) && asked.bytes > self.carries {
            self.carries = asked.bytes;
            // A length that was thought too long has arrived after all, so the upper end means nothing.
            self.too_long = if asked.bytes >= self.too_long { u16::MAX } else { self.too_long };
        }
        let after = self.path_state(aim);
        let more = match after {
            PathState::Sizing => true,
            PathState::Narrow => self.is_searching(),
            _ => false,
        };
        // The search goes on at once; a path that is settled has a pause.
        self.due = if more { now } else { now.saturating_add(aim.timeout / 4) };
        Some(if before != PathState::Open && after == PathState::Open { News::Opened } else { News::None })
    }

    /// No answer comes any more.
    pub(super) fn mark_dead(&mut self, now: Time) {
        self.alive = false;
        self.counts.deaths += 1;
        self.asked.clear();
        (self.missed, self.pause, self.due) = (0, LEAST_WAIT, now);
    }

    /// True if it is on the way to a state that lasts.
    pub(super) fn ends_by_itself(&self, aim: Aim) -> bool {
        match self.path_state(aim) {
            PathState::Proving | PathState::Sizing => true,
            PathState::Narrow => self.is_searching(),
            PathState::Open | PathState::Dead => false,
        }
    }

    pub(super) fn is_alive(&self) -> bool {
        self.alive
    }

    pub(super) fn has_ends(&self, local: u8, remote: SocketAddr) -> bool {
        (self.local, self.remote) == (local, remote)
    }
}

/// The paths to a peer, of which one end or both have several addresses.
pub(super) struct Paths {
    pub(super) slots: Vec<Slot>,
    /// Pairs of which no challenge was answered. They are tried again when there is news of the peer's addresses.
    pub(super) unproven: Vec<(u8, SocketAddr)>,
    /// The peer's addresses, as it last said, and the number of that list.
    pub(super) theirs: Vec<SocketAddr>,
    pub(super) their_number: u64,
    /// True if the peer still has the address where it was met.
    pub(super) home: bool,
    /// The number of the last list of this endpoint that the peer is known to have.
    pub(super) known_to_peer: u64,
    /// Lists sent without an answer, and when the next is due.
    pub(super) said: u32,
    pub(super) say_at: Option<Time>,
    /// Bytes that may go to addresses that have not been proven: three times what came from the peer about them.
    pub(super) allowance: u64,
    /// Time at which the allowance for lists of the peer is whole again.
    pub(super) lists_until: Time,
    /// The deadline for all this that is armed.
    pub(super) armed: Option<Time>,
    /// True if messages are under way, or were until lately, so that paths that carry packets are watched.
    pub(super) is_watched: bool,
    /// Since when nothing has been under way.
    pub(super) quiet_since: Option<Time>,
    pub(super) aim: Aim,
    /// The path that the last message began on.
    turn: usize,
}

impl Paths {
    pub(super) fn new(now: Time, local: u8, home: SocketAddr, aim: Aim) -> Paths {
        Paths {
            slots: vec![Slot::home_path(now, local, home, aim)],
            unproven: Vec::new(),
            theirs: vec![home],
            their_number: 0,
            home: true,
            known_to_peer: 0,
            said: 0,
            say_at: None,
            allowance: 0,
            lists_until: Time::ZERO,
            armed: None,
            is_watched: false,
            quiet_since: None,
            aim,
            turn: 0,
        }
    }

    /// Notes whether something is under way. Between messages that follow each other soon, paths are watched all the same: one that
    /// dies there would otherwise be asked again with each of them.
    pub(super) fn note_work(&mut self, now: Time, busy: bool) {
        if busy {
            self.quiet_since = None;
            return;
        }
        let since = *self.quiet_since.get_or_insert(now);
        // Only ever cleared here: `watch_paths` sets it when a message begins.
        self.is_watched &= now < since.saturating_add(self.aim.timeout);
    }

    /// True if the peer's addresses are known.
    pub(super) fn is_told(&self) -> bool {
        self.their_number > 0
    }

    /// The number of a path; `None` for a pair of addresses that is not a path.
    pub(super) fn number_of(&self, local: u8, remote: SocketAddr) -> Option<usize> {
        self.slots.iter().position(|slot| slot.has_ends(local, remote))
    }

    /// True if the peer has named this address, or was met there.
    pub(super) fn has_said(&self, remote: SocketAddr) -> bool {
        self.theirs.contains(&remote) || self.slots.iter().any(|slot| slot.remote == remote)
    }

    /// The path that takes a packet with this entropy.
    pub(super) fn path_of(&self, entropy: u32) -> usize {
        let count = self.slots.len();
        let first = entropy as usize % count.max(1);
        let tried = (0..count).map(|step| (first + step) % count);
        let usable = tried.clone().find(|&number| self.slots[number].is_usable(self.aim));
        // None carries full packets: one that answers at all, or the first.
        let live = || tried.clone().find(|&n| self.slots[n].proven && self.slots[n].alive);
        // Sent all the same where no path is proven alive: the machine's time-outs count the loss.
        usable.or_else(live).unwrap_or(0)
    }

    /// The path that the next message begins on: each in turn of those that are about as fast as the fastest.
    pub(super) fn next_path(&mut self) -> u32 {
        let aim = self.aim;
        let rtt = |slot: &Slot| slot.srtt.unwrap_or_default();
        let usable = |slot: &&Slot| slot.is_usable(aim);
        let fastest = self.slots.iter().filter(usable).map(rtt).filter(|rtt| *rtt > Time::ZERO).min();
        // Round trips below 200 us (`clock::LATE`) differ by when threads wake up, not by their paths.
        let limit = fastest.unwrap_or_default().saturating_mul(2).max(Time::us(200));
        let count = self.slots.len();
        let next = (1..=count).map(|step| (self.turn + step) % count);
        let good = |&number: &usize| self.slots[number].is_usable(aim) && rtt(&self.slots[number]) <= limit;
        self.turn = next.clone().find(good).unwrap_or(self.turn % count.max(1));
        self.turn as u32
    }

    /// A pair to try: one that has an address in it, of this endpoint or of the peer, that no other path has.
    pub(super) fn next_candidate(&self, locals: &[u8]) -> Option<(u8, SocketAddr)> {
        let (ours, theirs) = (locals.len(), self.theirs.len());
        if ours == 0 || theirs == 0 || self.slots.len() >= MOST_PATHS {
            return None;
        }
        // As many as the end with more addresses has: each of them gets a path, and all pairs would cross the
        // same links several times.
        let most = ours.max(theirs).min(MOST_ADDRESSES);
        let pairs = (0..most)
            // First the pairs of equal place (`shift` 0), as in two networks side by side; the others only
            // where those were not proven.
            .flat_map(|shift| (0..most).map(move |k| (k, k + shift)))
            .map(|(k, l)| (locals[k % ours], self.theirs[l % theirs]));
        pairs.into_iter().find(|&(local, remote)| {
            // A pair whose addresses both have paths adds no link, only more subflows on the same ones.
            let new = !self.slots.iter().any(|slot| slot.local == local)
                || !self.slots.iter().any(|slot| slot.remote == remote);
            let known = self.slots.iter().any(|slot| slot.has_ends(local, remote));
            new && !known && !self.unproven.contains(&(local, remote))
        })
    }

    /// Time of the next step, if one is due: for paths that are not watched, only steps that come to an end by themselves.
    pub(super) fn next_due(&self) -> Option<Time> {
        let wanted = |slot: &&Slot| self.is_watched || slot.ends_by_itself(self.aim);
        // A single path is not watched, so its time would be due for ever.
        let slots = self.slots.iter().filter(|_| self.slots.len() > 1).filter(wanted).map(Slot::next_due);
        slots.chain(self.say_at).min()
    }

    /// Number of paths for a machine. While the peer has not said its addresses, there will be one for each
    /// of this endpoint's.
    pub(super) fn path_count(&self, own: usize) -> u32 {
        let waits = !self.is_told() && self.say_at.is_some();
        self.slots.len().max(if waits { own } else { 1 }) as u32
    }
}
