//! The blocking interface.

use crate::address::chosen;
use crate::completion::{Completion, deadline_after};
use crate::config::{Admission, Config};
use crate::core::{
    Arrived, Charges, Command, Core, Identity, Measured, Memory, PathInfo, Purpose, SendOptions,
};
use crate::counters::{Counters, Stats};
use crate::driver::Driver;
use crate::error::{AddressError, BindError, CallError, Forked, RecvError, SendError};
use crate::inbox::Inbox;
use crate::interfaces::Follower;
use crate::leaving::Refused;
use crate::nic::lead_time;
use crate::pace::Pace;
use crate::path_text::path_text;
use crate::ports::SocketManner;
use crate::qlog;
use crate::request::{AddressOutcome, CallOutcome, Request, SendOutcome, Waiting};
use crate::seal::Secret;
use crate::shared::{Manner, Shared};
use crate::stream::{Body, Source};
use crate::udp::{Socket, monotonic_ns};
use bytes::Bytes;
use headway_units::Time;
use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A host's end of messages to and from any number of peers.
///
/// All methods take `&self`: threads may share an endpoint. Dropping it closes it: what was not acknowledged
/// fails with [`SendError::Closed`].
///
/// An endpoint belongs to the process that bound it. In a process that was forked from that one, what sends, receives or waits fails
/// with [`Forked`] at once; counters and the address are those of the moment of the fork; to drop or close it there closes the
/// descriptors of that process, and changes nothing for the one that bound it.
pub struct Endpoint {
    inner: Arc<Inner>,
    thread: Option<JoinHandle<()>>,
    follower: Option<Follower>,
}

/// State that an endpoint and the messages received from it share.
pub(crate) struct Inner {
    shared: Arc<Shared>,
    memory: Memory,
    refused: Arc<Mutex<Refused>>,
    local: SocketAddr,
    largest: u64,
    call_timeout: Duration,
    next: AtomicU64,
    pace: Pace,
}

/// A message under way.
#[derive(Clone)]
#[must_use = "whether the message was delivered is known from its handle alone"]
pub struct SendHandle {
    ticket: u64,
    pub(crate) completion: Completion<SendOutcome>,
    shared: Arc<Shared>,
}

/// A request under way; its reply is given up when this is dropped.
pub struct CallHandle(pub(crate) Call);

/// A message that was received.
pub struct Received {
    /// Address of the sender.
    pub peer: SocketAddr,
    /// Bytes of the message.
    pub bytes: Bytes,
    /// Its number among those of its sender to this endpoint.
    pub message: u32,
    /// Arrival of its last byte, on the endpoint's clock.
    pub at: Time,
    purpose: Purpose,
    peer_epoch: u64,
    inner: Arc<Inner>,
    _charges: Charges,
}

fn io_error(what: &'static str) -> impl Fn(io::Error) -> BindError {
    move |source| BindError::Io { what, source }
}

impl Endpoint {
    /// An endpoint at `address`, of IPv4 or IPv6; port 0 = any.
    ///
    /// # Errors
    /// An address that is not loopback, unless [`Config::admission`] admits peers; a configuration
    /// that cannot be; whatever the operating system objects to.
    pub fn bind(address: impl ToSocketAddrs, config: Config) -> Result<Endpoint, BindError> {
        Endpoint::bind_for(address, config, true)
    }

