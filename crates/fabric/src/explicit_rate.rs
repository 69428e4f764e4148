//! Explicit rates: a port computes one rate for every flow through it, and lowers the rate that packets carry.
//!
//! Source: RCP (N. Dukkipati, M. Kobayashi, R. Zhang-Shen, N. McKeown, IWQoS 2005), as the authors' ns-2 queue
//! (`rcp.cc`) computes it.
//! Once an interval T the port sets
//!
//! ```text
//! R <- R (1 + (T/d) (alpha (gamma C - y) - beta q/d) / (gamma C))
//! ```
//!
//! from the rate y at which bytes arrived in that interval, the bytes q that wait at its end, and the running
//! mean d of the round trips that packets carry, weighted by their bytes. A packet that straddles the end of an
//! interval counts in both. Deliberate differences, and the reasons:
//!
//! * Ports work without timers: intervals that are over are computed when the next packet arrives or leaves. That is
//!   exact, because between the two nothing arrives and nothing waits.
//! * The authors' constants are for round trips of a tenth of a second. Here an interval lasts one mean round
//!   trip (theirs: at most 10 ms), d starts as the first round trip measured (theirs: 200 ms), and intervals
//!   start with it, which sets ports apart from each other as their random start does.
//! * R starts at the link's rate (theirs: 0.05 of it): an idle link has all of its rate to give, and a message
//!   of microseconds would be over before R had grown.
//!
//! Only packets with [`PacketFlags::RATE`] are written to; all packets count as load. One queue, tail drop.

use crate::Rewrite;
use crate::discipline::{Arrival, Departing, Discipline, Overflow, PortContext};
use crate::{DisciplineInfo, DropReason, Lengths};
use headway_packet::{Packet, PacketFlags};
use headway_params::ParamKind;
use headway_units::Time;

headway_params::params! {
    /// Parameters of explicit rates.
    pub struct ExplicitRateParams {
        /// Weight of the spare rate.
        alpha: f64 = 0.4, ParamKind::Float { min: 0.001, max: 2.0 };
        /// Weight of the waiting bytes.
        beta: f64 = 0.4, ParamKind::Float { min: 0.0, max: 2.0 };
        /// Share of the link's rate to fill.
        gamma: f64 = 1.0, ParamKind::Float { min: 0.05, max: 1.0 };
        /// Rate given before anything is measured, as a share of the link's; 0.05 in the authors' code.
        initial_rate: f64 = 1.0, ParamKind::Float { min: 0.001, max: 1.0 };
        /// Longest interval between two computations; they are a mean round trip apart if that is shorter.
        period: Time = Time::ms(10), ParamKind::Time { min: Time::ZERO, max: Time::DAY };
        /// Round trip before one is measured; 0 = none is computed with until then.
        rtt: Time = Time::ZERO, ParamKind::Time { min: Time::ZERO, max: Time::DAY };
    }
}

/// Lowest rate: this many packets of 1000 bytes a round trip, as in the authors' code.
const LEAST_PACKETS: f64 = 0.01;
const LEAST_BYTES: f64 = 1000.0;

/// Longest round trip that a packet is believed.
const LONGEST_RTT: Time = Time::s(1);

/// Bytes over picoseconds to kilobits a second.
const KBPS: f64 = 8e9;

/// See the module. Boxed: it is larger than what other disciplines keep, and ports lie in an array.
#[derive(Clone, Debug)]
pub struct ExplicitRate(Box<Law>);

/// One port's computation. Rates are in kilobits a second, times in picoseconds.
#[derive(Clone, Debug)]
struct Law {
    alpha: f64,
    beta: f64,
    /// Target rate: gamma times C.
    target: f64,
    /// Capacity of the link, C.
    capacity: f64,
    period: Time,
    /// Shortest interval: the time of a full packet.
    least_period: Time,
    /// R, and R as packets carry it.
    rate: f64,
    stamp: u32,
    /// d; 0 before the first measurement.
    rtt: f64,
    /// The last interval's mean round trip.
    sampled: f64,
    /// Round trips times bytes in this interval, and the bytes of packets that carried one.
    rtt_bytes: f64,
    bytes_with_rtt: f64,
    /// The interval's length and end.
    length: Time,
    ends: Time,
    /// Bytes that arrived in this interval, and how many of them belong to the next one.
    input: f64,
    spilt: f64,
    /// Bytes and packets waiting.
    queue: u64,
    waiting: u32,
    /// The link's time for a byte.
    byte_time: f64,
}

