//! Chakra execution traces (MLCommons, `et_def.proto` 0.0.4 to 1.0): a file for each rank, of messages that each stand behind their
//! length, a `GlobalMetadata` and then `Node`s.
//!
//! Nodes wait for their data dependencies. Control dependencies of traces from PyTorch are calls, and order nothing; the readers of
//! Chakra and ASTRA-sim leave them out as well. Sizes of collectives are those that ASTRA-sim means by `comm_size`.

use super::trace::{Binary, Collective, File, MOST_OPERATIONS, Place, Trace, What, When};
use crate::text::ScenarioError;
use crate::text::error::counted;
use headway_units::Time;
use prost::Message;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

#[derive(Clone, PartialEq, Message)]
struct GlobalMetadata {
    #[prost(bytes = "vec", tag = "1")]
    version: Vec<u8>,
}

/// A node as the schemas before 0.0.4 have it, which a reader of 0.0.4 would take for another.
#[derive(Clone, PartialEq, Message)]
struct OldNode {
    #[prost(bytes = "vec", repeated, tag = "11")]
    attributes: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct Node {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(int32, tag = "3")]
    kind: i32,
    #[prost(uint64, repeated, tag = "5")]
    data_deps: Vec<u64>,
    #[prost(uint64, tag = "7")]
    duration_micros: u64,
    #[prost(message, optional, tag = "8")]
    inputs: Option<Values>,
    #[prost(message, repeated, tag = "10")]
    attributes: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Message)]
struct Values {
    #[prost(string, tag = "1")]
    values: String,
}

#[derive(Clone, PartialEq, Message)]
struct Attribute {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(double, optional, tag = "3")]
    double: Option<f64>,
    #[prost(float, optional, tag = "5")]
    float: Option<f32>,
    #[prost(int32, optional, tag = "7")]
    int32: Option<i32>,
    #[prost(int64, optional, tag = "9")]
    int64: Option<i64>,
    #[prost(uint32, optional, tag = "11")]
    uint32: Option<u32>,
    #[prost(uint64, optional, tag = "13")]
    uint64: Option<u64>,
    #[prost(sint32, optional, tag = "15")]
    sint32: Option<i32>,
    #[prost(sint64, optional, tag = "17")]
    sint64: Option<i64>,
    #[prost(fixed32, optional, tag = "19")]
    fixed32: Option<u32>,
    #[prost(fixed64, optional, tag = "21")]
    fixed64: Option<u64>,
    #[prost(sfixed32, optional, tag = "23")]
    sfixed32: Option<i32>,
    #[prost(sfixed64, optional, tag = "25")]
    sfixed64: Option<i64>,
    #[prost(bool, optional, tag = "27")]
    boolean: Option<bool>,
    #[prost(message, optional, tag = "28")]
    booleans: Option<Booleans>,
    #[prost(string, optional, tag = "29")]
    text: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Booleans {
    #[prost(bool, repeated, tag = "1")]
    values: Vec<bool>,
}

impl Attribute {
    /// A whole number of any type.
    fn whole(&self) -> Option<i128> {
        let signed = [
            self.int32.map(i64::from),
            self.int64,
            self.sint32.map(i64::from),
            self.sint64,
            self.sfixed32.map(i64::from),
            self.sfixed64,
        ];
        let unsigned = [self.uint32.map(u64::from), self.uint64, self.fixed32.map(u64::from), self.fixed64];
        let all = signed
            .into_iter()
            .flatten()
            .map(i128::from)
            .chain(unsigned.into_iter().flatten().map(i128::from));
        all.chain(self.boolean.map(i128::from)).next()
    }
}

/// Numbers of `CollectiveCommType`.
const COLLECTIVES: [Collective; 10] = [
    Collective::AllReduce,
    Collective::Reduce,
    Collective::AllGather,
    Collective::Gather,
    Collective::Scatter,
    Collective::Broadcast,
    Collective::AllToAll,
    Collective::ReduceScatter,
    Collective::ReduceScatter,
    Collective::Barrier,
];

