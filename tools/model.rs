//! Say here what the model says, and of what.
//!
//! Source: say here paper, year and section.

use super::path::{list, number};
use super::{
    Axis, Curve, Declared, Function, Info, Model, ModelError, Panel, Picture, Range, Value, check, positive,
};
use crate::text::key::needed;
use crate::text::{Reader, ScenarioError};
use serde_json::{Map, Value as Json, json};

const POINTS: u32 = 120;

/// Slopes of lines, which are drawn from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    slopes: Vec<f64>,
}

impl Declared for Template {
    const INFO: Info = Info {
        name: "template",
        summary: "lines through the origin",
        paper: "paper, year, section",
        keys: &[needed("slopes", "list of numbers", "slopes of lines, a curve each")],
        example: "slopes = [0.5, 1.0]",
        functions: &[Function {
            name: "template",
            doc: "Height of the line of this slope, from 0 to 1.",
            arguments: &["slope", "x"],
            call: |a| height(a.number(0)?, a.number(1)?).map(Value::Number),
        }],
    };

    fn read(table: &Reader<'_>) -> Result<Template, ScenarioError> {
        let slopes = list(&table.need("slopes")?, |i| number(i, "more than 0", |n| n > 0.0))?;
        Ok(Template { slopes })
    }
}

impl Model for Template {
    fn table(&self) -> Map<String, Json> {
        Map::from_iter([("slopes".to_string(), json!(self.slopes))])
    }

    fn draw(&self) -> Result<Picture, ModelError> {
        let x: Vec<f64> = (0..=POINTS).map(|i| f64::from(i) / f64::from(POINTS)).collect();
        let curve = |slope: &f64| {
            let y = x.iter().map(|x| height(*slope, *x)).collect::<Result<_, _>>()?;
            Ok(Curve { name: format!("slope {slope}"), x: x.clone(), y })
        };
        let panel = Panel {
            title: "y = slope x".into(),
            x: Axis { label: "x", quantity: "ratio", range: Range::Fixed(0.0, 1.0) },
            y: Axis { label: "y", quantity: "ratio", range: Range::Tight },
            curves: self.slopes.iter().map(curve).collect::<Result<_, ModelError>>()?,
            reference: None,
        };
        Ok(Picture { title: "Lines", caption: "Lines.".into(), columns: 1, panels: vec![panel] })
    }
}

/// Height of a line at `x`.
fn height(slope: f64, x: f64) -> Result<f64, ModelError> {
    positive("the slope", slope)?;
    check("x", "from 0 to 1", x, (0.0..=1.0).contains(&x))?;
    Ok(slope * x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_their_slope() {
        assert_eq!(height(0.5, 1.0), Ok(0.5));
        assert!(height(0.0, 0.5).is_err() && height(1.0, 1.5).is_err());
    }
}
