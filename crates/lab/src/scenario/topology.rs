//! The `[topology]` table.

use super::graph;
use crate::text::{Origin, Problem, Reader, ScenarioError, quantity};
use headway_fabric::{Buffer, Limit};
use headway_packet::Sizes;
use headway_sim::{Estimate, FabricSpec, LinkSpec, Routing, RunSpec, TopologySpec};
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
    /// Where its size is written.
    pub size_at: Origin,
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

    /// An estimate, unless it is more than may be taken.
    pub fn refuse_too_big(&self, estimate: Estimate, limit: u64) -> Result<Estimate, ScenarioError> {
        if estimate.memory_bytes <= limit {
            return Ok(estimate);
        }
        let (needed, limit) = (quantity::show_bytes(estimate.memory_bytes), quantity::show_bytes(limit));
        let flows = if estimate.flows > 0 { format!(", {} flows", estimate.flows) } else { String::new() };
        let size = format!("{} hosts, {} links{flows}", estimate.hosts, estimate.links);
        let help = format!("{size}; a larger limit can be set: memory_limit = \"64 GB\"");
        Err(ScenarioError::new(Problem::TooBig { needed, limit }, &self.size_at).help(help))
    }

    /// What the network alone needs, before anything is made for its hosts.
    pub fn estimate(&self) -> Estimate {
        let limit = Limit::Packets(1);
        let fabric = FabricSpec {
            discipline: String::new(),
            params: Vec::new(),
            buffer: Buffer { data: limit, control: limit },
            routing: Routing::Ecmp,
            sizes: Sizes::default(),
            switch_latency: self.switch_latency,
        };
        headway_sim::estimate(&RunSpec {
            topology: self.spec.clone(),
            fabric,
            transports: Vec::new(),
            flows: Vec::new(),
            seed: 0,
            stop: Time::ZERO,
            sample: None,
        })
    }

    /// Refuses a host that is not there.
    pub fn check_host(&self, host: u64) -> Result<u32, Problem> {
        match u32::try_from(host) {
            Ok(h) if h < self.hosts => Ok(h),
            _ => Err(Problem::NoSuchHost { host: host as i64, hosts: u64::from(self.hosts) }),
        }
    }
}

/// Hosts, and how large everything else is for estimates, before anything is built.
struct Size {
    hosts: u64,
    at: Origin,
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
            (loaded.spec, Size { hosts: u64::from(loaded.hosts), at: loaded.at }, loaded.resolved)
        }
    };
    let elsewhere: Vec<&str> = KINDS.iter().flat_map(|k| k.keys).map(|k| k.name).collect();
    table.finish(&elsewhere, Some(format!("kind = \"{}\"", kind.name)))?;
    let hosts = u32::try_from(size.hosts).ok().filter(|h| *h < 1 << 30).ok_or_else(|| {
        let problem = Problem::Topology(format!("{} hosts are more than can be numbered", size.hosts));
        ScenarioError::new(problem, &size.at)
    })?;
    if let Json::Object(map) = &mut resolved {
        map.insert("switch_latency".into(), switch_latency.to_string().into());
    }
    Ok(Topology { kind: kind.name, spec, switch_latency, hosts, size_at: size.at, parts, resolved })
}

type Shape = (TopologySpec, Size, Json);

fn count(table: &Reader<'_>, key: &str) -> Result<(u32, Origin), ScenarioError> {
    let item = table.need(key)?;
    Ok((item.count()?, item.at().clone()))
}

fn larger(a: (u32, Origin), b: (u32, Origin)) -> Origin {
    if b.0 > a.0 { b.1 } else { a.1 }
}

fn link(table: &Reader<'_>, rate: &str, delay: &str) -> Result<LinkSpec, ScenarioError> {
    Ok(LinkSpec { rate: table.need(rate)?.rate()?, delay: table.need(delay)?.time()? })
}

fn link_or(table: &Reader<'_>, rate: &str, delay: &str, or: LinkSpec) -> Result<LinkSpec, ScenarioError> {
    let rate: Option<Rate> = table.get(rate).map(|i| i.rate()).transpose()?;
    let delay: Option<Time> = table.get(delay).map(|i| i.time()).transpose()?;
    Ok(LinkSpec { rate: rate.unwrap_or(or.rate), delay: delay.unwrap_or(or.delay) })
}