    /// [`Endpoint::bind`] for `threads` that wait, or else for tasks, which drive nothing.
    pub(crate) fn bind_for(
        address: impl ToSocketAddrs,
        config: Config,
        threads: bool,
    ) -> Result<Endpoint, BindError> {
        let address = chosen(address).map_err(io_error("resolving the address"))?;
        if config.admission == Admission::Loopback && !address.ip().is_loopback() {
            return Err(BindError::NotLoopback(address));
        }
        let pace = config.nic.map_or_else(
            || {
                let more = config.addresses.iter().map(SocketAddr::ip);
                Pace::of(&std::iter::once(address.ip()).chain(more).collect::<Vec<_>>())
            },
            Pace::given,
        );
        // From here on every part sees the same rate, whether it was given or asked for.
        let mut config = Config { nic: Some(pace.rate), ..config };
        // On a fast link several packets are handed to the kernel at a time, and only then are rows and
        // attending threads worth it.
        let fast = lead_time(pace.rate, config.sizes_at(address.ip())) > Time::ZERO;
        let socket =
            Socket::bind_socket(address, fast, config.spin).map_err(io_error("binding the socket"))?;
        let local = socket.local_address().map_err(io_error("asking for the socket's address"))?;
        let sockets = SocketManner::new(fast, &config);
        // Taken out: each is bound below, with the port that the endpoint got.
        let more = std::mem::take(&mut config.addresses);
        let origin = config.origin_ns.unwrap_or_else(monotonic_ns);
        if let Some(path) = &config.trace_file {
            let of = qlog::Of { local, transport: &config.transport, origin_ns: origin };
            let next = (config.observer.take(), config.path_observer.take());
            let observers =
                qlog::qlog_observers(path, &of, next).map_err(io_error("making the trace file"))?;
            (config.observer, config.path_observer) = observers;
        }
        let counters = Arc::new(Counters::default());
        let epoch = config.epoch.map_or_else(random_epoch, Ok)?;
        let identity = Identity { epoch, secret: random_secret()? };
        let core = Core::new(&config, local, identity, Arc::clone(&counters))?;
        let memory = core.memory();
        let inbox = Arc::new(Inbox::default());
        let observers = (config.observer.clone(), config.path_observer.clone());
        let (to, counted) = (Arc::clone(&inbox), Arc::clone(&counters));
        let mut driver = Driver::new(core, (socket, local, sockets), to, counted, observers, origin);
        let mut addresses = vec![local];
        for address in more {
            addresses.push(driver.add_address(Time::ZERO, address)?);
        }
        let refused = driver.last_refusals();
        // Below the longest round trip, by which transports size their time-outs, so a late acknowledgement
        // causes no repetition.
        let late = config.path.max_rtt * 3 / 4;
        let manner = Manner { attended: fast && threads, spin: config.spin, late };
        let shared = Shared::new(driver, inbox, counters, manner);
        let shared = Arc::new(shared.map_err(io_error("making an eventfd and a timer"))?);
        let keeper = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("headway-host".into());
        let thread = thread.spawn(move || keeper.run_keeper()).map_err(io_error("starting a thread"))?;
        let follower =
            config.follow_interfaces.then(|| Follower::start_following(Arc::clone(&shared), addresses));
        let follower = follower.transpose().map_err(io_error("listening to the kernel's interfaces"))?;
        let call_timeout = Duration::from_nanos(config.call_timeout.0 / 1000);
        let largest = config.limits.message_bytes;
        let next = AtomicU64::new(1);
        let inner = Arc::new(Inner { shared, memory, refused, local, largest, call_timeout, next, pace });
        Ok(Endpoint { inner, thread: Some(thread), follower })
    }

    /// Sends a message and waits until the peer has acknowledged it; when that was, on the endpoint's clock.
    pub fn send(&self, peer: SocketAddr, bytes: impl Into<Bytes>) -> Result<Time, SendError> {
        self.send_nowait(peer, bytes)?.wait()
    }

    /// Begins to send a message. An error now means that nothing was sent.
    pub fn send_nowait(&self, peer: SocketAddr, bytes: impl Into<Bytes>) -> Result<SendHandle, SendError> {
        self.send_with(peer, bytes, SendOptions::default())
    }

    /// [`Endpoint::send_nowait`] with a say in how.
    pub fn send_with(
        &self,
        peer: SocketAddr,
        bytes: impl Into<Bytes>,
        options: SendOptions,
    ) -> Result<SendHandle, SendError> {
        self.inner.submit_send(peer, Body::Whole(bytes.into()), options, Purpose::Plain, None)
    }

