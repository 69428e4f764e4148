//! The thread around the core: socket, clock, and the applications' commands.
//!
//! It blocks in `ppoll` whenever there is nothing to do, and never spins. On waking, what was waiting for the
//! wire leaves before anything new is taken in: so the link's departure clock sees what was there, however
//! late the thread is.

use crate::completion::Completion;
use crate::config::Observer;
use crate::core::{Arrived, Command, Core, CoreEvent, Measured, Purpose};
use crate::counters::{Count, Counters};
use crate::error::{CallError, RecvError, SendError};
use crate::udp::{Batch, Envelope, Socket, monotonic_ns};
use bytes::Bytes;
use headway_packet::Ecn;
use headway_units::Time;
use rustc_hash::FxHashMap;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::OwnedFd;
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddrV4;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Instant;

/// What a send ends with: when it was acknowledged, on the endpoint's clock.
pub(crate) type SendOutcome = Result<Time, SendError>;
/// What a call ends with.
pub(crate) type CallOutcome = Result<Bytes, CallError>;

/// Who waits for what becomes of a message.
pub(crate) enum Waiting {
    Send(Completion<SendOutcome>),
    /// The reply with this number.
    Call(u64, Completion<CallOutcome>),
}

/// What applications ask of the thread.
pub(crate) enum Request {
    Send(Command, Waiting),
    /// Nobody waits for the reply with this number any more.
    Abandon(SocketAddrV4, u64),
    /// What the machine measured of itself; nothing from an endpoint that is closed.
    Measure(Completion<Option<Measured>>),
}

impl Request {
    /// The endpoint is closed.
    fn refuse(self) {
        match self {
            Request::Send(_, waiting) => waiting.fail(SendError::Closed),
            Request::Abandon(..) => {}
            Request::Measure(completion) => completion.complete(None),
        }
    }
}

/// Messages that have arrived, until the application takes them.
#[derive(Default)]
struct Inbox {
    messages: VecDeque<Arrived>,
    wakers: Vec<Waker>,
    closed: bool,
}

/// What the thread and the applications share.
pub(crate) struct Shared {
    requests: Mutex<Vec<Request>>,
    wake: OwnedFd,
    /// Whether the thread has been told to look.
    told: AtomicBool,
    stop: AtomicBool,
    inbox: Mutex<Inbox>,
    arrived: Condvar,
    pub(crate) counters: Arc<Counters>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    pub(crate) fn new(counters: Arc<Counters>) -> io::Result<Shared> {
        Ok(Shared {
            requests: Mutex::default(),
            wake: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
            told: AtomicBool::new(false),
            stop: AtomicBool::new(false),
            inbox: Mutex::default(),
            arrived: Condvar::new(),
            counters,
        })
    }

    pub(crate) fn ask(&self, request: Request) {
        let mut requests = locked(&self.requests);
        if self.stop.load(Ordering::Acquire) {
            drop(requests);
            return request.refuse();
        }
        requests.push(request);
        drop(requests);
        self.tell();
    }

    fn tell(&self) {
        if !self.told.swap(true, Ordering::AcqRel) {
            // An eventfd whose counter is full wakes as well.
            let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
        }
    }

    pub(crate) fn close(&self) {
        self.stop.store(true, Ordering::Release);
        self.tell();
    }