/// Processors of a rank: its accelerator, its host, and its memory.
const ACCELERATOR: u16 = 0;
const HOST: u16 = 1;
const MEMORY: u16 = 2;

/// Reads the files of all ranks, in their order. Computations that have no duration take their operations over `operations_per_second`.
pub fn parse(files: Vec<Arc<Binary>>, operations_per_second: Option<f64>) -> Result<Trace, ScenarioError> {
    let trace = Trace {
        ranks: files.len() as u32,
        files: files.iter().map(|file| File::Binary(Arc::clone(file))).collect(),
        ..Trace::default()
    };
    let mut reader = Reader {
        trace,
        operations_per_second,
        groups: BTreeMap::new(),
        named: BTreeMap::new(),
        untimed: 0,
        rooted: 0,
    };
    for (rank, file) in (0..).zip(&files) {
        OfRank { rank, file, ids: FxHashMap::default(), last: None }.read(&mut reader)?;
    }
    reader.finish()
}

/// Whether bytes begin as a trace does: a message that is no longer than they are, and begins with a string.
pub fn is_likely(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    prost::decode_length_delimiter(&mut rest)
        .is_ok_and(|length| length >= 2 && length <= rest.len() && rest[0] == 0x0a)
}

struct Reader {
    trace: Trace,
    operations_per_second: Option<f64>,
    /// By name of a process group, the ranks that have collectives of it, and those collectives.
    groups: BTreeMap<String, BTreeMap<u32, Vec<u32>>>,
    /// Ranks of groups that a metadata node lists.
    named: BTreeMap<String, Vec<u32>>,
    /// Accesses of memory without a duration.
    untimed: u64,
    /// Collectives that have a root. The schema has no attribute for it.
    rooted: u64,
}

struct OfRank<'a> {
    rank: u32,
    file: &'a Arc<Binary>,
    /// By id, the operation of a node.
    ids: FxHashMap<u64, u32>,
    /// Id of the last node that was read.
    last: Option<u64>,
}

