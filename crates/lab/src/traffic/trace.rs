//! Programs of ranks from a file: the messages, computations and dependencies of ranks.

use super::allreduce::ALGORITHMS;
use super::draw::Ground;
use super::job::{FIRST, JobInfo, PLACEMENT, RANKS, Ranks};
use super::keys::{START, Takes, key, needed};
use super::program::{Program, Settings, cost};
use super::reading::{Resolved, object, start, too_long};
use super::{Common, Context, Declared, Making, Pattern, PatternInfo};
use crate::files::Opened;
use crate::import::cm;
use crate::import::format::{Format, NAMES, Told};
use crate::import::trace::Trace as Imported;
use crate::text::error::counted;
use crate::text::{Item, Problem, Reader, ScenarioError, Value};
use headway_transport::registry;
use headway_units::Time;
use serde_json::{Value as Json, json};

/// The program of a file.
#[derive(Clone, Debug)]
pub struct Trace {
    ranks: Ranks,
    program: Program,
}

/// Values of a matrix's key for its failed links.
const FAILURES: [&str; 2] = ["refused", "elsewhere"];

/// Groups of a workload that do its collectives.
const EQUAL_GROUPS: [&str; 2] = ["each", "one"];

/// LogGOPSim's default: larger messages are sent when the receiver is ready.
const EAGER: u64 = 65_535;

impl Declared for Trace {
    const INFO: PatternInfo = PatternInfo {
        name: "trace",
        summary: "a program of ranks from a file: a connection matrix of htsim with triggers (.cm), a GOAL schedule as text or binary (.goal, \
            .bin), a Chakra execution trace with a file for each rank (.0.et), a workload of SimAI, or a flow list of HPCC's ns-3",
        keys: &[
            needed(
                "path",
                Takes::Path,
                "of the file, or of that of any rank, relative to the scenario, perhaps compressed (.gz)",
            ),
            key(
                "format",
                Takes::Word(&["cm", "goal", "chakra", "simai", "hpcc"]),
                "by its content",
                "kind of the file",
            ),
            RANKS,
            PLACEMENT,
            FIRST,
            START,
            key("start_unit", Takes::Word(&["ps", "us"]), "`ps`", "unit of the start times of a matrix"),
            key(
                "failures",
                Takes::Word(&["refused", "elsewhere"]),
                "`refused`",
                "a matrix with failed links is refused, or a `[[fault]]` says the same of them",
            ),
            key(
                "overhead",
                Takes::Duration,
                "`\"0 s\"`",
                "time that a send and a receive each take on their processor: o of LogGOPS",
            ),
            key(
                "byte_overhead",
                Takes::Duration,
                "`\"0 s\"`",
                "the same of each byte but the first: O of LogGOPS",
            ),
            key(
                "gap",
                Takes::Duration,
                "`\"0 s\"`",
                "least time between the beginnings of two messages that a host sends, and of two that it receives: g of LogGOPS",
            ),
            key(
                "eager",
                Takes::Bytes,
                "by the format",
                "larger messages are over for their sender when it knows that they have arrived, others when they leave its processor: S of LogGOPS",
            ),
            key(
                "allreduce",
                Takes::Word(&["ring", "double-binary-tree", "halving-doubling"]),
                "`ring`",
                "algorithm of an allreduce of the trace",
            ),
            key(
                "operations_per_second",
                Takes::Number,
                "none",
                "speed of computations that the trace gives in operations, without a duration",
            ),
            key(
                "collective_bytes",
                Takes::Bytes,
                "none",
                "the buffer of a collective whose messages the trace gives in chunks of it",
            ),
            key(
                "equal_groups",
                Takes::Word(&["each", "one"]),
                "`each`",
                "groups of a workload of SimAI that do their collectives: every one, or one of each kind for all that are equal",
            ),
            key(
                "groups",
                Takes::Path,
                "beside the trace",
                "a list of the ranks of each group in JSON, `{\"1\": [0, 1]}`; without it `NAME.json` or `comm_group.json` beside the trace",
            ),
        ],
        counts: &["path"],
    };

