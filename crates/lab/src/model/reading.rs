//! The `[model]` table: a closed-form model to evaluate instead of a network to run, or in addition to it.

use super::{KINDS, Kind, Model};
use crate::text::source::{Origin, Source};
use crate::text::{Entry, Item, Node, Problem, Reader, ScenarioError, Table, Value, names};
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// A model and what to evaluate it for.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Its name in scenarios.
    pub name: &'static str,
    /// The model with the values of the table.
    pub model: Arc<dyn Model>,
}

impl PartialEq for Settings {
    fn eq(&self, other: &Settings) -> bool {
        self.to_json() == other.to_json()
    }
}

impl Settings {
    /// The name, every key with its value, and the results in the units of the model.
    pub fn to_json(&self) -> Json {
        let mut map = Map::from_iter([("name".to_string(), Json::from(self.name))]);
        map.append(&mut self.model.table());
        Json::Object(map)
    }
}

/// Reads the table.
pub fn read(item: &Item<'_>) -> Result<Settings, ScenarioError> {
    let table = item.table()?;
    let known: Vec<&str> = KINDS.iter().map(|kind| kind.info.name).collect();
    let kind = &KINDS[table.need("name")?.choice(&known)?];
    let settings = Settings { name: kind.info.name, model: (kind.read)(&table)? };
    let others = KINDS.iter().flat_map(|kind| kind.info.keys).map(|key| key.name);
    let others = names::once_each(others);
    table.finish(&others, Some(format!("name = \"{}\"", kind.info.name)))?;
    Ok(settings)
}

/// Reads the table again as results hold it, with the results of its keys; `name` is of the file, for messages.
pub fn stored(name: &str, table: &Json) -> Result<Settings, ScenarioError> {
    let mut table = table.clone();
    let kind = KINDS.iter().find(|kind| table["name"] == kind.info.name);
    if let (Some(Kind { info, .. }), Json::Object(map)) = (kind, &mut table) {
        // Results hold derived values as well, which the reader would refuse as unknown keys.
        map.retain(|key, _| key == "name" || info.keys.iter().any(|known| known.name == key));
    }
    let source = Source::new(name, table.to_string());
    let at = Origin::part(&source, &source.text);
    let node = node(&table, &at)
        .ok_or_else(|| ScenarioError::new(Problem::Contradiction("a table cannot hold null".into()), &at))?;
    let root = Table { entries: vec![Entry { key: "model".into(), key_at: at.clone(), node }] };
    read(&Reader::root(&root, &at, "the results").need("model")?)
}

/// A JSON value as one of a document, all of it at one place; `None` for a value that a document cannot hold.
fn node(json: &Json, at: &Origin) -> Option<Node> {
    let value = match json {
        Json::Null => return None,
        Json::Bool(v) => Value::Bool(*v),
        // Integers first: a float in place of a count would be refused.
        Json::Number(v) => v.as_i64().map(Value::Int).or_else(|| v.as_f64().map(Value::Float))?,
        Json::String(v) => Value::Text(v.clone()),
        Json::Array(items) => Value::List(items.iter().map(|item| node(item, at)).collect::<Option<_>>()?),
        Json::Object(map) => {
            let entry = |(key, value): (&String, &Json)| {
                Some(Entry { key: key.clone(), key_at: at.clone(), node: node(value, at)? })
            };
            Value::Table(Table { entries: map.iter().map(entry).collect::<Option<_>>()? })
        }
    };
    Some(Node { value, at: at.clone() })
}
