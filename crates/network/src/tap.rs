//! Observers of a run's links.

use headway_packet::Packet;
use headway_units::Time;

/// Sees every packet as it starts on a link, with the marks that the link's port has made.
///
/// Packets come in order of time, and those of one instant in the order of their links.
pub trait Tap {
    /// `packet` began to be sent on link number `link` at `start`.
    fn started(&mut self, link: u32, start: Time, packet: &Packet);
}
