//! The C interface of messages between real hosts: `include/headway.h`, which a test makes of [`border`] and [`status`].
//! docs/c-hosts.md explains it.
//!
//! [`border`] turns pointers into references, texts and answers, and keeps panics on this side. All else is
//! `headway-host`.

pub mod border;
pub mod paths;
pub mod status;
