//! The `[topology]` table: whatever kinds of topology there are, key by key as they are declared.

use crate::text::{Item, Origin, Problem, Reader, ScenarioError};
use headway_network::topology::{Graph, Info, KINDS, Key, Kind, SWITCH_LATENCY, Usual, Value, Values};
use headway_network::{Altered, TopologySpec};
use headway_units::Time;
use serde_json::{Map, Value as Json, json};
use std::path::Path;

pub mod found;
pub mod graph;
pub mod htsim;
pub mod layout;
pub(crate) mod link_choice;
pub mod ns3;
mod words;

/// Key of the links that differ, which every kind takes.
pub(crate) const LINK: &str = "link";
/// Description of it.
pub(crate) const LINK_DOC: &str =
    "links with another rate or delay: `links` (names, `*` for any characters), `rate`, `delay`";

/// A key that was read, and where its value is written.
#[derive(Clone, Debug)]
pub struct Named {
    /// The key; several are written with "` and `" between.
    pub key: String,
    /// Its value's place.
    pub at: Origin,
}

impl Named {
    /// The key of an item.
    pub fn of(key: &str, item: &Item<'_>) -> Named {
        Named { key: key.into(), at: item.at().clone() }
    }
}

/// A topology, checked.
#[derive(Clone, Debug)]
pub struct Topology {
    /// Name of the kind of topology.
    pub kind: &'static str,
    /// Specification that the simulator builds.
    pub spec: TopologySpec,
    /// Time a switch takes beyond store-and-forward.
    pub switch_latency: Time,
    /// Number of hosts.
    pub hosts: u32,
    /// The key that says most about its size.
    pub size: Named,
    /// Parts of the network that each host is in, for graphs that may be in pieces.
    pieces: Option<Vec<Vec<u32>>>,
    /// Host of each node of its file, if that numbers hosts and switches together.
    pub nodes: Option<Vec<Option<u32>>>,
    /// Links that differ from what the kind says.
    pub altered: Vec<Altered>,
    /// Names of the links on which its file says that packets are lost, both directions, with the probability.
    pub losses: Vec<(Vec<String>, f64)>,
    /// Assumptions about its file.
    pub notes: Vec<String>,
    resolved: Json,
}

impl Topology {
    /// Every key with its value.
    pub fn to_json(&self) -> Json {
        self.resolved.clone()
    }

    /// True if there is a path between two hosts.
    pub fn reachable(&self, src: u32, dst: u32) -> bool {
        let share = |pieces: &Vec<Vec<u32>>| {
            pieces[src as usize].iter().any(|piece| pieces[dst as usize].contains(piece))
        };
        self.pieces.as_ref().is_none_or(share)
    }

    /// Refuses a host that does not exist.
    pub fn check_host(&self, host: u64) -> Result<u32, Problem> {
        match u32::try_from(host) {
            Ok(h) if h < self.hosts => Ok(h),
            _ => Err(Problem::NoSuchHost { host: host as i64, hosts: u64::from(self.hosts) }),
        }
    }
}

/// Reads the table; `folder` is where relative paths start.
pub fn read(table: &Reader<'_>, folder: &Path) -> Result<Topology, ScenarioError> {
    let names: Vec<&str> = KINDS.iter().map(|(info, _)| info.name).collect();
    let (info, make) = &KINDS[table.need("kind")?.choice(&names)?];
    let mut keys = Keys::new(table, info, folder);
    keys.key(&SWITCH_LATENCY)?;
    let Value::Duration(switch_latency) = *keys.values.get(SWITCH_LATENCY.name) else { unreachable!() };
    for key in info.keys {
        keys.key(key)?;
    }
    let altered = table.get(LINK);
    // A key of another kind of topology is not unknown, but has no effect here.
    let elsewhere: Vec<&str> = KINDS.iter().flat_map(|(info, _)| info.all_keys()).map(|k| k.name).collect();
    table.finish(&elsewhere, Some(format!("kind = \"{}\"", info.name)))?;
    let (spec, size) = (make(&keys.values), keys.size());
    let hosts = spec.size().hosts;
    let hosts = u32::try_from(hosts).ok().filter(|h| *h < 1 << 30).ok_or_else(|| {
        let problem = Problem::Topology(format!("{hosts} hosts are more than can be numbered"));
        ScenarioError::new(problem, &size.at)
    })?;
    let mut resolved = keys.resolved;
    // It was read first, and has always been written last.
    if let Some(latency) = resolved.shift_remove(SWITCH_LATENCY.name) {
        resolved.insert(SWITCH_LATENCY.name.into(), latency);
    }
    let altered = altered.map_or(Ok(Vec::new()), |item| altered_links(&item, &spec, &mut resolved))?;
    let pieces = spec.pieces();
    let (nodes, notes) = (keys.nodes, keys.notes);
    let name = |node: u32| found::name(node, hosts);
    let mut losses: Vec<(Vec<String>, f64)> = Vec::new();
    for (a, b, share) in keys.losses {
        let links = [format!("{}->{}", name(a), name(b)), format!("{}->{}", name(b), name(a))];
        // Links of equal probability make one fault together.
        match losses.iter_mut().find(|(_, known)| known.to_bits() == share.to_bits()) {
            Some((names, _)) => names.extend(links),
            None => losses.push((links.to_vec(), share)),
        }
    }
    let resolved = resolved.into();
    Ok(Topology {
        kind: info.name,
        spec,
        switch_latency,
        hosts,
        size,
        pieces,
        nodes,
        altered,
        losses,
        notes,
        resolved,
    })
}

