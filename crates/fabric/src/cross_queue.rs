//! Cross-queue ECN: normal packets before opportunistic ones, and marks on the former that say how long the
//! queue of the latter is.
//!
//! Source: RPO, ICNP 2021 §IV-A (drop threshold) and §IV-B. Three strict classes: control, normal data
//! (priority 1), opportunistic data (priority 2 and beyond). A normal packet leaves marked while more than k
//! opportunistic packets wait, k being what the normal packets of the last period left over of the link.
//! Deliberate differences, and the reasons:
//!
//! * The paper marks when the queue *exceeds* k, in §I, §III, §IV-B and §VI, and so does the default. With k = 0 and
//!   an empty queue nothing is marked, although §VII says that all normal packets are marked then; and a buffer
//!   full of normal packets, which refuses every opportunistic one, never marks. `reaches` is the rule of §VII.
//! * The paper does not say whether the two queues share a buffer. Here they do: a normal packet that finds
//!   it full pushes out the last opportunistic one, so that these cost the others neither delay nor loss;
//!   and the opportunistic queue has a bound of its own, since k acts a round trip late.
//! * The drop threshold is for packets of first windows alone, as in Aeolus. Dropping those that were
//!   granted on a jitter of one packet would break the receiver's clock.

use crate::discipline::{Arrival, Departing, Discipline, Overflow, PortContext};
use crate::{DisciplineInfo, DropReason, Lengths, Limit};
use crate::{Need, Rewrite};
use headway_gauges::{Gauge, GaugeInfo, Level, SpareMeter};
use headway_packet::{Ecn, Packet, PacketFlags};
use headway_params::ParamKind;
use headway_primitives::mix;
use headway_units::Time;

headway_params::choice! {
    /// Condition under which a normal packet is marked.
    pub enum MarkWhen {
        /// The opportunistic queue has k packets or more; k = 0 marks all, as RPO §VII tells of its testbed.
        Reaches = "reaches",
        /// It has more than k, as RPO §IV-B says.
        Exceeds = "exceeds",
        /// It has more than k, or k is 0 and it has any.
        ExceedsOrAny = "exceeds-or-any",
    }
}

headway_params::choice! {
    /// Normal packets that the drop threshold is for.
    pub enum DropRule {
        /// Those of first windows.
        Unscheduled = "unscheduled",
        /// All, as RPO §IV-A literally says.
        All = "all",
        /// No packets: the threshold is off.
        Off = "off",
    }
}

headway_params::params! {
    /// Parameters of cross-queue marking.
    pub struct CrossQueueParams {
        /// Time over which the rate of normal packets is measured, and k holds; 0 = the longest base round trip of the first host. RPO §IV-B
        round_trip: Time = Time::ZERO, ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// Condition under which a normal packet is marked. RPO §IV-B
        mark_when: MarkWhen = MarkWhen::Exceeds, ParamKind::Choice(MarkWhen::WORDS);
        /// Normal packets that are dropped at the threshold. RPO §IV-A
        drop: DropRule = DropRule::Unscheduled, ParamKind::Choice(DropRule::WORDS);
        /// Normal packets that wait already when one more is dropped, the one on the wire not counted. RPO §IV-A
        drop_threshold: u64 = 1, ParamKind::Int { min: 1, max: 1_000_000 };
        /// A normal packet that finds the buffer full takes the place of the last opportunistic one.
        push_out: bool = true, ParamKind::Bool;
        /// Opportunistic packets that may wait; 0 = half the buffer, and at most twice what the link carries in a round trip.
        low_limit: u64 = 0, ParamKind::Int { min: 0, max: 1_000_000 };
    }
}

/// Class of control packets; the other classes follow.
const CONTROL: usize = 0;
const NORMAL: usize = 1;
const OPPORTUNISTIC: usize = 2;

/// See the module.
#[derive(Clone, Debug)]
pub struct CrossQueueEcn(Box<State>);

