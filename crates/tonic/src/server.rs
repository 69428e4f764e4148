//! The server's side.

use crate::body::{Whole, collect_whole, streaming_status};
use crate::deadline;
use crate::wire;
use bytes::Bytes;
use headway_host::tokio::Endpoint;
use headway_host::{BindError, Config, Received, RecvError};
use http::{HeaderMap, Request, Response};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt;
use std::future::{Future, pending};
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use tonic::body::Body;
use tonic::server::NamedService;
use tonic::{Code, Status};
use tower_service::Service;

type Answer = Pin<Box<dyn Future<Output = Response<Body>> + Send>>;
type Route = Box<dyn Fn(Request<Body>) -> Answer + Send + Sync>;

/// A server for the services that tonic makes: `Server::builder().add_service(GreeterServer::new(greeter)).serve(address)`.
#[derive(Default)]
pub struct Server {
    config: Config,
    routes: BTreeMap<&'static str, Route>,
}

/// The caller's address, among the extensions of a request: `request.extensions().get::<Peer>()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub SocketAddr);

/// Reasons for which a server ended, or did not begin.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The endpoint cannot be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The endpoint's socket failed.
    #[error(transparent)]
    Recv(#[from] RecvError),
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("services", &self.routes.keys()).finish_non_exhaustive()
    }
}

impl Server {
    /// A server without services, of this machine alone.
    pub fn builder() -> Server {
        Server::default()
    }

    /// Takes the transport, and the admitted callers, from a configuration.
    #[must_use]
    pub fn config(mut self, config: Config) -> Server {
        self.config = config;
        self
    }

    /// Adds a service that tonic makes, with or without interceptors. One of the same name takes its place.
    #[must_use]
    pub fn add_service<S, B>(mut self, service: S) -> Server
    where
        S: Service<Request<Body>, Response = Response<B>, Error = Infallible> + NamedService,
        S: Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let route = move |request: Request<Body>| -> Answer {
            // Tower's `call` needs `&mut self`, and calls run at the same time; services of tonic are cheap to
            // clone.
            let mut service = service.clone();
            Box::pin(async move {
                let ready = std::future::poll_fn(|context| service.poll_ready(context)).await;
                // The error type is `Infallible`: there is no other pattern.
                let Ok(()) = ready;
                let Ok(response) = service.call(request).await;
                response.map(Body::new)
            })
        };
        self.routes.insert(S::NAME, Box::new(route));
        self
    }

    /// Serves at an address until the endpoint's socket fails. Within a tokio runtime.
    ///
    /// # Errors
    /// The endpoint cannot be bound, or failed.
    pub async fn serve(self, address: SocketAddr) -> Result<(), ServeError> {
        self.serve_with_shutdown(address, pending()).await
    }

    /// [`Server::serve`] until `signal` is ready. Calls under way are answered first.
    ///
    /// # Errors
    /// As for [`Server::serve`].
    pub async fn serve_with_shutdown(
        self,
        address: SocketAddr,
        signal: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let endpoint = Endpoint::bind(address, self.config.clone())?;
        Ok(self.serve_endpoint(&endpoint, signal).await?)
    }

    /// Serves the requests of an endpoint until `signal` is ready. Calls under way are answered first.
    ///
    /// # Errors
    /// The endpoint's socket failed; the endpoint belongs to another process.
    pub async fn serve_endpoint(
        self,
        endpoint: &Endpoint,
        signal: impl Future<Output = ()>,
    ) -> Result<(), RecvError> {
        let routes = Arc::new(self.routes);
        let mut signal = pin!(signal);
        let mut calls = tokio::task::JoinSet::new();
        loop {
            let mut message = pin!(endpoint.recv());
            let next = std::future::poll_fn(|context| {
                // Those that are over make room.
                while let Poll::Ready(Some(_)) = calls.poll_join_next(context) {}
                match signal.as_mut().poll(context) {
                    Poll::Ready(()) => Poll::Ready(None),
                    Poll::Pending => message.as_mut().poll(context).map(Some),
                }
            });
            match next.await {
                None => break,
                Some(message) => {
                    let message = message?;
                    // A message whose sender waits for no reply is not a call.
                    if message.wants_reply() {
                        calls.spawn(answer_call(Arc::clone(&routes), message));
                    }
                }
            }
        }
        // Replies count as sent when their peers have acknowledged them (`answer_call`), so a client never loses one
        // to a shutdown.
        while calls.join_next().await.is_some() {}
        Ok(())
    }
}

/// Answers one call.
async fn answer_call(routes: Arc<BTreeMap<&'static str, Route>>, message: Received) {
    let response = match wire::Request::decode_request(message.bytes.clone()) {
        Ok(request) => route_request(&routes, request, message.peer).await,
        Err(error) => failed_response(&Status::new(Code::InvalidArgument, error.to_string())),
    };
    let bytes =
        // The second encoding has few headers and no body, and cannot be too long.
        response.encode_response().or_else(|error| failed_response(&Status::resource_exhausted(error.to_string())).encode_response());
    // A peer that is gone gets no reply; a reply that is too long, or does not fit into memory, becomes a status.
    let Ok(bytes) = bytes else { return };
    let sent = match message.reply(bytes) {
        Ok(sent) => sent,
        Err(error) => {
            let status = Status::resource_exhausted(format!("the reply: {error}"));
            let Ok(Ok(sent)) = failed_response(&status).encode_response().map(|bytes| message.reply(bytes))
            else {
                return;
            };
            sent
        }
    };
    let _ = sent.acknowledged().await;
}

async fn route_request(
    routes: &BTreeMap<&'static str, Route>,
    request: wire::Request,
    peer: SocketAddr,
) -> wire::Response {
    let service = request.path.strip_prefix('/').and_then(|path| path.split_once('/'));
    let route = service.and_then(|(service, _)| routes.get(service));
    let Some(route) = route else {
        return failed_response(&Status::unimplemented(format!(
            "{}: there is no such service",
            request.path
        )));
    };
    let Ok(uri) = request.path.parse::<http::Uri>() else {
        return failed_response(&Status::new(Code::InvalidArgument, "the path of the call is none"));
    };
    let longest = deadline::parse_timeout(&request.headers);
    let path = request.path;
    let mut http = Request::new(Body::new(Whole { data: request.body, trailers: HeaderMap::new() }));
    // gRPC over HTTP/2 has no other method and version, so neither travels; tonic expects both.
    *http.method_mut() = http::Method::POST;
    *http.version_mut() = http::Version::HTTP_2;
    *http.uri_mut() = uri;
    *http.headers_mut() = request.headers;
    http.extensions_mut().insert(Peer(peer));
    let response = match longest {
        None => route(http).await,
        Some(longest) => match tokio::time::timeout(longest, route(http)).await {
            Ok(response) => response,
            Err(_) => return failed_response(&Status::deadline_exceeded("the caller waits no longer")),
        },
    };
    let (parts, body) = response.into_parts();
    match collect_whole(body).await {
        Ok(Some(Whole { data, trailers })) => {
            wire::Response { status: parts.status.as_u16(), headers: parts.headers, trailers, body: data }
        }
        Ok(None) => failed_response(&streaming_status(&path)),
        Err(status) => failed_response(&status),
    }
}

/// The response that has a status alone.
fn failed_response(status: &Status) -> wire::Response {
    // The status goes into headers, as gRPC's "trailers-only" response has it.
    let response = status.clone().into_http::<Body>();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    wire::Response { status, headers, trailers: HeaderMap::new(), body: Bytes::new() }
}
