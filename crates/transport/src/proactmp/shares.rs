//! pCC: the subflows of a message at its sender, and how credit is divided among them. ProactMP §III-C3

use super::params::{Settings, Weights};
use crate::endpoint::SubflowShare;
use headway_packet::HostId;
use headway_units::Time;
use std::collections::VecDeque;

crate::state_machine! {
    /// A subflow at the sender of its message.
    "subflow" pub(super) enum SubflowState on SubflowEvent {
        Absent { Join => Joining, Finished => Closed }
        Joining { Join => Joining, Grant => Established, Finished => Closed }
        Established { Join => Established, Grant => Established, Lost => Removed, Finished => Closed }
        Removed { Join => Joining, Grant => Established, Finished => Closed }
        Closed {}
    }
    events { Join, Grant, Lost, Finished }
}

/// Grants that weights of the kind `window` look back on.
const WINDOW: usize = 64;

/// A packet in flight.
#[derive(Clone, Copy, Debug)]
struct Flying {
    sent: Time,
    index: u32,
    bytes: u64,
}

/// State of one path at its sender.
#[derive(Debug)]
pub(super) struct Subflow {
    pub(super) state: SubflowState,
    pub(super) entropy: u32,
    /// w of equation 2.
    weight: u64,
    /// Smoothed round trip, and the newest; none before the first grant.
    srtt: Option<Time>,
    rtt: Time,
    /// Bytes that it may send, fractions kept; below 0 where others were out of room.
    budget: f64,
    flight: VecDeque<Flying>,
    in_flight: u64,
    /// RESENDs about it since it last brought a grant.
    lost: u64,
}

impl Subflow {
    fn new(entropy: u32) -> Subflow {
        Subflow {
            state: SubflowState::Absent,
            entropy,
            weight: 0,
            srtt: None,
            rtt: Time::ZERO,
            budget: 0.0,
            flight: VecDeque::new(),
            in_flight: 0,
            lost: 0,
        }
    }

    fn is_established(&self) -> bool {
        self.state == SubflowState::Established
    }

    /// Forgets packets in flight that `gone` says are not.
    fn remove_landed(&mut self, gone: impl Fn(&Flying) -> bool) {
        let bytes = &mut self.in_flight;
        self.flight.retain(|packet| {
            let lands = gone(packet);
            *bytes -= if lands { packet.bytes } else { 0 };
            !lands
        });
    }

    /// A round trip, smoothed by an eighth.
    fn sample_rtt(&mut self, rtt: Time) {
        self.rtt = rtt;
        // Divided before they are added: an echo off the wire may be of any size.
        self.srtt = Some(self.srtt.map_or(rtt, |old| Time(old.0 - old.0 / 8 + rtt.0 / 8)));
    }
}

/// The subflows of one message.
#[derive(Debug)]
pub(super) struct Shares {
    pub(super) subflows: Vec<Subflow>,
    /// Stands for a round trip that has not been measured.
    base_rtt: Time,
    /// The subflows of the newest grants, where weights look back.
    recent: VecDeque<usize>,
    /// Time of the last grant.
    granted_at: Time,
    cap: Option<u64>,
    /// True if a packet may leave that only begins within `cap`.
    pub(super) filled: bool,
}

impl Shares {
    /// The first of `count` subflows is established, the others are absent. A subflow may have `cap` bytes in flight.
    pub(super) fn new(entropy: u32, count: u32, base_rtt: Time, cap: Option<u64>, now: Time) -> Shares {
        // `count` is 0 where this host does not support several.
        let mut subflows: Vec<Subflow> = (0..count.max(1)).map(|_| Subflow::new(entropy)).collect();
        subflows[0].state = SubflowState::Established;
        Shares { subflows, base_rtt, recent: VecDeque::new(), granted_at: now, cap, filled: false }
    }

    fn subflow_rtt(&self, subflow: &Subflow) -> Time {
        subflow.srtt.unwrap_or(self.base_rtt)
    }

    /// The longest smoothed round trip.
    pub(super) fn slowest_rtt(&self) -> Time {
        self.subflows.iter().filter_map(|s| s.srtt).max().unwrap_or(Time::ZERO)
    }

    fn established_count(&self) -> usize {
        self.subflows.iter().filter(|s| s.is_established()).count()
    }

