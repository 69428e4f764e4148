//! Placement of a job's ranks on hosts.

use super::super::keys::{Key, Takes, key};
use super::super::load::Racks;
use super::super::reading::{Resolved, check_reachable, element, host_set, hosts_json, object};
use super::super::{Context, Making};
use crate::text::error::counted;
use crate::text::{Item, Problem, Reader, ScenarioError, Value};
use crate::topology::Topology;
use crate::workload::random::{Purpose, Stream};
use serde_json::json;

pub(crate) const RANKS: Key = key(
    "ranks",
    Takes::Hosts,
    "all hosts",
    "the hosts of the job, rank by rank; a count means hosts in the order of `placement`",
);
pub(crate) const PLACEMENT: Key = key(
    "placement",
    Takes::Word(&["packed", "scattered", "rails"]),
    "`packed`",
    "order of hosts: by number, at random (one order for all jobs of a run), or one of each rack in turn",
);
pub(crate) const FIRST: Key = key(
    "first",
    Takes::Whole,
    "0",
    "position in that order of the host that is rank 0: jobs with other positions share no host",
);

const PLACEMENTS: [&str; 3] = ["packed", "scattered", "rails"];

/// The ranks of a job.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ranks {
    /// Host of each rank.
    Hosts(Vec<u32>),
    /// A number of hosts of a random order, from a position on.
    Scattered { first: u32, count: u32 },
}

impl Ranks {
    /// Reads `ranks`, `placement` and `first`. There are at least two.
    pub(crate) fn read(
        table: &Reader<'_>,
        context: &Context<'_>,
    ) -> Result<(Ranks, Resolved), ScenarioError> {
        Ranks::read_or(table, context, None)
    }

    /// Reads `ranks`, `placement` and `first`, of which there are `count` by default.
    pub(crate) fn read_or(
        table: &Reader<'_>,
        context: &Context<'_>,
        count: Option<u32>,
    ) -> Result<(Ranks, Resolved), ScenarioError> {
        let (topology, unsaid) = (context.topology, count);
        // A program may be that of one rank.
        let least = unsaid.map_or(2, |count| count.min(2));
        let item = table.get("ranks");
        let (placement_item, first_item) = (table.get("placement"), table.get("first"));
        if let Some(item) = item.as_ref().filter(|item| matches!(item.value(), Value::List(_))) {
            for (key, other) in [("placement", &placement_item), ("first", &first_item)] {
                if let Some(other) = other {
                    let table = "[[traffic]] whose `ranks` are a list".into();
                    return Err(other.fail(Problem::UnusedKey { key: key.into(), table }));
                }
            }
            let hosts = host_set(item, topology, |_| None)?;
            enough(hosts.len() as u64, least, item)?;
            for (index, host) in hosts.iter().enumerate() {
                check_reachable(element(item, index), topology, hosts[0], *host)?;
            }
            let resolved = object(json!({ "ranks": hosts_json(&hosts) }));
            return Ok((Ranks::Hosts(hosts), resolved));
        }
        let placement = placement_item.as_ref().map_or(Ok(0), |item| item.choice(&PLACEMENTS))?;
        let last = u64::from(topology.hosts - 1);
        let first = first_item.as_ref().map_or(Ok(0), |item| item.int(0, last))? as u32;
        let count = match &item {
            None => match unsaid.filter(|count| *count > topology.hosts - first) {
                Some(count) => {
                    let text = format!(
                        "{count} ranks do not fit on {} from host {first} on",
                        counted(u64::from(topology.hosts), "host")
                    );
                    return Err(ScenarioError::new(Problem::Contradiction(text), table.at()));
                }
                None => unsaid.unwrap_or(topology.hosts - first),
            },
            Some(item) => {
                let count = item.count()?;
                let room = topology.hosts - first;
                if count > room {
                    return Err(item.range(format!("at most {room}, the hosts from `first` on"), count));
                }
                count
            }
        };
        match (&item, &first_item) {
            (Some(item), _) | (None, Some(item)) => enough(u64::from(count), least, item)?,
            (None, None) if count < least => {
                let problem = Problem::Contradiction("a job needs two hosts".into());
                return Err(ScenarioError::new(problem, table.at()));
            }
            (None, None) => {}
        }
        for host in 1..topology.hosts {
            check_reachable(table.at(), topology, 0, host)?;
        }
        let resolved = object(json!({ "ranks": count, "placement": PLACEMENTS[placement], "first": first }));
        let some = |order: Vec<u32>| order[first as usize..(first + count) as usize].to_vec();
        let ranks = match (placement, &placement_item) {
            (1, _) => Ranks::Scattered { first, count },
            (2, Some(item)) => Ranks::Hosts(some(rails(topology, item)?)),
            _ => Ranks::Hosts((first..first + count).collect()),
        };
        Ok((ranks, resolved))
    }

