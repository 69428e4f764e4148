//! A document with the place of every key and value, for readers outside of Rust, and a diagnostic at such a place.

use super::error::{Problem, ScenarioError};
use super::parse;
use super::source::{BYTE_ORDER_MARK, Origin, Source};
use super::tree::{Entry, Node, Value};
use serde_json::{Map, Value as Json, json};

/// A TOML text as JSON: a value is `{"at": [from, to], "value": ...}`, a list has `list` and a table `keys` instead, each
/// key with `at` and the `node` that it names. Places count characters.
pub fn document(name: &str, text: &str) -> Result<Json, ScenarioError> {
    let source = Source::new(name, text.trim_start_matches(BYTE_ORDER_MARK));
    let node = parse::document(&source)?;
    Ok(Places::of(&source.text).node(&node))
}

/// The diagnostic of a problem in characters `from` to `to` of a text: message, file, line, caret and help.
pub fn diagnostic(
    name: &str,
    text: &str,
    place: (usize, usize),
    message: &str,
    help: Option<&str>,
) -> String {
    let source = Source::new(name, text.trim_start_matches(BYTE_ORDER_MARK));
    // A place beyond the text is its end.
    let byte = |place| source.text.char_indices().nth(place).map_or(source.text.len(), |(at, _)| at);
    let at = Origin::new(&source, byte(place.0)..byte(place.1));
    let problem = Problem::Contradiction(message.into());
    ScenarioError::new(problem, &at).maybe_help(help.map(str::to_string)).render()
}

/// The number of characters before each byte.
struct Places(Vec<usize>);

impl Places {
    fn of(text: &str) -> Places {
        let mut before = Vec::with_capacity(text.len() + 1);
        for (number, c) in text.chars().enumerate() {
            before.extend(std::iter::repeat_n(number, c.len_utf8()));
        }
        before.push(text.chars().count());
        Places(before)
    }

    fn at(&self, origin: &Origin) -> Json {
        json!([self.0[origin.span.start], self.0[origin.span.end]])
    }

    fn node(&self, node: &Node) -> Json {
        let mut map = Map::from_iter([("at".to_string(), self.at(&node.at))]);
        match &node.value {
            Value::List(items) => {
                map.insert("list".into(), items.iter().map(|item| self.node(item)).collect())
            }
            Value::Table(table) => {
                let key = |entry: &Entry| {
                    let named = json!({ "at": self.at(&entry.key_at), "node": self.node(&entry.node) });
                    (entry.key.clone(), named)
                };
                map.insert("keys".into(), Json::Object(table.entries.iter().map(key).collect()))
            }
            value => map.insert("value".into(), value.to_json()),
        };
        Json::Object(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters() {
        let text = "\u{feff}\"é\" = \"ü\"\n[t]\nk = [1]\n";
        let found = document("x.toml", text).expect("TOML");
        assert_eq!(found["keys"]["é"], json!({ "at": [0, 3], "node": { "at": [6, 9], "value": "ü" } }));
        let list = &found["keys"]["t"]["node"]["keys"]["k"]["node"];
        assert_eq!(*list, json!({ "at": [18, 21], "list": [{ "at": [19, 20], "value": 1 }] }));
        let shown = diagnostic("x.toml", text, (14, 15), "no such key", Some("did you mean `j`?"));
        assert!(shown.contains("x.toml:3:1") && shown.contains("3 │ k = [1]"), "{shown}");
        assert!(shown.contains("no such key") && shown.contains("did you mean `j`?"), "{shown}");
    }
}
