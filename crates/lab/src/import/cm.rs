//! htsim's connection matrices (`.cm`).
//!
//! `Nodes N`, `Connections M`, then one line a flow: `src->dst id I start T size B`. Start times were
//! microseconds once and are picoseconds now: a scenario says which (`start_unit`, default `ps`).
//!
//! Instead of `start T` a connection may have `trigger T`. A trigger is fired by connections that have `send_done_trigger T`, when
//! their sender knows that all has arrived, or `recv_done_trigger T`, when it has. `trigger id T oneshot` starts all that wait for it
//! at once, `multishot` starts one each time, in the order of the file, and `barrier count N` starts all when it has been fired N
//! times. `failure switch_type AGG switch_id S link_id L` takes a link to the core away, and `prio` orders a receiver's pulls
//! (csg-htsim, `connection_matrix.cpp` and `trigger.cpp`).

use super::trace::{Failure, Place, Trace, What, When};
use super::{Given, ImportedFlow, Places};
use crate::text::error::counted;
use crate::text::source::BYTE_ORDER_MARK;
use crate::text::{Origin, Problem, ScenarioError, Source, names};
use headway_network::FlowSpec;
use headway_units::Time;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;

/// Names of the units that start times may be in.
pub const START_UNITS: &[&str] = &["ps", "us"];

/// Picoseconds of the unit at this position of [`START_UNITS`].
pub fn start_unit(index: usize) -> Time {
    [Time::ps(1), Time::us(1)][index]
}

/// If all start times lie within this span when they are read as picoseconds, the matrix likely counts microseconds, as many do:
/// the span is then milliseconds.
const SUSPICIOUS: Time = Time::us(1);

/// A warning if `starts`, which count picoseconds by default, are likely to count microseconds.
pub fn doubt(name: &str, starts: impl Iterator<Item = Time> + Clone) -> Option<String> {
    let (first, last) = (starts.clone().min()?, starts.max()?);
    // Connections that all start at once do so in any unit.
    if first == last || last >= SUSPICIOUS {
        return None;
    }
    Some(format!(
        "{name}: all connections start within {} of each other, because start times count picoseconds; older matrices count \
         microseconds: start_unit = \"us\" reads them so, and start_unit = \"ps\" says that this one does not",
        last - first
    ))
}

/// A matrix as its file gives it.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// Hosts of the network that it was made for.
    pub nodes: u64,
    /// Place where that is written.
    pub nodes_at: Origin,
    /// Connections of the matrix.
    pub flows: Vec<ImportedFlow>,
}

/// Reads a matrix whose start times count `unit`, and refuses one that is more than a list of flows.
pub fn parse(source: &Arc<Source>, unit: Time) -> Result<Imported, ScenarioError> {
    let whole = read(source, unit)?;
    if let Some((word, at)) = &whole.beyond {
        let problem = Problem::Syntax(format!("`{word}` is not supported"));
        let error = ScenarioError::new(problem, &Origin::new(source, at.clone()));
        return Err(error.help("only flows that start at a given time can be imported; kind = \"trace\" reads triggers, failures and messages"));
    }
    let flows = whole.connections.into_iter().map(|connection| connection.flow).collect();
    Ok(Imported { nodes: whole.nodes, nodes_at: whole.nodes_at, flows })
}

/// Reads a matrix as a program: connections that wait for triggers wait for those that fire them.
pub fn trace(source: &Arc<Source>, unit: Time) -> Result<Trace, ScenarioError> {
    let whole = read(source, unit)?;
    let Ok(ranks) = u32::try_from(whole.nodes) else {
        let problem = Problem::Syntax(format!("{} hosts are more than can be numbered", whole.nodes));
        return Err(ScenarioError::new(problem, &whole.nodes_at));
    };
    let mut trace = Trace { ranks, failures: whole.failures.clone(), ..Trace::of_text(source) };
    let mut ordered = Vec::new();
    let mut fires: BTreeMap<u64, Vec<(u32, When)>> = BTreeMap::new();
    let mut waits: BTreeMap<u64, Vec<u32>> = BTreeMap::new();
    let mut lines_of: FxHashMap<&str, usize> = FxHashMap::default();
    for connection in &whole.connections {
        let flow = &connection.flow;
        let line = source.line_column(flow.places.row.start).0;
        if let Some(first) = lines_of.insert(&flow.id, line) {
            let problem =
                Problem::Syntax(format!("the connection of line {first} is called {} as well", flow.id));
            let error = ScenarioError::new(problem, &Origin::new(source, flow.places.row.clone()));
            return Err(error.help("results tell connections apart by `id`"));
        }
        let place = Place { file: 0, span: flow.places.row.clone() };
        let class = connection.prio.as_ref().map(|prio| class_of(source, prio)).transpose()?;
        let what =
            What::Message { to: flow.dst as u32, bytes: flow.bytes, start: flow.start, class, stop: None };
        let operation = trace.push(flow.src as u32, what, Some(&flow.id), place);
        for (fired, when) in [(&connection.send_done, When::Known), (&connection.recv_done, When::Received)] {
            if let Some(fired) = fired {
                whole.declared(source, fired)?;
                fires.entry(fired.value).or_default().push((operation, when));
            }
        }
        if let Some(trigger) = &connection.trigger {
            whole.declared(source, trigger)?;
            waits.entry(trigger.value).or_default().push(operation);
        }
        if connection.prio.is_some() {
            ordered.push(line);
        }
    }
    // After all connections, because a later one may fire or await it.
    for (id, trigger) in &whole.triggers {
        let none = Vec::new();
        let fired = fires.get(id).unwrap_or(&none);
        trigger.bind(*id, source, fired, waits.get(id).map_or(&[], Vec::as_slice), &mut trace)?;
    }
    if whole.shared > 0 {
        trace.notes.push(format!(
            "{}: the messages of {} (`msg`) share its path, each from its own start; htsim sends them one after the other, so \
             that all but the last are over earlier there",
            source.name,
            counted(whole.shared, "connection")
        ));
    }
    if !ordered.is_empty() {
        trace.classed = Some(format!("`prio` of {}", lines(&ordered)));
    }
    Ok(trace)
}

