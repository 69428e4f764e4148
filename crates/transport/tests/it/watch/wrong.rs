//! Controllers that each do one thing that none may, which shows that the checks notice it.

use headway_transport::TransportInfo;
use headway_transport::tcp::control::newreno::{NewReno, NewRenoParams};
use headway_transport::tcp::control::{Ack, CongestionControl, Flow, Window};
use headway_transport::tcp::params::ConnectionParams;
use headway_units::Time;
use std::cell::Cell;

thread_local! {
    // Machines make their controllers without a word from the test.
    static DRAWS: Cell<u32> = const { Cell::new(0) };
    static FAULT: Cell<usize> = const { Cell::new(0) };
}

/// Fault of a controller, by number.
pub const FAULTS: &[&str] = &[
    // The checks must pass a controller that does nothing wrong.
    "nothing",
    "two packets for each that is acknowledged",
    "book-keeping that makes windows",
    "a mark that makes a window larger",
    "a loss that makes a window larger",
    "a loss that leaves nothing",
    "a threshold above the window after a time-out",
    "a repair that leaves more than there was",
    "a window that is no number",
    "packets without any time between them",
    "another answer each time",
    "a quantity that is no number",
];

/// NewReno with marks, and one of [`FAULTS`]. It is one type, so that the machine is compiled for it once.
pub struct Wrong {
    inner: NewReno,
    fault: usize,
}

impl Wrong {
    /// Says which fault those have that this thread makes from now on.
    pub fn plant_fault(fault: usize) {
        FAULT.set(fault);
    }
}

impl CongestionControl for Wrong {
    type Params = NewRenoParams;
    const INFO: TransportInfo = NewReno::INFO;
    const ECN: bool = true;

    fn new(params: &NewRenoParams, connection: &ConnectionParams, flow: &Flow) -> Self {
        Wrong { inner: NewReno::new(params, connection, flow), fault: FAULT.get() }
    }

    fn handle_ack(&mut self, window: &mut Window, _: &Ack) {
        window.cwnd += if self.fault == 2 { 0.5 } else { 0.0 };
    }

    fn grow_window(&mut self, window: &mut Window, ack: &Ack) {
        self.inner.grow_window(window, ack);
        match self.fault {
            1 => self.inner.grow_window(window, ack),
            8 => window.cwnd = f64::NAN,
            10 => {
                DRAWS.set(DRAWS.get() + 1);
                // Too little for any bound to notice: only a second run of the same case shows it.
                window.cwnd -= 0.1 / f64::from(DRAWS.get());
            }
            _ => {}
        }
    }

    fn window_after_mark(&mut self, window: &Window, _: &Ack) -> f64 {
        if self.fault == 3 { window.cwnd * 2.0 } else { window.cwnd / 2.0 }
    }

    fn window_after_loss(&mut self, window: &Window, flight: f64, now: Time) -> f64 {
        match self.fault {
            4 => window.cwnd + 1.0,
            5 => 0.0,
            _ => self.inner.window_after_loss(window, flight, now),
        }
    }

    fn timed_out(&mut self, window: &Window, flight: f64, now: Time) -> f64 {
        if self.fault == 6 {
            window.cwnd * 2.0 + 2.0
        } else {
            self.inner.window_after_loss(window, flight, now)
        }
    }

    fn finish_recovery(&mut self, window: &mut Window, _: Time) {
        window.cwnd *= if self.fault == 7 { 100.0 } else { 1.0 };
    }

    fn packet_gap(&self) -> Option<Time> {
        (self.fault == 9).then_some(Time::ZERO)
    }

    fn shown_value(&self) -> f64 {
        if self.fault == 11 { f64::NAN } else { 0.0 }
    }
}
