//! Driver of the core: socket, clock, and the applications' requests. Its calls are scheduled by
//! [`crate::shared`]: it starts no thread and never blocks.

use crate::batch::{BATCH, Batch};
use crate::completion::Completion;
use crate::config::{Observer, PathObserver};
use crate::core::{Core, CoreEvent, Purpose};
use crate::counters::{Count, Counters};
use crate::error::{AddressError, Refusal, SendError};
use crate::inbox::Inbox;
use crate::leaving::{Outcome, Refused};
use crate::ports::{Descriptors, Port, SocketManner, envelope_of};
use crate::request::{CallOutcome, Request, Waiting};
use crate::trace;
use crate::udp::{Handles, Socket, monotonic_ns};
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
fn call_observer(tell: impl FnOnce()) {
    OBSERVING.set(true);
    tell();
    OBSERVING.set(false);
}

/// See the module.
pub(crate) struct Driver {
    core: Core,
    local: SocketAddr,
    /// By the place of their address; the first is the one that the endpoint was bound to.
    ports: Vec<Option<Port>>,
    handles: Handles,
    descriptors: Arc<Descriptors>,
    /// Settings of new sockets.
    manner: SocketManner,
    /// Buffer of datagrams whose local address is chosen later.
    scratch: Vec<u8>,
    inbox: Arc<Inbox>,
    counters: Arc<Counters>,
    refused: Arc<Mutex<Refused>>,
    observer: Option<Observer>,
    path_observer: Option<PathObserver>,
    origin_ns: u64,
    waiting: FxHashMap<u64, (SocketAddr, Waiting)>,
    /// Requests without a reply, acknowledged or not.
    calls: FxHashMap<(SocketAddr, u64), Completion<CallOutcome>>,
    received: Batch,
    /// True if an awaited outcome was completed since this was last asked.
    answered: bool,
}

impl Driver {
    pub(crate) fn new(
        core: Core,
        (socket, local, manner): (Socket, SocketAddr, SocketManner),
        inbox: Arc<Inbox>,
        counters: Arc<Counters>,
        observers: (Option<Observer>, Option<PathObserver>),
        origin_ns: u64,
    ) -> Driver {
        let each = core.datagram_bytes();
        let (waiting, calls) = (FxHashMap::default(), FxHashMap::default());
        let received = if socket.has_rows() { Batch::for_rows(each) } else { Batch::new(each) };
        let handles = Arc::new([socket.wait_handle()]);
        let descriptors = Arc::new(Descriptors::default());
        descriptors.set_socket(0, Some(&socket));
        let ports = vec![Some(Port { socket, sending: Batch::new(each) })];
        let answered = false;
        Driver {
            core,
            local,
            ports,
            handles,
            descriptors,
            manner,
            scratch: Vec::new(),
            inbox,
            counters,
            refused: Arc::default(),
            observer: observers.0,
            path_observer: observers.1,
            origin_ns,
            waiting,
            calls,
            received,
            answered,
        }
    }

    /// The time on the endpoint's clock.
    pub(crate) fn clock_time(&self) -> Time {
        Time::ns(monotonic_ns().saturating_sub(self.origin_ns))
    }

    /// Descriptors to wait at for datagrams; they stay open for as long as a waiting thread holds them.
    pub(crate) fn socket_handles(&self) -> Handles {
        Arc::clone(&self.handles)
    }

    /// The descriptors of its sockets, for a process that is forked.
    pub(crate) fn socket_descriptors(&self) -> Arc<Descriptors> {
        Arc::clone(&self.descriptors)
    }

