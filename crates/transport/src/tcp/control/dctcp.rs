//! DCTCP: the window is cut by half of the share of packets that are marked.
//!
//! Source: RFC 8257, and M. Alizadeh et al., SIGCOMM 2010. Losses are answered as NewReno answers them, and
//! leave alpha alone. Alpha is brought up to date before a cut on the same acknowledgement.

use super::marks::{Arithmetic, MarkedShare, UNIT};
use super::{Ack, CongestionControl, Flow, Window};
use crate::endpoint::TransportInfo;
use crate::probes::{self, Sink};
use crate::tcp::params::{ByPreset, ConnectionParams, Preset};
use crate::tcp::{STATES, deviations};
use headway_gauges::GaugeInfo;
use headway_params::ParamKind;

headway_params::params! {
    /// Parameters of DCTCP.
    pub struct DctcpParams {
        /// Weight of the newest window in the share of marked packets. DCTCP §3.4
        g: f64 = 0.0625, ParamKind::Float { min: 0.001, max: 1.0 };
        /// Share of marked packets assumed at first; messages of less than about ten round trips never leave it.
        alpha_init: f64 = 1.0, ParamKind::Float { min: 0.0, max: 1.0 };
        /// Numbers in which share and cut are computed. linux-4.19: fixed-point
        arithmetic: Arithmetic = Arithmetic::Exact, ParamKind::Choice(Arithmetic::WORDS);
    }
}

impl ByPreset for DctcpParams {
    fn from_preset(preset: Preset) -> Self {
        let arithmetic = match preset {
            // Whole 1/1024 are Linux's; the other presets stand for no kernel.
            Preset::PaperNs2 | Preset::Datacenter => Arithmetic::Exact,
            Preset::Linux419 => Arithmetic::Fixed,
        };
        DctcpParams { arithmetic, ..DctcpParams::default() }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Dctcp {
    share: MarkedShare,
    arithmetic: Arithmetic,
}

impl CongestionControl for Dctcp {
    type Params = DctcpParams;
    const INFO: TransportInfo = TransportInfo {
        name: "dctcp",
        summary: "ECN-driven: the window is cut by half the share of packets that are marked",
        paper: "DCTCP, SIGCOMM 2010; RFC 8257",
        discipline: "ecn-threshold",
        states: STATES,
        deviations: deviations![
            "RFC8257 §3.3: the share counts packets, not bytes, and those selectively acknowledged as they are.",
            "RFC8257 §4.2: g, alpha's first value and the smallest window are parameters; 1/16, 1 and 2 packets are the defaults, as in Linux; ns-2's smallest is 1.",
        ],
    };
    const PROBES: &'static [GaugeInfo] =
        &[probes::WINDOW, probes::IN_FLIGHT, probes::SMOOTHED_RTT, probes::ALPHA];
    const ECN: bool = true;

    fn new(params: &DctcpParams, _: &ConnectionParams, _: &Flow) -> Self {
        let share = MarkedShare::new(params.g, params.alpha_init, params.arithmetic);
        Dctcp { share, arithmetic: params.arithmetic }
    }

    fn probe_values(&self, found: &mut Sink<'_>) {
        found(&probes::ALPHA, self.share.alpha());
    }

    fn handle_ack(&mut self, _: &mut Window, ack: &Ack) {
        self.share.count_ack(ack);
    }

    fn grow_window(&mut self, window: &mut Window, ack: &Ack) {
        window.grow_reno(ack.acked, 1.0);
    }

    // RFC8257 §3.3 step 9
    fn window_after_mark(&mut self, window: &Window, _: &Ack) -> f64 {
        match self.arithmetic {
            Arithmetic::Exact => window.cwnd * (1.0 - self.share.alpha() / 2.0),
            Arithmetic::Fixed => fixed_cut(window.cwnd, self.share.units()),
        }
    }
}

/// A whole window less a share of it in 1/2048, as Linux computes it.
pub(super) fn fixed_cut(cwnd: f64, units: u32) -> f64 {
    // Linux has whole windows: a fraction that real numbers left is cut before the share is taken.
    let cwnd = cwnd as u64;
    (cwnd - (cwnd * u64::from(units) / u64::from(2 * UNIT))) as f64
}

#[cfg(test)]
mod tests {
    use super::super::tests::{plain_ack, test_control};
    use super::*;

    #[test]
    fn cuts_by_half_of_alpha() {
        let window = Window { cwnd: 45.0, ssthresh: 10.0 };
        // All marked is a half, as for a loss; nothing marked leaves the window alone.
        for (alpha, target) in [(1.0, 22.5), (0.2, 40.5), (0.0, 45.0)] {
            let mut dctcp = test_control::<Dctcp>(1_000_000, |p| p.alpha_init = alpha);
            assert_eq!(dctcp.window_after_mark(&window, &plain_ack()), target);
        }
        let mut fixed = test_control::<Dctcp>(1_000_000, |p| {
            (p.alpha_init, p.arithmetic) = (0.2, Arithmetic::Fixed);
        });
        assert_eq!(fixed.window_after_mark(&window, &plain_ack()), 41.0, "45 - (45 x 204 >> 11)");
    }

    #[test]
    fn alpha_is_brought_up_to_date_before_a_cut_on_the_same_acknowledgement() {
        // With a gain of a half, one marked acknowledgement takes alpha from 0 to a half.
        let mut dctcp = test_control::<Dctcp>(1_000_000, |p| (p.g, p.alpha_init) = (0.5, 0.0));
        let mut window = Window { cwnd: 10.0, ssthresh: 5.0 };
        let marked = super::super::Ack { ece: true, ..plain_ack() };
        dctcp.handle_ack(&mut window, &marked);
        assert_eq!(dctcp.window_after_mark(&window, &marked), 7.5, "alpha is 1/2 by now");
    }
}
