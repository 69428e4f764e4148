//! Treatment of datagrams that the kernel refuses.
//!
//! A call asks the kernel for two things in addition to sending, and a kernel, an interface or a container's filter may
//! refuse either: to cut up rows of datagrams, and to write a type-of-service byte. So a refused call is tried again
//! with less: one datagram of its row, then without its byte. If it leaves, the feature it left without was the cause,
//! and is not asked for during a pause. The pause is short, because most refusals pass, and doubles each time it is
//! followed by another one, because some do not. A datagram that leaves in none of these ways counts as lost, with the
//! kernel's reason.

use crate::batch::{Batch, row_length};
use crate::error::Refusal;
use std::io;
use std::net::SocketAddr;

/// Pause after a first refusal, in nanoseconds, and after many.
const FIRST_PAUSE: u64 = 1_000_000;
const LONGEST_PAUSE: u64 = 60_000_000_000;

/// Extras that one call asks the kernel for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The kernel is to cut up rows.
    pub(crate) rows: bool,
    /// The kernel is to write type-of-service bytes.
    pub(crate) marks: bool,
    /// Only the first datagram is to be taken.
    pub(crate) alone: bool,
}

/// Interface that takes datagrams, and its clock.
pub(crate) trait Kernel {
    /// Takes datagrams from the front of the batch; returns their number.
    fn take_batch(&self, batch: &mut Batch, asked: Asked) -> io::Result<usize>;
    /// Nanoseconds of a monotonic clock.
    fn now_ns(&self) -> u64;
}

/// An extra that is requested unless it was refused lately.
#[derive(Clone, Copy, Debug, Default)]
struct Extra {
    /// The last refusal.
    refusal: Option<Refusal>,
    /// Time from which it is requested again.
    until: u64,
    pause: u64,
}

impl Extra {
    fn note_refusal(&mut self, now: u64, why: Refusal) {
        // Refused again within one more pause: the cause has not gone away, and the next pause is longer.
        let again = self.refusal.is_some() && now <= self.until.saturating_add(self.pause);
        self.pause = if again { self.pause.saturating_mul(2).min(LONGEST_PAUSE) } else { FIRST_PAUSE };
        self.until = now.saturating_add(self.pause);
        self.refusal = Some(why);
    }
}

/// Last answers of the kernel when it refused to send; `None` = it never did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// Datagrams, which were lost.
    pub sending: Option<Refusal>,
    /// Their type-of-service bytes: they left without.
    pub marks: Option<Refusal>,
    /// Refusal to cut up a row of datagrams: they left one by one.
    pub rows: Option<Refusal>,
}

impl Refused {
    /// Refusals that are new.
    pub(crate) fn new_since(self, before: Refused) -> Refused {
        let first = |now, before: Option<Refusal>| if before.is_none() { now } else { None };
        Refused {
            sending: first(self.sending, before.sending),
            marks: first(self.marks, before.marks),
            rows: first(self.rows, before.rows),
        }
    }

    /// Refusals in words, with their reasons.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Refusal)> + use<> {
        let what = [
            ("to send datagrams: they are lost", self.sending),
            ("type-of-service bytes: datagrams leave without, and no switch can mark them", self.marks),
            ("to cut up rows of datagrams: they leave one by one", self.rows),
        ];
        what.into_iter().filter_map(|(what, why)| Some((what, why?)))
    }
}

/// Outcome of a call.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Each datagram that is lost, and why; of those that left only that they did, and only if that is wanted.
    pub(crate) told: Vec<(SocketAddr, Option<Refusal>)>,
    /// Datagrams that left without their type-of-service byte.
    pub(crate) unmarked: u64,
    /// Rows that were refused, and left one by one.
    pub(crate) cut: u64,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Leaving {
    /// True if rows are wanted at all.
    in_rows: bool,
    rows: Extra,
    marks: Extra,
    /// The last refusal of a datagram.
    sending: Option<Refusal>,
}

/// Reaction to an error.
enum Next {
    GoOn,
    /// The kernel is out of room for datagrams.
    Wait,
}

impl Leaving {
    pub(crate) fn new(in_rows: bool) -> Leaving {
        Leaving { in_rows, rows: Extra::default(), marks: Extra::default(), sending: None }
    }

    /// Last refusals of the kernel.
    pub(crate) fn last_refusals(&self) -> Refused {
        Refused { sending: self.sending, marks: self.marks.refusal, rows: self.rows.refusal }
    }

