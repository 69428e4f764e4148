//! alpha^w in integers: every alpha in 1/1024, and the weight in 20 steps of 0.125, 41 kB.
//!
//! A table with fewer alphas is wrong where it matters: at w = 0.125 the power is steepest at 0, and 129
//! alphas are wrong by a half at the first.

use crate::tcp::control::l2dct::weights::STEPS;
use std::sync::OnceLock;

/// One in alpha and in the power.
const UNIT: u32 = 1024;

/// The weight of a step.
const STEP: f64 = 0.125;

type Table = [[u16; UNIT as usize + 1]; STEPS as usize];

/// Computed once a process: it depends on nothing.
fn table() -> &'static Table {
    static TABLE: OnceLock<Box<Table>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table = Box::new([[0; UNIT as usize + 1]; STEPS as usize]);
        for (row, step) in table.iter_mut().zip(1u32..) {
            for (entry, alpha) in row.iter_mut().zip(0u32..) {
                let power = libm::pow(f64::from(alpha) / f64::from(UNIT), f64::from(step) * STEP);
                *entry = (power * f64::from(UNIT) + 0.5) as u16;
            }
        }
        table
    })
}

/// `(alpha / 1024)^weight` in 1/1024, for the step of weight that is nearest.
pub fn power(weight: f64, alpha: u32) -> u32 {
    let step = ((weight / STEP + 0.5) as usize).clamp(1, STEPS as usize);
    table()[step - 1][alpha.min(UNIT) as usize].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_within_half_a_unit_of_the_exact_power_everywhere() {
        let mut worst: f64 = 0.0;
        for step in 1..=STEPS {
            let weight = f64::from(step) * STEP;
            for alpha in 0..=UNIT {
                let exact = libm::pow(f64::from(alpha) / f64::from(UNIT), weight);
                worst = worst.max((f64::from(power(weight, alpha)) / f64::from(UNIT) - exact).abs());
            }
            assert_eq!((power(weight, 0), power(weight, UNIT)), (0, UNIT), "w = {weight}");
        }
        assert!(worst <= 0.5 / f64::from(UNIT) + 1e-12, "{worst}");
        assert!(worst > 0.4 / f64::from(UNIT), "rounded, not computed: {worst}");
    }

    #[test]
    fn a_coarse_table_would_be_wrong_by_a_half() {
        // The first alpha of 129 is 1/128: every smaller one reads 0 or that one's power.
        let exact = libm::pow(1.0 / 128.0, 0.125);
        assert!(exact > 0.54 && f64::from(power(0.125, 1)) / 1024.0 > 0.42);
    }

    #[test]
    fn a_weight_or_an_alpha_beyond_the_table_is_the_last() {
        assert_eq!(power(100.0, 512), power(2.5, 512));
        assert_eq!(power(0.0, 512), power(0.125, 512));
        assert_eq!(power(1.0, 5000), 1024);
    }
}