#[derive(Clone, Debug)]
struct State {
    mark_when: MarkWhen,
    drop: DropRule,
    drop_threshold: u32,
    push_out: bool,
    low_limit: u32,
    /// Bytes of a full packet, in which k counts.
    packet: u64,
    spare: SpareMeter,
    /// True if the packet refused last may take another's place.
    may_push_out: bool,
    /// Lengths of the two queues.
    normal: Level,
    opportunistic: Level,
    /// Bytes of normal and opportunistic packets that have left.
    normal_bytes: u64,
    opportunistic_bytes: u64,
}

impl State {
    /// k, in packets. RPO §IV-B
    fn threshold(&mut self, now: Time) -> u32 {
        (self.spare.spare(now) / self.packet) as u32
    }

    fn marks(&mut self, now: Time, waiting: u32) -> bool {
        let k = self.threshold(now);
        match self.mark_when {
            MarkWhen::Reaches => waiting >= k,
            MarkWhen::Exceeds => waiting > k,
            MarkWhen::ExceedsOrAny => waiting > k || (k == 0 && waiting > 0),
        }
    }

    fn admit_normal(
        &mut self,
        now: Time,
        fits: bool,
        waiting: (u32, u32),
        unscheduled: bool,
    ) -> Result<(), DropReason> {
        let (normal, opportunistic) = waiting;
        let guarded = match self.drop {
            DropRule::Unscheduled => unscheduled,
            DropRule::All => true,
            DropRule::Off => false,
        };
        // RPO §IV-A
        if guarded && normal >= self.drop_threshold {
            return Err(DropReason::Unscheduled);
        }
        self.may_push_out = self.push_out && opportunistic > 0;
        if !fits && !self.may_push_out {
            return Err(DropReason::BufferFull);
        }
        self.normal.set(now, u64::from(normal) + 1);
        if fits { Ok(()) } else { Err(DropReason::BufferFull) }
    }
}

const NORMAL_QUEUE: GaugeInfo =
    GaugeInfo::packets("normal_queue_packets", "normal queue packets", "waiting in the normal queue");
const OPPORTUNISTIC_QUEUE: GaugeInfo = GaugeInfo::packets(
    "opportunistic_queue_packets",
    "opportunistic queue packets",
    "waiting in the opportunistic queue",
);
const THRESHOLD: GaugeInfo =
    GaugeInfo::packets("threshold_packets", "threshold packets", "k, from which on it marks");
const NORMAL_BYTES: GaugeInfo =
    GaugeInfo::bytes("normal_bytes", "normal", "of normal packets that left since the start");
const OPPORTUNISTIC_BYTES: GaugeInfo = GaugeInfo::bytes(
    "opportunistic_bytes",
    "opportunistic",
    "of opportunistic packets that left since the start",
);

