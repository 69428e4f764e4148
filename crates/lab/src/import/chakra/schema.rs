//! Nodes of Chakra as the two encodings have them: protobuf (`et_def.proto`), and JSON as the jsonizer and the feeder of Chakra and as
//! STAGE write it. Both become the same [`Node`].

use super::super::trace::Binary;
use crate::text::{Origin, Problem, ScenarioError, Source, names};
use headway_units::Time;
use prost::Message;
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A node of either encoding.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Node {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) kind: i32,
    pub(super) data_deps: Vec<u64>,
    /// Number of control dependencies.
    pub(super) ctrl_deps: usize,
    /// True if it has a start time.
    pub(super) starts: bool,
    pub(super) takes: Option<Time>,
    /// Values of its inputs, as PyTorch writes them.
    pub(super) inputs: Option<String>,
    pub(super) attributes: Vec<(String, Value)>,
}

/// Value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Whole(i128),
    Text(String),
    Booleans(Vec<bool>),
    /// A number with a fraction, bytes, or a list of another type.
    Other,
}

impl Node {
    pub(super) fn attribute(&self, name: &str) -> Option<&Value> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// A whole number, also one that is written as a text.
    pub(super) fn whole(&self, name: &str) -> Option<i128> {
        match self.attribute(name)? {
            Value::Whole(number) => Some(*number),
            Value::Text(text) => text.trim().parse().ok(),
            Value::Booleans(_) | Value::Other => None,
        }
    }

    pub(super) fn is_cpu(&self) -> bool {
        match self.attribute("is_cpu_op") {
            Some(Value::Text(text)) => text.eq_ignore_ascii_case("true") || text == "1",
            _ => self.whole("is_cpu_op").is_some_and(|value| value != 0),
        }
    }
}

/// Messages of Protobuf.
pub(super) mod proto {
    headway_perfetto::protobuf_messages! {

        pub(in super::super) struct GlobalMetadata {
            /// Text; before 0.0.4 an attribute.
            pub(in super::super) version: Vec<u8> = bytes[1],
            pub(in super::super) attributes: Vec<Attribute> = repeated message[2],
        }

        /// A node as the schemas before 0.0.4 have it, which a reader of 0.0.4 would take for another.
        pub(in super::super) struct OldNode {
            pub(in super::super) attributes: Vec<Vec<u8>> = repeated bytes[11],
        }

        pub(in super::super) struct Node {
            pub(in super::super) id: u64 = uint64[1],
            pub(in super::super) name: String = string[2],
            pub(in super::super) kind: i32 = int32[3],
            pub(in super::super) ctrl_deps: Vec<u64> = repeated uint64[4],
            pub(in super::super) data_deps: Vec<u64> = repeated uint64[5],
            pub(in super::super) start_micros: u64 = uint64[6],
            pub(in super::super) duration_micros: u64 = uint64[7],
            pub(in super::super) inputs: Option<Values> = optional message[8],
            pub(in super::super) attributes: Vec<Attribute> = repeated message[10],
        }

        pub(in super::super) struct Values {
            pub(in super::super) values: String = string[1],
        }

        pub(in super::super) struct Attribute {
            pub(in super::super) name: String = string[1],
            pub(in super::super) int32: Option<i32> = optional int32[7],
            pub(in super::super) int64: Option<i64> = optional int64[9],
            pub(in super::super) uint32: Option<u32> = optional uint32[11],
            pub(in super::super) uint64: Option<u64> = optional uint64[13],
            pub(in super::super) sint32: Option<i32> = optional sint32[15],
            pub(in super::super) sint64: Option<i64> = optional sint64[17],
            pub(in super::super) fixed32: Option<u32> = optional fixed32[19],
            pub(in super::super) fixed64: Option<u64> = optional fixed64[21],
            pub(in super::super) sfixed32: Option<i32> = optional sfixed32[23],
            pub(in super::super) sfixed64: Option<i64> = optional sfixed64[25],
            pub(in super::super) boolean: Option<bool> = optional bool[27],
            pub(in super::super) booleans: Option<Booleans> = optional message[28],
            pub(in super::super) text: Option<String> = optional string[29],
        }

        pub(in super::super) struct Booleans {
            pub(in super::super) values: Vec<bool> = repeated bool[1],
        }
    }
}

