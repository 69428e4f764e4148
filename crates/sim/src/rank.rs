//! The order of events of one instant.
//!
//! It comes from what an event is, and not from when it was made: whoever simulates a part of the network on its own
//! makes the same events in another order. Only events at one host or one switch have to be in order, since whatever
//! happens at one reaches another a link's delay later. First come changes of the network, then packets by the link
//! that they came over, then what ports and processors of hosts do, then timers, then new flows.

use crate::queue::RANK_BITS;

const CLASS: u32 = RANK_BITS - 2;
const TIMERS: u64 = 1 << CLASS;
const STARTS: u64 = 2 << CLASS;
const ARRIVALS: u64 = 1 << 32;
const OWN_WORK: u64 = 2 << 32;

/// A change of the network, by its number.
pub(crate) fn of_change(number: u32) -> u64 {
    number.into()
}

/// A packet at the end of a link.
#[inline(always)]
pub(crate) fn of_arrival(link: u32) -> u64 {
    ARRIVALS | u64::from(link)
}

/// What a port or a host has to do, by kind and number.
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

/// A message that the processor of its host hands to the machine.
pub(crate) fn of_opening(flow: u32) -> u64 {
    STARTS | ARRIVALS | u64::from(flow)
}
