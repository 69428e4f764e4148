//! From TOML text to a tree.

use super::error::{Problem, ScenarioError};
use super::source::{Origin, Source};
use super::tree::{Entry, Node, Table, Value};
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Parses a document.
pub fn document(source: &Arc<Source>) -> Result<Node, ScenarioError> {
    let table = DeTable::parse(&source.text).map_err(|e| syntax(source, &e, 0))?;
    let place = Place { source, shift: 0 };
    let table = place.table(table.get_ref(), "")?;
    // Errors about the document as a whole stand at its beginning.
    Ok(Node { value: Value::Table(table), at: Origin::new(source, 0..0) })
}

/// Parses the value in bytes `span` of an argument; `None` when it is not TOML.
pub fn value(source: &Arc<Source>, span: Range<usize>, key: &str) -> Result<Option<Node>, ScenarioError> {
    let Ok(parsed) = DeValue::parse(&source.text[span.clone()]) else {
        return Ok(None);
    };
    let place = Place { source, shift: span.start };
    place.node(&parsed, key).map(Some)
}

/// Why the value in bytes `span` of an argument, which is not TOML, is none.
pub fn no_value(source: &Arc<Source>, span: Range<usize>) -> ScenarioError {
    match DeValue::parse(&source.text[span.clone()]) {
        Err(error) => {
            let found = syntax(source, &error, span.start);
            match found.origin() {
                // An error at the end of the text is empty: the whole value shows where.
                Some(at) if !at.span.is_empty() => found,
                _ => ScenarioError::new(found.problem().clone(), &Origin::new(source, span)),
            }
        }
        Ok(_) => ScenarioError::new(Problem::Syntax("not TOML".into()), &Origin::new(source, span)),
    }
}

fn syntax(source: &Arc<Source>, error: &toml::de::Error, shift: usize) -> ScenarioError {
    let span = error.span().unwrap_or(0..0);
    let at = Origin::new(source, span.start + shift..span.end + shift);
    ScenarioError::new(Problem::Syntax(format!("not TOML: {}", error.message().trim_end())), &at)
}

struct Place<'a> {
    source: &'a Arc<Source>,
    shift: usize,
}

impl Place<'_> {
    fn origin(&self, span: Range<usize>) -> Origin {
        Origin::new(self.source, span.start + self.shift..span.end + self.shift)
    }

    fn table(&self, table: &DeTable<'_>, path: &str) -> Result<Table, ScenarioError> {
        let mut entries = Vec::with_capacity(table.len());
        for (key, value) in table {
            let name = key.get_ref().to_string();
            let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let node = self.node(value, &path)?;
            entries.push(Entry { key: name, key_at: self.origin(key.span()), node });
        }
        Ok(Table { entries })
    }

    fn node(&self, value: &Spanned<DeValue<'_>>, path: &str) -> Result<Node, ScenarioError> {
        let at = self.origin(value.span());
        let fail = |problem| Err(ScenarioError::new(problem, &at));
        let key = path.to_string();
        let value = match value.get_ref() {
            DeValue::Boolean(v) => Value::Bool(*v),
            DeValue::String(v) => Value::Text(v.to_string()),
            DeValue::Integer(v) => match i64::from_str_radix(v.as_str(), v.radix()) {
                Ok(n) => Value::Int(n),
                Err(_) => {
                    let (allowed, found) = ("a whole number of at most 2^63 - 1".into(), v.as_str().into());
                    return fail(Problem::Range { key, allowed, found });
                }
            },
            DeValue::Float(v) => match v.as_str().parse::<f64>() {
                Ok(n) if n.is_finite() => Value::Float(n),
                _ => return fail(Problem::NotFinite { key, found: v.as_str().into() }),
            },
            DeValue::Datetime(v) => {
                let (expected, found) = ("no date".into(), format!("the date {v}"));
                return fail(Problem::Type { key, expected, found });
            }
            DeValue::Array(items) => {
                let item = |(i, v)| self.node(v, &format!("{path}.{i}"));
                Value::List(items.iter().enumerate().map(item).collect::<Result<_, _>>()?)
            }
            DeValue::Table(table) => Value::Table(self.table(table, path)?),
        };
        Ok(Node { value, at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_know_their_places() {
        let text = "a = 1\n[t]\nb = [\"x\", 2.5]\n[[u]]\nc = true\n[[u]]\nc = false\n";
        let source = Source::new("x.toml", text);
        let node = document(&source).expect("TOML");
        let Value::Table(root) = &node.value else { panic!("a table") };
        assert_eq!(root.keys().collect::<Vec<_>>(), ["a", "t", "u"]);
        let t = root.get("t").expect("t");
        assert_eq!(&text[t.node.at.span.clone()], "[t]");
        let Value::Table(inner) = &t.node.value else { panic!("a table") };
        let b = inner.get("b").expect("b");
        assert_eq!(&text[b.key_at.span.clone()], "b");
        assert_eq!(&text[b.node.at.span.clone()], "[\"x\", 2.5]");
        let Some(Value::List(u)) = root.get("u").map(|e| &e.node.value) else { panic!("a list") };
        assert_eq!(source.line_column(u[1].at.span.start).0, 6);
    }

    #[test]
    fn numbers_that_are_none_are_refused_where_they_stand() {
        let error = document(&Source::new("x.toml", "a = 1\nb = nan\n")).expect_err("nan");
        assert_eq!(error.problem(), &Problem::NotFinite { key: "b".into(), found: "nan".into() });
        assert_eq!(error.origin().map(|o| o.span.clone()), Some(10..13));
        assert!(document(&Source::new("x.toml", "a = 1979-05-27")).is_err());
        assert!(document(&Source::new("x.toml", "a = 99999999999999999999")).is_err());
        assert!(document(&Source::new("x.toml", "a = 1e999")).is_err(), "reads as infinity");
    }
}
