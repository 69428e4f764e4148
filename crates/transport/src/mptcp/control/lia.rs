//! LIA: the increase is that of one TCP on the best path, shared out; never more than a TCP's on any.
//!
//! Source: D. Wischik et al., NSDI 2011; RFC 6356. Each loss halves the window of its subflow.

use super::Group;
use crate::endpoint::TransportInfo;
use crate::mptcp::{STATES, deviations};
use crate::tcp::control::newreno::NewRenoParams;
use crate::tcp::control::{Ack, CongestionControl, Flow, Window};
use crate::tcp::params::ConnectionParams;

/// See the module.
#[derive(Clone, Debug)]
pub struct Lia;

impl CongestionControl for Lia {
    type Params = NewRenoParams;
    const INFO: TransportInfo = TransportInfo {
        name: "mptcp-lia",
        summary: "MPTCP with linked increases: all subflows together are as aggressive as one TCP on the best path",
        paper: "RFC 6356, RFC 8684",
        discipline: "drop-tail",
        states: STATES,
        deviations: deviations![
            "RFC6356 §4: windows and round trips are real numbers of packets and seconds, and alpha is computed at every acknowledgement.",
        ],
    };
    const COUPLED: bool = true;

    fn new(_: &NewRenoParams, _: &ConnectionParams, _: &Flow) -> Self {
        Lia
    }

    fn grow_window(&mut self, window: &mut Window, ack: &Ack) {
        let left = window.grow_slowly(ack.acked);
        if left > 0.0 {
            let group = Group::new(ack, window, 0.0);
            let best = group.largest_value(|sibling| sibling.rate() / sibling.rtt);
            let total = group.total_rate();
            // RFC6356 §3: alpha over the sum of all windows, alpha being that sum times this.
            let linked = best / (total * total);
            // RFC 6356 §3: never more than a TCP on this path alone.
            window.cwnd += left * linked.min(1.0 / window.cwnd);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{is_near, measure_increase};
    use super::*;

    #[test]
    fn equal_subflows_grow_a_quarter_of_a_packet_a_round_trip_each() {
        let grown = measure_increase(&mut Lia, 0, &[(10.0, 100, 0.0), (10.0, 100, 0.0)]);
        assert!(is_near(grown * 10.0, 0.25), "{grown}");
        let alone = measure_increase(&mut Lia, 0, &[(10.0, 100, 0.0)]);
        assert!(is_near(alone, 0.1), "one path is a TCP: {alone}");
    }

    #[test]
    fn no_subflow_grows_faster_than_a_tcp() {
        // alpha is 30 (20 / 1) / (20 / 1 + 10 / 10)^2 with round trips of 1 and 10: 1.36 of 30 packets.
        let subflows = [(20.0, 100, 0.0), (10.0, 1000, 0.0)];
        for own in [0, 1] {
            assert!(is_near(measure_increase(&mut Lia, own, &subflows), 20.0 / 441.0));
        }
        let lopsided = [(1.0, 100, 0.0), (400.0, 10_000, 0.0)];
        let capped = measure_increase(&mut Lia, 1, &lopsided);
        assert!(is_near(capped, 1.0 / 400.0), "{capped}");
        let asleep = measure_increase(&mut Lia, 0, &[(10.0, 100, 0.0), (10.0, 0, 0.0)]);
        assert!(is_near(asleep, 0.1), "a subflow without a round trip does not count: {asleep}");
    }
}
