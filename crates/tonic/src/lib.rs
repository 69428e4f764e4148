//! gRPC over Headway's messages: a client and a server made by tonic run over a datacenter transport, with unary calls.
//!
//! A server changes one line, and a client another:
//!
//! ```text
//! use headway_tonic::Server;                                   // instead of tonic::transport::Server
//! Server::builder().add_service(GreeterServer::new(greeter)).serve("127.0.0.1:50051".parse()?).await?;
//!
//! let channel = headway_tonic::Channel::connect("127.0.0.1:50051")?;      // instead of Channel::from_static(..)
//! let mut client = GreeterClient::new(channel);
//! ```
//!
//! Each unary call is one request and its reply, which `headway-host` carries: no connection is set up, calls do not wait for
//! each other, and the transport decides which goes first. Metadata, trailers, compression and `grpc-timeout` are those of gRPC.
//! A streaming call gets the status `Unimplemented`. docs/grpc.md is the guide.

mod body;
mod channel;
mod deadline;
mod error;
mod server;
mod wire;

pub use channel::{Channel, ConnectError};
pub use server::{Peer, ServeError, Server};
