//! Fair queueing: a queue for each flow, served in turn, a full packet's bytes a turn.
//!
//! Source: deficit round robin, Shreedhar and Varghese, SIGCOMM 1995 §3; new flows first, the drop from the longest
//! queue and the head of the queue as the place of a drop are those of FQ-CoDel, RFC 8290 §4.1 and §4.2, here without
//! CoDel. The rules that decide by one packet, stated once:
//!
//! * a flow is what a switch of IP packets sees as one: addresses, message and entropy, which differs between the
//!   subflows of a message and is the same in both directions. Acknowledgements are flows of their own, and so is other
//!   control, which travels apart from the data of its message: the buffers of the two are apart, and each gives way to
//!   its own kind alone. Where packets are sprayed by their sender (`ndp`), `flow = "message"` keeps them in one queue;
//! * the head of the round sends while its first packet is at most as large as its deficit. Otherwise it gets a quantum
//!   more and goes to the end. A flow that begins to wait has one quantum, and one that ceases to keeps nothing;
//! * a packet that finds the buffer full takes the place of one of the flow that has the most bytes waiting, itself
//!   included; among equals the flow of the packet that arrives gives way;
//! * a flow's `threshold` and `flow_limit` count packets of the flow that wait already, without the one on the wire.
//!
//! Deliberate differences, and the reasons:
//!
//! * Every flow has its own queue. Both sources hash them into a fixed number of queues, where some share one.
//! * Linux drops half of the longest queue at once, for the sake of processor time; RFC 8290 §4.1.3 says why. Here each
//!   packet that arrives costs one, as the authors of the RFC did it first. If that does not make room, the packet that
//!   arrives is dropped.

use crate::discipline::{Arrival, Discipline, Overflow, PortContext};
use crate::{DisciplineInfo, DropReason, Lengths, MOST_CLASSES, Need, Rewrite};
use headway_packet::{Ecn, HostId, Packet};
use headway_params::ParamKind;
use headway_units::Time;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

headway_params::choice! {
    /// Packets that belong to one flow.
    pub enum FlowIs {
        /// Those of a message with the same entropy, as a 5-tuple is: each subflow is a flow.
        Subflow = "subflow",
        /// Those of a message, whatever path they take.
        Message = "message",
        /// Those from one host to another.
        Hosts = "hosts",
    }
}

headway_params::choice! {
    /// Packet of the longest queue that gives way.
    pub enum GivesWay {
        /// The first packet: its sender hears of the drop sooner by a queue's time. RFC 8290 §4.1
        First = "first",
        /// The last packet.
        Last = "last",
    }
}

headway_params::params! {
    /// Parameters of fair queueing.
    pub struct FairQueueParams {
        /// Packets that belong to one flow.
        flow: FlowIs = FlowIs::Subflow, ParamKind::Choice(FlowIs::WORDS);
        /// Bytes that a flow may send a turn, framing included; 0 = one full packet. DRR §3
        quantum: u64 = 0, ParamKind::Bytes { min: 0, max: 1_000_000 };
        /// True if a flow that begins to wait is served ahead of those that have had a turn. RFC 8290 §4.2
        new_first: bool = false, ParamKind::Bool;
        /// Packets of a flow that may wait; 0 = as many as the buffer holds.
        flow_limit: u64 = 0, ParamKind::Int { min: 0, max: 1_000_000 };
        /// Packets of a flow that wait already from which on its ECN-capable data is marked; 0 = nothing is.
        threshold: u64 = 0, ParamKind::Int { min: 0, max: 1_000_000 };
        /// Packet of the longest queue that gives way where the buffer is full.
        gives_way: GivesWay = GivesWay::First, ParamKind::Choice(GivesWay::WORDS);
    }
}

/// Fields that distinguish flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    src: HostId,
    dst: HostId,
    message: u32,
    entropy: u32,
    data: bool,
}

