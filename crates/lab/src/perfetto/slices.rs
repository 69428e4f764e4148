//! Messages, steps and jobs as slices, and arrows between them.
//!
//! Slices of one track must not overlap, and messages of one host do. Each host therefore has as many tracks of one name
//! for its messages as were under way at a time; viewers show tracks of one name together.

use super::read::Columns;
use super::{Failed, Tree, nanoseconds, picoseconds};
use crate::results::table::Values;
use headway_perfetto::{Arg, Slice, Track, Value, Writer};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value as Json;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Write;

/// A flow or a step, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Node {
    Flow(u32),
    Step(u32),
}

/// One slice, in picoseconds.
struct Item {
    node: Option<Node>,
    name: String,
    start: u64,
    /// `None` where it was not over at the end.
    finish: Option<u64>,
    args: Vec<Arg>,
    /// Tracks that it may be on.
    lane: Lane,
}

/// Tracks that share a parent and a name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
struct Lane {
    parent: Option<Track>,
    name: &'static str,
}

/// The slices of a trace, until they are written in order.
pub(super) struct Slices<'w, W: Write> {
    trace: &'w mut Writer<W>,
    items: Vec<Item>,
    edges: Vec<(Node, Node)>,
    /// Names of flows and steps on the critical path of a job.
    critical: FxHashSet<String>,
}

/// Columns of flows that are arguments where they are not zero: times, which are picoseconds there.
const BY_CAUSE: [(&str, &str); 6] = [
    ("host_s", "host_ps"),
    ("wait_s", "wait_ps"),
    ("serialise_s", "serialise_ps"),
    ("propagate_s", "propagate_ps"),
    ("queue_s", "queue_ps"),
    ("retransmit_s", "retransmit_ps"),
];

