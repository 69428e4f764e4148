//! Reading tables key by key: a key that nobody asks for is an error in the end.

use super::error::{Problem, ScenarioError};
use super::names;
use super::quantity::{self, Dimension, QuantityError};
use super::source::Origin;
use super::tree::{Entry, Node, Table, Value};
use headway_fabric::Limit;
use headway_params::{ParamKind, ParamSpec, ParamValue};
use headway_units::{Rate, Time};
use std::cell::RefCell;

type Read<T> = Result<T, ScenarioError>;

/// A table that remembers the keys that were read.
pub struct Reader<'a> {
    table: &'a Table,
    at: Origin,
    path: String,
    document: &'static str,
    asked: RefCell<Vec<String>>,
}

impl<'a> Reader<'a> {
    /// The whole document, and what messages call it: `the scenario`.
    pub fn root(table: &'a Table, at: &Origin, document: &'static str) -> Reader<'a> {
        Reader { table, at: at.clone(), path: String::new(), document, asked: RefCell::default() }
    }

    /// Start of the table.
    pub fn at(&self) -> &Origin {
        &self.at
    }

    /// The table as messages call it.
    pub fn name(&self) -> String {
        if self.path.is_empty() { self.document.into() } else { format!("[{}]", self.path) }
    }

    /// The value of a key, if it is there.
    pub fn get(&self, key: &str) -> Option<Item<'a>> {
        // Noted even if it is not there: suggestions for misspelt keys come from this list.
        self.asked.borrow_mut().push(key.into());
        let entry = self.table.get(key)?;
        Some(Item { path: self.join(key), node: &entry.node })
    }

    /// The value of a key that must be there.
    pub fn need(&self, key: &str) -> Read<Item<'a>> {
        self.get(key).ok_or_else(|| {
            // A key that was misspelt looks like one that is missing; the misspelt one is the place to show.
            let strangers = self.table.entries.iter().filter(|e| !self.was_asked(&e.key));
            if let Some(slip) = names::nearest_name(key, strangers.map(|e| e.key.as_str()))
                && let Some(entry) = self.table.get(slip)
            {
                let problem = Problem::UnknownKey { key: slip.into(), table: self.name() };
                return ScenarioError::new(problem, &entry.key_at).help(format!("did you mean `{key}`?"));
            }
            let problem = Problem::MissingKey { key: key.into(), table: self.name() };
            ScenarioError::new(problem, &self.at)
        })
    }

    /// All keys that were not read so far; this call reads them.
    pub fn rest(&self) -> Vec<(&'a Entry, Item<'a>)> {
        let unasked: Vec<_> = self.table.entries.iter().filter(|e| !self.was_asked(&e.key)).collect();
        unasked.iter().for_each(|e| self.asked.borrow_mut().push(e.key.clone()));
        unasked.into_iter().map(|e| (e, Item { path: self.join(&e.key), node: &e.node })).collect()
    }

    /// Refuses keys that are none of these, before anything is read: the right word for what a misspelt table
    /// leaves missing elsewhere.
    pub fn refuse_unknown(&self, known: &[&str]) -> Read<()> {
        let unknown = |e: &&Entry| !known.contains(&e.key.as_str());
        let Some(entry) = self.table.entries.iter().find(unknown) else { return Ok(()) };
        let problem = Problem::UnknownKey { key: entry.key.clone(), table: self.name() };
        let error = ScenarioError::new(problem, &entry.key_at);
        let mut elsewhere = Vec::new();
        places(self.table, &entry.key, "", &mut elsewhere);
        // A key without the tables that it is in, as `--set load=0.5` has it.
        let help = match elsewhere.is_empty() {
            true => names::name_suggestion(&entry.key, known.iter().copied()),
            false => Some(format!("did you mean {}?", elsewhere.join(" or "))),
        };
        Err(error.maybe_help(help))
    }

    /// Refuses keys that were not read. Keys in `elsewhere` exist, but have no effect in this table as it stands;
    /// `what` says how it stands.
    pub fn finish(&self, elsewhere: &[&str], what: Option<String>) -> Read<()> {
        let Some(entry) = self.table.entries.iter().find(|e| !self.was_asked(&e.key)) else {
            return Ok(());
        };
        let key = entry.key.clone();
        let asked = self.asked.borrow();
        let unused = elsewhere.contains(&key.as_str());
        let table = what.map_or_else(|| self.name(), |w| format!("{} with {w}", self.name()));
        let problem =
            if unused { Problem::UnusedKey { key, table } } else { Problem::UnknownKey { key, table } };
        let error = ScenarioError::new(problem, &entry.key_at);
        let known = asked.iter().map(String::as_str);
        if unused {
            let list = names::once_each(known);
            return Err(error.help(format!("it uses {}", list.join(", "))));
        }
        Err(error.maybe_help(names::name_suggestion(&entry.key, known)))
    }

    /// The keys that were read so far.
    pub fn asked(&self) -> Vec<String> {
        self.asked.borrow().clone()
    }

    fn was_asked(&self, key: &str) -> bool {
        self.asked.borrow().iter().any(|k| k == key)
    }

    fn join(&self, key: &str) -> String {
        if self.path.is_empty() { key.into() } else { format!("{}.{key}", self.path) }
    }
}