/// The class of a connection: its receiver pulls the lowest `prio` first, as the lowest class.
fn class_of(source: &Arc<Source>, prio: &Given<u64>) -> Result<u16, ScenarioError> {
    u16::try_from(prio.value).map_err(|_| {
        let problem = Problem::Syntax(format!("a `prio` is at most {}, not {}", u16::MAX, prio.value));
        ScenarioError::new(problem, &Origin::new(source, prio.at.clone()))
    })
}

/// Numbers of lines in words, those in a row together.
fn lines(numbers: &[usize]) -> String {
    const MOST: usize = 8;
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => spans.push((number, number)),
        }
    }
    let one =
        |(from, to): &(usize, usize)| if from == to { from.to_string() } else { format!("{from} to {to}") };
    let shown: Vec<String> = spans.iter().take(MOST).map(one).collect();
    let more = if spans.len() > MOST { " and others" } else { "" };
    format!("{} {}{more}", if numbers.len() == 1 { "line" } else { "lines" }, shown.join(", "))
}

/// Effect of a trigger when it is fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Starts all, and may be fired once.
    OneShot,
    /// Starts one each time.
    MultiShot,
    /// Starts all when it has been fired so often.
    Barrier(u64),
}

#[derive(Clone, Debug)]
struct Trigger {
    kind: Kind,
    at: Range<usize>,
}

impl Trigger {
    /// Makes the connections that wait for it wait for those that fire it.
    fn bind(
        &self,
        id: u64,
        source: &Arc<Source>,
        fired: &[(u32, When)],
        waiting: &[u32],
        trace: &mut Trace,
    ) -> Result<(), ScenarioError> {
        let fail = |text: String| {
            ScenarioError::new(Problem::Contradiction(text), &Origin::new(source, self.at.clone()))
        };
        let by = counted(fired.len() as u64, "connection");
        if let (Some(first), []) = (waiting.first(), fired) {
            let called = trace.called(*first);
            return Err(trace.fail(
                *first,
                format!("connection {called} never starts: no connection fires trigger {id}"),
            ));
        }
        match self.kind {
            Kind::OneShot if fired.len() > 1 => {
                let error = fail(format!("trigger {id} is `oneshot`, and {by} fire it"));
                return Err(
                    error.help("`barrier` with a count waits for several, `multishot` starts one for each")
                );
            }
            Kind::Barrier(count) if count != fired.len() as u64 => {
                return Err(fail(format!(
                    "trigger {id} waits until it has been fired {count} times, and {by} can fire it"
                )));
            }
            Kind::MultiShot if waiting.len() > fired.len() => {
                let first = waiting[fired.len()];
                let text =
                    format!("connection {} never starts: {by} can fire trigger {id}", trace.called(first));
                return Err(trace.fail(first, text));
            }
            Kind::OneShot | Kind::Barrier(_) | Kind::MultiShot => {}
        }
        // The end of the message decides: the receiver notices that it arrived, the sender that it is known.
        let heard = |trace: &Trace, (operation, when): (u32, When)| {
            let one = &trace.operations[operation as usize];
            match one.what {
                What::Message { to, .. } if when == When::Received => to,
                _ => one.rank,
            }
        };
        let join = |trace: &mut Trace, needs: Option<u32>, targets: &[u32]| {
            let rank = heard(trace, fired[0]);
            // A join that one host can do alone leaves the graph local to hosts, so that threads can share the run.
            let here = fired.iter().all(|one| heard(trace, *one) == rank)
                && targets.iter().all(|target| trace.operations[*target as usize].rank == rank);
            let at = Place { file: 0, span: self.at.clone() };
            let join =
                trace.push(rank, What::Join { needs, nowhere: !here }, Some(&format!("trigger {id}")), at);
            fired.iter().for_each(|(cause, when)| trace.wait(join, *cause, *when));
            targets.iter().for_each(|target| trace.wait(*target, join, When::Over));
        };
        match (self.kind, fired) {
            _ if waiting.is_empty() => {}
            (Kind::MultiShot, [_, _, ..]) => {
                // The nth begins when any n of them have fired, whatever their order.
                for (nth, target) in (1..).zip(waiting) {
                    join(trace, Some(nth), &[*target]);
                }
            }
            // A single cause needs no join.
            (_, [(cause, when)]) => waiting.iter().for_each(|target| trace.wait(*target, *cause, *when)),
            _ => join(trace, None, waiting),
        }
        Ok(())
    }
}