    /// Begins to send a message whose bytes are made as they leave: it takes no memory, however long it is.
    pub fn send_stream(
        &self,
        peer: SocketAddr,
        bytes: u64,
        source: Arc<dyn Source>,
        options: SendOptions,
    ) -> Result<SendHandle, SendError> {
        self.inner.submit_send(peer, Body::Stream { bytes, source }, options, Purpose::Plain, None)
    }

    /// Measurements of the transport's machine; `None` when the endpoint is closed, or belongs to another process.
    pub fn measured(&self) -> Option<Measured> {
        self.check_process().ok()?;
        let completion = Completion::new();
        self.inner.shared.submit_request(Request::Measure(completion.clone()), false);
        completion.wait_result(None).flatten()
    }

    /// Sends a request and waits for its reply, for [`Config::call_timeout`] at most.
    pub fn call(&self, peer: SocketAddr, request: impl Into<Bytes>) -> Result<Bytes, CallError> {
        self.call_timeout(peer, request, self.inner.call_timeout)
    }

    /// [`Endpoint::call`] with its own longest wait.
    pub fn call_timeout(
        &self,
        peer: SocketAddr,
        request: impl Into<Bytes>,
        longest: Duration,
    ) -> Result<Bytes, CallError> {
        // Before the request is made, so that the wait includes the time that it takes to hand it over.
        let until = deadline_after(longest);
        let call = self.inner.start_call(peer, request.into(), true)?;
        call.final_outcome(self.inner.shared.wait_driving(&call.completion, until))
    }

    /// Begins a call. An error now means that nothing was sent.
    pub fn call_nowait(&self, peer: SocketAddr, request: impl Into<Bytes>) -> Result<CallHandle, SendError> {
        self.inner.start_call(peer, request.into(), false).map(CallHandle)
    }

    /// Another address of this host, for more paths to all peers: see [`Config::addresses`]. Where it is bound.
    ///
    /// # Errors
    /// Those of [`AddressError`]; the endpoint goes on as before.
    pub fn add_address(&self, address: SocketAddr) -> Result<SocketAddr, AddressError> {
        self.change_address(|completion| Request::AddAddress(address, completion))
    }

    /// An address is gone for good: paths from there end, and peers are told. The address that the endpoint was bound to may be
    /// one, as long as it is not the last; peers know the endpoint by it all the same.
    ///
    /// # Errors
    /// It is none of the endpoint's, or its last one.
    pub fn remove_address(&self, address: SocketAddr) -> Result<SocketAddr, AddressError> {
        self.change_address(|completion| Request::RemoveAddress(address, completion))
    }

    fn change_address(
        &self,
        request: impl FnOnce(Completion<AddressOutcome>) -> Request,
    ) -> Result<SocketAddr, AddressError> {
        self.check_process().map_err(|_| AddressError::Closed)?;
        let completion = Completion::new();
        self.inner.shared.submit_request(request(completion.clone()), false);
        let outcome = completion.wait_result(None).unwrap_or(Err(AddressError::Closed));
        // A thread that sleeps at the old set of sockets would not hear the new one.
        self.inner.shared.sockets_changed();
        outcome
    }

    /// State and counters of the paths to peers, where one end has several addresses; empty otherwise, and from a closed
    /// endpoint.
    pub fn paths(&self) -> Vec<PathInfo> {
        if self.check_process().is_err() {
            return Vec::new();
        }
        let completion = Completion::new();
        self.inner.shared.submit_request(Request::Paths(completion.clone()), false);
        completion.wait_result(None).flatten().unwrap_or_default()
    }

    /// Closes it without waiting: whoever waits for it gets [`SendError::Closed`] or [`RecvError::Closed`].
    pub fn close(&self) {
        match self.check_process() {
            Ok(()) => self.inner.shared.close_endpoint(),
            Err(Forked) => self.inner.shared.let_go(),
        }
    }

