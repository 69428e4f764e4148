//! Scales, variants and sweeps: the overrides that make many runs of one scenario.

use crate::text::overrides::{self, Override};
use crate::text::{
    Entry, Item, Node, Origin, Problem, Reader, ScenarioError, Source, Table, Value, names, quantity,
};
use rustc_hash::FxHashMap;
use serde_json::Value as Json;
use std::sync::Arc;

/// The scales that there are; without a table they change nothing.
pub const SCALES: [&str; 3] = ["smoke", "proxy", "paper"];

/// More runs than anybody means.
const MOST_POINTS: usize = 1_000_000;
/// More seeds than anybody means.
const MOST_SEEDS: u64 = 10_000;

/// A variant or a scale: a name and its overrides.
#[derive(Clone, Debug)]
pub struct Changes {
    /// Name of the variant in the sweep.
    pub name: String,
    /// Overrides of the variant.
    pub overrides: Vec<Override>,
}

/// One swept key.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Path of the key.
    pub key: String,
    /// One override a value.
    pub values: Vec<Override>,
}

/// Plan of `[variants]` and `[sweep]`.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Variants in the order written.
    pub variants: Arc<[Changes]>,
    /// Axes in the order written; the last changes fastest.
    pub axes: Arc<[Axis]>,
    /// Positions of the axes that change together, in groups; every axis is in one.
    groups: Arc<[Vec<usize>]>,
    /// Seeds, at least one.
    pub seeds: Seeds,
}

/// The seeds of a sweep.
#[derive(Clone, Debug)]
pub enum Seeds {
    /// A number of seeds, counted from the scenario's own.
    Counted {
        /// The scenario's own.
        first: u64,
        /// Number of seeds.
        count: u64,
    },
    /// The seeds that the scenario lists.
    Listed(Arc<[u64]>),
}

impl Default for Seeds {
    fn default() -> Seeds {
        Seeds::Counted { first: 0, count: 0 }
    }
}

impl Seeds {
    /// Number of seeds.
    pub fn count(&self) -> usize {
        match self {
            Seeds::Counted { count, .. } => *count as usize,
            Seeds::Listed(listed) => listed.len(),
        }
    }

    fn nth(&self, position: usize) -> u64 {
        match self {
            Seeds::Counted { first, .. } => first + position as u64,
            Seeds::Listed(listed) => listed[position],
        }
    }
}

/// One run of a sweep.
#[derive(Clone, Debug)]
pub struct Point {
    /// Unique in the sweep.
    pub label: String,
    /// Name of the variant, or without variants that of the transport, or of several with `+` between them.
    pub variant: String,
    /// Value of each swept key.
    pub axes: Vec<(String, Json)>,
    /// Seed of all random streams of the run.
    pub seed: u64,
    /// Overrides of the point.
    pub overrides: Vec<Override>,
}

impl Point {
    /// The overrides as arguments `key=value`.
    pub fn sets(&self) -> Vec<String> {
        self.overrides.iter().map(|o| format!("{}={}", o.path, o.node.value.to_toml())).collect()
    }
}

/// The overrides of the chosen scale.
pub fn scale(root: &Table, chosen: Option<&str>) -> Result<Vec<Override>, ScenarioError> {
    let scales = changes(root, "scale")?;
    if let Some(Entry { node: Node { value: Value::Table(table), .. }, .. }) = root.get("scale") {
        // All names are checked even if no scale is chosen: a misspelt table would never be used.
        table.entries.iter().try_for_each(|e| known_scale(&e.key, &e.key_at))?;
    }
    let Some(chosen) = chosen else { return Ok(Vec::new()) };
    let source = Source::new("--scale", chosen);
    known_scale(chosen, &Origin::new(&source, 0..chosen.len()))?;
    Ok(scales.into_iter().find(|s| s.name == chosen).map_or(Vec::new(), |s| s.overrides))
}

fn known_scale(name: &str, at: &Origin) -> Result<(), ScenarioError> {
    if SCALES.contains(&name) {
        return Ok(());
    }
    let problem = Problem::NoSuchName { what: "scale", name: name.into() };
    Err(ScenarioError::new(problem, at).maybe_help(names::name_suggestion(name, SCALES)))
}