impl Law {
    fn new(params: &ExplicitRateParams, port: &PortContext) -> Law {
        let capacity = port.rate.bps() as f64 / 1e3;
        let target = capacity * params.gamma;
        let mut law = Law {
            alpha: params.alpha,
            beta: params.beta,
            target,
            capacity,
            period: params.period,
            least_period: port.sizes.slot_time(port.rate),
            rate: 0.0,
            stamp: 0,
            rtt: 0.0,
            sampled: 0.0,
            rtt_bytes: 0.0,
            bytes_with_rtt: 0.0,
            length: Time::ZERO,
            ends: Time::ZERO,
            input: 0.0,
            spilt: 0.0,
            queue: 0,
            waiting: 0,
            byte_time: KBPS / capacity,
        };
        law.set_rate((capacity * params.initial_rate).min(target));
        if params.rtt > Time::ZERO {
            law.begin(Time::ZERO, params.rtt);
        }
        law
    }

    /// The first round trip is known: intervals begin. Earlier traffic belongs to none.
    fn begin(&mut self, now: Time, rtt: Time) {
        self.input = 0.0;
        self.rtt = rtt.0 as f64;
        self.sampled = self.rtt;
        self.length = self.interval();
        self.ends = now.saturating_add(self.length);
    }

    // rcp.cc §queue_timeout: T is the smaller of the mean round trip and a fixed time.
    fn interval(&self) -> Time {
        Time(self.rtt as u64).min(self.period).max(self.least_period)
    }

    fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
        // Never 0: a sender at rate 0 would send nothing that could bring back a higher one.
        self.stamp = ((rate + 0.5) as u32).max(1);
    }

    /// Computes every interval that is over.
    #[inline]
    fn advance(&mut self, now: Time) {
        if self.rtt > 0.0 && now >= self.ends {
            self.catch_up(now);
        }
    }

    fn catch_up(&mut self, now: Time) {
        while now >= self.ends {
            let quiet = self.input == 0.0 && self.queue == 0 && self.bytes_with_rtt == 0.0;
            if quiet && self.rate >= self.target {
                // Nothing changes at an idle port that gives all it has.
                return self.skip(now);
            }
            let before = (self.rate, self.rtt);
            self.compute();
            self.length = self.interval();
            self.ends = self.ends.saturating_add(self.length);
            if quiet && self.input == 0.0 && before == (self.rate, self.rtt) && now >= self.ends {
                // Nor does it at one that gives less and does not get nearer, as with an `alpha` of 0.
                return self.skip(now);
            }
        }
    }

    /// Passes the intervals that are over, in which nothing has changed.
    fn skip(&mut self, now: Time) {
        let passed = (now - self.ends).0 / self.length.0 + 1;
        self.ends = self.ends.saturating_add(self.length.saturating_mul(passed));
    }

    // rcp.cc §queue_timeout
    fn compute(&mut self) {
        let length = self.length.0 as f64;
        let load = self.input * KBPS / length;
        (self.input, self.spilt) = (self.spilt, 0.0);
        self.average_rtt(length);
        let backlog = self.queue as f64 * KBPS / self.rtt;
        let spare = self.alpha * (self.target - load) - self.beta * backlog;
        let rate = self.rate * (1.0 + length / self.rtt * spare / self.target);
        let least = LEAST_PACKETS * LEAST_BYTES * KBPS / self.rtt;
        self.set_rate(rate.max(least).min(self.target));
    }

    /// Takes the interval's round trips into the mean; a falling mean follows slowly.
    fn average_rtt(&mut self, length: f64) {
        if self.bytes_with_rtt > 0.0 {
            self.sampled = self.rtt_bytes / self.bytes_with_rtt;
            (self.rtt_bytes, self.bytes_with_rtt) = (0.0, 0.0);
        }
        let gain = (length / self.rtt).min(1.0);
        let gain = match self.sampled >= self.rtt {
            true => gain,
            false => gain * self.rate / self.capacity * self.sampled / self.rtt,
        };
        self.rtt += gain * (self.sampled - self.rtt);
    }

    /// A packet has arrived, whether there is room for it or not.
    fn arrived(&mut self, now: Time, packet: &Packet) {
        let bytes = f64::from(packet.wire);
        if packet.flags.has_all(PacketFlags::RATE) && packet.remaining > 0 {
            let rtt = Time::ns(packet.remaining.into()).min(LONGEST_RTT);
            if self.rtt == 0.0 {
                self.begin(now, rtt);
            }
            self.rtt_bytes += rtt.0 as f64 * bytes;
            self.bytes_with_rtt += bytes;
        }
        self.input += bytes;
        let takes = bytes * self.byte_time;
        let beyond = takes - self.ends.saturating_sub(now).0 as f64;
        if self.rtt > 0.0 && beyond > 0.0 {
            let share = bytes * beyond / takes;
            self.input -= share;
            self.spilt += share;
        }
    }
}

