//! The `[sample]` table and the names of links.

use crate::text::{Item, Origin, Problem, Reader, ScenarioError, Value, names};
use crate::topology::Topology;
use crate::topology::link_choice::check_link;
use headway_network::{LinkChoice, ProbeChoice, TransportSpec};
use headway_transport::registry;
use headway_units::Time;
use serde_json::{Value as Json, json};

/// Flows to sample, by the names they will have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flows {
    /// No flow is sampled.
    None,
    /// Every flow is sampled.
    All,
    /// These, each with the place where it is named.
    Named(Vec<(String, Origin)>),
}

/// Samples to take.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Interval; the end of time where nothing is sampled that takes one.
    pub every: Time,
    /// Place where it is written.
    pub every_at: Origin,
    /// Flows that are sampled.
    pub flows: Flows,
    /// Links that are sampled.
    pub links: LinkChoice,
    /// Probes of machines for the flows.
    pub probes: ProbeChoice,
    /// True if the completion time of every flow is recorded by cause.
    pub causes: bool,
    /// True if bytes of links are counted by entry of traffic.
    pub volumes: bool,
}

/// Reads `[sample]`. `known` makes the names of all links, `bottleneck` holds those that the scenario named; `transports`
/// say which probes there are.
pub fn read(
    table: &Reader<'_>,
    topology: &Topology,
    known: &dyn Fn() -> Vec<String>,
    bottleneck: &[String],
    transports: &[TransportSpec],
) -> Result<Sample, ScenarioError> {
    let flows = match table.get("flows") {
        None => Flows::None,
        Some(item) => match item.value() {
            Value::List(_) => Flows::Named(flow_list(&item)?),
            Value::Text(_) => [Flows::All, Flows::None][item.choice(&["all", "none"])?].clone(),
            _ => return Err(item.wrong("\"all\", \"none\" or a list of names of flows")),
        },
    };
    let links = match table.get("links") {
        None => LinkChoice::None,
        Some(item) => match item.value() {
            Value::List(_) => LinkChoice::Some(link_list(&item, known)?),
            Value::Text(_) => match item.choice(&["all", "none", "bottlenecks"])? {
                0 => LinkChoice::All,
                1 => LinkChoice::None,
                _ => LinkChoice::Some(bottlenecks(&item, topology, bottleneck)?),
            },
            _ => return Err(item.wrong("\"all\", \"none\", \"bottlenecks\" or a list of links")),
        },
    };
    let probes = match table.get("probes") {
        None => ProbeChoice::None,
        Some(item) => probe_choice(&item, transports)?,
    };
    let asked = |key: &str| match table.get(key) {
        None => Ok(false),
        Some(item) => match item.value() {
            Value::Bool(asked) => Ok(*asked),
            _ => Err(item.wrong("true or false")),
        },
    };
    let (causes, volumes) = (asked("causes")?, asked("volumes")?);
    // Quantities that are reported once, at the end.
    let once = causes || volumes;
    let some_flows = match &flows {
        Flows::None => false,
        Flows::All => true,
        Flows::Named(names) => !names.is_empty(),
    };
    let some_links = match &links {
        LinkChoice::None => false,
        LinkChoice::All => true,
        LinkChoice::Some(names) => !names.is_empty(),
    };
    let periodic = some_flows || some_links;
    let every = table.get("every");
    table.finish(&[], None)?;
    // Each combination has its own error, since an interval without samples would be ignored silently.
    let (every, every_at) = match every {
        // Causes are reported once a flow, and volumes once a link.
        None if once && !periodic => (Time::MAX, table.at().clone()),
        Some(item) if once && !periodic => {
            let text = "`every` has no effect: no flow and no link is sampled".to_string();
            let help = "say flows = \"all\" or links = \"bottlenecks\", or leave `every` out";
            return Err(item.fail(Problem::Contradiction(text)).help(help));
        }
        _ => {
            let item = table.need("every")?;
            (item.period()?, item.at().clone())
        }
    };
    if let Some(item) = table.get("probes").filter(|_| probes != ProbeChoice::None && !some_flows) {
        let problem = Problem::Contradiction("`probes` are of flows, and no flow is sampled".into());
        return Err(item.fail(problem).help("say flows = \"all\", or name flows"));
    }
    if !periodic && !once {
        let problem = Problem::Contradiction("[sample] samples nothing".into());
        let help = "say flows = \"all\", links = \"bottlenecks\", causes = true or volumes = true, or leave the table out";
        return Err(ScenarioError::new(problem, table.at()).help(help));
    }
    Ok(Sample { every, every_at, flows, links, probes, causes, volumes })
}

