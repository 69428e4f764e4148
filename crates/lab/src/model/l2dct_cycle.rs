//! L2DCT's steady state: the cycle of synchronised flows of equations 5 to 12.
//!
//! Source: L2DCT, INFOCOM 2013, §II-C. The equations are those of the transport's own analysis
//! (`headway_transport::tcp::control::l2dct`); here they get bounds that a scenario or an expression can break. Different
//! from the paper: equation 10 is printed as Tc = D, which is so for k = 1 alone; the period is D / k.

use super::path::{self, Path, list, number};
use super::{
    Arguments, Axis, Curve, Declared, Function, Info, Model, ModelError, Panel, Picture, Range, Value, check,
    positive,
};
use crate::text::key::{Takes, needed};
use crate::text::{Item, Reader, ScenarioError};
use headway_transport::tcp::control::l2dct::analysis;
use serde_json::{Map, Value as Json, json};

pub use analysis::{Cycle, Setting};

/// Width of the drawing, in longest cycles.
const CYCLES: f64 = 2.0;

/// Inputs of the steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct L2dctCycle {
    path: Path,
    threshold: f64,
    cases: Vec<Setting>,
}

impl Declared for L2dctCycle {
    const INFO: Info = Info {
        name: "l2dct-cycle",
        summary: "L2DCT's steady state: the window of synchronised flows",
        paper: "L2DCT, INFOCOM 2013, §II-C",
        keys: &[
            path::RATE,
            path::RTT,
            path::PACKET,
            needed("threshold", Takes::Number, "marking threshold, in packets"),
            needed("cases", Takes::Tables, "the flows, each `{ flows, weight, increase }`, a curve each"),
        ],
        example: "rate = \"1 Gbps\"\nrtt = \"300 us\"\npacket = 1500\nthreshold = 20\ncases = [{ flows = 2, weight = 0.5, increase = 0.2 }]",
        functions: &[Function {
            name: "cycle",
            doc: "L2DCT's steady state (§II-C, equations 6 to 12) of N synchronised flows: packets and round trips.",
            arguments: &["key", "flows", "bdp", "threshold", "weight", "increase"],
            call: answer,
        }],
    };

    fn read(table: &Reader<'_>) -> Result<L2dctCycle, ScenarioError> {
        let path = Path::read(table)?;
        let threshold = number(&table.need("threshold")?, "at least 0", |n| n >= 0.0)?;
        let case = |item: &Item<'_>| {
            let table = item.table()?;
            let flows = table.need("flows")?.count()?;
            let weight = number(&table.need("weight")?, "more than 0", |n| n > 0.0)?;
            let increase = number(&table.need("increase")?, "more than 0", |n| n > 0.0)?;
            table.finish(&[], None)?;
            Ok(Setting { flows: flows.into(), bdp: path.packets(), threshold, weight, increase })
        };
        let cases = list(&table.need("cases")?, case)?;
        Ok(L2dctCycle { path, threshold, cases })
    }
}

impl Model for L2dctCycle {
    fn table(&self) -> Map<String, Json> {
        let row =
            |c: &Setting| json!({ "flows": c.flows as u64, "weight": c.weight, "increase": c.increase });
        let mut map = self.path.table();
        map.insert("threshold".into(), json!(self.threshold));
        map.insert("cases".into(), self.cases.iter().map(row).collect());
        map
    }

    fn draw(&self) -> Result<Picture, ModelError> {
        let mut counts: Vec<f64> = self.cases.iter().map(|case| case.flows).collect();
        counts.sort_by(f64::total_cmp);
        counts.dedup();
        let panels = counts.into_iter().map(|flows| self.panel(flows)).collect::<Result<_, _>>()?;
        let caption = format!(
            "Equations 6 to 10 with {:.3} packets in a round trip and K = {}: windows in packets over {CYCLES} of the \
             longest cycles. The period is D/k; equation 10 prints D, which is so for k = 1.",
            self.path.packets(),
            self.threshold
        );
        Ok(Picture { title: "Window of one flow, from the analysis", caption, columns: 2, panels })
    }
}

impl L2dctCycle {
    /// The windows of the cases with so many flows.
    fn panel(&self, flows: f64) -> Result<Panel, ModelError> {
        let cases: Vec<&Setting> = self.cases.iter().filter(|case| case.flows == flows).collect();
        let found = cases.iter().map(|case| cycle(case, Form::Approximate)).collect::<Result<Vec<_>, _>>()?;
        let longest = found.iter().map(|cycle| cycle.period).fold(0.0, f64::max);
        // All curves of a panel span the same time, so that their periods can be compared.
        let curves = cases.iter().zip(&found).map(|(case, cycle)| sawtooth(case, cycle, CYCLES * longest));
        Ok(Panel {
            title: format!("{flows} flow{}", if flows > 1.0 { "s" } else { "" }),
            x: Axis { label: "round trips", quantity: "count", range: Range::Tight },
            y: Axis { label: "window", quantity: "count", range: Range::Near },
            curves: curves.collect(),
            reference: None,
        })
    }
}

/// A window that grows up to its largest and falls at once, again and again until `end`.
fn sawtooth(case: &Setting, cycle: &Cycle, end: f64) -> Curve {
    // The window grows for one more round trip after the queue reached the threshold: marks come back as late.
    let top = case.critical_window() + case.increase;
    let bottom = top - cycle.drop;
    let (mut x, mut y, mut begin) = (Vec::new(), Vec::new(), 0.0);
    while begin < end {
        let until = end.min(begin + cycle.period);
        x.extend([begin, until]);
        y.extend([bottom, bottom + (until - begin) * case.increase]);
        begin += cycle.period;
    }
    Curve { name: format!("w = {}, k = {}", case.weight, case.increase), x, y }
}

fn answer(arguments: &Arguments<'_>) -> Result<Value, ModelError> {
    let number = |at| arguments.number(at);
    let setting = Setting {
        flows: number(1)?,
        bdp: number(2)?,
        threshold: number(3)?,
        weight: number(4)?,
        increase: number(5)?,
    };
    let found = cycle(&setting, Form::Approximate)?;
    arguments.pick(&[
        ("critical_window", setting.critical_window()),
        ("alpha", found.alpha),
        ("backoff", found.backoff),
        ("drop", found.drop),
        ("amplitude", found.amplitude),
        ("period", found.period),
        ("queue_max", found.queue_max),
        ("queue_min", found.queue_min),
    ])
}

/// Form of equation 5 that is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Equations 6 and 7, which leave b^2 / 4 out.
    Approximate,
    /// Equation 5 as it stands.
    Exact,
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
        Form::Approximate => setting.approximate_cycle(),
        Form::Exact => setting.exact_cycle(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTING: Setting = Setting { flows: 1.0, bdp: 25.0, threshold: 20.0, weight: 0.5, increase: 0.2 };

    #[test]
    fn the_forms_are_those_of_the_transport() {
        assert_eq!(cycle(&SETTING, Form::Approximate), Ok(SETTING.approximate_cycle()));
        let exact = cycle(&SETTING, Form::Exact).expect("in range");
        assert!((exact.alpha - 0.0443).abs() < 5e-5 && (exact.period - exact.drop / 0.2).abs() < 1e-12);
        assert_eq!(exact.queue_max, 20.2);
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
    }
}
