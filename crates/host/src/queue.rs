//! Outcomes of messages, one after another, at a descriptor that `poll` and `epoll` take: for programs with a loop of
//! their own, in whatever language.
//!
//! The descriptor is one of `epoll` around two others: a counter that is written when something is there, and a timer for
//! the calls that wait for too long. It is readable until [`Queue::next`] has nothing more to give.

use crate::completion::{Completion, deadline_after};
use crate::core::{Purpose, SendOptions};
use crate::endpoint::{CallHandle, Endpoint, Inner, Received, SendHandle};
use crate::error::{BindError, CallError, RecvError, SendError};
use crate::stream::Body;
use bytes::Bytes;
use headway_units::Time;
use rustc_hash::FxHashMap;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};
use std::time::{Duration, Instant};

/// Something that [`Queue::next`] gives.
#[derive(Debug)]
pub enum Outcome {
    /// A message arrived that is not a reply.
    Message(Received),
    /// A message was acknowledged, or failed.
    Sent {
        /// Number that the application gave it.
        tag: u64,
        /// Time at which it was acknowledged, on the endpoint's clock.
        result: Result<Time, SendError>,
    },
    /// A call has its reply, or failed.
    Reply {
        /// Number that the application gave it.
        tag: u64,
        /// Host that was asked.
        peer: SocketAddr,
        /// Reply to the call.
        result: Result<Bytes, CallError>,
    },
}

/// Queue of the outcomes of an [`Endpoint`]'s messages.
///
/// ```
/// use headway_host::{Config, Endpoint, Outcome, Queue};
/// use std::os::fd::AsFd;
///
/// let server = Endpoint::bind("127.0.0.1:0", Config::default())?;
/// let client = Endpoint::bind("127.0.0.1:0", Config::default())?;
/// let (asked, asking) = (Queue::new(&server)?, Queue::new(&client)?);
/// asking.call(server.local_addr(), "stressed", 7, None)?;
/// let mut reply = None;
/// while reply.is_none() {
///     // A program with a loop of its own waits until a descriptor is readable: `asking.as_fd()`.
///     while let Some(outcome) = asked.next()? {
///         if let Outcome::Message(request) = outcome {
///             let bytes: Vec<u8> = request.bytes.iter().rev().copied().collect();
///             asked.reply(&request, bytes, 0)?;
///         }
///     }
///     while let Some(outcome) = asking.next()? {
///         if let Outcome::Reply { tag, result, .. } = outcome {
///             reply = Some((tag, result?));
///         }
///     }
/// }
/// assert_eq!(reply, Some((7, "desserts".into())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Queue {
    inner: Arc<Inner>,
    books: Mutex<Books>,
    bell: Arc<Bell>,
    /// Wakes for messages that arrive.
    arrivals: Waker,
    timer: OwnedFd,
    epoll: OwnedFd,
}

/// Messages and calls under way.
#[derive(Default)]
struct Books {
    next: u64,
    open: FxHashMap<u64, Open>,
    deadlines: BTreeSet<(Instant, u64)>,
    /// Time for which the timer is set.
    armed: Option<Instant>,
}

struct Open {
    tag: u64,
    what: Waited,
    deadline: Option<Instant>,
}

enum Waited {
    Send(SendHandle),
    Call(CallHandle),
}

/// Says that something is there.
struct Bell {
    /// Numbers of operations that are over, in order.
    over: Mutex<VecDeque<u64>>,
    /// True if the counter is above zero.
    rung: AtomicBool,
    counter: OwnedFd,
}

/// Rings for one message.
struct Ringer {
    bell: Arc<Bell>,
    /// `None` for messages that arrive.
    number: Option<u64>,
}

impl Wake for Ringer {
    fn wake(self: Arc<Self>) {
        if let Some(number) = self.number {
            // Before the bell: whoever hears it must find the number.
            lock_ignoring_poison(&self.bell.over).push_back(number);
        }
        self.bell.ring_bell();
    }
}

impl Bell {
    fn ring_bell(&self) {
        // One write is enough until it is read.
        if !self.rung.swap(true, SeqCst) {
            // A descriptor with a full counter is readable as well.
            let _ = rustix::io::write(&self.counter, &1u64.to_ne_bytes());
        }
    }

    /// Clears the notification; returns true if it was set.
    fn clear_bell(&self) -> bool {
        let rung = self.rung.load(SeqCst);
        if rung {
            // The counter is read before the flag is cleared. The other way round, a ring in between would set
            // the flag and lose its write to this read.
            let _ = rustix::io::read(&self.counter, &mut [0; 8]);
            self.rung.store(false, SeqCst);
        }
        rung
    }
}

