//! A scenario made as small as it goes while it fails in the same way.
//!
//! Delta debugging over the document: keys and elements go, in halves first and then one by one; all traffic tries
//! to use one transport and to be a permutation, and the rest becomes simpler value by value, but for parameters. A
//! change after which the reader refuses the scenario, or another invariant breaks, is taken back.

use crate::case::Case;
use toml::{Table, Value};

/// Trials after which the case found so far has to do.
const MOST_TRIALS: u32 = 1_500;

/// The smallest case found that `fails`, which `case` does.
pub fn shrink(case: &Case, fails: &mut dyn FnMut(&Case) -> bool) -> Case {
    let mut search = Search { best: case.clone(), fails, trials: 0 };
    loop {
        let before = search.best.clone();
        search.remove_parts();
        search.unite_transports();
        search.plain_traffic();
        search.simplify_values();
        if search.best == before || search.is_tired() {
            return search.best;
        }
    }
}

struct Search<'a> {
    best: Case,
    fails: &'a mut dyn FnMut(&Case) -> bool,
    trials: u32,
}

/// Position of a value: keys and positions from the root.
type Place = Vec<Step>;

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Key(String),
    At(usize),
}

impl Search<'_> {
    fn is_tired(&self) -> bool {
        self.trials >= MOST_TRIALS
    }

    /// Takes a smaller case if it still fails.
    fn try_case(&mut self, case: Case) -> bool {
        // The same case fails as well, and would be taken for a step again and again.
        if self.is_tired() || case == self.best {
            return false;
        }
        self.trials += 1;
        let fails = (self.fails)(&case);
        if fails {
            self.best = case;
        }
        fails
    }

    /// Takes keys away, and elements of lists in ever smaller pieces.
    fn remove_parts(&mut self) {
        let mut seen = 0;
        loop {
            // Read each time, because places go. They are deeper than the one at hand, so none before `seen` does.
            let places = containers(&self.best);
            let Some(place) = places.get(seen) else { return };
            self.thin_out(place);
            seen += 1;
        }
    }

    fn thin_out(&mut self, place: &Place) {
        let mut piece = self.length(place);
        while piece > 0 {
            let mut first = 0;
            while first < self.length(place) {
                let case = self.without(place, first, piece);
                if !self.try_case(case) {
                    // If it was taken, the next elements have moved here.
                    first += piece;
                }
                if self.is_tired() {
                    return;
                }
            }
            piece /= 2;
        }
    }

    fn length(&self, place: &Place) -> usize {
        match find(&self.best, place) {
            Some(Found::Table(table)) => table.len(),
            Some(Found::Value(Value::Array(list))) => list.len(),
            _ => 0,
        }
    }

    fn without(&self, place: &Place, first: usize, piece: usize) -> Case {
        let mut case = self.best.clone();
        let gone = first..first + piece;
        match find_mut(&mut case, place) {
            Some(FoundMut::Table(table)) => {
                let keys: Vec<String> = table.keys().skip(first).take(piece).cloned().collect();
                keys.iter().for_each(|key| drop(table.remove(key)));
            }
            Some(FoundMut::Value(Value::Array(list))) => {
                let mut place = 0;
                list.retain(|_| {
                    place += 1;
                    !gone.contains(&(place - 1))
                });
            }
            _ => {}
        }
        case
    }

    /// Tries the transport of one traffic entry for the whole scenario.
    fn unite_transports(&mut self) {
        let names: Vec<Value> =
            traffic(&self.best.scenario).filter_map(|entry| entry.get("transport")).cloned().collect();
        for name in names {
            let mut case = self.best.clone();
            let united = match name {
                Value::String(name) => Table::from_iter([("name".to_string(), Value::String(name))]),
                Value::Table(table) => table,
                _ => continue,
            };
            case.scenario.insert("transport".to_string(), Value::Table(united));
            if let Some(Value::Array(entries)) = case.scenario.get_mut("traffic") {
                for entry in entries.iter_mut().filter_map(Value::as_table_mut) {
                    entry.remove("transport");
                }
            }
            if self.try_case(case) {
                return;
            }
        }
    }

    /// Tries a permutation, which needs two keys, in place of every traffic entry that has more.
    fn plain_traffic(&mut self) {
        let plain = Table::from_iter([
            ("kind".to_string(), Value::String("permutation".to_string())),
            ("bytes".to_string(), Value::Integer(100_000)),
        ]);
        for at in 0..traffic(&self.best.scenario).count() {
            let mut case = self.best.clone();
            let entries = case.scenario.get_mut("traffic").and_then(Value::as_array_mut);
            let Some(Value::Table(entry)) = entries.and_then(|entries| entries.get_mut(at)) else { continue };
            if entry.len() > plain.len() {
                *entry = plain.clone();
                self.try_case(case);
            }
        }
    }

    /// Tries simpler values at every place.
    fn simplify_values(&mut self) {
        for place in leaves(&self.best).into_iter().filter(|place| !is_parameter(place)) {
            // A value may become simpler many times over: a number by halves.
            while let Some(FoundLeaf(value)) = leaf(&self.best, &place) {
                let simpler = simpler(&value);
                let taken = simpler.into_iter().any(|value| {
                    let mut case = self.best.clone();
                    if let Some(FoundMut::Value(old)) = find_mut(&mut case, &place) {
                        *old = value;
                    }
                    self.try_case(case)
                });
                if !taken {
                    break;
                }
            }
        }
    }
}

/// The entries of `[[traffic]]`.
fn traffic(scenario: &Table) -> impl Iterator<Item = &Table> {
    scenario.get("traffic").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_table)
}

