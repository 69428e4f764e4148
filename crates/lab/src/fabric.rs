//! The `[fabric]` and `[transport]` tables.

use crate::foreign::{self, Foreign};
use crate::param_values::read_params;
pub use crate::param_values::{param_json, show_limit};
use crate::switch_memory;
use crate::text::key::{Key, Takes, key};
use crate::text::{Item, Origin, Problem, Reader, ScenarioError, Value, names};
use crate::topology::{Topology, link_choice};
use headway_fabric::{Buffer, Limit, Space};
use headway_network::{
    BuildError, FabricSpec, Forwarding, Lossless, Network, PfcParams, PortChoice, PortsAt, Routing, Surplus,
    TransportSpec,
};
use headway_packet::Sizes;
use headway_params::{ParamSpec, ParamValue, Params};
use headway_units::Time;
use serde_json::{Map, Value as Json, json};

/// Keys of `[fabric]` that do not belong to a discipline. A default that begins with "depends" is computed from what
/// disciplines and transports declare.
pub const KEYS: &[Key] = &[
    key(
        "discipline",
        Takes::Discipline,
        "the discipline that the transport is designed for",
        "the discipline of every port, on switches and on host links",
    ),
    key("buffer", Takes::Room, "depends on the discipline", "buffer space for data at each switch port"),
    key(
        "control_buffer",
        Takes::Room,
        "depends on the discipline",
        "buffer space for control packets at each switch port, where the discipline has a separate buffer for them. \
         Credits that a discipline shapes have a limit of their own",
    ),
    key(
        "routing",
        Takes::Word(&["ecmp", "spray", "pinned", "symmetric", "weighted-ecmp", "least-queue", "flowlet"]),
        "depends on the transport",
        "choice of a packet's path; see the next table",
    ),
    key(
        "flowlet_gap",
        Takes::Duration,
        "`\"500 us\"` with `routing = \"flowlet\"`",
        "packets of a flow that reach a switch with a shorter pause between them belong to one flowlet",
    ),
    key("payload", Takes::Bytes, "1460", "application bytes of a full packet"),
    key("header", Takes::Bytes, "40", "network and transport header of a data packet"),
    key("framing", Takes::Bytes, "38", "Ethernet header, checksum, preamble and gap"),
    key(
        "control",
        Takes::Bytes,
        "84",
        "size of a whole control packet on the wire, and the minimum size of a data packet",
    ),
    key(
        "forwarding",
        Takes::Word(&["store-and-forward", "cut-through"]),
        "`store-and-forward`",
        "time at which a switch passes a packet on: when all of it has arrived, or its header; see below",
    ),
    key("at", Takes::Tables, "none", "`[[fabric.at]]`: ports that do something else; see below"),
    key(
        "memory",
        Takes::Table,
        "none",
        "`[fabric.memory]`: memory that all ports of a switch share; see below",
    ),
    key("pfc", Takes::Table, "none", "`[fabric.pfc]`: switches that stop links and drop no data; see below"),
];

/// Keys of `[[fabric.at]]` that do not belong to a discipline.
pub const AT_KEYS: &[Key] = &[
    key(
        "links",
        Takes::WordOrNames(&["hosts", "edge", "core", "switches"]),
        "or `switches`",
        "the ports: of hosts, of switches towards hosts, of switches towards switches, of switches, or those of the named \
         links, where `a<->b` means both directions",
    ),
    key("switches", Takes::Names, "or `links`", "the ports: all of these switches"),
    key(
        "discipline",
        Takes::Discipline,
        "as in `[fabric]`",
        "their discipline; its parameters are keys of this table too",
    ),
    key("buffer", Takes::Room, "as in `[fabric]`", "their buffer space for data"),
    key("control_buffer", Takes::Room, "as in `[fabric]`", "their buffer space for control packets"),
    switch_memory::AT_KEY,
];

/// Ways to forward: the value in a scenario.
const FORWARDINGS: [(Forwarding, &str); 2] =
    [(Forwarding::StoreAndForward, "store-and-forward"), (Forwarding::CutThrough, "cut-through")];

/// Words for ports.
const TIERS: [(PortChoice, &str); 4] = [
    (PortChoice::Hosts, "hosts"),
    (PortChoice::Edge, "edge"),
    (PortChoice::Core, "core"),
    (PortChoice::Switches, "switches"),
];