/// A connection, and its triggers.
#[derive(Clone, Debug)]
struct Connection {
    flow: ImportedFlow,
    trigger: Option<Given<u64>>,
    send_done: Option<Given<u64>>,
    recv_done: Option<Given<u64>>,
    prio: Option<Given<u64>>,
}

/// All that a file says.
struct Whole {
    nodes: u64,
    nodes_at: Origin,
    connections: Vec<Connection>,
    triggers: BTreeMap<u64, Trigger>,
    failures: Vec<Failure>,
    /// The first word that a list of flows does not have.
    beyond: Option<(String, Range<usize>)>,
    /// Connections that several messages share.
    shared: u64,
}

impl Whole {
    fn declared(&self, source: &Arc<Source>, trigger: &Given<u64>) -> Result<(), ScenarioError> {
        if self.triggers.contains_key(&trigger.value) {
            return Ok(());
        }
        let problem = Problem::Syntax(format!("there is no line `trigger id {}`", trigger.value));
        Err(ScenarioError::new(problem, &Origin::new(source, trigger.at.clone())))
    }
}

fn read(source: &Arc<Source>, unit: Time) -> Result<Whole, ScenarioError> {
    let mut matrix = Matrix {
        source,
        nodes: None,
        promised: BTreeMap::new(),
        connections: Vec::new(),
        triggers: BTreeMap::new(),
        failures: Vec::new(),
        beyond: None,
        messages: BTreeMap::new(),
    };
    for (index, line) in source.text.lines().enumerate() {
        let line = line.trim_start_matches(BYTE_ORDER_MARK);
        let words: Vec<&str> = line.split_whitespace().take_while(|w| !w.starts_with('#')).collect();
        if !words.is_empty() {
            matrix.line(index + 1, line.trim(), &words, unit)?;
        }
    }
    matrix.finish()
}

/// The counts that a matrix begins with, and their subjects.
const COUNTS: [(&str, &str); 3] =
    [("Connections", "connection"), ("Triggers", "trigger"), ("Failures", "failure")];

struct Matrix<'a> {
    source: &'a Arc<Source>,
    nodes: Option<(u64, Origin)>,
    /// Promised counts by position in [`COUNTS`], and the line of each.
    promised: BTreeMap<usize, (u64, usize)>,
    connections: Vec<Connection>,
    triggers: BTreeMap<u64, Trigger>,
    failures: Vec<Failure>,
    beyond: Option<(String, Range<usize>)>,
    /// Ends and number of messages of connections that have any, by `id`.
    messages: BTreeMap<u64, ((u64, u64), u64)>,
}

