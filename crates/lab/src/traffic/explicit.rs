//! Flows written out one by one, in the scenario or in a file.

use super::{Common, Context, Pattern, Resolved, check_reachable, host, message, object, too_long};
use crate::files;
use crate::import::{self, ImportedFlow};
use crate::text::error::counted;
use crate::text::{Item, Origin, Problem, Reader, ScenarioError, Source, names};
use headway_sim::{FlowSpec, Routing};
use headway_units::Time;
use serde_json::{Value as Json, json};
use std::ops::Range;
use std::sync::Arc;

/// A list of flows.
#[derive(Clone, Debug)]
pub struct Explicit {
    /// In the order written.
    pub flows: Vec<Named>,
}

/// A flow, its name, and where it is written.
#[derive(Clone, Debug)]
pub struct Named {
    /// The flow.
    pub spec: FlowSpec,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Where.
    pub at: Origin,
    /// Where its path is written, if it has one.
    pub path_at: Option<Origin>,
}

/// `kind = "flows"`.
pub fn read_flows(
    table: &Reader<'_>,
    context: &Context<'_>,
    common: &Common,
) -> Result<(Pattern, Resolved), ScenarioError> {
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
    connect(&items, &mut flows)?;
    Ok((Pattern::Explicit(Explicit { flows }), object(json!({ "flows": rows }))))
}

fn one(
    item: &Item<'_>,
    index: usize,
    context: &Context<'_>,
    common: &Common,
) -> Result<(Named, Json), ScenarioError> {
    let table = item.table()?;
    let name = table.get("name").map(|i| i.text()).transpose()?.map(str::to_string);
    let (src, dst_item) = (host(&table.need("src")?, context.topology)?, table.need("dst")?);
    let dst = host(&dst_item, context.topology)?;
    let shown = name.clone().unwrap_or_else(|| index.to_string());
    if src == dst {
        return Err(dst_item.fail(Problem::SelfFlow { flow: shown, host: src }));
    }
    check_reachable(dst_item.at(), context.topology, src, dst)?;
    let bytes = message(&table.need("bytes")?, context)?;
    let start = super::start(&table)?;
    let share = table.get("share").map_or(Ok(common.share), |i| i.count())?;
    let clump = table.get("clump").map_or(Ok(common.clump), |i| i.count())?;
    let slot = match table.get("slot") {
        Some(item) => Some(item.int(0, u64::from(share) - 1)? as u32),
        None => None,
    };
    let class = table.get("class").map_or(Ok(u64::from(common.class)), |i| i.int(0, u64::from(u16::MAX)))?;
    let deadline = table.get("deadline").map(|i| i.period()).transpose()?.or(common.deadline);
    let path_item = table.get("path");
    let path = path_item.as_ref().map(|i| path(i, context)).transpose()?;
    let path_at = path_item.map(|i| i.at().clone());
    let connection = table.get("connection").map(|i| i.text()).transpose()?;
    table.finish(&[], None)?;
    let mut spec = common.flow(src, dst, bytes, start, index);
    spec.opening = common.opening_of(share, clump, slot, index);
    spec.class = class as u16;
    spec.deadline = deadline.map(|d| start.saturating_add(d));
    spec.path = path;
    let mut row = json!({ "name": name, "src": src, "dst": dst, "bytes": bytes, "start": start.to_string(),
        "share": share, "slot": slot.unwrap_or((index % share as usize) as u32), "clump": clump, "class": class,
        "deadline": deadline.map(|d| d.to_string()), "path": path });
    if let Some(connection) = connection {
        row["connection"] = connection.into();
    }
    Ok((Named { spec, name, at: item.at().clone(), path_at }, row))
}

