//! Trimming: a full data queue cuts a packet down to its header, which overtakes the data.
//!
//! Source: NDP §3.1, §3.2.4. Two queues: data, of eight packets, and headers with all other control, of as
//! many bytes. A packet that meets a full data queue is trimmed, or the last packet of the queue in its place, by
//! the fall of a coin. Headers are served ten for each data packet while both wait. A header that meets a
//! full queue goes back to its sender, once. Deliberate differences, and the reasons:
//!
//! * The coin is a hash of the port's seed and a count of its throws: ports own no generator.
//! * Only headers of data go back to their sender. Acknowledgements and pulls that find no room are
//!   dropped: their sender could do nothing with them.
//!
//! `variant = "csg-htsim"` is the switch of the csg-htsim simulator with its defaults, which is not the
//! paper's: headers before all data, a header queue of twice the bytes, nothing goes back, and the packet
//! on the wire counts as waiting.

use crate::Rewrite;
use crate::discipline::{Arrival, Departing, Discipline, Overflow, PortContext, Space};
use crate::{Buffer, DisciplineInfo, DropReason, Limit};
use headway_packet::{Packet, PacketFlags, PacketKind, Sizes};
use headway_params::ParamKind;
use headway_primitives::mix;
use headway_units::Time;

headway_params::choice! {
    /// The switch whose rules are the defaults.
    pub enum TrimVariant {
        /// The paper's: 10 headers to one data packet, header queue of the data queue's bytes, return to sender.
        Paper = "paper",
        /// That of csg-htsim as it comes: headers first, twice the bytes for headers, no return to sender.
        CsgHtsim = "csg-htsim",
    }
}

headway_params::choice! {
    /// A rule that is as the variant has it, or on, or off.
    pub enum Rule {
        /// As the variant has it.
        Variant = "variant",
        /// It holds in every variant.
        On = "on",
        /// It holds in no variant.
        Off = "off",
    }
}

headway_params::choice! {
    /// Packet that is trimmed when the data queue is full.
    pub enum Victim {
        /// The arriving packet or the last one of the queue, by the fall of a coin.
        Coin = "coin",
        /// Always the arriving packet, as P4 switches do.
        Arrival = "arrival",
        /// Always the last packet of the queue.
        Last = "last",
    }
}

headway_params::params! {
    /// Parameters of the port `trimming`, in the order of the documentation.
    pub struct TrimmingParams {
        /// Switch whose values the other parameters have unless they are set, and the default buffers.
        variant: TrimVariant = TrimVariant::Paper, ParamKind::Choice(TrimVariant::WORDS);
        /// Headers served for each data packet while both wait; 0 = as the variant has it (10, or no bound). NDP §3.1
        headers_per_data: u64 = 0, ParamKind::Int { min: 0, max: 1_000_000 };
        /// Headers without room go back to their sender. NDP §3.2.4
        bounce: Rule = Rule::Variant, ParamKind::Choice(Rule::WORDS);
        /// Packet that is trimmed when the data queue is full. NDP §3.1
        victim: Victim = Victim::Coin, ParamKind::Choice(Victim::WORDS);
        /// The packet on the wire counts as waiting.
        count_wire: Rule = Rule::Variant, ParamKind::Choice(Rule::WORDS);
    }
}

/// Class of headers and control, and of data.
const HEADERS: usize = 0;
const DATA: usize = 1;

/// Data packets that the data queue holds when a scenario does not say. NDP §3.1
const QUEUE_PACKETS: u32 = 8;

/// See the module.
#[derive(Clone, Debug)]
pub struct Trimming {
    /// Headers in a row while data waits, at most; `None` = no bound.
    run: Option<u32>,
    /// Headers served since data was, while both waited.
    served: u32,
    bounce: bool,
    victim: Victim,
    seed: u64,
    throws: u32,
    count_wire: bool,
    /// The packet on the wire: whether it is data, its bytes, when it is gone.
    wire_is_data: bool,
    wire_bytes: u16,
    wire_ends: Time,
}

impl Trimming {
    /// The coin. NDP §3.1
    fn coin_is_heads(&mut self) -> bool {
        // A counter and a hash in place of a generator: ports own none, so that a port costs no more memory.
        self.throws = self.throws.wrapping_add(1);
        mix(self.seed ^ mix(self.throws.into())) & 1 == 1
    }
}

