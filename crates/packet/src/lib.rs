//! The packet that the simulator moves and that real hosts put on the wire.
//!
//! One plain struct of at most one cache line serves every protocol. Each protocol declares with [`packets!`]
//! the meaning of its packets' fields. The wire codec is a view over bytes, separate from this struct.

mod fields;
mod header;
mod packet;
pub mod paths;
mod sack;
pub mod session;
mod sizes;
mod stamps;
mod subflow;
mod view;
mod wire;

pub use fields::{Mutable, WireField};
pub use header::{WIRE_FIELDS, WIRE_HEADER, WIRE_VERSION};
pub use packet::{Ecn, HostId, Packet, PacketFlags, PacketKind};
pub use session::WIRE_FRONT;
pub use sizes::Sizes;
pub use stamps::{CROSSED_FIELDS, HOP_BYTES, HOP_FIELDS, Hop, STAMPS_BYTES, Stamps};
pub use subflow::MOST_SUBFLOWS;
pub use view::{Family, TypedView, View, ViewField, comes_back, rewrite_packet};
pub use wire::{
    CHECK_FIELDS, Envelope, HEADER_CHECK, MUTABLE_BITS, PacketView, SEAL_TAG, UDP_PORT, WireError,
    covered_front, covered_of_cut,
};
