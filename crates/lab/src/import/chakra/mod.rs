//! Chakra execution traces (MLCommons, `et_def.proto` 0.0.4 to 1.0): a file for each rank, of messages that each stand behind their
//! length, a `GlobalMetadata` and then `Node`s; or the same as JSON.
//!
//! Nodes wait for their data dependencies. Control dependencies of traces from PyTorch are calls, and order nothing; the readers of
//! Chakra and ASTRA-sim leave them out as well. Sizes of collectives are those that ASTRA-sim means by `comm_size`.

mod groups;
mod schema;

use super::trace::{Binary, Collective, File, MOST_OPERATIONS, Place, Trace, What, When};
use crate::text::error::counted;
use crate::text::{ScenarioError, Source};
use groups::Groups;
use headway_units::Time;
use prost::Message;
use rustc_hash::FxHashMap;
use schema::{Node, proto};
pub use schema::{OtherJson, other_json};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// Collectives by number of `CollectiveCommType`.
const COLLECTIVES: [Collective; schema::COLLECTIVES.len()] = [
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

/// Facts that the files do not contain.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// Computations without a duration take their operations over this.
    pub operations_per_second: Option<f64>,
    /// The buffer of a collective whose messages are given in chunks of it.
    pub collective_bytes: Option<u64>,
    /// The list of groups next to the files, and true if it was given by name.
    pub groups: Option<(Arc<Source>, bool)>,
}

/// Reads the files of all ranks, in their order.
pub fn parse(files: Vec<Binary>, said: &Said) -> Result<Trace, ScenarioError> {
    let files: Vec<File> = files.into_iter().map(file_of).collect();
    let trace = Trace { ranks: files.len() as u32, files: files.clone(), ..Trace::default() };
    let groups = match &said.groups {
        None => Groups::default(),
        Some((source, is_asked)) => match Groups::file(source, trace.ranks)? {
            Some(groups) => groups,
            None if *is_asked => {
                let error = File::Text(Arc::clone(source)).fail(0..1, "this is no list of groups in JSON");
                return Err(
                    error.help("it is a table of the ranks of each group: `{\"1\": [0, 1], \"2\": [2, 3]}`")
                );
            }
            None => Groups::default(),
        },
    };
    let mut reader = Reader { trace, said, groups, counts: Counts::default() };
    for (rank, file) in (0..).zip(&files) {
        OfRank { rank, file, ids: FxHashMap::default(), last: None }.read(&mut reader)?;
    }
    reader.finish()
}

/// A text in JSON, or bytes of protobuf.
fn file_of(file: Binary) -> File {
    match schema::text_of(&file).filter(|_| schema::is_json(&file.bytes)) {
        Some(source) => File::Text(source),
        None => File::Binary(Arc::new(file)),
    }
}

/// Reason why bytes are not a trace, in words; `None` if they begin as one.
pub fn why_not(bytes: &[u8]) -> Option<String> {
    if !schema::is_json(bytes) {
        return schema::why_not(bytes);
    }
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    if schema::other_json(text).is_some() {
        return Some("its nodes have no kind".into());
    }
    let nodes = ["\"nodes\"", "\"workload_graph\"", "_NODE\"", "\"NodeType\"", "\"node_type\""];
    let is_node = nodes.iter().any(|word| text.contains(word));
    let has_metadata = text.contains("\"version\"") || text.contains("\"attr\"");
    (!is_node && !has_metadata).then(|| "it is JSON without nodes of a trace".into())
}

struct Reader<'a> {
    trace: Trace,
    said: &'a Said,
    groups: Groups,
    counts: Counts,
}

/// Counts for the notes about a trace when it is read.
#[derive(Default)]
struct Counts {
    /// Accesses of memory without a duration.
    untimed: u64,
    /// Collectives that have a root and do not say which rank it is.
    rooted: u64,
    /// Communication that is a call on the CPU, and so time of the host.
    calls: u64,
    /// Messages of a group that is not all ranks.
    of_groups: u64,
    /// Nodes with control dependencies.
    controlled: u64,
    /// Nodes that say when they started.
    started: u64,
    /// Number of communicating nodes by each attribute without effect.
    unused: BTreeMap<String, u64>,
}

/// Attributes that have an effect, or that concern neither members, sizes nor times.
const READ: [&str; 37] = [
    "is_cpu_op",
    "num_ops",
    "tensor_size",
    "op_type",
    "comm_type",
    "comm_size",
    "comm_src",
    "comm_dst",
    "comm_tag",
    "involved_dim",
    "pg_name",
    "pg_desc",
    "pg_size",
    "group_size",
    "group_desc",
    "comm_group",
    "communicator_id",
    "root",
    "root_rank",
    "comm_root",
    "rank",
    "inputs",
    "outputs",
    "rf_id",
    "fw_parent",
    "fw_tid",
    "seq_id",
    "scope",
    "tid",
    "op_schema",
    "msg_chunk_cnt",
    "msg_chunk_idx",
    "total_chunk_cnt",
    "local_time_step",
    "chunk_offset",
    "tb_id",
    "is_rrc",
];
/// Others that only repeat the dependencies.
const REPEATED: [&str; 4] = ["hasdep", "deps", "depid", "stream"];