/// Parameters go or stay as they are: smaller ones are other rules, which may fail for a reason of their own.
fn is_parameter(place: &Place) -> bool {
    matches!(place.get(1), Some(Step::Key(table)) if table == "transport" || table == "fabric")
}

/// Values that say less, the simplest first.
fn simpler(value: &Value) -> Vec<Value> {
    match value {
        Value::Integer(n) => numbers(*n).into_iter().map(Value::Integer).collect(),
        Value::Float(x) if x.fract() != 0.0 => {
            let rounded = [x.round(), (x * 10.0).round() / 10.0, (x * 1000.0).round() / 1000.0];
            rounded.into_iter().filter(|r| r != x).map(Value::Float).collect()
        }
        Value::String(text) => quantities(text).into_iter().map(Value::String).collect(),
        _ => Vec::new(),
    }
}

/// Towards 0: the ends first, then by halves, then by one.
fn numbers(n: i64) -> Vec<i64> {
    let mut list = vec![0, 1, 2, n / 10 * 10, n / 2, n - 1];
    list.retain(|m| *m < n && *m >= 0);
    list.dedup();
    list
}

/// A quantity with a simpler number before the same unit, or before a rounder one.
fn quantities(text: &str) -> Vec<String> {
    let Some((digits, unit)) = text.split_once(' ') else { return Vec::new() };
    let Ok(number) = digits.parse::<f64>() else { return Vec::new() };
    let mut list = Vec::new();
    if unit == "bps" {
        for (scale, name) in [(1e9, "Gbps"), (1e6, "Mbps")] {
            if number >= scale {
                list.push(format!("{} {name}", (number / scale).round()));
            }
        }
        list.extend(["10 Gbps", "1 Gbps"].map(String::from));
    }
    let whole = number.round();
    if whole != number {
        list.push(format!("{whole} {unit}"));
        list.push(format!("{} {unit}", (number * 10.0).round() / 10.0));
    } else {
        list.extend(numbers(number as i64).into_iter().map(|n| format!("{n} {unit}")));
    }
    list.retain(|other| {
        other != text && !(unit == "Gbps" && other.ends_with("bps") && !other.ends_with("Gbps"))
    });
    list
}

enum Found<'a> {
    Table(&'a Table),
    Value(&'a Value),
}

enum FoundMut<'a> {
    Table(&'a mut Table),
    Value(&'a mut Value),
}

struct FoundLeaf(Value);

/// The first step distinguishes the trees of a case: it is their position in [`Case::trees`].
fn find<'a>(case: &'a Case, place: &[Step]) -> Option<Found<'a>> {
    let (Step::At(tree), rest) = place.split_first()? else { return None };
    let root = *case.trees().get(*tree)?.as_ref()?;
    let mut here = Found::Table(root);
    for step in rest {
        here = match (here, step) {
            (Found::Table(table), Step::Key(key)) => inner(table.get(key)?),
            (Found::Value(Value::Array(list)), Step::At(at)) => inner(list.get(*at)?),
            _ => return None,
        };
    }
    Some(here)
}

fn inner(value: &Value) -> Found<'_> {
    match value {
        Value::Table(table) => Found::Table(table),
        other => Found::Value(other),
    }
}

fn find_mut<'a>(case: &'a mut Case, place: &[Step]) -> Option<FoundMut<'a>> {
    let (Step::At(tree), rest) = place.split_first()? else { return None };
    let root = case.trees_mut().into_iter().nth(*tree)??;
    let mut here = FoundMut::Table(root);
    for step in rest {
        let next = match (here, step) {
            (FoundMut::Table(table), Step::Key(key)) => table.get_mut(key)?,
            (FoundMut::Value(Value::Array(list)), Step::At(at)) => list.get_mut(*at)?,
            _ => return None,
        };
        here = match next {
            Value::Table(table) => FoundMut::Table(table),
            other => FoundMut::Value(other),
        };
    }
    Some(here)
}

fn leaf(case: &Case, place: &[Step]) -> Option<FoundLeaf> {
    match find(case, place)? {
        Found::Value(value) => Some(FoundLeaf(value.clone())),
        Found::Table(_) => None,
    }
}

/// Every table and list, the outer ones first.
fn containers(case: &Case) -> Vec<Place> {
    places(case).into_iter().filter(|(_, container)| *container).map(|(place, _)| place).collect()
}

/// Every other value.
fn leaves(case: &Case) -> Vec<Place> {
    places(case).into_iter().filter(|(_, container)| !*container).map(|(place, _)| place).collect()
}

fn places(case: &Case) -> Vec<(Place, bool)> {
    let mut list = Vec::new();
    for (number, root) in case.trees().into_iter().enumerate() {
        if let Some(root) = root {
            collect_table(root, vec![Step::At(number)], &mut list);
        }
    }
    // Whole tables are tried before their keys: one success removes more.
    list.sort_by_key(|(place, _)| place.len());
    list
}

fn collect_table(table: &Table, place: Place, list: &mut Vec<(Place, bool)>) {
    for (key, value) in table {
        collect(value, [&place[..], &[Step::Key(key.clone())]].concat(), list);
    }
    list.push((place, true));
}

fn collect(value: &Value, place: Place, list: &mut Vec<(Place, bool)>) {
    match value {
        Value::Table(table) => collect_table(table, place, list),
        Value::Array(elements) => {
            for (at, element) in elements.iter().enumerate() {
                collect(element, [&place[..], &[Step::At(at)]].concat(), list);
            }
            list.push((place, true));
        }
        _ => list.push((place, false)),
    }
}
