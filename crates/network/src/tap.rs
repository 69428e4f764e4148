//! Who watches the links of a run.

use headway_packet::Packet;
use headway_units::Time;

/// Sees every packet as it starts on a link, with the marks that the link's port has made.
///
/// A busy switch port is brought up to date late (see the engine), so that packets of different links do not
/// come in order of time: each comes at most the longest [`crate::Network::hop_delay`] of the links
/// late. Those of one link are in order.
pub trait Tap {
    /// `packet` began to be sent on link number `link` at `start`.
    fn started(&mut self, link: u32, start: Time, packet: &Packet);
}
