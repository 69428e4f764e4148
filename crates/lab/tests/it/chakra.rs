//! Traces of Chakra as its converters write them: members are read, or refused with the rank, and the times are those
//! of closed forms.

#![allow(clippy::disallowed_methods, reason = "tests write temporary directories")]

use crate::traces::{end, outcome as run};
use headway_lab::{Request, Scenario, ScenarioError};
use headway_units::Time;
use std::fmt::Write;
use std::path::Path;

/// A value of an attribute, as a converter writes it.
#[derive(Clone, Copy)]
enum Value<'a> {
    Int32(u64),
    Int64(u64),
    Bool(bool),
    Text(&'a str),
}

use Value::{Bool, Int32, Int64, Text};

// By hand and not by prost, so that the test does not share the reader's schema.
fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number > 127 {
        out.push(number as u8 | 128);
        number >>= 7;
    }
    out.push(number as u8);
}

fn number(field: u64, value: u64, out: &mut Vec<u8>) {
    varint(field << 3, out);
    varint(value, out);
}

fn bytes(field: u64, value: &[u8], out: &mut Vec<u8>) {
    varint(field << 3 | 2, out);
    varint(value.len() as u64, out);
    out.extend(value);
}

fn attribute(name: &str, value: Value<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    bytes(1, name.as_bytes(), &mut out);
    match value {
        Int32(value) => number(7, value, &mut out),
        Int64(value) => number(9, value, &mut out),
        Bool(value) => number(27, u64::from(value), &mut out),
        Text(value) => bytes(29, value.as_bytes(), &mut out),
    }
    out
}

/// A file of one rank.
#[derive(Clone, Default)]
struct Ranks {
    files: Vec<Vec<u8>>,
}

