//! The `[topology]` table.

use super::graph;
use crate::text::{Item, Origin, Problem, Reader, ScenarioError};
use headway_sim::{LinkSpec, TopologySpec};
use headway_units::{Rate, Time};
use serde_json::{Value as Json, json};
use std::path::Path;

/// A kind of topology, for listings and for messages.
pub struct Kind {
    /// Name in scenarios.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Keys with what they take, their default, and what they mean.
    pub keys: &'static [Key],
}

/// A key of a table, for listings.
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// What it takes.
    pub kind: &'static str,
    /// Its default, empty when it must be given.
    pub default: &'static str,
    /// One sentence.
    pub doc: &'static str,
}

const fn key(name: &'static str, kind: &'static str, default: &'static str, doc: &'static str) -> Key {
    Key { name, kind, default, doc }
}

const RATE: Key = key("rate", "rate", "", "of each host's link");
const DELAY: Key = key("delay", "duration", "", "of each host's link, one way");
const BOTTLENECK_RATE: Key = key("bottleneck_rate", "rate", "rate", "of each link between switches");
const BOTTLENECK_DELAY: Key = key("bottleneck_delay", "duration", "delay", "of each link between switches");
const HOST_RATE: Key = key("host_rate", "rate", "", "of each host's link");
const HOST_DELAY: Key = key("host_delay", "duration", "", "of each host's link, one way");
const LATENCY: Key = key("switch_latency", "duration", "0 s", "time a switch takes beyond store-and-forward");

/// Every kind.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "single-switch",
        summary: "hosts around one switch, s0",
        keys: &[key("hosts", "count", "", "how many"), RATE, DELAY, LATENCY],
    },
    Kind {
        name: "dumbbell",
        summary: "senders at s0, receivers at s1, one link between; hosts are numbered senders first",
        keys: &[
            key("senders", "count", "", "hosts at s0"),
            key("receivers", "count", "", "hosts at s1"),
            RATE,
            DELAY,
            BOTTLENECK_RATE,
            BOTTLENECK_DELAY,
            LATENCY,
        ],
    },
    Kind {
        name: "parking-lot",
        summary: "switches in a row; host i * hosts_per_switch + j is at switch s<i>",
        keys: &[
            key("bottlenecks", "count", "", "links between switches, one less than switches"),
            key("hosts_per_switch", "count", "", "hosts at each switch"),
            RATE,
            DELAY,
            BOTTLENECK_RATE,
            BOTTLENECK_DELAY,
            LATENCY,
        ],
    },
    Kind {
        name: "leaf-spine",
        summary: "every leaf joined to every spine; host r * hosts_per_rack + j is at leaf<r>",
        keys: &[
            key("racks", "count", "", "leaves"),
            key("hosts_per_rack", "count", "", "hosts at each leaf"),
            key("spines", "count", "", "spines"),
            HOST_RATE,
            key("spine_rate", "rate", "host_rate", "of each link between leaf and spine"),
            HOST_DELAY,
            key("spine_delay", "duration", "host_delay", "of each link between leaf and spine"),
            LATENCY,
        ],
    },
    Kind {
        name: "fat-tree",
        summary: "k pods of k/2 edge and k/2 aggregation switches under (k/2)^2 cores",
        keys: &[
            key("k", "even count", "", "ports of a switch"),
            key("hosts_per_edge", "count", "k/2", "hosts at each edge switch"),
            HOST_RATE,
            key("fabric_rate", "rate", "host_rate", "of each link between switches"),
            HOST_DELAY,
            key("fabric_delay", "duration", "host_delay", "of each link between switches"),
            LATENCY,
        ],
    },
    Kind {
        name: "graph",
        summary: "any graph, from a TOML file: hosts, switches, link = [{ a, b, rate, delay }, ...]",
        keys: &[key("file", "path", "", "the graph, relative to the scenario"), LATENCY],
    },
];

/// A key that was read, and where its value is written.
#[derive(Clone, Debug)]
pub struct Named {
    /// The key.
    pub key: &'static str,
    /// Its value's place.
    pub at: Origin,
}

impl Named {
    /// The key of an item.
    pub fn of(key: &'static str, item: &Item<'_>) -> Named {
        Named { key, at: item.at().clone() }
    }
}