    /// Checks that this process bound the endpoint.
    ///
    /// # Errors
    /// It was forked from the one that did.
    pub fn check_process(&self) -> Result<(), Forked> {
        self.inner.shared.check_owner()
    }

    /// Waits for the next message; replies to calls do not come here.
    pub fn recv(&self) -> Result<Received, RecvError> {
        self.receive_until(None)
    }

    /// [`Endpoint::recv`], for `longest` at most.
    pub fn recv_timeout(&self, longest: Duration) -> Result<Received, RecvError> {
        self.receive_until(deadline_after(longest))
    }

    fn receive_until(&self, until: Option<Instant>) -> Result<Received, RecvError> {
        self.check_process()?;
        let message = self.inner.shared.wait_driving(&*self.inner.shared.inbox, until);
        message.unwrap_or(Err(RecvError::TimedOut)).map(|message| Received::new(message, &self.inner))
    }

    /// The address it is bound to.
    pub fn local_addr(&self) -> SocketAddr {
        self.inner.local
    }

    /// The rate at which packets leave, and why.
    pub fn pace(&self) -> &Pace {
        &self.inner.pace
    }

    /// Counters since it was bound.
    pub fn stats(&self) -> Stats {
        self.inner.shared.counters.read()
    }

    /// Last refusals of this host's kernel, with their reasons: [`Stats::send_errors`], [`Stats::marks_refused`] and
    /// [`Stats::rows_refused`] count them.
    pub fn refused(&self) -> Refused {
        *self.inner.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// [`Endpoint::stats`] as text for Prometheus, and the memory that messages take, with the address that it is bound to as
    /// label `endpoint`; and of every path, where there are several, with its addresses as labels `peer`, `local` and `remote`.
    pub fn prometheus(&self) -> String {
        let local = self.inner.local;
        let mut text = self.stats().prometheus(&[("endpoint", &local.to_string())]);
        text += "# HELP headway_memory_used_bytes Memory that messages take now.\n";
        text += "# TYPE headway_memory_used_bytes gauge\n";
        text += &format!("headway_memory_used_bytes{{endpoint=\"{local}\"}} {}\n", self.memory_used());
        text += &path_text(local, &self.paths());
        text
    }

    /// Bytes of memory that messages take now, of [`crate::Limits::total_bytes`].
    pub fn memory_used(&self) -> u64 {
        self.inner.memory.used()
    }

    pub(crate) fn shared_inner(&self) -> &Arc<Inner> {
        &self.inner
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.close();
        if self.check_process().is_err() {
            // The thread is in the other process: to wait for it, or to give it up, is undefined here.
            std::mem::forget(self.thread.take());
            self.follower.iter_mut().for_each(Follower::let_go);
        } else if let Some(thread) = self.thread.take() {
            // A panic of the thread is a bug, and was reported as it happened.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("local", &self.inner.local).finish_non_exhaustive()
    }
}

/// A request whose reply is waited for; given up when dropped.
pub(crate) struct Call {
    pub(crate) completion: Completion<CallOutcome>,
    peer: SocketAddr,
    number: u64,
    /// True if its outcome is known, so that no reply is expected any more.
    over: AtomicBool,
    shared: Arc<Shared>,
}

impl Call {
    /// Outcome of the call; `None` = nothing in time.
    pub(crate) fn final_outcome(&self, outcome: Option<CallOutcome>) -> CallOutcome {
        self.record_outcome(outcome).unwrap_or(Err(CallError::TimedOut))
    }

    /// Records if its outcome is known by now.
    pub(crate) fn record_outcome(&self, outcome: Option<CallOutcome>) -> Option<CallOutcome> {
        // Relaxed: only `drop` reads it, which has the call to itself.
        self.over.store(outcome.is_some(), Ordering::Relaxed);
        outcome
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // Without this the endpoint would keep an entry for a reply that is not wanted.
        if !*self.over.get_mut() && self.shared.check_owner().is_ok() {
            self.shared.submit_request(Request::Abandon(self.peer, self.number), false);
        }
    }
}

impl Inner {
    pub(crate) fn shared_state(&self) -> &Shared {
        &self.shared
    }

    /// Time-out of a call that does not set its own.
    pub(crate) fn call_timeout(&self) -> Duration {
        self.call_timeout
    }

    pub(crate) fn submit_send(
        &self,
        peer: SocketAddr,
        body: Body,
        options: SendOptions,
        purpose: Purpose,
        only_epoch: Option<u64>,
    ) -> Result<SendHandle, SendError> {
        let completion = Completion::new();
        let waiting = Waiting::Send(completion.clone());
        let ticket = self.submit_message(peer, body, options, purpose, only_epoch, waiting, false)?;
        Ok(SendHandle { ticket, completion, shared: Arc::clone(&self.shared) })
    }

    /// Starts a call. If `stays`, the caller blocks on the result right away.
    pub(crate) fn start_call(
        &self,
        peer: SocketAddr,
        request: Bytes,
        stays: bool,
    ) -> Result<Call, SendError> {
        let completion = Completion::new();
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let waiting = Waiting::Call(number, completion.clone());
        let options = SendOptions::default();
        self.submit_message(
            peer,
            Body::Whole(request),
            options,
            Purpose::Request(number),
            None,
            waiting,
            stays,
        )?;
        Ok(Call { completion, peer, number, over: AtomicBool::new(false), shared: Arc::clone(&self.shared) })
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "they are those of a message, and are named where it is made"
    )]
    fn submit_message(
        &self,
        peer: SocketAddr,
        body: Body,
        options: SendOptions,
        purpose: Purpose,
        only_epoch: Option<u64>,
        waiting: Waiting,
        stays: bool,
    ) -> Result<u64, SendError> {
        self.shared.check_owner()?;
        let length = body.bytes();
        if length > self.largest {
            return Err(SendError::TooLong { bytes: length, limit: self.largest });
        }
        // Reserved before the driver is locked: a full endpoint refuses without delaying the thread that drives
        // it.
        let charge =
            self.memory.reserve(body.held_bytes()).ok_or(SendError::Full { scope: "of this endpoint" })?;
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        let command = Command { ticket, peer, purpose, body, options, only_epoch, charge };
        self.shared.submit_request(Request::Send(command, waiting), stays);
        Ok(ticket)
    }
}

impl CallHandle {
    /// Host that was asked.
    pub fn peer(&self) -> SocketAddr {
        self.0.peer
    }

