//! Overrides that change nothing: keys that a sweep or a variant sets again, and keys that only a sweep reads.

use super::Scenario;
use super::load::OF_SWEEPS;
use super::plan::{Plan, Seeds};
use crate::text::overrides::{self, Override};
use crate::text::{Origin, Problem, ScenarioError, Source, Table, names};
use std::sync::Arc;

impl Scenario {
    /// An error at the first override that a single run does not read.
    pub fn check_sets_of_run(&self) -> Result<(), ScenarioError> {
        for set in self.request.overrides()? {
            let table = first(&set);
            if OF_SWEEPS.contains(&table) {
                let what = if table == "sweep" { "its sweep" } else { "its variants" };
                let text =
                    format!("`{}` has no effect: this is one run of the scenario, without {what}", set.path);
                let help = "`headway sweep` runs every point; `headway run --variant NAME` runs one variant";
                return Err(ScenarioError::new(Problem::Contradiction(text), &set.path_at).help(help));
            }
            refuse_scale(&set)?;
        }
        Ok(())
    }

    /// An error at the first override that is in effect at no point of the sweep.
    pub fn check_sets_of_sweep(&self) -> Result<(), ScenarioError> {
        self.idle_sets_of_sweep()?.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Every override that is in effect at no point of the sweep: its position among the overrides, and the error at it.
    pub fn idle_sets_of_sweep(&self) -> Result<Vec<(usize, ScenarioError)>, ScenarioError> {
        if self.request.overrides()?.is_empty() {
            return Ok(Vec::new());
        }
        let points: Vec<Vec<Override>> = match &self.setup {
            Some(_) => self.plan.points("").into_iter().map(|point| point.overrides).collect(),
            None => vec![Vec::new()],
        };
        self.idle(&points, |set| why(&self.plan, set))
    }

    /// The scenario with the keys that one of its variants sets.
    ///
    /// Keys that its sweep varies stay as the scenario has them.
    pub fn variant(&self, name: &str) -> Result<Scenario, ScenarioError> {
        let Some(variant) = self.plan.variants.iter().find(|variant| variant.name == name) else {
            let known: Vec<&str> = self.plan.variants.iter().map(|variant| variant.name.as_str()).collect();
            let source = Source::new("--variant", name);
            let problem = Problem::NoSuchName { what: "variant", name: name.into() };
            let help = names::name_suggestion(name, known.iter().copied());
            let none = "the scenario has no [variants.NAME] table".to_string();
            return Err(
                ScenarioError::new(problem, &Origin::new(&source, 0..name.len())).help(help.unwrap_or(none))
            );
        };
        let again = |set: &Override| {
            let text = format!("`{}` has no effect: the variant `{name}` sets it", set.path);
            (text, format!("change the variant: --set 'variants.{name}.{}=...'", set.path))
        };
        if let Some((_, error)) =
            self.idle(std::slice::from_ref(&variant.overrides), again)?.into_iter().next()
        {
            return Err(error);
        }
        let sets: Vec<String> =
            variant.overrides.iter().map(|o| format!("{}={}", o.path, o.node.value.to_toml())).collect();
        self.with_sets(&sets)
    }

    /// The overrides of which nothing is left at any of the points, each with an error.
    fn idle(
        &self,
        points: &[Vec<Override>],
        why: impl Fn(&Override) -> (String, String),
    ) -> Result<Vec<(usize, ScenarioError)>, ScenarioError> {
        let sets = self.request.overrides()?;
        let mut idle: Vec<usize> = Vec::new();
        for (number, set) in sets.iter().enumerate() {
            refuse_scale(set)?;
            // The last of two overrides of one key counts, as usual.
            let again = sets[number + 1..].iter().any(|later| later.path == set.path);
            if !again && !is_first_seed(&self.plan, set) {
                idle.push(number);
            }
        }
        for (nth, point) in points.iter().enumerate() {
            if idle.is_empty() {
                return Ok(Vec::new());
            }
            // The first point checks keys that only sweeps read: no point changes those.
            let root = match nth {
                0 => self.request.tree(&sets, point)?,
                _ => self.request.tree_of_point(&sets, point)?,
            };
            idle.retain(|&number| !is_left(&root, &sets[number]));
        }
        let error = |number: usize| {
            let (text, help) = why(&sets[number]);
            (number, ScenarioError::new(Problem::Contradiction(text), &sets[number].path_at).help(help))
        };
        Ok(idle.into_iter().map(error).collect())
    }
}

/// The first part of a path.
fn first(set: &Override) -> &str {
    set.path.split('.').next().unwrap_or_default().trim()
}

/// The table of the scale is read before any override.
fn refuse_scale(set: &Override) -> Result<(), ScenarioError> {
    if first(set) != "scale" {
        return Ok(());
    }
    let text = format!("`{}` has no effect: the tables of scales are read before --set", set.path);
    let help = "set the key itself; --set comes after the scale";
    Err(ScenarioError::new(Problem::Contradiction(text), &set.path_at).help(help))
}

/// A sweep over a number of seeds begins at the scenario's own.
fn is_first_seed(plan: &Plan, set: &Override) -> bool {
    set.path.trim() == "seed" && matches!(plan.seeds, Seeds::Counted { .. })
}

/// True if a value is still the one that was given.
fn is_left(root: &Table, set: &Override) -> bool {
    // By its source and not by its value: a sweep may set the same value again.
    overrides::find(root, &set.path).is_some_and(|node| Arc::ptr_eq(&node.at.source, &set.node.at.source))
}

/// The key that sets it again, and what to write instead.
fn why(plan: &Plan, set: &Override) -> (String, String) {
    let path = &set.path;
    let covers = |key: &str| key == path || path.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'));
    if let Some(axis) = plan.axes.iter().find(|axis| covers(&axis.key)) {
        let text = format!("`{path}` has no effect: the sweep sets `{}` at every point", axis.key);
        return (
            text,
            format!("narrow the sweep: --set 'sweep.{}=[{}]'", axis.key, set.node.value.to_toml()),
        );
    }
    if path.trim() == "seed" {
        let text = "`seed` has no effect: the sweep lists its seeds".to_string();
        return (text, format!("narrow the sweep: --set 'sweep.seeds=[{}]'", set.node.value.to_toml()));
    }
    let one = plan.variants.first().map_or("NAME", |variant| variant.name.as_str());
    let help = format!("change a variant: --set 'variants.{one}.{path}={}'", set.node.value.to_toml());
    let renamed = |o: &Override| o.path.trim() == "transport.name";
    let set_again = plan.variants.iter().any(|v| v.overrides.iter().any(|o| covers(&o.path)));
    if !set_again && plan.variants.iter().any(|v| v.overrides.iter().any(renamed)) {
        let text = format!(
            "`{path}` has no effect: every variant names a transport, which starts from its defaults"
        );
        return (text, help);
    }
    (format!("`{path}` has no effect: every variant sets it"), help)
}
