//! The table `[fabric.memory]`: memory that all ports of a switch share.

use crate::param_values::{param_json, read_params, show_limit};
use crate::text::key::{Key, Takes, key};
use crate::text::{Item, Problem, ScenarioError};
use crate::topology::Topology;
use headway_fabric::{Buffer, Limit, Space};
use headway_network::{
    BuildError, Chip, ChipMemory, FabricSpec, Lossless, Memories, MemoryParams, MemorySpec, Network,
    PfcParams, Surplus,
};
use headway_params::{ParamValue, Params};
use serde_json::{Map, Value as Json, json};

/// Keys of `[fabric.memory]` that are no parameters of one value.
pub const KEYS: &[Key] = &[key(
    "alphas",
    Takes::Numbers,
    "`alpha` for each",
    "the alpha of each class of data, the first first; as many as `classes` says",
)];

/// The key of `[[fabric.at]]` for memory.
pub(crate) const AT_KEY: Key = key(
    "memory_alpha",
    Takes::Number,
    "as in `[fabric.memory]`",
    "part of the free shared memory that a queue of these ports may take",
);

/// Smallest and largest alpha.
const ALPHAS: (f64, f64) = (0.001, 1024.0);

/// Reads the table. Parameters that it leaves out are those of its chip, if it names one.
pub(crate) fn read(item: &Item<'_>) -> Result<MemorySpec, ScenarioError> {
    let table = item.table()?;
    let written = read_params(&table, &MemoryParams::specs())?;
    let conflict = |error: &dyn std::fmt::Display| item.fail(Problem::Contradiction(error.to_string()));
    let mut params = MemoryParams::default();
    if let Some((name, word)) = written.iter().find(|(name, _)| name == "chip") {
        params.set(name, word.clone()).map_err(|error| conflict(&error))?;
    }
    if let Some(memory) = params.chip.memory() {
        (params.size, params.alpha, params.reserve) = (memory.size, memory.alpha, memory.reserve);
    }
    for (name, value) in &written {
        params.set(name, value.clone()).map_err(|error| conflict(&error))?;
    }
    let alphas = match table.get("alphas") {
        None => Vec::new(),
        Some(item) => alphas(&item, params.classes)?,
    };
    if let (Some(own), Some(_)) = (table.get("alpha"), table.get("alphas")) {
        let text = "`alphas` has one for each class".to_string();
        return Err(own.fail(Problem::Contradiction(text)).help("leave one of the two out"));
    }
    if params.size == 0 {
        return Err(match table.get("size") {
            Some(size) => size.range("more than 0", "0 B"),
            None => {
                let problem = Problem::MissingKey { key: "size".into(), table: table.name() };
                let chips = Chip::WORDS[1..].join("\", \"");
                ScenarioError::new(problem, table.at()).help(format!(
                    "say the memory of a switch, size = \"12 MB\", or whose it is, chip = \"{chips}\""
                ))
            }
        });
    }
    table.finish(&PfcParams::specs().iter().map(|spec| spec.name).collect::<Vec<_>>(), None)?;
    Ok(MemorySpec { params, alphas })
}

fn alphas(item: &Item<'_>, classes: u64) -> Result<Vec<f64>, ScenarioError> {
    let list = item.list()?;
    if list.len() as u64 != classes {
        let found = format!("{} numbers", list.len());
        let error = item.range(format!("as many numbers as there are `classes`, {classes}"), found);
        return Err(error.help(format!("say classes = {}, or one alpha for each class", list.len().max(1))));
    }
    list.iter().map(alpha).collect()
}

/// An alpha.
pub(crate) fn alpha(item: &Item<'_>) -> Result<f64, ScenarioError> {
    let (least, most) = ALPHAS;
    match item.number()? {
        alpha if (least..=most).contains(&alpha) => Ok(alpha),
        alpha => Err(item.range(format!("a number from {least} to {most}"), alpha)),
    }
}

/// The buffer of a port whose memory is shared: what is written, the default of a discipline that has one of its own, and else no
/// limit but the memory.
pub(crate) fn own_buffer(made: Buffer, written: Space, memory: &MemorySpec) -> Buffer {
    let data = match written.data {
        None if made.data == headway_fabric::USUAL_LIMIT => Limit::Bytes(memory.params.size),
        _ => made.data,
    };
    Buffer { data, ..made }
}