/// The routing modes: the value in a scenario, and how it chooses a packet's path.
pub const MODES: [(Routing, &str, &str); 7] = [
    (Routing::Ecmp, "ecmp", "by a hash of (source, destination, entropy) for each flow"),
    (Routing::Spray, "spray", "at random for each packet"),
    (Routing::Pinned, "pinned", "by the `path` of the flow, or at random for a flow without `path`"),
    (Routing::Symmetric, "symmetric", "by a hash that is the same for both directions of a flow"),
    (
        Routing::Weighted,
        "weighted-ecmp",
        "by the hash of `ecmp`, with next links taken in proportion to their rates as written",
    ),
    (
        Routing::LeastQueue,
        "least-queue",
        "for each packet by what waits at each next port when the packet arrives, the least time to send it first; at random \
         among equals",
    ),
    (
        Routing::Flowlet(FLOWLET_GAP),
        "flowlet",
        "at random for each flowlet at each switch: packets of a flow with pauses shorter than `flowlet_gap`",
    ),
];

/// The pause that ends a flowlet where a scenario does not say. Vanini et al., "LetFlow", NSDI 2017, §5.
const FLOWLET_GAP: Time = Time::us(500);

/// The mode's line in [`MODES`].
fn mode_of(routing: Routing) -> &'static (Routing, &'static str, &'static str) {
    let same = |(mode, ..): &&(Routing, &str, &str)| {
        std::mem::discriminant(mode) == std::mem::discriminant(&routing)
    };
    MODES.iter().find(same).unwrap_or(&MODES[0])
}

/// The value of a routing mode in a scenario.
pub(crate) fn routing_name(routing: Routing) -> &'static str {
    mode_of(routing).1
}

/// Names of the routing modes.
pub const ROUTINGS: &[&str] =
    &[MODES[0].1, MODES[1].1, MODES[2].1, MODES[3].1, MODES[4].1, MODES[5].1, MODES[6].1];

/// Reads `[transport]`, or a traffic entry's `transport`: a name, or a table with a name and parameters.
pub fn transport(item: &Item<'_>, foreign: &[Foreign]) -> Result<TransportSpec, ScenarioError> {
    if let Value::Text(name) = item.value() {
        find_transport(item, name, foreign)?;
        return Ok(TransportSpec::new(name.clone(), Vec::new()));
    }
    let table = item.table()?;
    let name_item = table.need("name")?;
    let name = name_item.text()?;
    let specs = find_transport(&name_item, name, foreign)?;
    let params = read_params(&table, &specs)?;
    let all = headway_transport::registry::all_entries();
    let elsewhere: Vec<&str> = all.iter().flat_map(|e| &e.params).map(|p| p.name).collect();
    table.finish(&elsewhere, Some(format!("name = \"{name}\"")))?;
    Ok(TransportSpec::new(name, params))
}

fn find_transport(item: &Item<'_>, name: &str, foreign: &[Foreign]) -> Result<Vec<ParamSpec>, ScenarioError> {
    foreign::find(name, foreign).map(|known| known.params).ok_or_else(|| {
        let problem = Problem::NoSuchName { what: "transport", name: name.into() };
        item.fail(problem).maybe_help(names::name_suggestion(name, foreign::names(foreign)))
    })
}

/// The discipline that all of these transports want. When they disagree, the error is at `table`, where `[fabric]` is, or
/// without it at the place of the first transport that wants another one than the first.
fn own_discipline(
    transports: &[TransportSpec],
    foreign: &[Foreign],
    table: Option<&Origin>,
    place: &dyn Fn(usize) -> Origin,
) -> Result<String, ScenarioError> {
    let wanted =
        |t: &TransportSpec| foreign::find(&t.name, foreign).map_or(String::new(), |known| known.discipline);
    let Some(first) = transports.first() else { return Ok(headway_fabric::registry::USUAL.into()) };
    let discipline = wanted(first);
    if let Some((number, other)) = transports.iter().enumerate().find(|(_, t)| wanted(t) != discipline) {
        let message = format!(
            "`{}` is meant to run over `{discipline}` and `{}` over `{}`",
            first.name,
            other.name,
            wanted(other)
        );
        let at = table.cloned().unwrap_or_else(|| place(number));
        let error = ScenarioError::new(Problem::Contradiction(message), &at);
        return Err(error.help("say which one the switches run: [fabric] discipline = \"...\""));
    }
    Ok(discipline)
}