impl Discipline for CrossQueueEcn {
    type Params = CrossQueueParams;
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "cross-queue-ecn",
        summary: "normal packets first, marked by the length of the opportunistic queue behind them",
        paper: "RPO, ICNP 2021 §IV-B",
        rewrites: &[Rewrite::Mark],
        needs: &[Need::RoundTrip, Need::Displacement],
    };
    const GAUGES: &'static [GaugeInfo] =
        &[NORMAL_QUEUE, OPPORTUNISTIC_QUEUE, THRESHOLD, NORMAL_BYTES, OPPORTUNISTIC_BYTES];

    fn own_round_trip(params: &CrossQueueParams) -> Option<(&'static str, Time)> {
        Some(("round_trip", params.round_trip))
    }

    fn new(params: &CrossQueueParams, port: &PortContext) -> Self {
        let packet = u64::from(port.sizes.full_wire());
        let buffer = match port.buffer.data {
            Limit::Packets(n) => u64::from(n),
            Limit::Bytes(n) => n / packet,
        };
        let said = (params.round_trip > Time::ZERO).then_some(params.round_trip);
        // The registry makes no port without either.
        let round_trip = said.or(port.round_trip).unwrap_or(Time::ZERO).max(Time(1));
        let carried = port.rate.bytes_in(round_trip) / packet;
        let low_limit = match params.low_limit {
            0 => (buffer / 2).min(2 * carried).max(1),
            n => n,
        };
        // Ports do not measure in step.
        let phase = Time(mix(port.seed) % round_trip.0);
        CrossQueueEcn(Box::new(State {
            mark_when: params.mark_when,
            drop: params.drop,
            drop_threshold: params.drop_threshold as u32,
            push_out: params.push_out,
            low_limit: low_limit as u32,
            packet,
            spare: SpareMeter::new(port.rate, round_trip, phase),
            may_push_out: false,
            normal: Level::default(),
            opportunistic: Level::default(),
            normal_bytes: 0,
            opportunistic_bytes: 0,
        }))
    }

    fn classes(&self) -> usize {
        OPPORTUNISTIC + 1
    }

    #[inline]
    fn class_of(&self, packet: &Packet) -> usize {
        // Only data waits where data is thrown out, and only there, whatever class a sender claims.
        if packet.is_data() { usize::from(packet.priority).clamp(NORMAL, OPPORTUNISTIC) } else { CONTROL }
    }

    fn admit_by_class<L: Lengths>(
        &mut self,
        port: &PortContext,
        arrival: &Arrival,
        lengths: &L,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        let (class, state) = (self.class_of(packet), &mut *self.0);
        state.may_push_out = false;
        if !packet.is_data() {
            return Ok(());
        }
        let fits = port.buffer.data.admits(arrival.packets, arrival.bytes, packet.wire);
        let (normal, opportunistic) = (lengths.packets(NORMAL), lengths.packets(OPPORTUNISTIC));
        if class != OPPORTUNISTIC {
            let unscheduled = packet.flags.has_all(PacketFlags::UNSCHEDULED);
            return state.admit_normal(arrival.now, fits, (normal, opportunistic), unscheduled);
        }
        if !fits || opportunistic >= state.low_limit {
            return Err(DropReason::BufferFull);
        }
        state.opportunistic.set(arrival.now, u64::from(opportunistic) + 1);
        Ok(())
    }

    fn overflow(&mut self, _: &Packet) -> Overflow {
        if !self.0.may_push_out {
            return Overflow::Drop;
        }
        Overflow::Displace { from: OPPORTUNISTIC, to: NORMAL }
    }

    fn discard<L: Lengths>(&mut self, now: Time, lengths: &L, _: &Packet) {
        self.0.normal.set(now, lengths.packets(NORMAL).into());
        self.0.opportunistic.set(now, lengths.packets(OPPORTUNISTIC).into());
    }

    fn retune(&mut self, now: Time, fresh: Self) {
        self.0.low_limit = fresh.0.low_limit;
        self.0.spare.retune(now, &fresh.0.spare);
    }

    fn depart_by_class<L: Lengths>(&mut self, departing: &Departing, lengths: &L, packet: &mut Packet) {
        if !packet.is_data() {
            return;
        }
        let (class, state, now) = (self.class_of(packet), &mut *self.0, departing.now);
        let waiting = lengths.packets(OPPORTUNISTIC);
        state.opportunistic.set(now, waiting.into());
        if class == OPPORTUNISTIC {
            state.opportunistic_bytes += u64::from(packet.wire);
            return;
        }
        state.normal.set(now, lengths.packets(NORMAL).into());
        // RPO §IV-B: marks add up over the hops, as with any ECN.
        if packet.ecn == Ecn::Ect && state.marks(now, waiting) {
            packet.ecn = Ecn::Ce;
        }
        state.normal_bytes += u64::from(packet.wire);
        state.spare.note(now, packet.wire.into());
    }

    fn gauges<L: Lengths>(&self, now: Time, _: &L) -> Vec<Gauge> {
        let state = &*self.0;
        let threshold = u64::from(state.clone().threshold(now));
        vec![
            state.normal.gauge(&NORMAL_QUEUE, now),
            state.opportunistic.gauge(&OPPORTUNISTIC_QUEUE, now),
            THRESHOLD.count(threshold),
            NORMAL_BYTES.count(state.normal_bytes),
            OPPORTUNISTIC_BYTES.count(state.opportunistic_bytes),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::AnyDiscipline;
    use crate::testing::PacketPool;
    use crate::{Buffer, Departure, Fate, Full, Packets, Port};
    use headway_packet::{HostId, PacketKind, Sizes};
    use headway_params::ParamValue;
    use headway_units::Rate;

    /// Handles below 100 are normal, below 200 opportunistic, below 300 of a first window, then control.
    fn word(name: &str, word: &str) -> (String, ParamValue) {
        (name.into(), ParamValue::Choice(word.into()))
    }

    fn period(slots: u64) -> (String, ParamValue) {
        ("round_trip".into(), ParamValue::Time(SLOT * slots))
    }

    const SLOT: Time = Time(1_230_400);

    /// A port with room for `data` packets whose wire is busy with a control packet, and its packets.
    fn port(params: &[(String, ParamValue)], data: u32) -> (Port<u32>, PacketPool) {
        let buffer = Buffer { data: Limit::Packets(data), control: Limit::Packets(2) };
        let context = PortContext {
            rate: Rate::gbps(10),
            sizes: Sizes::default(),
            buffer,
            seed: 7,
            round_trip: Some(Time::us(50)),
            to_host: false,
        };
        let rules = AnyDiscipline::make("cross-queue-ecn", params, &context).expect("known").expect("valid");
        let packet = |i: u32| {
            let kind = if i < 300 { PacketKind::Data } else { PacketKind::Grant };
            let mut p = Packet::new(kind, HostId(0), HostId(1), i);
            (p.wire, p.priority, p.ecn) = match i {
                0..100 => (1538, 1, Ecn::Ect),
                100..200 => (1538, 2, Ecn::Ect),
                200..300 => (1538, 1, Ecn::Ect),
                _ => (84, 0, Ecn::NotEct),
            };
            p.flags = PacketFlags::only_if((200..300).contains(&i), PacketFlags::UNSCHEDULED);
            p
        };
        let (mut port, mut pool) =
            (Port::new(rules, context.into()), PacketPool((0..310).map(packet).collect()));
        port.transmit_idle(Time::ZERO, pool.packet(309));
        (port, pool)
    }

    fn offer(port: &mut Port<u32>, pool: &mut PacketPool, handles: &[u32]) -> Vec<Full<u32>> {
        let full = handles.iter().filter_map(|&h| port.offer(Time(1), h, pool).err()).collect();
        port.check().expect("identities");
        full
    }

    /// The packet that leaves next, and true if it leaves with a mark.
    fn leaves(port: &mut Port<u32>, pool: &mut PacketPool) -> Option<(u32, bool)> {
        let Departure { handle, .. } = port.next(port.free_at(), pool)?;
        Some((handle, pool.packet(handle).ecn == Ecn::Ce))
    }

    fn dropped(handle: u32, reason: DropReason) -> Full<u32> {
        Full { handle, trimmed: false, fate: Fate::Dropped(reason) }
    }

    fn gauge(port: &Port<u32>, name: &str) -> (u64, u64) {
        let gauges = port.gauges(port.free_at());
        let gauge = gauges.iter().find(|g| g.name == name).expect("a gauge of that name");
        (gauge.value, gauge.max)
    }

    #[test]
    fn control_goes_before_normal_and_normal_before_opportunistic_packets() {
        let (mut port, mut pool) = port(&[], 50);
        assert!(offer(&mut port, &mut pool, &[100, 1, 300, 101, 2, 301]).is_empty());
        assert_eq!(gauge(&port, "normal_queue_packets"), (2, 2));
        assert_eq!(gauge(&port, "opportunistic_queue_packets"), (2, 2));
        let order: Vec<u32> = std::iter::from_fn(|| leaves(&mut port, &mut pool)).map(|l| l.0).collect();
        assert_eq!(order, [300, 301, 1, 2, 100, 101]);
        assert_eq!(gauge(&port, "normal_queue_packets"), (0, 2));
        assert_eq!(gauge(&port, "normal_bytes"), (2 * 1538, 2 * 1538));
        assert_eq!(gauge(&port, "opportunistic_bytes"), (2 * 1538, 2 * 1538));
    }

    /// Marks of normal packets 1, 2 and 3 with `waiting` opportunistic packets behind them and k = 4.
    fn marks(rule: &str, waiting: u32) -> Vec<bool> {
        let (mut port, mut pool) =
            port(&[period(4), word("mark_when", rule), ("low_limit".into(), ParamValue::Int(9))], 50);
        let opportunistic: Vec<u32> = (100..100 + waiting).collect();
        assert!(offer(&mut port, &mut pool, &opportunistic).is_empty());
        assert!(offer(&mut port, &mut pool, &[1]).is_empty());
        // Nothing has been measured: all is spare, four packets a period.
        let (handle, marked) = leaves(&mut port, &mut pool).expect("it waits");
        assert_eq!(handle, 1);
        vec![marked]
    }

    #[test]
    fn the_opportunistic_queue_is_compared_with_k_by_each_rule() {
        for (rule, first) in [("reaches", 4), ("exceeds", 5), ("exceeds-or-any", 5)] {
            for waiting in 0..8 {
                assert_eq!(marks(rule, waiting), [waiting >= first], "{rule}, {waiting}");
            }
        }
    }

    #[test]
    fn k_is_what_normal_packets_left_over_in_the_last_period() {
        let (mut port, mut pool) = port(&[period(10)], 50);
        // Six normal packets in each period of ten slots, from the second one on: k = 4.
        let mut used = 1;
        for round in 1..4u64 {
            for slot in 0..6 {
                let now = SLOT * (10 * round + slot);
                while port.free_at() <= now && !port.is_empty() {
                    leaves(&mut port, &mut pool);
                }
                port.transmit_idle(now, pool.packet(used));
                used += 1;
            }
        }
        assert_eq!(gauge(&port, "threshold_packets").0, 4);
        let now = port.free_at() + SLOT * 40;
        port.transmit_idle(now, pool.packet(used));
        assert_eq!(gauge(&port, "threshold_packets").0, 10, "a quiet port has all to spare");
    }

    #[test]
    fn a_port_full_of_normal_packets_marks_them_all() {
        // k is 0 from the second period on, and no opportunistic packet gets in: RPO §VII.
        for (rule, all) in [("reaches", true), ("exceeds", false), ("exceeds-or-any", false)] {
            let (mut port, mut pool) = port(&[period(4), word("mark_when", rule)], 50);
            let packets: Vec<u32> = (1..40).collect();
            assert!(offer(&mut port, &mut pool, &packets).is_empty());
            let left: Vec<bool> = std::iter::from_fn(|| leaves(&mut port, &mut pool)).map(|l| l.1).collect();
            assert!(left[..3].iter().all(|marked| !marked), "{rule}");
            assert_eq!(left[8..].iter().all(|&marked| marked), all, "{rule}");
            assert_eq!(left[8..].iter().any(|&marked| marked), all, "{rule}");
        }
    }

    #[test]
    fn packets_of_a_first_window_are_dropped_behind_one_that_waits() {
        let unscheduled = DropReason::Unscheduled;
        let (mut guarded, mut pool) = port(&[], 50);
        let full = offer(&mut guarded, &mut pool, &[100, 200, 201, 1, 202]);
        assert_eq!(full, [dropped(201, unscheduled), dropped(202, unscheduled)]);
        assert_eq!(guarded.counters().dropped, [0, 0, 2, 0, 0, 0]);
        let (mut strict, mut pool) = port(&[word("drop", "all")], 50);
        assert_eq!(
            offer(&mut strict, &mut pool, &[1, 2, 200]),
            [dropped(2, unscheduled), dropped(200, unscheduled)]
        );
        let (mut off, mut pool) = port(&[word("drop", "off")], 50);
        assert!(offer(&mut off, &mut pool, &[1, 200, 201]).is_empty());
        let (mut three, mut pool) = port(&[("drop_threshold".into(), ParamValue::Int(3))], 50);
        assert_eq!(offer(&mut three, &mut pool, &[1, 200, 201, 202]), [dropped(202, unscheduled)]);
    }

    #[test]
    fn normal_packets_push_out_the_last_opportunistic_ones() {
        let (mut shared, mut pool) = port(&[("low_limit".into(), ParamValue::Int(9))], 4);
        assert!(offer(&mut shared, &mut pool, &[100, 101, 1, 102]).is_empty());
        let full = offer(&mut shared, &mut pool, &[2, 103, 3, 4, 5]);
        let victims: Vec<u32> = full.iter().map(|f| f.handle).collect();
        assert_eq!(
            victims,
            [102, 103, 101, 100, 5],
            "the last one each time, then nobody is left to give way"
        );
        assert_eq!(shared.counters().dropped, [5, 0, 0, 0, 0, 0]);
        assert_eq!(gauge(&shared, "normal_queue_packets").1, 4);
        let order: Vec<u32> = std::iter::from_fn(|| leaves(&mut shared, &mut pool)).map(|l| l.0).collect();
        assert_eq!(order, [1, 2, 3, 4]);
        let ends = shared.free_at();
        assert_eq!(shared.queue_integral(ends), shared.queue_integral(ends + SLOT), "nothing waits any more");
        let off = [("push_out".into(), ParamValue::Bool(false)), ("low_limit".into(), ParamValue::Int(9))];
        let (mut apart, mut pool) = port(&off, 2);
        assert_eq!(offer(&mut apart, &mut pool, &[100, 101, 1])[0].handle, 1);
    }

    #[test]
    fn a_smaller_packet_does_not_make_room_in_a_buffer_of_bytes() {
        let buffer = Buffer { data: Limit::Bytes(2000), control: Limit::Packets(2) };
        let context = PortContext {
            rate: Rate::gbps(10),
            sizes: Sizes::default(),
            buffer,
            seed: 7,
            round_trip: Some(Time::us(50)),
            to_host: false,
        };
        let rules = AnyDiscipline::make("cross-queue-ecn", &[], &context).expect("known").expect("valid");
        let (_, mut pool) = port(&[], 1);
        let mut port = Port::new(rules, context.into());
        port.transmit_idle(Time::ZERO, pool.packet(309));
        pool.packet(100).wire = 300;
        assert!(offer(&mut port, &mut pool, &[100, 1]).is_empty());
        assert_eq!(offer(&mut port, &mut pool, &[2])[0].handle, 2, "300 bytes are not enough");
        pool.packet(3).wire = 300;
        assert_eq!(offer(&mut port, &mut pool, &[3])[0].handle, 100);
    }

    #[test]
    fn the_opportunistic_queue_has_a_bound_of_its_own() {
        let (mut own, mut pool) = port(&[], 8);
        let full = offer(&mut own, &mut pool, &[100, 101, 102, 103, 104]);
        assert_eq!(full, [dropped(104, DropReason::BufferFull)], "half the buffer");
        let (mut short, mut pool) = port(&[period(1)], 100);
        assert_eq!(offer(&mut short, &mut pool, &[100, 101, 102]).len(), 1, "twice what a period carries");
    }
}