/// A topology, checked.
#[derive(Clone, Debug)]
pub struct Topology {
    /// Its kind.
    pub kind: &'static str,
    /// What the simulator builds.
    pub spec: TopologySpec,
    /// Time a switch takes beyond store-and-forward.
    pub switch_latency: Time,
    /// Hosts.
    pub hosts: u32,
    /// The key that says most about its size.
    pub size: Named,
    /// Which part of the network each host is in, for graphs that may be in pieces.
    pub parts: Option<Vec<u32>>,
    resolved: Json,
}

impl Topology {
    /// Every key with its value.
    pub fn to_json(&self) -> Json {
        self.resolved.clone()
    }

    /// Whether there is a path between two hosts.
    pub fn reachable(&self, src: u32, dst: u32) -> bool {
        self.parts.as_ref().is_none_or(|parts| parts[src as usize] == parts[dst as usize])
    }

    /// Refuses a host that is not there.
    pub fn check_host(&self, host: u64) -> Result<u32, Problem> {
        match u32::try_from(host) {
            Ok(h) if h < self.hosts => Ok(h),
            _ => Err(Problem::NoSuchHost { host: host as i64, hosts: u64::from(self.hosts) }),
        }
    }
}

/// Hosts, before anything is built, and the key that says most about them.
struct Size {
    hosts: u64,
    named: Named,
}

/// Reads the table; `folder` is where relative paths start.
pub fn read(table: &Reader<'_>, folder: &Path) -> Result<Topology, ScenarioError> {
    let names: Vec<&str> = KINDS.iter().map(|k| k.name).collect();
    let kind = &KINDS[table.need("kind")?.choice(&names)?];
    let switch_latency = table.get("switch_latency").map_or(Ok(Time::ZERO), |i| i.time())?;
    let mut parts = None;
    let (spec, size, mut resolved) = match kind.name {
        "single-switch" => single_switch(table)?,
        "dumbbell" => dumbbell(table)?,
        "parking-lot" => parking_lot(table)?,
        "leaf-spine" => leaf_spine(table)?,
        "fat-tree" => fat_tree(table)?,
        _ => {
            let loaded = graph::read(&table.need("file")?, folder)?;
            parts = Some(loaded.parts);
            (loaded.spec, Size { hosts: u64::from(loaded.hosts), named: loaded.named }, loaded.resolved)
        }
    };
    let elsewhere: Vec<&str> = KINDS.iter().flat_map(|k| k.keys).map(|k| k.name).collect();
    table.finish(&elsewhere, Some(format!("kind = \"{}\"", kind.name)))?;
    let hosts = u32::try_from(size.hosts).ok().filter(|h| *h < 1 << 30).ok_or_else(|| {
        let problem = Problem::Topology(format!("{} hosts are more than can be numbered", size.hosts));
        ScenarioError::new(problem, &size.named.at)
    })?;
    if let Json::Object(map) = &mut resolved {
        map.insert("switch_latency".into(), switch_latency.to_string().into());
    }
    Ok(Topology { kind: kind.name, spec, switch_latency, hosts, size: size.named, parts, resolved })
}

type Shape = (TopologySpec, Size, Json);

/// A number of things, and where it is written.
struct Count {
    n: u32,
    named: Named,
}

fn count(table: &Reader<'_>, key: &'static str) -> Result<Count, ScenarioError> {
    let item = table.need(key)?;
    Ok(Count { n: item.count()?, named: Named::of(key, &item) })
}

fn larger(a: Count, b: Count) -> Named {
    if b.n > a.n { b.named } else { a.named }
}

/// The links of one tier, by the prefix of their keys: `host` for `host_rate` and `host_delay`, nothing for
/// `rate` and `delay`.
fn link(table: &Reader<'_>, tier: &str) -> Result<LinkSpec, ScenarioError> {
    let (rate, delay) = link_keys(tier);
    Ok(LinkSpec { rate: table.need(&rate)?.rate()?, delay: table.need(&delay)?.time()? })
}

/// The same where each of the two may be left out, and is then that of another tier.
fn link_or(table: &Reader<'_>, tier: &str, or: LinkSpec) -> Result<LinkSpec, ScenarioError> {
    let (rate, delay) = link_keys(tier);
    let rate: Option<Rate> = table.get(&rate).map(|i| i.rate()).transpose()?;
    let delay: Option<Time> = table.get(&delay).map(|i| i.time()).transpose()?;
    Ok(LinkSpec { rate: rate.unwrap_or(or.rate), delay: delay.unwrap_or(or.delay) })
}

