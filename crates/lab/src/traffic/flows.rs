//! Flows written out one by one in the scenario.

use super::draw::Ground;
use super::keys::{Takes, needed};
use super::list::{self, Written};
use super::reading::{Resolved, check_reachable, host, message, object, start};
use super::stack::check_flow;
use super::waiting::{self, WrittenStep};
use super::{Common, Context, Declared, Making, Pattern, PatternInfo};
use crate::text::{Item, Problem, Reader, ScenarioError, Share, names};
use headway_network::{Cause, Node, Routing};
use headway_units::Time;
use serde_json::{Value as Json, json};

/// A list of flows.
#[derive(Clone, Debug)]
pub struct Flows {
    /// Flows in the order written.
    pub flows: Vec<Written>,
    /// Steps between them.
    pub steps: Vec<WrittenStep>,
    edges: Vec<(Node, Cause)>,
}

impl Declared for Flows {
    const INFO: PatternInfo = PatternInfo {
        name: "flows",
        summary: "flows written out one by one",
        keys: &[needed("flows", Takes::Tables, "the flows; see below"), waiting::STEPS],
        counts: &["flows"],
    };

    fn read(
        table: &Reader<'_>,
        context: &Context<'_>,
        common: &Common,
    ) -> Result<(Self, Resolved), ScenarioError> {
        let item = table.need("flows")?;
        let items = item.list()?;
        if items.is_empty() {
            return Err(item.range("at least one flow", "an empty list"));
        }
        let mut flows = Vec::with_capacity(items.len());
        let mut rows = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let (flow, row) = one(item, index, context, common)?;
            flows.push(flow);
            rows.push(row);
        }
        let steps_item = table.get("steps");
        let (steps, mut step_rows) = match &steps_item {
            Some(item) => waiting::steps(item, context.topology, &flows)?,
            None => (Vec::new(), Vec::new()),
        };
        let step_items = steps_item.as_ref().map_or(Ok(Vec::new()), Item::list)?;
        let edges = waiting::edges((&items, &flows, &mut rows), (&step_items, &steps, &mut step_rows))?;
        connect(&items, &mut flows, &edges)?;
        let mut resolved = object(json!({ "flows": rows }));
        if !step_rows.is_empty() {
            resolved.insert("steps".into(), step_rows.into());
        }
        Ok((Flows { flows, steps, edges }, resolved))
    }

    fn draw(ground: &mut Ground<'_>) -> Json {
        let count = ground.dice.count(1, ground.packets.min(60));
        let one = |_| {
            let (src, dst) = ground.pair();
            let bytes = ground.bytes(ground.packets / count);
            let mut flow = json!({ "src": src, "dst": dst, "bytes": bytes, "start": ground.start() });
            if ground.pinned && ground.dice.percent(70) {
                flow["path"] = ground.dice.below(12).into();
            }
            flow
        };
        let flows: Vec<Json> = (0..count).map(one).collect();
        json!({ "flows": flows })
    }
}

impl Pattern for Flows {
    fn generate(&self, making: &mut Making<'_>) {
        list::generate(&self.flows, making);
        for step in &self.steps {
            making.step(step.step, Some(&step.name));
        }
        self.edges.iter().for_each(|(node, cause)| making.wait(*node, *cause));
    }

    fn horizon(&self, _: u32) -> (Time, u64) {
        list::horizon(&self.flows)
    }

    fn expected_edges(&self, _: u32) -> f64 {
        (self.edges.len() + self.steps.len()) as f64
    }

    fn expected_flows(&self, _: u32) -> f64 {
        self.flows.len() as f64
    }

    fn expected_bytes(&self, _: u32) -> u64 {
        list::horizon(&self.flows).1
    }

    fn receivers(&self, _: u32) -> u64 {
        list::receivers(&self.flows)
    }

    fn is_spread(&self) -> bool {
        false
    }

    fn written(&self) -> &[Written] {
        &self.flows
    }
}

