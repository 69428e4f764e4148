//! The content decides the kind of a file: every kind given to every reader is read, or refused with its real kind.

#![allow(clippy::disallowed_methods, reason = "tests write temporary directories")]

use crate::common::repository;
use headway_lab::import::format::{Format, NAMES};
use headway_lab::import::kinds::{self, KINDS, Kind, Network, Reader};
use headway_lab::imported::{self, Asked};
use headway_lab::{Request, Scenario, ScenarioError};
use headway_units::{Rate, Time};
use std::path::Path;

/// A small file of a kind.
fn sample(kind: &Kind) -> Vec<u8> {
    match (kind.sample, kind.reader) {
        ("", Reader::Trace(Format::Goal)) => {
            std::fs::read(repository().join("workloads/traces/loggopsim/binary_tree_32.bin"))
                .expect("a schedule")
        }
        (text, _) => text.as_bytes().to_vec(),
    }
}

/// The keys of a scenario that read a file in some way, and whether that way reads a kind.
struct Way {
    name: String,
    topology: &'static str,
    traffic: String,
    reads: Box<dyn Fn(&Kind) -> bool>,
}

const SWITCH: &str = "kind = \"single-switch\"\nhosts = 32\nrate = \"100 Gbps\"\ndelay = \"1 us\"";

fn ways() -> Vec<Way> {
    let traffic = |keys: &str| format!("[[traffic]]\n{keys}\n");
    let trace = |position: usize, name: &str| {
        let format = Format::at(position);
        Way {
            name: format!("a trace of format {name}"),
            topology: SWITCH,
            traffic: traffic(&format!("kind = \"trace\"\npath = \"FILE\"\nformat = \"{name}\"")),
            reads: Box::new(move |kind| kind.is(format)),
        }
    };
    let mut ways: Vec<Way> = NAMES.iter().enumerate().map(|(position, name)| trace(position, name)).collect();
    ways.push(Way {
        name: "a trace".into(),
        topology: SWITCH,
        traffic: traffic("kind = \"trace\"\npath = \"FILE\""),
        reads: Box::new(|kind| matches!(kind.reader, Reader::Trace(_))),
    });
    ways.push(Way {
        name: "a list of flows".into(),
        topology: SWITCH,
        traffic: traffic("kind = \"file\"\npath = \"FILE\""),
        reads: Box::new(|kind| kind.is(Format::Matrix) || kind.reader == Reader::Table),
    });
    ways.push(Way {
        name: "a topology".into(),
        topology: "kind = \"graph\"\nfile = \"FILE\"",
        traffic: traffic("kind = \"flows\"\nflows = [{ src = 0, dst = 1, bytes = 1000 }]"),
        reads: Box::new(|kind| matches!(kind.reader, Reader::Topology(_))),
    });
    ways.push(Way {
        name: "sizes".into(),
        topology: SWITCH,
        traffic: traffic("kind = \"poisson\"\nload = 0.1\nflows = 3\ncdf = \"FILE\""),
        reads: Box::new(|kind| kind.reader == Reader::Sizes),
    });
    ways
}

fn given(bytes: &[u8], name: &str, way: &Way) -> Result<Scenario, ScenarioError> {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(name), bytes).expect("a file");
    let path = format!("./{name}");
    let text = format!(
        "[topology]\n{}\n[transport]\nname = \"homa\"\n{}",
        way.topology.replace("FILE", &path),
        way.traffic.replace("FILE", &path)
    );
    Request::text(&text, "scenario.toml", folder.path(), &[], None).load()
}

#[test]
fn every_kind_given_to_every_reader_is_read_or_said_to_be_what_it_is() {
    let mut refused = 0;
    for kind in &KINDS {
        let bytes = sample(kind);
        assert_eq!(kinds::find(&bytes).map(|found| found.what).ok(), Some(kind.what));
        for way in ways() {
            // The ending of a name decides nothing.
            for name in ["x", "x.cm", "x.txt", "x.et", "x.toml", "x.csv", "x.goal"] {
                let found = given(&bytes, name, &way);
                let context = || format!("{} as {}, called {name}", kind.what, way.name);
                match found {
                    Ok(_) => assert!((way.reads)(kind), "{}", context()),
                    Err(error) => {
                        let text = error.to_string();
                        assert!(!(way.reads)(kind), "{}: {text}", context());
                        assert!(
                            text.starts_with(&format!("this is {}, and no", kind.what)),
                            "{}: {text}",
                            context()
                        );
                        assert!(error.render().contains("help: "), "{}", context());
                        refused += 1;
                    }
                }
            }
        }
    }
    // 21 kinds, 9 ways and 7 names, less those that are read.
    assert!(refused > 700, "{refused}");
}