fn lock_ignoring_poison<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Queue {
    /// A queue for operations that it begins, and for messages that arrive. While it is there, the endpoint's own
    /// thread drives.
    ///
    /// # Errors
    /// The operating system is out of descriptors; the endpoint belongs to another process.
    pub fn new(endpoint: &Endpoint) -> Result<Queue, BindError> {
        endpoint.check_process()?;
        let failed = |source| BindError::Io { what: "making a descriptor", source };
        Queue::from_inner(Arc::clone(endpoint.shared_inner())).map_err(failed)
    }

    fn from_inner(inner: Arc<Inner>) -> io::Result<Queue> {
        let counter = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &counter, EventData::new_u64(0), EventFlags::IN)?;
        epoll::add(&epoll, &timer, EventData::new_u64(1), EventFlags::IN)?;
        let bell = Arc::new(Bell { over: Mutex::default(), rung: AtomicBool::new(false), counter });
        let arrivals = Arc::new(Ringer { bell: Arc::clone(&bell), number: None }).into();
        inner.shared_state().begin_to_follow();
        // Messages that have arrived before are there: the first call finds them.
        bell.ring_bell();
        Ok(Queue { inner, books: Mutex::default(), bell, arrivals, timer, epoll })
    }

    /// Begins to send a message; `tag` names its outcome. The answer is for [`Queue::cancel`].
    pub fn send(&self, peer: SocketAddr, bytes: impl Into<Bytes>, tag: u64) -> Result<u64, SendError> {
        let body = Body::Whole(bytes.into());
        let handle = self.inner.submit_send(peer, body, SendOptions::default(), Purpose::Plain, None)?;
        Ok(self.open_entry(tag, Waited::Send(handle), None))
    }

    /// Begins a call, which waits for `longest` at most; `None` = [`crate::Config::call_timeout`].
    pub fn call(
        &self,
        peer: SocketAddr,
        request: impl Into<Bytes>,
        tag: u64,
        longest: Option<Duration>,
    ) -> Result<u64, SendError> {
        let until = deadline_after(longest.unwrap_or(self.inner.call_timeout()));
        let call = self.inner.start_call(peer, request.into(), false)?;
        Ok(self.open_entry(tag, Waited::Call(CallHandle(call)), until))
    }

    /// Begins to reply to a request; `tag` names its outcome.
    pub fn reply(&self, request: &Received, bytes: impl Into<Bytes>, tag: u64) -> Result<u64, SendError> {
        Ok(self.open_entry(tag, Waited::Send(request.reply(bytes)?), None))
    }

    /// Forgets something that is under way: its outcome is not reported. A call's reply is given up, and a message is
    /// sent all the same.
    pub fn cancel(&self, number: u64) {
        if self.inner.shared_state().check_owner().is_err() {
            return;
        }
        let open = {
            let mut books = lock_ignoring_poison(&self.books);
            let open = books.open.remove(&number);
            if let Some(at) = open.as_ref().and_then(|open| open.deadline) {
                books.deadlines.remove(&(at, number));
            }
            open
        };
        // A call that is dropped tells its endpoint, which may complete others.
        drop(open);
    }

    /// The next outcome or message, if one is there.
    ///
    /// # Errors
    /// [`RecvError::Closed`] when the endpoint is closed and there is nothing more; [`RecvError::Forked`] when it belongs to
    /// another process, whose events are not touched.
    pub fn next(&self) -> Result<Option<Outcome>, RecvError> {
        self.inner.shared_state().check_owner()?;
        loop {
            // Before calls that are late: a reply that has come counts, even if it was not fetched in
            // time.
            if let Some(outcome) = self.take_over() {
                return Ok(Some(outcome));
            }
            if let Some(outcome) = self.take_late() {
                return Ok(Some(outcome));
            }
            match self.inner.shared_state().inbox.poll_take(&self.arrivals) {
                Some(Ok(message)) => return Ok(Some(Outcome::Message(Received::new(message, &self.inner)))),
                Some(Err(closed)) if lock_ignoring_poison(&self.books).open.is_empty() => return Err(closed),
                // Requests that are open fail at once, and are returned next.
                Some(Err(_)) => {}
                None => {}
            }
            // A later notification means that the next call finds something.
            if !self.bell.clear_bell() {
                return Ok(None);
            }
        }
    }

    fn open_entry(&self, tag: u64, what: Waited, deadline: Option<Instant>) -> u64 {
        // The books are unlocked before the waker is set below, which rings at once if the outcome is there.
        let (number, again) = {
            let mut books = lock_ignoring_poison(&self.books);
            books.next += 1;
            let number = books.next;
            let again = match &what {
                Waited::Send(handle) => Again::Send(handle.completion.clone()),
                Waited::Call(call) => Again::Call(call.0.completion.clone()),
            };
            books.open.insert(number, Open { tag, what, deadline });
            if let Some(at) = deadline {
                books.deadlines.insert((at, number));
                // An earlier timer stays: `take_late` sets it for the next deadline when it expires.
                if books.armed.is_none_or(|armed| at < armed) {
                    self.arm_timer(&mut books, Some(at));
                }
            }
            (number, again)
        };
        let ringer = Arc::new(Ringer { bell: Arc::clone(&self.bell), number: Some(number) });
        // It may have ended before there was a waker to wake.
        if again.is_ready(&Waker::from(Arc::clone(&ringer))) {
            ringer.wake();
        }
        number
    }

    /// The next operation that is over.
    fn take_over(&self) -> Option<Outcome> {
        loop {
            let number = lock_ignoring_poison(&self.bell.over).pop_front()?;
            let open = {
                let mut books = lock_ignoring_poison(&self.books);
                let open = books.open.remove(&number);
                if let Some(at) = open.as_ref().and_then(|open| open.deadline) {
                    books.deadlines.remove(&(at, number));
                }
                open
            };
            // `None` of an operation that was cancelled, or whose time-out has been returned.
            if let Some(outcome) = open.and_then(|open| open.take_outcome()) {
                return Some(outcome);
            }
        }
    }

    /// The next call that has waited for too long.
    fn take_late(&self) -> Option<Outcome> {
        let mut books = lock_ignoring_poison(&self.books);
        let armed = books.armed?;
        #[allow(clippy::disallowed_methods, reason = "applications wait in real time")]
        let now = Instant::now();
        match books.deadlines.first().copied() {
            Some((at, number)) if at <= now => {
                books.deadlines.remove(&(at, number));
                let open = books.open.remove(&number)?;
                drop(books);
                match open.what {
                    Waited::Call(call) => {
                        let (tag, peer) = (open.tag, call.peer());
                        Some(Outcome::Reply { tag, peer, result: Err(CallError::TimedOut) })
                    }
                    // Messages end without a deadline of this queue.
                    Waited::Send(_) => None,
                }
            }
            first => {
                // A timer that has expired keeps the descriptor readable until it is set again or stopped.
                if armed <= now {
                    self.arm_timer(&mut books, first.map(|(at, _)| at));
                }
                None
            }
        }
    }

    /// Sets the timer, or stops it; either makes it unreadable.
    fn arm_timer(&self, books: &mut Books, at: Option<Instant>) {
        #[allow(clippy::disallowed_methods, reason = "applications wait in real time")]
        // 0 would stop the timer instead of letting it expire at once (timerfd_settime(2)).
        let left = |at: Instant| at.saturating_duration_since(Instant::now()).max(Duration::from_nanos(1));
        let left = at.map_or(Duration::ZERO, left);
        let once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let after = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let spec = Itimerspec { it_interval: once, it_value: after };
        // A timer that exists takes any time.
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &spec);
        books.armed = at;
    }
}

/// Completion that is polled once more.
enum Again {
    Send(Completion<Result<Time, SendError>>),
    Call(Completion<Result<Bytes, CallError>>),
}

impl Again {
    /// True if it is over; if not, `waker` is woken when it is.
    fn is_ready(&self, waker: &Waker) -> bool {
        match self {
            Again::Send(completion) => completion.is_ready(waker),
            Again::Call(completion) => completion.is_ready(waker),
        }
    }
}

impl Open {
    fn take_outcome(self) -> Option<Outcome> {
        let tag = self.tag;
        match self.what {
            Waited::Send(handle) => handle.try_wait().map(|result| Outcome::Sent { tag, result }),
            Waited::Call(call) => {
                let peer = call.peer();
                call.try_wait().map(|result| Outcome::Reply { tag, peer, result })
            }
        }
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.inner.shared_state().cease_to_follow();
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue")
            .field("open", &lock_ignoring_poison(&self.books).open.len())
            .finish_non_exhaustive()
    }
}
