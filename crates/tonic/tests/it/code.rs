//! The code of the tests' services, as tonic makes it of their description; `tests/code.rs` compares it. Not named
//! `.rs`, because it is not formatted.

#[allow(missing_docs, unreachable_pub, clippy::all, reason = "it is generated")]
#[rustfmt::skip]
#[path = "generated/helloworld.generated"]
pub(crate) mod helloworld;
#[allow(missing_docs, unreachable_pub, clippy::all, reason = "it is generated")]
#[rustfmt::skip]
#[path = "generated/routeguide.generated"]
pub(crate) mod routeguide;