/// The links of a topology with ports that do nothing but send, before `[fabric]` is read.
pub(crate) fn plain_fabric(topology: &Topology, sizes: Sizes, routing: Routing) -> FabricSpec {
    FabricSpec {
        discipline: String::new(),
        params: Vec::new(),
        buffer: Buffer { data: Limit::Packets(1), control: Limit::Packets(1) },
        routing,
        bonded: false,
        altered: topology.altered.clone(),
        sizes,
        switch_latency: topology.switch_latency,
        at: Vec::new(),
        forwarding: headway_network::Forwarding::StoreAndForward,
        host_queue: None,
        pfc: None,
        memory: None,
    }
}

/// Reads `[fabric]`; without the table, everything has its default. `place` is where each transport is named.
pub fn read(
    table: Option<&Reader<'_>>,
    transports: &[TransportSpec],
    foreign: &[Foreign],
    topology: &Topology,
    at: &Origin,
    place: &dyn Fn(usize) -> Origin,
) -> Result<FabricSpec, ScenarioError> {
    let mut spec = plain_fabric(topology, Sizes::default(), own_routing(transports));
    let multipath = |t: &TransportSpec| {
        headway_transport::registry::capabilities(&t.name).is_some_and(|declared| declared.multipath)
    };
    spec.bonded = transports.iter().any(multipath);
    let Some(table) = table else {
        spec.discipline = own_discipline(transports, foreign, None, place)?;
        spec.buffer = buffer(&spec, Space::default(), at)?;
        return Ok(spec);
    };
    spec.discipline = match table.get("discipline") {
        None => own_discipline(transports, foreign, Some(table.at()), place)?,
        Some(item) => discipline(&item)?,
    };
    let space = space(table)?;
    let (sizes, routing) = sizes_and_routing(Some(table))?;
    (spec.sizes, spec.routing) = (sizes, routing.unwrap_or(spec.routing));
    spec.bonded |= spec.routing.divides_flows();
    let found = headway_fabric::registry::find(&spec.discipline);
    spec.params = read_params(table, &found.map(|(_, specs)| specs).unwrap_or_default())?;
    spec.buffer = buffer(&spec, space, table.at())?;
    if let Some(item) = table.get("pfc") {
        no_own_buffer(table)?;
        spec.pfc = Some(pfc(&item)?);
        let network = Network::build(&topology.spec, &spec).map_err(|error| no_pfc(&item, &error))?;
        let lossless = Lossless::new(&network, Surplus::default()).map_err(|error| no_pfc(&item, &error))?;
        let memory = lossless.map_or(0, |lossless| lossless.buffer());
        // The switch limits the data that may wait at a port; control waits as long as it has to.
        spec.buffer.data = Limit::Bytes(memory);
        spec.buffer.control = space.control.unwrap_or(Limit::Packets(u32::MAX));
    }
    let memory = table.get("memory");
    if let Some(item) = &memory {
        if spec.pfc.is_some() {
            let text = "lossless switches have their memory by [fabric.pfc]".to_string();
            let error = item.fail(Problem::Contradiction(text));
            return Err(error.help("a chip's is [fabric.pfc] chip = \"...\""));
        }
        let memory = switch_memory::read(item)?;
        spec.buffer = switch_memory::own_buffer(spec.buffer, space, &memory);
        spec.memory = Some(memory);
    }
    if let Some(item) = table.get("forwarding") {
        spec.forwarding = FORWARDINGS[item.choice(&FORWARDINGS.map(|(_, name)| name))?].0;
    }
    let some = table.get("at");
    finish(table, &spec.discipline)?;
    if let Some(item) = some {
        let list = item.list().map_err(|e| e.help("ports are a list of tables: write [[fabric.at]]"))?;
        spec.at = list.iter().map(|item| ports(item, &spec, space, topology)).collect::<Result<_, _>>()?;
    }
    if let Some(item) = &memory {
        switch_memory::check(item, topology, &spec)?;
    }
    Ok(spec)
}