    /// The established subflow with the shortest round trip, of those that no RESEND was about since their last grant, if
    /// there is one; there always is an established one.
    pub(super) fn fastest_subflow(&self) -> usize {
        let established = self.subflows.iter().enumerate().filter(|(_, s)| s.is_established());
        established.min_by_key(|(_, s)| (s.lost, self.subflow_rtt(s))).map_or(0, |(number, _)| number)
    }

    /// The subflow that the next packet goes to: the one with the most budget among those with room, the fastest of
    /// several. ProactMP §III-C1
    pub(super) fn pick_subflow(&self, bytes: u64) -> Option<usize> {
        let several = self.established_count() > 1;
        let room = |s: &Subflow| match self.cap {
            // The window is filled: a packet that begins within it leaves.
            Some(cap) if several && self.filled => s.in_flight < cap,
            Some(cap) if several => s.in_flight + bytes <= cap,
            _ => true,
        };
        let able = self.subflows.iter().enumerate().filter(|(_, s)| s.is_established() && room(s));
        // The last of equals is taken: the first subflow.
        let most = able.rev().max_by(|(_, a), (_, b)| {
            a.budget.total_cmp(&b.budget).then_with(|| self.subflow_rtt(b).cmp(&self.subflow_rtt(a)))
        });
        most.map(|(number, _)| number)
    }

    /// A packet leaves on a subflow; `paid` where it takes credit.
    pub(super) fn count_departure(&mut self, number: usize, now: Time, index: u32, bytes: u64, paid: bool) {
        let subflow = &mut self.subflows[number];
        subflow.budget -= if paid { bytes as f64 } else { 0.0 };
        subflow.flight.push_back(Flying { sent: now, index, bytes });
        subflow.in_flight += bytes;
    }

    /// True if packet `index` left at most a base round trip ago.
    pub(super) fn left_lately(&self, index: u32, now: Time) -> bool {
        let late = |f: &Flying| f.index == index && now < f.sent.saturating_add(self.base_rtt);
        self.subflows.iter().any(|s| s.flight.iter().any(late))
    }

    /// A grant came on a subflow, answering a packet that left it at `sent`. ProactMP §III-C3
    pub(super) fn count_grant(&mut self, settings: &Settings, number: usize, now: Time, sent: Time) {
        let idle = now.saturating_sub(self.granted_at);
        if settings.idle_reset > Time::ZERO && idle > settings.idle_reset {
            self.subflows.iter_mut().filter(|s| s.weight > 1).for_each(|s| s.weight = 1);
            self.recent.clear();
        }
        self.granted_at = now;
        let saturating = settings.weights == Weights::Saturating;
        if !self.subflows[number].is_established() {
            // A weight that older subflows have saved up would keep the newcomer out.
            let old = self.subflows.iter_mut().filter(|s| saturating && s.weight > 1);
            old.for_each(|s| s.weight = 1);
        }
        let subflow = &mut self.subflows[number];
        subflow.state.step(SubflowEvent::Grant);
        // A path keeps its packets in order: earlier packets have arrived, or never will.
        subflow.remove_landed(|f| f.sent <= sent);
        subflow.lost = 0;
        subflow.sample_rtt(now.saturating_sub(sent));
        subflow.weight += 1;
        if saturating {
            subflow.weight = subflow.weight.min(settings.weight_limit);
        }
        if settings.weights == Weights::Window {
            self.look_back(number);
        }
    }

    fn look_back(&mut self, number: usize) {
        self.recent.push_back(number);
        if self.recent.len() > WINDOW {
            self.recent.pop_front();
        }
        for (number, subflow) in self.subflows.iter_mut().enumerate() {
            let grants = self.recent.iter().filter(|n| **n == number).count() as u64;
            // Without a weight a subflow would get no credit, and so would never bring a grant again.
            subflow.weight = grants.max(u64::from(subflow.state == SubflowState::Established));
        }
    }

    /// Divides new credit by weight over the square of the round trip. ProactMP §III-C3, equation 2
    pub(super) fn divide_credit(&mut self, settings: &Settings, bytes: u64) {
        let base = self.base_rtt;
        let share = |s: &Subflow| {
            let rtt = if settings.raw_rtt && s.srtt.is_some() { s.rtt } else { s.srtt.unwrap_or(base) };
            // At least 1 ps, because the share divides by it.
            let ns = rtt.0.max(1) as f64 / 1e3;
            if s.is_established() { s.weight as f64 / (ns * ns) } else { 0.0 }
        };
        let all: f64 = self.subflows.iter().map(share).sum();
        if all > 0.0 {
            self.subflows.iter_mut().for_each(|s| s.budget += bytes as f64 * (share(s) / all));
        } else {
            // Before the first grant every weight is 0.
            let first = self.fastest_subflow();
            self.subflows[first].budget += bytes as f64;
        }
    }