/// Choice of probes: none, all that machines have, or some by name.
fn probe_choice(item: &Item<'_>, transports: &[TransportSpec]) -> Result<ProbeChoice, ScenarioError> {
    let mut known: Vec<&str> = Vec::new();
    for transport in transports {
        let declared = registry::find_entry(&transport.name).map_or(&[][..], |entry| entry.probes);
        known.extend(declared.iter().map(|probe| probe.name));
    }
    known.sort_unstable();
    known.dedup();
    match item.value() {
        Value::Bool(false) => return Ok(ProbeChoice::None),
        Value::Bool(true) if known.is_empty() => {
            let text = "no transport of the scenario has probes".to_string();
            return Err(item.fail(Problem::Contradiction(text)));
        }
        Value::Bool(true) => return Ok(ProbeChoice::All),
        Value::List(_) => {}
        _ => return Err(item.wrong("true, false or a list of names of probes")),
    }
    let mut chosen: Vec<String> = Vec::new();
    for item in item.list()? {
        let name = item.text()?;
        if !known.contains(&name) {
            let problem = Problem::NoSuchName { what: "probe", name: name.into() };
            let all = match &known[..] {
                [] => "no transport of the scenario has probes".to_string(),
                some => format!("its transports have {}", some.join(", ")),
            };
            let help = names::name_suggestion(name, known.iter().copied()).unwrap_or(all);
            return Err(item.fail(problem).help(help));
        }
        if chosen.iter().any(|c| c == name) {
            return Err(item.fail(Problem::Contradiction(format!("probe `{name}` is listed twice"))));
        }
        chosen.push(name.to_string());
    }
    Ok(if chosen.is_empty() { ProbeChoice::None } else { ProbeChoice::Some(chosen) })
}

/// A list of names of flows, which can be checked only when the flows are made.
fn flow_list(item: &Item<'_>) -> Result<Vec<(String, Origin)>, ScenarioError> {
    let mut chosen: Vec<(String, Origin)> = Vec::new();
    for item in item.list()? {
        let name = item.text()?;
        if chosen.iter().any(|(c, _)| c == name) {
            return Err(item.fail(Problem::Contradiction(format!("flow `{name}` is listed twice"))));
        }
        chosen.push((name.to_string(), item.at().clone()));
    }
    Ok(chosen)
}

/// A list of names of links, each checked.
pub fn link_list(item: &Item<'_>, known: &dyn Fn() -> Vec<String>) -> Result<Vec<String>, ScenarioError> {
    // Once for the whole list: it builds the network.
    let names = known();
    let mut chosen = Vec::new();
    for item in item.list()? {
        let name = item.text()?;
        check_link(&item, name, name, &names)?;
        if chosen.iter().any(|c| c == name) {
            return Err(item.fail(Problem::Contradiction(format!("link `{name}` is listed twice"))));
        }
        chosen.push(name.to_string());
    }
    Ok(chosen)
}

/// The scenario's own list, or the links in the middle of topologies that have an obvious one.
fn bottlenecks(item: &Item<'_>, topology: &Topology, named: &[String]) -> Result<Vec<String>, ScenarioError> {
    if !named.is_empty() {
        return Ok(named.to_vec());
    }
    let obvious = topology.spec.bottlenecks();
    if obvious.is_empty() {
        let text = format!("a topology of kind \"{}\" has no obvious bottleneck", topology.kind);
        return Err(item
            .fail(Problem::Contradiction(text))
            .help("name links: bottleneck = [\"leaf0->spine0\"]"));
    }
    Ok(obvious)
}

impl Sample {
    /// Every key with its value.
    pub fn to_json(&self) -> Json {
        let flows = match &self.flows {
            Flows::None => json!("none"),
            Flows::All => json!("all"),
            Flows::Named(names) => names.iter().map(|(name, _)| name.as_str()).collect(),
        };
        let links = match &self.links {
            LinkChoice::None => json!("none"),
            LinkChoice::All => json!("all"),
            LinkChoice::Some(names) => json!(names),
        };
        let mut map = match self.every {
            Time::MAX => json!({}),
            every => json!({ "every": every.to_string() }),
        };
        map["flows"] = flows;
        map["links"] = links;
        // A scenario without probes leaves them out, so that its digest does not change.
        match &self.probes {
            ProbeChoice::None => {}
            ProbeChoice::All => map["probes"] = json!(true),
            ProbeChoice::Some(names) => map["probes"] = json!(names),
        }
        if self.causes {
            map["causes"] = json!(true);
        }
        if self.volumes {
            map["volumes"] = json!(true);
        }
        map
    }
}
