//! ProactMP's credit in closed form (IEEE TNSM 2024 §III-C, equations 1 to 8): the bytes that a receiver allocates to
//! first packets that arrive from several senders before any credit has come back, and how a sender divides it.
//!
//! Times are in base one-way delays, credit in OWDbytes. Deliberate differences from the paper:
//!
//! * Equations 5 and 7 are one: the sum is OWDbytes and as much again as the span of the arrivals has of a delay.
//! * The paper's utilisation counts credit over RTTbytes and no header, Request or queue; so does this.

use super::path::{list, number};
use super::{
    Arguments, Axis, Curve, Declared, Function, Info, Model, ModelError, Panel, Picture, Range, Value, check,
};
use crate::text::key::{Takes, needed};
use crate::text::{Reader, ScenarioError};
use serde_json::{Map, Value as Json, json};

/// One allocation. ProactMP §III-C4, equation 4
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Allocation {
    /// `credits_all`, in OWDbytes.
    pub credit: f64,
    /// `credits_rem` after it.
    pub remaining: f64,
}

/// Credit that algorithm 1 allocates to packets that arrive at `times`, in order, of which none returns credit.
pub fn allocations(times: &[f64]) -> Result<Vec<Allocation>, ModelError> {
    let mut remaining = 1.0;
    let mut last = times.first().copied().unwrap_or(0.0);
    let mut allocate = |time: f64| {
        check("an arrival", "no earlier than the one before", time, time >= last && time.is_finite())?;
        // ProactMP §III-C4, equation 3
        let idle = (time - last).min(1.0);
        // ProactMP §III-C4, algorithm 1
        let credit = match remaining {
            spare if spare >= 0.0 => spare + idle,
            spare if spare >= -1.0 => idle,
            _ => 0.0,
        };
        remaining -= credit;
        // Without an allocation the idle time goes on counting from the last one.
        last = if credit > 0.0 { time } else { last };
        Ok(Allocation { credit, remaining })
    };
    times.iter().map(|time| allocate(*time)).collect()
}

/// Credit that is allocated to `count` packets that arrive evenly over `span` delays. ProactMP §III-C4, equations 5 and
/// 7
pub fn total(count: u32, span: f64) -> Result<f64, ModelError> {
    check("the packets", "at least 2", count.into(), count >= 2)?;
    check("the span", "from 0 to 2 one-way delays", span, (0.0..=2.0).contains(&span))?;
    // Cannot divide by zero, since at least two packets arrive.
    let step = span / f64::from(count - 1);
    let times: Vec<f64> = (0..count).map(|n| f64::from(n) * step).collect();
    Ok(allocations(&times)?.iter().map(|a| a.credit).sum())
}

/// Utilisation of the downlink for a sum of credit: of RTTbytes, two OWDbytes. ProactMP §III-C4, equations 6 and 8
pub fn utilisation(total: f64) -> f64 {
    total / 2.0
}

/// The share of each subflow in new credit. ProactMP §III-C3, equation 2
pub fn shares(weights: &[f64], round_trips: &[f64]) -> Result<Vec<f64>, ModelError> {
    let mut parts = Vec::with_capacity(weights.len());
    for (weight, rtt) in weights.iter().zip(round_trips) {
        check("a weight", "at least 0", *weight, *weight >= 0.0 && weight.is_finite())?;
        check("a round trip", "more than 0", *rtt, *rtt > 0.0 && rtt.is_finite())?;
        parts.push(weight / (rtt * rtt));
    }
    let all: f64 = parts.iter().sum();
    check("the sum of the weights", "more than 0", all, all > 0.0)?;
    Ok(parts.iter().map(|part| part / all).collect())
}

/// Credit for packets that arrive evenly over spans of one-way delays.
#[derive(Clone, Debug, PartialEq)]
pub struct ProactmpCredit {
    packets: Vec<u32>,
    spans: Vec<f64>,
}

impl Declared for ProactmpCredit {
    const INFO: Info = Info {
        name: "proactmp-credit",
        summary: "credit that ProactMP's receiver gives first packets before any has come back",
        paper: "ProactMP, TNSM 2024, §III-C",
        keys: &[
            needed("packets", Takes::Counts, "first packets that arrive, a curve each; at least 2"),
            needed("spans", Takes::Numbers, "time over which they arrive, in one-way delays; from 0 to 2"),
        ],
        example: "packets = [2, 5]\nspans = [0.0, 0.5, 1.0]",
        functions: &[
            Function {
                name: "credit",
                doc: "Credit that ProactMP's algorithm 1 gives packets that arrive evenly over a span of one-way delays, in OWDbytes.",
                arguments: &["packets", "span"],
                call: credit,
            },
            Function {
                name: "subflow_share",
                doc: "The share of subflow `number`, from 0, in new credit (ProactMP §III-C3, equation 2).",
                arguments: &["weights", "round_trips", "number"],
                call: subflow_share,
            },
        ],
    };

    fn read(table: &Reader<'_>) -> Result<ProactmpCredit, ScenarioError> {
        Ok(ProactmpCredit {
            packets: list(&table.need("packets")?, |i| i.int(2, 10_000).map(|n| n as u32))?,
            spans: list(&table.need("spans")?, |i| {
                number(i, "from 0 to 2", |span| (0.0..=2.0).contains(&span))
            })?,
        })
    }
}