    /// The receiver misses `index..end`: packets that cannot be in flight are not. With `removal`, a subflow that has been
    /// silent with them is removed, and its credit goes to another; else losses change no credit. ProactMP §III-B2, §III-C5
    pub(super) fn count_missed(&mut self, settings: &Settings, index: u32, end: u32, before: Time) {
        for number in 0..self.subflows.len() {
            let lost = |f: &Flying| (index..end).contains(&f.index);
            let subflow = &mut self.subflows[number];
            let silent = subflow.flight.iter().any(lost);
            subflow.remove_landed(|f| lost(f) || f.sent <= before);
            subflow.lost += u64::from(silent);
            let given_up = settings.removal > 0 && subflow.lost >= settings.removal;
            if silent && given_up && subflow.is_established() {
                self.remove_subflow(number);
            }
        }
    }

    /// The subflows whose paths are `lost` are removed, if there is another. Answers the packets that were in flight there.
    pub(super) fn path_lost(&mut self, lost: &dyn Fn(u32) -> bool) -> Vec<u32> {
        let mut flying = Vec::new();
        for number in 0..self.subflows.len() {
            let subflow = &mut self.subflows[number];
            if !subflow.is_established() || !lost(subflow.entropy) {
                continue;
            }
            flying.extend(subflow.flight.iter().map(|flown| flown.index));
            subflow.remove_landed(|_| true);
            // The last one stays, whatever its path is like: a message has to send by something.
            if self.established_count() > 1 {
                self.remove_subflow(number);
            }
        }
        flying
    }

    /// Tells what the established ones have.
    pub(super) fn report_subflows(&self, peer: HostId, found: &mut dyn FnMut(SubflowShare)) {
        for subflow in self.subflows.iter().filter(|subflow| subflow.is_established()) {
            found(SubflowShare {
                peer,
                entropy: subflow.entropy,
                weight: subflow.weight as f64,
                credit: subflow.budget,
                cap: self.cap,
                in_flight: subflow.in_flight,
            });
        }
    }