impl Ranks {
    /// Begins the file of the next rank, with the metadata of a converter.
    fn next(&mut self, version: &str, attributes: &[(&str, Value<'_>)]) -> &mut Vec<u8> {
        let mut metadata = Vec::new();
        if !version.is_empty() {
            bytes(1, version.as_bytes(), &mut metadata);
        }
        attributes.iter().for_each(|(name, value)| bytes(2, &attribute(name, *value), &mut metadata));
        let mut file = Vec::new();
        varint(metadata.len() as u64, &mut file);
        file.extend(metadata);
        self.files.push(file);
        self.files.last_mut().expect("it was added")
    }

    fn write(&self, folder: &Path) {
        for (rank, file) in self.files.iter().enumerate() {
            std::fs::write(folder.join(format!("x.{rank}.et")), file).expect("a file");
        }
    }
}

/// Adds a node; converters leave out what is 0.
fn node(file: &mut Vec<u8>, id: u64, kind: u64, deps: &[u64], us: u64, attributes: &[(&str, Value<'_>)]) {
    let mut out = Vec::new();
    if id > 0 {
        number(1, id, &mut out);
    }
    bytes(2, b"node", &mut out);
    number(3, kind, &mut out);
    if !deps.is_empty() {
        let mut packed = Vec::new();
        deps.iter().for_each(|dep| varint(*dep, &mut packed));
        bytes(5, &packed, &mut out);
    }
    if us > 0 {
        number(7, us, &mut out);
    }
    attributes.iter().for_each(|(name, value)| bytes(10, &attribute(name, *value), &mut out));
    varint(out.len() as u64, file);
    file.extend(out);
}

/// The network and transport that `headway import` writes around a trace of a few ranks.
fn scenario(ranks: &Ranks, beside: &[(&str, &str)], more: &str) -> Result<Scenario, ScenarioError> {
    let folder = tempfile::tempdir().expect("a folder");
    ranks.write(folder.path());
    for (name, text) in beside {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    let hosts = ranks.files.len().max(2);
    let text = format!(
        "[topology]\nkind = \"single-switch\"\nhosts = {hosts}\nrate = \"100 Gbps\"\ndelay = \"1 us\"\n\n[transport]\n\
         name = \"ndp\"\n\n[[traffic]]\nkind = \"trace\"\npath = \"x.0.et\"\n{more}\n"
    );
    Request::text(&text, "scenario.toml", folder.path(), &[], None).load()
}

fn outcome(ranks: &Ranks, beside: &[(&str, &str)], more: &str) -> (usize, Time) {
    let scenario = scenario(ranks, beside, more).unwrap_or_else(|error| panic!("{}", error.render()));
    let found = run(&scenario);
    (found.flows.len(), end(&found))
}

/// An all-reduce of 8000 B at each rank, whose group is given by one attribute.
fn reductions(said: &[(&str, Value<'_>)]) -> Ranks {
    let mut ranks = Ranks::default();
    for own in said {
        let file = ranks.next("1.0.0", &[]);
        let what = [("is_cpu_op", Bool(false)), ("comm_type", Int64(0)), ("comm_size", Int64(8000)), *own];
        node(file, 1, 7, &[], 0, &what);
    }
    ranks
}

const TWO_GROUPS: &str = "{\"1\": [0, 1], \"2\": [2, 3]}";

#[test]
fn groups_of_each_attribute_are_the_groups_of_the_list_beside_the_trace() {
    for name in ["comm_group", "communicator_id"] {
        let of = |group| (name, Int32(group));
        let ranks = reductions(&[of(1), of(1), of(2), of(2)]);
        for file in ["x.json", "comm_group.json"] {
            let loaded = scenario(&ranks, &[(file, TWO_GROUPS)], "").expect("a scenario");
            let found = run(&loaded);
            // Two steps of 2.46176 us each, and an acknowledgement of 84 B between them.
            assert_eq!(
                (found.flows.len(), end(&found).to_string()),
                (8, "4.93024 us".into()),
                "{name}, {file}"
            );
            let flows = loaded.setup().expect("a network").resolve(1).expect("a run").spec.flows;
            // A ring of two sends halves of the 8000 B.
            assert!(flows.iter().all(|flow| flow.bytes == 4000 && flow.src / 2 == flow.dst / 2));
        }
    }
    let of = |group| ("pg_name", Text(group));
    let ranks = reductions(&[of("1"), of("1"), of("2"), of("2")]);
    assert_eq!(outcome(&ranks, &[("x.json", TWO_GROUPS)], "").1.to_string(), "4.93024 us");
    let named = outcome(&ranks, &[("mine.json", TWO_GROUPS)], "groups = \"mine.json\"");
    assert_eq!(named.1.to_string(), "4.93024 us");
    let crossed = outcome(&ranks, &[("x.json", "{\"1\": [1, 0], \"2\": [3, 2]}")], "");
    assert_eq!(crossed.0, 8);
    // No name, and ASTRA-sim's `0`, are all ranks.
    let all = outcome(&reductions(&[("comm_tag", Int32(0)); 4]), &[], "");
    // A ring of four has 6 steps of 4 messages.
    assert_eq!((all.0, outcome(&reductions(&[of("0"); 4]), &[("x.json", TWO_GROUPS)], "")), (24, all));
}

#[test]
fn a_rank_without_its_collective_is_named() {
    let of = |group| ("pg_name", Text(group));
    let mut ranks = reductions(&[of("1"), of("1")]);
    node(ranks.next("1.0.0", &[]), 1, 4, &[], 1, &[]);
    let error = scenario(&ranks, &[("x.json", "{\"1\": [0, 1, 2]}")], "").expect_err("rank 2 has none");
    let message = "rank 2 has no part in this collective, number 1 of group `1` (ranks 0 to 2)";
    assert_eq!(error.to_string(), message);
    assert_eq!(error.origin().map(|at| at.source.name.contains("x.0.et, byte ")), Some(true));
    // Without a list the group consists of the ranks that name it, with a note.
    let loaded = scenario(&ranks, &[], "").expect("a group of two");
    let notes = &loaded.setup().expect("a network").notes;
    assert!(
        notes.iter().any(|note| note.contains("group `1` is listed nowhere: taken to be ranks 0, 1")),
        "{notes:?}"
    );
    let ranks = reductions(&[("pg_name", Text("0")), ("pg_name", Text("0"))]);
    let mut third = ranks.clone();
    node(third.next("1.0.0", &[]), 1, 4, &[], 1, &[]);
    let error = scenario(&third, &[], "").expect_err("all ranks").to_string();
    assert_eq!(error, "rank 2 has no part in this collective, number 1 of the group of ranks 0 to 2");
    // Another collective at one rank, in words.
    let mut other = reductions(&[of("1")]);
    // 16 B of each of two ranks are 32 B of all.
    let what = [("comm_type", Int64(2)), ("comm_size", Int64(16)), of("1")];
    node(other.next("1.0.0", &[]), 1, 7, &[], 0, &what);
    let error = scenario(&other, &[], "").expect_err("two collectives").to_string();
    assert_eq!(
        error,
        "node 1 of rank 1 takes part in another collective than node 1 of rank 0 does: all-gather of 32 B, and not \
         all-reduce of 8000 B"
    );
}

/// The ring all-reduce of ASTRA-sim's `custom_allreduce`, as the converter of MSCCL writes it.
fn ring(ranks: u64, chunk: Option<u64>, us: u64) -> Ranks {
    let mut all = Ranks::default();
    for rank in 0..ranks {
        let metadata = [
            ("schema", Text("1.0.2-chakra.0.0.4")),
            ("input_file", Text("<algo coll=\"allreduce\"/>")),
            ("collective", Text("allreduce")),
        ];
        let file = all.next("", &metadata);
        let mut id = 0;
        let mut last: Option<u64> = None;
        let add = |file: &mut Vec<u8>,
                   id: &mut u64,
                   last: &mut Option<u64>,
                   kind,
                   us,
                   what: &[(&str, Value<'_>)]| {
            let deps: Vec<u64> = last.iter().copied().collect();
            node(file, *id, kind, &deps, us, what);
            (*last, *id) = (Some(*id), *id + 1);
        };
        let size = |_: u64| match chunk {
            Some(chunk) => vec![("comm_size", Int64(chunk))],
            None => vec![("msg_chunk_cnt", Int32(1)), ("total_chunk_cnt", Int32(ranks)), ("tb_id", Int32(0))],
        };
        for step in 0..2 * (ranks - 1) {
            let mut send = size(step);
            send.extend([
                ("comm_type", Int64(5)),
                ("comm_dst", Int32((rank + 1) % ranks)),
                ("comm_tag", Int32(0)),
            ]);
            add(file, &mut id, &mut last, 5, 0, &send);
            let mut receive = size(step);
            receive.extend([
                ("comm_type", Int64(6)),
                ("comm_src", Int32((rank + ranks - 1) % ranks)),
                ("comm_tag", Int32(0)),
            ]);
            add(file, &mut id, &mut last, 6, 0, &receive);
            if step < ranks - 1 {
                add(file, &mut id, &mut last, 4, us, &[]);
            }
        }
    }
    all
}

#[test]
fn a_ring_of_mscclang_takes_its_messages_and_computations() {
    // All ranks send and receive at once: a round takes as long as one message until its sender knows of it.
    let mut pair = Ranks::default();
    for rank in 0..2u64 {
        let file = pair.next("", &[("schema", Text("symbolic_tensor_network"))]);
        let what = [("comm_size", Int64(131_072)), ("comm_tag", Int32(0)), ("is_cpu_op", Int32(0))];
        let peer = 1 - rank;
        node(file, 0, 5, &[], 0, &[&what[..], &[("comm_dst", Int32(peer))]].concat());
        node(file, 1, 6, &[0], 0, &[&what[..], &[("comm_src", Int32(peer))]].concat());
    }
    let (_, round) = outcome(&pair, &[], "");
    let (messages, took) = outcome(&ring(8, Some(131_072), 7), &[], "");
    // 2 (n - 1) steps of n messages.
    assert_eq!(messages, 112);
    // News of a message shares a link with another message, which is less than the news of two that meet.
    let expected = round * 14 + Time::us(49);
    assert!(took <= expected && expected - took < Time::ns(50), "{took}, not {expected}");
    // If the size is left to the simulator, it follows from the buffer of the collective.
    let chunks = ring(8, None, 7);
    assert_eq!(outcome(&chunks, &[], "collective_bytes = 1048576"), (112, took));
    let error = scenario(&chunks, &[], "").expect_err("no size").to_string();
    assert_eq!(error, "node 0 of rank 0: it sends 1 of 8 chunks, and nothing says of how many bytes");
    // Sends that are over at once do not wait for the news of their arrival.
    let (_, eager) = outcome(&ring(8, Some(131_072), 7), &[], "eager = \"1 MB\"");
    assert!(eager + Time::us(14) < took, "{eager} and {took}");
}

#[test]
fn one_rank_alone_and_computations_alone_run() {
    let mut alone = Ranks::default();
    let file = alone.next("", &[("schema", Text("1.0.1"))]);
    node(file, 1, 4, &[], 5, &[("is_cpu_op", Bool(true))]);
    // A call on the CPU, and what it does on the device.
    node(file, 2, 7, &[1], 85, &[("is_cpu_op", Bool(true)), ("op_schema", Text("c10d::broadcast_"))]);
    node(
        file,
        3,
        7,
        &[2],
        28,
        &[("is_cpu_op", Bool(false)), ("comm_type", Int64(5)), ("comm_size", Int64(212_480))],
    );
    // A collective of one rank takes no time: 5 and 85 us are left.
    assert_eq!(outcome(&alone, &[], ""), (0, Time::us(90)));
    let notes = scenario(&alone, &[], "").expect("a scenario").setup().expect("a network").notes.clone();
    let mut text = String::new();
    notes.iter().for_each(|note| writeln!(text, "{note}").expect("a text"));
    assert!(
        text.contains("1 node of communication on the CPU") && text.contains("1 collective of one rank"),
        "{text}"
    );
}