/// Checks that the memory of each switch is enough for its reserves.
pub(crate) fn check(item: &Item<'_>, topology: &Topology, fabric: &FabricSpec) -> Result<(), ScenarioError> {
    let network = Network::build(&topology.spec, fabric);
    let made = network.and_then(|network| Memories::new(&network));
    made.map(drop).map_err(|error| {
        let failed = item.fail(Problem::Contradiction(error.to_string()));
        match error {
            BuildError::SharedMemory { needed, .. } => failed.help(format!(
                "say more than that, size = \"{} B\", or a smaller `reserve`",
                needed.saturating_add(1 << 20)
            )),
            _ => failed,
        }
    })
}

/// Sentences about the memory of the largest switch: what a port gets alone, and when eight are full.
pub(crate) fn facts(topology: &Topology, fabric: &FabricSpec) -> Vec<String> {
    let Some(spec) = &fabric.memory else { return Vec::new() };
    let network = Network::build(&topology.spec, fabric).ok();
    let Some(memories) = network.and_then(|network| Memories::new(&network).ok().flatten()) else {
        return Vec::new();
    };
    let ports = memories.most_ports();
    let eight = ports.min(8);
    let size = |bytes: u64| show_limit(Limit::Bytes(bytes));
    let of = match spec.params.chip.memory() {
        Some(_) => format!(" of `{}`", spec.params.chip.word()),
        None => String::new(),
    };
    let alpha = spec.alpha_of(1);
    let mut found = vec![format!(
        "memory: {}{of} a switch, alpha {alpha}: one full queue alone holds {}, and each of {eight} full ones {} (ports of the largest switch: {ports})",
        size(spec.params.size),
        size(spec.share_of(ports, 1)),
        size(spec.share_of(ports, eight)),
    )];
    if let Limit::Packets(packets) = fabric.buffer.data {
        found.push(format!(
            "memory: a queue of data holds {packets} packets at the most as well, which the discipline or `fabric.buffer` says"
        ));
    }
    found
}

/// True if a value is that of a chip that is not named, which is not written: scenarios without one keep their digests.
pub(crate) fn is_no_chip(value: &ParamValue) -> bool {
    *value == ParamValue::Choice("none".into())
}

/// Part by which the default memory of a lossless switch may be larger than a chip's before that is said.
const CLOSE: f64 = 1.1;

/// The chip that could be the switch of a network which carries most, with its memory.
pub(crate) fn fitting_chip(topology: &Topology, fabric: &FabricSpec) -> Option<(Chip, ChipMemory)> {
    chip_for(&Network::build(&topology.spec, fabric).ok()?)
}

fn chip_for(network: &Network) -> Option<(Chip, ChipMemory)> {
    let hosts = network.interfaces();
    let mut rates = vec![0u64; network.switches() as usize];
    let mut fastest = 0;
    for link in network.links().iter().filter(|link| link.from >= hosts) {
        let rate = &mut rates[(link.from - hosts) as usize];
        *rate = rate.saturating_add(link.spec.rate.bps());
        fastest = fastest.max(link.spec.rate.bps());
    }
    let gbps = |bps: u64| bps.div_ceil(1_000_000_000);
    Chip::for_capacity(gbps(rates.into_iter().max()?), gbps(fastest))
}

/// A warning where lossless switches have more memory by default than the chip that carries as much.
pub(crate) fn warn_of_default(topology: &Topology, fabric: &FabricSpec) -> Option<String> {
    fabric.pfc.as_ref().filter(|pfc| pfc.buffer == 0 && pfc.chip.memory().is_none())?;
    let network = Network::build(&topology.spec, fabric).ok()?;
    let buffer = Lossless::new(&network, Surplus::default()).ok()??.buffer();
    let (chip, memory) = chip_for(&network)?;
    (buffer as f64 > CLOSE * memory.size as f64).then(|| {
        let (chip, port, size) = (chip.word(), memory.port, memory.size);
        format!(
            "lossless switches have {buffer} B each by default (16 MiB for each 50 Gb/s of the fastest link of a host), and `{chip}`, \
             a chip with ports of {port} Gb/s, has {size} B: set `[fabric.pfc] chip = \"{chip}\"`, or `buffer`, for what hardware could give"
        )
    })
}

/// Every key with its value.
pub(crate) fn to_json(memory: &MemorySpec) -> Json {
    let mut map = Map::new();
    for (spec, value) in MemoryParams::specs().iter().zip(memory.params.values()) {
        if !is_no_chip(&value) {
            map.insert(spec.name.into(), param_json(&value));
        }
    }
    if !memory.alphas.is_empty() {
        map.insert("alphas".into(), json!(memory.alphas));
        map.remove("alpha");
    }
    Json::Object(map)
}