#[test]
fn what_is_of_no_kind_is_told_by_what_speaks_against_the_likeliest() {
    let cases = [
        ("hello\nworld\n", "begins with `hello`"),
        (
            "Node 4\nConnection 1\n",
            "not a connection matrix of htsim: it begins with `Node 4`, and not with `Nodes N`",
        ),
        ("num_rank 4\n", "not a GOAL schedule: it begins with `num_rank 4`, and not with `num_ranks N`"),
        ("{\"a\": [1], \"b\": 2}", "not a Chakra execution trace: it is JSON without nodes of a trace"),
        (
            "0 0\n1000 0.5\n2000 0.7\n",
            "not a distribution of sizes: its last line ends in 0.7, and not in 1 or in 100",
        ),
        ("0 1 3 100 1000 0.5\n", "it begins with `0 1 3 100 1000 0.5`, and not with the number of its flows"),
        (
            "0 4 10Gbps 1us 0\n",
            "it begins with `0 4 10Gbps 1us 0`, and not with numbers of nodes, switches and links",
        ),
    ];
    for (text, message) in cases {
        let unknown = kinds::find(text.as_bytes()).err().unwrap_or_else(|| panic!("{text:?} is of a kind"));
        assert!(
            unknown.text.starts_with("this is no file that Headway knows; it is not "),
            "{}",
            unknown.text
        );
        assert!(unknown.text.contains(message), "{}", unknown.text);
        assert_eq!(unknown.text.matches("not a").count(), 2, "{}", unknown.text);
    }
    let binary =
        kinds::find(&[0x7f, b'E', b'L', b'F', 0, 1, 2, 3, 0xff, 0xfe]).err().expect("a program").text;
    assert!(binary.contains("not a Chakra execution trace") && binary.contains("binary GOAL"), "{binary}");
}

/// A folder with some files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

/// Result of `headway import` for some files, from inside their folder.
fn import(folder: &Path, names: &[&str]) -> Result<imported::Imported, ScenarioError> {
    let paths: Vec<_> = names.iter().map(|name| folder.join(name)).collect();
    let files: Vec<_> = paths.iter().map(std::path::PathBuf::as_path).zip(names.iter().copied()).collect();
    imported::scenario(&files, folder, &Asked::default())
}

/// The hosts of a rack in a star; node 0 is its switch, as in HPCC's own topology.
fn star(hosts: u32, rate: &str) -> String {
    let links: String = (1..=hosts).map(|host| format!("0 {host} {rate} 1us 0\n")).collect();
    format!("{} 1 {hosts}\n0\n{links}\nFirst line: total node #, switch node #, link #\n", hosts + 1)
}

#[test]
fn a_flow_list_beside_its_topology_means_that_topologys_nodes() {
    let list =
        "2\n2 1 3 100 1000000 0.001\n4 1 3 100 1000000 0.002\n5 1 3 100 1 2\n\nPlease order the flows!\n";
    let folder = folder(&[("topology.txt", &star(4, "25Gbps")), ("flow.txt", list)]);
    for names in [["topology.txt", "flow.txt"], ["flow.txt", "topology.txt"]] {
        let made = import(folder.path(), &names).unwrap_or_else(|error| panic!("{}", error.render()));
        assert!(made.text.contains("kind = \"graph\"\nfile = \"topology.txt\"\n"), "{}", made.text);
        let scenario =
            Request::text(&made.text, "x.toml", folder.path(), &[], None).load().expect("a scenario");
        let flows = scenario.setup().expect("a network").resolve(1).expect("a run").spec.flows;
        let shown: Vec<_> = flows.iter().map(|flow| (flow.src, flow.dst, flow.bytes, flow.start)).collect();
        // Node 0 is the switch, so that node 2 is host 1.
        assert_eq!(shown, [(1, 0, 1_000_000, Time::ms(1)), (3, 0, 1_000_000, Time::ms(2))]);
        let notes = made.notes.join("\n");
        assert!(
            notes.contains("topology.txt: what stands behind the 4 links, from line 8 on, is not read"),
            "{notes}"
        );
        assert!(notes.contains("flow.txt: 1 line of numbers behind the 2 flows that it promises"), "{notes}");
    }
    let error = import(folder.path(), &["topology.txt"]).expect_err("no traffic").to_string();
    assert!(
        error.ends_with("topology.txt is a topology, and there is no file of traffic beside it"),
        "{error}"
    );
    let error = import(folder.path(), &["flow.txt", "flow.txt"]).expect_err("two").to_string();
    assert!(error.ends_with("flow.txt are both traffic"), "{error}");
}

