//! Coupled congestion control: controllers of one subflow that look at the others. One file each.
//!
//! All of them leave slow start to each subflow, and act in congestion avoidance. With a single path
//! they behave as their uncoupled relatives.

pub mod balia;
pub mod lia;
pub mod olia;
pub mod wvegas;

use crate::tcp::control::{Ack, Sibling, Window};
use headway_units::Time;

/// The subflows of a message with a known round trip, as the controller of one of them takes them into account.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group<'a> {
    siblings: &'a [Sibling],
    own: Sibling,
}

impl<'a> Group<'a> {
    /// Group of the subflow that `ack` belongs to, which has this `window` and shows `shown`.
    pub(crate) fn new(ack: &Ack<'a>, window: &Window, shown: f64) -> Group<'a> {
        // It divides, so it is at least a picosecond.
        let rtt = ack.srtt.max(Time(1)).as_secs_f64();
        Group { siblings: ack.siblings, own: Sibling { window: window.cwnd, rtt, shown, own: true } }
    }

    /// The subflow that the acknowledgement belongs to.
    pub(crate) fn own_sibling(&self) -> Sibling {
        self.own
    }

    /// All subflows with a known round trip, the own one as it is now.
    pub(crate) fn each_sibling(&self) -> impl Iterator<Item = Sibling> {
        let own = self.own;
        let present = move |sibling: &Sibling| if sibling.own { own } else { *sibling };
        self.siblings.iter().map(present).filter(|sibling| sibling.rtt > 0.0)
    }

    /// Packets a second of all subflows together.
    pub(crate) fn total_rate(&self) -> f64 {
        self.each_sibling().map(|sibling| sibling.rate()).sum()
    }

    /// The largest value of a quantity among the subflows.
    pub(crate) fn largest_value(&self, of: impl Fn(Sibling) -> f64) -> f64 {
        self.each_sibling().map(of).fold(0.0, f64::max)
    }
}

impl Sibling {
    /// Packets a second.
    pub(crate) fn rate(&self) -> f64 {
        self.window / self.rtt
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::tcp::control::CongestionControl;
    use crate::tcp::control::tests::plain_ack;

    /// Packets that subflow `own` of some with these windows, round trips in microseconds and shown quantities adds to
    /// its window for one acknowledged packet, past slow start.
    pub(crate) fn measure_increase<C: CongestionControl>(
        control: &mut C,
        own: usize,
        subflows: &[(f64, u64, f64)],
    ) -> f64 {
        let view = |(number, &(window, rtt, shown)): (usize, &(f64, u64, f64))| Sibling {
            window,
            rtt: Time::us(rtt).as_secs_f64(),
            shown,
            own: number == own,
        };
        let siblings: Vec<Sibling> = subflows.iter().enumerate().map(view).collect();
        let mut window = Window { cwnd: subflows[own].0, ssthresh: 1.0 };
        let ack = Ack { srtt: Time::us(subflows[own].1), siblings: &siblings, ..plain_ack() };
        control.grow_window(&mut window, &ack);
        window.cwnd - subflows[own].0
    }

    pub(crate) fn is_near(found: f64, expected: f64) -> bool {
        (found - expected).abs() <= 1e-9 + 5e-3 * expected.abs()
    }
}
