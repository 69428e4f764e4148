//! Driver of the core: socket, clock, and the applications' requests. Its calls are scheduled by
//! [`crate::shared`]: it starts no thread and never blocks.

use crate::batch::{BATCH, Batch, Envelope};
use crate::completion::Completion;
use crate::config::Observer;
use crate::core::{Core, CoreEvent, Purpose, Transmit};
use crate::counters::{Count, Counters};
use crate::error::SendError;
use crate::inbox::Inbox;
use crate::leaving::{Outcome, Refused};
use crate::request::{CallOutcome, Request, Waiting};
use crate::trace;
use crate::udp::{Handle, Socket, monotonic_ns};
use headway_packet::Ecn;
use headway_units::Time;
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// Datagrams, or rows of them, that are expected at a time where little is under way.
const FEW: usize = 4;

thread_local! {
    /// True if this thread is in an observer: the endpoint is being driven, and cannot be by a request of the observer.
    static OBSERVING: Cell<bool> = const { Cell::new(false) };
}

/// True if this thread is in an observer.
pub(crate) fn is_observing() -> bool {
    OBSERVING.get()
}

/// Calls an observer.
fn observing(tell: impl FnOnce()) {
    OBSERVING.set(true);
    tell();
    OBSERVING.set(false);
}

/// See the module.
pub(crate) struct Driver {
    core: Core,
    local: SocketAddr,
    socket: Socket,
    inbox: Arc<Inbox>,
    counters: Arc<Counters>,
    refused: Arc<Mutex<Refused>>,
    observer: Option<Observer>,
    origin_ns: u64,
    waiting: FxHashMap<u64, (SocketAddr, Waiting)>,
    /// Requests without a reply, acknowledged or not.
    calls: FxHashMap<(SocketAddr, u64), Completion<CallOutcome>>,
    received: Batch,
    sending: Batch,
    /// True if a waiting application has got its result since this was last read.
    answered: bool,
}

impl Driver {
    pub(crate) fn new(
        core: Core,
        (socket, local): (Socket, SocketAddr),
        inbox: Arc<Inbox>,
        counters: Arc<Counters>,
        observer: Option<Observer>,
        origin_ns: u64,
    ) -> Driver {
        let each = core.datagram_bytes();
        let (waiting, calls) = (FxHashMap::default(), FxHashMap::default());
        let received = if socket.has_rows() { Batch::for_rows(each) } else { Batch::new(each) };
        let sending = Batch::new(each);
        let answered = false;
        Driver {
            core,
            local,
            socket,
            inbox,
            counters,
            refused: Arc::default(),
            observer,
            origin_ns,
            waiting,
            calls,
            received,
            sending,
            answered,
        }
    }

    /// The time on the endpoint's clock.
    pub(crate) fn now(&self) -> Time {
        Time::ns(monotonic_ns().saturating_sub(self.origin_ns))
    }

    /// Handle on which callers wait for datagrams; it closes no sooner than the last of them is done.
    pub(crate) fn handle(&self) -> Handle {
        self.socket.handle()
    }