/// A flow that waits, or did until its turn comes.
#[derive(Clone, Debug)]
struct Flow {
    key: Key,
    /// Bytes of each packet that waits.
    sizes: VecDeque<u16>,
    bytes: u64,
    /// Bytes that it may send before the turn of the next.
    deficit: u64,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct FairQueue(
    /// Apart, so that ports of other disciplines do not carry it along.
    Box<State>,
);

#[derive(Clone, Debug)]
struct State {
    flow: FlowIs,
    quantum: u64,
    new_first: bool,
    flow_limit: usize,
    threshold: usize,
    gives_way: GivesWay,
    /// The class of each flow that has one.
    classes: FxHashMap<Key, usize>,
    /// Flows by class.
    flows: Vec<Flow>,
    /// Classes without a flow.
    free: Vec<usize>,
    /// Classes in the order of their turns: those that are new, where these go first, and the others.
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    /// Packets that wait.
    waiting: usize,
    /// Treatment of the packet refused last.
    verdict: Overflow,
}

impl State {
    fn key(&self, packet: &Packet) -> Key {
        let (mut message, mut entropy) = (packet.message, packet.entropy);
        if self.flow != FlowIs::Subflow {
            entropy = 0;
        }
        if self.flow == FlowIs::Hosts {
            message = 0;
        }
        Key { src: packet.src, dst: packet.dst, message, entropy, data: packet.is_data() }
    }

    /// The class of a flow, which gets one and a turn if it has none.
    fn class_of(&mut self, key: Key) -> usize {
        if let Some(&class) = self.classes.get(&key) {
            return class;
        }
        let flow = Flow { key, sizes: VecDeque::new(), bytes: 0, deficit: self.quantum };
        let class = self.free.pop().unwrap_or(self.flows.len());
        match self.flows.get_mut(class) {
            // A flow that used this class before leaves its allocation to the new one.
            Some(free) => *free = Flow { sizes: std::mem::take(&mut free.sizes), ..flow },
            None => self.flows.push(flow),
        }
        self.classes.insert(key, class);
        let turns = if self.new_first { &mut self.new } else { &mut self.old };
        turns.push_back(class);
        class
    }

    fn queue(&mut self, key: Key, wire: u16) -> usize {
        let class = self.class_of(key);
        let flow = &mut self.flows[class];
        flow.sizes.push_back(wire);
        flow.bytes += u64::from(wire);
        self.waiting += 1;
        class
    }

    /// A packet of a class is gone, the first or the last.
    fn gone(&mut self, class: usize, which: GivesWay) {
        let flow = &mut self.flows[class];
        let size = match which {
            GivesWay::First => flow.sizes.pop_front(),
            GivesWay::Last => flow.sizes.pop_back(),
        };
        if let Some(size) = size {
            flow.bytes -= u64::from(size);
            self.waiting -= 1;
        }
    }

    /// A flow has had its turn, and nothing of it waits.
    fn release(&mut self, class: usize) {
        self.classes.remove(&self.flows[class].key);
        self.free.push(class);
    }

    /// The queue is empty: resets turns and deficits.
    fn rest(&mut self) {
        while let Some(class) = self.new.pop_front().or_else(|| self.old.pop_front()) {
            self.release(class);
        }
    }

    /// The class that has the turn, which holds something. DRR §3, RFC 8290 §4.2
    fn turn(&mut self) -> Option<usize> {
        loop {
            let is_new = !self.new.is_empty();
            let turns = if is_new { &mut self.new } else { &mut self.old };
            let class = *turns.front()?;
            let flow = &mut self.flows[class];
            match flow.sizes.front() {
                Some(&size) if u64::from(size) <= flow.deficit => return Some(class),
                first => {
                    let (waits, may_come_back) = (first.is_some(), is_new && !self.old.is_empty());
                    flow.deficit += if waits { self.quantum } else { 0 };
                    if is_new {
                        self.new.pop_front()
                    } else {
                        self.old.pop_front()
                    };
                    if waits || may_come_back {
                        self.old.push_back(class);
                    } else {
                        self.release(class);
                    }
                }
            }
        }
    }

