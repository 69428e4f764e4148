//! The order of events of one instant.
//!
//! It comes from the kind and place of an event, and not from when it was made: a shard that simulates its part alone
//! makes the same events in another order. Only events at one host or one switch have to be in order, since whatever
//! happens at one reaches another a link's delay later. First come changes of the network, then packets by the link
//! that they came over, then what ports and processors of hosts do, then packets that a switch sends back, then timers,
//! then new flows.
//!
//! Two events of one instant with the same rank are the same event twice, or of different hosts. A link brings one
//! packet at a time. Where faults bring two at once, their content decides.

use crate::queue::RANK_BITS;
use headway_packet::Packet;
use headway_primitives::mix;

const TIMERS: u64 = 1 << (RANK_BITS - 2);
const STARTS: u64 = 2 << (RANK_BITS - 2);
const ARRIVALS: u64 = 1 << (RANK_BITS - 4);
const OWN_WORK: u64 = 2 << (RANK_BITS - 4);
const RETURNS: u64 = 3 << (RANK_BITS - 4);
/// Bits for which of several packets of one link it is.
const WHICH: u32 = 10;

/// A change of the network, by its number.
pub(crate) fn of_change(number: u32) -> u64 {
    number.into()
}

/// A packet at the end of a link that brings one at a time.
#[inline(always)]
pub(crate) fn of_arrival(link: u32) -> u64 {
    ARRIVALS | u64::from(link) << WHICH
}

/// A packet at the end of a link that a fault may make bring others at once. Packets of equal rank may come in any order.
pub(crate) fn of_one_arrival(link: u32, packet: &Packet) -> u64 {
    let what = u64::from(packet.tag) << 32 ^ u64::from(packet.index) << 4 ^ packet.kind as u64;
    // The highest bits of the mixture are the best mixed.
    of_arrival(link) | mix(what) >> (64 - WHICH)
}

/// A pause frame at the end of a link, one of several of an instant in this order, if they do not take the wire.
pub(crate) fn of_frame(link: u32, place: u32) -> u64 {
    // In the upper half of the places of the link, beyond those of packets that come one at a time.
    of_arrival(link) | 1 << (WHICH - 1) | u64::from(place.min((1 << (WHICH - 1)) - 1))
}

/// A packet that the processor of a host is done with, one of several in this order.
pub(crate) fn of_delivery(host: u32, place: usize) -> u64 {
    // Beyond 1,023 they share a rank: hosts that take time have one shard, which makes events in one order.
    of_arrival(host) | (place as u64).min((1 << WHICH) - 1)
}

/// A packet that a full port sends back by another port of its switch.
pub(crate) fn of_return(port: u32) -> u64 {
    RETURNS | u64::from(port)
}

/// Rank of work at a port or a host, by kind and number.
#[inline(always)]
pub(crate) fn of_work(what: u32) -> u64 {
    OWN_WORK | u64::from(what)
}

/// A host's deadline.
#[inline(always)]
pub(crate) fn of_timer(host: u32) -> u64 {
    TIMERS | u64::from(host)
}

/// New flows of a host.
pub(crate) fn of_start(host: u32) -> u64 {
    STARTS | u64::from(host)
}

/// A flow that waited for others begins, or a step between flows is over; those that are given while the run goes on have
/// their place in the order of all such, after the nodes that are numbered beforehand.
pub(crate) fn of_node(node: u64) -> u64 {
    // Masked, so that a number never reaches the bits of the kind.
    STARTS | OWN_WORK | node & (OWN_WORK / 2 - 1)
}

/// A message that the processor of its host hands to the machine.
pub(crate) fn of_opening(flow: u32) -> u64 {
    STARTS | ARRIVALS | u64::from(flow)
}