    /// Time at which something is to be done though nothing arrives; `None` while the kernel takes no more datagrams.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        if self.is_blocked() { None } else { self.core.next_timeout() }
    }

    /// True if the kernel had no room for datagrams that are to leave.
    pub(crate) fn is_blocked(&self) -> bool {
        !self.sending.is_empty()
    }

    /// True if there is no more to do than a few small messages want.
    pub(crate) fn is_light(&self) -> bool {
        self.core.is_light()
    }

    /// True if a waiting application has got its result since this was last called.
    pub(crate) fn has_answered(&mut self) -> bool {
        std::mem::take(&mut self.answered)
    }

    /// Takes in one batch of what has arrived; returns true if there may be more, and the instant that counts until the
    /// answers have left. With one read later, a permission that is valid for less than it takes to act on it would be
    /// too old.
    pub(crate) fn receive(&mut self) -> io::Result<(bool, Time)> {
        let light = self.core.is_light();
        self.socket.receive(&mut self.received, if light { FEW } else { BATCH })?;
        let now = self.now();
        if !light {
            // Datagrams that were due before these came leave as of their own time, in one call with the answers.
            self.fill(now, now);
        }
        let (core, counters) = (&mut self.core, &self.counters);
        self.received.drain(|envelope, bytes| {
            if envelope.truncated {
                counters.one(Count::datagrams_received);
                counters.one(Count::dropped_truncated);
            } else {
                core.receive(now, envelope.address, Ecn::from_bits(envelope.tos), bytes);
            }
        });
        Ok((self.received.is_full(), now))
    }

    /// Takes a request of an application.
    pub(crate) fn take(&mut self, now: Time, request: Request) {
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

    /// Does all due work, and hands the core's events to the completions that wait for them.
    pub(crate) fn settle(&mut self, now: Time) {
        if self.core.next_timeout().is_some_and(|at| at <= now) {
            self.core.timeout(now);
        }
        self.tell();
    }

    /// Hands the core's events to the completions that wait for them.
    fn tell(&mut self) {
        while let Some(event) = self.core.poll_event() {
            match event {
                CoreEvent::Arrived(message) => {
                    self.answered = true;
                    match message.purpose {
                        Purpose::Reply(number) => {
                            if let Some(call) = self.calls.remove(&(message.peer, number)) {
                                call.complete(Ok(message.bytes));
                            }
                        }
                        Purpose::Plain | Purpose::Request(_) => self.inbox.deliver(message),
                    }
                }
                CoreEvent::Sent { ticket, at, outcome } => self.sent(ticket, at, outcome),
                CoreEvent::PeerGone { peer, reason } => {
                    observing(|| trace::gone(self.local, peer, reason));
                    self.peer_gone(peer, reason);
                }
                CoreEvent::Message(progress) => observing(|| {
                    trace::message(self.local, &progress);
                    if let Some(observer) = &self.observer {
                        observer(&progress);
                    }
                }),
            }
        }
    }

    fn sent(&mut self, ticket: u64, at: Time, outcome: Result<(), SendError>) {
        let Some((peer, waiting)) = self.waiting.remove(&ticket) else { return };
        match (outcome, waiting) {
            (Ok(()), Waiting::Send(completion)) => completion.complete(Ok(at)),
            (Ok(()), Waiting::Call(..)) => return,
            (Err(error), waiting) => {
                if let Waiting::Call(number, _) = &waiting {
                    self.calls.remove(&(peer, *number));
                }
                waiting.fail(error);
            }
        }
        self.answered = true;
    }

    /// Requests that the peer acknowledged will not be answered; those that still wait for it may be.
    fn peer_gone(&mut self, peer: SocketAddr, reason: SendError) {
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
        self.answered = true;
    }

    /// Sends what may leave, the first batch of it as of `now`; returns true if anything left or wanted to. Deadlines
    /// that come meanwhile wait for the next turn: a machine whose deadlines come faster than packets leave would send
    /// for ever.
    pub(crate) fn transmit(&mut self, now: Time) -> io::Result<bool> {
        let any = self.send(now);
        self.tell();
        any
    }

    /// Takes the packets that may leave, as far as there is room, and those that are due until then.
    fn fill(&mut self, now: Time, until: Time) {
        while !self.sending.is_full() {
            let Some(transmit) = self.core.poll_due(now, until, self.sending.room()) else { break };
            let Transmit { to: address, tos, length, answer } = transmit;
            self.sending.push(Envelope { address, tos, length, truncated: false, answer });
        }
    }

    fn send(&mut self, until: Time) -> io::Result<bool> {
        let (mut now, mut any) = (until, false);
        loop {
            self.fill(now, until);
            let full = self.sending.is_full();
            if self.sending.is_empty() {
                return Ok(any);
            }
            any = true;
            if self.socket.has_rows() {
                self.sending.join();
            }
            let outcome = self.socket.send(&mut self.sending, self.core.wants_departures())?;
            self.left(now, &outcome);
            if !full || !self.sending.is_empty() {
                return Ok(any);
            }
            now = self.now();
        }
    }
}

/// Refusals of the kernel.
impl Driver {
    /// Last refusals, for endpoints to read.
    pub(crate) fn refused(&self) -> Arc<Mutex<Refused>> {
        Arc::clone(&self.refused)
    }

    /// Records the outcome of datagrams.
    fn left(&mut self, now: Time, outcome: &Outcome) {
        let mut lost = 0;
        for &(address, refusal) in &outcome.told {
            lost += u64::from(refusal.is_some());
            self.core.departed(now, address, refusal);
        }
        if (lost, outcome.unmarked, outcome.cut) == (0, 0, 0) {
            return;
        }
        self.counters.add(Count::send_errors, lost);
        self.counters.add(Count::marks_refused, outcome.unmarked);
        self.counters.add(Count::rows_refused, outcome.cut);
        let mut before = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let (local, refused) = (self.local, self.socket.refused());
        let new = refused.without(*before);
        *before = refused;
        drop(before);
        observing(|| trace::refused(local, new));
    }
}

/// No application waits for ever, however the endpoint ends.
impl Drop for Driver {
    fn drop(&mut self) {
        self.waiting.drain().for_each(|(_, (_, waiting))| waiting.fail(SendError::Closed));
        self.calls.drain().for_each(|(_, call)| call.complete(Err(SendError::Closed.into())));
        self.inbox.close();
    }
}