/// Parses the table `[fabric.pfc]`.
fn pfc(item: &Item<'_>) -> Result<PfcParams, ScenarioError> {
    let table = item.table()?;
    let mut params = PfcParams::default();
    for (name, value) in read_params(&table, &PfcParams::specs())? {
        params.set(&name, value).map_err(|e| item.fail(Problem::Contradiction(e.to_string())))?;
    }
    let both = params.headroom > 0 && params.headroom_products > 0.0;
    if let (Some(item), true) = (table.get("headroom_products"), both) {
        let text = "`headroom` says the bytes already".into();
        return Err(item.fail(Problem::Contradiction(text)).help("leave one of the two out"));
    }
    table.finish(&[], None)?;
    Ok(params)
}

/// Why switches cannot be lossless.
pub(crate) fn no_pfc(item: &Item<'_>, error: &BuildError) -> ScenarioError {
    let failed = item.fail(Problem::Contradiction(error.to_string()));
    match error {
        BuildError::Memory { needed, .. } => failed.help(format!(
            "say more than that: [fabric.pfc] buffer = \"{} B\", or less headroom by shorter links, or fewer classes",
            needed.saturating_add(1 << 20)
        )),
        _ => failed,
    }
}

/// Ports of lossless switches share the memory of the switch.
fn no_own_buffer(table: &Reader<'_>) -> Result<(), ScenarioError> {
    let Some(item) = table.get("buffer") else { return Ok(()) };
    let text = "ports of lossless switches have no `buffer` of their own".into();
    Err(item.fail(Problem::Contradiction(text)).help("the memory of a switch is `buffer` of [fabric.pfc]"))
}

/// Refuses the remaining keys of a table that has the keys of a discipline.
fn finish(table: &Reader<'_>, discipline: &str) -> Result<(), ScenarioError> {
    let all = headway_fabric::registry::all();
    let elsewhere: Vec<&str> = all.iter().flat_map(|(_, specs)| specs).map(|p| p.name).collect();
    table.finish(&elsewhere, Some(format!("discipline = \"{discipline}\"")))
}

fn discipline(item: &Item<'_>) -> Result<String, ScenarioError> {
    let known = headway_fabric::registry::NAMES;
    let name = item.text()?;
    if !known.contains(&name) {
        let problem = Problem::NoSuchName { what: "port discipline", name: name.into() };
        return Err(item.fail(problem).maybe_help(names::name_suggestion(name, known.iter().copied())));
    }
    Ok(name.into())
}

fn space(table: &Reader<'_>) -> Result<Space, ScenarioError> {
    let limit = |key| table.get(key).map(|item| positive(&item)).transpose();
    Ok(Space { data: limit("buffer")?, control: limit("control_buffer")? })
}

