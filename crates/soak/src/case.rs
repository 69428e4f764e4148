//! A scenario as it is made and made smaller: TOML, and the files that it may name, as trees as well.

use headway_lab::{Request, Scenario, ScenarioError};
use std::path::Path;
use toml::{Table, Value};

/// The name by which a scenario names its graph.
pub const GRAPH: &str = "graph.toml";

/// The names by which it names its flows, as a table and as a matrix.
pub const FLOWS: [&str; 2] = ["flows.csv", "flows.cm"];

/// A random scenario with its files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Case {
    /// The scenario as a TOML table.
    pub scenario: Table,
    /// The file that its topology names, if any.
    pub graph: Option<Table>,
    /// Contents of the files that its traffic names, if any: `nodes`, and a list `flow` of tables with `src`, `dst`,
    /// `bytes`, `start` in microseconds, and perhaps `class`.
    pub flows: Option<Table>,
}

impl Case {
    /// A case of a scenario's text that names no file.
    pub fn of(text: &str) -> Result<Case, toml::de::Error> {
        Ok(Case { scenario: text.parse()?, ..Case::default() })
    }

    /// Its trees, those that may be missing included.
    pub fn trees(&self) -> [Option<&Table>; 3] {
        [Some(&self.scenario), self.graph.as_ref(), self.flows.as_ref()]
    }

    /// The trees, to be changed.
    pub fn trees_mut(&mut self) -> [Option<&mut Table>; 3] {
        [Some(&mut self.scenario), self.graph.as_mut(), self.flows.as_mut()]
    }

    /// The form in which a person would run it: the scenario, and the files that it needs.
    pub fn text(&self) -> String {
        // A scenario that was made smaller may no longer name its files.
        let beside = self.files().into_iter().filter(|(name, _)| self.scenario.to_string().contains(name));
        let beside =
            beside.map(|(name, text)| format!("\n# {name}, beside the scenario:\n{}", commented(&text)));
        self.scenario.to_string() + &beside.collect::<String>()
    }

    /// The text in the form in which `tests/it/found` keeps cases that broke once, with the reason.
    pub fn kept(&self, why: &str) -> String {
        let mut file = Table::from_iter([("why".to_string(), Value::from(why))]);
        let trees = ["scenario", "graph", "flows"].into_iter().zip(self.trees());
        file.extend(trees.filter_map(|(name, tree)| Some((name.to_string(), Value::from(tree?.clone())))));
        file.to_string()
    }

    /// Names of the files that it needs, with their contents.
    fn files(&self) -> Vec<(&'static str, String)> {
        let graph = self.graph.iter().map(|graph| (GRAPH, graph.to_string()));
        let flows = self.flows.iter().flat_map(|flows| FLOWS.into_iter().zip([csv(flows), matrix(flows)]));
        graph.chain(flows).collect()
    }

    /// Reads it through the lab; `folder` is where its files are put.
    #[allow(clippy::disallowed_methods, reason = "files lie beside their scenario")]
    pub fn load(&self, folder: &Path) -> Result<Scenario, Box<dyn std::error::Error>> {
        for (name, text) in self.files() {
            std::fs::write(folder.join(name), text)?;
        }
        let request = Request::text(&self.scenario.to_string(), "scenario.toml", folder, &[], None);
        request.load().map_err(|error: ScenarioError| error.render().into())
    }
}

fn commented(text: &str) -> String {
    text.lines().map(|line| format!("# {line}\n")).collect()
}

/// The flows of a tree, and how to look up a number of each; 0 where it is gone.
fn rows(flows: &Table) -> impl Iterator<Item = impl Fn(&str) -> i64> {
    let list = flows.get("flow").and_then(Value::as_array).into_iter().flatten();
    list.map(|flow| move |key: &str| flow.get(key).and_then(Value::as_integer).unwrap_or(0))
}

/// A table as the lab reads it.
fn csv(flows: &Table) -> String {
    let row = |(id, of): (usize, &dyn Fn(&str) -> i64)| {
        let (s, us) = (of("start") / 1_000_000, of("start") % 1_000_000);
        format!("{id},{},{},{},{s}.{us:06},{}\n", of("src"), of("dst"), of("bytes"), of("class"))
    };
    let lines = rows(flows).enumerate().map(|(id, of)| row((id, &of)));
    "id,src,dst,bytes,start_s,class\n".to_string() + &lines.collect::<String>()
}

/// A matrix as htsim writes it, with start times in microseconds, without classes.
fn matrix(flows: &Table) -> String {
    let row = |id: usize, of: &dyn Fn(&str) -> i64| {
        format!("{}->{} id {} start {} size {}\n", of("src"), of("dst"), id + 1, of("start"), of("bytes"))
    };
    let lines: Vec<String> = rows(flows).enumerate().map(|(id, of)| row(id, &of)).collect();
    let nodes = flows.get("nodes").and_then(Value::as_integer).unwrap_or(0);
    format!("Nodes {nodes}\nConnections {}\n{}", lines.len(), lines.concat())
}

/// A table of these keys.
pub fn table<const N: usize>(keys: [(&str, Value); N]) -> Table {
    keys.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
}

/// A number of a scenario. A number beyond TOML's range is beyond everything that a scenario can mean.
pub fn number(n: u64) -> Value {
    Value::Integer(i64::try_from(n).unwrap_or(i64::MAX))
}

/// A duration in picoseconds as TOML text.
pub fn duration(ps: u64) -> Value {
    Value::String(headway_units::Time(ps).to_string())
}
