//! Everything that can be named in a scenario, as JSON.

use crate::declared::{key_json, parameter};
use crate::model;
use crate::text::{Problem, ScenarioError, names};
use crate::traffic;
use crate::workload::library;
use headway_gauges::GaugeInfo;
use headway_network::topology;
use headway_params::ParamSpec;
use headway_transport::Capabilities;
use headway_transport::deploy::{NETWORKS, Switch};
use headway_transport::states::StateTable;
use serde_json::{Value as Json, json};

/// Names of the lists.
pub const THINGS: &[&str] =
    &["transports", "topologies", "traffic", "workloads", "disciplines", "models", "tables"];

/// A kind of thing that a scenario names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A transport: `[transport] name`.
    Transport,
    /// A port discipline: `[fabric] discipline`.
    Discipline,
    /// A topology: `[topology] kind`.
    Topology,
    /// A kind of traffic: `[[traffic]] kind`.
    Traffic,
    /// `cdf` of an entry of traffic.
    Workload,
}

impl Kind {
    const ALL: [Kind; 5] = [Kind::Transport, Kind::Discipline, Kind::Topology, Kind::Traffic, Kind::Workload];

    fn names(self) -> Vec<&'static str> {
        match self {
            Kind::Transport => headway_transport::registry::NAMES.to_vec(),
            Kind::Discipline => headway_fabric::registry::NAMES.to_vec(),
            Kind::Topology => topology::KINDS.iter().map(|(info, _)| info.name).collect(),
            Kind::Traffic => traffic::KINDS.iter().map(|kind| kind.info.name).collect(),
            Kind::Workload => library::WORKLOADS.iter().map(|w| w.name).collect(),
        }
    }

    /// Sentence with the kind of a name, and its place in a scenario.
    fn says(self, name: &str) -> String {
        match self {
            Kind::Transport => format!("`{name}` is a transport: [transport] name = \"{name}\""),
            Kind::Discipline => format!("`{name}` is a port discipline: [fabric] discipline = \"{name}\""),
            Kind::Topology => format!("`{name}` is a topology: [topology] kind = \"{name}\""),
            Kind::Traffic => format!("`{name}` is a pattern of traffic: [[traffic]] kind = \"{name}\""),
            Kind::Workload => {
                format!(
                    "`{name}` is a flow-size distribution: [[traffic]] kind = \"poisson\", cdf = \"{name}\""
                )
            }
        }
    }

    /// The names of which `word` is a part: `websearch` of `xpass_websearch`.
    fn holding(self, word: &str) -> Vec<&'static str> {
        let parts = |name: &str| name.split(['_', '-']).map(str::to_lowercase).collect::<Vec<_>>();
        let wanted = parts(word);
        let holds = |name: &&str| parts(name).windows(wanted.len()).any(|some| some == &wanted[..]);
        if word.is_empty() { Vec::new() } else { self.names().into_iter().filter(holds).collect() }
    }
}

/// The error with better help, if it is about an unknown name of one of these kinds: the reader of a scenario
/// knows only the names of one.
pub(crate) fn with_hint(error: ScenarioError) -> ScenarioError {
    let help = match error.problem() {
        Problem::NoSuchName { what: "transport", name } => hint(name, Kind::Transport),
        Problem::NoSuchName { what: "port discipline", name } => hint(name, Kind::Discipline),
        Problem::NoSuchName { what: "flow-size distribution", name } => hint(name, Kind::Workload),
        Problem::Range { key, found, .. } => {
            let word = found.trim_matches('`');
            match &key.split('.').collect::<Vec<_>>()[..] {
                ["topology", "kind"] => hint(word, Kind::Topology),
                ["traffic", _, "kind"] => hint(word, Kind::Traffic),
                _ => None,
            }
        }
        _ => None,
    };
    error.maybe_help(help)
}