    /// Time at which something is to be done though nothing arrives; `None` while the kernel takes no more datagrams.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        // A deadline could send nothing while the kernel has no room, and a thread would wake up for it again
        // and again.
        if self.is_blocked() { None } else { self.core.next_timeout() }
    }

    /// True if the kernel had no room for datagrams that are to leave.
    pub(crate) fn is_blocked(&self) -> bool {
        self.ports.iter().flatten().any(|port| !port.sending.is_empty())
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
    pub(crate) fn receive_batch(&mut self) -> io::Result<(bool, Time)> {
        // Before anything is received: it decides how many places the kernel is offered.
        let light = self.core.is_light();
        let (mut more, mut now) = (false, None);
        for place in 0..self.ports.len() {
            let Some(port) = &self.ports[place] else { continue };
            port.socket.receive_batch(&mut self.received, if light { FEW } else { BATCH })?;
            // One clock reading for all sockets, after the first call: the datagrams of one turn arrive at the
            // same instant.
            let now = *now.get_or_insert_with(|| self.clock_time());
            if !light {
                // What was due before these came leaves as of its own time, in one call with the answers.
                self.fill_batch(now, now);
            }
            let (core, counters) = (&mut self.core, &self.counters);
            self.received.take_datagrams(|envelope, bytes| {
                if envelope.truncated {
                    counters.one(Count::datagrams_received);
                    counters.one(Count::dropped_truncated);
                } else {
                    let by = (place as u8, envelope.address);
                    core.receive_at(now, by, Ecn::from_bits(envelope.tos), bytes);
                }
            });
            more |= self.received.is_full();
        }
        Ok((more, now.unwrap_or_else(|| self.clock_time())))
    }

    /// Takes a request of an application.
    pub(crate) fn take_request(&mut self, now: Time, request: Request) {
        match request {
            Request::Send(command, waiting) => {
                if let Waiting::Call(number, completion) = &waiting {
                    self.calls.insert((command.peer, *number), completion.clone());
                }
                self.waiting.insert(command.ticket, (command.peer, waiting));
                self.core.send(now, command);
            }
            Request::Abandon(peer, number) => drop(self.calls.remove(&(peer, number))),
            Request::Measure(completion) => completion.put_result(Some(self.core.measured(now))),
            Request::Paths(completion) => completion.put_result(Some(self.core.path_list())),
            Request::AddAddress(address, completion) => {
                completion.put_result(self.add_address(now, address));
            }
            Request::RemoveAddress(address, completion) => {
                completion.put_result(self.remove_address(now, address));
            }
        }
    }

    /// Does all due work, and hands the core's events to the completions that wait for them.
    pub(crate) fn settle_work(&mut self, now: Time) {
        if self.core.next_timeout().is_some_and(|at| at <= now) {
            self.core.timeout(now);
        }
        self.dispatch_events();
    }

    /// Hands the core's events to the completions that wait for them.
    fn dispatch_events(&mut self) {
        while let Some(event) = self.core.poll_event() {
            match event {
                CoreEvent::Arrived(message) => {
                    self.answered = true;
                    match message.purpose {
                        Purpose::Reply(number) => {
                            if let Some(call) = self.calls.remove(&(message.peer, number)) {
                                // A reply to a call that has timed out finds no entry, and is dropped.
                                call.put_result(Ok(message.bytes));
                            }
                        }
                        Purpose::Plain | Purpose::Request(_) => self.inbox.deliver_message(message),
                    }
                }
                CoreEvent::Sent { ticket, at, outcome } => self.complete_send(ticket, at, outcome),
                CoreEvent::PeerGone { peer, reason } => {
                    call_observer(|| trace::gone(self.local, peer, reason));
                    self.peer_gone(peer, reason);
                }
                CoreEvent::Path(event) => call_observer(|| {
                    trace::path(self.local, &event);
                    if let Some(observer) = &self.path_observer {
                        observer(&event);
                    }
                }),
                CoreEvent::Message(progress) => call_observer(|| {
                    trace::message(self.local, &progress);
                    if let Some(observer) = &self.observer {
                        observer(&progress);
                    }
                }),
            }
        }
    }

    fn complete_send(&mut self, ticket: u64, at: Time, outcome: Result<(), SendError>) {
        let Some((peer, waiting)) = self.waiting.remove(&ticket) else { return };
        match (outcome, waiting) {
            (Ok(()), Waiting::Send(completion)) => completion.put_result(Ok(at)),
            // An acknowledged request still waits for its reply.
            (Ok(()), Waiting::Call(..)) => return,
            (Err(error), waiting) => {
                if let Waiting::Call(number, _) = &waiting {
                    self.calls.remove(&(peer, *number));
                }
                waiting.fail_with(error);
            }
        }
        self.answered = true;
    }

    /// Requests that the peer acknowledged will not be answered; those that still wait for it may be.
    fn peer_gone(&mut self, peer: SocketAddr, reason: SendError) {
        let pending = |waiting: &Waiting, of: u64| matches!(waiting, Waiting::Call(n, _) if *n == of);
        let waiting = &self.waiting;
        self.calls.retain(|(address, number), call| {
            // A request that has not been acknowledged goes to the peer's next incarnation, or fails by an
            // event of its own.
            let under_way = || waiting.values().any(|(to, w)| *to == peer && pending(w, *number));
            let gone = *address == peer && !under_way();
            if gone {
                call.put_result(Err(reason.into()));
            }
            !gone
        });
        self.answered = true;
    }

    /// Sends what may leave, the first batch of it as of `now`; returns true if anything left or wanted to. Deadlines
    /// that come meanwhile wait for the next turn: a machine whose deadlines come faster than packets leave would send
    /// for ever.
    pub(crate) fn transmit_batch(&mut self, now: Time) -> io::Result<bool> {
        let any = self.send_batch(now);
        self.dispatch_events();
        any
    }

    /// Takes the packets that may leave, as far as there is room, and those that are due until then.
    fn fill_batch(&mut self, now: Time, until: Time) {
        // With one socket packets are written straight into its batch; with several a copy is needed, because
        // the path is known only then.
        if let [Some(Port { sending, .. })] = &mut self.ports[..] {
            while !sending.is_full() {
                let Some(transmit) = self.core.poll_due(now, until, sending.next_room()) else { break };
                sending.push(envelope_of(&transmit));
            }
            return;
        }
        while !self.ports.iter().flatten().any(|port| port.sending.is_full()) {
            let Some(transmit) = self.core.poll_due(now, until, &mut self.scratch) else { break };
            // A datagram from an address that is gone is lost, as it would be in the network.
            let Some(Some(port)) = self.ports.get_mut(usize::from(transmit.local)) else { continue };
            port.sending.next_room()[..transmit.length].copy_from_slice(&self.scratch[..transmit.length]);
            port.sending.push(envelope_of(&transmit));
        }
    }

    fn send_batch(&mut self, until: Time) -> io::Result<bool> {
        let (mut now, mut any) = (until, false);
        loop {
            // `until` stays as it was when `now` moves on: see `transmit_batch`.
            self.fill_batch(now, until);
            if !self.is_blocked() {
                return Ok(any);
            }
            any = true;
            let mut full = false;
            for place in 0..self.ports.len() {
                let Some(port) = &mut self.ports[place] else { continue };
                full |= port.sending.is_full();
                if port.sending.is_empty() {
                    continue;
                }
                // Only a row saves the receiver a wake-up; without rows the order stays as it is.
                if port.socket.has_rows() {
                    port.sending.join_rows();
                }
                let outcome = port.socket.send_batch(&mut port.sending, self.core.wants_departures())?;
                self.note_outcome(now, place, &outcome);
            }
            // A batch that was not full means that the core had no more to send.
            if !full || self.is_blocked() {
                return Ok(any);
            }
            // Read again after a full batch: sending it has taken time, and more packets may leave by now.
            now = self.clock_time();
        }
    }
}

