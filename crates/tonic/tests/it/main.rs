//! The integration tests of gRPC over Headway, in one program that links once.
#![allow(clippy::disallowed_methods, reason = "real sockets and real time")]

mod code;
mod greeter;
mod guide;
mod messages;