    /// Sends the batch from the front; datagrams that the kernel has no room for stay, and those that it refuses are
    /// gone. The outcome lists those that left if that is `wanted`.
    pub(crate) fn send_batch(
        &mut self,
        kernel: &impl Kernel,
        batch: &mut Batch,
        wanted: bool,
    ) -> io::Result<Outcome> {
        let mut outcome = Outcome::default();
        while !batch.is_empty() {
            // Without a refusal the time does not matter.
            let paused = self.rows.until.max(self.marks.until) > 0;
            let now = if paused { kernel.now_ns() } else { 0 };
            let rows = self.in_rows && now >= self.rows.until;
            let asked = Asked { rows, marks: now >= self.marks.until, alone: false };
            match kernel.take_batch(batch, asked) {
                Ok(sent) => note_departed(batch, sent, asked, wanted, &mut outcome),
                Err(error) => match next_after(&error) {
                    Some(next) => match next? {
                        Next::GoOn => {}
                        Next::Wait => break,
                    },
                    None => match self.with_less(kernel, batch, (asked, wanted), error, &mut outcome)? {
                        Next::GoOn => {}
                        Next::Wait => break,
                    },
                },
            }
        }
        Ok(outcome)
    }

    /// The first datagram was refused: tries it alone, then without its byte, and gives it up after that.
    fn with_less(
        &mut self,
        kernel: &impl Kernel,
        batch: &mut Batch,
        (asked, wanted): (Asked, bool),
        error: io::Error,
        outcome: &mut Outcome,
    ) -> io::Result<Next> {
        let mut why = Refusal::from_error(&error);
        let Some((_, first)) = batch.waiting_datagrams().first() else { return Ok(Next::GoOn) };
        let (address, marked) = (first.address, asked.marks && first.tos != 0);
        let in_row = asked.rows && row_length(batch.waiting_datagrams()) > 1;
        // A queue that is full is full with less, too.
        let tries = [(in_row, asked.marks), (marked, false)].map(|(useful, marks)| {
            (useful && !why.is_about_room()).then_some(Asked { rows: false, marks, alone: true })
        });
        for (to_blame, less) in [&mut self.rows, &mut self.marks].into_iter().zip(tries) {
            let Some(less) = less else { continue };
            match kernel.take_batch(batch, less) {
                // It left with less, so what it left without is to blame, and with the last reason.
                Ok(_) => {
                    to_blame.note_refusal(kernel.now_ns(), why);
                    // Only the first try is the row's; the second leaves out the byte.
                    outcome.cut += u64::from(in_row && less.marks == asked.marks);
                    note_departed(batch, 1, less, wanted, outcome);
                    return Ok(Next::GoOn);
                }
                Err(error) => match next_after(&error) {
                    Some(next) => return next,
                    None => why = Refusal::from_error(&error),
                },
            }
        }
        self.sending = Some(why);
        // Told even if those that left are not wanted: a lost datagram is counted in any case.
        outcome.told.push((address, Some(why)));
        batch.drop_front(1);
        Ok(Next::GoOn)
    }
}

/// Reaction to an error that does not depend on the extras of the call.
fn next_after(error: &io::Error) -> Option<io::Result<Next>> {
    match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::WouldBlock, _) => Some(Ok(Next::Wait)),
        (io::ErrorKind::Interrupted, _) => Some(Ok(Next::GoOn)),
        // The socket itself is gone, which no smaller request mends.
        (_, Some(libc::EBADF | libc::ENOTSOCK)) => Some(Err(io::Error::from(error.kind()))),
        _ => None,
    }
}

