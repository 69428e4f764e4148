//! DCTCP's estimate of the share of packets that are marked. RFC 8257 §3.3

use super::Ack;

headway_params::choice! {
    /// Numbers in which the share and the cut are computed.
    pub enum Arithmetic {
        /// Real numbers, without rounding.
        Exact = "exact",
        /// Linux's: the share in 1/1024, which falls to 0 once it is below 16/1024.
        Fixed = "fixed-point",
    }
}

/// One in the fixed-point share.
pub(super) const UNIT: u32 = 1024;

/// `base` to the power of `exponent`; the first power is exact.
pub(super) fn exact_power(base: f64, exponent: f64) -> f64 {
    // DCTCP's own exponent: it must not depend on how a library rounds.
    if exponent == 1.0 { base } else { libm::pow(base, exponent) }
}

/// The estimate alpha, over windows of data.
#[derive(Clone, Debug)]
pub(super) struct MarkedShare {
    gain: f64,
    arithmetic: Arithmetic,
    alpha: f64,
    delivered: u32,
    marked: u32,
    window_end: u32,
}

impl MarkedShare {
    pub(super) fn new(gain: f64, initial: f64, arithmetic: Arithmetic) -> MarkedShare {
        MarkedShare { gain, arithmetic, alpha: initial, delivered: 0, marked: 0, window_end: 0 }
    }

    /// The share of marked packets, 0 to 1; in fixed-point arithmetic a multiple of 1/1024.
    pub(super) fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The share in 1/1024.
    pub(super) fn units(&self) -> u32 {
        // In fixed-point arithmetic this cuts nothing but a first value that a parameter sets.
        (self.alpha * f64::from(UNIT)) as u32
    }

    /// Counts an acknowledgement, and ends the window if it is the first of the next.
    pub(super) fn count_ack(&mut self, ack: &Ack) {
        self.delivered += ack.delivered;
        if ack.ece {
            self.marked += ack.delivered;
        }
        // RFC 8257 §3.3: once per window of data, that is per round trip.
        if ack.una > self.window_end {
            self.update_alpha();
            (self.delivered, self.marked, self.window_end) = (0, 0, ack.next);
        }
    }

    // RFC8257 §3.3 step 7
    fn update_alpha(&mut self) {
        self.alpha = match self.arithmetic {
            Arithmetic::Exact => {
                // A window may end without a delivery, if its packets were counted by SACK before.
                let share = f64::from(self.marked) / f64::from(self.delivered.max(1));
                (1.0 - self.gain) * self.alpha + self.gain * share
            }
            Arithmetic::Fixed => {
                // The gain is a power of two there; the nearest one is used.
                let shift = libm::log2(1.0 / self.gain).clamp(0.0, 10.0) as u32;
                let alpha = self.units();
                // Linux, `min_not_zero`: a share too small for the shift falls to 0 at once.
                let decay = if alpha < 1 << shift { alpha } else { alpha >> shift };
                // One is 2^10, so the gain 2^-shift leaves this shift. Linux, `dctcp_update_alpha`
                let marks = (self.marked << (10 - shift)) / self.delivered.max(1);
                f64::from((alpha - decay + marks).min(UNIT)) / f64::from(UNIT)
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::plain_ack;
    use super::*;

    /// Alpha after each of `windows` windows of 16 packets of which `marked` are marked.
    fn alphas_after(arithmetic: Arithmetic, initial: f64, windows: u32, marked: u32) -> Vec<f64> {
        let mut share = MarkedShare::new(1.0 / 16.0, initial, arithmetic);
        let window = |w: u32| {
            for i in 0..16 {
                // The first acknowledgement of a window ends the one before it.
                let una = w * 16 + i + 1;
                share.count_ack(&Ack { una, next: w * 16 + 16 + i, ece: i < marked, ..plain_ack() });
            }
            share.alpha()
        };
        (0..windows).map(window).collect()
    }

    #[test]
    fn relaxes_by_a_sixteenth_a_window() {
        let alphas = alphas_after(Arithmetic::Exact, 1.0, 60, 0);
        let below = |limit: f64| alphas.iter().position(|&a| a <= limit).expect("it falls") + 1;
        // Reference: 11 windows to a half, 43 to a sixteenth.
        assert_eq!((below(0.5), below(1.0 / 16.0)), (11, 43));
    }

    #[test]
    fn settles_at_the_share_of_marked_packets() {
        for arithmetic in [Arithmetic::Exact, Arithmetic::Fixed] {
            let last = alphas_after(arithmetic, 1.0, 300, 4).pop().expect("windows");
            // In fixed-point arithmetic it stops up to 15/1024 above, where a sixteenth of it rounds to what is added.
            assert!((last - 0.25).abs() < 0.016, "{last}");
        }
    }

    #[test]
    fn fixed_point_snaps_to_zero() {
        let alphas = alphas_after(Arithmetic::Fixed, 1.0, 80, 0);
        assert_eq!(alphas.last(), Some(&0.0));
        let smallest = alphas.iter().copied().filter(|&a| a > 0.0).fold(1.0, f64::min);
        // 16/1024 still loses one; 15/1024 then falls to 0 at once.
        assert!(smallest * 1024.0 >= 15.0, "{smallest}");
    }
}