    /// The next message; waits for it until `deadline`, or for ever.
    pub(crate) fn receive(&self, deadline: Option<Instant>) -> Result<Arrived, RecvError> {
        let mut inbox = locked(&self.inbox);
        loop {
            if let Some(message) = inbox.messages.pop_front() {
                return Ok(message);
            }
            if inbox.closed {
                return Err(RecvError::Closed);
            }
            inbox = match deadline {
                None => self.arrived.wait(inbox).unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = crate::completion::time_left(deadline).ok_or(RecvError::TimedOut)?;
                    self.arrived.wait_timeout(inbox, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// The next message if it is there; otherwise `waker` is woken when one comes.
    #[cfg_attr(not(feature = "tokio"), allow(dead_code, reason = "for the asynchronous twin"))]
    pub(crate) fn poll_receive(&self, waker: &Waker) -> Option<Result<Arrived, RecvError>> {
        let mut inbox = locked(&self.inbox);
        match inbox.messages.pop_front() {
            Some(message) => Some(Ok(message)),
            None if inbox.closed => Some(Err(RecvError::Closed)),
            None => {
                if !inbox.wakers.iter().any(|other| other.will_wake(waker)) {
                    inbox.wakers.push(waker.clone());
                }
                None
            }
        }
    }

    fn deliver(&self, message: Arrived) {
        let mut inbox = locked(&self.inbox);
        inbox.messages.push_back(message);
        inbox.wakers.drain(..).for_each(Waker::wake);
        self.arrived.notify_one();
    }

    fn close_inbox(&self) {
        let mut inbox = locked(&self.inbox);
        inbox.closed = true;
        inbox.wakers.drain(..).for_each(Waker::wake);
        self.arrived.notify_all();
    }
}

impl Waiting {
    fn fail(self, error: SendError) {
        match self {
            Waiting::Send(completion) => completion.complete(Err(error)),
            Waiting::Call(_, completion) => completion.complete(Err(error.into())),
        }
    }
}

/// The thread's own state.
pub(crate) struct Driver {
    core: Core,
    socket: Socket,
    shared: Arc<Shared>,
    observer: Option<Observer>,
    origin_ns: u64,
    waiting: FxHashMap<u64, (SocketAddrV4, Waiting)>,
    /// Requests that were acknowledged, or not yet, and have no reply.
    calls: FxHashMap<(SocketAddrV4, u64), Completion<CallOutcome>>,
    received: Batch,
    sending: Batch,
}

impl Driver {
    pub(crate) fn new(
        core: Core,
        socket: Socket,
        shared: Arc<Shared>,
        observer: Option<Observer>,
        origin_ns: u64,
    ) -> Driver {
        let each = core.datagram_bytes();
        let (waiting, calls) = (FxHashMap::default(), FxHashMap::default());
        let received = if socket.has_rows() { Batch::for_rows(each) } else { Batch::new(each) };
        let sending = Batch::new(each);
        Driver { core, socket, shared, observer, origin_ns, waiting, calls, received, sending }
    }

    /// Runs until the endpoint is closed or its socket fails.
    pub(crate) fn run(mut self) {
        // The default slack of 50 us would be added to every wait.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        while !self.shared.stop.load(Ordering::Acquire) {
            if self.turn().is_err() {
                break;
            }
        }
    }

    fn now(&self) -> Time {
        Time::ns(monotonic_ns().saturating_sub(self.origin_ns))
    }

    fn turn(&mut self) -> io::Result<()> {
        let now = self.now();
        self.transmit(now)?;
        self.socket.receive(&mut self.received)?;
        // One instant for everything until the answers have left: a permission that is valid for less than
        // this thread takes to act on it must not be too old because of that alone.
        let now = self.now();
        let busy = self.take_in(now) | self.take_requests(now);
        if self.core.next_timeout().is_some_and(|at| at <= now) {
            self.core.timeout(now);
        }
        self.settle();
        self.transmit(now)?;
        if busy { Ok(()) } else { self.wait() }
    }

    /// Gives the core the batch that arrived; whether there may be more.
    fn take_in(&mut self, now: Time) -> bool {
        let (core, counters) = (&mut self.core, &self.shared.counters);
        self.received.drain(|envelope, bytes| {
            if envelope.truncated {
                counters.one(Count::datagrams_received);
                counters.one(Count::dropped_truncated);
            } else {
                core.receive(now, envelope.address, Ecn::from_bits(envelope.tos), bytes);
            }
        });
        self.received.is_full()
    }

    fn take_requests(&mut self, now: Time) -> bool {
        if !self.shared.told.swap(false, Ordering::AcqRel) {
            return false;
        }
        let mut count = [0; 8];
        let _ = rustix::io::read(&self.shared.wake, &mut count);
        let requests = std::mem::take(&mut *locked(&self.shared.requests));
        for request in requests {
            match request {
                Request::Send(command, waiting) => {
                    if let Waiting::Call(number, completion) = &waiting {
                        self.calls.insert((command.peer, *number), completion.clone());
                    }
                    self.waiting.insert(command.ticket, (command.peer, waiting));
                    self.core.send(now, command);
                }
                Request::Abandon(peer, number) => drop(self.calls.remove(&(peer, number))),
                Request::Measure(completion) => completion.complete(Some(self.core.measured(now))),
            }
        }
        true
    }

    /// Hands the core's events to those who wait for them.
    fn settle(&mut self) {
        while let Some(event) = self.core.poll_event() {
            match event {
                CoreEvent::Arrived(message) => match message.purpose {
                    Purpose::Reply(number) => {
                        if let Some(call) = self.calls.remove(&(message.peer, number)) {
                            call.complete(Ok(message.bytes));
                        }
                    }
                    Purpose::Plain | Purpose::Request(_) => self.shared.deliver(message),
                },
                CoreEvent::Sent { ticket, at, outcome } => self.sent(ticket, at, outcome),
                CoreEvent::PeerGone { peer, reason } => self.peer_gone(peer, reason),
                CoreEvent::Message(progress) => {
                    if let Some(observer) = &self.observer {
                        observer(&progress);
                    }
                }
            }
        }
    }

    fn sent(&mut self, ticket: u64, at: Time, outcome: Result<(), SendError>) {
        let Some((peer, waiting)) = self.waiting.remove(&ticket) else { return };
        match (outcome, waiting) {
            (Ok(()), Waiting::Send(completion)) => completion.complete(Ok(at)),
            (Ok(()), Waiting::Call(..)) => {}
            (Err(error), waiting) => {
                if let Waiting::Call(number, _) = &waiting {
                    self.calls.remove(&(peer, *number));
                }
                waiting.fail(error);
            }
        }
    }

    /// Requests that the peer acknowledged will not be answered; those that still wait for it may be.
    fn peer_gone(&mut self, peer: SocketAddrV4, reason: SendError) {
        let pending = |waiting: &Waiting, of: u64| matches!(waiting, Waiting::Call(n, _) if *n == of);
        let waiting = &self.waiting;
        self.calls.retain(|(address, number), call| {
            let under_way = || waiting.values().any(|(to, w)| *to == peer && pending(w, *number));
            let gone = *address == peer && !under_way();
            if gone {
                call.complete(Err(reason.into()));
            }
            !gone
        });
    }

    /// Sends what may leave, the first batch of it as of `now`.
    fn transmit(&mut self, mut now: Time) -> io::Result<()> {
        loop {
            while !self.sending.is_full() {
                let Some(transmit) = self.core.poll_transmit(now, self.sending.room()) else { break };
                let (address, tos, length) = (transmit.to, transmit.tos, transmit.length);
                self.sending.push(Envelope { address, tos, length, truncated: false });
            }
            let full = self.sending.is_full();
            let refused = self.socket.send(&mut self.sending)?;
            self.shared.counters.add(Count::send_errors, refused);
            if !full || !self.sending.is_empty() {
                return Ok(());
            }
            now = self.now();
        }
    }

    /// Blocks until something arrives, is asked for, or is due.
    fn wait(&mut self) -> io::Result<()> {
        let now = self.now();
        let due = self.core.next_timeout().map(|at| at.saturating_sub(now));
        let blocked = !self.sending.is_empty();
        // Rounded up: a wait that ends a moment early would be for nothing.
        let due = due.filter(|_| !blocked).map(|due| due.0.div_ceil(1000));
        let timeout = due
            .map(|ns| Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 });
        let socket = if blocked { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let mut fds = [PollFd::new(&self.socket, socket), PollFd::new(&self.shared.wake, PollFlags::IN)];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Nobody waits for ever, however the thread ends.
impl Drop for Driver {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        let requests = std::mem::take(&mut *locked(&self.shared.requests));
        requests.into_iter().for_each(Request::refuse);
        self.waiting.drain().for_each(|(_, (_, waiting))| waiting.fail(SendError::Closed));
        self.calls.drain().for_each(|(_, call)| call.complete(Err(SendError::Closed.into())));
        self.shared.close_inbox();
    }
}