/// Notes that the first `count` datagrams have left.
fn note_departed(batch: &mut Batch, count: usize, asked: Asked, wanted: bool, outcome: &mut Outcome) {
    let left = &batch.waiting_datagrams()[..count];
    if !asked.marks {
        outcome.unmarked += left.iter().filter(|(_, envelope)| envelope.tos != 0).count() as u64;
    }
    if wanted {
        outcome.told.extend(left.iter().map(|(_, envelope)| (envelope.address, None)));
    }
    batch.drop_front(count);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Envelope;
    use std::cell::{Cell, RefCell};

    /// A kernel with programmed refusals, and a clock that is set.
    struct Fake<F> {
        refuses: F,
        now: Cell<u64>,
        calls: Cell<usize>,
        /// Type-of-service bytes of what left, and how many left with it in a row.
        left: RefCell<Vec<(u8, usize)>>,
    }

    impl<F: Fn(Asked, &Envelope, usize) -> Option<i32>> Fake<F> {
        fn new(refuses: F) -> Fake<F> {
            Fake { refuses, now: Cell::new(1), calls: Cell::new(0), left: RefCell::default() }
        }

        /// Sends so many alike datagrams with this type-of-service byte.
        fn send_alike(&self, leaving: &mut Leaving, tos: u8, count: usize) -> Outcome {
            let mut batch = Batch::new(100);
            let address = SocketAddr::from(([10, 0, 0, 2], 7));
            for _ in 0..count {
                batch.push(Envelope { address, tos, length: 80, truncated: false, answer: false });
            }
            let outcome = leaving.send_batch(self, &mut batch, false).expect("no error of the socket");
            assert!(batch.is_empty());
            outcome
        }
    }

    impl<F: Fn(Asked, &Envelope, usize) -> Option<i32>> Kernel for Fake<F> {
        fn take_batch(&self, batch: &mut Batch, asked: Asked) -> io::Result<usize> {
            self.calls.set(self.calls.get() + 1);
            let (_, first) = batch.waiting_datagrams()[0];
            let taken = if asked.rows && !asked.alone { row_length(batch.waiting_datagrams()) } else { 1 };
            if let Some(errno) = (self.refuses)(asked, &first, taken) {
                return Err(io::Error::from_raw_os_error(errno));
            }
            self.left.borrow_mut().push((if asked.marks { first.tos } else { 0 }, taken));
            Ok(taken)
        }

        fn now_ns(&self) -> u64 {
            self.now.get()
        }
    }

    const MS: u64 = 1_000_000;

    #[test]
    fn bytes_of_type_of_service_that_are_refused_are_left_out_and_tried_again() {
        // Kernels and filters refuse the byte by different numbers.
        for errno in [libc::EINVAL, libc::EPERM, libc::EIO] {
            let refusing = Cell::new(true);
            let kernel = Fake::new(|asked: Asked, first: &Envelope, _| {
                (refusing.get() && asked.marks && first.tos != 0).then_some(errno)
            });
            let mut leaving = Leaving::new(true);
            // A datagram without a byte cannot be refused one.
            let outcome = kernel.send_alike(&mut leaving, 0, 3);
            assert_eq!((outcome.unmarked, leaving.last_refusals()), (0, Refused::default()));
            let outcome = kernel.send_alike(&mut leaving, 2, 5);
            assert_eq!((outcome.told.len(), outcome.unmarked, outcome.cut), (0, 5, 0));
            let expected = Refused { marks: Some(Refusal::from_raw(errno)), ..Refused::default() };
            assert_eq!(leaving.last_refusals(), expected);
            // A minute of a batch each millisecond: it is requested a few times.
            let mut asked_again = 0;
            for _ in 0..60_000 {
                kernel.now.set(kernel.now.get() + MS);
                let before = kernel.calls.get();
                assert_eq!(kernel.send_alike(&mut leaving, 2, 1).unmarked, 1);
                asked_again += usize::from(kernel.calls.get() > before + 1);
            }
            // 1 ms doubled up to a minute is 16 pauses.
            assert!((10..20).contains(&asked_again), "{asked_again}");
            // The refusal is over: within a minute bytes leave again.
            refusing.set(false);
            kernel.now.set(kernel.now.get() + LONGEST_PAUSE);
            kernel.left.borrow_mut().clear();
            assert_eq!(kernel.send_alike(&mut leaving, 2, 4).unmarked, 0);
            assert_eq!(*kernel.left.borrow(), [(2, 4)]);
        }
    }

    #[test]
    fn a_row_that_is_refused_once_leaves_one_by_one_and_the_next_is_a_row() {
        let refusing = Cell::new(1);
        let kernel =
            Fake::new(|_, _: &Envelope, taken| (taken > 1 && refusing.replace(0) == 1).then_some(libc::EIO));
        let mut leaving = Leaving::new(true);
        let outcome = kernel.send_alike(&mut leaving, 2, 6);
        assert_eq!((outcome.told.len(), outcome.unmarked, outcome.cut), (0, 0, 1));
        assert_eq!(*kernel.left.borrow(), [(2, 1); 6]);
        let expected = Refused { rows: Some(Refusal::from_raw(libc::EIO)), ..Refused::default() };
        assert_eq!(leaving.last_refusals(), expected);
        kernel.now.set(kernel.now.get() + FIRST_PAUSE);
        kernel.left.borrow_mut().clear();
        kernel.send_alike(&mut leaving, 2, 6);
        assert_eq!(*kernel.left.borrow(), [(2, 6)]);
    }

    #[test]
    fn of_a_row_with_bytes_only_what_is_refused_is_given_up() {
        let kernel = Fake::new(|asked: Asked, _: &Envelope, _| asked.marks.then_some(libc::EINVAL));
        let mut leaving = Leaving::new(true);
        let outcome = kernel.send_alike(&mut leaving, 2, 8);
        assert_eq!((outcome.unmarked, outcome.cut), (8, 0));
        // The first alone, the others in a row.
        assert_eq!(*kernel.left.borrow(), [(0, 1), (0, 7)]);
    }

    #[test]
    fn what_leaves_in_no_way_is_lost_with_the_reason_of_the_kernel() {
        for (errno, calls) in [(libc::EPERM, 3), (libc::ENETUNREACH, 3), (libc::ENOBUFS, 1)] {
            let kernel = Fake::new(|_, _: &Envelope, _| Some(errno));
            let mut leaving = Leaving::new(true);
            let outcome = kernel.send_alike(&mut leaving, 2, 2);
            let why = Some(Refusal::from_raw(errno));
            assert_eq!(outcome.told.iter().map(|(_, why)| *why).collect::<Vec<_>>(), [why; 2]);
            assert_eq!(leaving.last_refusals(), Refused { sending: why, ..Refused::default() });
            // The first is tried as the head of a row, alone, and without its byte; the second is alone anyway.
            assert_eq!(kernel.calls.get(), calls + calls.min(2));
            // A pause would cost features for a datagram that leaves in no way.
            assert!(leaving.rows.until == 0 && leaving.marks.until == 0, "neither is to blame");
        }
    }
}