/// Names of the scales that a document writes out.
pub fn written_scales(root: &Table) -> Vec<String> {
    match root.get("scale").map(|e| &e.node.value) {
        Some(Value::Table(table)) => table.keys().map(str::to_string).collect(),
        _ => Vec::new(),
    }
}

/// The named lists of overrides under a key of the root.
fn changes(root: &Table, key: &str) -> Result<Vec<Changes>, ScenarioError> {
    let Some(entry) = root.get(key) else { return Ok(Vec::new()) };
    let table = |e: &Entry| match &e.node.value {
        Value::Table(table) => Ok(table.clone()),
        other => {
            let (expected, found) = ("a table of overrides".into(), other.found());
            Err(ScenarioError::new(Problem::Type { key: e.key.clone(), expected, found }, &e.node.at))
        }
    };
    let named = |e: &Entry| Ok(Changes { name: e.key.clone(), overrides: overrides::listed(&table(e)?) });
    table(entry)?.entries.iter().map(named).collect()
}

/// Reads `[sweep]` and `[variants]`.
pub fn read(root: &Table, table: Option<&Reader<'_>>, seed: u64) -> Result<Plan, ScenarioError> {
    let variants = changes(root, "variants")?.into();
    let seeds = Seeds::Counted { first: seed, count: 1 };
    let mut plan = Plan { variants, axes: Arc::default(), groups: Arc::default(), seeds };
    let Some(table) = table else { return Ok(plan) };
    // A list of seeds is one by either name.
    let (seeds, seed_list) = (table.get("seeds"), table.get("seed"));
    let name = if seed_list.is_some() { "seed" } else { "seeds" };
    if let (Some(_), Some(item)) = (&seeds, &seed_list) {
        return Err(
            item.fail(Problem::Contradiction("`seed` and `seeds` both list the seeds of the sweep".into()))
        );
    }
    // A number would mean one seed by this name and a count by the other, so that only a list is allowed.
    if let Some(item) = &seed_list {
        item.list()?;
    }
    if let Some(item) = seeds.or(seed_list) {
        plan.seeds = match item.value() {
            Value::List(_) => Seeds::Listed(
                item.list()?.iter().map(|i| i.int(0, i64::MAX as u64)).collect::<Result<_, _>>()?,
            ),
            _ => Seeds::Counted { first: seed, count: item.int(1, MOST_SEEDS)? },
        };
        if plan.seeds.count() == 0 {
            return Err(item.range("at least one seed", "an empty list"));
        }
        refuse_repeats(name, &item)?;
    }
    let zip = table.get("zip");
    let mut axes = Vec::new();
    let mut zipped = rustc_hash::FxHashSet::default();
    if let Some(item) = &zip {
        zipped.extend(zip_lists(item)?.iter().flatten().map(|(key, _)| key.clone()));
    }
    for (entry, item) in table.rest() {
        let quoted = |error: ScenarioError| match item.value() {
            Value::Table(_) => error.help(format!(
                "a key with dots is in quotes here: \"{}\" = [...]",
                dotted(&entry.key, item.value())
            )),
            _ => error,
        };
        let values = item.list().map_err(quoted)?;
        if values.is_empty() {
            return Err(item.range("at least one value", "an empty list"));
        }
        if !zipped.contains(&entry.key) {
            refuse_repeats(&entry.key, &item)?;
        }
        let Value::List(nodes) = item.value() else { continue };
        let one = |node| Override { path: entry.key.clone(), path_at: entry.key_at.clone(), node };
        axes.push(Axis { key: entry.key.clone(), values: nodes.iter().cloned().map(one).collect() });
    }
    plan.groups = groups(&axes, zip.as_ref())?.into();
    plan.axes = axes.into();
    let points = plan.sizes().into_iter().chain([plan.seeds.count(), plan.variants.len().max(1)]);
    // Saturating: the product of a few long lists overflows.
    if points.fold(1, usize::saturating_mul) > MOST_POINTS {
        let problem = Problem::Contradiction(format!("the sweep has more than {MOST_POINTS} points"));
        return Err(ScenarioError::new(problem, table.at()));
    }
    Ok(plan)
}