    /// Takes the first packet of the class that has the turn.
    fn serve(&mut self, class: usize) {
        let flow = &mut self.flows[class];
        flow.deficit -= flow.sizes.front().map_or(0, |&size| u64::from(size));
        self.gone(class, GivesWay::First);
        if self.waiting == 0 {
            self.rest();
        } else if self.flows[class].sizes.is_empty() && !self.new_first {
            self.old.pop_front();
            self.release(class);
        }
    }

    /// The class that gives way to a packet of `wire` bytes of this flow, which finds the buffer full.
    fn longest(&self, key: Key, wire: u16) -> Option<usize> {
        let own = self.classes.get(&key).copied();
        let like = |(class, flow): &(usize, &Flow)| flow.key.data == key.data && Some(*class) != own;
        let others = self.flows.iter().enumerate().filter(like);
        let longest = others.max_by_key(|(class, flow)| (flow.bytes, std::cmp::Reverse(*class)));
        let with_this = own.map_or(0, |class| self.flows[class].bytes) + u64::from(wire);
        match longest {
            Some((class, flow)) if flow.bytes > with_this => Some(class),
            // The packet that arrives is the last of its flow.
            _ => own.filter(|_| self.gives_way == GivesWay::First),
        }
    }

    /// Makes room for a packet, if that is possible: the action that the port is to take then, and takes.
    fn make_room(&mut self, port: &PortContext, arrival: &Arrival, key: Key, wire: u16) -> Overflow {
        let Some(from) = self.longest(key, wire) else { return Overflow::Drop };
        let sizes = &self.flows[from].sizes;
        let victim = match self.gives_way {
            GivesWay::First => sizes.front(),
            GivesWay::Last => sizes.back(),
        };
        let Some(&gone) = victim else { return Overflow::Drop };
        let bytes = arrival.bytes - u64::from(gone);
        if !port.buffer.limit(key.data).admits(arrival.packets - 1, bytes, wire) {
            return Overflow::Drop;
        }
        self.gone(from, self.gives_way);
        let to = self.queue(key, wire);
        match self.gives_way {
            GivesWay::First => Overflow::DisplaceFirst { from, to },
            GivesWay::Last => Overflow::Displace { from, to },
        }
    }
}

impl Discipline for FairQueue {
    type Params = FairQueueParams;
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "fair-queue",
        summary: "a queue for each flow, served in turn by bytes; when full, the longest queue gives way",
        paper: "DRR, SIGCOMM 1995 §3; FQ-CoDel, RFC 8290 §4, without CoDel",
        rewrites: &[Rewrite::Mark],
        needs: &[Need::Displacement],
    };

    fn new(params: &FairQueueParams, port: &PortContext) -> Self {
        let quantum = match params.quantum {
            // With turns of 0 bytes the round would never end.
            0 => u64::from(port.sizes.full_wire()).max(1),
            bytes => bytes,
        };
        FairQueue(Box::new(State {
            flow: params.flow,
            quantum,
            new_first: params.new_first,
            flow_limit: params.flow_limit as usize,
            threshold: params.threshold as usize,
            gives_way: params.gives_way,
            classes: FxHashMap::default(),
            flows: Vec::new(),
            free: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            waiting: 0,
            verdict: Overflow::Drop,
        }))
    }

    /// Number of classes to begin with.
    fn classes(&self) -> usize {
        MOST_CLASSES as usize
    }

    fn class_of(&self, packet: &Packet) -> usize {
        let key = self.0.key(packet);
        self.0.classes.get(&key).copied().unwrap_or(0)
    }

