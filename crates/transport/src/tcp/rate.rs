//! Delivery rates, the limit on growth, and proportional rate reduction: three small pieces of a connection.

use super::control::{LostPacket, RateSample, Window};
use super::scoreboard::{Delivery, Departed};
use headway_units::Time;

/// Measures how fast packets are delivered. draft-cheng-iccrg-delivery-rate-estimation
#[derive(Clone, Debug, Default)]
pub(crate) struct RateSampler {
    delivered: u64,
    delivered_at: Time,
    first_at: Time,
    /// Samples are limited by the application until this many packets are delivered.
    limited_until: u64,
    /// Packets found lost, and reported as marked, so far. Both wrap.
    lost: u32,
    marked: u32,
}

impl RateSampler {
    /// Packets known to have arrived.
    pub(crate) fn total_delivered(&self) -> u64 {
        self.delivered
    }

    /// State to remember with a packet that leaves while `pipe` others are in flight.
    pub(crate) fn record_departure(&mut self, now: Time, pipe: u32) -> Departed {
        // draft-cheng-iccrg-delivery-rate-estimation §3.2: after an idle time samples begin with this packet.
        if pipe == 0 {
            (self.delivered_at, self.first_at) = (now, now);
        }
        Departed {
            at: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_at: self.first_at,
            app_limited: self.delivered < self.limited_until,
            in_flight: pipe + 1,
            lost: self.lost,
            marked: self.marked,
        }
    }

    /// A packet is found lost, with an acknowledgement of which `news` packets are not counted yet.
    pub(crate) fn record_loss(&mut self, departed: Departed, news: u32) -> LostPacket {
        // Both counters wrap; only their differences are used.
        self.lost = self.lost.wrapping_add(1);
        LostPacket {
            delivered_total: self.delivered + u64::from(news),
            in_flight: departed.in_flight,
            lost: self.lost.wrapping_sub(departed.lost),
            app_limited: departed.app_limited,
        }
    }

    /// The sender has run out of data and has room for more, with `pipe` packets in flight.
    pub(crate) fn lacks_data(&mut self, pipe: u32) {
        // With nothing in flight, the next packet still counts as limited: it had to wait for data.
        self.limited_until = self.delivered + u64::from(pipe.max(1));
    }

    /// Takes in an acknowledgement; `marked` if it reports its packets as marked.
    pub(crate) fn record_delivery(
        &mut self,
        now: Time,
        delivery: &Delivery,
        marked: bool,
        min_rtt: Time,
    ) -> Option<RateSample> {
        self.delivered += u64::from(delivery.packets);
        if marked {
            self.marked = self.marked.wrapping_add(delivery.packets);
        }
        let newest = delivery.newest?;
        self.delivered_at = now;
        self.first_at = newest.at;
        let sending = newest.at.saturating_sub(newest.first_at);
        // The longer one: packets that left in a burst, or acknowledgements that came in one, would overestimate the rate.
        let interval = sending.max(now.saturating_sub(newest.delivered_at));
        // Shorter than a round trip is an artefact of acknowledgements that came together.
        (interval >= min_rtt && interval > Time::ZERO).then_some(RateSample {
            packets: self.delivered - newest.delivered,
            interval,
            prior_delivered: newest.delivered,
            app_limited: newest.app_limited,
            in_flight: newest.in_flight,
            lost: self.lost.wrapping_sub(newest.lost),
            marked: self.marked.wrapping_sub(newest.marked),
        })
    }
}

/// Use of the window: one that is not in use must not grow. RFC 7661 §4
#[derive(Clone, Debug, Default)]
pub(crate) struct Usage {
    limited: bool,
    most: u32,
    until: u32,
}

impl Usage {
    /// A packet has left, or could not: `outstanding` packets then, `next` the first never sent.
    pub(crate) fn note_flight(&mut self, una: u32, next: u32, outstanding: u32, blocked: bool) {
        // Linux, `tcp_cwnd_validate`: a later packet that finds room must not erase that the
        // window was full in this flight.
        if una >= self.until || blocked || (!self.limited && outstanding > self.most) {
            (self.most, self.until, self.limited) = (outstanding, next, blocked);
        }
    }

    /// True if the window held back data, the last time that it was looked at.
    pub(crate) fn is_limited(&self) -> bool {
        self.limited
    }

    /// True if the window may grow: in slow start up to twice the packets in flight, later if it held back data.
    pub(crate) fn allows_growth(&self, window: &Window) -> bool {
        // Linux, `tcp_is_cwnd_limited`: slow start may double what was in flight.
        if window.slow_start() { window.cwnd < 2.0 * f64::from(self.most) } else { self.limited }
    }
}

/// Brings a window down to the threshold over a round trip. RFC 6937
#[derive(Clone, Debug, Default)]
pub(crate) struct Proportional {
    /// True for Linux's rules.
    linux: bool,
    prior: f64,
    /// The window as it is now.
    now: f64,
    delivered: f64,
    sent: f64,
}

impl Proportional {
    /// A reduction that has not begun; `linux` chooses the rules.
    pub(crate) fn new(linux: bool) -> Proportional {
        Proportional { linux, ..Proportional::default() }
    }