impl From<proto::Attribute> for (String, Value) {
    fn from(attribute: proto::Attribute) -> (String, Value) {
        let signed = [
            attribute.int32.map(i64::from),
            attribute.int64,
            attribute.sint32.map(i64::from),
            attribute.sint64,
            attribute.sfixed32.map(i64::from),
            attribute.sfixed64,
            attribute.boolean.map(i64::from),
        ];
        let unsigned = [
            attribute.uint32.map(u64::from),
            attribute.uint64,
            attribute.fixed32.map(u64::from),
            attribute.fixed64,
        ];
        let signed = signed.into_iter().flatten().map(i128::from);
        // An attribute is a `oneof`: at most one of these is there.
        let whole = signed.chain(unsigned.into_iter().flatten().map(i128::from)).next();
        let value = match (whole, attribute.text, attribute.booleans) {
            (Some(number), ..) => Value::Whole(number),
            (None, Some(text), _) => Value::Text(text),
            (None, None, Some(list)) => Value::Booleans(list.values),
            (None, None, None) => Value::Other,
        };
        (attribute.name, value)
    }
}

impl Node {
    /// A node from its message, or the fault of that, and the number of the node where it has one.
    pub(super) fn decode(bytes: &[u8]) -> Result<Node, (Option<u64>, String)> {
        let node = proto::Node::decode(bytes).map_err(|_| (None, "this is no node of a trace".into()))?;
        let takes = node.duration_micros.checked_mul(1_000_000).map(Time);
        let takes =
            takes.ok_or_else(|| (Some(node.id), format!("{} us are too long", node.duration_micros)))?;
        Ok(Node {
            id: node.id,
            name: node.name,
            kind: node.kind,
            data_deps: node.data_deps,
            ctrl_deps: node.ctrl_deps.len(),
            starts: node.start_micros > 0,
            // proto3 does not write zeros, so that 0 and a missing duration are the same.
            takes: (node.duration_micros > 0).then_some(takes),
            inputs: node.inputs.map(|inputs| inputs.values),
            attributes: node.attributes.into_iter().map(Into::into).collect(),
        })
    }
}

/// Kinds of nodes by their numbers, and what STAGE calls them where that differs.
const KINDS: [(&str, &str); 8] = [
    ("INVALID_NODE", ""),
    ("METADATA_NODE", ""),
    ("MEM_LOAD_NODE", ""),
    ("MEM_STORE_NODE", ""),
    ("COMP_NODE", ""),
    ("COMM_SEND_NODE", ""),
    ("COMM_RECV_NODE", ""),
    ("COMM_COLL_NODE", "COLL_COMM_NODE"),
];
/// Kinds of collectives by their numbers.
pub(super) const COLLECTIVES: [&str; 10] = [
    "ALL_REDUCE",
    "REDUCE",
    "ALL_GATHER",
    "GATHER",
    "SCATTER",
    "BROADCAST",
    "ALL_TO_ALL",
    "REDUCE_SCATTER",
    "REDUCE_SCATTER_BLOCK",
    "BARRIER",
];

/// True if a text begins as one in JSON does.
pub(super) fn is_json(bytes: &[u8]) -> bool {
    let mut words = bytes.iter().copied().filter(|byte| !byte.is_ascii_whitespace());
    // A message of protobuf may begin with a length that is the code of a bracket.
    let begins = match (words.next(), words.next()) {
        (Some(b'{'), Some(second)) => b"\"}".contains(&second),
        (Some(b'['), Some(second)) => b"{]".contains(&second),
        _ => false,
    };
    begins && std::str::from_utf8(bytes).is_ok()
}

