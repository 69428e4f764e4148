//! A scenario as it is made and made smaller: TOML, and the graph that it may name.

use headway_lab::{Request, Scenario, ScenarioError};
use std::path::Path;
use toml::{Table, Value};

/// The name by which a scenario names its graph.
pub const GRAPH: &str = "graph.toml";

/// One scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The scenario.
    pub scenario: Table,
    /// The file that its topology names, if any.
    pub graph: Option<Table>,
}

impl Case {
    /// A case of a scenario's text, without a graph.
    pub fn of(text: &str) -> Result<Case, toml::de::Error> {
        Ok(Case { scenario: text.parse()?, graph: None })
    }

    /// As a person would run it: the scenario, and what has to lie beside it.
    pub fn text(&self) -> String {
        match &self.graph {
            None => self.scenario.to_string(),
            Some(graph) => {
                format!("{}\n# {GRAPH}, beside the scenario:\n{}", self.scenario, commented(graph))
            }
        }
    }

    /// Reads it through the lab; `folder` is where its graph is put.
    #[allow(clippy::disallowed_methods, reason = "a graph is a file beside its scenario")]
    pub fn load(&self, folder: &Path) -> Result<Scenario, Box<dyn std::error::Error>> {
        if let Some(graph) = &self.graph {
            std::fs::write(folder.join(GRAPH), graph.to_string())?;
        }
        let request = Request::text(&self.scenario.to_string(), "scenario.toml", folder, &[], None);
        request.load().map_err(|error: ScenarioError| error.render().into())
    }
}

fn commented(graph: &Table) -> String {
    graph.to_string().lines().map(|line| format!("# {line}\n")).collect()
}

/// A table of these keys.
pub fn table<const N: usize>(keys: [(&str, Value); N]) -> Table {
    keys.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
}

/// A number of a scenario. What is beyond TOML's range is beyond everything that a scenario can mean.
pub fn number(n: u64) -> Value {
    Value::Integer(i64::try_from(n).unwrap_or(i64::MAX))
}

/// A duration.
pub fn duration(ps: u64) -> Value {
    Value::String(headway_units::Time(ps).to_string())
}
