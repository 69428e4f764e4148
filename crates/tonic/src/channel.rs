//! The client's side.

use crate::body::{Whole, collect_whole, count_messages, streaming_status};
use crate::deadline;
use crate::error::call_status;
use crate::wire;
use headway_host::tokio::Endpoint;
use headway_host::{BindError, Config, toward};
use http::{Request, Response};
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tonic::body::Body;
use tonic::{Code, Status};
use tower_service::Service;

/// A server that clients of tonic call: `GreeterClient::new(Channel::connect("10.0.0.2:50051")?)`. Clones share one endpoint.
#[derive(Clone, Debug)]
pub struct Channel {
    endpoint: Arc<Endpoint>,
    peer: SocketAddr,
    call_timeout: Option<Duration>,
}

/// Reason why there is no channel.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The text is not an address with a port; names are not looked up.
    #[error("`{0}` is no address with a port, such as 10.0.0.2:50051 or [2001:db8::2]:50051")]
    Address(String),
    /// This side's endpoint cannot be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
}

impl Channel {
    /// A channel to a server of this machine, with an endpoint of its own. Nothing is sent before the first call.
    ///
    /// # Errors
    /// The text is not an address with a port, or is an address of another machine: [`Channel::connect_with`]
    /// configures which peers are admitted.
    pub fn connect(peer: &str) -> Result<Channel, ConnectError> {
        Channel::connect_with(peer, Config::default())
    }

    /// [`Channel::connect`] with a configuration: the transport, and the peers that may exchange messages with this
    /// endpoint.
    ///
    /// # Errors
    /// As for [`Channel::connect`].
    pub fn connect_with(peer: &str, config: Config) -> Result<Channel, ConnectError> {
        let peer: SocketAddr = peer.parse().map_err(|_| ConnectError::Address(peer.into()))?;
        Ok(Channel::new(Arc::new(Endpoint::bind(toward(peer.ip()), config)?), peer))
    }

    /// A channel to a server over an endpoint that may have other channels.
    pub fn new(endpoint: Arc<Endpoint>, peer: SocketAddr) -> Channel {
        Channel { endpoint, peer, call_timeout: None }
    }

    /// The longest that calls wait which do not say so themselves (`Request::set_timeout`); otherwise it is the endpoint's
    /// `call_timeout`.
    #[must_use]
    pub fn timeout(mut self, longest: Duration) -> Channel {
        self.call_timeout = Some(longest);
        self
    }

    /// The endpoint, for its counters.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    async fn call_unary(self, request: Request<Body>) -> Result<Response<Body>, Status> {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path().to_string();
        // A request with no message at all would be an empty stream.
        let one = collect_whole(body).await?.filter(|body| count_messages(&body.data) == 1);
        let Whole { data, .. } = one.ok_or_else(|| streaming_status(&path))?;
        // The call's own deadline wins over the channel's. The header travels along, so the server gives up
        // too.
        let longest = deadline::parse_timeout(&parts.headers).or(self.call_timeout);
        let request = wire::Request { path, headers: parts.headers, body: data };
        // The status that gRPC gives to what exceeds a limit of its sizes.
        let message =
            request.encode_request().map_err(|error| Status::resource_exhausted(error.to_string()))?;
        let reply = match longest {
            Some(longest) => self.endpoint.call_timeout(self.peer, message, longest).await,
            None => self.endpoint.call(self.peer, message).await,
        };
        let response = wire::Response::decode_response(reply.map_err(call_status)?);
        let response = response.map_err(|error| Status::new(Code::Internal, error.to_string()))?;
        let body = Whole { data: response.body, trailers: response.trailers };
        let mut answer = Response::new(Body::new(body));
        *answer.status_mut() = http::StatusCode::from_u16(response.status)
            .map_err(|_| Status::internal("the peer's response has no status of HTTP"))?;
        *answer.headers_mut() = response.headers;
        Ok(answer)
    }
}

impl Service<Request<Body>> for Channel {
    type Response = Response<Body>;
    type Error = Status;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Status>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        // Always: the endpoint itself refuses messages that it has no memory for, and says so.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.clone().call_unary(request))
    }
}
