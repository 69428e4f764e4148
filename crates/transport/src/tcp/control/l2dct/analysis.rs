//! The steady state of N synchronised messages of one weight, in closed form. L2DCT §II-C
//!
//! Each window grows by k a round trip until the queue reaches K, is marked for one round trip, and falls by
//! b / 2. The model assumes that alpha averages over the whole cycle; the estimate remembers about 1/g
//! windows, so for cycles longer than that it predicts too large a cut.

/// Setting of the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// Number of messages, N.
    pub flows: f64,
    /// Packets that fill the path without a queue, C T.
    pub bdp: f64,
    /// Marking threshold K, in packets.
    pub threshold: f64,
    /// Weight w of each.
    pub weight: f64,
    /// Packets k that each adds a round trip.
    pub increase: f64,
}

/// The cycle that results. Windows and queues in packets, the period in round trips.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cycle {
    /// Share of marked packets, alpha.
    pub alpha: f64,
    /// Back-off b = alpha^w.
    pub backoff: f64,
    /// Fall of one window, D. Eq. 8
    pub drop: f64,
    /// Fall of the queue, A. Eq. 9
    pub amplitude: f64,
    /// Time from one cut to the next: D / k. Eq. 10 prints D, which holds for k = 1 alone.
    pub period: f64,
    /// Longest queue. Eq. 11
    pub queue_max: f64,
    /// Shortest queue. Eq. 12
    pub queue_min: f64,
}

impl Setting {
    /// Window W0 at which the queue reaches the threshold.
    pub fn critical_window(&self) -> f64 {
        (self.bdp + self.threshold) / self.flows
    }

    /// Packets that a window sends while it grows from one size to another at k a round trip. L2DCT §II-C
    pub fn packets_between(&self, from: f64, to: f64) -> f64 {
        (to * to - from * from) / (2.0 * self.increase)
    }

    /// Share of a cycle's packets that the last window is, times (1 - (1 - b/2)^2) / b. Eq. 5
    fn marked_ratio(&self) -> f64 {
        let (w0, k) = (self.critical_window(), self.increase);
        // Marked are the packets of the last round trip, in which the window grows from W0 to W0 + k.
        (2.0 * w0 * k + k * k) / ((w0 + k) * (w0 + k))
    }

    /// The cycle with b^2 / 4 left out against b. Eq. 6 and 7
    pub fn approximate_cycle(&self) -> Cycle {
        let alpha = libm::pow(self.marked_ratio(), 1.0 / (self.weight + 1.0));
        self.cycle_at(alpha)
    }

    /// The cycle that solves eq. 5 as it stands.
    pub fn exact_cycle(&self) -> Cycle {
        let ratio = self.marked_ratio();
        // alpha (b - b^2 / 4) rises with alpha from 0 to 3/4.
        let (mut low, mut high) = (0.0, 1.0);
        // More halvings than a double has bits.
        for _ in 0..100 {
            let middle: f64 = (low + high) / 2.0;
            let b = libm::pow(middle, self.weight);
            if middle * (b - b * b / 4.0) < ratio { low = middle } else { high = middle }
        }
        self.cycle_at(high)
    }

    fn cycle_at(&self, alpha: f64) -> Cycle {
        let backoff = libm::pow(alpha, self.weight);
        // The cut is of W0 + k: one round trip passes before a mark is answered.
        let drop = backoff * (self.critical_window() + self.increase) / 2.0;
        let amplitude = self.flows * drop;
        // Each of the N windows grows by k in the round trip before its mark is answered.
        let queue_max = self.threshold + self.flows * self.increase;
        Cycle {
            alpha,
            backoff,
            drop,
            amplitude,
            period: drop / self.increase,
            queue_max,
            queue_min: queue_max - amplitude,
        }
    }
}