/// The paths below a table at which a key stands, in quotes.
fn places(table: &Table, key: &str, path: &str, found: &mut Vec<String>) {
    for entry in &table.entries {
        let path = format!("{path}{}", entry.key);
        if path.contains('.') && entry.key == key {
            found.push(format!("`{path}`"));
        }
        let inner: Vec<(String, &Node)> = match &entry.node.value {
            Value::Table(_) => vec![(format!("{path}."), &entry.node)],
            Value::List(items) => {
                (0..).zip(items).map(|(i, node): (u32, _)| (format!("{path}.{i}."), node)).collect()
            }
            _ => Vec::new(),
        };
        for (path, node) in inner {
            if let Value::Table(table) = &node.value {
                places(table, key, &path, found);
            }
        }
    }
}

/// A value with its path.
#[derive(Clone)]
pub struct Item<'a> {
    path: String,
    node: &'a Node,
}

impl<'a> Item<'a> {
    /// Place of the value in the file.
    pub fn at(&self) -> &'a Origin {
        &self.node.at
    }

    /// The value as it stands.
    pub fn value(&self) -> &'a Value {
        &self.node.value
    }

    /// Its path, as in `traffic.0.load`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// An error at this value.
    pub fn fail(&self, problem: Problem) -> ScenarioError {
        ScenarioError::new(problem, &self.node.at)
    }

    /// An error because it is not `allowed`.
    pub fn range(&self, allowed: impl Into<String>, found: impl ToString) -> ScenarioError {
        self.fail(Problem::Range {
            key: self.path.clone(),
            allowed: allowed.into(),
            found: found.to_string(),
        })
    }

    /// An error because it is not `expected`.
    pub fn wrong(&self, expected: impl Into<String>) -> ScenarioError {
        let (key, found) = (self.path.clone(), self.node.value.found());
        self.fail(Problem::Type { key, expected: expected.into(), found })
    }

    /// The value as a text.
    pub fn text(&self) -> Read<&'a str> {
        match &self.node.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.wrong("text")),
        }
    }

    /// A whole number in a range.
    pub fn int(&self, min: u64, max: u64) -> Read<u64> {
        let Value::Int(n) = self.node.value else { return Err(self.wrong("a whole number")) };
        match u64::try_from(n) {
            Ok(n) if (min..=max).contains(&n) => Ok(n),
            // Without the upper limit, which no number of TOML reaches.
            _ if max == u64::MAX => Err(self.range(format!("at least {min}"), n)),
            _ => Err(self.range(format!("from {min} to {max}"), n)),
        }
    }

    /// A whole number from 1.
    pub fn count(&self) -> Read<u32> {
        self.int(1, u64::from(u32::MAX)).map(|n| n as u32)
    }

    /// The value as a finite number.
    pub fn number(&self) -> Read<f64> {
        match self.node.value {
            Value::Int(n) => Ok(n as f64),
            Value::Float(n) => Ok(n),
            Value::Text(ref text) => Err(self.wrong("a number").maybe_help(percent(text))),
            _ => Err(self.wrong("a number")),
        }
    }

    /// One of some words, by position.
    pub fn choice(&self, words: &[&str]) -> Read<usize> {
        let word = self.text()?;
        words.iter().position(|w| *w == word).ok_or_else(|| {
            let allowed = format!("one of {}", words.join(", "));
            self.range(allowed, format!("`{word}`"))
                .maybe_help(names::name_suggestion(word, words.iter().copied()))
        })
    }

    fn quantity(&self, wanted: &[Dimension]) -> Read<quantity::Quantity> {
        let or =
            |f: fn(Dimension) -> &'static str| wanted.iter().map(|d| f(*d)).collect::<Vec<_>>().join(" or ");
        let example =
            || self.example(wanted).unwrap_or_else(|| format!("write {}", or(Dimension::example_text)));
        let Value::Text(text) = &self.node.value else {
            return Err(self.wrong(format!("{} with a unit", or(Dimension::dimension_name))).help(example()));
        };
        let of_wanted = |error| match error {
            QuantityError::NoSuchUnit { unit, .. } => {
                let nearest = quantity::nearest_unit(&unit, wanted);
                QuantityError::NoSuchUnit { unit, nearest }
            }
            other => other,
        };
        let (dimension, parsed) = match quantity::parse_quantity(text) {
            Ok(parsed) => (parsed.dimension, Ok(parsed)),
            // If only bits are given, a rate is likelier meant than a number of bytes.
            Err(QuantityError::BitsAndBytes { unit, dimension: Dimension::Bytes, .. })
                if !wanted.contains(&Dimension::Bytes) =>
            {
                let error = of_wanted(QuantityError::NoSuchUnit { unit, nearest: None });
                return Err(self.misread(error, &example()));
            }
            Err(error @ QuantityError::BitsAndBytes { dimension, .. }) => (dimension, Err(error)),
            Err(error) => return Err(self.misread(of_wanted(error), &example())),
        };
        if !wanted.contains(&dimension) {
            let reason =
                format!("`{text}` is {}, not {}", dimension.dimension_name(), or(Dimension::dimension_name));
            let problem = Problem::Quantity { key: self.path.clone(), reason };
            return Err(self.fail(problem).help(example()));
        }
        parsed.map_err(|error| self.misread(error, &example()))
    }

    /// The user's own number with a unit, where only that is missing.
    fn example(&self, wanted: &[Dimension]) -> Option<String> {
        let number = match &self.node.value {
            Value::Int(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Text(text) => text.trim().to_string(),
            _ => return None,
        };
        let plain = number.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0)?;
        // A number of a million or more means bits in a second, written out, and not Gbps.
        let written_out = Rate::new(plain as u64).filter(|_| plain >= 1e6);
        let with = |d: &Dimension| match (d, written_out) {
            (Dimension::Rate, Some(rate)) => format!("\"{rate}\""),
            // Nor a thousandth of a microsecond: that is seconds.
            (Dimension::Time, _) if plain > 0.0 && plain < 1e-3 => format!("\"{number} s\""),
            (d, _) => format!("\"{number} {}\"", d.example_unit()),
        };
        let all: Vec<String> = wanted.iter().map(with).collect();
        Some(format!("write {}, or with the unit that you mean", all.join(" or ")))
    }

    fn misread(&self, error: QuantityError, example: &str) -> ScenarioError {
        let key = self.path.clone();
        match error {
            QuantityError::NotFinite(found) => self.fail(Problem::NotFinite { key, found }),
            QuantityError::Negative(found) => self.range("at least 0", found),
            QuantityError::NoSuchUnit { ref unit, nearest: Some(nearest) } => {
                let number = match &self.node.value {
                    Value::Text(text) => text.trim().strip_suffix(unit.as_str()).unwrap_or_default().trim(),
                    _ => "",
                };
                let problem = Problem::Quantity { key, reason: error.to_string() };
                self.fail(problem).help(format!("did you mean \"{number} {nearest}\"?"))
            }
            QuantityError::TooLarge(..) => self.fail(Problem::Quantity { key, reason: error.to_string() }),
            QuantityError::BitsAndBytes { ref same, .. } => {
                let problem = Problem::Quantity { key, reason: error.to_string() };
                self.fail(problem).help(format!("that is \"{same}\""))
            }
            other => self.fail(Problem::Quantity { key, reason: other.to_string() }).help(example),
        }
    }

    /// The value as a time with a unit.
    pub fn time(&self) -> Read<Time> {
        Ok(Time(self.quantity(&[Dimension::Time])?.amount))
    }

    /// A duration that is not empty.
    pub fn period(&self) -> Read<Time> {
        match self.time()? {
            Time::ZERO => Err(self.range("more than 0", "0 s")),
            time => Ok(time),
        }
    }

    /// The value as a rate with a unit.
    pub fn rate(&self) -> Read<Rate> {
        let amount = match self.quantity(&[Dimension::Rate]) {
            Ok(quantity) => quantity.amount,
            // "At least 0" would send the next attempt to zero, which is refused as well.
            Err(error) => match error.problem() {
                Problem::Range { found, .. } => return Err(self.range("more than 0", found)),
                _ => return Err(error),
            },
        };
        Rate::new(amount).ok_or_else(|| self.range("more than 0", "0 bps"))
    }

    /// Bytes: a whole number, or with a unit.
    pub fn bytes(&self, min: u64) -> Read<u64> {
        let amount = match self.node.value {
            Value::Int(_) => self.int(min, u64::MAX)?,
            _ => self.quantity(&[Dimension::Bytes])?.amount,
        };
        if amount < min {
            Err(self.range(format!("at least {min} B"), format!("{amount} B")))
        } else {
            Ok(amount)
        }
    }

    /// Bytes in a range.
    pub fn bytes_up_to(&self, min: u64, max: u64) -> Read<u64> {
        match self.bytes(0)? {
            bytes if (min..=max).contains(&bytes) => Ok(bytes),
            bytes => Err(self.range(format!("from {min} B to {max} B"), format!("{bytes} B"))),
        }
    }

    /// The value as buffer space, in packets or bytes.
    pub fn limit(&self) -> Read<Limit> {
        let found = self.quantity(&[Dimension::Packets, Dimension::Bytes])?;
        match found.dimension {
            Dimension::Packets => u32::try_from(found.amount)
                .map(Limit::Packets)
                .map_err(|_| self.range("at most 4294967295 packets", found.amount)),
            _ => Ok(Limit::Bytes(found.amount)),
        }
    }

    /// The entries of a list.
    pub fn list(&self) -> Read<Vec<Item<'a>>> {
        match &self.node.value {
            Value::List(nodes) => {
                let item = |(i, node)| Item { path: format!("{}.{i}", self.path), node };
                Ok(nodes.iter().enumerate().map(item).collect())
            }
            _ => Err(self.wrong("a list")),
        }
    }

    /// A reader for the keys of a table.
    pub fn table(&self) -> Read<Reader<'a>> {
        match &self.node.value {
            Value::Table(table) => Ok(Reader {
                table,
                at: self.node.at.clone(),
                path: self.path.clone(),
                document: "",
                asked: RefCell::default(),
            }),
            _ => Err(self.wrong("a table")),
        }
    }

    /// A declared parameter.
    pub fn param(&self, spec: &ParamSpec) -> Read<ParamValue> {
        let value = match (&spec.kind, &self.node.value) {
            (ParamKind::Bool, Value::Bool(v)) => ParamValue::Bool(*v),
            (ParamKind::Int { .. }, Value::Int(v)) => match u64::try_from(*v) {
                Ok(v) => ParamValue::Int(v),
                Err(_) => return Err(self.range(spec.kind.expected_form(), v)),
            },
            (ParamKind::Float { .. }, Value::Int(_) | Value::Float(_)) => ParamValue::Float(self.number()?),
            (ParamKind::Time { .. }, _) => ParamValue::Time(self.time()?),
            // Zero is the same in every unit, and needs none.
            (ParamKind::Bytes { .. }, _) | (ParamKind::Length { .. }, Value::Int(0)) => {
                ParamValue::Int(self.bytes(0)?)
            }
            (ParamKind::Length { .. }, Value::Int(bare)) => {
                let error = self.wrong(spec.kind.expected_form());
                let meant = format!("a number alone may mean packets: bytes are \"{bare} B\"");
                return Err(error.help(meant));
            }
            (ParamKind::Length { .. }, _) => ParamValue::Int(self.quantity(&[Dimension::Bytes])?.amount),
            (ParamKind::Rate { .. }, _) => ParamValue::Rate(self.rate()?),
            (ParamKind::Choice(words), _) => ParamValue::Choice(words[self.choice(words)?].into()),
            _ => return Err(self.wrong(spec.kind.expected_form())),
        };
        match spec.check_value(&value) {
            Ok(()) => Ok(value),
            Err(_) => Err(self.range(spec.kind.expected_form(), value)),
        }
    }
}
/// Form in which a number in percent is written here.
fn percent(text: &str) -> Option<String> {
    let number: f64 = text.trim().strip_suffix('%')?.trim().parse().ok()?;
    number.is_finite().then(|| format!("a share is a number without a unit: {}", number / 100.0))
}