/// The addresses of the endpoint.
impl Driver {
    /// Binds another address; where it is bound.
    pub(crate) fn add_address(&mut self, now: Time, address: SocketAddr) -> Result<SocketAddr, AddressError> {
        let home = self.local;
        let socket = self.manner.bind_address(address, home)?;
        let local = socket
            .local_address()
            .map_err(|error| AddressError::Kernel { address, why: Refusal::from_error(&error) })?;
        // After the socket is bound: the core must know the port that the kernel has chosen.
        let place = usize::from(self.core.add_address(now, local)?);
        // Paths are told apart by how long datagrams may be.
        self.ports.iter().flatten().for_each(|port| port.socket.keep_whole());
        socket.keep_whole();
        let each = self.core.datagram_bytes();
        // Used only with several sockets; an endpoint with one never takes the memory.
        self.scratch.resize(each, 0);
        if self.ports.len() <= place {
            self.ports.resize_with(place + 1, || None);
        }
        self.descriptors.set_socket(place, Some(&socket));
        self.ports[place] = Some(Port { socket, sending: Batch::new(each) });
        self.gather_handles();
        Ok(local)
    }

    /// An address is gone.
    pub(crate) fn remove_address(
        &mut self,
        now: Time,
        address: SocketAddr,
    ) -> Result<SocketAddr, AddressError> {
        let place = usize::from(self.core.remove_address(now, address)?);
        self.descriptors.set_socket(place, None);
        if let Some(port) = self.ports.get_mut(place) {
            *port = None;
        }
        self.scratch.resize(self.core.datagram_bytes(), 0);
        self.gather_handles();
        Ok(address)
    }

    fn gather_handles(&mut self) {
        self.handles = self.ports.iter().flatten().map(|port| port.socket.wait_handle()).collect();
    }
}

/// Refusals of the kernel.
impl Driver {
    /// Last refusals, for endpoints to read.
    pub(crate) fn last_refusals(&self) -> Arc<Mutex<Refused>> {
        Arc::clone(&self.refused)
    }

    /// Notes what became of datagrams.
    fn note_outcome(&mut self, now: Time, place: usize, outcome: &Outcome) {
        let mut lost = 0;
        for &(address, refusal) in &outcome.told {
            lost += u64::from(refusal.is_some());
            self.core.note_departure(now, place as u8, address, refusal);
        }
        if (lost, outcome.unmarked, outcome.cut) == (0, 0, 0) {
            return;
        }
        self.counters.add(Count::send_errors, lost);
        self.counters.add(Count::marks_refused, outcome.unmarked);
        self.counters.add(Count::rows_refused, outcome.cut);
        let mut before = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(port) = &self.ports[place] else { return };
        let (local, refused) = (self.local, port.socket.last_refusals());
        // Only the first refusal of each kind is traced: a firewall may refuse every datagram.
        let new = refused.new_since(*before);
        *before = refused;
        drop(before);
        call_observer(|| trace::refused(local, new));
    }
}

/// No application waits for ever, however the endpoint ends.
impl Drop for Driver {
    fn drop(&mut self) {
        // Before the sockets close: a forked child must not close a number that belongs to another file by
        // then.
        (0..self.ports.len()).for_each(|place| self.descriptors.set_socket(place, None));
        self.waiting.drain().for_each(|(_, (_, waiting))| waiting.fail_with(SendError::Closed));
        self.calls.drain().for_each(|(_, call)| call.put_result(Err(SendError::Closed.into())));
        self.inbox.close_inbox();
    }
}