impl<'w, W: Write> Slices<'w, W> {
    pub(super) fn new(trace: &'w mut Writer<W>) -> Slices<'w, W> {
        Slices { trace, items: Vec::new(), edges: Vec::new(), critical: FxHashSet::default() }
    }

    /// A slice for each job, and its critical chain.
    pub(super) fn jobs(&mut self, summary: &Json) -> Result<(), Failed> {
        for job in summary["jobs"].as_array().into_iter().flatten() {
            let path = job["critical_path"].as_array().into_iter().flatten();
            let names = path.filter_map(|link| link["flow"].as_str().or(link["step"].as_str()));
            self.critical.extend(names.map(str::to_string));
            let Some(start) = job["start_s"].as_f64() else { continue };
            let number = |key: &'static str| job[key].as_f64().map(|n| (key, Value::Number(n)));
            let args = ["bound_s", "slowdown", "algorithm_bandwidth_bps", "bus_bandwidth_bps"];
            self.items.push(Item {
                node: None,
                name: format!("{} {}", job["kind"].as_str().unwrap_or("job"), job["entry"]),
                start: picoseconds(start),
                finish: job["finish_s"].as_f64().map(picoseconds),
                args: args.into_iter().filter_map(number).collect(),
                lane: Lane { parent: None, name: "jobs" },
            });
        }
        Ok(())
    }

    /// A slice for each flow that began, at its sender.
    pub(super) fn flows(&mut self, flows: &Columns<'_>, tree: &Tree) -> Result<(), Failed> {
        let (names, src, dst) = (flows.text("name")?, flows.small("src")?, flows.small("dst")?);
        let (starts, finishes) = (flows.numbers("start_s")?, flows.numbers("finish_s")?);
        let (bytes, state) = (flows.whole("bytes")?, flows.text("state")?);
        let retransmitted = flows.whole("retransmitted_bytes")?;
        let causes = BY_CAUSE.map(|(column, arg)| Ok::<_, Failed>((flows.numbers_if_there(column)?, arg)));
        let causes = causes.into_iter().collect::<Result<Vec<_>, _>>()?;
        for row in 0..flows.rows() {
            // A flow that is not done may not have begun before the run ended.
            let Some(start) = starts.get(row) else { continue };
            let mut args =
                vec![("bytes", Value::Whole(bytes.value(row))), ("dst", Value::Whole(dst.value(row).into()))];
            if state.value(row) != "done" {
                args.push(("state", Value::Text(state.value(row).into())));
            }
            if let Some(again) = retransmitted.get(row).filter(|again| *again > 0) {
                args.push(("retransmitted_bytes", Value::Whole(again)));
            }
            let part = |(column, arg): &(Option<&Values<f64>>, &'static str)| {
                let part = picoseconds((*column)?.get(row)?);
                (part > 0).then_some((*arg, Value::Whole(part)))
            };
            args.extend(causes.iter().filter_map(part));
            if self.critical.contains(names.value(row)) {
                args.push(("critical", Value::Whole(1)));
            }
            self.items.push(Item {
                node: Some(Node::Flow(row as u32)),
                name: names.value(row).into(),
                start: picoseconds(start),
                finish: finishes.get(row).map(picoseconds),
                args,
                lane: Lane { parent: tree.host(src.value(row)), name: "messages" },
            });
        }
        Ok(())
    }

    /// A slice for each step that began, at its host.
    pub(super) fn steps(&mut self, steps: &Columns<'_>, tree: &Tree) -> Result<(), Failed> {
        let (names, hosts) = (steps.text("name")?, steps.small("host")?);
        let (starts, finishes) = (steps.numbers("start_s")?, steps.numbers("finish_s")?);
        for row in 0..steps.rows() {
            let Some(start) = starts.get(row) else { continue };
            let critical = self.critical.contains(names.value(row));
            self.items.push(Item {
                node: Some(Node::Step(row as u32)),
                name: names.value(row).into(),
                start: picoseconds(start),
                finish: finishes.get(row).map(picoseconds),
                args: if critical { vec![("critical", Value::Whole(1))] } else { Vec::new() },
                lane: Lane { parent: hosts.get(row).and_then(|host| tree.host(host)), name: "steps" },
            });
        }
        Ok(())
    }

    /// An arrow from each cause to the item that waits for it, where both began.
    pub(super) fn edges(&mut self, edges: &Columns<'_>) -> Result<(), Failed> {
        let (causes, from) = (edges.text("cause")?, edges.small("from")?);
        let (nodes, to) = (edges.text("node")?, edges.small("to")?);
        for row in 0..edges.rows() {
            let cause = match causes.value(row) {
                "step" => Node::Step(from.value(row)),
                _ => Node::Flow(from.value(row)),
            };
            let node = match nodes.value(row) {
                "step" => Node::Step(to.value(row)),
                _ => Node::Flow(to.value(row)),
            };
            self.edges.push((cause, node));
        }
        Ok(())
    }

    /// Writes them all, in order of time.
    pub(super) fn write(self) -> Result<(), Failed> {
        let Slices { trace, mut items, edges, .. } = self;
        let numbers: FxHashMap<Node, usize> =
            (0..).zip(&items).filter_map(|(number, item)| Some((item.node?, number))).collect();
        let edges: Vec<(usize, usize)> =
            edges.iter().filter_map(|(from, to)| Some((*numbers.get(from)?, *numbers.get(to)?))).collect();
        let ranks = ranks(items.len(), &edges);
        let mut order: Vec<usize> = (0..items.len()).collect();
        // The position last, so that equal items keep one order in every run.
        order.sort_by_key(|item| (items[*item].start, ranks[*item], *item));
        let tracks = tracks(trace, &items, &order)?;
        let (mut out, mut into) =
            (arrows(items.len(), &edges, |e| e.0), arrows(items.len(), &edges, |e| e.1));
        // An end comes before a begin in the same nanosecond, unless it is the end of that slice.
        let mut events: Vec<(u64, Turn, usize, usize)> = Vec::with_capacity(2 * items.len());
        for (place, &item) in order.iter().enumerate() {
            let start = nanoseconds(items[item].start);
            events.push((start, Turn::Begins, place, item));
            if let Some(finish) = items[item].finish.map(nanoseconds) {
                let turn = if finish == start { Turn::EndsAtOnce } else { Turn::Ends };
                events.push((finish, turn, place, item));
            }
        }
        events.sort_unstable();
        for (at, turn, _, number) in events {
            let track = tracks[number];
            if turn != Turn::Begins {
                trace.end(track, at)?;
                continue;
            }
            let item = &mut items[number];
            let slice = Slice {
                name: &item.name,
                args: std::mem::take(&mut item.args),
                arrows_out: std::mem::take(&mut out[number]),
                arrows_in: std::mem::take(&mut into[number]),
            };
            trace.begin(track, at, slice)?;
        }
        Ok(())
    }
}

/// Order of several events of one nanosecond.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Turn {
    Ends,
    Begins,
    EndsAtOnce,
}

