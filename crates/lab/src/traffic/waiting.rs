//! Flows of a list that wait for others: the keys `after` of a flow, and `steps`.

use super::keys::{Key, Takes, key};
use super::list::Written;
use super::reading::host;
use crate::text::{Item, Origin, Problem, ScenarioError, names};
use crate::topology::Topology;
use headway_network::{Cause, FlowSpec, Graph, GraphError, GraphStep, Node, Until};
use headway_units::Time;
use serde_json::{Value as Json, json};

/// The key that lists steps.
pub(super) const STEPS: Key = key(
    "steps",
    Takes::Tables,
    "none",
    "time that passes between flows, and joins of several flows; see below",
);

/// Words for when a flow that is waited for is over.
const UNTIL: [(&str, Until); 2] = [("received", Until::Received), ("known", Until::Known)];

/// A step, its name, and where it is written.
#[derive(Clone, Debug)]
pub struct WrittenStep {
    /// Name of the step.
    pub name: String,
    /// Host and duration of the step.
    pub step: GraphStep,
    at: Origin,
}

/// Reads `steps`. Their names are apart from each other and from those of flows.
pub(super) fn steps(
    item: &Item<'_>,
    topology: &Topology,
    flows: &[Written],
) -> Result<(Vec<WrittenStep>, Vec<Json>), ScenarioError> {
    let (mut steps, mut rows): (Vec<WrittenStep>, Vec<Json>) = (Vec::new(), Vec::new());
    for item in item.list()? {
        let table = item.table()?;
        let name_item = table.need("name")?;
        let name = name_item.text()?.to_string();
        let flow = flows.iter().any(|flow| flow.name.as_ref() == Some(&name));
        if flow || steps.iter().any(|step| step.name == name) {
            let text = format!("another {} is called `{name}`", if flow { "flow" } else { "step" });
            return Err(name_item.fail(Problem::Contradiction(text)).help("`after` refers to both by name"));
        }
        let host = table.get("host").map(|item| host(&item, topology)).transpose()?;
        let takes = table.get("takes").map_or(Ok(Time::ZERO), |item| item.time())?;
        let processor = table.get("processor").map(|item| processor(&item, host)).transpose()?;
        let after = table.get("after").map_or(Ok(0), |item| Ok(item.list()?.len() as u64))?;
        let needs = table.get("needs").map(|item| needs(&item, after)).transpose()?;
        table.finish(&[], None)?;
        let mut row = json!({ "name": name, "host": host, "takes": takes.to_string() });
        if let Some(processor) = processor {
            row["processor"] = processor.into();
        }
        if let Some(needs) = needs {
            row["needs"] = needs.into();
        }
        rows.push(row);
        steps.push(WrittenStep {
            name,
            step: GraphStep { host, takes, processor, needs, gap: None },
            at: item.at().clone(),
        });
    }
    Ok((steps, rows))
}

/// The number of a processor, which only a step at a host has.
fn processor(item: &Item<'_>, host: Option<u32>) -> Result<u16, ScenarioError> {
    let number = item.int(0, u64::from(u16::MAX))?;
    if host.is_none() {
        let text = "a step with a `processor` needs a `host`: processors are those of hosts";
        return Err(item.fail(Problem::Contradiction(text.into())));
    }
    Ok(number as u16)
}

/// Number of the `after` things that have to be over.
fn needs(item: &Item<'_>, after: u64) -> Result<u32, ScenarioError> {
    if after == 0 {
        let text = "`needs` counts what is in `after`, and the step waits for nothing";
        return Err(item.fail(Problem::Contradiction(text.into())));
    }
    Ok(item.int(1, after)? as u32)
}

