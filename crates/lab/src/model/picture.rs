//! Picture of a model: curves as numbers, which the report draws as it draws those of runs.

use serde_json::{Value as Json, json};

/// Panels side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Title of the whole.
    pub title: &'static str,
    /// Caption of the curves, with the equations.
    pub caption: String,
    /// Number of panels in a row.
    pub columns: usize,
    /// Panels in the order in which they are drawn.
    pub panels: Vec<Panel>,
}

/// A pair of axes with curves.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Title of the panel.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Curves of one name have one colour in all panels.
    pub curves: Vec<Curve>,
    /// A horizontal line to read the curves against, and its label.
    pub reference: Option<(f64, &'static str)>,
}

/// One side of a panel: its quantity, and its range.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Label of the axis.
    pub label: &'static str,
    /// `count` or `ratio`.
    pub quantity: &'static str,
    /// Range of the axis.
    pub range: Range,
}

/// Range of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// A range from the first to the second value.
    Fixed(f64, f64),
    /// Range of the curves from zero, or logarithmic where they span more than a factor of twelve; it contains this
    /// value.
    Fit(f64),
    /// Range of the curves from zero, which ends with them.
    Tight,
    /// Range of the curves, not from zero.
    Near,
}

/// A line through points.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Name of the curve, for the legend.
    pub name: String,
    /// Horizontal positions of points.
    pub x: Vec<f64>,
    /// Values at those positions.
    pub y: Vec<f64>,
}

impl Picture {
    /// The picture as JSON: `title`, `caption`, `columns`, `panels`.
    pub fn to_json(&self) -> Json {
        let panels: Vec<Json> = self.panels.iter().map(Panel::to_json).collect();
        json!({ "title": self.title, "caption": self.caption, "columns": self.columns, "panels": panels })
    }
}

impl Panel {
    fn to_json(&self) -> Json {
        let curve = |c: &Curve| json!({ "name": c.name, "x": c.x, "y": c.y });
        json!({ "title": self.title, "x": self.x.to_json(), "y": self.y.to_json(), "reference": self.reference,
            "curves": self.curves.iter().map(curve).collect::<Vec<_>>() })
    }
}

impl Axis {
    fn to_json(&self) -> Json {
        let (range, values) = match self.range {
            Range::Fixed(low, high) => ("fixed", vec![low, high]),
            Range::Fit(held) => ("fit", vec![held]),
            Range::Tight => ("tight", vec![]),
            Range::Near => ("near", vec![]),
        };
        json!({ "label": self.label, "quantity": self.quantity, "range": range, "values": values })
    }
}