/// Finds the flows over whose connections others go: earlier ones between the same two hosts.
fn connect(items: &[Item<'_>], flows: &mut [Named]) -> Result<(), ScenarioError> {
    for (index, item) in items.iter().enumerate() {
        let Some(item) = item.table()?.get("connection") else { continue };
        let wanted = item.text()?;
        let Some(carrier) = flows.iter().position(|f| f.name.as_deref() == Some(wanted)) else {
            let problem = Problem::NoSuchName { what: "flow", name: wanted.into() };
            let known = flows.iter().filter_map(|f| f.name.as_deref());
            return Err(item.fail(problem).maybe_help(names::suggestion(wanted, known)));
        };
        let (own, other) = (&flows[index].spec, &flows[carrier].spec);
        let same = [(own.src, own.dst), (own.dst, own.src)].contains(&(other.src, other.dst));
        if carrier == index || !same || own.start <= other.start {
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

/// `kind = "file"`.
pub fn read_file(
    table: &Reader<'_>,
    context: &Context<'_>,
    common: &Common,
) -> Result<(Pattern, Resolved), ScenarioError> {
    let item = table.need("path")?;
    let (path, text) = files::read(&item, context.folder)?;
    let source = Source::new(path.display().to_string(), text);
    let matrix = path.extension().is_some_and(|e| e == "cm");
    let mut resolved = json!({ "path": item.text()?, "digest": files::digest(&source.text) });
    let imported = if matrix {
        let unit = table.get("start_unit").map_or(Ok(0), |i| i.choice(import::cm::START_UNITS))?;
        resolved["start_unit"] = import::cm::START_UNITS[unit].into();
        let matrix = import::cm::parse(&source, import::cm::start_unit(unit))?;
        check_nodes(&matrix, context)?;
        matrix.flows
    } else if path.extension().is_some_and(|e| e == "csv") {
        import::csv::parse(&source)?
    } else {
        return Err(item.range("a .cm or a .csv file", format!("`{}`", path.display())));
    };
    let flows = imported.iter().enumerate().map(|(i, f)| accept(f, i, &source, context, common));
    let flows = flows.collect::<Result<Vec<_>, _>>()?;
    if flows.is_empty() {
        return Err(item.fail(Problem::Contradiction(format!("{} holds no flow", path.display()))));
    }
    resolved["flows"] = flows.len().into();
    Ok((Pattern::Explicit(Explicit { flows }), object(resolved)))
}

/// A matrix for another network would be another experiment.
fn check_nodes(matrix: &import::cm::Imported, context: &Context<'_>) -> Result<(), ScenarioError> {
    let hosts = context.topology.hosts;
    if matrix.nodes == u64::from(hosts) {
        return Ok(());
    }
    let text = format!("the matrix is for {}, the network has {hosts}", counted(matrix.nodes, "host"));
    Err(ScenarioError::new(Problem::Contradiction(text), &matrix.nodes_at))
}

/// An imported flow, checked against the network.
fn accept(
    flow: &ImportedFlow,
    index: usize,
    source: &Arc<Source>,
    context: &Context<'_>,
    common: &Common,
) -> Result<Named, ScenarioError> {
    let places = &flow.places;
    let at = |part: &Range<usize>| Origin::new(source, part.clone());
    let fail = |problem, part: &Range<usize>| ScenarioError::new(problem, &at(part));
    let src = context.topology.check_host(flow.src).map_err(|p| fail(p, &places.src))?;
    let dst = context.topology.check_host(flow.dst).map_err(|p| fail(p, &places.dst))?;
    if src == dst {
        return Err(fail(Problem::SelfFlow { flow: flow.id.clone(), host: src }, &places.dst));
    }
    check_reachable(&at(&places.dst), context.topology, src, dst)?;
    if let Some(problem) = too_long(flow.bytes, context) {
        return Err(fail(problem, &places.bytes));
    }
    let start: Time = flow.start;
    let mut spec = common.flow(src, dst, flow.bytes, start, index);
    spec.class = flow.class.unwrap_or(common.class);
    if let Some(deadline) = flow.deadline {
        spec.deadline = Some(start.saturating_add(deadline));
    }
    Ok(Named { spec, name: Some(flow.id.clone()), at: at(&places.row), path_at: None })
}
