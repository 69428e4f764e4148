//! Promises of every kind of traffic, whichever kinds there are: entries are drawn at random and held against it.
#![allow(clippy::disallowed_methods, reason = "writes the file that an entry names")]

use headway_lab::traffic::draw::{Ground, Listed, RandomSource};
use headway_lab::traffic::{COMMON, KINDS, Kind, Made};
use headway_lab::{Request, Scenario, ScenarioError};
use headway_network::Cause;
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;
use serde_json::{Map, Value as Json};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

const HOSTS: u64 = 6;

/// Entries of each kind.
fn draws() -> u64 {
    25 * u64::from(headway_testing::times())
}

struct Random(Pcg64Mcg);

impl RandomSource for Random {
    fn below(&mut self, n: u64) -> u64 {
        // Small numbers are a little more likely, which does not matter to a test.
        self.0.next_u64() % n
    }

    fn share(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn magnitude(&mut self, least: f64, most: f64) -> f64 {
        (least * libm::pow(most / least, self.share())).clamp(least, most)
    }

    fn count(&mut self, least: u64, most: u64) -> u64 {
        (self.magnitude(least.max(1) as f64, most.max(1) as f64) as u64).clamp(least, most)
    }
}

/// An entry of a kind at random; the file that it may name is written into the folder.
fn draw(kind: &Kind, seed: u64, folder: &Path) -> Map<String, Json> {
    let mut file = None;
    let mut ground = Ground {
        dice: &mut Random(Pcg64Mcg::new(u128::from(seed))),
        hosts: HOSTS,
        packets: 500,
        payload: 1460,
        wire: 1538,
        // `wire` bytes at 10 Gb/s, in picoseconds.
        slot: 1_230_400,
        round_trip: 10_000_000,
        pinned: false,
        file_names: ["flows.csv", "flows.cm"],
        file: &mut file,
    };
    let drawn = (kind.draw)(&mut ground);
    if let Some(flows) = file {
        write_files(&flows, folder);
    }
    let Json::Object(mut entry) = drawn else { panic!("{} draws no table", kind.info.name) };
    entry.insert("kind".into(), kind.info.name.into());
    entry
}

fn write_files(flows: &[Listed], folder: &Path) {
    let mut csv = "id,src,dst,bytes,start_s,class\n".to_string();
    let mut matrix = format!("Nodes {HOSTS}\nConnections {}\n", flows.len());
    for (id, f) in flows.iter().enumerate() {
        let start = format!("{}.{:06}", f.start_us / 1_000_000, f.start_us % 1_000_000);
        let _ = writeln!(csv, "{id},{},{},{},{start},{}", f.src, f.dst, f.bytes, f.class);
        let _ = writeln!(matrix, "{}->{} id {} start {} size {}", f.src, f.dst, id + 1, f.start_us, f.bytes);
    }
    std::fs::write(folder.join("flows.csv"), csv).expect("a temporary file");
    std::fs::write(folder.join("flows.cm"), matrix).expect("a temporary file");
}

/// The value as TOML writes it in a line.
fn toml(value: &Json) -> String {
    match value {
        Json::Array(list) => format!("[{}]", list.iter().map(toml).collect::<Vec<_>>().join(", ")),
        Json::Object(map) => {
            let pairs: Vec<String> =
                map.iter().map(|(key, value)| format!("{key} = {}", toml(value))).collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Json::Null => panic!("TOML has no null"),
        Json::Bool(_) | Json::Number(_) | Json::String(_) => value.to_string(),
    }
}

fn load(entry: &Map<String, Json>, folder: &Path) -> Result<Scenario, ScenarioError> {
    let keys: String = entry.iter().map(|(key, value)| format!("{key} = {}\n", toml(value))).collect();
    let text = format!(
        "[topology]\nkind = \"single-switch\"\nhosts = {HOSTS}\nrate = \"10 Gbps\"\ndelay = \"1 us\"\n\
         [transport]\nname = \"amrt\"\n[[traffic]]\n{keys}"
    );
    Request::text(&text, "scenario.toml", folder, &[], None).load()
}

/// Every draw of a kind that the reader accepts, and how many there were.
fn every(kind: &Kind, mut check: impl FnMut(&Map<String, Json>, &Scenario, &Path)) {
    let folder = tempfile::tempdir().expect("a directory");
    let mut accepted = 0;
    for seed in 1..=draws() {
        let entry = draw(kind, seed, folder.path());
        if let Ok(scenario) = load(&entry, folder.path()) {
            accepted += 1;
            check(&entry, &scenario, folder.path());
        }
    }
    // If hardly any draw is accepted, the checks above say nothing.
    assert!(accepted * 2 >= draws(), "{}: {accepted} of {} draws are accepted", kind.info.name, draws());
}

#[test]
fn names_and_keys_are_declared_once_and_explained() {
    let names: BTreeSet<&str> = KINDS.iter().map(|k| k.info.name).collect();
    assert_eq!(names.len(), KINDS.len());
    for Kind { info, .. } in KINDS {
        let keys: BTreeSet<&str> = info.keys.iter().chain(COMMON).map(|k| k.name).collect();
        assert_eq!(keys.len(), info.keys.len() + COMMON.len(), "{}", info.name);
        assert!(!info.summary.is_empty() && !keys.contains("kind"), "{}", info.name);
        assert!(info.keys.iter().all(|k| !k.doc.is_empty()), "{}", info.name);
        assert!(info.counts.iter().all(|c| info.keys.iter().any(|k| k.name == *c)), "{}", info.name);
    }
}

/// Largest number of flows with equally long chains of causes: none of them waits for another.
fn widest_level(made: &Made) -> usize {
    let Some(graph) = made.graph().expect("no cycle") else { return made.flows.len() };
    let (causes, flows) = (graph.causes(), made.flows.len());
    let (mut depth, mut wide) = (vec![0usize; graph.nodes() as usize], vec![0; graph.nodes() as usize + 1]);
    graph.in_order(|node| {
        let before = causes.of(node).iter().map(|cause| match cause {
            Cause::Flow(flow, _) => depth[*flow as usize],
            Cause::Step(step) => depth[graph.of_step(*step) as usize],
        });
        let own = before.max().unwrap_or(0) + 1;
        depth[node as usize] = own;
        wide[own] += usize::from((node as usize) < flows);
    });
    wide.into_iter().max().unwrap_or(0)
}

#[test]
fn estimates_are_near_what_is_made() {
    for kind in KINDS {
        every(kind, |entry, scenario, _| {
            let setup = scenario.setup().expect("a network");
            let traffic = &setup.traffic[0];
            let (mut made, mut again) = (Made::default(), Made::default());
            traffic.generate(0, 7, HOSTS as u32, &mut made);
            traffic.generate(0, 7, HOSTS as u32, &mut again);
            assert_eq!(made, again, "{entry:?}: one seed, two lists of flows");
            assert!(made.graph().is_ok(), "{entry:?}: flows wait for each other");
            let (edges, expected) =
                ((made.edges.len() + made.steps.len()) as f64, traffic.expected_edges(HOSTS as u32));
            assert!(
                edges <= expected && expected <= 8.0 * edges + 8.0,
                "{entry:?}: {edges} edges and steps, {expected} were expected"
            );
            let most = traffic.expected_at_once(HOSTS as u32);
            let level = widest_level(&made);
            assert!(
                level as f64 <= most && most <= traffic.expected_flows(HOSTS as u32),
                "{entry:?}: {level} flows wait for nothing of each other, {most} were expected at a time"
            );
            let flows = made.flows;
            // Another program hands over the messages of some kinds.
            assert_eq!(flows.is_empty(), traffic.pattern.is_external(), "{entry:?}: {} flows", flows.len());
            assert!(flows.iter().all(|f| f.spec.src != f.spec.dst && f.spec.bytes > 0), "{entry:?}");
            let hosts = flows.iter().flat_map(|f| [f.spec.src, f.spec.dst]);
            assert!(hosts.max() < Some(HOSTS as u32), "{entry:?}");
            let expected = traffic.expected_flows(HOSTS as u32);
            assert!(expected == flows.len() as f64, "{entry:?}: {} flows, not {expected}", flows.len());
            let receivers: BTreeSet<u32> = flows.iter().map(|f| f.spec.dst).collect();
            assert!(receivers.len() as u64 <= traffic.receivers(HOSTS as u32), "{entry:?}: {receivers:?}");
            // Sizes and gaps at random may be far from their means.
            if traffic.pattern.random_arrivals().is_some() {
                return;
            }
            let bytes: u64 = flows.iter().map(|f| f.spec.bytes).sum();
            assert_eq!(traffic.expected_bytes(HOSTS as u32), bytes, "{entry:?}");
            let last = flows.iter().map(|f| f.spec.start).max().filter(|_| traffic.pattern.has_fixed_times());
            assert!(last <= Some(traffic.pattern.horizon(HOSTS as u32).0), "{entry:?}");
        });
    }
}

#[test]
fn what_is_needed_is_asked_for_and_strangers_are_refused() {
    for kind in KINDS {
        every(kind, |entry, _, folder| {
            for key in kind.info.keys.iter().filter(|k| k.usual.is_empty()) {
                let mut less = entry.clone();
                assert!(less.remove(key.name).is_some(), "{entry:?} is drawn without `{}`", key.name);
                let error = load(&less, folder).expect_err("a key is missing").render();
                assert!(error.contains(&format!("`{}`", key.name)), "{error}");
            }
            let mut more = entry.clone();
            more.insert("no_such_key".into(), 1.into());
            let error = load(&more, folder).expect_err("a stranger").render();
            assert!(error.contains("no_such_key"), "{error}");
        });
    }
}

#[test]
fn keys_of_other_kinds_are_refused() {
    let folder = tempfile::tempdir().expect("a directory");
    let every_key: BTreeSet<&str> = KINDS.iter().flat_map(|k| k.info.keys).map(|k| k.name).collect();
    for kind in KINDS {
        let drawn = (1..=draws()).map(|seed| draw(kind, seed, folder.path()));
        let entry =
            drawn.into_iter().find(|e| load(e, folder.path()).is_ok()).expect("an entry that is accepted");
        for key in every_key.iter().filter(|name| kind.info.keys.iter().all(|k| k.name != **name)) {
            let mut more = entry.clone();
            more.insert((*key).into(), 1.into());
            let error = load(&more, folder.path()).expect_err("a key of another kind").render();
            assert!(error.contains("no effect") && error.contains(key), "{}: {error}", kind.info.name);
        }
    }
}
