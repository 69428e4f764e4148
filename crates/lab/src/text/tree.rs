//! A document as a tree of values that know where they were written.

use super::source::Origin;

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Value that is written there.
    pub value: Value,
    /// Place of the value in the file.
    pub at: Origin,
}

/// Value of a document. Numbers are finite: parsing refuses the others.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A finite number with a point or an exponent.
    Float(f64),
    /// Characters between quotes, without them.
    Text(String),
    /// Values in the order written.
    List(Vec<Node>),
    /// Keys and values in the order written.
    Table(Table),
}

/// One key of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The word before the equals sign, without quotes.
    pub key: String,
    /// Place where the key is written.
    pub key_at: Origin,
    /// Value of the key.
    pub node: Node,
}

/// Keys and values in the order written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// No key occurs twice.
    pub entries: Vec<Entry>,
}

impl Table {
    /// The entry of a key.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// The entry of a key, to change.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Entry> {
        self.entries.iter_mut().find(|entry| entry.key == key)
    }

    /// Keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.key.as_str())
    }
}

impl Value {
    /// Description of the value, for messages.
    pub fn found(&self) -> String {
        match self {
            Value::Bool(v) => v.to_string(),
            Value::Int(v) => format!("the number {v}"),
            Value::Float(v) => format!("the number {v}"),
            Value::Text(v) => format!("the text \"{v}\""),
            Value::List(_) => "a list".into(),
            Value::Table(_) => "a table".into(),
        }
    }

    /// The value as JSON, for tables that pass through unread.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match self {
            Value::Bool(v) => Json::from(*v),
            Value::Int(v) => Json::from(*v),
            Value::Float(v) => Json::from(*v),
            Value::Text(v) => Json::from(v.as_str()),
            Value::List(nodes) => nodes.iter().map(|n| n.value.to_json()).collect(),
            Value::Table(table) => {
                table.entries.iter().map(|e| (e.key.clone(), e.node.value.to_json())).collect()
            }
        }
    }

    /// The value as TOML on one line, for override arguments.
    pub fn to_toml(&self) -> String {
        match self {
            Value::Bool(v) => v.to_string(),
            Value::Int(v) => v.to_string(),
            // `{}` would write 1.0 as `1`, which reads as a whole number.
            Value::Float(v) => format!("{v:?}"),
            Value::Text(v) => quote(v),
            Value::List(nodes) => {
                let items: Vec<_> = nodes.iter().map(|n| n.value.to_toml()).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Table(table) => {
                let items: Vec<_> = table
                    .entries
                    .iter()
                    .map(|e| format!("{} = {}", quote(&e.key), e.node.value.to_toml()))
                    .collect();
                format!("{{ {} }}", items.join(", "))
            }
        }
    }
}

/// A TOML basic string.
fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