    /// Waits for the reply, for as long as the peer answers.
    pub fn wait(self) -> Result<Bytes, CallError> {
        self.0.shared.check_owner().map_err(SendError::from)?;
        self.0.final_outcome(self.0.shared.wait_driving(&self.0.completion, None))
    }

    /// [`CallHandle::wait`] for tasks.
    #[cfg(feature = "tokio")]
    pub async fn reply(self) -> Result<Bytes, CallError> {
        // No thread of a forked child would ever complete the call.
        self.0.shared.check_owner().map_err(SendError::from)?;
        let outcome = self.0.completion.clone().await;
        self.0.final_outcome(Some(outcome))
    }

    /// The reply, once, if it is there.
    pub fn try_wait(&self) -> Option<Result<Bytes, CallError>> {
        if let Err(forked) = self.0.shared.check_owner() {
            return Some(Err(SendError::from(forked).into()));
        }
        self.0.record_outcome(self.0.completion.take_result())
    }

    /// Waits for `longest` at most; `None` without a reply by then. The call goes on.
    pub fn wait_timeout(&self, longest: Duration) -> Option<Result<Bytes, CallError>> {
        if let Err(forked) = self.0.shared.check_owner() {
            return Some(Err(SendError::from(forked).into()));
        }
        self.0.record_outcome(self.0.shared.wait_driving(&self.0.completion, deadline_after(longest)))
    }
}

impl fmt::Debug for CallHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallHandle").field("peer", &self.0.peer).finish_non_exhaustive()
    }
}