/// The lists of keys that `zip` names, each key with its item: a list of keys, or a list of such lists.
fn zip_lists<'a>(item: &Item<'a>) -> Result<Vec<Vec<(String, Item<'a>)>>, ScenarioError> {
    let keys = |items: Vec<Item<'a>>| {
        items
            .into_iter()
            .map(|one| Ok((one.text()?.to_string(), one)))
            .collect::<Result<Vec<_>, ScenarioError>>()
    };
    let items = item.list()?;
    if items.iter().any(|one| matches!(one.value(), Value::List(_))) {
        return items.iter().map(|one| keys(one.list()?)).collect();
    }
    Ok(vec![keys(items)?])
}

/// The axes in groups that change together: those that `zip` names, and each other axis by itself.
fn groups(axes: &[Axis], zip: Option<&Item<'_>>) -> Result<Vec<Vec<usize>>, ScenarioError> {
    let mut together: Vec<Vec<usize>> = Vec::new();
    for named in zip.map(zip_lists).transpose()?.unwrap_or_default() {
        let mut group: Vec<usize> = Vec::new();
        for (key, item) in named {
            let Some(axis) = axes.iter().position(|axis| axis.key == key) else {
                let error = item.fail(Problem::NoSuchName { what: "swept key", name: key.clone() });
                return Err(
                    error.maybe_help(names::name_suggestion(&key, axes.iter().map(|axis| axis.key.as_str())))
                );
            };
            if group.contains(&axis) || together.iter().any(|other| other.contains(&axis)) {
                return Err(item.fail(Problem::Contradiction(format!("`zip` names `{key}` twice"))));
            }
            if let Some(&first) = group.first()
                && axes[first].values.len() != axes[axis].values.len()
            {
                let (a, b) = (&axes[first], &axes[axis]);
                let text = format!(
                    "`{}` has {} values and `{}` has {}",
                    a.key,
                    a.values.len(),
                    b.key,
                    b.values.len()
                );
                return Err(item
                    .fail(Problem::Contradiction(text))
                    .help("keys that are zipped change together, and have a value each at every point"));
            }
            group.push(axis);
        }
        if !group.is_empty() {
            refuse_equal(axes, &group, zip)?;
            group.sort_unstable();
            together.push(group);
        }
    }
    let single = (0..axes.len()).filter(|axis| !together.iter().any(|group| group.contains(axis)));
    together.extend(single.map(|axis| vec![axis]).collect::<Vec<_>>());
    together.sort_unstable_by_key(|group| group[0]);
    Ok(together)
}

/// Two points that differ in no zipped value would be one run counted twice.
fn refuse_equal(axes: &[Axis], group: &[usize], zip: Option<&Item<'_>>) -> Result<(), ScenarioError> {
    let mut seen = rustc_hash::FxHashSet::default();
    for place in 0..axes[group[0]].values.len() {
        let values: Vec<String> =
            group.iter().map(|&axis| identity(&axes[axis].values[place].node.value)).collect();
        if let (false, Some(item)) = (seen.insert(values), zip) {
            let text = format!("values {} of the zipped keys are those of an earlier place", place + 1);
            return Err(item.fail(Problem::Contradiction(text)));
        }
    }
    Ok(())
}

/// The key that stands for itself and the first of each table in it, as it is written without quotes.
fn dotted(key: &str, value: &Value) -> String {
    match value {
        Value::Table(inner) => match inner.entries.first() {
            Some(first) => format!("{key}.{}", dotted(&first.key, &first.node.value)),
            None => key.into(),
        },
        _ => key.into(),
    }
}

/// Two points of a sweep that differ in nothing would be one run counted twice.
fn refuse_repeats(key: &str, item: &Item<'_>) -> Result<(), ScenarioError> {
    let Value::List(_) = item.value() else { return Ok(()) };
    let mut seen: FxHashMap<String, Origin> = FxHashMap::default();
    for value in item.list()? {
        if let Some(first) = seen.insert(identity(value.value()), value.at().clone()) {
            let (line, column) = first.source.line_column(first.span.start);
            let text = format!("`{key}` takes {} twice", value.value().found());
            let help = format!("the same value stands in line {line}, column {column}");
            return Err(value.fail(Problem::Contradiction(text)).help(help));
        }
    }
    Ok(())
}

