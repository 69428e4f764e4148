//! Strict priorities whose data does not share one tail-drop buffer: a limit for each class, or push-out.
//!
//! Homa assumes that its switches hardly ever drop, and says little of their behaviour when they have to. Two policies
//! of commodity switches are here, of which a scenario may ask for either or both:
//!
//! * `class_packets`: packets of data of one class that may wait. What finds its class full is dropped, whatever room
//!   the others leave. With `buffer` as many times as large as there are classes, each has a buffer of its own;
//! * `push_out`: a packet of data that finds the buffer full takes the place of the last one of the least urgent class
//!   that holds any, if that class is less urgent than its own. Push-out, as Homa's authors name it among what would
//!   protect the urgent, costs a switch a write into a queue that it is not serving.
//!
//! The classes are those of `strict-priority`, and without either key so is the rest.

use crate::discipline::{Arrival, Discipline, Overflow, PortContext};
use crate::{DisciplineInfo, DropReason, Lengths, MOST_CLASSES, Need};
use headway_packet::Packet;
use headway_params::ParamKind;

headway_params::params! {
    /// Parameters of strict priorities with buffers of their own.
    pub struct PriorityBuffersParams {
        /// Number of queues; packets of a higher class than the last share the last.
        levels: u64 = 9, ParamKind::Int { min: 1, max: MOST_CLASSES };
        /// True if control has the first queue for itself; otherwise it shares it with the first class of data.
        control_apart: bool = true, ParamKind::Bool;
        /// Packets of one class that may wait, when one of data arrives; 0 = as many as the buffer holds.
        class_packets: u64 = 0, ParamKind::Int { min: 0, max: 1_000_000 };
        /// True if data that finds the buffer full takes the place of data of the least urgent class.
        push_out: bool = true, ParamKind::Bool;
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct PriorityBuffers {
    levels: u8,
    /// Classes that lie before the first queue.
    skipped: u8,
    class_packets: u32,
    push_out: bool,
    /// For the packet refused last: the class that gives way to it, and its own. They are bytes so that ports of other
    /// disciplines do not carry more along.
    gives_way: Option<(u8, u8)>,
}

impl Discipline for PriorityBuffers {
    type Params = PriorityBuffersParams;
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "priority-buffers",
        summary: "strict priority queues with a limit for each class; when full, the least urgent data gives way",
        paper: "Homa, SIGCOMM 2018, whose switches are taken not to drop",
        rewrites: &[],
        needs: &[Need::Displacement],
    };

    fn new(params: &PriorityBuffersParams, _: &PortContext) -> Self {
        PriorityBuffers {
            levels: params.levels as u8,
            skipped: u8::from(!params.control_apart),
            class_packets: params.class_packets as u32,
            push_out: params.push_out,
            gives_way: None,
        }
    }

    fn classes(&self) -> usize {
        self.levels.into()
    }

    fn class_of(&self, packet: &Packet) -> usize {
        packet.priority.saturating_sub(self.skipped).min(self.levels - 1).into()
    }

    fn admit_by_class<L: Lengths>(
        &mut self,
        port: &PortContext,
        arrival: &Arrival,
        lengths: &L,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        self.gives_way = None;
        if !packet.is_data() {
            return Ok(());
        }
        let to = self.class_of(packet);
        if self.class_packets > 0 && lengths.packets(to) >= self.class_packets {
            return Err(DropReason::BufferFull);
        }
        if port.buffer.data.admits(arrival.packets, arrival.bytes, packet.wire) {
            return Ok(());
        }
        // Class 0 is the most important one: the last class that holds a packet gives way.
        let least = (to + 1..self.classes()).rev().find(|&class| lengths.packets(class) > 0);
        self.gives_way = least.filter(|_| self.push_out).map(|from| (from as u8, to as u8));
        Err(DropReason::BufferFull)
    }

    fn overflow(&mut self, _: &Packet) -> Overflow {
        match self.gives_way {
            Some((from, to)) => Overflow::Displace { from: from.into(), to: to.into() },
            None => Overflow::Drop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::AnyDiscipline;
    use crate::testing::PacketPool;
    use crate::{Buffer, Fate, Limit, Port};
    use headway_packet::{HostId, PacketKind, Sizes};
    use headway_params::ParamValue;
    use headway_units::{Rate, Time};

    /// Offers full packets of data of these classes to a port whose wire is taken and that has room for `data`;
    /// returns the dropped ones, and the others in the order in which they leave.
    fn offered(params: &[(String, ParamValue)], data: u32, classes: &[u8]) -> (Vec<u32>, Vec<u32>) {
        let buffer = Buffer { data: Limit::Packets(data), control: Limit::Packets(4) };
        let context = PortContext {
            rate: Rate::gbps(10),
            sizes: Sizes::default(),
            buffer,
            seed: 0,
            round_trip: None,
            to_host: false,
        };
        let rules = AnyDiscipline::make("priority-buffers", params, &context).expect("known").expect("valid");
        let mut port = Port::new(rules, context.into());
        let mut busy = Packet::new(PacketKind::Grant, HostId(8), HostId(9), 0);
        busy.wire = 84;
        port.transmit_idle(Time::ZERO, &mut busy);
        let packet = |&class: &u8| {
            let mut packet = Packet::new(PacketKind::Data, HostId(0), HostId(1), 0);
            (packet.priority, packet.wire) = (class, 1538);
            packet
        };
        let mut pool = PacketPool(classes.iter().map(packet).collect());
        let mut gone = Vec::new();
        for handle in 0..classes.len() as u32 {
            if let Err(full) = port.offer(Time(1), handle, &mut pool) {
                assert_eq!(full.fate, Fate::Dropped(DropReason::BufferFull));
                gone.push(full.handle);
            }
            port.check().expect("identities");
        }
        let next = || port.next(port.free_at(), &mut pool).map(|departure| departure.handle);
        (gone, std::iter::from_fn(next).collect())
    }

    fn limit(packets: u64) -> (String, ParamValue) {
        ("class_packets".into(), ParamValue::Int(packets))
    }

    fn no_push_out() -> (String, ParamValue) {
        ("push_out".into(), ParamValue::Bool(false))
    }

    #[test]
    fn the_last_of_the_least_urgent_gives_way_to_what_is_more_urgent() {
        let (gone, left) = offered(&[], 4, &[5, 3, 5, 8, 1, 5, 8, 2, 3, 1]);
        // 8 gives way to 1; 5 and 8 find no lower class; 2 puts out the later 5, then 3 the first; 1 takes a 3.
        assert_eq!(gone, [3, 5, 6, 2, 0, 8]);
        assert_eq!(left, [4, 9, 7, 1]);
    }

    #[test]
    fn without_it_whoever_comes_late_is_dropped() {
        let (gone, left) = offered(&[no_push_out()], 3, &[5, 3, 8, 1, 1]);
        assert_eq!((gone, left), (vec![3, 4], vec![1, 0, 2]));
    }

    #[test]
    fn a_class_has_no_more_than_its_own_limit_whatever_room_there_is() {
        let (gone, left) = offered(&[limit(2)], 100, &[5, 5, 5, 1, 1, 1, 3]);
        assert_eq!((gone, left), (vec![2, 5], vec![3, 4, 6, 0, 1]));
        let (gone, _) = offered(&[limit(2), no_push_out()], 3, &[5, 5, 1, 1]);
        assert_eq!(gone, [3], "and no more than what the port has");
    }
}
