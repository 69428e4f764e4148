//! Controllers behind a pointer: the machine is compiled once, and not once for each of them.

use super::{Ack, CongestionControl, Flow, LostPacket, Window};
use crate::probes::Sink;
use crate::tcp::params::{ConnectionParams, TcpParams};
use headway_units::Time;

/// The methods of a [`CongestionControl`] that has been made: see there.
pub(crate) trait Controller: Send {
    fn uses_marks(&self) -> bool;
    fn packet_lost(&mut self, window: &Window, lost: &LostPacket, now: Time);
    fn handle_ack(&mut self, window: &mut Window, ack: &Ack);
    fn grow_window(&mut self, window: &mut Window, ack: &Ack);
    fn window_after_mark(&mut self, window: &Window, ack: &Ack) -> f64;
    fn window_after_loss(&mut self, window: &Window, flight: f64, now: Time) -> f64;
    fn timed_out(&mut self, window: &Window, flight: f64, now: Time) -> f64;
    fn timed_out_again(&mut self, now: Time);
    fn finish_recovery(&mut self, window: &mut Window, now: Time);
    fn probe_values(&self, found: &mut Sink<'_>);
    fn shown_value(&self) -> f64;
    fn packet_gap(&self) -> Option<Time>;
}

impl<C: CongestionControl> Controller for C {
    fn uses_marks(&self) -> bool {
        CongestionControl::uses_marks(self)
    }
    fn packet_lost(&mut self, window: &Window, lost: &LostPacket, now: Time) {
        CongestionControl::packet_lost(self, window, lost, now);
    }
    fn handle_ack(&mut self, window: &mut Window, ack: &Ack) {
        CongestionControl::handle_ack(self, window, ack);
    }
    fn grow_window(&mut self, window: &mut Window, ack: &Ack) {
        CongestionControl::grow_window(self, window, ack);
    }
    fn window_after_mark(&mut self, window: &Window, ack: &Ack) -> f64 {
        CongestionControl::window_after_mark(self, window, ack)
    }
    fn window_after_loss(&mut self, window: &Window, flight: f64, now: Time) -> f64 {
        CongestionControl::window_after_loss(self, window, flight, now)
    }
    fn timed_out(&mut self, window: &Window, flight: f64, now: Time) -> f64 {
        CongestionControl::timed_out(self, window, flight, now)
    }
    fn timed_out_again(&mut self, now: Time) {
        CongestionControl::timed_out_again(self, now);
    }
    fn finish_recovery(&mut self, window: &mut Window, now: Time) {
        CongestionControl::finish_recovery(self, window, now);
    }
    fn probe_values(&self, found: &mut Sink<'_>) {
        CongestionControl::probe_values(self, found);
    }
    fn shown_value(&self) -> f64 {
        CongestionControl::shown_value(self)
    }
    fn packet_gap(&self) -> Option<Time> {
        CongestionControl::packet_gap(self)
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
    pub(crate) fn for_transport<C: CongestionControl>(params: &TcpParams<C::Params>) -> Self {
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
    pub(crate) fn make_controller(&self, flow: &Flow) -> Box<dyn Controller> {
        (self.make)(&self.connection, flow)
    }
}