impl SendHandle {
    /// Names the message towards an observer.
    pub fn ticket(&self) -> u64 {
        self.ticket
    }

    /// Waits until the message is acknowledged; when that was, on the endpoint's clock.
    pub fn wait(self) -> Result<Time, SendError> {
        self.shared.check_owner()?;
        self.shared.wait_driving(&self.completion, None).unwrap_or(Err(SendError::Closed))
    }

    /// [`SendHandle::wait`] for tasks.
    #[cfg(feature = "tokio")]
    pub async fn acknowledged(self) -> Result<Time, SendError> {
        self.shared.check_owner()?;
        self.completion.await
    }

    /// The outcome, once, if it is known.
    pub fn try_wait(&self) -> Option<Result<Time, SendError>> {
        if let Err(forked) = self.shared.check_owner() {
            return Some(Err(forked.into()));
        }
        self.completion.take_result()
    }

    /// Waits for `longest` at most; `None` when the outcome is not known by then.
    pub fn wait_timeout(&self, longest: Duration) -> Option<Result<Time, SendError>> {
        if let Err(forked) = self.shared.check_owner() {
            return Some(Err(forked.into()));
        }
        self.shared.wait_driving(&self.completion, deadline_after(longest))
    }
}

impl fmt::Debug for SendHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendHandle").field("ticket", &self.ticket).finish_non_exhaustive()
    }
}

impl Received {
    pub(crate) fn new(message: Arrived, inner: &Arc<Inner>) -> Received {
        let Arrived { peer, peer_epoch, message, purpose, bytes, at, charges } = message;
        let inner = Arc::clone(inner);
        Received { peer, bytes, message, at, purpose, peer_epoch, inner, _charges: charges }
    }

    /// True if the sender waits for a reply.
    pub fn wants_reply(&self) -> bool {
        matches!(self.purpose, Purpose::Request(_))
    }

    /// Checks the process: see [`Endpoint::check_process`].
    ///
    /// # Errors
    /// This process was forked from the one that received the message.
    pub fn check_process(&self) -> Result<(), Forked> {
        self.inner.shared.check_owner()
    }

    /// Bytes of a reply at most.
    pub fn longest_reply(&self) -> u64 {
        self.inner.largest
    }

    /// Replies to a request. The reply goes to the incarnation of the peer that asked, or fails with
    /// [`SendError::PeerRestarted`].
    ///
    /// To a message that is not a request the answer is a plain message, to the same incarnation.
    pub fn reply(&self, bytes: impl Into<Bytes>) -> Result<SendHandle, SendError> {
        let purpose = match self.purpose {
            Purpose::Request(number) => Purpose::Reply(number),
            Purpose::Plain | Purpose::Reply(_) => Purpose::Plain,
        };
        let options = SendOptions::default();
        self.inner.submit_send(self.peer, Body::Whole(bytes.into()), options, purpose, Some(self.peer_epoch))
    }
}

impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Received")
            .field("peer", &self.peer)
            .field("message", &self.message)
            .field("bytes", &self.bytes.len())
            .field("wants_reply", &self.wants_reply())
            .finish_non_exhaustive()
    }
}

fn fill_random(bytes: &mut [u8]) -> Result<(), BindError> {
    let fail = |error: getrandom::Error| io_error("reading random bytes")(io::Error::other(error));
    getrandom::fill(bytes).map_err(fail)
}

/// Random name of an incarnation; 0 is not used.
fn random_epoch() -> Result<u64, BindError> {
    let mut bytes = [0; 8];
    fill_random(&mut bytes)?;
    // 0 stands for an incarnation that is not known.
    Ok(u64::from_ne_bytes(bytes).max(1))
}

fn random_secret() -> Result<Secret, BindError> {
    let mut secret = Secret([0; 16]);
    fill_random(&mut secret.0)?;
    Ok(secret)
}