/// Reads one table of `[[fabric.at]]`. Keys that it leaves out are as in `[fabric]`, or as another discipline has it by
/// itself.
fn ports(
    item: &Item<'_>,
    fabric: &FabricSpec,
    written: Space,
    topology: &Topology,
) -> Result<PortsAt, ScenarioError> {
    let table = item.table()?;
    let network = Network::build(&topology.spec, fabric);
    let links = || network.as_ref().map(Network::link_names).unwrap_or_default();
    let switches = || network.as_ref().map(Network::switch_names).unwrap_or_default();
    let (ports, at) = match (table.get("links"), table.get("switches")) {
        (Some(_), Some(other)) => {
            let problem = Problem::Contradiction("`links` and `switches` in one [[fabric.at]]".into());
            return Err(other.fail(problem).help("they are two tables"));
        }
        (None, Some(item)) => (PortChoice::Of(link_choice::switches(&item, &switches)?), item),
        (Some(item), None) => match item.value() {
            Value::Text(_) => (TIERS[item.choice(&TIERS.map(|(_, name)| name))?].0.clone(), item),
            Value::List(_) => (PortChoice::Links(link_choice::directed(&item, &links())?), item),
            _ => return Err(item.wrong("a word such as \"core\", or a list of links")),
        },
        (None, None) => {
            let problem = Problem::MissingKey { key: "links".into(), table: table.name() };
            let words = TIERS.map(|(_, name)| format!("\"{name}\"")).join(", ");
            return Err(
                ScenarioError::new(problem, table.at()).help(format!("say which ports: {words}, or names"))
            );
        }
    };
    if let Ok(network) = &network
        && network.ports(&ports).is_ok_and(|found| found.is_empty())
    {
        return Err(at.fail(Problem::Contradiction("the network has no such port".into())));
    }
    let asked = table.asked().len();
    let same = table.get("discipline").map(|item| discipline(&item)).transpose()?;
    let same = same.filter(|name| *name != fabric.discipline);
    let (name, mut params) = match same {
        Some(other) => (other, Vec::new()),
        None => (fabric.discipline.clone(), fabric.params.clone()),
    };
    if fabric.pfc.is_some() {
        no_own_buffer(&table)?;
    }
    let own = space(&table)?;
    let space = Space { data: own.data.or(written.data), control: own.control.or(written.control) };
    let found = headway_fabric::registry::find(&name);
    for (key, value) in read_params(&table, &found.map(|(_, specs)| specs).unwrap_or_default())? {
        params.retain(|(other, _)| *other != key);
        params.push((key, value));
    }
    let alpha = table.get("memory_alpha");
    if let (Some(item), None) = (&alpha, &fabric.memory) {
        let table = "[[fabric.at]] without [fabric.memory]".to_string();
        return Err(item.fail(Problem::UnusedKey { key: "memory_alpha".into(), table }));
    }
    let alpha = alpha.as_ref().map(switch_memory::alpha).transpose()?;
    finish(&table, &name)?;
    if table.asked()[asked..].iter().all(|key| table.get(key).is_none()) {
        let problem = Problem::Contradiction("these ports are to do nothing else than the others".into());
        return Err(item.fail(problem).help("set a discipline, a buffer, or a parameter of the discipline"));
    }
    let spec =
        FabricSpec { discipline: name.clone(), params: params.clone(), at: Vec::new(), ..fabric.clone() };
    let mut buffer = buffer(&spec, space, table.at())?;
    if let Some(memory) = &fabric.memory {
        buffer = switch_memory::own_buffer(buffer, space, memory);
    }
    if fabric.pfc.is_some() {
        let control = space.control.unwrap_or(fabric.buffer.control);
        buffer = Buffer { data: fabric.buffer.data, control };
        if !headway_fabric::registry::is_holdable(&name) {
            let text = format!(
                "ports of lossless switches cannot have the discipline `{name}`: it cannot be stopped class by class"
            );
            return Err(at.fail(Problem::Contradiction(text)));
        }
    }
    Ok(PortsAt { ports, buffer, discipline: name, params, alpha })
}

/// Buffer space: as the scenario asks for, and the discipline's own for the rest.
fn buffer(spec: &FabricSpec, space: Space, at: &Origin) -> Result<Buffer, ScenarioError> {
    let made = headway_fabric::registry::buffer(&spec.discipline, &spec.params, &spec.sizes, space);
    let wrong = |reason: String| ScenarioError::new(Problem::Contradiction(reason), at);
    made.ok_or_else(|| wrong(format!("there is no port discipline `{}`", spec.discipline)))?
        .map_err(|e| wrong(e.to_string()))
}

/// Choice of paths by switches unless the scenario sets it: by a hash, the same in both directions where
/// one of the transports needs that.
fn own_routing(transports: &[TransportSpec]) -> Routing {
    let symmetric = |t: &TransportSpec| {
        headway_transport::registry::capabilities(&t.name).is_some_and(|declared| declared.symmetric)
    };
    if transports.iter().any(symmetric) { Routing::Symmetric } else { Routing::Ecmp }
}

/// Packet sizes and routing, if the scenario says: traffic depends on them.
pub fn sizes_and_routing(table: Option<&Reader<'_>>) -> Result<(Sizes, Option<Routing>), ScenarioError> {
    let Some(table) = table else { return Ok((Sizes::default(), None)) };
    let mut routing = table.get("routing").map(|item| Ok(MODES[item.choice(ROUTINGS)?].0)).transpose()?;
    if let Some(item) = table.get("flowlet_gap") {
        let Some(Routing::Flowlet(gap)) = &mut routing else {
            let with =
                routing.map_or("no `routing`".into(), |mode| format!("routing = \"{}\"", mode_of(mode).1));
            let table = format!("{} with {with}", table.name());
            let error = item.fail(Problem::UnusedKey { key: "flowlet_gap".into(), table });
            return Err(error.help("flowlets are made with routing = \"flowlet\""));
        };
        *gap = item.time()?;
    }
    Ok((sizes(table)?, routing))
}

/// Room for one packet or one byte at least.
pub(crate) fn positive(item: &Item<'_>) -> Result<Limit, ScenarioError> {
    match item.limit()? {
        Limit::Packets(0) | Limit::Bytes(0) => Err(item.range("more than 0", "0")),
        limit => Ok(limit),
    }
}