/// Links that differ: `[[topology.link]]` with their names, and the rate or delay of each.
fn altered_links(
    item: &Item<'_>,
    spec: &TopologySpec,
    resolved: &mut Map<String, Json>,
) -> Result<Vec<Altered>, ScenarioError> {
    let names = spec.link_names().map_err(|error| item.fail(Problem::Topology(error.to_string())))?;
    let (mut altered, mut rows) = (Vec::<Altered>::new(), Vec::new());
    for item in item.list()? {
        let table = item.table()?;
        let links = table.need("links")?;
        let chosen = link_choice::directed(&links, &names)?;
        let rate = table.get("rate").map(|item| item.rate()).transpose()?;
        let delay = table.get("delay").map(|item| item.time()).transpose()?;
        table.finish(&[], None)?;
        if chosen.is_empty() {
            return Err(links.range("at least one link", "an empty list"));
        }
        if rate.is_none() && delay.is_none() {
            let problem = Problem::Contradiction("these links do not differ from the others".into());
            return Err(item.fail(problem).help("set `rate` or `delay`"));
        }
        if let Some(twice) = chosen.iter().find(|name| altered.iter().any(|other| other.names.contains(name)))
        {
            let problem = Problem::Contradiction(format!("link `{twice}` is in two [[topology.link]]"));
            return Err(links.fail(problem));
        }
        let written: Result<Vec<&str>, ScenarioError> = links.list()?.iter().map(|one| one.text()).collect();
        let mut row = Map::new();
        row.insert("links".into(), json!(written?));
        row.extend(rate.map(|rate| ("rate".into(), rate.to_string().into())));
        row.extend(delay.map(|delay| ("delay".into(), delay.to_string().into())));
        rows.push(Json::Object(row));
        altered.push(Altered { names: chosen, rate, delay });
    }
    resolved.insert(LINK.into(), rows.into());
    Ok(altered)
}

/// The keys of a table as they are read.
struct Keys<'a, 'b> {
    table: &'a Reader<'b>,
    info: &'a Info,
    folder: &'a Path,
    values: Values,
    resolved: Map<String, Json>,
    /// Keys that say most about the size of the topology, with their values.
    sizes: Vec<(u32, Named)>,
    /// Hosts of the file's nodes: see [`Topology`].
    nodes: Option<Vec<Option<u32>>>,
    losses: Vec<(u32, u32, f64)>,
    notes: Vec<String>,
}

impl<'a, 'b> Keys<'a, 'b> {
    fn new(table: &'a Reader<'b>, info: &'a Info, folder: &'a Path) -> Self {
        let mut resolved = Map::new();
        resolved.insert("kind".into(), info.name.into());
        let (sizes, losses, notes) = (Vec::new(), Vec::new(), Vec::new());
        Keys { table, info, folder, values: Values::default(), resolved, sizes, nodes: None, losses, notes }
    }

    fn key(&mut self, key: &Key) -> Result<(), ScenarioError> {
        let item = match key.usual {
            Usual::Needed => Some(self.table.need(key.name)?),
            Usual::As(_) | Usual::Zero(_) | Usual::Count(..) => self.table.get(key.name),
        };
        let value = match (&item, key.usual) {
            (Some(item), _) => self.value(key, item)?,
            (None, Usual::As(other)) => self.values.get(other).clone(),
            // Computed from the keys before it, which are read in the order of their declaration.
            (None, Usual::Count(_, of)) => Value::Count(of(&self.values)),
            (None, Usual::Zero(_) | Usual::Needed) => Value::Duration(Time::ZERO),
        };
        match &value {
            Value::Count(n) => drop(self.resolved.insert(key.name.into(), (*n).into())),
            Value::Rate(rate) => drop(self.resolved.insert(key.name.into(), rate.to_string().into())),
            Value::Duration(time) => drop(self.resolved.insert(key.name.into(), time.to_string().into())),
            Value::Graph { .. } => {}
        }
        if let (Some(item), Value::Count(n), true) = (&item, &value, self.info.size.contains(&key.name)) {
            self.sizes.push((*n, Named::of(key.name, item)));
        }
        self.values.put(key.name, value);
        Ok(())
    }

    fn value(&mut self, key: &Key, item: &Item<'_>) -> Result<Value, ScenarioError> {
        Ok(match key.kind {
            Kind::Count => Value::Count(item.count()?),
            Kind::EvenCount => match item.int(2, 65_534)? {
                n if n.is_multiple_of(2) => Value::Count(n as u32),
                odd => return Err(item.range("even", odd)),
            },
            Kind::Rate => Value::Rate(item.rate()?),
            Kind::Duration => Value::Duration(item.time()?),
            Kind::Graph => {
                let found = graph::read(item, self.folder)?;
                self.resolved.extend(found.resolved);
                (self.nodes, self.losses, self.notes) = (found.nodes, found.losses, found.notes);
                let Graph { hosts, switches, links, back } = found.graph;
                self.sizes.push((hosts, Named { key: self.info.size.join("` and `"), at: found.at }));
                Value::Graph { hosts, switches, links, back }
            }
        })
    }

    /// The largest of the keys that say most about the size, the first of those that are alike.
    fn size(&self) -> Named {
        // Reversed, because the last of equals is taken.
        let largest = self.sizes.iter().rev().max_by_key(|(n, _)| *n);
        largest.map_or_else(
            || Named { key: "kind".into(), at: self.table.at().clone() },
            |(_, named)| named.clone(),
        )
    }
}