impl Discipline for ExplicitRate {
    type Params = ExplicitRateParams;
    const INFO: DisciplineInfo = DisciplineInfo {
        name: "explicit-rate",
        summary: "one queue, tail drop; computes one rate for all flows and lowers what packets carry to it",
        paper: "RCP, IWQoS 2005, and the authors' ns-2 code",
        rewrites: &[Rewrite::Rate],
        needs: &[],
    };

    fn new(params: &ExplicitRateParams, port: &PortContext) -> Self {
        ExplicitRate(Box::new(Law::new(params, port)))
    }

    fn classes(&self) -> usize {
        1
    }

    #[inline]
    fn class_of(&self, _: &Packet) -> usize {
        0
    }

    fn admit(&mut self, _: &PortContext, arrival: &Arrival, packet: &mut Packet) -> Result<(), DropReason> {
        let law = &mut *self.0;
        law.advance(arrival.now);
        law.arrived(arrival.now, packet);
        law.queue += u64::from(packet.wire);
        law.waiting += 1;
        Ok(())
    }

    fn overflow(&mut self, packet: &Packet) -> Overflow {
        self.0.queue -= u64::from(packet.wire);
        self.0.waiting -= 1;
        Overflow::Drop
    }

    fn discard<L: Lengths>(&mut self, now: Time, _: &L, packet: &Packet) {
        let law = &mut *self.0;
        law.advance(now);
        law.queue -= u64::from(packet.wire);
        law.waiting -= 1;
    }

    /// R goes on from where it is, up to the new target at once and beyond the old one as the law says.
    fn retune(&mut self, now: Time, fresh: Self) {
        let (law, fresh) = (&mut *self.0, *fresh.0);
        law.advance(now);
        (law.capacity, law.target, law.byte_time) = (fresh.capacity, fresh.target, fresh.byte_time);
        law.least_period = fresh.least_period;
        law.set_rate(law.rate.min(law.target));
    }