#[test]
fn four_flows_to_one_host_of_powertcps_star_share_its_link() {
    // Each is far from its end when the next begins, as in its authors' experiment on fairness.
    let starts = ["0.001", "0.012", "0.023", "0.034"];
    let rows: String =
        (0..4).map(|src| format!("{src} 5 3 {} 1000000000 {}\n", 10_000 + src, starts[src])).collect();
    let head = "7 1 1 6\n6\n";
    let links: String = (0..6).map(|host| format!("{host} 6 25000000000.0 1us 0\n")).collect();
    let folder = folder(&[("topology.txt", &format!("{head}{links}")), ("flow.txt", &format!("4\n{rows}"))]);
    let made = import(folder.path(), &["topology.txt", "flow.txt"]).expect("a scenario");
    for (active, end_ms) in [(2, 23u64), (3, 34), (4, 45)] {
        let received = |ms: u64| {
            let sets = [format!("stop=\"{ms} ms\"")];
            let scenario =
                Request::text(&made.text, "x.toml", folder.path(), &sets, None).load().expect("a scenario");
            let resolved = scenario.setup().expect("a network").resolve(1).expect("a run");
            let outcome = headway_sim::run(&resolved.spec, &mut |_| true).expect("it runs");
            outcome.flows.iter().map(|flow| flow.delivered).collect::<Vec<u64>>()
        };
        // In the last millisecond before the next flow begins, which is 10 ms after the last one did.
        let (before, after) = (received(end_ms - 1), received(end_ms));
        let rates: Vec<f64> = before.iter().zip(&after).take(active).map(|(b, a)| (a - b) as f64).collect();
        let sum: f64 = rates.iter().sum();
        let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
        let jain = sum * sum / (active as f64 * squares);
        assert!(jain >= 0.95, "{active} flows: {jain}, {rates:?}");
        let share = sum * 8.0 / 1e-3 / Rate::gbps(25).bps() as f64;
        assert!(share > 0.85, "{active} flows: {share} of the link");
    }
}

#[test]
fn error_rates_lose_packets_of_their_link_alone() {
    let topology = "4 1 3\n3\n0 3 10Gbps 1us 0\n1 3 10Gbps 1us 0.01\n2 3 10Gbps 1us 0\n";
    let list = "2\n0 2 3 1 1000000 0\n2 1 3 1 1000000 0\n";
    let folder = folder(&[("topology.txt", topology), ("flow.txt", list)]);
    let made = import(folder.path(), &["topology.txt", "flow.txt"]).expect("a scenario");
    assert!(made.notes.iter().any(|note| note.contains("1 link with an error rate")), "{:?}", made.notes);
    let scenario = Request::text(&made.text, "x.toml", folder.path(), &["transport.name=dctcp".into()], None);
    let scenario = scenario.load().expect("a scenario");
    let fault = &scenario.resolved_json()["fault"][0];
    assert_eq!(fault["links"], serde_json::json!(["h1->s0", "s0->h1"]));
    assert_eq!(fault["loss"], 0.01);
    let resolved = scenario.setup().expect("a network").resolve(1).expect("a run");
    let outcome = headway_sim::run(&resolved.spec, &mut |_| true).expect("it runs");
    assert!(outcome.flows.iter().all(|flow| flow.finish.is_some()));
}

#[test]
fn a_matrix_beside_its_topology_runs_on_it() {
    let topology =
        kinds::KINDS.iter().find(|kind| kind.reader == Reader::Topology(Network::Htsim)).expect("htsim's");
    let matrix = "Nodes 2\nConnections 1\n0->1 id 1 start 0 size 100000\n";
    let folder = folder(&[
        ("net.txt", topology.sample),
        ("two.tm", matrix),
        ("four.cm", &matrix.replace("Nodes 2", "Nodes 4")),
    ]);
    let made =
        import(folder.path(), &["two.tm", "net.txt"]).unwrap_or_else(|error| panic!("{}", error.render()));
    assert!(
        made.text.contains("file = \"net.txt\"") && made.text.contains("routing = \"spray\""),
        "{}",
        made.text
    );
    let error = import(folder.path(), &["four.cm", "net.txt"]).expect_err("another network").to_string();
    assert_eq!(error, "the matrix is for 4 hosts, and the topology has 2 hosts");
}

#[test]
fn errors_of_import_name_its_options_and_the_files_as_they_were_given() {
    let simai = "MICRO\n1\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 8000 1\n";
    let unmatched = "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\n}\n";
    let folder = folder(&[("x.txt", simai), ("y.goal", unmatched)]);
    let rendered = import(folder.path(), &["x.txt"]).expect_err("no ranks").render();
    assert!(rendered.contains("`--ranks` says it") && !rendered.contains("the entry"), "{rendered}");
    let rendered = import(folder.path(), &["y.goal"]).expect_err("no receive").render();
    assert!(rendered.contains("nobody receives this") && rendered.contains("y.goal:3:"), "{rendered}");
    assert!(!rendered.contains("scenario to be written"), "{rendered}");
}
