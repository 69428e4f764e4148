//! The asynchronous twin of [`crate::Endpoint`].

use crate::completion::Completion;
use crate::config::Config;
use crate::core::{Measured, PathInfo, SendOptions};
use crate::counters::Stats;
use crate::endpoint::{CallHandle, Received, SendHandle};
use crate::error::{AddressError, BindError, CallError, Forked, RecvError, SendError};
use crate::leaving::Refused;
use crate::pace::Pace;
use crate::request::{AddressOutcome, Request};
use crate::stream::Source;
use bytes::Bytes;
use headway_units::Time;
use std::future::poll_fn;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// An endpoint whose methods wait as tasks do. Every future may be dropped: a dropped `recv` loses no message,
/// a dropped `send` is sent all the same, a dropped `call` gives its reply up.
#[derive(Debug)]
pub struct Endpoint {
    blocking: crate::Endpoint,
    call_timeout: Duration,
}

impl Endpoint {
    /// See [`crate::Endpoint::bind`], which this is; it does not wait for anything.
    pub fn bind(address: impl ToSocketAddrs, config: Config) -> Result<Endpoint, BindError> {
        let call_timeout = Duration::from_nanos(config.call_timeout.0 / 1000);
        Ok(Endpoint { blocking: crate::Endpoint::bind_for(address, config, false)?, call_timeout })
    }

    /// Sends a message and waits until the peer has acknowledged it.
    pub async fn send(&self, peer: SocketAddr, bytes: impl Into<Bytes>) -> Result<Time, SendError> {
        self.send_with(peer, bytes, SendOptions::default()).await
    }

    /// [`Endpoint::send`] with a say in how.
    pub async fn send_with(
        &self,
        peer: SocketAddr,
        bytes: impl Into<Bytes>,
        options: SendOptions,
    ) -> Result<Time, SendError> {
        self.blocking.send_with(peer, bytes, options)?.completion.await
    }

    /// Begins to send a message. An error now means that nothing was sent.
    pub fn send_nowait(&self, peer: SocketAddr, bytes: impl Into<Bytes>) -> Result<SendHandle, SendError> {
        self.blocking.send_nowait(peer, bytes)
    }

    /// Sends a message whose bytes are made as they leave, and waits until the peer has acknowledged it: it takes no memory,
    /// however long it is.
    pub async fn send_stream(
        &self,
        peer: SocketAddr,
        bytes: u64,
        source: Arc<dyn Source>,
        options: SendOptions,
    ) -> Result<Time, SendError> {
        self.blocking.send_stream(peer, bytes, source, options)?.completion.await
    }

    /// Sends a request and waits for its reply.
    pub async fn call(&self, peer: SocketAddr, request: impl Into<Bytes>) -> Result<Bytes, CallError> {
        self.call_timeout(peer, request, self.call_timeout).await
    }

    /// [`Endpoint::call`] with its own longest wait.
    pub async fn call_timeout(
        &self,
        peer: SocketAddr,
        request: impl Into<Bytes>,
        longest: Duration,
    ) -> Result<Bytes, CallError> {
        let call = self.blocking.shared_inner().start_call(peer, request.into(), true)?;
        // A clone: the call itself stays here, and gives the reply up when this future is dropped.
        let reply = ::tokio::time::timeout(longest, call.completion.clone()).await;
        call.final_outcome(reply.ok())
    }

    /// Begins a call. An error now means that nothing was sent.
    pub fn call_nowait(&self, peer: SocketAddr, request: impl Into<Bytes>) -> Result<CallHandle, SendError> {
        self.blocking.call_nowait(peer, request)
    }

    /// Checks that this process bound the endpoint.
    ///
    /// # Errors
    /// It was forked from the one that did.
    pub fn check_process(&self) -> Result<(), Forked> {
        self.blocking.check_process()
    }