impl OfRank<'_> {
    /// An error at some bytes of the file, with the rank and how far it was read.
    fn fail(&self, span: Range<usize>, text: impl std::fmt::Display) -> ScenarioError {
        let place = match self.last {
            Some(node) => format!("rank {}, after node {node}", self.rank),
            None => format!("rank {}", self.rank),
        };
        self.file.fail(span, format!("{place}: {text}"))
    }

    /// An error about a node.
    fn fail_of(&self, node: &Node, span: &Range<usize>, text: impl std::fmt::Display) -> ScenarioError {
        self.file.fail(span.clone(), format!("node {} of rank {}: {text}", node.id, self.rank))
    }

    fn read(mut self, reader: &mut Reader) -> Result<(), ScenarioError> {
        let bytes = &self.file.bytes;
        let mut at = 0;
        let first = self.message(&mut at)?;
        self.metadata(first)?;
        // Nodes may stand before those that they wait for.
        let mut waits: Vec<(u32, Vec<u64>)> = Vec::new();
        while at < bytes.len() {
            let span = self.message(&mut at)?;
            let content = &bytes[span.clone()];
            self.is_new(&span)?;
            let node = Node::decode(content)
                .map_err(|error| self.fail(span.clone(), format!("this is no node of a trace: {error}")))?;
            if reader.trace.operations.len() as u64 >= MOST_OPERATIONS {
                return Err(self.fail(span, format!("more than {MOST_OPERATIONS} operations")));
            }
            let what = self.what(&node, span.clone(), reader)?;
            let place = Place { file: self.rank, span: span.clone() };
            let name = format!("node {} of rank {}", node.id, self.rank);
            let number = reader.trace.push(self.rank, what, Some(&name), place);
            if let What::Collective { .. } = reader.trace.operations[number as usize].what {
                let group = node.text("pg_name").unwrap_or_default();
                reader.groups.entry(group).or_default().entry(self.rank).or_default().push(number);
            }
            if self.ids.insert(node.id, number).is_some() {
                return Err(self.fail(span, format!("another node has the id {}", node.id)));
            }
            self.last = Some(node.id);
            if !node.data_deps.is_empty() {
                waits.push((number, node.data_deps));
            }
        }
        for (waiting, causes) in waits {
            for id in causes {
                let Some(cause) = self.ids.get(&id) else {
                    let text =
                        format!("{} waits for node {id}, which is not there", reader.trace.called(waiting));
                    return Err(reader.trace.fail(waiting, text).help("is the file cut off?"));
                };
                reader.trace.wait(waiting, *cause, When::Over);
            }
        }
        Ok(())
    }

    /// The bytes of the next message.
    fn message(&self, at: &mut usize) -> Result<Range<usize>, ScenarioError> {
        let bytes = &self.file.bytes;
        let begin = *at;
        let mut rest = &bytes[begin.min(bytes.len())..];
        if rest.is_empty() {
            return Err(self.fail(begin..begin, "the file is empty: a trace begins with its metadata"));
        }
        let length = prost::decode_length_delimiter(&mut rest)
            .map_err(|_| self.fail(begin..begin + 1, "this is no length of a message: is it a trace?"))?;
        let from = bytes.len() - rest.len();
        if length > rest.len() {
            let text = format!("a message of {length} B begins here, and {} B are left", rest.len());
            return Err(self.fail(begin..from, text).help("is the file cut off?"));
        }
        *at = from + length;
        Ok(from..from + length)
    }

    fn metadata(&self, span: Range<usize>) -> Result<(), ScenarioError> {
        // A file of the first schemas begins with a node.
        self.is_new(&span)?;
        let decoded = GlobalMetadata::decode(&self.file.bytes[span.clone()]);
        let metadata = decoded
            .map_err(|error| self.fail(span.clone(), format!("this is no metadata of a trace: {error}")))?;
        let version = String::from_utf8_lossy(&metadata.version).into_owned();
        let number = |part: Option<&str>| part.and_then(|part| part.parse::<u32>().ok());
        let mut parts = version.split('.');
        let version_of = (number(parts.next()), number(parts.next()), number(parts.next()));
        match version_of {
            (Some(0), Some(0), Some(4..)) | (Some(1), ..) => Ok(()),
            (Some(0), Some(0), Some(_)) => Err(self.old(span)),
            (Some(major), ..) if version.starts_with(|c: char| c.is_ascii_digit()) => {
                let text = format!(
                    "the trace is of Chakra {version}; versions from 0.0.4 to 1 are read, not {major}"
                );
                Err(self.fail(span, text))
            }
            // The metadata of the schemas before 0.0.4 had attributes where the version is now.
            _ => Err(self.old(span)),
        }
    }

    fn is_new(&self, span: &Range<usize>) -> Result<(), ScenarioError> {
        let old = OldNode::decode(&self.file.bytes[span.clone()]);
        if old.is_ok_and(|old| !old.attributes.is_empty()) { Err(self.old(span.clone())) } else { Ok(()) }
    }

    fn old(&self, span: Range<usize>) -> ScenarioError {
        let error = self
            .fail(span, "the trace is of a schema of Chakra before 0.0.4, whose nodes name their `parent`");
        error.help("collect or convert it with Chakra 0.0.4 or newer")
    }

    fn what(&self, node: &Node, span: Range<usize>, reader: &mut Reader) -> Result<What, ScenarioError> {
        let fail = |text: String| self.fail_of(node, &span, text);
        let is_cpu = node.whole("is_cpu_op").is_some_and(|value| value != 0);
        let duration = || {
            let takes = node.duration_micros.checked_mul(1_000_000).map(Time);
            takes.ok_or_else(|| fail(format!("{} us are too long", node.duration_micros)))
        };
        let need = |name: &str| node.whole(name).ok_or_else(|| fail(format!("it has no `{name}`")));
        let bytes = || {
            let size = need("comm_size")?;
            u64::try_from(size).map_err(|_| fail(format!("`comm_size` is {size}")))
        };
        let rank = |name: &str| {
            let number = need(name)?;
            let there = u32::try_from(number).ok().filter(|number| *number < reader.trace.ranks);
            there.ok_or_else(|| {
                let ranks = counted(u64::from(reader.trace.ranks), "file");
                fail(format!("`{name}` is {number}, and there are {ranks}, one for each rank"))
            })
        };
        let tag = || {
            let number = node.whole("comm_tag").unwrap_or(0);
            u32::try_from(number).map_err(|_| fail(format!("`comm_tag` is {number}")))
        };
        Ok(match node.kind {
            0 => What::Join { needs: None, nowhere: false },
            1 => {
                self.groups(node, &span, reader)?;
                What::Join { needs: None, nowhere: false }
            }
            2 | 3 => {
                reader.untimed += u64::from(node.duration_micros == 0);
                What::Compute { takes: duration()?, processor: Some(MEMORY) }
            }
            4 => {
                let operations = node.whole("num_ops").unwrap_or(0);
                let takes = match (node.duration_micros, reader.operations_per_second) {
                    (0, None) if operations > 0 => {
                        let error = fail(format!("it computes {operations} operations and has no duration"));
                        return Err(
                            error.help("`operations_per_second` of the entry says how long they take")
                        );
                    }
                    (0, Some(rate)) => {
                        let ps = libm::round(operations as f64 / rate * 1e12);
                        // A number that does not fit becomes the largest.
                        Time(ps as u64)
                    }
                    _ => duration()?,
                };
                What::Compute { takes, processor: Some(if is_cpu { HOST } else { ACCELERATOR }) }
            }
            5 => What::Send { to: rank("comm_dst")?, bytes: bytes()?, tag: tag()?, processor: None },
            6 => What::Receive {
                from: Some(rank("comm_src")?),
                bytes: bytes()?,
                tag: Some(tag()?),
                processor: None,
            },
            7 => {
                let number = need("comm_type")?;
                let known = usize::try_from(number).ok().and_then(|number| COLLECTIVES.get(number));
                let collective =
                    *known.ok_or_else(|| fail(format!("there is no collective of `comm_type` {number}")))?;
                if let Some(dims) = node.attribute("involved_dim").and_then(|one| one.booleans.as_ref())
                    && dims.values.contains(&false)
                {
                    return Err(fail(
                        "it is a collective over some dimensions of a network (`involved_dim`)".into(),
                    ));
                }
                let bytes = if collective == Collective::Barrier { 1 } else { bytes()? };
                let has_root =
                    [Collective::Broadcast, Collective::Reduce, Collective::Gather, Collective::Scatter];
                reader.rooted += u64::from(has_root.contains(&collective));
                // The group is known when all files are read.
                What::Collective { collective, bytes, group: 0, root: 0 }
            }
            other => return Err(fail(format!("there is no node of type {other}"))),
        })
    }

    /// Process groups as PyTorch writes them: a list in JSON, inside a list of Python.
    fn groups(&self, node: &Node, span: &Range<usize>, reader: &mut Reader) -> Result<(), ScenarioError> {
        let Some(inputs) = node.inputs.as_ref().filter(|_| node.name.contains("process_group:init")) else {
            return Ok(());
        };
        let text = inputs.values.trim();
        let inner = text.strip_prefix("['").and_then(|rest| rest.strip_suffix("']")).unwrap_or(text);
        let fail = |text: String| self.fail_of(node, span, text);
        let list: serde_json::Value = serde_json::from_str(inner)
            .map_err(|error| fail(format!("its process groups are no JSON: {error}")))?;
        for one in list.as_array().into_iter().flatten() {
            let Some(name) = one["pg_name"].as_str() else { continue };
            let ranks = one["ranks"].as_array().into_iter().flatten();
            let ranks: Option<Vec<u32>> = ranks
                .map(|rank| {
                    rank.as_u64()
                        .and_then(|rank| u32::try_from(rank).ok())
                        .filter(|rank| *rank < reader.trace.ranks)
                })
                .collect();
            let Some(mut ranks) = ranks else {
                let files = counted(u64::from(reader.trace.ranks), "file");
                return Err(fail(format!(
                    "process group `{name}` has a rank without a file: there are {files}"
                )));
            };
            if ranks.is_empty() {
                ranks = (0..reader.trace.ranks).collect();
            }
            ranks.sort_unstable();
            ranks.dedup();
            reader.named.insert(name.to_string(), ranks);
        }
        Ok(())
    }
}