    fn read(
        table: &Reader<'_>,
        context: &Context<'_>,
        common: &Common,
    ) -> Result<(Self, Resolved), ScenarioError> {
        let item = table.need("path")?;
        let path = context.folder.join(item.text()?);
        let said = table.get("format").map(|item| item.choice(&NAMES)).transpose()?.map(Format::at);
        let groups_item = table.get("groups");
        let groups = groups_item.as_ref().map(|item| Ok(context.folder.join(item.text()?))).transpose()?;
        let opened =
            Opened::new(&path, said, groups.as_deref()).map_err(|problem| problem.error(Some(&item)))?;
        let format = opened.format;
        let (mut told, mut own) = told(table, format)?;
        (told.nodes, told.hosts) = (context.topology.nodes.as_deref(), Some(context.topology.hosts));
        let (settings, mut of_settings) = settings(table, format)?;
        told.cost = Some((cost, settings.allreduce));
        if let Some(item) = used(table, format, "equal_groups", &[Format::SimAi])? {
            let choice = item.choice(&EQUAL_GROUPS)?;
            told.is_shared = choice == 1;
            own.insert("equal_groups".into(), EQUAL_GROUPS[choice].into());
        }
        if let Some(item) = used(table, format, "groups", &[Format::Chakra])? {
            own.insert("groups".into(), item.text()?.into());
        }
        let mut resolved =
            object(json!({ "path": item.text()?, "format": format.name(), "digest": opened.digest() }));
        resolved.append(&mut own);
        let trace = format.read(opened.files, opened.groups, &told)?;
        context.notes.borrow_mut().extend(trace.notes.iter().cloned());
        failures(table, &trace, &mut resolved)?;
        if let Some(note) = unordered(&trace, &path.display().to_string(), context, common) {
            context.notes.borrow_mut().push(note);
        }
        let (ranks, mut placed) = Ranks::read_or(table, context, Some(trace.ranks))?;
        if let (Some(item), false) = (table.get("ranks"), ranks.count() == trace.ranks) {
            let text = format!("the {} of the trace", counted(u64::from(trace.ranks), "rank"));
            return Err(item.range(text, ranks.count()));
        }
        resolved.append(&mut placed);
        resolved.append(&mut of_settings);
        let program = Program::of(&trace, &settings)?;
        if program.flows() == 0 && program.edges_and_steps() == 0 {
            return Err(item.fail(Problem::Contradiction(format!("{} holds no operation", path.display()))));
        }
        if let Some((bytes, of)) = program.largest()
            && let Some(problem) = too_long(bytes, context)
        {
            return Err(trace.fail(of, problem.to_string()));
        }
        program.check(&trace, common)?;
        let (to_itself, empty) = program.unusual();
        let note = |count: u64, what: &str| {
            if count > 0 {
                let text = format!("{}: {} {what}", path.display(), counted(count, "message"));
                context.notes.borrow_mut().push(text);
            }
        };
        note(to_itself, "from a rank to itself, which never reach the network");
        note(empty, "of 0 B, which are sent as 1 B");
        resolved.append(&mut object(json!({ "messages": program.flows() })));
        Ok((Trace { ranks, program }, resolved))
    }

    fn draw(ground: &mut Ground<'_>) -> Json {
        // The matrix that other kinds read too, as a program in which nothing waits.
        let mut entry = super::File::draw(ground);
        entry["path"] = ground.file_names[1].into();
        entry["start_unit"] = "us".into();
        if ground.dice.percent(40) {
            entry["start"] = ground.start();
        }
        if ground.dice.percent(40) {
            entry["placement"] = "scattered".into();
        }
        entry
    }
}

/// The item of a key, which is refused if the format does not use it.
fn used<'a>(
    table: &Reader<'a>,
    format: Format,
    key: &str,
    by: &[Format],
) -> Result<Option<Item<'a>>, ScenarioError> {
    match table.get(key) {
        Some(item) if !by.contains(&format) => {
            let table = format!("a trace with format = \"{}\"", format.name());
            Err(item.fail(Problem::UnusedKey { key: key.into(), table }))
        }
        item => Ok(item),
    }
}

/// Options for the reader of the format.
fn told<'a>(table: &Reader<'_>, format: Format) -> Result<(Told<'a>, Resolved), ScenarioError> {
    let mut resolved = Resolved::new();
    let unit = used(table, format, "start_unit", &[Format::Matrix])?;
    let unit = unit.map(|item| item.choice(cm::START_UNITS)).transpose()?;
    if format == Format::Matrix {
        resolved.insert("start_unit".into(), cm::START_UNITS[unit.unwrap_or(0)].into());
    }
    let operations_per_second = match used(table, format, "operations_per_second", &[Format::Chakra])? {
        None => None,
        Some(item) => match item.number()? {
            rate if rate > 0.0 => {
                resolved.insert("operations_per_second".into(), rate.into());
                Some(rate)
            }
            rate => return Err(item.range("more than 0", rate)),
        },
    };
    let collective_bytes = used(table, format, "collective_bytes", &[Format::Chakra])?;
    let collective_bytes = collective_bytes.map(|item| item.bytes(1)).transpose()?;
    if let Some(bytes) = collective_bytes {
        resolved.insert("collective_bytes".into(), bytes.into());
    }
    // `ranks` is read again as hosts when their number is known.
    let ranks = match table.get("ranks") {
        Some(item) if format == Format::SimAi => match item.value() {
            Value::List(list) => u32::try_from(list.len()).ok(),
            _ => Some(item.count()?),
        },
        _ => None,
    };
    let start_unit = unit.map(cm::start_unit);
    Ok((Told { start_unit, ranks, operations_per_second, collective_bytes, ..Told::default() }, resolved))
}