    fn remove_subflow(&mut self, number: usize) {
        self.subflows[number].state.step(SubflowEvent::Lost);
        if self.established_count() == 0 {
            // Nothing better is known than the one that was removed before.
            let other = |n: &usize| *n != number && self.subflows[*n].state == SubflowState::Removed;
            let instead = (0..self.subflows.len()).find(other).unwrap_or(number);
            self.subflows[instead].state.step(SubflowEvent::Grant);
            self.subflows[instead].weight = 1;
            if instead == number {
                return;
            }
        }
        let gone = &mut self.subflows[number];
        gone.remove_landed(|_| true);
        (gone.weight, gone.lost) = (0, 0);
        let budget = std::mem::take(&mut gone.budget);
        let heir = self.fastest_subflow();
        self.subflows[heir].budget += budget;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares_with(weights: [u64; 2], rtts: [u64; 2]) -> Shares {
        let mut shares = Shares::new(0, 2, Time::us(9), None, Time::ZERO);
        for ((subflow, weight), rtt) in shares.subflows.iter_mut().zip(weights).zip(rtts) {
            (subflow.state, subflow.weight) = (SubflowState::Established, weight);
            subflow.sample_rtt(Time::us(rtt));
        }
        shares
    }

    fn divided_budgets(mut shares: Shares) -> [f64; 2] {
        shares.divide_credit(&Settings::default(), 1000);
        [shares.subflows[0].budget, shares.subflows[1].budget].map(|b| (b * 1e6).round() / 1e6)
    }

    /// The division of equation 2.
    #[test]
    fn credit_follows_weight_over_round_trip_squared() {
        assert_eq!(divided_budgets(shares_with([10, 10], [10, 20])), [800.0, 200.0]);
        assert_eq!(divided_budgets(shares_with([15, 5], [10, 10])), [750.0, 250.0]);
        assert_eq!(divided_budgets(shares_with([16, 16], [10, 10])), [500.0, 500.0]);
        assert_eq!(
            divided_budgets(shares_with([0, 0], [20, 10])),
            [0.0, 1000.0],
            "no grant yet: to the fastest"
        );
    }

    #[test]
    fn weights_grow_in_three_ways() {
        let grown = |weights, grants: usize| {
            let settings = Settings { weights, ..Settings::default() };
            let mut shares = Shares::new(0, 2, Time::us(9), None, Time::ZERO);
            for n in 0..grants {
                shares.count_grant(&settings, 0, Time::us(n as u64), Time::ZERO);
            }
            shares.subflows[1].state.step(SubflowEvent::Join);
            for n in 0..4 {
                shares.count_grant(&settings, 1, Time::us(100 + n), Time::ZERO);
            }
            [shares.subflows[0].weight, shares.subflows[1].weight]
        };
        assert_eq!(grown(Weights::Seed, 70), [70, 4]);
        assert_eq!(grown(Weights::Window, 70), [60, 4]);
        assert_eq!(grown(Weights::Saturating, 70), [1, 4], "all begin anew with a newcomer");
        let mut alone = Shares::new(0, 1, Time::us(9), None, Time::ZERO);
        for n in 0..40 {
            alone.count_grant(&Settings::default(), 0, Time::us(n), Time::ZERO);
        }
        assert_eq!(alone.subflows[0].weight, 16);
        alone.count_grant(&Settings::default(), 0, Time::ms(20), Time::ZERO);
        assert_eq!(alone.subflows[0].weight, 2, "and after a pause");
    }

    #[test]
    fn losses_move_no_credit_and_what_is_sent_again_takes_a_subflow_that_answers() {
        let mut shares = shares_with([5, 5], [10, 20]);
        shares.divide_credit(&Settings::default(), 6000);
        shares.count_departure(0, Time::us(1), 7, 1460, true);
        let before = [shares.subflows[0].budget, shares.subflows[1].budget];
        assert_eq!(shares.fastest_subflow(), 0);
        let blind = Settings { removal: 0, ..Settings::default() };
        for _ in 0..9 {
            shares.count_missed(&blind, 7, 8, Time::ZERO);
            shares.count_departure(0, Time::us(1), 7, 1460, false);
        }
        assert_eq!([shares.subflows[0].budget, shares.subflows[1].budget], before);
        assert_eq!(shares.fastest_subflow(), 1, "nothing on the first was answered");
        shares.count_grant(&Settings::default(), 0, Time::us(9), Time::us(2));
        assert_eq!(shares.fastest_subflow(), 0);
    }

    #[test]
    fn a_silent_subflow_leaves_its_credit_to_the_others() {
        let removing = Settings::default();
        let mut shares = shares_with([5, 5], [10, 10]);
        shares.divide_credit(&removing, 6000);
        shares.count_departure(0, Time::us(1), 7, 1460, true);
        shares.count_departure(1, Time::us(1), 8, 1460, true);
        shares.count_missed(&removing, 7, 8, Time::ZERO);
        assert_eq!(shares.subflows[0].state, SubflowState::Removed);
        // Half of 6000 bytes each, and what 0 had left after a packet of 1460, 1540; subflow 1 has paid for one as
        // well.
        assert_eq!((shares.subflows[0].in_flight, shares.subflows[1].budget), (0, 3080.0));
        assert_eq!(shares.pick_subflow(1460), Some(1));
        // The other falls silent as well: back to the first, for want of a better one.
        shares.count_missed(&removing, 8, 9, Time::ZERO);
        assert_eq!(shares.pick_subflow(1460), Some(0));
        assert_eq!(shares.subflows[0].budget, 3080.0);
    }

    #[test]
    fn a_full_subflow_lets_others_send_for_it() {
        let mut shares = shares_with([9, 1], [10, 10]);
        shares.cap = Some(2920);
        shares.divide_credit(&Settings::default(), 8000);
        for index in 0..2 {
            assert_eq!(shares.pick_subflow(1460), Some(0));
            shares.count_departure(0, Time::ZERO, index, 1460, true);
        }
        shares.cap = Some(2921);
        assert_eq!(shares.pick_subflow(1460), Some(1), "no room for a whole one");
        shares.filled = true;
        assert_eq!(shares.pick_subflow(1460), Some(0), "a byte of room");
        (shares.cap, shares.filled) = (Some(2920), false);
        assert_eq!(shares.pick_subflow(1460), Some(1));
        shares.count_grant(&Settings::default(), 0, Time::us(5), Time::ZERO);
        assert_eq!(shares.pick_subflow(1460), Some(0));
    }
}