/// Help for a name that no thing of the wanted kind has: what it is elsewhere, of which names it is a part, which name
/// is like it, or which there are.
fn hint(word: &str, wanted: Kind) -> Option<String> {
    let others = || Kind::ALL.into_iter().filter(|kind| *kind != wanted);
    let lower = word.to_lowercase();
    if let Some((kind, name)) = others()
        .find_map(|kind| kind.names().into_iter().find(|name| *name == lower).map(|name| (kind, name)))
    {
        return Some(kind.says(name));
    }
    match &wanted.holding(word)[..] {
        [] => {}
        [one] => return Some(format!("did you mean `{one}`?")),
        several => return Some(format!("did you mean one of {}?", several.join(", "))),
    }
    if let Some(name) = names::nearest_name(word, wanted.names()) {
        return Some(format!("did you mean `{name}`?"));
    }
    let part_of = |kind: Kind| match &kind.holding(word)[..] {
        [] => None,
        [one] => Some(kind.says(one)),
        [one, rest @ ..] => Some(format!("{}; or {}", kind.says(one), rest.join(", "))),
    };
    others().find_map(part_of).or_else(|| names::name_suggestion(word, wanted.names()))
}

/// A list of things with their names, summaries and parameters; `None` for what cannot be listed.
pub fn catalogue(thing: &str) -> Result<Option<Json>, ScenarioError> {
    Ok(Some(match thing {
        "transports" => headway_transport::registry::all_entries().iter().map(transport).collect(),
        "disciplines" => {
            let one = |(info, specs): &(headway_fabric::DisciplineInfo, Vec<ParamSpec>)| {
                let params: Vec<Json> = specs.iter().map(parameter).collect();
                let rewrites: Vec<&str> = info.rewrites.iter().map(|what| what.name()).collect();
                let needs: Vec<&str> = info.needs.iter().map(|what| what.name()).collect();
                json!({ "name": info.name, "summary": info.summary, "paper": info.paper, "rewrites": rewrites,
                    "needs": needs, "params": params })
            };
            headway_fabric::registry::all().iter().map(one).collect()
        }
        "topologies" => topology::KINDS.iter().map(|(info, _)| topology_kind(info)).collect(),
        "traffic" => traffic::KINDS.iter().map(traffic_kind).collect(),
        "models" => model::KINDS.iter().map(|kind| closed_form(&kind.info)).collect(),
        "networks" => NETWORKS.iter().map(|one| json!({ "name": one.name, "what": one.what })).collect(),
        "tables" => crate::declared::tables().into(),
        "workloads" => library::WORKLOADS.iter().map(workload).collect::<Result<_, _>>()?,
        _ => return Ok(None),
    }))
}

fn transport(entry: &headway_transport::registry::Entry) -> Json {
    let params: Vec<Json> = entry.params.iter().map(parameter).collect();
    let states = |t: &StateTable| json!({ "name": t.name, "states": t.states, "events": t.events, "transitions": t.transitions });
    let info = &entry.info;
    let probe = |info: &GaugeInfo| json!({ "name": info.name, "unit": info.unit.name(), "label": info.label, "doc": info.doc });
    let probes: Vec<Json> = entry.probes.iter().map(probe).collect();
    let needs_of = &entry.deployment;
    let words = |all: &[Switch]| all.iter().map(|one| one.feature_words()).collect::<Vec<_>>();
    let lacks: serde_json::Map<String, Json> = NETWORKS
        .iter()
        .map(|one| (one.name.to_string(), json!(words(&one.lacking_features(needs_of)))))
        .collect();
    let deployment = json!({ "switches": words(needs_of.switches), "hosts": needs_of.hosts.iter().map(|one| one.place_words()).collect::<Vec<_>>(),
        "here": crate::traffic::runs_here(info.name), "neighbours": needs_of.neighbours, "lacks": lacks });
    json!({
        "name": info.name, "summary": info.summary, "paper": info.paper, "discipline": info.discipline,
        "needs": needs(&entry.capabilities), "deployment": deployment, "params": params, "probes": probes, "deviations": info.deviations, "states": info.states.iter().map(states).collect::<Vec<_>>(),
    })
}

/// Needs of a transport in its surroundings beyond ports, in words.
fn needs(of: &Capabilities) -> Vec<&'static str> {
    let all = [
        (of.symmetric, "both directions of a flow on the same links"),
        (of.multipath, "several paths for the packets of a message"),
        (of.shared_clock, "clocks that count rounds together"),
        (of.network_wide, "numbers of the longest path of the network"),
        (
            // The two lines above say it better for transports that tune because of them.
            of.tunes && !of.network_wide && !of.shared_clock,
            "the sizes of messages to come, or their distribution",
        ),
    ];
    let said = all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, text)| text);
    said.chain(of.room.describe_need()).collect()
}