fn link_keys(tier: &str) -> (String, String) {
    let key = |what: &str| if tier.is_empty() { what.into() } else { format!("{tier}_{what}") };
    (key("rate"), key("delay"))
}

/// Reads the links of hosts and those between switches, which are alike where nothing else is said, and adds
/// both to the keys of the table.
fn two_tiers(
    table: &Reader<'_>,
    (host, inner): (&str, &str),
    mut json: Json,
) -> Result<(LinkSpec, LinkSpec, Json), ScenarioError> {
    let first = link(table, host)?;
    let second = link_or(table, inner, first)?;
    let (keys, inner_keys) = (link_keys(host), link_keys(inner));
    if let Json::Object(map) = &mut json {
        map.insert(keys.0, first.rate.to_string().into());
        map.insert(inner_keys.0, second.rate.to_string().into());
        map.insert(keys.1, first.delay.to_string().into());
        map.insert(inner_keys.1, second.delay.to_string().into());
    }
    Ok((first, second, json))
}

fn single_switch(table: &Reader<'_>) -> Result<Shape, ScenarioError> {
    let Count { n: hosts, named } = count(table, "hosts")?;
    let link = link(table, "")?;
    let json = json!({ "kind": "single-switch", "hosts": hosts,
        "rate": link.rate.to_string(), "delay": link.delay.to_string() });
    Ok((TopologySpec::SingleSwitch { hosts, link }, Size { hosts: u64::from(hosts), named }, json))
}

fn dumbbell(table: &Reader<'_>) -> Result<Shape, ScenarioError> {
    let (left, right) = (count(table, "senders")?, count(table, "receivers")?);
    let (senders, receivers) = (left.n, right.n);
    let json = json!({ "kind": "dumbbell", "senders": senders, "receivers": receivers });
    let (access, bottleneck, json) = two_tiers(table, ("", "bottleneck"), json)?;
    let spec = TopologySpec::Dumbbell { senders, receivers, access, bottleneck };
    let hosts = u64::from(senders) + u64::from(receivers);
    Ok((spec, Size { hosts, named: larger(left, right) }, json))
}

fn parking_lot(table: &Reader<'_>) -> Result<Shape, ScenarioError> {
    let (row, each) = (count(table, "bottlenecks")?, count(table, "hosts_per_switch")?);
    let (bottlenecks, hosts_per_switch) = (row.n, each.n);
    let json =
        json!({ "kind": "parking-lot", "bottlenecks": bottlenecks, "hosts_per_switch": hosts_per_switch });
    let (access, bottleneck, json) = two_tiers(table, ("", "bottleneck"), json)?;
    let spec = TopologySpec::ParkingLot { bottlenecks, hosts_per_switch, access, bottleneck };
    let hosts = (u64::from(bottlenecks) + 1) * u64::from(hosts_per_switch);
    Ok((spec, Size { hosts, named: larger(row, each) }, json))
}

fn leaf_spine(table: &Reader<'_>) -> Result<Shape, ScenarioError> {
    let (leaves, each) = (count(table, "racks")?, count(table, "hosts_per_rack")?);
    let (racks, hosts_per_rack, spines) = (leaves.n, each.n, count(table, "spines")?.n);
    let json = json!({ "kind": "leaf-spine", "racks": racks, "hosts_per_rack": hosts_per_rack,
        "spines": spines });
    let (host, spine, json) = two_tiers(table, ("host", "spine"), json)?;
    let hosts = u64::from(racks) * u64::from(hosts_per_rack);
    let spec = TopologySpec::LeafSpine { racks, hosts_per_rack, spines, host, spine };
    Ok((spec, Size { hosts, named: larger(leaves, each) }, json))
}

fn fat_tree(table: &Reader<'_>) -> Result<Shape, ScenarioError> {
    let item = table.need("k")?;
    let k = item.int(2, 65_534)?;
    if !k.is_multiple_of(2) {
        return Err(item.range("even", k));
    }
    let each = table.get("hosts_per_edge").map_or(Ok((k / 2) as u32), |i| i.count())?;
    let json = json!({ "kind": "fat-tree", "k": k, "hosts_per_edge": each });
    let (host, fabric, json) = two_tiers(table, ("host", "fabric"), json)?;
    let hosts = k * (k / 2) * u64::from(each);
    let spec = TopologySpec::FatTree { k: k as u32, hosts_per_edge: each, host, fabric };
    Ok((spec, Size { hosts, named: Named::of("k", &item) }, json))
}
