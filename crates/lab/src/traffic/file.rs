//! Flows from a file: a connection matrix of htsim, or a table.

use super::draw::{Ground, Listed};
use super::keys::{Takes, key, needed};
use super::list::{self, Written};
use super::reading::{Resolved, check_reachable, object, too_long};
use super::{Common, Context, Declared, Making, Pattern, PatternInfo};
use crate::files;
use crate::import::format::Format;
use crate::import::kinds::{self, Kind};
use crate::import::{self, ImportedFlow};
use crate::text::error::counted;
use crate::text::{Origin, Problem, Reader, ScenarioError, Source};
use headway_network::Routing;
use headway_units::Time;
use serde_json::{Value as Json, json};
use std::ops::Range;
use std::sync::Arc;

/// The flows of a file.
#[derive(Clone, Debug)]
pub struct File {
    /// Flows in the order written.
    pub flows: Vec<Written>,
}

impl Declared for File {
    const INFO: PatternInfo = PatternInfo {
        name: "file",
        summary: "flows from a connection matrix (.cm) or a table (.csv), perhaps compressed (.gz)",
        keys: &[
            needed("path", Takes::Path, "of the file, relative to the scenario"),
            key("start_unit", Takes::Word(&["ps", "us"]), "`ps`", "unit of the start times of a matrix"),
        ],
        counts: &["path"],
    };

    fn read(
        table: &Reader<'_>,
        context: &Context<'_>,
        common: &Common,
    ) -> Result<(Self, Resolved), ScenarioError> {
        let item = table.need("path")?;
        let (path, text) = files::read(&item, context.folder)?;
        let source = Source::new(path.display().to_string(), text);
        let mut resolved = json!({ "path": item.text()?, "digest": files::digest(&source.text) });
        let bytes = source.text.as_bytes();
        let is_list = |kind: &Kind| kind.is(Format::Matrix) || kind.reader == kinds::Reader::Table;
        let imported = match kinds::find(bytes).map(|kind| kind.reader) {
            Ok(kinds::Reader::Trace(Format::Matrix)) => {
                let said = table.get("start_unit").map(|i| i.choice(import::cm::START_UNITS)).transpose()?;
                let unit = said.unwrap_or(0);
                resolved["start_unit"] = import::cm::START_UNITS[unit].into();
                let matrix = import::cm::parse(&source, import::cm::start_unit(unit))?;
                check_nodes(&matrix, context)?;
                if said.is_none() {
                    let starts = matrix.flows.iter().map(|flow| flow.start);
                    context.notes.borrow_mut().extend(import::cm::doubt(&source.name, starts));
                }
                matrix.flows
            }
            Ok(kinds::Reader::Table) => {
                let table = import::csv::parse(&source)?;
                if !table.kept.is_empty() {
                    resolved["kept_columns"] = table.kept.into();
                }
                table.flows
            }
            // Its reader names the first line of a table.
            Err(_) if source.text.trim().is_empty() => import::csv::parse(&source)?.flows,
            found => {
                let at = Origin::line(&source, 1);
                let fail = |text: String| ScenarioError::new(Problem::Syntax(text), &at);
                return Err(match (kinds::other(bytes, is_list), found) {
                    (Some((text, help)), _) => fail(text).maybe_help(help.map(Into::into)),
                    (None, Err(unknown)) => fail(unknown.text),
                    (None, Ok(kinds::Reader::Log(_))) => {
                        let help = "`headway import` makes a table of flows of it";
                        fail("this is a flow log, and not a table of flows".into()).help(help)
                    }
                    (None, Ok(_)) => fail("this is no list of flows".into()),
                });
            }
        };
        let flows = imported.iter().enumerate().map(|(i, f)| accept(f, i, &source, context, common));
        let flows = flows.collect::<Result<Vec<_>, _>>()?;
        if flows.is_empty() {
            return Err(item.fail(Problem::Contradiction(format!("{} holds no flow", path.display()))));
        }
        resolved["flows"] = flows.len().into();
        Ok((File { flows }, object(resolved)))
    }

    fn draw(ground: &mut Ground<'_>) -> Json {
        if ground.file.is_none() {
            let count = ground.dice.count(1, ground.packets.min(60));
            let latest = ground.latest() / 1_000_000;
            let one = |_| {
                let (src, dst) = ground.pair();
                let bytes = ground.bytes(ground.packets / count);
                let start_us = ground.dice.below(latest + 1);
                Listed { src, dst, bytes, start_us, class: ground.dice.below(8) }
            };
            let flows = (0..count).map(one).collect();
            *ground.file = Some(flows);
        }
        // Entries that read a file read the same one, as a table or as a matrix.
        if ground.dice.below(2) == 0 {
            json!({ "path": ground.file_names[0] })
        } else {
            json!({ "path": ground.file_names[1], "start_unit": "us" })
        }
    }
}

impl Pattern for File {
    fn generate(&self, making: &mut Making<'_>) {
        list::generate(&self.flows, making);
    }

    fn horizon(&self, _: u32) -> (Time, u64) {
        list::horizon(&self.flows)
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
) -> Result<Written, ScenarioError> {
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
    if let Some(share) = &flow.share {
        refuse_of_kernel("share", &at(&share.at), common)?;
        spec.initial_window = common.initial_window_of(share.value, common.clump, None, index);
    }
    if let Some(path) = &flow.path {
        refuse_of_kernel("path", &at(&path.at), common)?;
        if context.routing != Routing::Pinned {
            let table = "[fabric] without routing = \"pinned\"".into();
            return Err(fail(Problem::UnusedKey { key: "path".into(), table }, &path.at));
        }
        spec.path = Some(path.value);
    }
    if let Some(transport) = &flow.transport {
        refuse_of_kernel("transport", &at(&transport.at), common)?;
        spec.transport = context.transport_named(&transport.value, common, &at(&transport.at))?;
    }
    if spec.stop.is_some_and(|stop| stop <= start.saturating_add(common.jitter)) {
        let text = format!("flow `{}` starts when `stop` of its entry has come", flow.id);
        return Err(fail(Problem::Contradiction(text), &places.row));
    }
    let path_at = flow.path.as_ref().map(|path| at(&path.at));
    Ok(Written { spec, name: Some(flow.id.clone()), at: at(&places.row), path_at })
}

/// The kernel opens its connections itself, and there is one congestion control for all flows of an entry.
fn refuse_of_kernel(column: &str, at: &Origin, common: &Common) -> Result<(), ScenarioError> {
    if common.kernel.is_none() {
        return Ok(());
    }
    let table = "traffic with stack = \"kernel\"".into();
    Err(ScenarioError::new(Problem::UnusedKey { key: column.into(), table }, at))
}