/// Equal for values that mean the same: `1` and `1.0`, `"1 MB"` and `"1000 kB"`.
fn identity(value: &Value) -> String {
    match value {
        Value::Int(n) => format!("{:?}", *n as f64),
        Value::Float(n) => format!("{n:?}"),
        Value::Text(text) => match quantity::parse_quantity(text) {
            Ok(found) => format!("{found:?}"),
            Err(_) => value.to_toml(),
        },
        other => other.to_toml(),
    }
}

impl Plan {
    /// Number of combinations of variant, values and seed.
    pub fn count(&self) -> usize {
        let axes: usize = self.sizes().into_iter().product();
        axes * self.variants.len().max(1) * self.seeds.count()
    }

    /// Number of values of each group of axes that change together.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        self.groups.iter().map(|group| self.axes[group[0]].values.len()).collect()
    }

    /// Every combination of variant, values and seed.
    pub fn points(&self, transport: &str) -> Vec<Point> {
        self.points_in(0..self.count(), transport)
    }

    /// Some of them, by their positions. Seeds change fastest, and variants slowest.
    pub fn points_in(&self, range: std::ops::Range<usize>, transport: &str) -> Vec<Point> {
        let short = self.short_names();
        range.map(|position| self.point(position, transport, &short)).collect()
    }

    fn point(&self, position: usize, transport: &str, short: &[String]) -> Point {
        let (mut rest, seed) = (position / self.seeds.count(), self.seeds.nth(position % self.seeds.count()));
        let mut places = vec![0; self.axes.len()];
        // The last group of axes changes fastest, so that its digit is the lowest.
        for group in self.groups.iter().rev() {
            let count = self.axes[group[0]].values.len();
            group.iter().for_each(|&axis| places[axis] = rest % count);
            rest /= count;
        }
        let values: Vec<&Override> =
            self.axes.iter().zip(&places).map(|(axis, &place)| &axis.values[place]).collect();
        let variant = self.variants.get(rest);
        let name = variant.map_or(transport, |variant| &variant.name);
        let source = Source::new("[sweep] seeds", format!("seed={seed}"));
        let at = Origin::new(&source, 0..source.text.len());
        let node = Node { value: Value::Int(seed as i64), at: at.clone() };
        let seeded = Override { path: "seed".into(), path_at: at, node };
        let mut label = name.to_string();
        let mut axes = Vec::with_capacity(values.len());
        for ((value, axis), short) in values.iter().zip(self.axes.iter()).zip(short) {
            let value = value.node.value.to_json();
            // JSON's form of a text would have quotes in the label.
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_string);
            label.push_str(&format!(",{short}={text}"));
            axes.push((axis.key.clone(), value));
        }
        label.push_str(&format!(",seed={seed}"));
        let own = variant.map_or(&[][..], |variant| &variant.overrides);
        // The order decides: a swept value goes over a variant's, and the seed of the point over both.
        let overrides = own.iter().chain(values).cloned().chain([seeded]).collect();
        Point { label, variant: name.into(), axes, seed, overrides }
    }

    /// The plan for a scenario with another seed.
    pub(super) fn seeded(&self, seed: u64) -> Plan {
        let seeds = match &self.seeds {
            Seeds::Counted { count, .. } => Seeds::Counted { first: seed, count: *count },
            listed => listed.clone(),
        };
        Plan { seeds, ..self.clone() }
    }

    /// For each axis, the last part of its key if no other axis has it, or else the whole key.
    fn short_names(&self) -> Vec<String> {
        let last = |a: &Axis| a.key.rsplit('.').next().unwrap_or_default().to_string();
        let name = |a: &Axis| {
            let short = last(a);
            if self.axes.iter().filter(|b| last(b) == short).count() > 1 { a.key.clone() } else { short }
        };
        self.axes.iter().map(name).collect()
    }
}