/// Smallest threshold that never lets the queue run empty, as a share of C T. Eq. 13
pub fn least_threshold(weight: f64) -> f64 {
    let power = libm::pow(weight, weight);
    power / (2.0 * libm::pow(weight + 1.0, weight + 1.0) - power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make_setting(flows: f64, weight: f64, increase: f64) -> Setting {
        Setting { flows, bdp: 25.0, threshold: 20.0, weight, increase }
    }

    fn assert_near(value: f64, reference: f64, what: &str) {
        // The references have two or three digits.
        assert!((value / reference - 1.0).abs() < 0.014, "{what}: {value}, not {reference}");
    }

    /// 1 Gb/s, 300 us, 1500 B, K = 20; from the paper's equations by an independent computation.
    #[test]
    fn equations_5_to_12_have_their_values() {
        // N, w, k: alpha, exact, b, exact, A, exact, period, Qmax, Qmin.
        // With k = w / 2.5 rows are L2DCT's; with k = 1 they have DCTCP's increase.
        let rows = [
            (1.0, 1.0, 1.0, [0.207, 0.213, 0.207, 0.213, 4.77, 4.90, 4.8, 21.0, 16.2]),
            (1.0, 0.5, 0.2, [0.0427, 0.0443, 0.207, 0.210, 4.67, 4.76, 23.4, 20.2, 15.5]),
            (1.0, 0.5, 1.0, [0.123, 0.131, 0.350, 0.362, 8.06, 8.32, 8.1, 21.0, 12.9]),
            (1.0, 0.125, 0.05, [0.0044, 0.0049, 0.507, 0.515, 11.4, 11.6, 228.0, 20.05, 8.6]),
            (1.0, 2.5, 1.0, [0.407, 0.410, 0.106, 0.108, 2.43, 2.48, 2.4, 21.0, 18.6]),
            (2.0, 1.0, 1.0, [0.289, 0.300, 0.289, 0.300, 6.78, 7.05, 3.4, 22.0, 15.2]),
            (2.0, 0.5, 0.2, [0.0675, 0.0707, 0.260, 0.266, 5.90, 6.04, 14.7, 20.4, 14.5]),
            (2.0, 0.5, 1.0, [0.191, 0.207, 0.437, 0.455, 10.3, 10.7, 5.1, 22.0, 11.7]),
            (2.0, 0.125, 0.05, [0.0081, 0.0092, 0.548, 0.557, 12.3, 12.6, 123.0, 20.1, 7.75]),
        ];
        for (n, w, k, r) in rows {
            let (about, exact) =
                (make_setting(n, w, k).approximate_cycle(), make_setting(n, w, k).exact_cycle());
            let values = [about.alpha, exact.alpha, about.backoff, exact.backoff, about.amplitude];
            let more = [exact.amplitude, about.period, about.queue_max, about.queue_min];
            for (i, value) in values.into_iter().chain(more).enumerate() {
                assert_near(value, r[i], &format!("N {n}, w {w}, k {k}, column {i}"));
            }
        }
    }

    #[test]
    fn equation_13_has_its_values() {
        for (w, bound) in [(1.0, 3.57), (0.5, 5.96), (0.125, 12.7), (2.5, 1.64)] {
            // The references are in packets, for a C T of 25.
            assert_near(25.0 * least_threshold(w), bound, &format!("w {w}"));
        }
        assert_near(least_threshold(1.0), 1.0 / 7.0, "DCTCP's");
    }

    #[test]
    fn the_exact_cycle_solves_equation_5_packet_by_packet() {
        for (n, w, k) in [(1.0, 1.0, 1.0), (2.0, 0.5, 0.2), (1.0, 0.125, 0.05)] {
            let s = make_setting(n, w, k);
            let (cycle, w0) = (s.exact_cycle(), s.critical_window());
            let top = w0 + k;
            // Counted packet by packet over the cycle, and not by the formula that `exact_cycle` solves.
            let marked = s.packets_between(w0, top);
            let all = s.packets_between(top * (1.0 - cycle.backoff / 2.0), top);
            assert_near(marked / all, cycle.alpha, &format!("N {n}, w {w}"));
            let falls = cycle.period * k;
            assert_near(falls, cycle.drop, "period times increase");
        }
    }
}