    /// Their place in the network.
    pub(crate) fn place(&self, topology: &Topology) -> Place {
        let rails = topology.spec.interfaces() > topology.spec.size().hosts;
        Place { node: self.node(topology), rails }
    }

    /// Ranks of each node, if they are whole racks or nodes of one size, each in order.
    fn node(&self, topology: &Topology) -> Option<u32> {
        let Ranks::Hosts(hosts) = self else { return None };
        let racks = Racks::of(&topology.spec)?;
        let (_, size) = racks.group(*hosts.first()?);
        let mut nodes = hosts.chunks(size as usize);
        let is_whole = |node: &[u32]| {
            let (first, own) = racks.group(node[0]);
            own == size && node.len() as u32 == size && (first..).zip(node).all(|(host, rank)| host == *rank)
        };
        (size > 1 && hosts.len() as u32 > size && nodes.all(is_whole)).then_some(size)
    }

    /// Number of ranks.
    pub(crate) fn count(&self) -> u32 {
        match self {
            Ranks::Hosts(hosts) => hosts.len() as u32,
            Ranks::Scattered { count, .. } => *count,
        }
    }

    /// Host of each rank, or hosts in order where they are drawn in each run.
    pub(crate) fn known_hosts(&self, hosts: u32) -> Vec<u32> {
        match self {
            Ranks::Hosts(own) => own.clone(),
            Ranks::Scattered { .. } => (0..hosts).collect(),
        }
    }

    /// Host of each rank in a run.
    pub(crate) fn hosts(&self, making: &Making<'_>) -> Vec<u32> {
        match self {
            Ranks::Hosts(hosts) => hosts.clone(),
            Ranks::Scattered { first, count } => {
                let mut order: Vec<u32> = (0..making.hosts).collect();
                // One order for all jobs, so that they share no host.
                Stream::new(making.seed, Purpose::Placement, 0).shuffle(&mut order);
                order[*first as usize..(first + count) as usize].to_vec()
            }
        }
    }
}

fn enough(count: u64, least: u32, item: &Item<'_>) -> Result<(), ScenarioError> {
    let few = if least < 2 { "at least one host" } else { "at least two hosts" };
    if count < u64::from(least) { Err(item.range(few, count)) } else { Ok(()) }
}

/// Place of ranks in a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Ranks of each node or rack, if ranks are whole ones in order.
    pub(crate) node: Option<u32>,
    /// True if hosts have several interfaces, so that each has one of its own to the network.
    pub(crate) rails: bool,
}

impl Place {
    /// Ranks of a node; an error for an algorithm of whole nodes if they are none.
    pub(crate) fn needs_node(self, algorithm: &str, table: &Reader<'_>) -> Result<u32, ScenarioError> {
        if let Some(node) = self.node {
            return Ok(node);
        }
        let text = format!("`{algorithm}` takes ranks that are whole nodes or racks, two at least");
        let problem = Problem::Contradiction(text);
        let help = "leave `ranks` and `first` out, or name whole nodes of a topology that has some";
        Err(match table.get("algorithm") {
            Some(item) => item.fail(problem).help(help),
            None => ScenarioError::new(problem, table.at()),
        })
    }

    /// Ranks of a node, each with an interface of its own; 1 elsewhere.
    pub(crate) fn rail_node(self) -> u32 {
        self.node.filter(|_| self.rails).unwrap_or(1)
    }
}

/// The first host of each rack, then the second of each, and so on.
fn rails(topology: &Topology, item: &Item<'_>) -> Result<Vec<u32>, ScenarioError> {
    let Some(racks) = Racks::of(&topology.spec).filter(|racks| racks.bounds.len() > 2) else {
        let text = format!("this topology of kind \"{}\" has no two racks", topology.kind);
        return Err(item.fail(Problem::Contradiction(text)));
    };
    let mut hosts: Vec<u32> = (0..topology.hosts).collect();
    hosts.sort_by_key(|host| {
        let (first, _) = racks.group(*host);
        (host - first, first)
    });
    Ok(hosts)
}
