//! The integration tests of `headway-host`, one module a subject, in one program that links once.

mod core;
mod cut;
#[cfg(feature = "tracing")]
mod events;
mod flood;
mod fork;
mod heavy_loss;
mod late;
mod links;
mod loopback;
mod lossy;
mod meeting;
mod nonces;
mod one_address;
mod paths;
mod queue;
mod receive;
mod round_trip;
mod secrecy;
mod stamps;
mod turns;
mod wire;