/// Numbers of the arrows at each slice, from 1.
fn arrows(slices: usize, edges: &[(usize, usize)], at: fn(&(usize, usize)) -> usize) -> Vec<Vec<u64>> {
    let mut all = vec![Vec::new(); slices];
    for (number, edge) in (1..).zip(edges) {
        all[at(edge)].push(number);
    }
    all
}

/// Rank of each slice, above those of all that it waits for: a reader has to meet the tail of an arrow first.
fn ranks(slices: usize, edges: &[(usize, usize)]) -> Vec<u32> {
    let mut ranks = vec![0; slices];
    if edges.is_empty() {
        return ranks;
    }
    let (mut next, mut left) = (vec![Vec::new(); slices], vec![0u32; slices]);
    for &(from, to) in edges {
        next[from].push(to);
        left[to] += 1;
    }
    // Ranks do not depend on the order in which these are taken.
    let mut ready: Vec<usize> = (0..slices).filter(|slice| left[*slice] == 0).collect();
    while let Some(slice) = ready.pop() {
        for &to in &next[slice] {
            ranks[to] = ranks[to].max(ranks[slice] + 1);
            left[to] -= 1;
            if left[to] == 0 {
                ready.push(to);
            }
        }
    }
    ranks
}

/// A track for each slice, the first of its lane that is free. `order` is that in which they begin.
fn tracks<W: Write>(trace: &mut Writer<W>, items: &[Item], order: &[usize]) -> Result<Vec<Track>, Failed> {
    /// Tracks that are taken with the nanosecond from which they are not, and those that are free.
    #[derive(Default)]
    struct Pool {
        made: Vec<Track>,
        taken: BinaryHeap<Reverse<(u64, usize)>>,
        free: BinaryHeap<Reverse<usize>>,
    }
    let mut pools: FxHashMap<Lane, Pool> = FxHashMap::default();
    let mut chosen: Vec<Option<Track>> = vec![None; items.len()];
    for &number in order {
        let item = &items[number];
        let start = nanoseconds(item.start);
        let pool = pools.entry(item.lane).or_default();
        // The lowest free track is taken, so that there are as few as possible.
        while let Some(Reverse((_, track))) = pool.taken.peek().copied().filter(|one| one.0.0 <= start) {
            pool.taken.pop();
            pool.free.push(Reverse(track));
        }
        let place = match pool.free.pop() {
            Some(Reverse(place)) => place,
            None => {
                pool.made.push(trace.track(item.lane.parent, item.lane.name)?);
                pool.made.len() - 1
            }
        };
        if let Some(finish) = item.finish.map(nanoseconds) {
            // A slice that begins and ends in one nanosecond takes its track for all of it.
            pool.taken.push(Reverse((if finish == start { start + 1 } else { finish }, place)));
        }
        chosen[number] = Some(pool.made[place]);
    }
    // Each has one: `order` holds every slice.
    Ok(chosen.into_iter().flatten().collect())
}
