//! L2DCT's model: back-off, weight, and the steady state of equations 5 to 13.
//!
//! Source: L2DCT, INFOCOM 2013, §II. The functions are those that the transport itself uses
//! (`headway_transport::tcp::control::l2dct`); here they get bounds that a scenario or an expression can
//! break. Different from the paper: equation 10 is printed as Tc = D, which is so for k = 1 alone; the period
//! is D / k.

use super::{ModelError, check};
use headway_transport::tcp::control::l2dct::L2dctParams;
use headway_transport::tcp::control::l2dct::analysis;
use headway_transport::tcp::control::l2dct::weights::Weights;

pub use analysis::{Cycle, Setting};

/// Which form of equation 5 is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Equations 6 and 7, which leave b^2 / 4 out.
    Approximate,
    /// Equation 5 as it stands.
    Exact,
}

fn positive(name: &'static str, value: f64) -> Result<(), ModelError> {
    check(name, "more than 0", value, value > 0.0 && value.is_finite())
}

/// The cycle of N synchronised flows of one weight.
// L2DCT §II-C eq. 5 to 12
pub fn cycle(setting: &Setting, form: Form) -> Result<Cycle, ModelError> {
    positive("the number of flows", setting.flows)?;
    positive("the weight", setting.weight)?;
    positive("the increase", setting.increase)?;
    positive("the path's packets", setting.bdp)?;
    check("the threshold", "at least 0", setting.threshold, setting.threshold >= 0.0)?;
    Ok(match form {
        Form::Approximate => setting.approximate(),
        Form::Exact => setting.exact(),
    })
}

/// Penalty b = alpha^w.
// L2DCT §II-A eq. 2
pub fn backoff(alpha: f64, weight: f64) -> Result<f64, ModelError> {
    check("alpha", "from 0 to 1", alpha, (0.0..=1.0).contains(&alpha))?;
    positive("the weight", weight)?;
    Ok(libm::pow(alpha, weight))
}

/// Smallest threshold that keeps the link busy, as a share of the path's packets.
// L2DCT §II-C eq. 13
pub fn least_threshold(weight: f64) -> Result<f64, ModelError> {
    positive("the weight", weight)?;
    Ok(analysis::least_threshold(weight))
}

/// Packets that a flow adds a round trip after so many bytes, with the paper's weights.
// L2DCT §III, eq. 1
pub fn increase(bytes: u64) -> f64 {
    let weights = Weights::new(&L2dctParams::default());
    weights.increase(weights.of(bytes, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTING: Setting = Setting { flows: 1.0, bdp: 25.0, threshold: 20.0, weight: 0.5, increase: 0.2 };

    #[test]
    fn the_forms_are_those_of_the_transport() {
        assert_eq!(cycle(&SETTING, Form::Approximate), Ok(SETTING.approximate()));
        let exact = cycle(&SETTING, Form::Exact).expect("in range");
        assert!((exact.alpha - 0.0443).abs() < 5e-5 && (exact.period - exact.drop / 0.2).abs() < 1e-12);
        assert_eq!(exact.queue_max, 20.2);
    }

    #[test]
    fn increases_and_penalties_are_the_published_ones() {
        assert_eq!([0, 199_999, 1_000_000, u64::MAX].map(increase), [1.0, 1.0, 0.05, 0.05]);
        assert!((increase(600_000) - 0.525).abs() < 1e-12);
        assert_eq!(backoff(1.0, 0.125), Ok(1.0));
        assert!((backoff(0.5, 2.5).expect("in range") - 0.1768).abs() < 1e-4);
        assert!((least_threshold(0.125).expect("in range") - 0.5099).abs() < 1e-4);
    }

    #[test]
    fn what_the_model_does_not_cover_is_refused() {
        for wrong in [
            Setting { flows: 0.0, ..SETTING },
            Setting { weight: -1.0, ..SETTING },
            Setting { increase: f64::NAN, ..SETTING },
            Setting { bdp: f64::INFINITY, ..SETTING },
            Setting { threshold: -1.0, ..SETTING },
        ] {
            assert!(cycle(&wrong, Form::Exact).is_err(), "{wrong:?}");
        }
        assert!(backoff(1.1, 1.0).is_err() && backoff(0.5, 0.0).is_err() && least_threshold(0.0).is_err());
    }
}
