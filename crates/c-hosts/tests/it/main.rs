//! The integration tests of the C interface of hosts, in one program that links once.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "runs a C compiler and its programs, and reads what they write"
)]

mod border;
mod header;
mod programs;