impl Model for ProactmpCredit {
    fn table(&self) -> Map<String, Json> {
        Map::from_iter([
            ("packets".to_string(), json!(self.packets)),
            ("spans".to_string(), json!(self.spans)),
        ])
    }

    fn draw(&self) -> Result<Picture, ModelError> {
        let mut spans = self.spans.clone();
        spans.sort_by(f64::total_cmp);
        let curve = |count: &u32| {
            let y = spans.iter().map(|span| total(*count, *span).map(utilisation));
            let name = format!("{count} packets");
            Ok(Curve { name, x: spans.clone(), y: y.collect::<Result<_, ModelError>>()? })
        };
        let panel = Panel {
            title: "credit over RTTbytes".into(),
            x: Axis {
                label: "span of the arrivals, one-way delays",
                quantity: "count",
                range: Range::Fixed(0.0, 2.0),
            },
            y: Axis { label: "utilisation of the downlink", quantity: "ratio", range: Range::Fit(1.0) },
            curves: self.packets.iter().map(curve).collect::<Result<_, ModelError>>()?,
            reference: Some((1.0, "1: all of a round trip")),
        };
        Ok(Picture {
            title: "Credit before any has come back",
            caption: "Equations 4 to 8: what algorithm 1 gives first packets that arrive evenly over a span, over two OWDbytes."
                .into(),
            columns: 1,
            panels: vec![panel],
        })
    }
}

fn credit(arguments: &Arguments<'_>) -> Result<Value, ModelError> {
    let count = arguments.number(0)?;
    check(
        "the packets",
        "a whole number from 2 to 10000",
        count,
        (2.0..=1e4).contains(&count) && count.fract() == 0.0,
    )?;
    total(count as u32, arguments.number(1)?).map(Value::Number)
}

fn subflow_share(arguments: &Arguments<'_>) -> Result<Value, ModelError> {
    let (weights, round_trips, number) = (arguments.numbers(0)?, arguments.numbers(1)?, arguments.number(2)?);
    if weights.len() != round_trips.len() {
        return Err(ModelError::Lengths("each subflow has a weight and a round trip"));
    }
    let known = number >= 0.0 && number < weights.len() as f64 && number.fract() == 0.0;
    check(
        "the number of the subflow",
        "a whole number from 0 to less than there are subflows",
        number,
        known,
    )?;
    Ok(Value::Number(shares(weights, round_trips)?[number as usize]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's five senders a quarter of a delay apart, in OWDbytes of 125 bytes. Equations 4 and 5
    #[test]
    fn five_senders_within_a_delay_fill_a_round_trip() {
        let found = allocations(&[0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5]).expect("in order");
        let credit: Vec<f64> = found.iter().map(|a| a.credit * 125.0).collect();
        let remaining: Vec<f64> = found.iter().map(|a| a.remaining * 125.0).collect();
        assert_eq!(credit, [125.0, 31.25, 31.25, 31.25, 31.25, 31.25, 0.0]);
        assert_eq!(remaining, [0.0, -31.25, -62.5, -93.75, -125.0, -156.25, -156.25]);
    }

    #[test]
    fn the_sum_grows_with_the_span_up_to_a_round_trip() {
        for count in [2, 3, 5, 17] {
            for span in [0.0, 0.25, 0.5, 1.0] {
                let sum = total(count, span).expect("within the model");
                // Equation 5
                assert!((sum - (1.0 + span)).abs() < 1e-9, "{count} over {span}: {sum}");
                assert!(utilisation(sum) <= 1.0 + 1e-9);
            }
            // Equation 6
            assert!((utilisation(total(count, 1.0).expect("within the model")) - 1.0).abs() < 1e-9);
        }
        // Equations 7 and 8: two arrivals more than a delay apart.
        assert!((utilisation(total(2, 1.6).expect("within the model")) - 1.0).abs() < 1e-9);
    }

    /// The text's "over one delay, but within a round trip" holds for two arrivals. With more of them algorithm 1 goes
    /// on to the third level, up to which it gives a third OWDbytes.
    #[test]
    fn more_arrivals_over_more_than_a_delay_are_given_more_than_the_text_says() {
        let sum = total(9, 2.0).expect("within the model");
        assert!(sum > 2.2 && sum <= 3.0, "{sum}");
    }

    #[test]
    fn credit_follows_weight_over_round_trip_squared() {
        assert_eq!(shares(&[10.0, 10.0], &[10.0, 20.0]), Ok(vec![0.8, 0.2]));
        assert_eq!(shares(&[15.0, 5.0], &[1.0, 1.0]), Ok(vec![0.75, 0.25]));
    }

    #[test]
    fn what_the_model_does_not_cover_is_refused() {
        assert!(allocations(&[1.0, 0.5]).is_err());
        assert!(total(1, 0.5).is_err() && total(3, 2.5).is_err());
        assert!(shares(&[0.0], &[1.0]).is_err() && shares(&[1.0], &[0.0]).is_err());
    }
}