fn topology_kind(info: &topology::Info) -> Json {
    let key = |k: &topology::Key| {
        let usual = Some(k.usual.text()).filter(|text| !text.is_empty());
        let name = k.kind.name();
        let ty = if name.ends_with("count") { "int" } else { name };
        json!({ "name": k.name, "kind": name, "type": ty, "default": usual, "doc": k.doc })
    };
    let mut params: Vec<Json> = info.all_keys().map(key).collect();
    params.push(
        json!({ "name": crate::topology::LINK, "kind": "list of tables", "type": "tables", "default": "none",
        "doc": crate::topology::LINK_DOC }),
    );
    let own = info.keys.len();
    json!({ "name": info.name, "summary": info.summary, "paper": "", "params": params, "own": own })
}

fn traffic_kind(kind: &traffic::Kind) -> Json {
    let info = &kind.info;
    let params: Vec<Json> = info.keys.iter().chain(traffic::COMMON).map(key_json).collect();
    let own = info.keys.len();
    let words = if kind.form.is_empty() { "" } else { traffic::FORM_WORDS };
    json!({ "name": info.name, "summary": info.summary, "paper": "", "form": kind.form, "form_words": words,
        "params": params, "own": own })
}

fn closed_form(info: &model::Info) -> Json {
    let params: Vec<Json> = info.keys.iter().map(key_json).collect();
    let function = |f: &model::Function| json!({ "name": f.name, "doc": f.doc, "arguments": f.arguments });
    json!({ "name": info.name, "summary": info.summary, "paper": info.paper, "params": params,
        "functions": info.functions.iter().map(function).collect::<Vec<_>>() })
}

fn workload(workload: &library::Workload) -> Result<Json, ScenarioError> {
    let cdf = workload.cdf()?;
    let (min, max) = cdf.range();
    Ok(json!({
        "name": workload.name, "summary": workload.summary, "paper": workload.paper, "params": [],
        "interpolation": workload.interpolation.name(), "mean_bytes": cdf.mean(),
        "published_mean_bytes": workload.published_mean, "min_bytes": min, "max_bytes": max,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_another_kind_is_said_to_be_one() {
        let cases = [
            ("websearch", Kind::Workload, "did you mean one of xpass_websearch, yaps_websearch, "),
            ("W3", Kind::Workload, "did you mean `homa_w3_google_all`?"),
            (
                "dctcp-websearch",
                Kind::Workload,
                "did you mean one of dctcp_websearch, homa_w5_dctcp_websearch?",
            ),
            (
                "websearch",
                Kind::Traffic,
                "`xpass_websearch` is a flow-size distribution: [[traffic]] kind = \"poisson\"",
            ),
            ("incast", Kind::Workload, "`incast` is a pattern of traffic: [[traffic]] kind = \"incast\""),
            (
                "drop-tail",
                Kind::Transport,
                "`drop-tail` is a port discipline: [fabric] discipline = \"drop-tail\"",
            ),
            ("DCTCP", Kind::Discipline, "`dctcp` is a transport: [transport] name = \"dctcp\""),
            ("leaf-spine", Kind::Traffic, "`leaf-spine` is a topology: [topology] kind = \"leaf-spine\""),
            ("mptcp", Kind::Transport, "did you mean one of mptcp-"),
            ("phots", Kind::Transport, "did you mean `phost`?"),
            ("xyz", Kind::Topology, "there is "),
        ];
        for (word, kind, start) in cases {
            let said = hint(word, kind).expect(word);
            assert!(said.starts_with(start), "{word}: {said}");
        }
    }

    #[test]
    fn every_list_names_and_explains_its_things() {
        for thing in THINGS {
            let list = catalogue(thing).expect("a library that reads").expect(thing);
            let list = list.as_array().expect("a list");
            assert!(!list.is_empty(), "{thing}");
            for entry in list {
                assert!(entry["name"].as_str().is_some_and(|n| !n.is_empty()), "{entry}");
                assert!(entry["summary"].as_str().is_some_and(|n| !n.is_empty()), "{entry}");
                for param in entry["params"].as_array().expect("a list") {
                    assert!(param["doc"].as_str().is_some_and(|n| !n.is_empty()), "{param}");
                }
            }
        }
        assert_eq!(catalogue("colours"), Ok(None));
    }
}