fn one(
    item: &Item<'_>,
    index: usize,
    context: &Context<'_>,
    common: &Common,
) -> Result<(Written, Json), ScenarioError> {
    let table = item.table()?;
    check_flow(&table, common.kernel)?;
    let name = table.get("name").map(|i| i.text()).transpose()?.map(str::to_string);
    let (src, dst_item) = (host(&table.need("src")?, context.topology)?, table.need("dst")?);
    let dst = host(&dst_item, context.topology)?;
    let shown = name.clone().unwrap_or_else(|| index.to_string());
    if src == dst {
        return Err(dst_item.fail(Problem::SelfFlow { flow: shown, host: src }));
    }
    check_reachable(dst_item.at(), context.topology, src, dst)?;
    let bytes = message(&table.need("bytes")?, context)?;
    let start = start(&table)?;
    let share = table.get("share").map_or(Ok(common.share), |i| Share::read(&i))?;
    let clump = table.get("clump").map_or(Ok(common.clump), |i| i.count())?;
    let slot = match table.get("slot") {
        Some(item) => Some(item.int(0, u64::from(share.of) - 1)? as u32),
        None => None,
    };
    let class = table.get("class").map_or(Ok(u64::from(common.class)), |i| i.int(0, u64::from(u16::MAX)))?;
    let deadline = table.get("deadline").map(|i| i.period()).transpose()?.or(common.deadline);
    let path_item = table.get("path");
    let path = path_item.as_ref().map(|i| path(i, context)).transpose()?;
    let path_at = path_item.map(|i| i.at().clone());
    let connection = table.get("connection").map(|i| i.text()).transpose()?;
    let stop_item = table.get("stop");
    let stop = stop_item.as_ref().map(|i| i.time()).transpose()?.or(common.stop);
    // A start may be later by the jitter of its entry.
    let latest = start.saturating_add(common.jitter);
    if stop.is_some_and(|stop| stop <= latest) {
        return Err(match stop_item {
            Some(item) => item.range(format!("later than its start, {latest}"), stop.unwrap_or_default()),
            None => {
                let text = format!("flow `{shown}` starts at {latest}, and `stop` of its entry is no later");
                item.fail(Problem::Contradiction(text))
            }
        });
    }
    // Read when all names are known.
    table.get("after");
    table.finish(&[], None)?;
    let mut spec = common.flow(src, dst, bytes, start, index);
    spec.initial_window = common.initial_window_of(share, clump, slot, index);
    spec.class = class as u16;
    spec.deadline = deadline.map(|d| start.saturating_add(d));
    spec.path = path;
    spec.stop = stop;
    let mut row = json!({ "name": name, "src": src, "dst": dst, "bytes": bytes, "start": start.to_string(),
        "share": share.to_json(), "slot": slot.unwrap_or((index % share.of as usize) as u32), "clump": clump, "class": class,
        "deadline": deadline.map(|d| d.to_string()), "path": path });
    if let Some(connection) = connection {
        row["connection"] = connection.into();
    }
    if let Some(stop) = stop {
        row["stop"] = stop.to_string().into();
    }
    Ok((Written { spec, name, at: item.at().clone(), path_at }, row))
}

/// Finds the flows over whose connections others go: earlier ones between the same two hosts.
fn connect(items: &[Item<'_>], flows: &mut [Written], edges: &[(Node, Cause)]) -> Result<(), ScenarioError> {
    for (index, item) in items.iter().enumerate() {
        let Some(item) = item.table()?.get("connection") else { continue };
        let wanted = item.text()?;
        let Some(carrier) = flows.iter().position(|f| f.name.as_deref() == Some(wanted)) else {
            let problem = Problem::NoSuchName { what: "flow", name: wanted.into() };
            let known = flows.iter().filter_map(|f| f.name.as_deref());
            return Err(item.fail(problem).maybe_help(names::name_suggestion(wanted, known)));
        };
        let (own, other) = (&flows[index].spec, &flows[carrier].spec);
        let same = [(own.src, own.dst), (own.dst, own.src)].contains(&(other.src, other.dst));
        // One that waits for the other begins after it.
        let waits = edges.iter().any(|(node, cause)| {
            *node == Node::Flow(index as u32)
                && matches!(cause, Cause::Flow(flow, _) if *flow as usize == carrier)
        });
        if carrier == index || !same || own.start <= other.start && !waits {
            let (from, to) = (other.src, other.dst);
            let text = format!(
                "`{wanted}`, from host {from} to host {to} at {}, leaves no open connection to this flow",
                other.start
            );
            let help = "a connection is between its two hosts, and another flow opens it before";
            return Err(item.fail(Problem::Contradiction(text)).help(help));
        }
        flows[index].spec.connection = Some(carrier as u32);
    }
    Ok(())
}

fn path(item: &Item<'_>, context: &Context<'_>) -> Result<u32, ScenarioError> {
    if context.routing != Routing::Pinned {
        let problem =
            Problem::UnusedKey { key: "path".into(), table: "[fabric] without routing = \"pinned\"".into() };
        return Err(item.fail(problem));
    }
    item.int(0, u64::from(u32::MAX)).map(|n| n as u32)
}
