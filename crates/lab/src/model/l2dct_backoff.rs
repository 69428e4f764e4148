//! L2DCT's back-off and weight, as functions of marks and of bytes sent.
//!
//! Source: L2DCT, INFOCOM 2013, §II and §III. The functions are those that the transport itself uses
//! (`headway_transport::tcp::control::l2dct`); here they get bounds that a scenario or an expression can break.

use super::path::{list, number};
use super::{
    Arguments, Axis, Curve, Declared, Function, Info, Model, ModelError, Panel, Picture, Range, Value, check,
    positive,
};
use crate::text::key::{Takes, needed};
use crate::text::{Reader, ScenarioError};
use headway_transport::tcp::control::l2dct::L2dctParams;
use headway_transport::tcp::control::l2dct::analysis;
use headway_transport::tcp::control::l2dct::weights::Weights;
use serde_json::{Map, Value as Json, json};

const POINTS: u32 = 120;

/// Weights whose penalty is drawn against the share of marked packets.
#[derive(Clone, Debug, PartialEq)]
pub struct L2dctBackoff {
    weights: Vec<f64>,
}

impl Declared for L2dctBackoff {
    const INFO: Info = Info {
        name: "l2dct-backoff",
        summary: "L2DCT's back-off penalty against the share of marked packets",
        paper: "L2DCT, INFOCOM 2013, §II-B",
        keys: &[needed("weights", Takes::Numbers, "weights of flows, a curve each")],
        example: "weights = [0.5, 1.0]",
        functions: &[
            Function {
                name: "backoff",
                doc: "L2DCT's penalty alpha^w (§II-A, equation 2).",
                arguments: &["alpha", "weight"],
                call: |a| backoff(a.number(0)?, a.number(1)?).map(Value::Number),
            },
            Function {
                name: "least_threshold",
                doc: "Smallest marking threshold that keeps the link busy, over the path's packets (L2DCT §II-C, equation 13).",
                arguments: &["weight"],
                call: |a| least_threshold(a.number(0)?).map(Value::Number),
            },
            Function {
                name: "increase",
                doc: "Packets a round trip that L2DCT adds after so many bytes (§III).",
                arguments: &["size"],
                call: increase_after,
            },
        ],
    };

    fn read(table: &Reader<'_>) -> Result<L2dctBackoff, ScenarioError> {
        let weights = list(&table.need("weights")?, |i| number(i, "more than 0", |n| n > 0.0))?;
        Ok(L2dctBackoff { weights })
    }
}

impl Model for L2dctBackoff {
    fn table(&self) -> Map<String, Json> {
        Map::from_iter([("weights".to_string(), json!(self.weights))])
    }

    fn draw(&self) -> Result<Picture, ModelError> {
        // Closer together near 0, where small weights rise at once.
        let even = (0..=POINTS).map(|i| f64::from(i) / f64::from(POINTS));
        let alphas: Vec<f64> = even.map(|x| x * x * x).collect();
        let curve = |weight: &f64| {
            let y = alphas.iter().map(|alpha| backoff(*alpha, *weight)).collect::<Result<_, _>>()?;
            Ok(Curve { name: format!("w = {weight}"), x: alphas.clone(), y })
        };
        let panel = Panel {
            title: "b = alpha^w".into(),
            x: Axis { label: "share of marked packets", quantity: "ratio", range: Range::Fixed(0.0, 1.0) },
            y: Axis { label: "back-off penalty b", quantity: "ratio", range: Range::Fixed(0.0, 1.05) },
            curves: self.weights.iter().map(curve).collect::<Result<_, ModelError>>()?,
            reference: None,
        };
        Ok(Picture {
            title: "Back-off penalty against the share of marked packets",
            caption: "Equation 2. A mark takes half of b off the window: at b = 1 it halves, as TCP's does."
                .into(),
            columns: 1,
            panels: vec![panel],
        })
    }
}

fn increase_after(arguments: &Arguments<'_>) -> Result<Value, ModelError> {
    let bytes = arguments.number(0)?;
    check("the size", "at least 0", bytes, bytes >= 0.0)?;
    Ok(Value::Number(increase(bytes as u64)))
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
    weights.increase_per_round(weights.weight_for(bytes, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert!(backoff(1.1, 1.0).is_err() && backoff(0.5, 0.0).is_err() && least_threshold(0.0).is_err());
    }
}