impl Matrix<'_> {
    fn fail(&self, line: usize, text: impl Into<String>) -> ScenarioError {
        ScenarioError::new(Problem::Syntax(text.into()), &Origin::line(self.source, line))
    }

    fn fail_at(&self, part: &str, text: impl Into<String>) -> ScenarioError {
        ScenarioError::new(Problem::Syntax(text.into()), &Origin::part(self.source, part))
    }

    fn at(&self, part: &str) -> Range<usize> {
        Origin::part(self.source, part).span
    }

    fn number(&self, text: &str) -> Result<u64, ScenarioError> {
        text.parse::<u64>().map_err(|_| self.fail_at(text, format!("`{text}` is not a whole number")))
    }

    /// A start in picoseconds. htsim reads it as a number with a fraction.
    fn start(&self, text: &str, unit: Time) -> Result<u64, ScenarioError> {
        let too_late = || self.fail_at(text, "the start is too late");
        // Without floating point, which is exact up to 2^53 alone.
        if let Ok(whole) = text.parse::<u64>() {
            return whole.checked_mul(unit.0).ok_or_else(too_late);
        }
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        let number =
            number.ok_or_else(|| self.fail_at(text, format!("`{text}` is no time of at least 0")))?;
        let ps = libm::round(number * unit.0 as f64);
        // Less and not equal: as floating point, the largest number of 64 bits is 2^64.
        if ps < u64::MAX as f64 { Ok(ps as u64) } else { Err(too_late()) }
    }

    /// A size. htsim reads the digits before a point or a letter, which has to be all that there is.
    fn size(&self, text: &str) -> Result<u64, ScenarioError> {
        if let Ok(bytes) = text.parse::<u64>() {
            return Ok(bytes);
        }
        let (digits, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
        let is_point = rest.strip_prefix('.').is_some_and(|zeros| zeros.bytes().all(|byte| byte == b'0'));
        if let (true, Ok(bytes)) = (is_point, digits.parse()) {
            return Ok(bytes);
        }
        let error = self.fail_at(text, format!("`{text}` is not a whole number of bytes"));
        let cut =
            (!digits.is_empty()).then(|| format!("htsim reads it as {digits}: write all digits of the size"));
        Err(error.maybe_help(cut))
    }

    fn beyond(&mut self, word: &str) {
        let at = self.at(word);
        self.beyond.get_or_insert_with(|| (word.to_string(), at));
    }

    /// The value of a key.
    fn value<'t>(&self, pair: &[&'t str]) -> Result<&'t str, ScenarioError> {
        pair.get(1).copied().ok_or_else(|| self.fail_at(pair[0], format!("`{}` has no value", pair[0])))
    }

    fn line(&mut self, line: usize, text: &str, words: &[&str], unit: Time) -> Result<(), ScenarioError> {
        if words[0].contains("->") {
            let connection = self.connection(line, text, words, unit)?;
            self.connections.push(connection);
            return Ok(());
        }
        let count = |this: &Self| match words {
            [_, count] => {
                count.parse::<u64>().map_err(|_| this.fail_at(count, format!("`{count}` is not a count")))
            }
            _ => Err(this.fail(line, format!("`{}` takes one count", words[0]))),
        };
        match words[0] {
            "Nodes" if self.nodes.is_some() => return Err(self.fail(line, "`Nodes` is there twice")),
            "Nodes" => self.nodes = Some((count(self)?, Origin::part(self.source, words[1]))),
            "trigger" => self.trigger(line, text, words)?,
            "failure" => self.failure(line, text, words)?,
            word => match COUNTS.iter().position(|(name, _)| *name == word) {
                Some(which) if self.promised.contains_key(&which) => {
                    return Err(self.fail(line, format!("`{word}` is there twice")));
                }
                Some(which) => {
                    let many = count(self)?;
                    self.promised.insert(which, (many, line));
                    // A plain list of flows promises connections alone.
                    if which > 0 && many > 0 {
                        self.beyond(word);
                    }
                }
                None => {
                    let error = self.fail(line, format!("`{word}` is not a line of a connection matrix"));
                    let known = COUNTS.iter().map(|(name, _)| *name).chain(["Nodes", "trigger", "failure"]);
                    return Err(error.maybe_help(names::name_suggestion(word, known)));
                }
            },
        }
        Ok(())
    }

    fn trigger(&mut self, line: usize, text: &str, words: &[&str]) -> Result<(), ScenarioError> {
        self.beyond(words[0]);
        let (mut id, mut kind, mut count) = (None, None, None);
        let mut rest = words[1..].iter();
        while let Some(word) = rest.next() {
            match *word {
                "id" | "count" => {
                    let value =
                        rest.next().ok_or_else(|| self.fail_at(word, format!("`{word}` has no value")))?;
                    let place = if *word == "id" { &mut id } else { &mut count };
                    *place = Some((self.number(value)?, *value));
                }
                "oneshot" | "multishot" | "barrier" => {
                    if kind.replace(*word).is_some() {
                        return Err(self.fail_at(word, "the trigger has two kinds"));
                    }
                }
                other => {
                    let error = self.fail_at(other, format!("`{other}` is not part of a trigger"));
                    let known = ["id", "count", "oneshot", "multishot", "barrier"];
                    return Err(error.maybe_help(names::name_suggestion(other, known)));
                }
            }
        }
        let (id, written) = id.ok_or_else(|| self.fail(line, "the trigger has no `id`"))?;
        let kind = match (kind, count) {
            (None, _) => {
                return Err(self
                    .fail(line, "the trigger has no kind")
                    .help("kinds are `oneshot`, `multishot` and `barrier`"));
            }
            (Some("barrier"), Some((count, _))) => Kind::Barrier(count),
            (Some("barrier"), None) => return Err(self.fail(line, "the barrier has no `count`")),
            (Some(kind), Some((_, written))) => {
                return Err(self.fail_at(written, format!("`count` has no effect: the trigger is `{kind}`")));
            }
            (Some("multishot"), None) => Kind::MultiShot,
            (Some(_), None) => Kind::OneShot,
        };
        let at = self.at(text);
        if id == 0 || self.triggers.insert(id, Trigger { kind, at }).is_some() {
            let text = if id == 0 {
                "a trigger is numbered from 1".into()
            } else {
                format!("trigger {id} is there twice")
            };
            return Err(self.fail_at(written, text));
        }
        Ok(())
    }

    fn failure(&mut self, line: usize, text: &str, words: &[&str]) -> Result<(), ScenarioError> {
        self.beyond(words[0]);
        let (mut switch, mut link, mut tier) = (None, None, None);
        for pair in words[1..].chunks(2) {
            // Not yet an error: a misspelt key says more than a missing value.
            let (key, value) = (pair[0], self.value(pair));
            match key {
                "switch_type" if value.as_ref().is_ok_and(|value| *value == "AGG") => tier = Some(()),
                "switch_type" => {
                    let value = value?;
                    let error = self.fail_at(value, format!("the failed link is one of a switch `{value}`"));
                    return Err(error.help(
                        "csg-htsim fails links from aggregation to core switches, `AGG`, and no others",
                    ));
                }
                "switch_id" => switch = Some(self.number(value?)?),
                "link_id" => link = Some(self.number(value?)?),
                other => {
                    let error = self.fail_at(other, format!("`{other}` is not part of a failure"));
                    let known = ["switch_type", "switch_id", "link_id"];
                    return Err(error.maybe_help(names::name_suggestion(other, known)));
                }
            }
        }
        let (Some(switch), Some(link), Some(())) = (switch, link, tier) else {
            return Err(self.fail(line, "a failure takes `switch_type`, `switch_id` and `link_id`"));
        };
        self.failures.push(Failure { switch, link, at: Place { file: 0, span: self.at(text) } });
        Ok(())
    }

    fn connection(
        &mut self,
        line: usize,
        text: &str,
        words: &[&str],
        unit: Time,
    ) -> Result<Connection, ScenarioError> {
        let (from, to) = words[0].split_once("->").unwrap_or_default();
        let (src, dst) = (self.number(from)?, self.number(to)?);
        let (mut id, mut start, mut bytes, mut message) = (None, None, None, None);
        let (mut trigger, mut send_done, mut recv_done, mut prio) = (None, None, None, None);
        let mut rest = words[1..].iter().copied().peekable();
        while let Some(key) = rest.next() {
            // A message of a connection may have a number.
            if key == "msg" {
                let number = rest.next_if(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
                message = Some((key, number.map(|word| self.number(word)).transpose()?));
                self.beyond(key);
                continue;
            }
            let known =
                ["id", "start", "size", "trigger", "send_done_trigger", "recv_done_trigger", "prio", "msg"];
            if !known.contains(&key) {
                let error = self.fail_at(key, format!("`{key}` is not part of a connection"));
                return Err(error.maybe_help(names::name_suggestion(key, known)));
            }
            let Some(value) = rest.next() else {
                return Err(self.fail_at(key, format!("`{key}` has no value")));
            };
            match key {
                "id" => id = Some(self.number(value)?),
                "start" => start = Some((self.start(value, unit)?, value)),
                "size" => bytes = Some((self.size(value)?, value)),
                _ => {
                    self.beyond(key);
                    let given = Given { value: self.number(value)?, at: self.at(value) };
                    *match key {
                        "trigger" => &mut trigger,
                        "send_done_trigger" => &mut send_done,
                        "recv_done_trigger" => &mut recv_done,
                        _ => &mut prio,
                    } = Some(given);
                }
            }
        }
        let start = match (start, &trigger) {
            (Some((start, _)), None) => start,
            (None, Some(_)) => 0,
            (None, None) => return Err(self.fail(line, "the connection has no `start`")),
            (Some(_), Some(trigger)) => {
                let problem = Problem::Syntax("the connection has a `start` and a `trigger`".into());
                return Err(ScenarioError::new(problem, &Origin::new(self.source, trigger.at.clone())));
            }
        };
        let (bytes, size) = bytes.ok_or_else(|| self.fail(line, "the connection has no `size`"))?;
        if bytes == 0 {
            let error = self.fail_at(size, "the `size` is 0");
            return Err(error
                .help("that is a flow without an end in htsim: give it a size, and the scenario a `stop`"));
        }
        // Here if possible, where the line of the first wrong host is at hand.
        if let Some((nodes, _)) = &self.nodes {
            for (host, part) in [(src, from), (dst, to)] {
                if host >= *nodes {
                    return Err(self.fail_at(part, format!("host {host} is not there: `Nodes {nodes}`")));
                }
            }
        }
        let id = match (id, message) {
            (None, Some((word, _))) => {
                return Err(self.fail_at(word, "a message of no connection: the line has no `id`"));
            }
            (Some(id), Some((word, number))) => {
                let (pair, count) = self.messages.entry(id).or_insert(((src, dst), 0));
                *count += 1;
                let (number, pair) = (number.unwrap_or(*count), *pair);
                if pair != (src, dst) {
                    let text = format!("connection {id} goes from host {} to host {}", pair.0, pair.1);
                    return Err(self.fail_at(word, text).help("messages of one connection go the same way"));
                }
                format!("{id}.{number}")
            }
            (id, None) => id.map_or_else(|| (self.connections.len() + 1).to_string(), |id| id.to_string()),
        };
        let places = Places::of(self.source, text, [from, to, size]);
        let flow = ImportedFlow {
            id,
            src,
            dst,
            bytes,
            start: Time(start),
            class: None,
            deadline: None,
            path: None,
            share: None,
            transport: None,
            places,
        };
        Ok(Connection { flow, trigger, send_done, recv_done, prio })
    }

    fn finish(self) -> Result<Whole, ScenarioError> {
        let held = [self.connections.len(), self.triggers.len(), self.failures.len()];
        for (which, &(promised, line)) in &self.promised {
            let held = held[*which] as u64;
            if promised != held {
                let text = format!("promises {}, the file holds {held}", counted(promised, COUNTS[*which].1));
                let help = if promised > held { "is the file cut off?" } else { "the count is too small" };
                return Err(self.fail(line, text).help(help));
            }
        }
        let Some((nodes, nodes_at)) = self.nodes else {
            let error = self.fail(1, "the matrix does not say for how many hosts it is");
            return Err(error.help("a connection matrix begins with `Nodes N`"));
        };
        // `Nodes` may stand below the first connections.
        for connection in &self.connections {
            let (flow, places) = (&connection.flow, &connection.flow.places);
            for (host, at) in [(flow.src, &places.src), (flow.dst, &places.dst)] {
                if host >= nodes {
                    let problem = Problem::Syntax(format!("host {host} is not there: `Nodes {nodes}`"));
                    return Err(ScenarioError::new(problem, &Origin::new(self.source, at.clone())));
                }
            }
        }
        let (connections, triggers, failures) = (self.connections, self.triggers, self.failures);
        let shared = self.messages.values().filter(|(_, count)| *count > 1).count() as u64;
        Ok(Whole { nodes, nodes_at, connections, triggers, failures, beyond: self.beyond, shared })
    }
}

