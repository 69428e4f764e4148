//! OLIA: a coupled increase that is optimal, and a small term that moves windows to the best paths.
//!
//! Source: R. Khalili et al., IEEE/ACM ToN 2013. A path is good if much has got through between losses on it, and its
//! round trip is short. Paths that are good, and have small windows, get something from those with large windows.

use super::Group;
use crate::endpoint::TransportInfo;
use crate::mptcp::{STATES, deviations};
use crate::tcp::control::newreno::NewRenoParams;
use crate::tcp::control::{Ack, CongestionControl, Flow, Sibling, Window, half_flight};
use crate::tcp::params::ConnectionParams;
use headway_units::Time;

/// Windows that differ by less, in packets, are equally large.
const TIE: f64 = 0.5;

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Olia {
    /// Packets acknowledged between the last two losses, and since the last.
    between: f64,
    since: f64,
}

impl Olia {
    /// A loss: what got through before it counts, unless that is nothing. OLIA §IV
    fn mark_loss(&mut self) {
        if self.since > 0.0 {
            (self.between, self.since) = (self.since, 0.0);
        }
    }
}

/// Term that moves windows from large to good paths: alpha. OLIA §IV
fn shift_alpha(group: &Group<'_>) -> f64 {
    let quality = |sibling: Sibling| sibling.shown / (sibling.rtt * sibling.rtt);
    let (largest, best) = (group.largest_value(|sibling| sibling.window), group.largest_value(quality));
    let is_large = |sibling: &Sibling| sibling.window > largest - TIE;
    // OLIA §IV: the best paths among those whose windows are not the largest.
    let is_collected = |sibling: &Sibling| quality(*sibling) >= best && !is_large(sibling);
    let count =
        |of: &dyn Fn(&Sibling) -> bool| group.each_sibling().filter(|sibling| of(sibling)).count() as f64;
    let (all, collected) = (count(&|_| true), count(&is_collected));
    match group.own_sibling() {
        // Nothing is to be moved: the best paths have the largest windows already.
        _ if collected == 0.0 => 0.0,
        own if is_collected(&own) => 1.0 / (all * collected),
        own if is_large(&own) => -1.0 / (all * count(&is_large)),
        _ => 0.0,
    }
}

impl CongestionControl for Olia {
    type Params = NewRenoParams;
    const INFO: TransportInfo = TransportInfo {
        name: "mptcp-olia",
        summary: "MPTCP with opportunistic linked increases: fair, and moves its windows to the best paths",
        paper: "OLIA, IEEE/ACM ToN 2013; RFC 8684",
        discipline: "drop-tail",
        states: STATES,
        deviations: deviations![
            "OLIA §IV: windows are real numbers; those that differ by less than half a packet are equally large. Linux has whole windows and fractions of 1/1024 that it collects until they make a packet.",
            "OLIA §IV: the threshold is two packets at least after a loss, as of any TCP, also where a message has several subflows.",
        ],
    };
    const COUPLED: bool = true;

    fn new(_: &NewRenoParams, _: &ConnectionParams, _: &Flow) -> Self {
        Olia::default()
    }

    fn handle_ack(&mut self, _: &mut Window, ack: &Ack) {
        self.since += f64::from(ack.acked);
    }

    fn grow_window(&mut self, window: &mut Window, ack: &Ack) {
        let left = window.grow_slowly(ack.acked);
        if left > 0.0 {
            let group = Group::new(ack, window, self.shown_value());
            let (own, total) = (group.own_sibling(), group.total_rate());
            // OLIA §IV, equation 5.
            let increase = own.rate() / own.rtt / (total * total) + shift_alpha(&group) / own.window;
            // Alpha may be negative, and must not take the last packet of the window.
            window.cwnd = (window.cwnd + left * increase).max(1.0);
        }
    }

    fn window_after_loss(&mut self, _: &Window, flight: f64, _: Time) -> f64 {
        self.mark_loss();
        half_flight(flight)
    }

    fn shown_value(&self) -> f64 {
        self.between.max(self.since)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{is_near, measure_increase};
    use super::*;

    /// An increase where this subflow has had `l` packets through since its last loss.
    fn grown_by(own: usize, subflows: &[(f64, u64, f64)]) -> f64 {
        let mut olia = Olia { between: 0.0, since: subflows[own].2 };
        measure_increase(&mut olia, own, subflows)
    }

    #[test]
    fn equal_subflows_share_the_increase_of_one() {
        let equal = [(10.0, 100, 500.0), (10.0, 100, 500.0)];
        assert!(is_near(grown_by(0, &equal), 0.025) && is_near(grown_by(1, &equal), 0.025));
        assert!(is_near(grown_by(0, &equal[..1]), 0.1), "one path is a TCP");
    }

    #[test]
    fn a_good_path_with_a_small_window_gets_something_from_the_largest() {
        let second_best = [(20.0, 100, 100.0), (10.0, 100, 900.0)];
        let (large, small) = (grown_by(0, &second_best), grown_by(1, &second_best));
        assert!(is_near(small, 0.0611) && is_near(large, 20.0 / 900.0 - 0.025), "{small} {large}");
        let first_best = [(20.0, 100, 900.0), (10.0, 100, 100.0)];
        assert!(
            is_near(grown_by(0, &first_best), 20.0 / 900.0)
                && is_near(grown_by(1, &first_best), 10.0 / 900.0)
        );
        let three = [(20.0, 100, 100.0), (20.2, 100, 100.0), (10.0, 100, 900.0)];
        let plain = 20.0 / (50.2 * 50.2);
        assert!(is_near(grown_by(0, &three), plain - 1.0 / (3.0 * 2.0 * 20.0)), "two are equally large");
        // 900 / 2^2 is 225, less than 300.
        let far = [(20.0, 100, 300.0), (10.0, 200, 900.0)];
        assert!(grown_by(0, &far) > 0.0, "900 at twice the round trip are worse than 300");
    }

    #[test]
    fn what_got_through_is_counted_between_losses() {
        let (mut olia, mut window) = (Olia::default(), Window { cwnd: 10.0, ssthresh: 5.0 });
        let ack = |acked| Ack { acked, ..crate::tcp::control::tests::plain_ack() };
        olia.handle_ack(&mut window, &ack(30));
        assert_eq!(olia.window_after_loss(&window, 10.0, Time::ZERO), 5.0);
        assert_eq!((olia.between, olia.since, olia.shown_value()), (30.0, 0.0, 30.0));
        olia.timed_out(&window, 10.0, Time::ZERO);
        assert_eq!(olia.shown_value(), 30.0, "nothing since: the loss is the same");
        olia.handle_ack(&mut window, &ack(8));
        olia.window_after_loss(&window, 10.0, Time::ZERO);
        assert_eq!(olia.shown_value(), 8.0);
    }
}