    fn admit(
        &mut self,
        port: &PortContext,
        arrival: &Arrival,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        let state = &mut *self.0;
        let (key, wire) = (state.key(packet), packet.wire);
        state.verdict = Overflow::Drop;
        let full = if key.data { DropReason::BufferFull } else { DropReason::ControlFull };
        let waiting = state.classes.get(&key).map_or(0, |&class| state.flows[class].sizes.len());
        if state.flow_limit > 0 && waiting >= state.flow_limit {
            return Err(full);
        }
        if state.threshold > 0 && waiting >= state.threshold && key.data && packet.ecn == Ecn::Ect {
            packet.ecn = Ecn::Ce;
        }
        if !port.buffer.limit(key.data).admits(arrival.packets, arrival.bytes, wire) {
            state.verdict = state.make_room(port, arrival, key, wire);
            return Err(full);
        }
        state.queue(key, wire);
        Ok(())
    }

    fn overflow(&mut self, _: &Packet) -> Overflow {
        self.0.verdict
    }

    const CHOOSES: bool = true;
    const HOLDABLE: bool = false;

    fn choose(&mut self, _: Time, occupied: u32) -> usize {
        let state = &mut *self.0;
        let Some(class) = state.turn() else {
            debug_assert!(false, "a packet waits, and no flow has a turn");
            return occupied.trailing_zeros() as usize;
        };
        state.serve(class);
        class
    }

