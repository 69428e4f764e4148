//! The contract of a port discipline.

use crate::counters::DropReason;
use crate::demands::DisciplineInfo;
use crate::queues::{Buffer, Lengths, Limit};
use headway_gauges::{Gauge, GaugeInfo};
use headway_packet::{Packet, Sizes};
use headway_params::Params;
use headway_units::{Rate, Time};

/// Properties of a port that its discipline is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortContext {
    /// The port's own rate.
    pub rate: Rate,
    /// Packet sizes of the network.
    pub sizes: Sizes,
    /// Limits of data and control in the buffer.
    pub buffer: Buffer,
    /// Seed of its random choices, where it has any.
    pub seed: u64,
    /// The network's base round trip, where one is known.
    pub round_trip: Option<Time>,
    /// True if its link ends at a host, where receivers control the arrivals.
    pub to_host: bool,
}

/// Buffer space that a scenario asks for; `None` leaves it to the discipline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// Limit of data packets; `None` for the default of the discipline.
    pub data: Option<Limit>,
    /// Limit of control packets; `None` for the default of the discipline.
    pub control: Option<Limit>,
}

/// Treatment of a packet that was not admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// It is dropped.
    Drop,
    /// Its payload is cut off, and its header asks to be queued in its turn. Of data packets only.
    Trim,
    /// The same happens to the last packet of a class, and this one takes its place; if the class is empty, or its
    /// last packet too small to make room, it happens to this one.
    TrimLast {
        /// Class that gives way; it holds data.
        class: usize,
    },
    /// The last packet of a class is dropped, and this one takes its place; if the class is empty, or its
    /// last packet too small to make room or of another kind (control, data), this one is dropped.
    Displace {
        /// Class that gives way.
        from: usize,
        /// The class of the packet that takes the place.
        to: usize,
    },
    /// As [`Overflow::Displace`], but the first packet of the class is dropped.
    DisplaceFirst {
        /// Class that gives way.
        from: usize,
        /// The class of the packet that takes the place.
        to: usize,
    },
    /// It goes back to where it came from.
    Return,
}

/// Packets that wait at a port when neither a scenario nor the discipline says otherwise.
pub const USUAL_LIMIT: Limit = Limit::Packets(128);

/// A packet that asks to be queued.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Time of the arrival.
    pub now: Time,
    /// Packets of its kind (control, or data) that wait already.
    pub packets: u32,
    /// Bytes of those packets.
    pub bytes: u64,
    /// True if a packet of any kind is on the wire, which `packets` does not count.
    pub in_service: bool,
}

/// A packet whose transmission starts.
#[derive(Clone, Copy, Debug)]
pub struct Departing {
    /// Time at which its first bit leaves.
    pub now: Time,
    /// Duration of the transmission.
    pub takes: Time,
    /// Data packets that still wait behind it.
    pub data_waiting: u32,
    /// Bytes of those packets.
    pub data_bytes: u64,
}

/// Rules of one port on enqueue and on dequeue.
pub trait Discipline: Sized {
    /// Parameters that a scenario may set.
    type Params: Params;
    /// Name, summary, paper, rewrites and needs of the discipline.
    const INFO: DisciplineInfo;

    /// True if its rules take a few instructions a packet, so that a call for them would not pay.
    const LIGHT: bool = false;

    /// True if it only queues and drops, so that designs for such ports also run over any other.
    const PLAIN: bool = false;

    /// True if some of its queues can be left out although they hold something: those that the far end of the link
    /// holds back. Rules that advance their turns with each call cannot do that.
    const HOLDABLE: bool = true;

    /// Measurements that [`Discipline::gauges`] reports, in its order.
    const GAUGES: &'static [GaugeInfo] = &[];

    /// The round trip that its parameters set in place of the network's, and the name of the parameter that does; zero
    /// where it is not set. For disciplines that declare [`Need::RoundTrip`](crate::Need::RoundTrip).
    fn own_round_trip(params: &Self::Params) -> Option<(&'static str, Time)> {
        let _ = params;
        None
    }

    /// True if headers that it makes of data are served before all data, without a bound. Data may starve then for as
    /// long as senders repeat it: NDP §3.1 bounds them for that.
    fn headers_starve_data(params: &Self::Params) -> bool {
        let _ = params;
        false
    }

    /// The rules for one port.
    fn new(params: &Self::Params, port: &PortContext) -> Self;

