//! The code of the tests' services, which is made of `tests/proto` as tonic makes it of every service; `tests/code.rs` compares it.

#[allow(missing_docs, unreachable_pub, clippy::all, reason = "it is generated")]
#[rustfmt::skip]
#[path = "generated/helloworld.rs"]
pub(crate) mod helloworld;
#[allow(missing_docs, unreachable_pub, clippy::all, reason = "it is generated")]
#[rustfmt::skip]
#[path = "generated/routeguide.rs"]
pub(crate) mod routeguide;