    /// Waits for the next message.
    pub async fn recv(&self) -> Result<Received, RecvError> {
        let inner = self.blocking.shared_inner();
        let message = poll_fn(|context| {
            // Asked at each poll: the process may have been forked since the last one.
            inner.shared_state().check_owner()?;
            match inner.shared_state().inbox.poll_take(context.waker()) {
                Some(message) => Poll::Ready(message),
                None => Poll::Pending,
            }
        });
        message.await.map(|message| Received::new(message, inner))
    }

    /// [`Endpoint::recv`], for `longest` at most.
    pub async fn recv_timeout(&self, longest: Duration) -> Result<Received, RecvError> {
        ::tokio::time::timeout(longest, self.recv()).await.unwrap_or(Err(RecvError::TimedOut))
    }

    /// Measurements of the transport's machine; `None` when the endpoint is closed.
    pub async fn measured(&self) -> Option<Measured> {
        // The driver may seal and send while it answers, and a forked child has its parent's keys and numbers.
        self.check_process().ok()?;
        let completion = Completion::new();
        self.blocking
            .shared_inner()
            .shared_state()
            .submit_request(Request::Measure(completion.clone()), false);
        completion.await
    }

    /// Another address of this host: see [`crate::Endpoint::add_address`].
    ///
    /// # Errors
    /// Those of [`AddressError`]; the endpoint goes on as before.
    pub async fn add_address(&self, address: SocketAddr) -> Result<SocketAddr, AddressError> {
        self.change_address(|completion| Request::AddAddress(address, completion)).await
    }

    /// An address is gone for good: see [`crate::Endpoint::remove_address`].
    ///
    /// # Errors
    /// It is none of the endpoint's, or its last one.
    pub async fn remove_address(&self, address: SocketAddr) -> Result<SocketAddr, AddressError> {
        self.change_address(|completion| Request::RemoveAddress(address, completion)).await
    }

    async fn change_address(
        &self,
        request: impl FnOnce(Completion<AddressOutcome>) -> Request,
    ) -> Result<SocketAddr, AddressError> {
        self.check_process().map_err(|_| AddressError::Closed)?;
        let completion = Completion::new();
        let shared = self.blocking.shared_inner().shared_state();
        shared.submit_request(request(completion.clone()), false);
        let outcome = completion.await;
        shared.sockets_changed();
        outcome
    }

    /// State and counters of the paths to peers, where one end has several addresses.
    pub async fn paths(&self) -> Vec<PathInfo> {
        if self.check_process().is_err() {
            return Vec::new();
        }
        let completion = Completion::new();
        self.blocking.shared_inner().shared_state().submit_request(Request::Paths(completion.clone()), false);
        completion.await.unwrap_or_default()
    }

    /// Closes it without waiting: whoever waits for it gets [`SendError::Closed`] or [`RecvError::Closed`].
    pub fn close(&self) {
        self.blocking.close();
    }

    /// Replies to a request and waits until the peer has acknowledged the reply.
    pub async fn reply(&self, request: &Received, bytes: impl Into<Bytes>) -> Result<Time, SendError> {
        request.reply(bytes)?.completion.await
    }

    /// The address it is bound to.
    pub fn local_addr(&self) -> SocketAddr {
        self.blocking.local_addr()
    }

    /// The rate at which packets leave, and why.
    pub fn pace(&self) -> &Pace {
        self.blocking.pace()
    }

    /// Bytes of memory that messages take now, of [`crate::Limits::total_bytes`].
    pub fn memory_used(&self) -> u64 {
        self.blocking.memory_used()
    }

    /// Last refusals of this host's kernel, with their reasons.
    pub fn refused(&self) -> Refused {
        self.blocking.refused()
    }

    /// Counters since it was bound.
    pub fn stats(&self) -> Stats {
        self.blocking.stats()
    }

    /// Counters for Prometheus: see [`crate::Endpoint::prometheus`].
    pub fn prometheus(&self) -> String {
        self.blocking.prometheus()
    }
}
