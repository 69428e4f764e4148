//! The weight of a message. L2DCT §II-A

use super::L2dctParams;
use crate::tcp::control::Arithmetic;

headway_params::choice! {
    /// Quantity that a weight follows.
    pub enum Weighting {
        /// Data sent so far: least attained service.
        Las = "las",
        /// Data left to send: shortest remaining processing time.
        Srpt = "srpt",
        /// Nothing, w = w_max = 1: processor sharing, which is DCTCP.
        Ps = "ps",
        /// Nothing, one given weight.
        Fixed = "fixed",
    }
}

/// Steps of the weight in fixed-point arithmetic.
pub const STEPS: u32 = 20;

/// The weight function of a run.
#[derive(Clone, Debug)]
pub struct Weights {
    kind: Weighting,
    max: f64,
    min: f64,
    young: u64,
    old: u64,
    fixed: f64,
    increase: f64,
    stepped: bool,
}

impl Weights {
    /// Weights with these parameters.
    pub fn new(params: &L2dctParams) -> Weights {
        Weights {
            kind: params.weights,
            max: params.w_max,
            // A smallest weight above the largest would turn the line around.
            min: params.w_min.min(params.w_max),
            young: params.young,
            // `young` above `old` would give the line a negative length.
            old: params.old.max(params.young),
            fixed: params.weight,
            increase: params.increase,
            stepped: params.arithmetic == Arithmetic::Fixed,
        }
    }

    /// The weight of a message with `sent` bytes sent and `left` bytes left.
    pub fn weight_for(&self, sent: u64, left: u64) -> f64 {
        match self.kind {
            Weighting::Las => self.weight_at(sent),
            Weighting::Srpt => self.weight_at(left),
            Weighting::Ps => 1.0,
            Weighting::Fixed => self.fixed,
        }
    }

    /// The largest weight up to `young` bytes, the smallest from `old` on, a line between.
    fn weight_at(&self, bytes: u64) -> f64 {
        if bytes < self.young {
            return self.max;
        }
        if bytes >= self.old {
            return self.min;
        }
        if self.stepped {
            return self.of_steps(self.weight_steps(bytes));
        }
        let share = (bytes - self.young) as f64 / (self.old - self.young) as f64;
        self.max - (self.max - self.min) * share
    }

    /// Kernels compute without fractions: one step of the largest weight less at a time, up to 18 of 20, and
    /// then the smallest weight, which is step 1.
    fn weight_steps(&self, bytes: u64) -> u32 {
        if bytes < self.young {
            return STEPS;
        }
        if bytes >= self.old {
            return 1;
        }
        // In 128 bits: bytes times steps may exceed 64, as `old` may be any number.
        let passed = u128::from(STEPS - 1) * u128::from(bytes - self.young);
        STEPS - (passed / u128::from(self.old - self.young)) as u32
    }

    /// The weight of a step, 1 to [`STEPS`], in fixed-point arithmetic.
    pub fn of_steps(&self, steps: u32) -> f64 {
        match self.kind {
            Weighting::Las | Weighting::Srpt if steps <= 1 => self.min,
            Weighting::Las | Weighting::Srpt => {
                // `w_min` may be more than one step.
                (self.max * f64::from(steps) / f64::from(STEPS)).max(self.min)
            }
            Weighting::Ps => 1.0,
            Weighting::Fixed => self.fixed,
        }
    }

    /// Packets added a round trip. L2DCT §II-A eq. 1
    pub fn increase_per_round(&self, weight: f64) -> f64 {
        match self.kind {
            // Weight 1 of a largest weight of 1; with the usual `w_max` it would add 0.4 packets. L2DCT §III-E
            Weighting::Ps => 1.0,
            Weighting::Fixed if self.increase > 0.0 => self.increase,
            _ => weight / self.max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test_weights(kind: Weighting) -> Weights {
        Weights::new(&L2dctParams { weights: kind, ..L2dctParams::default() })
    }

    #[test]
    fn las_follows_the_published_line() {
        let las = test_weights(Weighting::Las);
        let table = [
            (0, 2.5, 1.0),
            (199_999, 2.5, 1.0),
            (300_000, 2.2031, 0.8813),
            (400_000, 1.9063, 0.7625),
            (600_000, 1.3125, 0.525),
            (800_000, 0.7188, 0.2875),
            (1_000_000, 0.125, 0.05),
            (u64::MAX, 0.125, 0.05),
        ];
        for (sent, weight, increase) in table {
            let w = las.weight_for(sent, 7);
            // The table has four digits.
            assert!(
                (w - weight).abs() < 1e-4 && (las.increase_per_round(w) - increase).abs() < 1e-4,
                "{sent}: {w}"
            );
        }
        // Weight 1 on the line from 2.5 at 200 kB to 0.125 at 1 MB.
        assert!((las.weight_for(705_263, 0) - 1.0).abs() < 1e-5, "it is DCTCP's at 705.3 kB");
    }

    #[test]
    fn never_rises_with_service_and_never_falls_towards_the_end() {
        let total = 1_500_000u64;
        for stepped in [false, true] {
            for (kind, sign) in [(Weighting::Las, -1.0), (Weighting::Srpt, 1.0)] {
                let weights = Weights { stepped, ..test_weights(kind) };
                let along: Vec<f64> =
                    (0..=1500).map(|kb| weights.weight_for(kb * 1000, total - kb * 1000)).collect();
                assert!(along.windows(2).all(|w| (w[1] - w[0]) * sign >= 0.0), "{kind:?}");
                assert!(along.iter().all(|w| (0.125..=2.5).contains(w)) && along[0] != along[1500]);
                if stepped {
                    // 2.5 in twenty steps is an eighth each.
                    assert!(along.iter().all(|w| (w / 0.125).fract() == 0.0), "20 levels");
                }
            }
        }
    }

    #[test]
    fn processor_sharing_is_dctcp() {
        let ps = test_weights(Weighting::Ps);
        assert_eq!(
            (ps.weight_for(0, 5), ps.weight_for(5_000_000, 0), ps.increase_per_round(1.0)),
            (1.0, 1.0, 1.0)
        );
    }
}