/// Writes flows as a matrix, start times in picoseconds.
pub fn write<'a>(nodes: u32, flows: impl IntoIterator<Item = &'a FlowSpec>) -> String {
    let flows: Vec<&FlowSpec> = flows.into_iter().collect();
    let mut out = format!("Nodes {nodes}\nConnections {}\n", flows.len());
    for (id, flow) in flows.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{}->{} id {} start {} size {}",
            flow.src,
            flow.dst,
            id + 1,
            flow.start.0,
            flow.bytes
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<ImportedFlow>, ScenarioError> {
        parse(&Source::new("x.cm", text), Time::ps(1)).map(|matrix| matrix.flows)
    }

    #[test]
    fn numbers_are_those_that_htsim_reads() {
        let starts = |text: &str, unit| {
            let text = format!("Nodes 4\n0->1 start {text} size 100000.0\n");
            let flows =
                parse(&Source::new("x.cm", text), unit).unwrap_or_else(|error| panic!("{error}")).flows;
            assert_eq!(flows[0].bytes, 100_000);
            flows[0].start
        };
        for (text, ps) in [("0.000000", 0), ("1e6", 1_000_000), ("1500000.0", 1_500_000), ("7", 7)] {
            assert_eq!(starts(text, Time::ps(1)), Time(ps), "{text}");
        }
        assert_eq!(starts("1.5", Time::us(1)), Time::ns(1500));
        let error = read("Nodes 4\n0->1 start 0.000000 size 0\n").expect_err("no end").to_string();
        assert_eq!(error, "the `size` is 0");
    }

    #[test]
    fn a_connection_may_have_several_messages() {
        let text = "Nodes 4\nConnections 4\nTriggers 1\n0->1 id 1 msg start 0 size 40860\n0->1 id 1 msg 7 start 5 size 2\n\
            0->1 id 1 msg start 0 size 3 send_done_trigger 1\n1->2 id 2 trigger 1 size 9\ntrigger id 1 oneshot\n";
        let trace = trace(&Source::new("x.cm", text), Time::ps(1)).expect("a matrix");
        let names: Vec<_> =
            trace.operations.iter().map(|one| one.name.as_deref().unwrap_or_default()).collect();
        assert_eq!(names, ["1.1", "1.7", "1.3", "2"]);
        assert_eq!(trace.waits.len(), 1);
        assert!(
            trace.notes[0].contains("the messages of 1 connection (`msg`) share its path"),
            "{:?}",
            trace.notes
        );
    }

    #[test]
    fn a_matrix_reads_back_as_it_was_written() {
        let text = "Nodes 4\nConnections 2\n3->0 id 1 start 5 size 1000000\n1->2 id 2 start 0 size 7\n";
        let flows = read(text).expect("a matrix");
        assert_eq!((flows[0].src, flows[0].dst, flows[0].start, flows[0].bytes), (3, 0, Time(5), 1_000_000));
        let spec = |f: &ImportedFlow| FlowSpec {
            src: f.src as u32,
            dst: f.dst as u32,
            bytes: f.bytes,
            start: f.start,
            class: 0,
            deadline: None,
            initial_window: headway_transport::InitialWindow::default(),
            responsive: true,
            transport: 0,
            path: None,
            connection: None,
            stop: None,
        };
        let specs: Vec<FlowSpec> = flows.iter().map(spec).collect();
        assert_eq!(write(4, &specs), text);
    }

    /// Every wait of a trace, in words.
    fn waits(text: &str) -> Result<Vec<String>, ScenarioError> {
        let trace = trace(&Source::new("x.cm", format!("Nodes 9\n{text}")), Time::ps(1))?;
        let one = |wait: &super::super::trace::Wait| {
            format!("{} {:?} {}", trace.called(wait.operation), wait.when, trace.called(wait.cause))
        };
        Ok(trace.waits.iter().map(one).collect())
    }

    #[test]
    fn triggers_are_what_connections_wait_for() {
        let serial = "1->2 id 1 start 0 size 9 send_done_trigger 1\n1->3 id 2 trigger 1 size 9 recv_done_trigger 2\n\
            3->4 id 3 trigger 2 size 9\ntrigger id 1 oneshot\ntrigger id 2 oneshot\n";
        assert_eq!(waits(serial).expect("a trace"), ["2 Known 1", "3 Received 2"]);
        let barrier = "0->2 id 1 start 0 size 9 recv_done_trigger 1\n1->2 id 2 start 0 size 9 recv_done_trigger 1\n\
            2->3 id 3 trigger 1 size 9\n2->4 id 4 trigger 1 size 9\ntrigger id 1 barrier count 2\n";
        let joined = ["trigger 1 Received 1", "trigger 1 Received 2", "3 Over trigger 1", "4 Over trigger 1"];
        assert_eq!(waits(barrier).expect("a trace"), joined);
        let multishot = "1->2 id 1 start 0 size 9 send_done_trigger 7\n1->3 id 2 start 0 size 9 send_done_trigger 7\n\
            1->4 id 3 trigger 7 size 9\n1->5 id 4 trigger 7 size 9\ntrigger id 7 multishot\n";
        let whole =
            trace(&Source::new("x.cm", format!("Nodes 9\n{multishot}")), Time::ps(1)).expect("a trace");
        let joins = whole.operations.iter().filter_map(|one| match one.what {
            What::Join { needs, nowhere } => Some((one.rank, needs, nowhere)),
            _ => None,
        });
        assert_eq!(joins.collect::<Vec<_>>(), [(1, Some(1), false), (1, Some(2), false)]);
        assert_eq!(whole.waits.len(), 6);
    }

    #[test]
    fn triggers_that_start_nothing_or_too_much_are_refused_by_name_and_line() {
        let fires = "0->1 id 1 start 0 size 9 send_done_trigger 1\n";
        let waits_for = "0->1 id 2 trigger 1 size 9\n";
        let cases = [
            (
                format!("{waits_for}trigger id 1 oneshot\n"),
                2,
                "connection 2 never starts: no connection fires trigger 1",
            ),
            (format!("{fires}{waits_for}"), 2, "there is no line `trigger id 1`"),
            (
                format!("{fires}{}{waits_for}trigger id 1 oneshot\n", fires.replace("id 1", "id 3")),
                5,
                "trigger 1 is `oneshot`, and 2 connections fire it",
            ),
            (
                format!("{fires}{fires}trigger id 1 oneshot\n"),
                3,
                "the connection of line 2 is called 1 as well",
            ),
            (
                format!("{fires}{waits_for}trigger id 1 barrier count 3\n"),
                4,
                "trigger 1 waits until it has been fired 3 times, and 1 connection can fire it",
            ),
            (
                format!("{fires}{waits_for}{}trigger id 1 multishot\n", waits_for.replace("id 2", "id 3")),
                4,
                "connection 3 never starts: 1 connection can fire trigger 1",
            ),
            ("trigger id 1 oneshot\ntrigger id 1 oneshot\n".into(), 3, "trigger 1 is there twice"),
            ("trigger id 0 oneshot\n".into(), 2, "a trigger is numbered from 1"),
            ("trigger id 1\n".into(), 2, "the trigger has no kind"),
            ("trigger id 1 barrier\n".into(), 2, "the barrier has no `count`"),
            ("trigger id 1 oneshot count 2\n".into(), 2, "`count` has no effect: the trigger is `oneshot`"),
            ("trigger id 1 oneshot barrier\n".into(), 2, "the trigger has two kinds"),
            ("trigger oneshot\n".into(), 2, "the trigger has no `id`"),
            ("trigger id 1 once\n".into(), 2, "`once` is not part of a trigger"),
            ("trigger oneshot id\n".into(), 2, "`id` has no value"),
            (
                "failure switch_type TOR switch_id 0 link_id 0\n".into(),
                2,
                "the failed link is one of a switch `TOR`",
            ),
            (
                "failure switch_type AGG switch_id 0\n".into(),
                2,
                "a failure takes `switch_type`, `switch_id` and `link_id`",
            ),
            ("failure switch_type AGG switch 0\n".into(), 2, "`switch` is not part of a failure"),
            (
                "0->1 id 1 start 0 trigger 1 size 9\n".into(),
                2,
                "the connection has a `start` and a `trigger`",
            ),
        ];
        for (text, line, message) in cases {
            let error = waits(&text).expect_err(message);
            assert_eq!(error.to_string(), message);
            let at = error.origin().expect("a place");
            assert_eq!(at.source.line_column(at.span.start).0, line, "{message}");
        }
    }

    #[test]
    fn priorities_are_named_and_failures_kept() {
        let text = "Nodes 9\nFailures 1\n0->1 id 1 start 0 size 9 prio 1\n0->2 id 2 start 0 size 9 prio 2\n\
            failure switch_type AGG switch_id 3 link_id 1\n0->2 id 3 start 0 size 9 prio 2\n";
        let trace = trace(&Source::new("x.cm", text), Time::ps(1)).expect("a trace");
        assert_eq!(trace.classed.as_deref(), Some("`prio` of lines 3 to 4, 6"));
        let class = |number: usize| match trace.operations[number].what {
            What::Message { class, .. } => class,
            _ => None,
        };
        assert_eq!([class(0), class(1), class(2)], [Some(1), Some(2), Some(2)]);
        assert_eq!(trace.failures.iter().map(|f| (f.switch, f.link)).collect::<Vec<_>>(), [(3, 1)]);
    }

    #[test]
    fn start_times_count_the_unit_that_is_asked_for() {
        let source = Source::new("x.cm", "Nodes 2\n0->1 id 1 start 5 size 10\n");
        assert_eq!(parse(&source, start_unit(1)).expect("a matrix").flows[0].start, Time::us(5));
    }

    #[test]
    fn starts_within_nanoseconds_are_doubted_and_others_are_not() {
        let doubted = |starts: &[u64]| doubt("x.cm", starts.iter().map(|&start| Time::ps(start))).is_some();
        assert!(doubted(&[0, 10]) && doubted(&[0, 0, 999_999]) && doubted(&[400, 2000, 7]));
        assert!(!doubted(&[]) && !doubted(&[0, 0]) && !doubted(&[7]) && !doubted(&[0, 1_000_000]));
        let text = doubt("x.cm", [0, 5000].into_iter().map(Time::ps)).expect("a doubt");
        assert!(text.starts_with("x.cm: all connections start within 5 ns of each other"), "{text}");
    }

    #[test]
    fn what_a_matrix_must_not_hold_is_refused_by_name_and_line() {
        let cases = [
            (
                "Nodes 4\nConnections 3\n3->0 id 1 start 5 size 10\n",
                2,
                "promises 3 connections, the file holds 1",
            ),
            ("Nodes 4\nTriggers 1\n", 2, "promises 1 trigger, the file holds 0"),
            (
                "Nodes 4\nFailures 1\nfailure switch_type AGG switch_id 0 link_id 1\n",
                2,
                "`Failures` is not supported",
            ),
            ("Nodes 4\n0->1 id 1 trigger 1 size 10\n", 2, "`trigger` is not supported"),
            ("Nodes 4\n0->1 id 1 start 0 size 10 prio 1\n", 2, "`prio` is not supported"),
            ("0->1 id 1 start 0 size 10\nNodes 1\n", 1, "host 1 is not there: `Nodes 1`"),
            ("Nodes 4\n0->4 id 1 start 0 size 10\n", 2, "host 4 is not there: `Nodes 4`"),
            ("0->1 id 1 start 0\n", 1, "the connection has no `size`"),
            ("0->1 id 1 start x size 2\n", 1, "`x` is no time of at least 0"),
            ("0->1 id 1 start 0 size 1e6\n", 1, "`1e6` is not a whole number of bytes"),
            ("0->1 id\n", 1, "`id` has no value"),
            ("Nodes 4\n0->1 id 1 msg start 0 size 4086\n", 2, "`msg` is not supported"),
            ("0->1 msg start 0 size 4086\n", 1, "a message of no connection: the line has no `id`"),
            (
                "0->1 id 1 msg start 0 size 4\n0->2 id 1 msg start 0 size 4\n",
                2,
                "connection 1 goes from host 0 to host 1",
            ),
            ("0->1 id 1 strat 0 size\n", 1, "`strat` is not part of a connection"),
            ("0->1 id 1 start 0 size 10\n", 1, "the matrix does not say for how many hosts it is"),
            ("", 1, "the matrix does not say for how many hosts it is"),
            ("Nodes 4\nNodes 5\n", 2, "`Nodes` is there twice"),
            ("Nodes 4\n0->1 id 1 start 0 size 0\n", 2, "the `size` is 0"),
            ("hello\n", 1, "`hello` is not a line of a connection matrix"),
        ];
        for (text, line, message) in cases {
            let error = read(text).expect_err(message);
            assert_eq!(error.to_string(), message);
            let at = error.origin().expect("a place");
            assert_eq!(at.source.line_column(at.span.start).0, line, "{message}");
        }
    }
}