    /// A reduction from a window of `prior` packets begins.
    pub(crate) fn begin_reduction(&mut self, prior: f64) {
        *self = Proportional { prior, now: prior, ..Proportional::new(self.linux) };
    }

    /// A packet leaves.
    pub(crate) fn count_sent(&mut self) {
        self.sent += 1.0;
    }

    /// The window after `delivered` more packets arrived, `repaired` if one of them was sent more than once, and
    /// `pipe` are in flight. RFC 6937 §3
    pub(crate) fn reduced_window(&mut self, delivered: u32, repaired: bool, pipe: u32, ssthresh: f64) -> f64 {
        let (delivered, pipe) = (f64::from(delivered), f64::from(pipe));
        self.delivered += delivered;
        // RFC 6937 §3: above the threshold a share of the delivered packets leaves, rounded up; below it slow
        // start catches up.
        let quota = if pipe > ssthresh {
            (self.delivered * ssthresh / self.prior).ceil() - self.sent
        } else {
            let growing = (self.delivered - self.sent).max(delivered) + 1.0;
            (ssthresh - pipe).min(if self.linux && !repaired { delivered } else { growing })
        };
        // Linux lets one packet go at once, be it for a loss or for a mark.
        let least = if self.linux && self.sent == 0.0 { 1.0 } else { 0.0 };
        // Packets that were taken for lost and arrive after all leave no room in the network: without a limit, many of
        // them would make the window larger than it was before the reduction.
        self.now = (pipe + quota.max(least)).min(self.now.max(ssthresh).max(pipe + 1.0));
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_flow_measures_its_rate() {
        let (mut sampler, mut flight) = (RateSampler::default(), std::collections::VecDeque::new());
        let mut samples = Vec::new();
        // A packet every 10 us, each acknowledged 100 us later.
        for step in 0..100u64 {
            let now = Time::us(step * 10);
            if step >= 10 {
                let newest = flight.pop_front();
                samples.extend(sampler.record_delivery(
                    now,
                    &Delivery { packets: 1, newest, repaired: false },
                    step >= 50,
                    Time::us(100),
                ));
            }
            flight.push_back(sampler.record_departure(now, flight.len() as u32));
            if step == 80 {
                sampler.record_loss(flight[0], 0);
            }
        }
        let last = samples.last().expect("samples");
        assert_eq!((last.packets, last.interval), (10, Time::us(100)));
        assert_eq!((last.in_flight, last.lost, last.marked), (10, 0, 10));
        assert_eq!((samples[45].marked, samples[75].lost), (6, 1), "since the packet left");
        // 10 us apart are 100,000 packets a second: no sample may exceed the rate of the path.
        assert!(samples.iter().all(|s| s.packets as f64 / s.interval.as_secs_f64() < 100_001.0));
        assert!(!last.app_limited);
        sampler.lacks_data(10);
        assert!(sampler.record_departure(Time::ms(1), 9).app_limited);
    }

    #[test]
    fn a_reduction_sends_in_proportion_to_what_is_delivered() {
        let mut prr = Proportional::default();
        prr.begin_reduction(20.0);
        let (mut pipe, mut sent) = (20, Vec::new());
        for _ in 0..20 {
            pipe -= 1;
            let window = prr.reduced_window(1, false, pipe, 10.0) as u32;
            while pipe < window {
                pipe += 1;
                prr.count_sent();
                sent.push(pipe);
            }
        }
        assert_eq!((sent.len(), pipe), (10, 10), "every second arrival releases a packet, down to ten");
    }

    #[test]
    fn a_reduction_makes_no_window_larger_when_packets_taken_for_lost_arrive() {
        for linux in [false, true] {
            let mut prr = Proportional::new(linux);
            // Five may be in flight, and five are; twenty that were taken for lost arrive at once.
            prr.begin_reduction(5.0);
            assert_eq!(prr.reduced_window(20, true, 5, 3.0), 6.0, "by Linux's rules: {linux}");
        }
    }

    #[test]
    fn linux_lets_one_packet_go_at_once_and_then_holds_what_is_delivered() {
        let windows = |linux: bool, repaired: bool| {
            let mut prr = Proportional::new(linux);
            prr.begin_reduction(4.0);
            // One of four in flight arrives: the goal is two.
            let first = prr.reduced_window(1, false, 3, 2.0);
            prr.count_sent();
            // A burst of losses: two are in flight of a goal of eight.
            prr.begin_reduction(16.0);
            prr.count_sent();
            (first, prr.reduced_window(1, repaired, 2, 8.0))
        };
        assert_eq!(windows(false, false), (4.0, 4.0), "half of one, rounded up; one, and one more");
        assert_eq!(windows(true, false), (4.0, 3.0), "as much as arrives");
        assert_eq!(windows(true, true), (4.0, 4.0), "a repair has come through");
        let mut prr = Proportional::new(true);
        prr.begin_reduction(2.0);
        assert_eq!(prr.reduced_window(1, false, 1, 1.0), 2.0, "at the goal, and one packet all the same");
        prr.count_sent();
        assert_eq!(prr.reduced_window(1, false, 1, 1.0), 1.0, "the next one waits");
        assert_eq!(Proportional::default().reduced_window(1, false, 1, 1.0), 1.0, "RFC 6937 waits at once");
    }
}