/// Kind of a text in JSON that is not a trace of Chakra yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherJson {
    /// Trace of PyTorch's host, in which nodes have no kind.
    PyTorch,
    /// Trace of a profiler.
    Profiler,
}

/// Kind of a text in JSON, if it is known and not a trace of Chakra.
pub fn other_json(text: &str) -> Option<OtherJson> {
    if !is_json(text.as_bytes()) || !(text.contains("\"traceEvents\"") || text.contains("\"schema\"")) {
        return None;
    }
    // Only the first value is parsed, and its parts stay text: such files may be large.
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<BTreeMap<String, &RawValue>>();
    let first = values.next()?.ok()?;
    if first.contains_key("traceEvents") {
        return Some(OtherJson::Profiler);
    }
    (first.contains_key("schema") && first.contains_key("nodes")).then_some(OtherJson::PyTorch)
}

/// The nodes of a text in JSON, with their places.
pub(super) fn json(source: &Arc<Source>) -> Result<Vec<(Node, Range<usize>)>, ScenarioError> {
    let text = source.text.trim_start_matches(crate::text::source::BYTE_ORDER_MARK);
    let wrong =
        |part: &str, text: String| ScenarioError::new(Problem::Syntax(text), &Origin::part(source, part));
    let broken = |part: &str, error: serde_json::Error| {
        let offset =
            part.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum::<usize>();
        let at = (offset + error.column().saturating_sub(1)).min(part.len());
        // A place within a character moves to its beginning.
        let at = (0..=at).rev().find(|at| part.is_char_boundary(*at)).unwrap_or(0);
        let words = error.to_string();
        let words = words.split(" at line ").next().unwrap_or_default().to_string();
        wrong(&part[at..at], format!("this is no JSON: {words}"))
    };
    let mut whole: Vec<&str> = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
        let value = value.map_err(|error| broken(text, error))?;
        whole.push(value.get());
    }
    // One list or one object with a list; or, as Chakra's jsonizer writes it, metadata and then each node.
    let rows: Vec<&str> = match whole[..] {
        [] => return Err(wrong(text, "the file is empty".into())),
        [only] if only.starts_with('[') => rows(only).map_err(|error| broken(only, error))?,
        [only] => match rows_of(only).map_err(|error| broken(only, error))? {
            Some(found) => rows(found).map_err(|error| broken(found, error))?,
            // Metadata alone, or a node.
            None => whole.clone(),
        },
        _ => whole.clone(),
    };
    let mut nodes = Vec::with_capacity(rows.len());
    for (place, row) in rows.into_iter().enumerate() {
        let object: Map<String, Json> =
            serde_json::from_str(row).map_err(|_| wrong(row, "a node is a table `{ ... }`".into()))?;
        let is_metadata = object.keys().all(|key| ["version", "attr", "schema"].contains(&key.as_str()));
        if place == 0 && is_metadata {
            continue;
        }
        let node = of_json(&object).map_err(|(text, help)| wrong(row, text).maybe_help(help))?;
        nodes.push((node, Origin::part(source, row).span));
    }
    Ok(nodes)
}

fn rows(list: &str) -> serde_json::Result<Vec<&str>> {
    // Raw, because errors name the place of a node in the text.
    Ok(serde_json::from_str::<Vec<&RawValue>>(list)?.into_iter().map(RawValue::get).collect())
}

/// The list of nodes in an object, if it has one.
fn rows_of(object: &str) -> serde_json::Result<Option<&str>> {
    let parts: BTreeMap<String, &RawValue> = serde_json::from_str(object)?;
    let found = ["nodes", "workload_graph"].iter().find_map(|key| parts.get(*key));
    Ok(found.map(|list| list.get()))
}