fn sizes(table: &Reader<'_>) -> Result<Sizes, ScenarioError> {
    let mut sizes = Sizes::default();
    let fields = [
        ("payload", &mut sizes.payload, 1),
        ("header", &mut sizes.header, 0),
        ("framing", &mut sizes.framing, 0),
        ("control", &mut sizes.control, 1),
    ];
    for (key, field, min) in fields {
        if let Some(item) = table.get(key) {
            // Three sizes add up on the wire, which has 16 bits.
            *field = item.bytes_up_to(min, 16_384)? as u16;
        }
    }
    Ok(sizes)
}

/// Every key of the fabric with its value.
pub fn fabric_json(spec: &FabricSpec) -> Json {
    let mut map = Map::new();
    let known = headway_fabric::registry::find(&spec.discipline).map(|(_, specs)| specs).unwrap_or_default();
    map.insert("discipline".into(), spec.discipline.as_str().into());
    map.insert("buffer".into(), show_limit(spec.buffer.data).into());
    map.insert("control_buffer".into(), show_limit(spec.buffer.control).into());
    map.insert("routing".into(), mode_of(spec.routing).1.into());
    if let Routing::Flowlet(gap) = spec.routing {
        map.insert("flowlet_gap".into(), gap.to_string().into());
    }
    map.insert("payload".into(), spec.sizes.payload.into());
    map.insert("header".into(), spec.sizes.header.into());
    map.insert("framing".into(), spec.sizes.framing.into());
    map.insert("control".into(), spec.sizes.control.into());
    params_json(&mut map, &known, &spec.params);
    // Only if it is set: this identifies runs, and those of most scenarios must keep their digests.
    if spec.forwarding != Forwarding::StoreAndForward {
        let name = FORWARDINGS.iter().find(|(way, _)| *way == spec.forwarding).map_or("", |(_, name)| name);
        map.insert("forwarding".into(), name.into());
    }
    if let Some(pfc) = &spec.pfc {
        let mut own = Map::new();
        for (spec, value) in PfcParams::specs().iter().zip(pfc.values()) {
            if !switch_memory::is_no_chip(&value) {
                own.insert(spec.name.into(), param_json(&value));
            }
        }
        map.insert("pfc".into(), Json::Object(own));
    }
    if let Some(memory) = &spec.memory {
        map.insert("memory".into(), switch_memory::to_json(memory));
    }
    if !spec.at.is_empty() {
        map.insert("at".into(), spec.at.iter().map(ports_json).collect());
    }
    Json::Object(map)
}

fn ports_json(at: &PortsAt) -> Json {
    let mut map = Map::new();
    match &at.ports {
        PortChoice::Links(names) => map.insert("links".into(), json!(names)),
        PortChoice::Of(names) => map.insert("switches".into(), json!(names)),
        tier => {
            let name = TIERS.iter().find(|(one, _)| one == tier).map_or("", |(_, name)| name);
            map.insert("links".into(), name.into())
        }
    };
    let known = headway_fabric::registry::find(&at.discipline).map(|(_, specs)| specs).unwrap_or_default();
    map.insert("discipline".into(), at.discipline.as_str().into());
    map.insert("buffer".into(), show_limit(at.buffer.data).into());
    map.insert("control_buffer".into(), show_limit(at.buffer.control).into());
    params_json(&mut map, &known, &at.params);
    if let Some(alpha) = at.alpha {
        map.insert("memory_alpha".into(), alpha.into());
    }
    Json::Object(map)
}

/// Every key of a transport with its value.
pub fn transport_json(choice: &TransportSpec, foreign: &[Foreign]) -> Json {
    let mut map = Map::new();
    map.insert("name".into(), choice.name.as_str().into());
    if let Some(foreign) = foreign.iter().find(|foreign| foreign.name == choice.name) {
        map.insert("source".into(), foreign.source.as_str().into());
    }
    for (name, value) in foreign::settings(choice, foreign) {
        map.insert(name.into(), param_json(&value));
    }
    Json::Object(map)
}

fn params_json(map: &mut Map<String, Json>, specs: &[ParamSpec], set: &[(String, ParamValue)]) {
    for spec in specs {
        let value = set.iter().find(|(name, _)| name == spec.name).map_or(&spec.default, |(_, v)| v);
        map.insert(spec.name.into(), param_json(value));
    }
}