impl TrimmingParams {
    /// Headers in a row while data waits, at most; `None` = no bound.
    fn headers_in_a_row(&self) -> Option<u32> {
        match self.headers_per_data {
            0 => (self.variant != TrimVariant::CsgHtsim).then_some(10),
            n => Some(n as u32),
        }
    }
}

impl Discipline for Trimming {
    type Params = TrimmingParams;
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "trimming",
        summary: "full data queues trim packets to headers, served 10:1 with data; headers without room go back",
        paper: "NDP, SIGCOMM 2017 §3.1",
        rewrites: &[Rewrite::Trim, Rewrite::Return],
        needs: &[],
    };

    fn headers_starve_data(params: &TrimmingParams) -> bool {
        params.headers_in_a_row().is_none()
    }

    fn new(params: &TrimmingParams, port: &PortContext) -> Self {
        let csg = params.variant == TrimVariant::CsgHtsim;
        let rule = |rule: Rule, in_csg: bool| match rule {
            Rule::Variant => csg == in_csg,
            Rule::On => true,
            Rule::Off => false,
        };
        Trimming {
            run: params.headers_in_a_row(),
            served: 0,
            bounce: rule(params.bounce, false),
            victim: params.victim,
            seed: port.seed,
            throws: 0,
            count_wire: rule(params.count_wire, true),
            wire_is_data: false,
            wire_bytes: 0,
            wire_ends: Time::ZERO,
        }
    }

    /// Eight packets of data and as many bytes of headers, or csg-htsim's buffer for `-q 8`: eight times
    /// the payload, and twice that for headers.
    fn buffer(params: &TrimmingParams, sizes: &Sizes, space: Space) -> Buffer {
        let packets = u64::from(QUEUE_PACKETS);
        let data = space.data.unwrap_or(match params.variant {
            TrimVariant::Paper => Limit::Packets(QUEUE_PACKETS),
            TrimVariant::CsgHtsim => Limit::Bytes(packets * u64::from(sizes.payload)),
        });
        let bytes = match data {
            Limit::Packets(n) => u64::from(n) * u64::from(sizes.full_wire()),
            Limit::Bytes(n) => n,
        };
        let headers = match params.variant {
            TrimVariant::Paper => bytes,
            TrimVariant::CsgHtsim => bytes * 2,
        };
        Buffer { data, control: space.control.unwrap_or(Limit::Bytes(headers)) }
    }

    fn classes(&self) -> usize {
        2
    }

    #[inline]
    fn class_of(&self, packet: &Packet) -> usize {
        if packet.is_data() { DATA } else { HEADERS }
    }

    #[inline]
    fn admit(
        &mut self,
        port: &PortContext,
        arrival: &Arrival,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        let data = packet.is_data();
        let counts = self.count_wire && self.wire_is_data == data && self.wire_ends > arrival.now;
        let (packets, bytes) = match counts {
            true => (arrival.packets + 1, arrival.bytes + u64::from(self.wire_bytes)),
            false => (arrival.packets, arrival.bytes),
        };
        let (limit, full) = match data {
            true => (port.buffer.data, DropReason::BufferFull),
            false => (port.buffer.control, DropReason::ControlFull),
        };
        if limit.admits(packets, bytes, packet.wire) { Ok(()) } else { Err(full) }
    }

    fn overflow(&mut self, packet: &Packet) -> Overflow {
        if packet.is_data() {
            let last = match self.victim {
                Victim::Coin => self.coin_is_heads(),
                Victim::Arrival => false,
                Victim::Last => true,
            };
            return if last { Overflow::TrimLast { class: DATA } } else { Overflow::Trim };
        }
        // NDP §3.2.4: a header goes back at most once.
        let returns = packet.kind == PacketKind::Header && !packet.flags.has_all(PacketFlags::BOUNCED);
        if self.bounce && returns { Overflow::Return } else { Overflow::Drop }
    }

    const CHOOSES: bool = true;

    /// Weighted round robin. NDP §3.1
    #[inline]
    fn choose(&mut self, _: Time, occupied: u32) -> usize {
        // Turns are counted only while both queues hold something.
        if occupied != (1 << HEADERS | 1 << DATA) {
            return occupied.trailing_zeros() as usize;
        }
        match self.run {
            Some(run) if self.served >= run => {
                self.served = 0;
                DATA
            }
            _ => {
                self.served += 1;
                HEADERS
            }
        }
    }

    #[inline]
    fn depart(&mut self, departing: &Departing, packet: &mut Packet) {
        if self.count_wire {
            self.wire_ends = departing.now + departing.takes;
            (self.wire_bytes, self.wire_is_data) = (packet.wire, packet.is_data());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{self, AnyDiscipline};
    use crate::testing::PacketPool;
    use crate::{Fate, Full, Packets, Port};
    use headway_packet::HostId;
    use headway_params::ParamValue;
    use headway_units::Rate;

    const SIZES: Sizes = Sizes { payload: 9000, header: 64, framing: 0, control: 64 };

    fn word(name: &str, word: &str) -> (String, ParamValue) {
        (name.into(), ParamValue::Choice(word.into()))
    }

    /// A port whose wire is busy with packet 0, and a pool of data packets (below 1000) and acknowledgements.
    fn port(params: &[(String, ParamValue)], space: Space, seed: u64) -> (Port<u32>, PacketPool) {
        let buffer = registry::buffer("trimming", params, &SIZES, space).expect("known").expect("valid");
        let context = PortContext {
            rate: Rate::gbps(10),
            sizes: SIZES,
            buffer,
            seed,
            round_trip: None,
            to_host: false,
        };
        let rules = AnyDiscipline::make("trimming", params, &context).expect("known").expect("valid");
        let packet = |i: u32| {
            let kind = if i < 1000 { PacketKind::Data } else { PacketKind::Ack };
            let mut p = Packet::new(kind, HostId(1), HostId(2), i);
            (p.wire, p.payload, p.priority) = if i < 1000 { (9064, 9000, 1) } else { (64, 0, 0) };
            p
        };
        let (mut port, mut pool) =
            (Port::new(rules, context.into()), PacketPool((0..4000).map(packet).collect()));
        port.transmit_idle(Time::ZERO, pool.packet(0));
        (port, pool)
    }

    fn offer(port: &mut Port<u32>, pool: &mut PacketPool, handles: std::ops::Range<u32>) -> Vec<Full<u32>> {
        let full = handles.filter_map(|h| port.offer(Time(1), h, pool).err()).collect();
        port.check().expect("identities");
        full
    }

    /// Kinds in the order of departure: `d`ata, `h`eader, `a`cknowledgement.
    fn departures(port: &mut Port<u32>, pool: &mut PacketPool) -> String {
        let mut out = String::new();
        while let Some(d) = port.next(port.free_at(), pool) {
            let kind = pool.packet(d.handle).kind;
            out.push_str(&kind.name()[..1]);
        }
        port.check().expect("identities");
        out
    }

    #[test]
    fn a_full_queue_trims_the_arrival_or_the_last_by_a_fair_coin() {
        let (mut arrivals, mut lasts) = (0, 0);
        for seed in 0..200 {
            let (mut port, mut pool) = port(&[], Space::default(), seed);
            assert!(offer(&mut port, &mut pool, 1..9).is_empty(), "eight packets wait");
            let full = offer(&mut port, &mut pool, 9..10);
            assert_eq!(full.len(), 1);
            assert!(full[0].trimmed && full[0].fate == Fate::Kept);
            let hit = pool.packet(full[0].handle);
            assert_eq!((hit.kind, hit.payload, hit.wire), (PacketKind::Header, 0, 64));
            match full[0].handle {
                9 => arrivals += 1,
                8 => lasts += 1,
                other => panic!("packet {other} was trimmed"),
            }
            assert_eq!(port.counters().trimmed, 1);
            assert_eq!(departures(&mut port, &mut pool), "hdddddddd");
            let ends = port.free_at();
            let bytes = port.queue_integral(ends);
            assert_eq!(bytes, port.queue_integral(ends + Time::us(1)), "nothing waits any more");
        }
        assert!((70..=130).contains(&arrivals), "{arrivals} arrivals, {lasts} last ones");
    }

    #[test]
    fn the_victim_can_be_fixed() {
        for (name, hit) in [("arrival", vec![9, 10, 11]), ("last", vec![8, 9, 10])] {
            let (mut port, mut pool) = port(&[word("victim", name)], Space::default(), 1);
            let full = offer(&mut port, &mut pool, 1..12);
            assert_eq!(full.iter().map(|f| f.handle).collect::<Vec<_>>(), hit, "{name}");
        }
    }

    #[test]
    fn ten_headers_are_served_for_each_packet() {
        let (mut port, mut pool) = port(&[], Space::default(), 1);
        offer(&mut port, &mut pool, 1..4);
        offer(&mut port, &mut pool, 1000..1025);
        assert_eq!(departures(&mut port, &mut pool), format!("{0}d{0}daaaaad", "a".repeat(10)));
        let (mut strict, mut pool) = super::tests::port(&[word("variant", "csg-htsim")], Space::default(), 1);
        offer(&mut strict, &mut pool, 1..4);
        offer(&mut strict, &mut pool, 1000..1025);
        assert_eq!(departures(&mut strict, &mut pool), format!("{}ddd", "a".repeat(25)));
    }

    #[test]
    fn a_header_without_room_goes_back_once_and_control_is_dropped() {
        let (mut port, mut pool) = port(&[word("victim", "arrival")], Space::default(), 1);
        offer(&mut port, &mut pool, 1..9);
        // 72,512 bytes hold 1133 headers of 64.
        assert!(offer(&mut port, &mut pool, 1000..2133).is_empty());
        let full = offer(&mut port, &mut pool, 9..10);
        assert_eq!(full, [Full { handle: 9, trimmed: true, fate: Fate::Returned }]);
        let back = *pool.packet(9);
        assert_eq!((back.src, back.dst, back.kind), (HostId(2), HostId(1), PacketKind::Header));
        assert!(back.flags.has_all(PacketFlags::BOUNCED));
        let dropped = Fate::Dropped(DropReason::ControlFull);
        assert_eq!(offer(&mut port, &mut pool, 9..10), [Full { handle: 9, trimmed: false, fate: dropped }]);
        assert_eq!(offer(&mut port, &mut pool, 2133..2134)[0].fate, dropped);
        assert_eq!((port.counters().returned, port.counters().dropped), (1, [0, 2, 0, 0, 0, 0]));
    }

    #[test]
    fn the_last_packet_that_gives_way_may_go_back_itself() {
        let (mut port, mut pool) = port(&[word("victim", "last")], Space::default(), 1);
        offer(&mut port, &mut pool, 1..9);
        offer(&mut port, &mut pool, 1000..2133);
        let full = offer(&mut port, &mut pool, 9..10);
        assert_eq!(full, [Full { handle: 8, trimmed: true, fate: Fate::Returned }]);
        assert_eq!(departures(&mut port, &mut pool).matches('d').count(), 8);
    }

    #[test]
    fn the_switch_of_csg_htsim_has_its_own_sizes_and_drops_headers() {
        let params = [word("variant", "csg-htsim"), word("victim", "arrival")];
        let (mut port, mut pool) = port(&params, Space::default(), 1);
        // 72,000 bytes are seven packets of 9064, with the one on the wire; headers have twice the bytes.
        let full = offer(&mut port, &mut pool, 1..9);
        assert_eq!(full.iter().map(|f| f.handle).collect::<Vec<_>>(), [7, 8]);
        assert!(offer(&mut port, &mut pool, 1000..3248).is_empty(), "2248 and two trimmed ones");
        let full = offer(&mut port, &mut pool, 9..10);
        assert_eq!(full[0].fate, Fate::Dropped(DropReason::ControlFull));
    }

    #[test]
    fn a_scenario_has_the_last_word_on_space() {
        let space = Space { data: Some(Limit::Packets(3)), control: None };
        let default = Trimming::buffer(&TrimmingParams::default(), &SIZES, space);
        assert_eq!(default, Buffer { data: Limit::Packets(3), control: Limit::Bytes(3 * 9064) });
        let both = Space { control: Some(Limit::Packets(5)), ..space };
        let set = Trimming::buffer(&TrimmingParams::default(), &SIZES, both);
        assert_eq!(set.control, Limit::Packets(5));
    }
}
