//! Controllers that each do one thing that none may, so that whoever watches can be seen to notice.

use headway_transport::TransportInfo;
use headway_transport::tcp::control::newreno::{NewReno, NewRenoParams};
use headway_transport::tcp::control::{Ack, CongestionControl, Flow, Window};
use headway_transport::tcp::params::ConnectionParams;
use headway_units::Time;
use std::cell::Cell;

thread_local! {
    static DRAWS: Cell<u32> = const { Cell::new(0) };
}

/// What is wrong with a controller, by number.
pub const FAULTS: &[&str] = &[
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

/// NewReno with marks, and fault `FAULT` of [`FAULTS`].
pub struct Wrong<const FAULT: usize>(NewReno);

impl<const FAULT: usize> CongestionControl for Wrong<FAULT> {
    type Params = NewRenoParams;
    const INFO: TransportInfo = NewReno::INFO;
    const ECN: bool = true;

    fn new(params: &NewRenoParams, connection: &ConnectionParams, flow: &Flow) -> Self {
        Wrong(NewReno::new(params, connection, flow))
    }

    fn acknowledged(&mut self, window: &mut Window, _: &Ack) {
        window.cwnd += if FAULT == 2 { 0.5 } else { 0.0 };
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack) {
        self.0.grow(window, ack);
        match FAULT {
            1 => self.0.grow(window, ack),
            8 => window.cwnd = f64::NAN,
            10 => {
                DRAWS.set(DRAWS.get() + 1);
                window.cwnd -= 0.1 / f64::from(DRAWS.get());
            }
            _ => {}
        }
    }

    fn marked(&mut self, window: &Window, _: &Ack) -> f64 {
        if FAULT == 3 { window.cwnd * 2.0 } else { window.cwnd / 2.0 }
    }

    fn lost(&mut self, window: &Window, flight: f64, now: Time) -> f64 {
        match FAULT {
            4 => window.cwnd + 1.0,
            5 => 0.0,
            _ => self.0.lost(window, flight, now),
        }
    }

    fn timed_out(&mut self, window: &Window, flight: f64, now: Time) -> f64 {
        if FAULT == 6 { window.cwnd * 2.0 + 2.0 } else { self.0.lost(window, flight, now) }
    }

    fn recovered(&mut self, window: &mut Window, _: Time) {
        window.cwnd *= if FAULT == 7 { 100.0 } else { 1.0 };
    }

    fn gap(&self) -> Option<Time> {
        (FAULT == 9).then_some(Time::ZERO)
    }

    fn shown(&self) -> f64 {
        if FAULT == 11 { f64::NAN } else { 0.0 }
    }
}
