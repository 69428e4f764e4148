//! Random connections as they are recorded: acknowledgements, marks, losses and time-outs, step by step.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::fmt::Write;

/// Effect of a step on the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    New,
    Nothing,
    Grow,
    Mark,
    Loss,
    TimeOut,
}

/// One acknowledgement, or the beginning of a connection with a window of `acked`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub action: Action,
    /// First packet not acknowledged, and first one never sent.
    pub una: u32,
    pub next: u32,
    /// Packets that it acknowledges, and whether it echoes a mark.
    pub acked: u32,
    pub ece: bool,
    /// Smoothed round trip in microseconds.
    pub srtt: u32,
    /// The round trip that it measures, if any.
    pub rtt: Option<u32>,
    /// True if nothing was reduced or repaired when it came.
    pub open: bool,
    /// Microseconds since the connection began.
    pub now: u64,
}

/// A connection and its steps.
pub(crate) struct Sequence {
    pub packets: u32,
    pub steps: Vec<Step>,
}

pub(crate) const PAYLOAD: u64 = 1448;

/// Connection number `seed`. Its rates of marks, losses and time-outs are its own.
pub(crate) fn random_sequence(seed: u64, length: usize) -> Sequence {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut draw = |below: u32| random.next_u32() % below;
    // From never to always, in thousandths: DCTCP's share of marked packets has to reach both ends.
    let marks = [0, 1, 10, 100, 500, 1000][draw(6) as usize];
    let losses = [0, 0, 2, 20][draw(4) as usize];
    let initial = 1 + draw(40);
    let (srtt, length) = (50 + draw(5_000), length / 2 + draw(length as u32 / 2) as usize);
    let stretch = 1 + draw(4);
    let flight = initial + [4, 40, 400][draw(3) as usize];
    let mut steps = vec![Step {
        action: Action::New,
        una: 0,
        next: 0,
        acked: initial,
        ece: false,
        srtt,
        rtt: None,
        open: true,
        now: 0,
    }];
    let mut trips = Trips::new(seed, srtt);
    // Growth rests until what was sent before a reduction is acknowledged.
    let (mut una, mut next, mut point, mut lossy, mut now) = (0, flight, 0, false, 0);
    for _ in 0..length {
        let acked = (1 + draw(stretch)).min(next - una);
        una += acked;
        next += draw(2 * acked + 1);
        // Something is always under way, so that the window of data has an end.
        next = next.max(una + 1);
        now += u64::from(1 + draw(2 * srtt / flight + 2));
        let ece = draw(1000) < marks;
        let resting = una <= point;
        lossy &= resting;
        let action = match draw(1000) {
            chance if chance < losses && !lossy => Action::Loss,
            chance if chance == 999 && losses > 0 && !lossy => Action::TimeOut,
            _ if ece && !resting => Action::Mark,
            _ if !ece && !resting => Action::Grow,
            _ => Action::Nothing,
        };
        lossy |= matches!(action, Action::Loss | Action::TimeOut);
        if !matches!(action, Action::Grow | Action::Nothing) {
            point = next;
        }
        steps.push(Step { action, una, next, acked, ece, srtt, rtt: trips.draw_trip(), open: !resting, now });
    }
    Sequence { packets: una + 1 + draw(3 * una), steps }
}

/// Round trips over a queue that stays as it is for some time.
struct Trips {
    random: Pcg64Mcg,
    base: u32,
    queue: u32,
    /// Share of acknowledgements, in thousandths, that measure a round trip.
    measured: u32,
}

impl Trips {
    fn new(seed: u64, base: u32) -> Trips {
        // Another stream than that of the connection, which must not change with the round trips that are
        // drawn.
        let mut random = Pcg64Mcg::seed_from_u64(!seed);
        let measured = [1000, 900, 200][random.next_u32() as usize % 3];
        Trips { random, base, queue: 0, measured }
    }

    fn draw_trip(&mut self) -> Option<u32> {
        let mut below = |most: u32| self.random.next_u32() % most;
        if below(30) == 0 {
            let most = [1, 50, 10, 4, 1][below(5) as usize];
            self.queue = below(self.base / most + 1);
        }
        // The spread within a queue is a quarter of it, so that the least of a round is not simply the base.
        (below(1000) < self.measured).then(|| self.base + self.queue + below(self.queue / 4 + 2))
    }
}

/// A copy of the connection in which nothing is marked.
pub(crate) fn without_marks(mut sequence: Sequence) -> Sequence {
    for step in &mut sequence.steps {
        step.ece = false;
        if step.action == Action::Mark {
            step.action = Action::Grow;
        }
    }
    sequence
}

/// The sequence in the form that `replay.c` reads. Linux ends a window of data when all of it is acknowledged, the
/// machines of the lab when something sent after it is (RFC 8257 §3.3): handing over the last packet acknowledged
/// instead of the first one that is not turns one rule into the other.
pub(crate) fn sequence_text(sequence: &Sequence, deadline: u64) -> String {
    let mut text = String::new();
    let (mut delivered, mut marked) = (0u32, 0u32);
    for step in &sequence.steps {
        let letter = match step.action {
            Action::New => 'n',
            Action::Nothing => '-',
            Action::Grow => 'g',
            Action::Mark => 'm',
            Action::Loss => 'l',
            Action::TimeOut => 't',
        };
        if step.action != Action::New {
            delivered += step.acked;
            marked += if step.ece { step.acked } else { 0 };
        }
        let last = step.una.saturating_sub(1);
        let (left, time) = (sequence.packets - step.una, deadline.saturating_sub(step.now));
        let sent = u64::from(step.una) * PAYLOAD;
        let Step { una, next, acked, srtt, .. } = step;
        let (rtt, open) = (step.rtt.map_or(-1, i64::from), u32::from(step.open));
        writeln!(
            text,
            "{letter} {last} {next} {delivered} {marked} {acked} {sent} {left} {srtt} {time} {una} {rtt} {open}"
        )
        .expect("to a string");
    }
    text
}