    fn depart(&mut self, departing: &Departing, packet: &mut Packet) {
        let law = &mut *self.0;
        law.advance(departing.now);
        if law.waiting == 0 {
            // It met an idle port, and did not wait.
            law.arrived(departing.now, packet);
        } else {
            law.queue -= u64::from(packet.wire);
            law.waiting -= 1;
        }
        if packet.flags.has_all(PacketFlags::RATE) {
            packet.token = packet.token.min(law.stamp);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffer, Limit};
    use headway_packet::{HostId, PacketKind, Sizes};
    use headway_units::Rate;

    const RTT: Time = Time::us(40);

    fn rules(set: impl Fn(&mut ExplicitRateParams)) -> ExplicitRate {
        let buffer = Buffer { data: Limit::Packets(128), control: Limit::Packets(128) };
        let port = PortContext {
            rate: Rate::gbps(10),
            sizes: Sizes::default(),
            buffer,
            seed: 0,
            round_trip: None,
            to_host: false,
        };
        let mut params = ExplicitRateParams { initial_rate: 0.5, rtt: RTT, ..ExplicitRateParams::default() };
        set(&mut params);
        ExplicitRate::new(&params, &port)
    }

    /// A packet that asks for a rate and carries the usual round trip, of any size.
    fn packet(wire: u16) -> Packet {
        let mut packet = Packet::new(PacketKind::Data, HostId(0), HostId(1), 0);
        (packet.wire, packet.token, packet.flags) = (wire, u32::MAX, PacketFlags::RATE);
        packet.remaining = (RTT.0 / 1000) as u32;
        packet
    }

    /// Rate that a packet that leaves at `now` carries.
    fn told(rules: &mut ExplicitRate, now: Time) -> u32 {
        let mut probe = packet(0);
        rules.depart(&Departing { now, takes: Time::ZERO, data_waiting: 0, data_bytes: 0 }, &mut probe);
        probe.token
    }

    /// `bytes` pass an idle port in the interval from `from`, in packets of 1000.
    fn load(rules: &mut ExplicitRate, from: Time, bytes: u64) {
        for n in 0..bytes / 1000 {
            let now = from + Rate::gbps(10).time_of(1000) * n;
            rules.depart(
                &Departing { now, takes: Time::ns(800), data_waiting: 0, data_bytes: 0 },
                &mut packet(1000),
            );
        }
    }

    #[test]
    fn the_law_holds_its_rate_grows_and_falls_as_its_terms_say() {
        // Full and nothing waiting: unchanged. Empty: 1 + alpha T/d. A round trip's worth waiting: 1 - beta T/d.
        let mut full = rules(|_| {});
        load(&mut full, Time::ZERO, 50_000);
        assert_eq!(told(&mut full, RTT), 5_000_000);
        let mut empty = rules(|_| {});
        assert_eq!(told(&mut empty, RTT), 7_000_000);
        let mut half = rules(|p| p.period = RTT / 2);
        assert_eq!(told(&mut half, RTT / 2), 6_000_000, "half the interval, half the step");
        let mut queued = rules(|_| {});
        load(&mut queued, Time::ZERO, 50_000);
        (queued.0.queue, queued.0.waiting) = (50_000, 50);
        queued.0.advance(RTT);
        assert_eq!(queued.0.stamp, 3_000_000);
    }

    #[test]
    fn the_rate_stays_between_a_hundredth_of_a_packet_a_round_trip_and_the_target() {
        let mut idle = rules(|p| p.gamma = 0.9);
        assert_eq!(told(&mut idle, Time::s(10)), 9_000_000);
        let mut flooded = rules(|_| {});
        (flooded.0.queue, flooded.0.waiting) = (10_000_000, 10_000);
        flooded.0.advance(RTT);
        // 10 bytes in 40 us.
        assert_eq!(flooded.0.stamp, 2_000);
    }

    #[test]
    fn months_without_a_packet_are_passed_at_once_where_the_rate_stays() {
        let mut stuck = rules(|p| p.alpha = 0.0);
        (stuck.0.queue, stuck.0.waiting) = (10_000_000, 10_000);
        stuck.0.advance(RTT);
        (stuck.0.queue, stuck.0.waiting) = (0, 0);
        let now = Time::DAY * 100 + Time::ns(1);
        stuck.0.advance(now);
        assert_eq!(stuck.0.stamp, 2_000);
        assert!(stuck.0.ends > now && stuck.0.ends <= now + stuck.0.length, "{:?}", stuck.0);
    }

    #[test]
    fn a_packet_across_the_end_of_an_interval_counts_in_both() {
        let mut law = rules(|_| {});
        let now = RTT - Time::ns(200);
        law.depart(
            &Departing { now, takes: Time::ns(800), data_waiting: 0, data_bytes: 0 },
            &mut packet(1000),
        );
        assert!((law.0.input - 250.0).abs() < 1e-6 && (law.0.spilt - 750.0).abs() < 1e-6);
        law.0.advance(RTT);
        assert!((law.0.input - 750.0).abs() < 1e-6 && law.0.spilt == 0.0);
    }

    #[test]
    fn the_mean_round_trip_rises_at_once_and_falls_slowly() {
        let mut law = rules(|_| {});
        let mut slow = packet(1000);
        slow.remaining = 80_000;
        law.depart(
            &Departing { now: Time::ZERO, takes: Time::ns(800), data_waiting: 0, data_bytes: 0 },
            &mut slow,
        );
        law.0.advance(RTT);
        assert_eq!((law.0.rtt, law.0.length), (80e6, Time::us(80)));
        load(&mut law, RTT, 1000);
        let rate = law.0.rate;
        law.0.advance(RTT * 3);
        // By R/C, and by the ratio of the round trips.
        assert!((law.0.rtt - (80e6 - 40e6 * rate / 1e7 * 0.5)).abs() < 1.0, "{}", law.0.rtt);
    }

    #[test]
    fn a_round_trip_that_is_given_is_taken_as_it_is_and_one_of_a_packet_up_to_a_second() {
        let given = rules(|p| p.rtt = Time::s(3));
        assert_eq!(given.0.rtt, 3e12);
        let mut heard = rules(|p| p.rtt = Time::ZERO);
        let mut packet = packet(1000);
        packet.remaining = 3_000_000_000;
        heard.depart(
            &Departing { now: Time::ZERO, takes: Time::ns(800), data_waiting: 0, data_bytes: 0 },
            &mut packet,
        );
        assert_eq!(heard.0.rtt, 1e12);
    }

    #[test]
    fn what_does_not_ask_for_a_rate_is_counted_and_left_alone() {
        let mut law = rules(|_| {});
        let mut other = packet(1000);
        other.flags = PacketFlags::default();
        law.depart(
            &Departing { now: Time::ZERO, takes: Time::ns(800), data_waiting: 0, data_bytes: 0 },
            &mut other,
        );
        assert_eq!((other.token, law.0.input), (u32::MAX, 1000.0));
    }

    #[test]
    fn nothing_is_computed_before_a_round_trip_is_known() {
        let mut law = rules(|p| p.rtt = Time::ZERO);
        let mut syn = packet(84);
        syn.remaining = 0;
        law.depart(
            &Departing { now: Time::ZERO, takes: Time::ns(67), data_waiting: 0, data_bytes: 0 },
            &mut syn,
        );
        law.0.advance(Time::s(1));
        assert_eq!((law.0.stamp, syn.token), (5_000_000, 5_000_000));
        load(&mut law, Time::s(1), 1000);
        assert_eq!((law.0.ends, law.0.input), (Time::s(1) + RTT, 1000.0));
    }

    #[test]
    fn packets_that_find_no_room_count_as_load_but_do_not_wait() {
        let buffer = Buffer { data: Limit::Packets(0), control: Limit::Packets(0) };
        let port = PortContext {
            rate: Rate::gbps(10),
            sizes: Sizes::default(),
            buffer,
            seed: 0,
            round_trip: None,
            to_host: false,
        };
        let mut law = rules(|_| {});
        let mut refused = packet(1000);
        let arrival = Arrival { now: Time::ZERO, packets: 0, bytes: 0, in_service: true };
        assert_eq!(law.admit(&port, &arrival, &mut refused), Ok(()));
        assert_eq!(law.overflow(&refused), Overflow::Drop);
        assert_eq!((law.0.input, law.0.queue, law.0.waiting), (1000.0, 0, 0));
    }
}