/// Reads all `after`, those of flows first, and refuses flows that would wait for themselves.
pub(super) fn edges(
    flows: (&[Item<'_>], &[Written], &mut [Json]),
    steps: (&[Item<'_>], &[WrittenStep], &mut [Json]),
) -> Result<Vec<(Node, Cause)>, ScenarioError> {
    let ((flow_items, written, rows), (step_items, made, step_rows)) = (flows, steps);
    let mut edges = Vec::new();
    let all = flow_items.iter().zip(rows).enumerate().map(|(n, (i, r))| (Node::Flow(n as u32), i, r));
    let more = step_items.iter().zip(step_rows).enumerate().map(|(n, (i, r))| (Node::Step(n as u32), i, r));
    let mut first: Option<Origin> = None;
    for (node, item, row) in all.chain(more) {
        let Some(item) = item.table()?.get("after") else { continue };
        first.get_or_insert_with(|| item.at().clone());
        if let Node::Flow(flow) = node
            && let Some(stop) = written[flow as usize].spec.stop
        {
            let text = format!("a flow that waits for others has no `stop`, and this one has {stop}");
            let help = "it may begin later than that; give those that it waits for a `stop`";
            return Err(item.fail(Problem::Contradiction(text)).help(help));
        }
        let items = item.list()?;
        if items.is_empty() {
            return Err(item.range("at least one name", "an empty list"));
        }
        let mut shown = Vec::new();
        for item in items {
            let (cause, json) = cause(&item, written, made)?;
            edges.push((node, cause));
            shown.push(json);
        }
        row["after"] = shown.into();
    }
    let specs: Vec<FlowSpec> = written.iter().map(|flow| flow.spec).collect();
    let graph = Graph::new(&specs, made.iter().map(|step| step.step).collect(), &edges);
    match graph {
        Ok(_) => Ok(edges),
        Err(GraphError::Cycle(nodes)) => {
            let name = |node: &Node| match node {
                Node::Flow(flow) => written[*flow as usize].name.clone().unwrap_or_else(|| flow.to_string()),
                Node::Step(step) => made[*step as usize].name.clone(),
            };
            let at = match nodes.first() {
                Some(Node::Flow(flow)) => &written[*flow as usize].at,
                Some(Node::Step(step)) => &made[*step as usize].at,
                None => return Ok(edges),
            };
            let names: Vec<String> = nodes.iter().map(name).collect();
            Err(ScenarioError::new(Problem::Contradiction(cycle(&names)), at)
                .help("flows and steps that wait for each other never begin"))
        }
        Err(other) => {
            let problem = Problem::Contradiction(other.to_string());
            Err(first.map_or(ScenarioError::nowhere(problem.clone()), |at| ScenarioError::new(problem, &at)))
        }
    }
}

/// A name, or a table with a name and when the flow of that name is over.
fn cause(item: &Item<'_>, flows: &[Written], steps: &[WrittenStep]) -> Result<(Cause, Json), ScenarioError> {
    let (name_item, until) = match item.value() {
        crate::text::Value::Table(_) => {
            let table = item.table()?;
            let name = table.need("name")?;
            let words: Vec<&str> = UNTIL.iter().map(|(word, _)| *word).collect();
            let until = table.get("until").map(|item| Ok((item.choice(&words)?, item))).transpose()?;
            table.finish(&[], None)?;
            (name, until)
        }
        _ => (item.clone(), None),
    };
    let name = name_item.text()?;
    if let Some(step) = steps.iter().position(|step| step.name == name) {
        if let Some((_, item)) = until {
            let table = "a step".into();
            return Err(item.fail(Problem::UnusedKey { key: "until".into(), table }));
        }
        return Ok((Cause::Step(step as u32), json!(name)));
    }
    let Some(flow) = flows.iter().position(|flow| flow.name.as_deref() == Some(name)) else {
        let problem = Problem::NoSuchName { what: "flow or step", name: name.into() };
        let known = flows.iter().filter_map(|flow| flow.name.as_deref());
        let known = known.chain(steps.iter().map(|step| step.name.as_str()));
        return Err(name_item.fail(problem).maybe_help(names::name_suggestion(name, known)));
    };
    let (word, until) = UNTIL[until.map_or(0, |(choice, _)| choice)];
    let shown = if until == Until::Received { json!(name) } else { json!({ "name": name, "until": word }) };
    Ok((Cause::Flow(flow as u32, until), shown))
}

/// A cycle in words: each waits for the one before it, and the first for the last.
pub(crate) fn cycle(names: &[String]) -> String {
    match names {
        [] => "flows wait for each other".into(),
        [only] => format!("`{only}` waits for itself"),
        [first, .., last] => {
            let mut text = format!("`{first}` waits for `{last}`");
            for pair in names.windows(2).rev() {
                text += &format!(", which waits for `{}`", pair[0]);
            }
            text
        }
    }
}
