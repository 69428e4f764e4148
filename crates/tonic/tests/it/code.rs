//! The code of the tests' services, as tonic makes it of their description; `tests/code.rs` compares it.

#[allow(missing_docs, unreachable_pub, clippy::all, reason = "it is generated")]
#[rustfmt::skip]
#[path = "generated/helloworld.rs"]
pub(crate) mod helloworld;
#[allow(missing_docs, unreachable_pub, clippy::all, reason = "it is generated")]
#[rustfmt::skip]
#[path = "generated/routeguide.rs"]
pub(crate) mod routeguide;