fn single_switch(table: &Reader<'_>) -> Result<Shape, ScenarioError> {
    let (hosts, at) = count(table, "hosts")?;
    let link = link(table, "rate", "delay")?;
    let json = json!({ "kind": "single-switch", "hosts": hosts,
        "rate": link.rate.to_string(), "delay": link.delay.to_string() });
    Ok((TopologySpec::SingleSwitch { hosts, link }, Size { hosts: u64::from(hosts), at }, json))
}

fn dumbbell(table: &Reader<'_>) -> Result<Shape, ScenarioError> {
    let (senders, receivers) = (count(table, "senders")?, count(table, "receivers")?);
    let access = link(table, "rate", "delay")?;
    let bottleneck = link_or(table, "bottleneck_rate", "bottleneck_delay", access)?;
    let json = json!({ "kind": "dumbbell", "senders": senders.0, "receivers": receivers.0,
        "rate": access.rate.to_string(), "delay": access.delay.to_string(),
        "bottleneck_rate": bottleneck.rate.to_string(), "bottleneck_delay": bottleneck.delay.to_string() });
    let spec = TopologySpec::Dumbbell { senders: senders.0, receivers: receivers.0, access, bottleneck };
    let hosts = u64::from(senders.0) + u64::from(receivers.0);
    Ok((spec, Size { hosts, at: larger(senders, receivers) }, json))
}

fn parking_lot(table: &Reader<'_>) -> Result<Shape, ScenarioError> {
    let (bottlenecks, each) = (count(table, "bottlenecks")?, count(table, "hosts_per_switch")?);
    let access = link(table, "rate", "delay")?;
    let bottleneck = link_or(table, "bottleneck_rate", "bottleneck_delay", access)?;
    let json = json!({ "kind": "parking-lot", "bottlenecks": bottlenecks.0, "hosts_per_switch": each.0,
        "rate": access.rate.to_string(), "delay": access.delay.to_string(),
        "bottleneck_rate": bottleneck.rate.to_string(), "bottleneck_delay": bottleneck.delay.to_string() });
    let spec =
        TopologySpec::ParkingLot { bottlenecks: bottlenecks.0, hosts_per_switch: each.0, access, bottleneck };
    let hosts = (u64::from(bottlenecks.0) + 1) * u64::from(each.0);
    Ok((spec, Size { hosts, at: larger(bottlenecks, each) }, json))
}

fn leaf_spine(table: &Reader<'_>) -> Result<Shape, ScenarioError> {
    let (racks, each) = (count(table, "racks")?, count(table, "hosts_per_rack")?);
    let spines = count(table, "spines")?;
    let host = link(table, "host_rate", "host_delay")?;
    let spine = link_or(table, "spine_rate", "spine_delay", host)?;
    let json = json!({ "kind": "leaf-spine", "racks": racks.0, "hosts_per_rack": each.0, "spines": spines.0,
        "host_rate": host.rate.to_string(), "spine_rate": spine.rate.to_string(),
        "host_delay": host.delay.to_string(), "spine_delay": spine.delay.to_string() });
    let hosts = u64::from(racks.0) * u64::from(each.0);
    let spec =
        TopologySpec::LeafSpine { racks: racks.0, hosts_per_rack: each.0, spines: spines.0, host, spine };
    Ok((spec, Size { hosts, at: larger(racks, each) }, json))
}

fn fat_tree(table: &Reader<'_>) -> Result<Shape, ScenarioError> {
    let item = table.need("k")?;
    let k = item.int(2, 65_534)?;
    if !k.is_multiple_of(2) {
        return Err(item.range("even", k));
    }
    let each = table.get("hosts_per_edge").map_or(Ok((k / 2) as u32), |i| i.count())?;
    let host = link(table, "host_rate", "host_delay")?;
    let fabric = link_or(table, "fabric_rate", "fabric_delay", host)?;
    let json = json!({ "kind": "fat-tree", "k": k, "hosts_per_edge": each,
        "host_rate": host.rate.to_string(), "fabric_rate": fabric.rate.to_string(),
        "host_delay": host.delay.to_string(), "fabric_delay": fabric.delay.to_string() });
    let hosts = k * (k / 2) * u64::from(each);
    let spec = TopologySpec::FatTree { k: k as u32, hosts_per_edge: each, host, fabric };
    Ok((spec, Size { hosts, at: item.at().clone() }, json))
}