struct OfRank<'a> {
    rank: u32,
    file: &'a File,
    /// Operations of nodes, by id.
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

    fn read(mut self, reader: &mut Reader<'_>) -> Result<(), ScenarioError> {
        // Nodes may stand before those that they wait for.
        let mut waits: Vec<(u32, Vec<u64>)> = Vec::new();
        match self.file {
            File::Text(source) => {
                // The first file was looked at before, and those of other ranks are of the same writer.
                if schema::other_json(&source.text).is_some() {
                    return Err(self
                        .fail(0..1, "this is a trace before Chakra's converter, whose nodes have no kind"));
                }
                for (node, span) in schema::json(source)? {
                    self.node(node, span, reader, &mut waits)?;
                }
            }
            File::Binary(file) => {
                let mut at = 0;
                let first = self.message(file, &mut at)?;
                self.metadata(file, first)?;
                while at < file.bytes.len() {
                    let span = self.message(file, &mut at)?;
                    // Every node, since a tool may have put new metadata before old nodes.
                    self.is_new(file, &span)?;
                    let node = Node::decode(&file.bytes[span.clone()]);
                    let node = node.map_err(|(id, text)| match id {
                        Some(id) => {
                            file.fail(span.clone(), format!("node {id} of rank {}: {text}", self.rank))
                        }
                        None => self.fail(span.clone(), text),
                    })?;
                    self.node(node, span, reader, &mut waits)?;
                }
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

    fn node(
        &mut self,
        node: Node,
        span: Range<usize>,
        reader: &mut Reader<'_>,
        waits: &mut Vec<(u32, Vec<u64>)>,
    ) -> Result<(), ScenarioError> {
        if reader.trace.operations.len() as u64 >= MOST_OPERATIONS {
            return Err(self.fail(span, format!("more than {MOST_OPERATIONS} operations")));
        }
        let what = self.what(&node, span.clone(), reader)?;
        let place = Place { file: self.rank, span: span.clone() };
        let name = format!("node {} of rank {}", node.id, self.rank);
        let is_collective = matches!(what, What::Collective { .. });
        let number = reader.trace.push(self.rank, what, Some(&name), place);
        if is_collective {
            reader.groups.used(number, &node).map_err(|text| self.fail_of(&node, &span, text))?;
        }
        if self.ids.insert(node.id, number).is_some() {
            return Err(self.fail(span, format!("another node has the id {}", node.id)));
        }
        self.last = Some(node.id);
        reader.counts.controlled += u64::from(node.ctrl_deps > 0);
        reader.counts.started += u64::from(node.starts);
        if !node.data_deps.is_empty() {
            waits.push((number, node.data_deps));
        }
        Ok(())
    }

    /// The bytes of the next message.
    fn message(&self, file: &Binary, at: &mut usize) -> Result<Range<usize>, ScenarioError> {
        let bytes = &file.bytes;
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

    fn metadata(&self, file: &Binary, span: Range<usize>) -> Result<(), ScenarioError> {
        // A file of the first schemas begins with a node.
        self.is_new(file, &span)?;
        let metadata = proto::GlobalMetadata::decode(&file.bytes[span.clone()])
            .map_err(|_| self.fail(span.clone(), "this is no metadata of a trace"))?;
        // The metadata of the schemas before 0.0.4 had attributes where the version is now.
        let is_old = proto::Attribute::decode(&metadata.version[..]).is_ok_and(|one| !one.name.is_empty());
        let version = match String::from_utf8(metadata.version) {
            Ok(version) if !is_old => version,
            _ => return Err(self.old(span)),
        };
        let number = |part: Option<&str>| part.and_then(|part| part.parse::<u32>().ok());
        let mut parts = version.trim_start_matches(['v', 'V']).split('.');
        match (number(parts.next()), number(parts.next()), number(parts.next())) {
            // Converters write no version: attributes, or nothing.
            _ if version.is_empty() => Ok(()),
            (Some(0), Some(0), Some(4..)) | (Some(1), ..) => Ok(()),
            (Some(0), Some(0), Some(_)) => Err(self.old(span)),
            (Some(major), ..) => {
                let text = format!(
                    "the trace is of Chakra {version}; versions from 0.0.4 to 1 are read, not {major}"
                );
                Err(self.fail(span, text))
            }
            _ => Err(self.fail(span, format!("`{version}` is no version of Chakra, from 0.0.4 to 1"))),
        }
    }

    fn is_new(&self, file: &Binary, span: &Range<usize>) -> Result<(), ScenarioError> {
        let old = proto::OldNode::decode(&file.bytes[span.clone()]);
        if old.is_ok_and(|old| !old.attributes.is_empty()) { Err(self.old(span.clone())) } else { Ok(()) }
    }

    fn old(&self, span: Range<usize>) -> ScenarioError {
        let error = self
            .fail(span, "the trace is of a schema of Chakra before 0.0.4, whose nodes name their `parent`");
        error.help("collect or convert it with Chakra 0.0.4 or newer")
    }

    fn what(&self, node: &Node, span: Range<usize>, reader: &mut Reader<'_>) -> Result<What, ScenarioError> {
        let fail = |text: String| self.fail_of(node, &span, text);
        let takes = node.takes.unwrap_or_default();
        Ok(match node.kind {
            0 => What::Join { needs: None, nowhere: false },
            1 => {
                self.groups(node, &span, reader)?;
                What::Join { needs: None, nowhere: false }
            }
            2 | 3 => {
                reader.counts.untimed += u64::from(node.takes.is_none());
                What::Compute { takes, processor: Some(MEMORY) }
            }
            4 => {
                let operations = node.whole("num_ops").unwrap_or(0);
                let takes = match (node.takes, reader.said.operations_per_second) {
                    (None, None) if operations > 0 => {
                        let error = fail(format!("it computes {operations} operations and has no duration"));
                        return Err(error.help("`operations_per_second` says how long they take"));
                    }
                    (None, Some(rate)) => {
                        let ps = libm::round(operations as f64 / rate * 1e12);
                        // A number that does not fit becomes the largest.
                        Time(ps as u64)
                    }
                    _ => takes,
                };
                What::Compute { takes, processor: Some(if node.is_cpu() { HOST } else { ACCELERATOR }) }
            }
            5..=7 => {
                if let Some(name) = groups::not_understood(node, self.rank) {
                    let error =
                        fail(format!("its attribute `{name}` says who takes part, and is not understood"));
                    return Err(error.help("groups are named by `pg_name`, `comm_group` or `communicator_id`, and a root by `root`"));
                }
                // The call of a collective: what it does on the network is a node of the device.
                let peer = ["comm_dst", "comm_src", "comm_type"][node.kind as usize - 5];
                if node.is_cpu() && node.attribute(peer).is_none() {
                    reader.counts.calls += 1;
                    return Ok(What::Compute { takes, processor: Some(HOST) });
                }
                self.unused(node, reader);
                match node.kind {
                    7 => self.collective(node, &span, reader)?,
                    _ => self.message_of(node, &span, reader)?,
                }
            }
            other => return Err(fail(format!("there is no node of type {other}"))),
        })
    }

    fn need(&self, node: &Node, span: &Range<usize>, name: &str) -> Result<i128, ScenarioError> {
        node.whole(name).ok_or_else(|| match node.attribute(name) {
            Some(_) => self.fail_of(node, span, format!("`{name}` is no whole number")),
            None => {
                let error = self.fail_of(node, span, format!("it has no `{name}`"));
                let peer = ["comm_dst", "comm_src"].contains(&name);
                let help = if peer {
                    "Chakra's converter of PyTorch's traces leaves out to whom a send goes"
                } else {
                    "without it nothing says what is sent; traces in JSON leave it out, and those in protobuf have it"
                };
                error.help(help)
            }
        })
    }

    /// Bytes of a message or of a collective.
    fn bytes(&self, node: &Node, span: &Range<usize>, reader: &Reader<'_>) -> Result<u64, ScenarioError> {
        let chunks = (node.whole("msg_chunk_cnt"), node.whole("total_chunk_cnt"));
        // A size in bytes comes before one in chunks.
        if let ((Some(some), Some(all)), None) = (chunks, node.attribute("comm_size")) {
            let Some(buffer) = reader.said.collective_bytes else {
                let error = self.fail_of(
                    node,
                    span,
                    format!("it sends {some} of {all} chunks, and nothing says of how many bytes"),
                );
                return Err(error.help("`collective_bytes` says how large the buffer of the collective is"));
            };
            // Before the division.
            if all <= 0 || !(0..=all).contains(&some) {
                return Err(self.fail_of(node, span, format!("it sends {some} of {all} chunks")));
            }
            return Ok((i128::from(buffer) * some / all) as u64);
        }
        let size = self.need(node, span, "comm_size")?;
        u64::try_from(size).map_err(|_| self.fail_of(node, span, format!("`comm_size` is {size}")))
    }

    /// A send or a receive.
    fn message_of(
        &self,
        node: &Node,
        span: &Range<usize>,
        reader: &mut Reader<'_>,
    ) -> Result<What, ScenarioError> {
        let fail = |text: String| self.fail_of(node, span, text);
        let ranks = reader.trace.ranks;
        let rank = |name: &str| {
            let number = self.need(node, span, name)?;
            let there = u32::try_from(number).ok().filter(|number| *number < ranks);
            there.ok_or_else(|| {
                let files = counted(u64::from(ranks), "file");
                fail(format!("`{name}` is {number}, and there are {files}, one for each rank"))
            })
        };
        let (peer, own) = if node.kind == 5 { ("comm_dst", "comm_src") } else { ("comm_src", "comm_dst") };
        if let Some(other) = node.whole(own).filter(|other| *other != i128::from(self.rank)) {
            return Err(fail(format!("`{own}` is {other}, and the node is one of rank {}", self.rank)));
        }
        let group = groups::name_of(node).map_err(fail)?;
        reader.counts.of_groups += u64::from(!group.is_empty() && group != "0");
        let (peer, bytes) = (rank(peer)?, self.bytes(node, span, reader)?);
        let tag = node.whole("comm_tag").unwrap_or(0);
        let tag = u32::try_from(tag).map_err(|_| fail(format!("`comm_tag` is {tag}")))?;
        Ok(match node.kind {
            5 => What::Send { to: peer, bytes, tag, processor: None },
            _ => What::Receive { from: Some(peer), bytes, tag: Some(tag), processor: None },
        })
    }

    fn collective(
        &self,
        node: &Node,
        span: &Range<usize>,
        reader: &mut Reader<'_>,
    ) -> Result<What, ScenarioError> {
        let fail = |text: String| self.fail_of(node, span, text);
        let number = self.need(node, span, "comm_type")?;
        let known = usize::try_from(number).ok().and_then(|number| COLLECTIVES.get(number));
        let collective =
            *known.ok_or_else(|| fail(format!("there is no collective of `comm_type` {number}")))?;
        match node.attribute("involved_dim") {
            None | Some(schema::Value::Whole(1)) => {}
            Some(schema::Value::Booleans(dims)) if !dims.contains(&false) => {}
            Some(_) => {
                let text = "it is a collective over some dimensions of a network (`involved_dim`)";
                let help =
                    "which ranks these are is not part of a trace: name its group by `pg_name`, and list it";
                return Err(fail(text.into()).help(help));
            }
        }
        // A barrier carries nothing, but a flow has at least a byte.
        let bytes = if collective == Collective::Barrier { 1 } else { self.bytes(node, span, reader)? };
        let has_root = [Collective::Broadcast, Collective::Reduce, Collective::Gather, Collective::Scatter]
            .contains(&collective);
        let says_root = groups::ROOTS.iter().any(|name| node.attribute(name).is_some());
        reader.counts.rooted += u64::from(has_root && !says_root);
        // The group is known when all files are read.
        Ok(What::Collective { collective, bytes, group: 0, root: 0 })
    }

    /// Counts attributes without an effect.
    fn unused(&self, node: &Node, reader: &mut Reader<'_>) {
        for (name, value) in &node.attributes {
            let of_message = node.kind == 7 && ["comm_src", "comm_dst", "comm_tag"].contains(&name.as_str());
            let is_read = READ.contains(&name.as_str()) || REPEATED.contains(&name.as_str());
            // A 0 may come from a writer that writes all fields, and means nothing.
            if (of_message || !is_read) && *value != schema::Value::Whole(0) {
                *reader.counts.unused.entry(name.clone()).or_default() += 1;
            }
        }
    }

    /// Process groups as PyTorch writes them: a list in JSON, inside a list of Python.
    fn groups(&self, node: &Node, span: &Range<usize>, reader: &mut Reader<'_>) -> Result<(), ScenarioError> {
        let is_list =
            |text: &&String| node.name.contains("process_group:init") || text.contains("\"pg_name\"");
        let Some(inputs) = node.inputs.as_ref().filter(is_list) else { return Ok(()) };
        let text = inputs.trim();
        // Python's form of a list of one text, whose quotes it escapes.
        let inner = text.strip_prefix("['").and_then(|rest| rest.strip_suffix("']")).unwrap_or(text);
        let inner = inner.replace("\\'", "'");
        let fail = |text: String| self.fail_of(node, span, text);
        let list: serde_json::Value =
            serde_json::from_str(&inner).map_err(|_| fail("its process groups are no JSON".into()))?;
        let files = match reader.trace.ranks {
            1 => "there is 1 file".into(),
            ranks => format!("there are {ranks} files"),
        };
        for one in list.as_array().into_iter().flatten() {
            let name = match &one["pg_name"] {
                serde_json::Value::String(name) => name.clone(),
                serde_json::Value::Number(number) => number.to_string(),
                _ => return Err(fail(format!("a process group has no `pg_name`: {one}"))),
            };
            // PyTorch leaves out the ranks of a group of all.
            let ranks = one["ranks"].as_array().into_iter().flatten();
            let ranks: Option<Vec<u32>> = ranks
                .map(|rank| {
                    rank.as_u64()
                        .and_then(|rank| u32::try_from(rank).ok())
                        .filter(|rank| *rank < reader.trace.ranks)
                })
                .collect();
            let Some(mut ranks) = ranks else {
                return Err(fail(format!("process group `{name}` has a rank without a file: {files}")));
            };
            let is_all = ranks.is_empty();
            if is_all {
                ranks = (0..reader.trace.ranks).collect();
            }
            ranks.sort_unstable();
            // Sorted and each once, so that groups of equal members are equal.
            ranks.dedup();
            if let Some(size) = one["group_size"].as_u64().filter(|size| *size != ranks.len() as u64) {
                let has =
                    if is_all { format!("and {files}") } else { format!("and it lists {}", ranks.len()) };
                let error = fail(format!("process group `{name}` has {size} ranks, {has}"));
                return Err(error.maybe_help(
                    is_all.then(|| "a trace has a file for each rank, `NAME.0.et` and so on".into()),
                ));
            }
            reader.groups.list(self.rank, &name, ranks).map_err(fail)?;
        }
        Ok(())
    }
}

impl Reader<'_> {
    fn finish(mut self) -> Result<Trace, ScenarioError> {
        self.groups.finish(&mut self.trace)?;
        let Counts { untimed, rooted, calls, of_groups, controlled, started, unused } = self.counts;
        let mut note = |count: u64, noun: &str, text: &str| {
            if count > 0 {
                self.trace.notes.push(format!("{}{text}", counted(count, noun)));
            }
        };
        note(rooted, "collective", " without a root: that is the first rank of the group");
        note(untimed, "memory node", " without a duration: taken to need no time");
        note(calls, "node", " of communication on the CPU: calls, whose time is that of the host");
        note(of_groups, "message", " of groups: their ranks are taken to be those of all, as in ASTRA-sim");
        note(
            controlled,
            "node",
            " with control dependencies: these are calls and order nothing, as in ASTRA-sim",
        );
        note(
            started,
            "node",
            " with a start time: it has no effect, nodes begin when what they wait for is over",
        );
        for (name, count) in unused {
            let nodes = counted(count, "node");
            self.trace.notes.push(format!("the attribute `{name}` of {nodes} has no effect"));
        }
        // Counted at the end: groups are known only when all files are read.
        let collectives = self.trace.operations.iter().filter(|one| match one.what {
            What::Collective { group, .. } => self.trace.groups[group as usize].len() == 1,
            _ => false,
        });
        let alone = collectives.count() as u64;
        if alone > 0 {
            let text = format!("{} of one rank: no message belongs to it", counted(alone, "collective"));
            self.trace.notes.push(text);
        }
        Ok(self.trace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use proto::{Attribute, GlobalMetadata, Node, Values};

    fn whole(name: &str, value: i64) -> Attribute {
        Attribute { name: name.into(), int64: Some(value), ..Attribute::default() }
    }

    fn text(name: &str, value: &str) -> Attribute {
        Attribute { name: name.into(), text: Some(value.into()), ..Attribute::default() }
    }

    fn node(id: u64, kind: i32, data_deps: &[u64], attributes: Vec<Attribute>) -> Node {
        Node { id, name: "n".into(), kind, data_deps: data_deps.to_vec(), attributes, ..Node::default() }
    }

    fn file_with(rank: u32, metadata: &GlobalMetadata, nodes: &[Node]) -> Binary {
        let mut bytes = metadata.encode_length_delimited_to_vec();
        nodes.iter().for_each(|node| bytes.extend(node.encode_length_delimited_to_vec()));
        Binary { name: format!("x.{rank}.et"), bytes }
    }

    fn file(rank: u32, version: &str, nodes: &[Node]) -> Binary {
        file_with(rank, &GlobalMetadata { version: version.into(), attributes: Vec::new() }, nodes)
    }

    fn all(nodes: &[&[Node]], said: &Said) -> Result<Trace, ScenarioError> {
        parse((0..).zip(nodes).map(|(rank, nodes)| file(rank, "1.0.0", nodes)).collect(), said)
    }

    fn read(nodes: [&[Node]; 2]) -> Result<Trace, ScenarioError> {
        all(&nodes, &Said::default())
    }

    fn listed(text: &str) -> Said {
        Said { groups: Some((Source::new("groups.json", text), true)), ..Said::default() }
    }

    fn send(id: u64, deps: &[u64], to: i64) -> Node {
        node(id, 5, deps, vec![whole("comm_dst", to), whole("comm_size", 100), whole("comm_tag", 3)])
    }

    fn receive(id: u64, deps: &[u64], from: i64) -> Node {
        node(id, 6, deps, vec![whole("comm_src", from), whole("comm_size", 100), whole("comm_tag", 3)])
    }

    fn with(mut node: Node, attribute: Attribute) -> Node {
        node.attributes.push(attribute);
        node
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
        // ASTRA-sim's size of an all-gather is what a rank has before.
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
        let of = |name: &str, id| with(collective(id, 0, 64), text("pg_name", name));
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
        let error = parse(files(), &Said::default()).expect_err("no duration").to_string();
        assert_eq!(error, "node 1 of rank 0: it computes 5000 operations and has no duration");
        let trace =
            parse(files(), &Said { operations_per_second: Some(1e9), ..Said::default() }).expect("a trace");
        assert_eq!(trace.operations[0].what, What::Compute { takes: Time::us(5), processor: Some(0) });
    }

    #[test]
    fn older_dialects_and_what_is_no_trace_are_named() {
        // A node of 0.0.3: id, name, type, parent, inputs and an attribute.
        headway_perfetto::protobuf_messages! {
            struct Older {
                id: u64 = uint64[1],
                name: String = string[2],
                kind: i32 = int32[3],
                parent: Vec<u64> = repeated uint64[4],
                inputs: String = string[5],
                attributes: Vec<Attribute> = repeated message[11],
            }
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
        let binary = |bytes: Vec<u8>| vec![Binary { name: "x.0.et".into(), bytes }];
        let of = |bytes: Vec<u8>| parse(binary(bytes), &Said::default()).expect_err("no trace");
        let mut with_metadata = file(0, "0.0.4", &[]).bytes.clone();
        with_metadata.extend(older.encode_length_delimited_to_vec());
        assert_eq!(of(with_metadata).to_string(), before);
        assert_eq!(of(older.encode_length_delimited_to_vec()).to_string(), before);
        assert_eq!(of(file(0, "0.0.3", &[]).bytes.clone()).to_string(), before);
        let attribute = text("schema", "x").encode_to_vec();
        let metadata = file_with(0, &GlobalMetadata { version: attribute, attributes: Vec::new() }, &[]);
        assert_eq!(of(metadata.bytes).to_string(), before, "attributes where the version is now");
        assert_eq!(
            of(file(0, "2.0", &[]).bytes.clone()).to_string(),
            "rank 0: the trace is of Chakra 2.0; versions from 0.0.4 to 1 are read, not 2"
        );
        assert_eq!(
            of(file(0, "new", &[]).bytes.clone()).to_string(),
            "rank 0: `new` is no version of Chakra, from 0.0.4 to 1"
        );
        let whole = file(0, "1.0.0", &[send(1, &[], 0)]).bytes.clone();
        let cut = of(whole[..whole.len() - 3].to_vec());
        assert!(cut.to_string().contains("begins here, and"), "{cut}");
        assert!(of(Vec::new()).to_string().starts_with("rank 0: the file is empty"));
        assert!(of(vec![0xff; 30]).to_string().starts_with("rank 0: this is no length of a message"));
        // At every byte, since each field of the format may be cut in the middle.
        for cut in 0..whole.len() {
            // Nothing but a whole number of messages is read.
            let read = parse(binary(whole[..cut].to_vec()), &Said::default());
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

    #[test]
    fn what_converters_write_as_metadata_is_no_old_version() {
        let some = |attributes| GlobalMetadata { version: Vec::new(), attributes };
        let schema = |value: &str| text("schema", value);
        let written = [
            some(Vec::new()),
            some(vec![
                schema("1.0.2-chakra.0.0.4"),
                text("input_file", "<algo/>"),
                text("collective", "allreduce"),
            ]),
            some(vec![schema("symbolic_tensor_network")]),
            some(vec![schema("1.0.1"), whole("pid", 4), text("time", "now"), whole("start_ts", 9)]),
            GlobalMetadata { version: b"1.0.2-chakra.0.0.4".to_vec(), attributes: vec![schema("x")] },
            GlobalMetadata { version: b"v1.1.1".to_vec(), attributes: Vec::new() },
        ];
        for metadata in written {
            let nodes = [&[send(1, &[], 1)], &[receive(1, &[], 0)]];
            let files: Vec<Binary> =
                (0..).zip(nodes).map(|(rank, nodes)| file_with(rank, &metadata, nodes)).collect();
            assert_eq!(why_not(&files[0].bytes), None, "{metadata:?}");
            assert_eq!(parse(files, &Said::default()).expect("a trace").operations.len(), 2, "{metadata:?}");
        }
    }

    #[test]
    fn who_takes_part_is_read_from_each_attribute_and_list() {
        let of = |attribute: Attribute| [with(collective(1, 0, 8000), attribute)];
        let number =
            |name: &str, value| Attribute { name: name.into(), int32: Some(value), ..Attribute::default() };
        let list = listed("{\"1\": [0, 1], \"2\": [3, 2]}");
        for name in ["comm_group", "communicator_id", "pg_name"] {
            let (one, two) = (of(number(name, 1)), of(number(name, 2)));
            let trace = all(&[&one, &one, &two, &two], &list).expect("a trace");
            assert_eq!(trace.groups, [[0, 1], [2, 3]], "{name}");
            assert_eq!(trace.group_called(1), "group `2` (ranks 2, 3)");
            assert!(trace.notes.is_empty(), "{:?}", trace.notes);
            let trace = all(&[&one, &one, &two, &two], &Said::default()).expect("a trace");
            assert_eq!(trace.groups, [[0, 1], [2, 3]], "{name}");
            let note = "group `1` is listed nowhere: taken to be ranks 0, 1, which have collectives of it";
            assert_eq!(trace.notes[0], note);
        }
        let zero = |name: &str| of(text("pg_name", name));
        let trace = all(&[&zero("0"), &zero(""), &zero("00")], &Said::default()).expect("all ranks");
        assert_eq!((trace.groups, trace.notes.len()), (vec![vec![0, 1, 2]], 0));
    }

    #[test]
    fn who_takes_part_and_is_not_understood_is_an_error() {
        let of = |attributes: &[Attribute]| {
            let mut node = collective(1, 5, 8);
            node.attributes.extend(attributes.iter().cloned());
            node
        };
        let group = |name: &str| text("pg_name", name);
        let cases: [(&[Attribute], &str, &str); 9] = [
            (
                &[text("group_members", "0,1")],
                "{}",
                "its attribute `group_members` says who takes part, and is not understood",
            ),
            (
                &[whole("involved_npus", 3)],
                "{}",
                "its attribute `involved_npus` says who takes part, and is not understood",
            ),
            (&[whole("peer", 1)], "{}", "its attribute `peer` says who takes part, and is not understood"),
            (
                &[group("1"), whole("comm_group", 2)],
                "{}",
                "`pg_name` says group `1`, and `comm_group` says `2`",
            ),
            (
                &[group("1"), whole("pg_size", 4)],
                "{}",
                "its group should have 4 ranks, and it is of ranks 0, 1",
            ),
            (
                &[group("3")],
                "{\"3\": [1]}",
                "rank 0 takes part in a collective of group `3`, which is of rank 1 (groups.json)",
            ),
            (
                &[group("0")],
                "{\"0\": [1]}",
                "group `0` is all 2 ranks in ASTRA-sim, and groups.json says rank 1",
            ),
            (&[whole("root", 2)], "{}", "its root is rank 2, and its group is of ranks 0, 1"),
            (
                &[group("3")],
                "{\"3\": [0, 4]}",
                "group `3` has rank 4, and there are 2 files, one for each rank",
            ),
        ];
        for (attributes, list, message) in cases {
            let nodes = [of(attributes)];
            let said = if list == "{}" { Said::default() } else { listed(list) };
            let error = all(&[&nodes, &nodes], &said).expect_err(message).to_string();
            assert_eq!(error.trim_start_matches("node 1 of rank 0: "), message);
        }
        let rooted = [of(&[group("1"), whole("root", 1)])];
        let trace = all(&[&rooted, &rooted], &Said::default()).expect("a trace");
        assert!(matches!(trace.operations[0].what, What::Collective { root: 1, .. }));
        for (text, message) in [
            ("[1]", "this is no list of groups in JSON"),
            ("{\"1\": [0, 0]}", "group `1` has rank 0 twice"),
            ("{\"1\": []}", "group `1` has no rank"),
            ("{\"1\": [0], \"1\": [1]}", "group `1` is there twice"),
            ("{\"1\": [0], \"01\": [1]}", "group `01` is there twice"),
        ] {
            assert_eq!(all(&[&rooted, &rooted], &listed(text)).expect_err(message).to_string(), message);
        }
    }

    #[test]
    fn each_rank_has_its_own_groups_of_a_name() {
        let init = |name: &str, ranks: &str| {
            let values = format!("['[{{\"pg_name\": \"{name}\", \"ranks\": {ranks}, \"group_size\": 2}}]']");
            let inputs = Some(Values { values });
            Node { name: "## process_group:init ##".into(), inputs, ..node(7, 1, &[], Vec::new()) }
        };
        let of = || with(collective(1, 0, 64), text("pg_name", "1"));
        let [low, high] = ["[0, 1]", "[2, 3]"].map(|ranks| [init("1", ranks), of()]);
        let trace = all(&[&low, &low, &high, &high], &Said::default()).expect("two groups");
        assert_eq!(trace.groups, [[0, 1], [2, 3]]);
        let error = all(&[&low, &low, &low, &high], &Said::default()).expect_err("rank 2").to_string();
        assert_eq!(
            error,
            "rank 2 takes part in a collective of group `1`, which is of ranks 0, 1 (the metadata of rank 2)"
        );
        let whole = [init("0", "[]")];
        let error = all(&[&whole], &Said::default()).expect_err("one file").to_string();
        assert_eq!(error, "node 7 of rank 0: process group `0` has 2 ranks, and there is 1 file");
    }

    #[test]
    fn calls_of_collectives_are_time_of_the_host() {
        let on_cpu = |kind, attributes: Vec<Attribute>| {
            let mut node = Node { duration_micros: 85, ..node(1, kind, &[], attributes) };
            node.attributes.push(Attribute {
                name: "is_cpu_op".into(),
                boolean: Some(true),
                ..Attribute::default()
            });
            node
        };
        for kind in 5..=7 {
            let trace = all(&[&[on_cpu(kind, Vec::new())]], &Said::default()).expect("a call");
            assert_eq!(
                trace.operations[0].what,
                What::Compute { takes: Time::us(85), processor: Some(HOST) }
            );
            assert_eq!(
                trace.notes,
                ["1 node of communication on the CPU: calls, whose time is that of the host"]
            );
        }
        let real = on_cpu(7, vec![whole("comm_type", 0), whole("comm_size", 8)]);
        let trace = all(&[&[real]], &Said::default()).expect("a collective");
        assert!(matches!(trace.operations[0].what, What::Collective { .. }));
        assert_eq!(trace.notes, ["1 collective of one rank: no message belongs to it"]);
    }

    #[test]
    fn chunks_are_parts_of_a_buffer() {
        let mut some = node(1, 5, &[], vec![whole("comm_dst", 1), whole("msg_chunk_cnt", 3)]);
        some.attributes.push(whole("total_chunk_cnt", 8));
        let mut other = node(1, 6, &[], vec![whole("comm_src", 0), whole("msg_chunk_cnt", 3)]);
        other.attributes.push(whole("total_chunk_cnt", 8));
        let error =
            all(&[&[some.clone()], &[other.clone()]], &Said::default()).expect_err("no size").to_string();
        assert_eq!(error, "node 1 of rank 0: it sends 3 of 8 chunks, and nothing says of how many bytes");
        let said = Said { collective_bytes: Some(8000), ..Said::default() };
        let trace = all(&[&[some], &[other]], &said).expect("a trace");
        assert_eq!(trace.operations[0].what, What::Send { to: 1, bytes: 3000, tag: 0, processor: None });
    }

    #[test]
    fn json_of_each_writer_is_the_same_trace() {
        // The jsonizer of Chakra, its feeder, and STAGE.
        let texts = [
            "{\"version\": \"1.0.0\"}{\"name\": \"c\", \"type\": \"COMP_NODE\", \"durationMicros\": \"7\"}\n{\"id\": \"1\", \
             \"name\": \"n\", \"type\": \"COMM_COLL_NODE\", \"dataDeps\": [\"0\"], \"attr\": [{\"name\": \"comm_type\", \"int64Val\": \"2\"}, \
             {\"name\": \"comm_size\", \"int64Val\": \"50\"}, {\"name\": \"is_cpu_op\", \"boolVal\": false}, \
             {\"name\": \"pg_name\", \"stringVal\": \"0\"}]}",
            "{\"workload_graph\": [{\"Id\": 0, \"Name\": \"c\", \"NodeType\": 4, \"runtime\": 7, \"is_cpu_op\": false}, {\"Id\": 1, \
             \"Name\": \"n\", \"NodeType\": 7, \"ctrlDeps\": [], \"data_deps\": [0], \"comm_type\": 2, \"comm_size\": 50, \"comm_tag\": 0}]}",
            "{\"nodes\": [{\"id\": 0, \"name\": \"c\", \"node_type\": \"comp_node\", \"runtime\": 7.0}, {\"id\": 1, \"name\": \"n\", \
             \"node_type\": \"coll_comm_node\", \"data_deps\": [0], \"comm_type\": \"ALL_GATHER\", \"comm_size\": 50, \"comm_group\": 0}]}",
        ];
        for text in texts {
            assert_eq!(why_not(text.as_bytes()), None, "{text}");
            let files = ["x.0.json", "x.1.json"];
            let files = files.map(|name| Binary { name: name.into(), bytes: text.into() }).to_vec();
            let trace = parse(files, &Said::default()).unwrap_or_else(|error| panic!("{error}: {text}"));
            let whats: Vec<&What> = trace.operations.iter().map(|one| &one.what).collect();
            assert_eq!(whats[0], &What::Compute { takes: Time::us(7), processor: Some(ACCELERATOR) });
            let collective = Collective::AllGather;
            assert_eq!(whats[1], &What::Collective { collective, bytes: 100, group: 0, root: 0 });
            assert_eq!((trace.waits[0].operation, trace.waits[0].cause), (1, 0));
            assert!(trace.notes.is_empty(), "{:?}", trace.notes);
        }
    }

    #[test]
    fn json_that_is_no_trace_says_what_it_is_and_where_it_breaks() {
        let cases = [
            (
                "{\n \"traceEvents\": []}",
                "rank 0: this is a trace before Chakra's converter, whose nodes have no kind",
                1,
            ),
            (
                "{\"nodes\": [\n{\"id\": 1, \"type\": \"COMP_NOD\"}]}",
                "`type` is \"COMP_NOD\", and there is no such node",
                2,
            ),
            ("{\"nodes\": [\n\n{\"id\": }]}", "this is no JSON: expected value", 3),
            (
                "{\"nodes\": [{\"id\": 1, \"type\": 5, \"comm_size\": 3}]}",
                "node 1 of rank 0: it has no `comm_dst`",
                1,
            ),
        ];
        for (text, message, line) in cases {
            let error = parse(vec![Binary { name: "x.0.json".into(), bytes: text.into() }], &Said::default());
            let error = error.expect_err(message);
            assert_eq!(error.to_string(), message);
            let at = error.origin().expect("a place");
            assert_eq!(at.source.line_column(at.span.start).0, line, "{text}");
        }
    }

    #[test]
    fn what_has_no_effect_is_noted() {
        let mut other = with(collective(1, 0, 8), whole("comm_priority", 3));
        (other.ctrl_deps, other.start_micros) = (vec![9], 5);
        let trace = read([&[other.clone()], &[other]]).expect("a trace");
        assert_eq!(
            trace.notes,
            [
                "2 nodes with control dependencies: these are calls and order nothing, as in ASTRA-sim",
                "2 nodes with a start time: it has no effect, nodes begin when what they wait for is over",
                "the attribute `comm_priority` of 2 nodes has no effect",
            ]
        );
    }
}
