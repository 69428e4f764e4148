//! The testbed's own tests; the matrix of transports and the soak are separate programs.

#[cfg(feature = "af-xdp")]
mod af_xdp;
#[path = "../common/mod.rs"]
mod common;
mod conformance;
mod incast;
mod kernel;
mod stage;
