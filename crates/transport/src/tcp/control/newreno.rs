//! NewReno: slow start, one packet a round trip, and half of it for a loss.
//!
//! Source: RFC 5681, with the recovery of RFC 6675 or RFC 6582, which are the machine's.

use super::{Ack, CongestionControl, Flow, Window};
use crate::endpoint::TransportInfo;
use crate::tcp::params::{ByPreset, ConnectionParams, Preset};
use crate::tcp::{STATES, deviations};

headway_params::params! {
    /// NewReno adds no parameters to those of the machine.
    pub struct NewRenoParams {}
}

impl ByPreset for NewRenoParams {
    fn from_preset(_: Preset) -> Self {
        NewRenoParams {}
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct NewReno;

impl CongestionControl for NewReno {
    type Params = NewRenoParams;
    const INFO: TransportInfo = TransportInfo {
        name: "tcp",
        summary: "NewReno: additive increase, half the window for a loss; SACK or NewReno recovery",
        paper: "RFC 5681, RFC 6675, RFC 6582, RFC 6298",
        discipline: "drop-tail",
        states: STATES,
        deviations: deviations![],
    };

    fn new(_: &NewRenoParams, _: &ConnectionParams, _: &Flow) -> Self {
        NewReno
    }

    // RFC5681 §3.1
    fn grow_window(&mut self, window: &mut Window, ack: &Ack) {
        // By all packets that are acknowledged: the limit of two of RFC 3465 §2.3 is left out.
        window.grow_reno(ack.acked, 1.0);
    }
}