/// `dataDeps` and `NodeType` as `data_deps` and `node_type`.
fn snake(key: &str) -> String {
    let mut out = String::new();
    for (place, letter) in key.chars().enumerate() {
        if letter.is_ascii_uppercase() && place > 0 && !out.ends_with('_') {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

type Wrong = (String, Option<String>);

fn of_json(object: &Map<String, Json>) -> Result<Node, Wrong> {
    let mut node = Node::default();
    let wrong = |text: String| (text, None);
    for (key, value) in object {
        let name = snake(key);
        match name.as_str() {
            "id" => {
                let id = whole(value).and_then(|id| u64::try_from(id).ok());
                node.id = id.ok_or_else(|| wrong(format!("`{key}` is {value}, and no number of a node")))?;
            }
            "name" => node.name = value.as_str().unwrap_or_default().into(),
            "type" | "node_type" => node.kind = kind(key, value)?,
            "data_deps" => node.data_deps = numbers(key, value)?,
            "ctrl_deps" => node.ctrl_deps = numbers(key, value)?.len(),
            "duration_micros" | "runtime" => node.takes = micros(key, value)?,
            "start_time_micros" => node.starts = whole(value).is_some_and(|time| time > 0),
            "inputs" => node.inputs = value.get("values").and_then(Json::as_str).map(Into::into),
            "outputs" => {}
            "attr" | "attrs" | "attributes" => {
                for one in value.as_array().into_iter().flatten() {
                    node.attributes
                        .push(attribute(one).ok_or_else(|| wrong(format!("{one} is no attribute")))?);
                }
            }
            _ => {
                let value = match (name.as_str(), value.as_str()) {
                    ("comm_type", Some(word)) => collective(word)?,
                    _ => of(value),
                };
                node.attributes.push((name, value));
            }
        }
    }
    Ok(node)
}

fn whole(value: &Json) -> Option<i128> {
    let number = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    // Protobuf's JSON has integers of 64 bits as text.
    number.or_else(|| value.as_str()?.trim().parse().ok())
}

fn of(value: &Json) -> Value {
    match value {
        Json::Bool(is) => Value::Whole(i128::from(*is)),
        Json::String(text) => Value::Text(text.clone()),
        Json::Number(_) => whole(value).map_or(Value::Other, Value::Whole),
        Json::Array(list) => {
            list.iter().map(Json::as_bool).collect::<Option<_>>().map_or(Value::Other, Value::Booleans)
        }
        Json::Object(of) => of.get("values").map_or(Value::Other, self::of),
        Json::Null => Value::Other,
    }
}

/// `{"name": "comm_size", "int64Val": "8000"}`; the value is left out where it is 0 or empty.
fn attribute(one: &Json) -> Option<(String, Value)> {
    let object = one.as_object()?;
    let name = object.get("name")?.as_str()?.to_string();
    let is_value = |key: &&String| !["name", "docString", "doc_string", "type"].contains(&key.as_str());
    let value = match object.keys().find(is_value) {
        None => Value::Whole(0),
        Some(key) => match (&object[key], snake(key).as_str()) {
            // A number as text, for the same reason as in `whole`.
            (Json::String(text), key) if !key.starts_with("string") && key != "value" => {
                text.parse().map_or(Value::Other, Value::Whole)
            }
            (Json::String(text), _) if name == "comm_type" => collective(text).ok()?,
            (value, _) => of(value),
        },
    };
    Some((name, value))
}

fn kind(key: &str, value: &Json) -> Result<i32, Wrong> {
    if let Some(number) = whole(value) {
        return i32::try_from(number).map_err(|_| (format!("there is no node of type {number}"), None));
    }
    let word = value.as_str().unwrap_or_default().to_uppercase();
    let known = KINDS.iter().position(|(name, other)| word == *name || word == *other);
    known.map(|place| place as i32).ok_or_else(|| {
        let near = names::name_suggestion(&word, KINDS.iter().map(|(name, _)| *name));
        (format!("`{key}` is {value}, and there is no such node"), near)
    })
}

fn collective(word: &str) -> Result<Value, Wrong> {
    let upper = word.to_uppercase();
    if let Ok(number) = word.parse() {
        return Ok(Value::Whole(number));
    }
    let place = COLLECTIVES.iter().position(|name| *name == upper);
    place.map(|place| Value::Whole(place as i128)).ok_or_else(|| {
        let near = names::name_suggestion(&upper, COLLECTIVES.iter().copied());
        (format!("there is no collective `{word}`"), near)
    })
}

fn numbers(key: &str, value: &Json) -> Result<Vec<u64>, Wrong> {
    let list: Option<Vec<u64>> = match value {
        Json::Array(list) => {
            list.iter().map(|one| whole(one).and_then(|number| u64::try_from(number).ok())).collect()
        }
        one => whole(one).and_then(|number| u64::try_from(number).ok()).map(|number| vec![number]),
    };
    list.ok_or_else(|| (format!("`{key}` is {value}, and no list of nodes"), None))
}

fn micros(key: &str, value: &Json) -> Result<Option<Time>, Wrong> {
    let too_long = || (format!("{value} us are too long"), None);
    if let Some(number) = whole(value) {
        let number = u64::try_from(number).map_err(|_| (format!("`{key}` is {value}"), None))?;
        let time = number.checked_mul(1_000_000).ok_or_else(too_long)?;
        return Ok((time > 0).then_some(Time(time)));
    }
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    match number.filter(|number| *number >= 0.0) {
        // Less and not equal: as floating point, the largest number of 64 bits is 2^64.
        Some(number) if number * 1e6 < u64::MAX as f64 => Ok(Some(Time(libm::round(number * 1e6) as u64))),
        Some(_) => Err(too_long()),
        None => Err((format!("`{key}` is {value}, and no number of microseconds"), None)),
    }
}

/// Reason why bytes are not a trace in protobuf; `None` if they begin as one.
pub(super) fn why_not(bytes: &[u8]) -> Option<String> {
    if bytes.is_empty() {
        return Some("it is empty".into());
    }
    // A trace has numbers of fields among its bytes, which no text has.
    if std::str::from_utf8(bytes).is_ok_and(|text| !text.contains(is_control)) {
        return Some("it is a text, and not protobuf".into());
    }
    let mut rest = bytes;
    let Ok(length) = prost::decode_length_delimiter(&mut rest) else {
        return Some("its first bytes are not the length of a message".into());
    };
    if length > rest.len() {
        return Some(format!("its first message would have {length} B, and {} B are left", rest.len()));
    }
    let (first, mut after) = rest.split_at(length);
    if is_metadata(first) || is_node(first) {
        return None;
    }
    if length > 0 {
        return Some("its first message is neither metadata nor a node".into());
    }
    // Metadata without anything; the node behind it decides.
    match prost::decode_length_delimiter(&mut after) {
        Ok(length) if length <= after.len() && is_node(&after[..length]) => None,
        _ => Some("its second message is no node".into()),
    }
}

fn is_control(letter: char) -> bool {
    letter.is_control() && !letter.is_whitespace()
}

fn is_word(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| !text.is_empty() && !text.contains(is_control))
}

/// A version, or attributes that each have a name; before 0.0.4 these stood where the version is now.
fn is_metadata(bytes: &[u8]) -> bool {
    let Ok(metadata) = proto::GlobalMetadata::decode(bytes) else { return false };
    let is_named = |attribute: &proto::Attribute| is_word(attribute.name.as_bytes());
    let is_old = || proto::Attribute::decode(&metadata.version[..]).is_ok_and(|one| is_named(&one));
    let has_version = is_word(&metadata.version) || is_old();
    let has_attributes = !metadata.attributes.is_empty() && metadata.attributes.iter().all(is_named);
    has_version || (metadata.version.is_empty() && has_attributes)
}

fn is_node(bytes: &[u8]) -> bool {
    // Kinds that do not exist yet count as well: the reader names them in its error.
    proto::Node::decode(bytes).is_ok_and(|node| is_word(node.name.as_bytes()) && (0..32).contains(&node.kind))
}

/// A text of the bytes of a file.
pub(super) fn text_of(file: &Binary) -> Option<Arc<Source>> {
    std::str::from_utf8(&file.bytes).ok().map(|text| Source::new(file.name.clone(), text))
}
