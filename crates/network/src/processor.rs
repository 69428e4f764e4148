//! Costs of a host's processor and interface: time for packets and messages, and waits for more of them.
//!
//! This module depends on no clock and no network. A driver asks a [`Processor`] when work will be done that is handed
//! to it now, and [`merged`] which packets of an interrupt are handled as one.

use headway_packet::Packet;
use headway_units::Time;
use rustc_hash::FxHashMap;

/// Time that hosts take beyond that of their links; nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCosts {
    /// Time of the processor for each packet sent or received, or for each burst where there are bursts.
    pub packet: Time,
    /// Time of the processor for each message started, and for each delivered.
    pub message: Time,
    /// Time for which the first packet that an interface receives waits for others, to be handed up with them.
    pub coalesce: Time,
    /// Packets at most that wait so; 0 for any number.
    pub coalesce_packets: u32,
    /// Bytes on the wire of packets of one message that are handled as one at most; 0 for each alone.
    pub burst: u64,
}

impl HostCosts {
    /// True if hosts take no time at all, and hand every packet over alone.
    pub fn is_free(&self) -> bool {
        !self.holds_arrivals() && self.message == Time::ZERO && self.burst == 0
    }

    /// True if packets that arrive reach the machine later than by their link.
    pub fn holds_arrivals(&self) -> bool {
        self.packet > Time::ZERO || self.coalesce > Time::ZERO
    }

    /// True if this number of packets at a receiver's interface ends the wait for further packets.
    pub fn is_enough(&self, packets: usize) -> bool {
        self.coalesce_packets > 0 && packets >= self.coalesce_packets as usize
    }

    /// True if a packet is handled as one with those of `so_far` bytes before it, the first of which is `first`: data
    /// of the same flow, within the burst.
    pub fn joins(&self, first: &Packet, so_far: u64, packet: &Packet) -> bool {
        let alike = first.is_data() && packet.is_data() && first.tag == packet.tag && first.dst == packet.dst;
        alike && so_far + u64::from(packet.wire) <= self.burst
    }
}

/// A host's one processor: it does what it is given in the order in which it is given it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Processor {
    free_at: Time,
}

impl Processor {
    /// Time at which work of this length is done that is handed over `now`: after all that was handed over before. Work
    /// that takes no time waits for nothing.
    pub fn done(&mut self, now: Time, work: Time) -> Time {
        if work == Time::ZERO {
            return now;
        }
        self.free_at = self.free_at.max(now).saturating_add(work);
        self.free_at
    }
}

/// Groups of packets that are handled as one, among those handed up together: for each packet the number of its group,
/// groups being in order of their first packets. Packets of a flow keep their order: what cannot be merged with those
/// before it ends their group.
pub fn merged<'p>(costs: &HostCosts, packets: impl Iterator<Item = &'p Packet>) -> Vec<usize> {
    let mut groups = 0;
    // By flow: its last group, the first packet of it, and its bytes.
    let mut last: FxHashMap<u32, (usize, &Packet, u64)> = FxHashMap::default();
    let group = |packet: &'p Packet| {
        if let Some((number, first, bytes)) = last.get_mut(&packet.tag)
            && costs.joins(first, *bytes, packet)
        {
            *bytes += u64::from(packet.wire);
            return *number;
        }
        last.insert(packet.tag, (groups, packet, u64::from(packet.wire)));
        groups += 1;
        groups - 1
    };
    packets.map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_packet::{HostId, PacketKind};

    #[test]
    fn a_processor_does_one_thing_at_a_time_and_rests_between() {
        let mut processor = Processor::default();
        let done: Vec<u64> = [0, 0, 1, 30]
            .into_iter()
            .map(|at| processor.done(Time::us(at), Time::us(10)).0 / 1_000_000)
            .collect();
        assert_eq!(done, [10, 20, 30, 40], "three in a row, and one that finds it idle");
        assert_eq!(
            processor.done(Time::us(31), Time::ZERO),
            Time::us(31),
            "what takes no time waits for nothing"
        );
        assert_eq!(processor.done(Time(u64::MAX - 1), Time::us(1)), Time::MAX);
    }

    fn packet(kind: PacketKind, tag: u32, wire: u16) -> Packet {
        let mut packet = Packet::new(kind, HostId(0), HostId(1), 0);
        (packet.tag, packet.wire) = (tag, wire);
        packet
    }

    #[test]
    fn data_of_a_flow_is_handled_as_one_up_to_a_burst_and_in_order() {
        use PacketKind::{Ack, Data};
        let costs = HostCosts { burst: 4500, ..HostCosts::default() };
        let list = [
            packet(Data, 7, 1500),
            packet(Data, 8, 1500),
            packet(Data, 7, 1500),
            packet(Data, 7, 1500),
            packet(Data, 7, 1500), // the burst of the first three is full
            packet(Ack, 8, 84),    // ends the group of its flow
            packet(Data, 8, 1500),
            packet(Ack, 8, 84),
            packet(Ack, 8, 84), // control is handled alone
            packet(Data, 7, 900),
        ];
        assert_eq!(merged(&costs, list.iter()), [0, 1, 0, 0, 2, 3, 4, 5, 6, 2]);
        assert_eq!(merged(&HostCosts::default(), list.iter()), (0..10).collect::<Vec<_>>(), "each alone");
    }

    #[test]
    fn costs_are_free_only_where_nothing_is_said() {
        let none = HostCosts::default();
        assert!(none.is_free() && !none.holds_arrivals());
        assert!(HostCosts { coalesce_packets: 3, ..none }.is_free(), "there is no window to end");
        for one in [
            HostCosts { packet: Time(1), ..none },
            HostCosts { message: Time(1), ..none },
            HostCosts { coalesce: Time(1), ..none },
            HostCosts { burst: 1, ..none },
        ] {
            assert!(!one.is_free(), "{one:?}");
        }
    }
}
