//! Common parts of readers of several kinds: hosts, sets of hosts, sizes of messages.

use super::Context;
use crate::text::{Item, Origin, Problem, Reader, ScenarioError};
use crate::topology::Topology;
use headway_units::Time;
use rustc_hash::FxHashSet;
use serde_json::{Map, Value as Json, json};

/// A host named by number.
pub(super) fn host(item: &Item<'_>, topology: &Topology) -> Result<u32, ScenarioError> {
    let crate::text::Value::Int(number) = item.value() else {
        return Err(item.wrong("the number of a host"));
    };
    let unknown = || item.fail(Problem::NoSuchHost { host: *number, hosts: u64::from(topology.hosts) });
    u32::try_from(*number).ok().filter(|h| *h < topology.hosts).ok_or_else(unknown)
}

/// Hosts given as a list of numbers, or `first` of them by count.
pub(super) fn host_set(
    item: &Item<'_>,
    topology: &Topology,
    first: impl Fn(u32) -> Option<Vec<u32>>,
) -> Result<Vec<u32>, ScenarioError> {
    if let crate::text::Value::List(_) = item.value() {
        let hosts = item.list()?.iter().map(|i| host(i, topology)).collect::<Result<Vec<_>, _>>()?;
        if hosts.is_empty() {
            return Err(item.range("at least one host", "an empty list"));
        }
        let mut seen = FxHashSet::default();
        if let Some(twice) = hosts.iter().position(|host| !seen.insert(*host)) {
            let problem = Problem::Contradiction(format!("host {} is listed twice", hosts[twice]));
            return Err(ScenarioError::new(problem, element(item, twice)));
        }
        return Ok(hosts);
    }
    let count = item.count()?;
    first(count).ok_or_else(|| {
        let hosts = topology.hosts;
        match (1..=hosts).rev().find(|count| first(*count).is_some()) {
            Some(most) if most == hosts => item.range(format!("from 1 to {most}, the hosts of the network"), count),
            Some(most) => item.range(format!("from 1 to {most}"), count).help(format!(
                "of the {hosts} hosts of the network, {} are taken by others of this entry or stand before them",
                hosts - most
            )),
            None => item
                .range("a list of hosts", count)
                .help("hosts that are counted come after the last of the others, and none is left there"),
        }
    })
}

/// Place of the entry of a list, or of the whole value if it is not a list.
pub(super) fn element<'a>(item: &Item<'a>, index: usize) -> &'a Origin {
    match item.value() {
        crate::text::Value::List(nodes) => nodes.get(index).map_or(item.at(), |node| &node.at),
        _ => item.at(),
    }
}

/// Packets that a message may have.
const MOST_PACKETS: u64 = u32::MAX as u64;

/// The size of a message in bytes.
pub(super) fn message(item: &Item<'_>, context: &Context<'_>) -> Result<u64, ScenarioError> {
    let bytes = item.bytes(1)?;
    check_size(item, bytes, context)?;
    Ok(bytes)
}

pub(super) fn check_size(item: &Item<'_>, bytes: u64, context: &Context<'_>) -> Result<(), ScenarioError> {
    too_long(bytes, context).map_or(Ok(()), |problem| Err(item.fail(problem)))
}

pub(super) fn too_long(bytes: u64, context: &Context<'_>) -> Option<Problem> {
    let packets = context.sizes.packets_of(bytes);
    let text = format!("a message of {bytes} B is {packets} packets, more than can be numbered");
    (packets > MOST_PACKETS).then_some(Problem::Contradiction(text))
}

/// An optional `start`.
pub(super) fn start(table: &Reader<'_>) -> Result<Time, ScenarioError> {
    table.get("start").map_or(Ok(Time::ZERO), |i| i.time())
}

/// An error unless there is a path between every pair of hosts.
pub(super) fn check_reachable(
    at: &Origin,
    topology: &Topology,
    src: u32,
    dst: u32,
) -> Result<(), ScenarioError> {
    if topology.reachable(src, dst) {
        return Ok(());
    }
    let error = ScenarioError::new(Problem::Unreachable { src, dst }, at);
    Err(error.help("the graph is in pieces: no chain of links joins the two"))
}

/// Resolved keys of an entry.
pub(super) type Resolved = Map<String, Json>;

pub(super) fn object(value: Json) -> Resolved {
    match value {
        Json::Object(map) => map,
        other => Map::from_iter([("value".into(), other)]),
    }
}

pub(super) fn hosts_json(hosts: &[u32]) -> Json {
    json!(hosts)
}
