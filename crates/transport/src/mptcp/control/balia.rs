//! BALIA: increase and decrease depend on how a path's rate compares with the best path's.
//!
//! Source: Q. Peng et al., IEEE/ACM ToN 2016. A slow path grows faster than with LIA, and is cut deeper: the balance of
//! friendliness to TCP and of reaction to change.

use super::Group;
use crate::endpoint::TransportInfo;
use crate::mptcp::{STATES, deviations};
use crate::tcp::control::newreno::NewRenoParams;
use crate::tcp::control::{Ack, CongestionControl, Flow, Window};
use crate::tcp::params::ConnectionParams;
use headway_units::Time;

/// See the module.
#[derive(Clone, Debug)]
pub struct Balia {
    /// The largest rate over this one, as the last acknowledgement left it.
    ratio: f64,
}

impl CongestionControl for Balia {
    type Params = NewRenoParams;
    const INFO: TransportInfo = TransportInfo {
        name: "mptcp-balia",
        summary: "MPTCP with balanced linked adaptation: increase and decrease follow a path's rate over the best's",
        paper: "BALIA, IEEE/ACM ToN 2016; RFC 8684",
        discipline: "drop-tail",
        states: STATES,
        deviations: deviations![
            "BALIA §V: the ratio of rates is a real number, computed at every acknowledgement. Linux divides whole numbers, so that a cut there is of a half up to a ratio of 2, and of three quarters from there on.",
        ],
    };
    const COUPLED: bool = true;

    fn new(_: &NewRenoParams, _: &ConnectionParams, _: &Flow) -> Self {
        Balia { ratio: 1.0 }
    }

    fn handle_ack(&mut self, window: &mut Window, ack: &Ack) {
        // Before the cut, which goes by the ratio at the loss and not at the last growth.
        if ack.lost > 0 {
            self.compare_rates(&Group::new(ack, window, 0.0));
        }
    }

    fn grow_window(&mut self, window: &mut Window, ack: &Ack) {
        let left = window.grow_slowly(ack.acked);
        let group = Group::new(ack, window, 0.0);
        // In slow start, too, as a loss may end it.
        self.compare_rates(&group);
        if left > 0.0 {
            let (own, total, ratio) = (group.own_sibling(), group.total_rate(), self.ratio);
            // BALIA §V, equation 12.
            let reno = own.rate() / own.rtt / (total * total);
            window.cwnd += left * reno * (1.0 + ratio) / 2.0 * (4.0 + ratio) / 5.0;
        }
    }

    fn window_after_loss(&mut self, _: &Window, flight: f64, _: Time) -> f64 {
        // BALIA §V, equation 13.
        (flight - flight / 2.0 * self.ratio.min(1.5)).max(1.0)
    }
}

impl Balia {
    fn compare_rates(&mut self, group: &Group<'_>) {
        self.ratio = group.largest_value(|sibling| sibling.rate()).max(group.own_sibling().rate())
            / group.own_sibling().rate();
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{is_near, measure_increase};
    use super::*;

    /// Increase for an acknowledged packet, and cut for a loss.
    fn increase_and_cut(own: usize, subflows: &[(f64, u64, f64)]) -> (f64, f64) {
        let mut balia = Balia { ratio: 1.0 };
        let grown = measure_increase(&mut balia, own, subflows);
        let window = Window { cwnd: subflows[own].0, ssthresh: 1.0 };
        (grown, window.cwnd - balia.window_after_loss(&window, window.cwnd, Time::ZERO))
    }

    #[test]
    fn golden_increases_and_cuts() {
        let equal = [(10.0, 100, 0.0), (10.0, 100, 0.0)];
        assert!(is_near(increase_and_cut(0, &equal).0, 0.025) && increase_and_cut(0, &equal).1 == 5.0);
        let unequal = [(20.0, 100, 0.0), (10.0, 100, 0.0)];
        let ((large, large_cut), (small, small_cut)) =
            (increase_and_cut(0, &unequal), increase_and_cut(1, &unequal));
        assert!(is_near(small, 0.020) && is_near(large, 20.0 / 900.0), "{small} {large}");
        assert_eq!((small_cut, large_cut), (7.5, 10.0));
        let (alone, cut) = increase_and_cut(0, &equal[..1]);
        assert!(is_near(alone, 0.1) && cut == 5.0, "one path is a TCP");
    }

    #[test]
    fn a_cut_is_between_a_half_and_three_quarters_and_leaves_a_packet() {
        let between = [(12.0, 100, 0.0), (10.0, 100, 0.0)];
        assert!(is_near(increase_and_cut(1, &between).1, 6.0), "a ratio of 1.2");
        let far = [(200.0, 100, 0.0), (2.0, 100, 0.0)];
        assert!(is_near(increase_and_cut(1, &far).1, 1.0), "two packets less three quarters, and one stays");
    }
}