    fn discard<L: Lengths>(&mut self, _: Time, _: &L, packet: &Packet) {
        let state = &mut *self.0;
        if let Some(&class) = state.classes.get(&state.key(packet)) {
            state.gone(class, GivesWay::First);
        }
        if state.waiting == 0 {
            state.rest();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::AnyDiscipline;
    use crate::testing::PacketPool;
    use crate::{Buffer, Fate, Full, Limit, Packets, Port};
    use headway_packet::{PacketKind, Sizes};
    use headway_params::ParamValue;
    use headway_primitives::mix;
    use headway_units::Rate;
    use std::collections::BTreeMap;

    fn int(name: &str, value: u64) -> (String, ParamValue) {
        (name.into(), ParamValue::Int(value))
    }

    fn word(name: &str, word: &str) -> (String, ParamValue) {
        (name.into(), ParamValue::Choice(word.into()))
    }

    fn new_first() -> (String, ParamValue) {
        ("new_first".into(), ParamValue::Bool(true))
    }

    /// A port of 10 Gb/s with room for `data`.
    fn port(params: &[(String, ParamValue)], data: Limit) -> Port<u32> {
        let buffer = Buffer { data, control: Limit::Packets(4) };
        let context = PortContext {
            rate: Rate::gbps(10),
            sizes: Sizes::default(),
            buffer,
            seed: 0,
            round_trip: None,
            to_host: false,
        };
        let rules = AnyDiscipline::make("fair-queue", params, &context).expect("known").expect("valid");
        Port::new(rules, context.into())
    }

    /// Full packets of the flow that is their number by hundreds, and on the wire a control packet of another.
    fn pool(port: &mut Port<u32>, count: u32) -> PacketPool {
        let packet = |i: u32| {
            let mut packet = Packet::new(PacketKind::Data, HostId(0), HostId(1), i / 100);
            (packet.wire, packet.ecn) = (1538, Ecn::Ect);
            packet
        };
        let mut busy = Packet::new(PacketKind::Grant, HostId(8), HostId(9), 0);
        busy.wire = 84;
        port.transmit_idle(Time::ZERO, &mut busy);
        PacketPool((0..count).map(packet).collect())
    }

    /// Packets that the full buffer drops.
    fn offer(port: &mut Port<u32>, pool: &mut PacketPool, handles: &[u32]) -> Vec<u32> {
        let hit = |full: Full<u32>| {
            assert!(matches!(full.fate, Fate::Dropped(DropReason::BufferFull | DropReason::ControlFull)));
            full.handle
        };
        let full = handles.iter().filter_map(|&h| port.offer(Time(1), h, pool).err().map(hit)).collect();
        port.check().expect("identities");
        full
    }

    /// The next packets that leave, at most so many.
    fn leave(port: &mut Port<u32>, pool: &mut PacketPool, count: usize) -> Vec<u32> {
        let next = || port.next(port.free_at(), pool).map(|departure| departure.handle);
        let left = std::iter::from_fn(next).take(count).collect();
        port.check().expect("identities");
        left
    }

    #[test]
    fn flows_take_turns_whoever_came_first() {
        let mut port = port(&[], Limit::Packets(50));
        let mut pool = pool(&mut port, 400);
        assert!(offer(&mut port, &mut pool, &[0, 1, 2, 3, 100, 101, 200]).is_empty());
        assert_eq!(leave(&mut port, &mut pool, 9), [0, 100, 200, 1, 101, 2, 3]);
    }

    /// Bytes of each flow that leave of six that always have packets waiting, sizes by `lot`, after `count` packets.
    fn shares(params: &[(String, ParamValue)], lot: u64, count: usize) -> BTreeMap<u32, u64> {
        let mut port = port(params, Limit::Bytes(1 << 30));
        let mut pool = pool(&mut port, 600);
        // Small packets in some flows, large ones in others, and all sizes in the rest.
        for (i, packet) in pool.0.iter_mut().enumerate() {
            let size = 84 + mix(lot ^ i as u64) % 1455;
            packet.wire = [84, 1538, size as u16][i / 100 % 3];
        }
        let all: Vec<u32> = (0..600).collect();
        assert!(offer(&mut port, &mut pool, &all).is_empty());
        let mut bytes: BTreeMap<u32, u64> = (0..6).map(|flow| (flow, 0)).collect();
        for handle in leave(&mut port, &mut pool, count) {
            let packet = pool.0[handle as usize];
            *bytes.entry(packet.message).or_default() += u64::from(packet.wire);
        }
        bytes
    }

    /// DRR §4, theorem 1: two flows that wait all the time differ by at most a quantum and a packet.
    #[test]
    fn flows_that_wait_get_equal_bytes_within_a_quantum_and_a_packet() {
        for lot in 0..50 {
            for quantum in [0, 200, 1538, 5000] {
                let count = 30 + lot as usize;
                let shares = shares(&[int("quantum", quantum)], lot, count);
                let (most, least) = (shares.values().max(), shares.values().min());
                let apart = most.zip(least).map(|(most, least)| most - least).expect("six flows");
                let turn = if quantum == 0 { 1538 } else { quantum };
                assert!(apart <= turn + 1538, "lot {lot}, quantum {quantum}: {shares:?}");
            }
        }
        let equal = shares(&[], 0, 120);
        assert!(equal.values().all(|&bytes| bytes > 1538), "each had several turns: {equal:?}");
    }

    #[test]
    fn what_an_idle_flow_leaves_goes_to_the_others_and_it_saves_nothing() {
        let mut port = port(&[], Limit::Packets(200));
        let mut pool = pool(&mut port, 400);
        let first: Vec<u32> = (0..40).chain(100..140).chain(200..202).collect();
        assert!(offer(&mut port, &mut pool, &first).is_empty());
        let flows = |left: Vec<u32>| (0..3).map(|f| left.iter().filter(|&&h| h / 100 == f).count()).collect();
        let shares: Vec<usize> = flows(leave(&mut port, &mut pool, 26));
        assert_eq!(shares, [12, 12, 2], "all three, and then two by halves");
        // It comes back with more than the others have left: no turns were kept for it.
        let back: Vec<u32> = (202..230).collect();
        assert!(offer(&mut port, &mut pool, &back).is_empty());
        let shares: Vec<usize> = flows(leave(&mut port, &mut pool, 30));
        assert_eq!(shares, [10, 10, 10]);
    }

    #[test]
    fn a_flow_has_its_own_limit() {
        let mut port = port(&[int("flow_limit", 3)], Limit::Packets(50));
        let mut pool = pool(&mut port, 400);
        let hit = offer(&mut port, &mut pool, &[0, 1, 2, 3, 100, 4, 101]);
        assert_eq!(hit, [3, 4], "of the first flow, three wait");
        assert_eq!(leave(&mut port, &mut pool, 1), [0]);
        assert_eq!(offer(&mut port, &mut pool, &[5, 6]), [6], "one place is free again");
    }

    #[test]
    fn the_longest_queue_gives_way() {
        let mut head = port(&[], Limit::Packets(6));
        let mut packets = pool(&mut head, 400);
        assert!(offer(&mut head, &mut packets, &[0, 1, 2, 3, 100, 200]).is_empty());
        // The third flow's packet costs the first flow its first; so does one of its own.
        assert_eq!(offer(&mut head, &mut packets, &[300, 4]), [0, 1]);
        assert_eq!(
            offer(&mut head, &mut packets, &[101, 102]),
            [2, 100],
            "then the second is as long with this one"
        );
        assert_eq!(leave(&mut head, &mut packets, 9), [3, 101, 200, 300, 4, 102]);

        let mut tail = port(&[word("gives_way", "last")], Limit::Packets(6));
        let mut packets = pool(&mut tail, 400);
        assert!(offer(&mut tail, &mut packets, &[0, 1, 2, 3, 100, 200]).is_empty());
        assert_eq!(offer(&mut tail, &mut packets, &[300, 4]), [3, 4], "what arrives is its flow's last");
        assert_eq!(leave(&mut tail, &mut packets, 9), [0, 100, 200, 300, 1, 2]);
    }

    #[test]
    fn the_longest_queue_is_that_of_the_most_bytes_and_has_to_make_room() {
        let mut port = port(&[], Limit::Bytes(3600));
        let mut pool = pool(&mut port, 400);
        (0..5).for_each(|handle| pool.packet(handle).wire = 100);
        assert!(offer(&mut port, &mut pool, &[0, 1, 2, 3, 4, 100, 200]).is_empty(), "3576 bytes");
        assert_eq!(offer(&mut port, &mut pool, &[300]), [300], "one among equals: the one that arrives");
        pool.packet(301).wire = 500;
        assert_eq!(offer(&mut port, &mut pool, &[301]), [100], "five packets are fewer bytes than one");
        // With the packets that arrive, their own flows are the longest; a packet of 100 bytes makes too little room.
        assert_eq!(offer(&mut port, &mut pool, &[201, 302, 10]), [200, 301, 10]);
    }

    #[test]
    fn control_gives_way_to_control_alone() {
        let mut port = port(&[], Limit::Packets(6));
        let mut pool = pool(&mut port, 600);
        for handle in 400..600 {
            let packet = pool.packet(handle);
            (packet.kind, packet.wire, packet.src, packet.dst) = (PacketKind::Ack, 84, HostId(1), HostId(0));
        }
        assert!(offer(&mut port, &mut pool, &[0, 1, 2, 3, 4, 5]).is_empty());
        assert_eq!(offer(&mut port, &mut pool, &[400, 401, 402, 403, 500]), [400], "the longer one of two");
        assert_eq!(port.counters().dropped, [0, 1, 0, 0, 0, 0]);
        // An acknowledgement takes a turn of 84 bytes.
        assert_eq!(leave(&mut port, &mut pool, 6), [0, 401, 402, 403, 500, 1]);
    }

    #[test]
    fn subflows_messages_and_hosts_are_told_apart_as_the_scenario_says() {
        // Two subflows of one message, another message of the same hosts, and one of others.
        let order = |flow: &str| {
            let mut port = port(&[word("flow", flow)], Limit::Packets(50));
            let mut pool = pool(&mut port, 400);
            (100..200)
                .for_each(|handle| (pool.packet(handle).message, pool.packet(handle).entropy) = (0, 77));
            (300..400).for_each(|handle| pool.packet(handle).dst = HostId(5));
            assert!(offer(&mut port, &mut pool, &[0, 1, 2, 100, 101, 102, 200, 201, 300]).is_empty());
            leave(&mut port, &mut pool, 9)
        };
        assert_eq!(order("subflow"), [0, 100, 200, 300, 1, 101, 201, 2, 102]);
        assert_eq!(order("message"), [0, 200, 300, 1, 201, 2, 100, 101, 102]);
        assert_eq!(order("hosts"), [0, 300, 1, 2, 100, 101, 102, 200, 201]);
    }

    #[test]
    fn new_flows_go_first_once() {
        let mut port = port(&[new_first()], Limit::Packets(50));
        let mut pool = pool(&mut port, 400);
        assert!(offer(&mut port, &mut pool, &[0, 1, 2, 3, 100, 101, 102]).is_empty());
        assert_eq!(leave(&mut port, &mut pool, 3), [0, 100, 1], "both have had their first turn");
        assert!(offer(&mut port, &mut pool, &[200]).is_empty());
        assert_eq!(leave(&mut port, &mut pool, 1), [200], "a new one goes ahead of them");
        // It is not new again before it has had its place among the old. RFC 8290 §4.2
        assert_eq!(leave(&mut port, &mut pool, 1), [101]);
        assert!(offer(&mut port, &mut pool, &[201]).is_empty());
        assert_eq!(leave(&mut port, &mut pool, 4), [2, 102, 201, 3], "its quantum is spent");
        let mut plain = super::tests::port(&[], Limit::Packets(50));
        assert!(offer(&mut plain, &mut pool, &[0, 1, 2, 3, 100, 101, 102]).is_empty());
        leave(&mut plain, &mut pool, 3);
        offer(&mut plain, &mut pool, &[200]);
        assert_eq!(
            leave(&mut plain, &mut pool, 3),
            [101, 200, 2],
            "without the option it waits for its turn"
        );
    }

    #[test]
    fn the_threshold_marks_the_flow_that_is_long() {
        let mut marking = port(&[int("threshold", 2)], Limit::Packets(50));
        let mut packets = pool(&mut marking, 400);
        packets.packet(4).ecn = Ecn::NotEct;
        assert!(offer(&mut marking, &mut packets, &[0, 1, 2, 3, 4, 100, 101, 102, 200]).is_empty());
        let marked = |pool: &PacketPool| (0..400).filter(|&h| pool.0[h].ecn == Ecn::Ce).collect::<Vec<_>>();
        assert_eq!(marked(&packets), [2, 3, 102], "two of the flow wait already, and it is capable");
        let mut quiet = port(&[], Limit::Packets(50));
        let mut packets = pool(&mut quiet, 400);
        offer(&mut quiet, &mut packets, &(0..40).collect::<Vec<_>>());
        assert_eq!(marked(&packets), [] as [usize; 0]);
    }

    #[test]
    fn more_flows_than_a_port_has_classes_take_turns_too() {
        for params in [vec![], vec![new_first()]] {
            let mut port = port(&params, Limit::Packets(1000));
            let mut pool = pool(&mut port, 20_000);
            let heads: Vec<u32> = (0..200).map(|flow| flow * 100).collect();
            let seconds: Vec<u32> = heads.iter().map(|head| head + 1).collect();
            for round in 0..3 {
                assert!(offer(&mut port, &mut pool, &heads).is_empty());
                assert!(offer(&mut port, &mut pool, &seconds).is_empty());
                assert_eq!(leave(&mut port, &mut pool, 200), heads, "round {round}");
                assert_eq!(leave(&mut port, &mut pool, 300), seconds, "round {round}");
                assert!(port.can_bypass());
            }
            offer(&mut port, &mut pool, &heads);
            offer(&mut port, &mut pool, &seconds);
            leave(&mut port, &mut pool, 30);
            let mut gone = Vec::new();
            port.take_down(port.free_at(), &mut pool, |handle, _| gone.push(handle));
            port.check().expect("identities");
            assert_eq!((gone.len(), port.waiting()), (370, 0));
            port.bring_up(Time::ms(1));
            assert!(offer(&mut port, &mut pool, &[5, 6, 1900]).is_empty());
            assert_eq!(leave(&mut port, &mut pool, 3), [5, 1900, 6], "nothing is left of what was before");
        }
    }
}
