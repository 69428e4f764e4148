//! A controller that looks on while another decides, and holds it and its machine to what [`CongestionControl`] promises.

#![allow(unreachable_pub, reason = "a part of a test")]

pub mod line;
pub mod wrong;

use headway_transport::TransportInfo;
use headway_transport::tcp::control::{Ack, CongestionControl, Flow, Window};
use headway_transport::tcp::params::{ByPreset, ConnectionParams, Reduction};
use headway_units::Time;
use std::cell::RefCell;

/// Call of a controller: its name, the window before it, and its results.
pub type Call = (&'static str, Window, f64, f64);

thread_local! {
    // The machine owns its controllers, and a test cannot reach them there.
    static CALLS: RefCell<Vec<Call>> = const { RefCell::new(Vec::new()) };
}

/// The calls of this thread so far, which are forgotten.
pub fn take_calls() -> Vec<Call> {
    CALLS.take()
}

/// Upper limit of the window when its controller sees it again.
#[derive(Clone, Copy, Debug)]
struct Ceiling {
    after: &'static str,
    cwnd: f64,
}

/// See the module.
pub struct Watched<C> {
    control: C,
    /// The controller's own parameters are those of the preset.
    usual: bool,
    proportional: bool,
    min_window: f64,
    ceiling: Option<Ceiling>,
    /// The largest window so far, and the one before the last cut; there is none after a time-out.
    peak: f64,
    before_cut: f64,
    /// Packets in flight before or after the last acknowledgement, whichever is more.
    flight: f64,
}

impl<C: CongestionControl> Watched<C> {
    fn note_call(&self, what: &'static str, before: Window, after: (f64, f64)) {
        CALLS.with_borrow_mut(|calls| calls.push((what, before, after.0, after.1)));
    }

    /// The window, as the machine hands it over.
    fn check_window(&mut self, window: &Window) {
        assert!(window.cwnd.is_finite() && window.cwnd >= 0.0, "{window:?}");
        assert!(window.ssthresh >= 1.0, "{window:?}");
        if let Some(Ceiling { after, cwnd }) = self.ceiling.take() {
            assert!(window.cwnd <= cwnd, "{window:?} after {after}, where {cwnd} is the most");
        }
        self.peak = self.peak.max(window.cwnd);
    }

    /// A window that a controller wants, or has made.
    fn check_bound(what: &str, before: &Window, cwnd: f64, most: f64) {
        assert!(cwnd.is_finite() && cwnd >= 0.0, "{what}: {cwnd} of {before:?}");
        // Windows are floats, and the order of a sum moves their last places.
        assert!(cwnd <= most * (1.0 + 1e-9), "{what}: {cwnd} of {before:?}, where {most} is the most");
    }

    /// The window is to be brought down from `cwnd` to `target`, at once or in proportion.
    fn expect_ceiling(&mut self, after: &'static str, cwnd: f64, target: f64) {
        // Proportional reduction counts from the packets in flight, and lets a packet go at first.
        let most = if self.proportional { cwnd.max(target).max(self.flight) + 1.0 } else { target };
        self.ceiling = Some(Ceiling { after, cwnd: most });
    }
}

impl<C: CongestionControl> CongestionControl for Watched<C> {
    type Params = C::Params;
    const INFO: TransportInfo = C::INFO;
    const ECN: bool = C::ECN;
    const OWNS_WINDOW: bool = C::OWNS_WINDOW;
    const COUPLED: bool = C::COUPLED;
    const LEAST_INITIAL_WINDOW: u32 = C::LEAST_INITIAL_WINDOW;

    fn rounds_to_fill(packets: u64, initial: u64) -> u64 {
        C::rounds_to_fill(packets, initial)
    }

    fn new(params: &C::Params, connection: &ConnectionParams, flow: &Flow) -> Self {
        Watched {
            control: C::new(params, connection, flow),
            usual: *params == C::Params::from_preset(connection.preset),
            proportional: connection.reduction != Reduction::Immediate && !C::OWNS_WINDOW,
            min_window: connection.min_window as f64,
            ceiling: None,
            peak: f64::from(C::LEAST_INITIAL_WINDOW),
            // Nothing was cut yet, so that any window may follow a repair.
            before_cut: f64::INFINITY,
            flight: 0.0,
        }
    }

    /// Book-keeping takes from a window, or gives back earlier reductions. A controller that owns its window adds
    /// what arrives.
    fn handle_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.check_window(window);
        assert!(ack.una <= ack.next && ack.acked <= ack.una && ack.delivered_total >= ack.delivered.into());
        self.flight = ack.pipe_before.max(ack.pipe).into();
        let before = *window;
        self.control.handle_ack(window, ack);
        // BBR keeps four packets, however little it measures.
        let owned = (self.peak + f64::from(ack.delivered)).max(f64::from(ack.pipe + ack.delivered));
        let most = if C::OWNS_WINDOW { owned.max(4.0) } else { before.cwnd.max(2.0) };
        Self::check_bound("book-keeping", &before, window.cwnd, most);
        self.note_call("acknowledged", before, (window.cwnd, window.ssthresh));
        self.check_window(window);
        if let Some(gap) = self.packet_gap() {
            // `None` is for a controller that does not pace.
            assert!(gap > Time::ZERO, "packets without any time between them");
        }
        let shown = self.control.shown_value();
        assert!(shown.is_finite() && shown >= 0.0, "{shown} is shown");
    }

    /// Slow start adds a packet for an acknowledged one, so that a window at most doubles in a round trip. Later growth
    /// is no faster, unless the controller is allowed more, or moves half a packet from one path to another.
    fn grow_window(&mut self, window: &mut Window, ack: &Ack) {
        self.check_window(window);
        assert!(ack.acked > 0 && !ack.ece);
        let before = *window;
        self.control.grow_window(window, ack);
        let acked = f64::from(ack.acked);
        // Parameters other than the preset's may ask for any growth.
        if self.usual || before.cwnd + acked <= before.ssthresh {
            let moved = if C::COUPLED && !before.slow_start() { acked / 2.0 } else { 0.0 };
            Self::check_bound("growth", &before, window.cwnd, before.cwnd + acked + moved);
        }
        self.note_call("grow", before, (window.cwnd, window.ssthresh));
        self.check_window(window);
    }

    /// Marks make no window larger.
    fn window_after_mark(&mut self, window: &Window, ack: &Ack) -> f64 {
        self.check_window(window);
        assert!(C::ECN && ack.ece);
        let target = self.control.window_after_mark(window, ack);
        Self::check_bound("a mark", window, target, window.cwnd);
        self.note_call("marked", *window, (target, 0.0));
        self.before_cut = window.cwnd;
        self.expect_ceiling("a mark", window.cwnd, target.max(self.min_window.min(window.cwnd)));
        target
    }

    /// Losses make no window larger that has two packets; one that is its controller's may hold the packets in flight.
    fn window_after_loss(&mut self, window: &Window, flight: f64, now: Time) -> f64 {
        self.check_window(window);
        assert!(flight >= 0.0 && flight <= window.cwnd);
        let target = self.control.window_after_loss(window, flight, now);
        let most = if C::OWNS_WINDOW { f64::MAX } else { window.cwnd.max(2.0) };
        Self::check_bound("a loss", window, target, most);
        assert!(target >= 1.0, "a loss leaves {target} of {window:?}");
        self.note_call("lost", *window, (target, 0.0));
        self.before_cut = window.cwnd;
        self.expect_ceiling("a loss", window.cwnd, target);
        target
    }

    /// After a time-out the window is a packet, and the threshold no more than it was.
    fn timed_out(&mut self, window: &Window, flight: f64, now: Time) -> f64 {
        self.check_window(window);
        let target = self.control.timed_out(window, flight, now);
        let most = if C::OWNS_WINDOW { f64::INFINITY } else { window.cwnd.max(2.0) };
        assert!(target >= 1.0 && target <= most, "a time-out leaves {target} of {window:?}");
        self.note_call("timed out", *window, (target, 0.0));
        self.ceiling = Some(Ceiling { after: "a time-out", cwnd: 1.0 });
        self.before_cut = f64::INFINITY;
        target
    }

    fn timed_out_again(&mut self, now: Time) {
        self.control.timed_out_again(now);
    }

    /// A repair leaves no more than there was before the loss.
    fn finish_recovery(&mut self, window: &mut Window, now: Time) {
        self.check_window(window);
        let before = *window;
        assert!(
            C::OWNS_WINDOW || window.cwnd <= self.before_cut.max(2.0),
            "{window:?} of {}",
            self.before_cut
        );
        self.control.finish_recovery(window, now);
        let most = if C::OWNS_WINDOW { self.peak } else { before.cwnd };
        Self::check_bound("a repair", &before, window.cwnd, most);
        self.note_call("recovered", before, (window.cwnd, window.ssthresh));
        self.check_window(window);
    }

    fn shown_value(&self) -> f64 {
        self.control.shown_value()
    }

    fn packet_gap(&self) -> Option<Time> {
        self.control.packet_gap()
    }
}
