//! Cross-queue ECN: normal packets before opportunistic ones, and marks on the former that say how long the
//! queue of the latter is.
//!
//! Source: RPO, ICNP 2021 §IV-A (drop threshold) and §IV-B. Three strict classes: control, normal data
//! (priority 1), opportunistic data (priority 2 and beyond). A normal packet leaves marked while at least k
//! opportunistic packets wait, k being what the normal packets of the last period left over of the link.
//! What is deliberately different, and why:
//!
//! * The paper marks when the queue *exceeds* k. With k = 0 and nothing in the queue that is no mark, although
//!   the text says that then all normal packets are marked; and a buffer full of normal packets, which
//!   refuses every opportunistic one, would never say so. The default is "reaches": k = 0 marks every one.
//! * The paper does not say whether the two queues share a buffer. Here they do: a normal packet that finds
//!   it full pushes out the last opportunistic one, so that these cost the others neither delay nor loss;
//!   and the opportunistic queue has a bound of its own, since k acts a round trip late.
//! * The drop threshold is for packets of first windows alone, as in Aeolus. Dropping those that were
//!   granted on a jitter of one packet would break the receiver's clock.

use crate::discipline::{Arrival, Departing, Discipline, DisciplineInfo, Lengths, Overflow, PortContext};
use crate::{DropReason, Limit};
use headway_packet::{Ecn, Packet, PacketFlags};
use headway_units::{Gauge, Level, ParamKind, SpareMeter, Time, mix};

headway_units::choice! {
    /// When a normal packet is marked.
    pub enum MarkWhen {
        /// The opportunistic queue has k packets or more; k = 0 marks all.
        Reaches = "reaches",
        /// It has more than k: the letter of RPO §IV-B.
        Exceeds = "exceeds",
        /// It has more than k, or k is 0 and it has any.
        ExceedsOrAny = "exceeds-or-any",
    }
}

headway_units::choice! {
    /// Which normal packets the drop threshold is for.
    pub enum DropRule {
        /// Those of first windows.
        Unscheduled = "unscheduled",
        /// All, the letter of RPO §IV-A.
        All = "all",
        /// None.
        Off = "off",
    }
}

headway_units::params! {
    /// Parameters of cross-queue marking.
    pub struct CrossQueueParams {
        /// Time over which the rate of normal packets is measured, and k holds: the round trip. RPO §IV-B
        period: Time = Time::us(50), ParamKind::Time;
        /// When a normal packet is marked. RPO §IV-B
        mark_when: MarkWhen = MarkWhen::Reaches, ParamKind::Choice(MarkWhen::WORDS);
        /// Which normal packets are dropped at the threshold. RPO §IV-A
        drop: DropRule = DropRule::Unscheduled, ParamKind::Choice(DropRule::WORDS);
        /// Normal packets that wait already when one more is dropped, the one on the wire not counted. RPO §IV-A
        drop_threshold: u64 = 1, ParamKind::Int { min: 1, max: 1_000_000 };
        /// A normal packet that finds the buffer full takes the place of the last opportunistic one.
        push_out: bool = true, ParamKind::Bool;
        /// Opportunistic packets that may wait; 0 = half the buffer, and at most twice what the link carries in a period.
        low_limit: u64 = 0, ParamKind::Int { min: 0, max: 1_000_000 };
    }
}

/// The classes after control.
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
    /// Whether the packet refused last may take another's place.
    may_push_out: bool,
    /// Lengths of the two queues.
    normal: Level,
    opportunistic: Level,
    /// What has left.
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

impl Discipline for CrossQueueEcn {
    type Params = CrossQueueParams;
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "cross-queue-ecn",
        summary: "normal packets first, marked by the length of the opportunistic queue behind them",
        paper: "RPO, ICNP 2021 §IV-B",
    };

    fn new(params: &CrossQueueParams, port: &PortContext) -> Self {
        let packet = u64::from(port.sizes.full_wire());
        let buffer = match port.buffer.data {
            Limit::Packets(n) => u64::from(n),
            Limit::Bytes(n) => n / packet,
        };
        let carried = port.rate.bytes_in(params.period) / packet;
        let low_limit = match params.low_limit {
            0 => (buffer / 2).min(2 * carried).max(1),
            n => n,
        };
        // Ports do not measure in step.
        let phase = Time(mix(port.seed) % params.period.0.max(1));
        CrossQueueEcn(Box::new(State {
            mark_when: params.mark_when,
            drop: params.drop,
            drop_threshold: params.drop_threshold as u32,
            push_out: params.push_out,
            low_limit: low_limit as u32,
            packet,
            spare: SpareMeter::new(port.rate, params.period, phase),
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
        usize::from(packet.priority).min(OPPORTUNISTIC)
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
            let unscheduled = packet.flags.has(PacketFlags::UNSCHEDULED);
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
        let threshold = Gauge::count("threshold_packets", u64::from(state.clone().threshold(now)));
        vec![
            state.normal.gauge("normal_queue_packets", now),
            state.opportunistic.gauge("opportunistic_queue_packets", now),
            threshold,
            Gauge::count("normal_bytes", state.normal_bytes),
            Gauge::count("opportunistic_bytes", state.opportunistic_bytes),
        ]
    }
}