    /// Buffer space of each switch port, where a scenario leaves it open.
    fn buffer(params: &Self::Params, sizes: &Sizes, space: Space) -> Buffer {
        let _ = (params, sizes);
        Buffer { data: space.data.unwrap_or(USUAL_LIMIT), control: space.control.unwrap_or(USUAL_LIMIT) }
    }

    /// Number of queues that it wants, at most [`MOST_CLASSES`](crate::MOST_CLASSES); lower classes are served first,
    /// unless it chooses. One that does may queue in classes beyond these: they are made as they are needed.
    fn classes(&self) -> usize;

    /// The queue of a packet.
    fn class_of(&self, packet: &Packet) -> usize;

    /// Decides about a packet that asks to be queued, before the buffer's room is checked: it may be marked, or
    /// refused for a reason of the discipline's own.
    fn admit(
        &mut self,
        port: &PortContext,
        arrival: &Arrival,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        let _ = (port, arrival, packet);
        Ok(())
    }

    /// [`Discipline::admit`], with the length of every queue at hand.
    #[inline(always)]
    fn admit_by_class<L: Lengths>(
        &mut self,
        port: &PortContext,
        arrival: &Arrival,
        lengths: &L,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        let _ = lengths;
        self.admit(port, arrival, packet)
    }

    /// Treatment of a packet that was not admitted, for whatever reason.
    fn overflow(&mut self, packet: &Packet) -> Overflow {
        let _ = packet;
        Overflow::Drop
    }

    /// The last answer of [`Discipline::overflow`] is not carried out: the port's link is down, and the packet is
    /// dropped.
    fn not_done(&mut self) {}

    /// [`Discipline::admit_by_class`] and [`Discipline::class_of`] in one.
    #[doc(hidden)]
    #[inline(always)]
    fn arrive<L: Lengths>(
        &mut self,
        port: &PortContext,
        arrival: &Arrival,
        lengths: &L,
        packet: &mut Packet,
    ) -> Result<usize, DropReason> {
        self.admit_by_class(port, arrival, lengths, packet)?;
        Ok(self.class_of(packet))
    }

    /// True if [`Discipline::choose`] is called; otherwise the lowest class that holds something is served.
    const CHOOSES: bool = false;

    /// The class that is served next, `now`; bit `c` of `occupied` says that class `c` holds something, that of the last
    /// of [`MOST_CLASSES`](crate::MOST_CLASSES) that it or a later one does, and one does. Where classes are held back, it is one that is not.
    #[inline]
    fn choose(&mut self, now: Time, occupied: u32) -> usize {
        let _ = now;
        occupied.trailing_zeros() as usize
    }

    /// True if packets may be held back although the wire is free: then [`Discipline::eligible_at`] is called, and
    /// [`Discipline::choose`] too, and no packet goes past the queues. Such a port has at most 31 classes.
    const SHAPES: bool = false;

    /// The instant before which nothing may leave that waits in the `occupied` classes, of which there is one at
    /// least; past when something may leave at once.
    #[inline]
    fn eligible_at(&self, occupied: u32) -> Time {
        let _ = occupied;
        Time::ZERO
    }

    /// Treats a packet as its transmission starts.
    fn depart(&mut self, departing: &Departing, packet: &mut Packet) {
        let _ = (departing, packet);
    }

    /// [`Discipline::depart`], with the length of every queue behind the packet at hand.
    #[inline(always)]
    fn depart_by_class<L: Lengths>(&mut self, departing: &Departing, lengths: &L, packet: &mut Packet) {
        let _ = lengths;
        self.depart(departing, packet);
    }

    /// A packet that waited is thrown out, because the port's link went down; `lengths` is what still waits.
    fn discard<L: Lengths>(&mut self, now: Time, lengths: &L, packet: &Packet) {
        let _ = (now, lengths, packet);
    }

    /// The port has another rate from `now` on; `fresh` are the same rules, made for a port of that rate. What was
    /// derived from the rate is taken from them, and measurements stay.
    fn retune(&mut self, now: Time, fresh: Self) {
        let _ = (now, fresh);
    }

    /// Measurements of the rules at their port, in addition to the counters of every port: all of
    /// [`Discipline::GAUGES`].
    fn gauges<L: Lengths>(&self, now: Time, lengths: &L) -> Vec<Gauge> {
        let _ = (now, lengths);
        Vec::new()
    }
}
