//! Programs of ranks from a file: what ranks send, receive and compute, and what they wait for.

use super::allreduce::ALGORITHMS;
use super::draw::Ground;
use super::job::{FIRST, JobInfo, PLACEMENT, RANKS, Ranks};
use super::keys::{START, key, needed};
use super::program::{Program, Settings};
use super::reading::{Resolved, object, start, too_long};
use super::{Common, Context, Declared, Making, Pattern, PatternInfo};
use crate::files;
use crate::import::trace::Trace as Imported;
use crate::import::{cm, goal};
use crate::text::error::counted;
use crate::text::{Item, Problem, Reader, ScenarioError, Source};
use headway_units::Time;
use serde_json::{Value as Json, json};
use std::path::Path;
use std::sync::Arc;

/// The program of a file.
#[derive(Clone, Debug)]
pub struct Trace {
    ranks: Ranks,
    program: Program,
}

/// Formats of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// A connection matrix of htsim.
    Matrix,
    /// A GOAL schedule.
    Goal,
}

const FORMATS: [(&str, Format); 2] = [("cm", Format::Matrix), ("goal", Format::Goal)];

/// What a matrix may say about its failed links.
const FAILURES: [&str; 2] = ["refused", "elsewhere"];

/// LogGOPSim's default: larger messages are sent when the receiver is ready.
const EAGER: u64 = 65_535;

impl Format {
    fn name(self) -> &'static str {
        FORMATS.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

    /// The format of a file by its name.
    fn of(path: &Path) -> Option<Format> {
        let ending = files::ending(path)?;
        FORMATS.iter().find(|(name, _)| *name == ending).map(|(_, format)| *format)
    }
}

impl Declared for Trace {
    const INFO: PatternInfo = PatternInfo {
        name: "trace",
        summary: "a program of ranks from a file: a connection matrix of htsim with triggers (.cm), or a GOAL schedule (.goal)",
        keys: &[
            needed("path", "path", "of the file, relative to the scenario, perhaps compressed (.gz)"),
            key("format", "`cm`, `goal`", "by the file", "what kind of file it is"),
            RANKS,
            PLACEMENT,
            FIRST,
            START,
            key("start_unit", "`ps`, `us`", "`ps`", "what start times of a matrix count"),
            key(
                "failures",
                "`refused`, `elsewhere`",
                "`refused`",
                "a matrix with failed links is refused, or a `[[fault]]` says the same of them",
            ),
            key("overhead", "duration", "`\"0 s\"`", "what a send and a receive each take on their processor: o of LogGOPS"),
            key("byte_overhead", "duration", "`\"0 s\"`", "the same of each byte but the first: O of LogGOPS"),
            key(
                "eager",
                "bytes",
                "by the format",
                "larger messages are over for their sender when it knows that they have arrived, others when they leave its processor: S of LogGOPS",
            ),
            key("allreduce", "`ring`, `double-binary-tree`, `halving-doubling`", "`ring`", "how it is done"),
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
        let names = FORMATS.map(|(name, _)| name);
        let format = match table.get("format") {
            Some(item) => FORMATS[item.choice(&names)?].1,
            None => Format::of(&path).ok_or_else(|| {
                item.range("a file of a known format", format!("`{}`", path.display()))
                    .help("`format` says which it is")
            })?,
        };
        let mut resolved = object(json!({ "path": item.text()?, "format": format.name() }));
        let (trace, mut own) = read_trace(format, &item, &path, table)?;
        resolved.append(&mut own);
        context.notes.borrow_mut().extend(trace.notes.iter().cloned());
        failures(table, &trace, &mut resolved)?;
        let (ranks, mut placed) = Ranks::read_or(table, context, Some(trace.ranks))?;
        if let (Some(item), false) = (table.get("ranks"), ranks.count() == trace.ranks) {
            let text = format!("the {} of the trace", counted(u64::from(trace.ranks), "rank"));
            return Err(item.range(text, ranks.count()));
        }
        resolved.append(&mut placed);
        let (settings, mut own) = settings(table, format)?;
        resolved.append(&mut own);
        let program = Program::of(&trace, &settings)?;
        if program.flows() == 0 {
            return Err(item.fail(Problem::Contradiction(format!("{} holds no message", path.display()))));
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

/// A trace, and what was read.
fn read_trace(
    format: Format,
    item: &Item<'_>,
    path: &Path,
    table: &Reader<'_>,
) -> Result<(Imported, Resolved), ScenarioError> {
    let name = path.display().to_string();
    match format {
        Format::Matrix => {
            let source = text(item, path, name)?;
            let unit = table.get("start_unit").map_or(Ok(0), |item| item.choice(cm::START_UNITS))?;
            let own = json!({ "digest": files::digest(&source.text), "start_unit": cm::START_UNITS[unit] });
            Ok((cm::trace(&source, cm::start_unit(unit))?, object(own)))
        }
        Format::Goal => {
            let source = text(item, path, name)?;
            Ok((goal::parse(&source)?, object(json!({ "digest": files::digest(&source.text) }))))
        }
    }
}

fn text(item: &Item<'_>, path: &Path, name: String) -> Result<Arc<Source>, ScenarioError> {
    let bytes = files::read_bytes(item, path)?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let reason = format!("byte {} is no text", error.utf8_error().valid_up_to());
        item.fail(Problem::Unreadable { path: name.clone(), reason })
    })?;
    Ok(Source::new(name, text))
}

/// Links that are down are no part of traffic.
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

/// How the program is done. A key that the format has no use for is refused.
fn settings(table: &Reader<'_>, format: Format) -> Result<(Settings, Resolved), ScenarioError> {
    let used = |key: &str, formats: &[Format]| match table.get(key) {
        Some(item) if !formats.contains(&format) => {
            let table = format!("a trace with format = \"{}\"", format.name());
            Err(item.fail(Problem::UnusedKey { key: key.into(), table }))
        }
        item => Ok(item),
    };
    let start = start(table)?;
    used("start_unit", &[Format::Matrix])?;
    let time = |item: Option<Item<'_>>| item.map_or(Ok(Time::ZERO), |item| item.time());
    let overhead = time(used("overhead", &[Format::Goal])?)?;
    let byte_overhead = time(used("byte_overhead", &[Format::Goal])?)?;
    let unsaid = if format == Format::Goal { EAGER } else { 0 };
    let eager = used("eager", &[Format::Goal])?.map_or(Ok(unsaid), |item| item.bytes(0))?;
    let allreduce = used("allreduce", &[])?.map_or(Ok(0), |item| item.choice(&ALGORITHMS))?;
    let mut resolved = object(json!({ "start": start.to_string() }));
    if format == Format::Goal {
        resolved.append(&mut object(json!({ "overhead": overhead.to_string(),
            "byte_overhead": byte_overhead.to_string(), "eager": eager })));
    }
    Ok((Settings { start, overhead, byte_overhead, eager, allreduce }, resolved))
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
        Some(JobInfo { ranks: self.ranks.count(), iterations: 1, collective: self.program.collective() })
    }
}