/// A sentence where a file orders messages by classes, and their transport does not.
fn unordered(trace: &Imported, path: &str, context: &Context<'_>, common: &Common) -> Option<String> {
    let classed = trace.classed.as_ref()?;
    let transports = context.transports.borrow();
    let name = &transports.specs.get(usize::from(common.transport)).or(context.own)?.name;
    if registry::capabilities(name).is_some_and(|declared| declared.classes) {
        return None;
    }
    let others = registry::all_entries().into_iter().filter(|entry| entry.capabilities.classes);
    let others: Vec<String> = others.map(|entry| format!("`{}`", entry.info.name)).collect();
    Some(format!(
        "{path}: {classed} has no effect: `{name}` does not order messages by it, as {} does",
        others.join(", ")
    ))
}

/// Refuses failed links, which are not part of traffic, unless they are declared elsewhere.
fn failures(table: &Reader<'_>, trace: &Imported, resolved: &mut Resolved) -> Result<(), ScenarioError> {
    let item = table.get("failures");
    let choice = item.as_ref().map_or(Ok(0), |item| item.choice(&FAILURES))?;
    match (trace.failures.first(), item) {
        (Some(failure), _) if choice == 0 => {
            let problem = Problem::Contradiction("failed links are no part of [[traffic]]".into());
            let error = ScenarioError::new(problem, &trace.origin(&failure.at));
            Err(error.help("`headway import` writes them as [[fault]]; with failures = \"elsewhere\" the scenario has them"))
        }
        (Some(_), _) => {
            resolved.insert("failures".into(), FAILURES[choice].into());
            Ok(())
        }
        (None, Some(item)) => {
            let table = "a trace without failed links".into();
            Err(item.fail(Problem::UnusedKey { key: "failures".into(), table }))
        }
        (None, None) => Ok(()),
    }
}

/// Settings of the program.
fn settings(table: &Reader<'_>, format: Format) -> Result<(Settings, Resolved), ScenarioError> {
    let goal = [Format::Goal];
    let start = start(table)?;
    let time = |item: Option<Item<'_>>| item.map_or(Ok(Time::ZERO), |item| item.time());
    let overhead = time(used(table, format, "overhead", &goal)?)?;
    let byte_overhead = time(used(table, format, "byte_overhead", &goal)?)?;
    let gap = time(used(table, format, "gap", &goal)?)?;
    let unsaid = if format == Format::Goal { EAGER } else { 0 };
    let eager = used(table, format, "eager", &[Format::Goal, Format::Chakra])?
        .map_or(Ok(unsaid), |item| item.bytes(0))?;
    let collective = [Format::Chakra, Format::SimAi];
    let allreduce =
        used(table, format, "allreduce", &collective)?.map_or(Ok(0), |item| item.choice(&ALGORITHMS[..3]))?;
    let mut resolved = object(json!({ "start": start.to_string() }));
    if format == Format::Goal {
        resolved.append(&mut object(json!({ "overhead": overhead.to_string(),
            "byte_overhead": byte_overhead.to_string(), "gap": gap.to_string(), "eager": eager })));
    }
    if format == Format::Chakra && eager > 0 {
        resolved.insert("eager".into(), eager.into());
    }
    if collective.contains(&format) {
        resolved.insert("allreduce".into(), ALGORITHMS[allreduce].into());
    }
    Ok((Settings { start, overhead, byte_overhead, gap, eager, allreduce }, resolved))
}

impl Pattern for Trace {
    fn generate(&self, making: &mut Making<'_>) {
        self.program.generate(&self.ranks.hosts(making), making);
    }

    fn horizon(&self, _: u32) -> (Time, u64) {
        (self.program.horizon(), self.program.bytes())
    }

    fn expected_flows(&self, _: u32) -> f64 {
        self.program.flows() as f64
    }

    fn expected_bytes(&self, _: u32) -> u64 {
        self.program.bytes()
    }

    fn expected_edges(&self, _: u32) -> f64 {
        self.program.edges_and_steps() as f64
    }

    fn receivers(&self, _: u32) -> u64 {
        u64::from(self.ranks.count())
    }

    fn is_spread(&self) -> bool {
        false
    }

    fn job(&self) -> Option<JobInfo> {
        Some(JobInfo {
            ranks: self.ranks.count(),
            iterations: 1,
            collective: self.program.collective(),
            algorithm: None,
            owns_rounds: false,
            within: None,
        })
    }
}