impl Node {
    fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|one| one.name == name)
    }

    fn whole(&self, name: &str) -> Option<i128> {
        self.attribute(name)?.whole()
    }

    fn text(&self, name: &str) -> Option<String> {
        let attribute = self.attribute(name)?;
        attribute.text.clone().or_else(|| attribute.whole().map(|number| number.to_string()))
    }
}

impl Reader {
    /// A process group that no node lists is that of all ranks that have collectives of it; without a name it is that of all ranks.
    fn finish(mut self) -> Result<Trace, ScenarioError> {
        for (name, members) in self.groups {
            let ranks: Vec<u32> = match self.named.get(&name) {
                Some(ranks) => ranks.clone(),
                None if name.is_empty() => (0..self.trace.ranks).collect(),
                None => members.keys().copied().collect(),
            };
            let number = self.trace.groups.len() as u32;
            let count = ranks.len() as u64;
            for operation in members.into_values().flatten() {
                if let What::Collective { collective, bytes, group, .. } =
                    &mut self.trace.operations[operation as usize].what
                {
                    *group = number;
                    // ASTRA-sim's size of what a rank has before; that of all is counted here.
                    if matches!(collective, Collective::AllGather | Collective::Gather) {
                        *bytes = bytes.saturating_mul(count);
                    }
                }
            }
            self.trace.groups.push(ranks);
        }
        if self.rooted > 0 {
            let count = counted(self.rooted, "collective");
            self.trace.notes.push(format!(
                "the first rank of its group is the root of {count}: Chakra does not say which rank is"
            ));
        }
        if self.untimed > 0 {
            let count = counted(self.untimed, "memory node");
            self.trace.notes.push(format!("without a duration: {count}, taken to need no time"));
        }
        Ok(self.trace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(name: &str, value: i64) -> Attribute {
        Attribute { name: name.into(), int64: Some(value), ..Attribute::default() }
    }

    fn node(id: u64, kind: i32, data_deps: &[u64], attributes: Vec<Attribute>) -> Node {
        Node { id, name: "n".into(), kind, data_deps: data_deps.to_vec(), attributes, ..Node::default() }
    }

    fn file(rank: u32, version: &str, nodes: &[Node]) -> Arc<Binary> {
        let metadata = GlobalMetadata { version: version.into() };
        let mut bytes = metadata.encode_length_delimited_to_vec();
        nodes.iter().for_each(|node| bytes.extend(node.encode_length_delimited_to_vec()));
        Arc::new(Binary { name: format!("x.{rank}.et"), bytes })
    }

    fn read(nodes: [&[Node]; 2]) -> Result<Trace, ScenarioError> {
        parse((0..).zip(nodes).map(|(rank, nodes)| file(rank, "1.0.0", nodes)).collect(), None)
    }

    fn send(id: u64, deps: &[u64], to: i64) -> Node {
        node(id, 5, deps, vec![whole("comm_dst", to), whole("comm_size", 100), whole("comm_tag", 3)])
    }

    fn receive(id: u64, deps: &[u64], from: i64) -> Node {
        node(id, 6, deps, vec![whole("comm_src", from), whole("comm_size", 100), whole("comm_tag", 3)])
    }

    fn collective(id: u64, kind: i64, size: i64) -> Node {
        node(id, 7, &[], vec![whole("comm_type", kind), whole("comm_size", size)])
    }

    #[test]
    fn nodes_wait_for_their_data_and_collectives_are_of_their_group() {
        let compute = Node { duration_micros: 7, ..node(2, 4, &[1], Vec::new()) };
        let trace = read([
            &[send(1, &[], 1), compute, collective(3, 2, 50)],
            &[receive(9, &[], 0), collective(4, 2, 50)],
        ]);
        let trace = trace.expect("a trace");
        let whats: Vec<&What> = trace.operations.iter().map(|one| &one.what).collect();
        assert_eq!(whats[0], &What::Send { to: 1, bytes: 100, tag: 3, processor: None });
        assert_eq!(whats[1], &What::Compute { takes: Time::us(7), processor: Some(ACCELERATOR) });
        // What ASTRA-sim gives of an all-gather is what a rank has before.
        assert_eq!(
            whats[2],
            &What::Collective { collective: Collective::AllGather, bytes: 100, group: 0, root: 0 }
        );
        assert_eq!(whats[3], &What::Receive { from: Some(0), bytes: 100, tag: Some(3), processor: None });
        assert_eq!(trace.groups, [[0, 1]]);
        assert_eq!((trace.waits[0].operation, trace.waits[0].cause), (1, 0));
    }

    #[test]
    fn groups_are_those_that_the_metadata_lists_or_of_all_who_name_them() {
        let of = |name: &str, id| {
            let mut node = collective(id, 0, 64);
            node.attributes.push(Attribute {
                name: "pg_name".into(),
                text: Some(name.into()),
                ..Attribute::default()
            });
            node
        };
        let trace = read([&[of("a", 1), of("b", 2)], &[of("b", 1)]]).expect("a trace");
        assert_eq!(trace.groups, [vec![0], vec![0, 1]]);
        let values = Some(Values { values: "['[{\"pg_name\": \"a\", \"ranks\": [1, 0]}]']".into() });
        let listed =
            Node { name: "## process_group:init ##".into(), inputs: values, ..node(7, 1, &[], Vec::new()) };
        let trace = read([&[listed, of("a", 1)], &[of("a", 1)]]).expect("a trace");
        assert_eq!(trace.groups, [[0, 1]]);
    }

    #[test]
    fn what_the_schema_does_not_say_is_noted() {
        let broadcast = |id| collective(id, 5, 64);
        let trace = read([&[broadcast(1), node(2, 2, &[], Vec::new())], &[broadcast(1)]]).expect("a trace");
        assert_eq!(trace.notes.len(), 2, "{:?}", trace.notes);
        assert!(
            trace.notes[0].contains("2 collectives") && trace.notes[1].contains("1 memory node"),
            "{:?}",
            trace.notes
        );
    }

    #[test]
    fn operations_take_their_time_where_somebody_says_how_fast_they_are() {
        let nodes = [node(1, 4, &[], vec![whole("num_ops", 5_000)])];
        let files = || vec![file(0, "0.0.4", &nodes)];
        let error = parse(files(), None).expect_err("no duration").to_string();
        assert_eq!(error, "node 1 of rank 0: it computes 5000 operations and has no duration");
        let trace = parse(files(), Some(1e9)).expect("a trace");
        assert_eq!(trace.operations[0].what, What::Compute { takes: Time::us(5), processor: Some(0) });
    }

    #[test]
    fn older_dialects_and_what_is_no_trace_are_named() {
        // A node of 0.0.3: id, name, type, parent, inputs and an attribute.
        #[derive(Clone, PartialEq, Message)]
        struct Older {
            #[prost(uint64, tag = "1")]
            id: u64,
            #[prost(string, tag = "2")]
            name: String,
            #[prost(int32, tag = "3")]
            kind: i32,
            #[prost(uint64, repeated, packed = "false", tag = "4")]
            parent: Vec<u64>,
            #[prost(string, tag = "5")]
            inputs: String,
            #[prost(message, repeated, tag = "11")]
            attributes: Vec<Attribute>,
        }
        let older = Older {
            id: 1,
            name: "x".into(),
            kind: 4,
            parent: vec![3],
            inputs: "[]".into(),
            attributes: vec![whole("a", 1)],
        };
        let before =
            "rank 0: the trace is of a schema of Chakra before 0.0.4, whose nodes name their `parent`";
        let binary = |bytes: Vec<u8>| vec![Arc::new(Binary { name: "x.0.et".into(), bytes })];
        let of = |bytes: Vec<u8>| parse(binary(bytes), None).expect_err("no trace");
        let mut with_metadata = file(0, "0.0.4", &[]).bytes.clone();
        with_metadata.extend(older.encode_length_delimited_to_vec());
        assert_eq!(of(with_metadata).to_string(), before);
        assert_eq!(of(older.encode_length_delimited_to_vec()).to_string(), before);
        assert_eq!(of(file(0, "0.0.3", &[]).bytes.clone()).to_string(), before);
        assert_eq!(
            of(file(0, "2.0", &[]).bytes.clone()).to_string(),
            "rank 0: the trace is of Chakra 2.0; versions from 0.0.4 to 1 are read, not 2"
        );
        let whole = file(0, "1.0.0", &[send(1, &[], 0)]).bytes.clone();
        let cut = of(whole[..whole.len() - 3].to_vec());
        assert!(cut.to_string().contains("begins here, and"), "{cut}");
        assert!(of(Vec::new()).to_string().starts_with("rank 0: the file is empty"));
        assert!(of(vec![0xff; 30]).to_string().starts_with("rank 0: this is no length of a message"));
        for cut in 0..whole.len() {
            // Nothing but a whole number of messages is read.
            let read = parse(binary(whole[..cut].to_vec()), None);
            assert!(read.is_err() || read.is_ok_and(|trace| trace.operations.is_empty()), "{cut}");
        }
    }

    #[test]
    fn what_a_node_lacks_is_said() {
        let cases = [
            (node(1, 5, &[], vec![whole("comm_dst", 1)]), "node 1 of rank 0: it has no `comm_size`"),
            (send(1, &[], 2), "node 1 of rank 0: `comm_dst` is 2, and there are 2 files, one for each rank"),
            (node(1, 6, &[], Vec::new()), "node 1 of rank 0: it has no `comm_src`"),
            (
                node(1, 7, &[], vec![whole("comm_type", 10), whole("comm_size", 1)]),
                "node 1 of rank 0: there is no collective of `comm_type` 10",
            ),
            (
                node(1, 7, &[], vec![whole("comm_type", 0), whole("comm_size", -1)]),
                "node 1 of rank 0: `comm_size` is -1",
            ),
            (node(1, 9, &[], Vec::new()), "node 1 of rank 0: there is no node of type 9"),
            (node(1, 4, &[5], Vec::new()), "node 1 of rank 0 waits for node 5, which is not there"),
            (
                Node { duration_micros: u64::MAX, ..node(1, 4, &[], Vec::new()) },
                "node 1 of rank 0: 18446744073709551615 us are too long",
            ),
        ];
        for (node, message) in cases {
            assert_eq!(read([&[node], &[]]).expect_err(message).to_string(), message);
        }
        let twice = read([&[collective(1, 0, 1), collective(1, 0, 1)], &[]]).expect_err("two");
        assert_eq!(twice.to_string(), "rank 0, after node 1: another node has the id 1");
    }
}
