//! Controllers behind a pointer: the machine is compiled once, and not once for each of them.

use super::{Ack, CongestionControl, Flow, LostPacket, Window};
use crate::probes::Sink;
use crate::tcp::params::{ConnectionParams, TcpParams};
use headway_units::Time;

/// The methods of a [`CongestionControl`] that has been made: see there.
pub(crate) trait Controller: Send {
    fn uses_marks(&self) -> bool;
    fn packet_lost(&mut self, window: &Window, lost: &LostPacket, now: Time);
    fn acknowledged(&mut self, window: &mut Window, ack: &Ack);
    fn grow(&mut self, window: &mut Window, ack: &Ack);
    fn marked(&mut self, window: &Window, ack: &Ack) -> f64;
    fn lost(&mut self, window: &Window, flight: f64, now: Time) -> f64;
    fn timed_out(&mut self, window: &Window, flight: f64, now: Time) -> f64;
    fn timed_out_again(&mut self, now: Time);
    fn recovered(&mut self, window: &mut Window, now: Time);
    fn probe(&self, found: &mut Sink<'_>);
    fn shown(&self) -> f64;
    fn gap(&self) -> Option<Time>;
}

impl<C: CongestionControl> Controller for C {
    fn uses_marks(&self) -> bool {
        CongestionControl::uses_marks(self)
    }
    fn packet_lost(&mut self, window: &Window, lost: &LostPacket, now: Time) {
        CongestionControl::packet_lost(self, window, lost, now);
    }
    fn acknowledged(&mut self, window: &mut Window, ack: &Ack) {
        CongestionControl::acknowledged(self, window, ack);
    }
    fn grow(&mut self, window: &mut Window, ack: &Ack) {
        CongestionControl::grow(self, window, ack);
    }
    fn marked(&mut self, window: &Window, ack: &Ack) -> f64 {
        CongestionControl::marked(self, window, ack)
    }
    fn lost(&mut self, window: &Window, flight: f64, now: Time) -> f64 {
        CongestionControl::lost(self, window, flight, now)
    }
    fn timed_out(&mut self, window: &Window, flight: f64, now: Time) -> f64 {
        CongestionControl::timed_out(self, window, flight, now)
    }
    fn timed_out_again(&mut self, now: Time) {
        CongestionControl::timed_out_again(self, now);
    }
    fn recovered(&mut self, window: &mut Window, now: Time) {
        CongestionControl::recovered(self, window, now);
    }
    fn probe(&self, found: &mut Sink<'_>) {
        CongestionControl::probe(self, found);
    }
    fn shown(&self) -> f64 {
        CongestionControl::shown(self)
    }
    fn gap(&self) -> Option<Time> {
        CongestionControl::gap(self)
    }
}

/// The constants of a [`CongestionControl`] that its machine goes by: see there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) owns_window: bool,
    pub(crate) counts_ack_delay: bool,
    pub(crate) coupled: bool,
    pub(crate) least_initial_window: u32,
}

type Make = dyn Fn(&ConnectionParams, &Flow) -> Box<dyn Controller> + Send;

/// Makes the controllers of one transport.
pub(crate) struct Controllers {
    make: Box<Make>,
    pub(crate) rules: Rules,
    pub(crate) connection: ConnectionParams,
}

impl Controllers {
    pub(crate) fn of<C: CongestionControl>(params: &TcpParams<C::Params>) -> Self {
        let own = params.control.clone();
        Controllers {
            // The parameters move into the closure, so that nothing else of the machine depends on their type.
            make: Box::new(move |connection, flow| Box::new(C::new(&own, connection, flow))),
            rules: Rules {
                owns_window: C::OWNS_WINDOW,
                counts_ack_delay: C::COUNTS_ACK_DELAY,
                coupled: C::COUPLED,
                least_initial_window: C::LEAST_INITIAL_WINDOW,
            },
            connection: params.connection.clone(),
        }
    }

    /// Packets of first window.
    pub(crate) fn initial_window(&self) -> u32 {
        // Declared as at most 100,000, so the cast does not cut.
        (self.connection.initial_window as u32).max(self.rules.least_initial_window)
    }

    /// Makes the controller of a message, or of a subflow.
    pub(crate) fn make(&self, flow: &Flow) -> Box<dyn Controller> {
        (self.make)(&self.connection, flow)
    }
}
