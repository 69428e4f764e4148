//! The tables of a scenario as data: their keys, and the defaults that follow from what disciplines and transports declare.

use crate::fabric::{AT_KEYS, MODES, param_json};
use crate::keys::{TABLES, Table};
use crate::text::key::Key;
use headway_fabric::{Buffer, Limit, Space, registry as disciplines};
use headway_network::{MemoryParams, PfcParams, Routing};
use headway_packet::Sizes;
use headway_params::{ParamKind, ParamSpec, ParamValue, Params};
use headway_transport::registry as transports;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Every table with its keys. Where the keys depend on the purpose of an entry, each names the form that it belongs to.
pub(crate) fn tables() -> Vec<Json> {
    let one = |table: &Table| {
        let forms = table.forms.iter().flat_map(|(form, keys)| keys.iter().map(move |key| (*form, key)));
        let params: Vec<Json> = forms
            .map(|(form, key)| {
                let mut json = key_json(key);
                json["form"] = form.into();
                match key.name {
                    "buffer" if table.name == "fabric" => json["default"] = by_discipline(data).into(),
                    "control_buffer" if table.name == "fabric" => {
                        json["default"] = by_discipline(control).into()
                    }
                    "routing" => json["default"] = routing().into(),
                    _ => {}
                }
                json
            })
            .collect();
        json!({ "name": table.name, "summary": table.summary, "params": params })
    };
    let mode = |(mode, name, doc): &(Routing, &str, &str)| {
        let more = if *mode == Routing::Pinned { own_paths() } else { String::new() };
        json!({ "name": name, "doc": format!("{doc}{more}") })
    };
    let mut tables: Vec<Json> = TABLES.iter().map(one).collect();
    // `fabric` is the first of them.
    tables[0]["routing"] = MODES.iter().map(mode).collect();
    let at: Vec<Json> = AT_KEYS.iter().map(key_json).collect();
    tables.push(json!({ "name": "fabric.at", "summary": "ports that do something else", "params": at }));
    let pfc: Vec<Json> = PfcParams::specs().iter().map(parameter).collect();
    tables.push(
        json!({ "name": "fabric.pfc", "summary": "switches that stop links and drop no data", "params": pfc }),
    );
    let mut memory: Vec<Json> = MemoryParams::specs().iter().map(parameter).collect();
    memory.extend(crate::switch_memory::KEYS.iter().map(key_json));
    tables.push(
        json!({ "name": "fabric.memory", "summary": "memory that all ports of a switch share", "params": memory }),
    );
    tables
}

type Set = Vec<(String, ParamValue)>;

/// No parameter, and every value of every parameter that is a choice, as the table writes it.
fn settings(specs: &[ParamSpec]) -> Vec<(String, Set)> {
    let mut found = vec![(String::new(), Set::new())];
    for spec in specs {
        let ParamKind::Choice(values) = &spec.kind else { continue };
        for value in values.iter().filter(|value| spec.default != ParamValue::Choice((**value).into())) {
            let set = vec![(spec.name.to_string(), ParamValue::Choice((*value).into()))];
            found.push((format!("`{} = \"{value}\"`", spec.name), set));
        }
    }
    found
}

fn buffer(name: &str, set: &Set, data: Option<Limit>) -> Buffer {
    let space = Space { data, control: None };
    disciplines::buffer(name, set, &Sizes::default(), space).expect("it is listed").expect("it has a default")
}

fn data(name: &str, set: &Set) -> String {
    match buffer(name, set, None).data {
        Limit::Packets(n) => format!("`\"{n} packets\"`"),
        Limit::Bytes(n) => match u64::from(Sizes::default().payload) {
            payload if n.is_multiple_of(payload) => format!("{} times `payload`", n / payload),
            _ => format!("`\"{n} B\"`"),
        },
    }
}

/// Rule by which the space of control packets follows from that of data, seen at two sizes of it.
fn control(name: &str, set: &Set) -> String {
    // Two sizes tell a constant from a multiple.
    let at = |n| (n, buffer(name, set, Some(Limit::Packets(n))).control);
    let full = u64::from(Sizes::default().full_wire());
    match [at(10), at(300)] {
        [(_, one), (_, other)] if one == other => match one {
            Limit::Packets(n) => format!("`\"{n} packets\"`"),
            Limit::Bytes(n) => format!("`\"{n} B\"`"),
        },
        pairs if pairs.iter().all(|(n, limit)| *limit == Limit::Packets(*n)) => "as `buffer`".into(),
        pairs => {
            let times = |(n, limit): (u32, Limit)| match limit {
                Limit::Bytes(bytes) if bytes.is_multiple_of(u64::from(n) * full) => {
                    Some(bytes / (u64::from(n) * full))
                }
                _ => None,
            };
            match pairs.map(times) {
                [Some(1), Some(1)] => "the bytes of `buffer`".into(),
                [Some(one), Some(other)] if one == other => format!("{one} times the bytes of `buffer`"),
                _ => "follows from `buffer`".into(),
            }
        }
    }
}

/// The default of most disciplines, and those that have another one.
fn by_discipline(space: fn(&str, &Set) -> String) -> String {
    let mut found: Vec<(String, String)> = Vec::new();
    for (info, specs) in disciplines::all() {
        let usual = space(info.name, &Set::new());
        for (words, set) in settings(&specs) {
            let value = space(info.name, &set);
            if words.is_empty() {
                found.push((format!("`{}`", info.name), value));
            } else if value != usual {
                found.push((format!("`{}` ({words})", info.name), value));
            }
        }
    }
    let mut counts = BTreeMap::new();
    found.iter().for_each(|(_, value)| *counts.entry(value.clone()).or_insert(0) += 1);
    let (usual, _) = counts.iter().max_by_key(|(_, count)| **count).expect("there are disciplines");
    let mut out = format!("{usual} with most disciplines");
    let mut others: Vec<(&String, Vec<&str>)> = Vec::new();
    for (name, value) in found.iter().filter(|(_, value)| value != usual) {
        match others.iter_mut().find(|(known, _)| *known == value) {
            Some((_, names)) => names.push(name),
            None => others.push((value, vec![name])),
        }
    }
    for (value, names) in others {
        let _ = write!(out, "; {value} with {}", and(&names));
    }
    out
}

fn and<T: AsRef<str>>(names: &[T]) -> String {
    match names {
        [] => String::new(),
        [one] => one.as_ref().into(),
        [all @ .., last] => {
            let all: Vec<&str> = all.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", all.join(", "), last.as_ref())
        }
    }
}

fn routing() -> String {
    let symmetric = transports::all_entries().into_iter().filter(|entry| entry.capabilities.symmetric);
    let names: Vec<String> = symmetric.map(|entry| format!("`{}`", entry.info.name)).collect();
    format!("`ecmp`; `symmetric` with {}", and(&names))
}

/// Sentences about the transports that choose paths themselves.
fn own_paths() -> String {
    let ways = |entry: &transports::Entry| {
        let mut needs = settings(&entry.params);
        needs.retain(|(_, set)| transports::needs_pinned_paths(entry.info.name, set));
        // If the default is enough, no value of another parameter is a condition.
        needs.first().map(|(words, _)| words.clone())
    };
    let (mut own, mut subflows): (Vec<String>, Vec<(String, Vec<String>)>) = (Vec::new(), Vec::new());
    for entry in transports::all_entries().into_iter().filter(|entry| entry.capabilities.multipath) {
        let name = format!("`{}`", entry.info.name);
        match ways(&entry) {
            None => own.push(name),
            Some(words) => match subflows.iter_mut().find(|(known, _)| *known == words) {
                Some((_, names)) => names.push(name),
                None => subflows.push((words, vec![name])),
            },
        }
    }
    let subflows: Vec<String> = subflows
        .iter()
        .map(|(words, names)| match words.as_str() {
            "" => and(names),
            words => format!("{} with {words}", and(names)),
        })
        .collect();
    format!(
        ". With {}, each packet takes the path that the transport chose. Subflows of {} take different paths; under \
         other kinds of routing they are hashed and may share a path",
        and(&own),
        subflows.join(" and of ")
    )
}

/// A parameter of a transport or a discipline.
pub(crate) fn parameter(spec: &ParamSpec) -> Json {
    let mut map = json!({ "name": spec.name, "kind": spec.kind.kind_name(), "type": spec.kind.kind_name(), "default": param_json(&spec.default), "doc": spec.doc,
        "expected": spec.kind.expected_form() });
    if let ParamKind::Choice(words) = spec.kind {
        map["choices"] = json!(words);
    }
    map
}

/// A key of a table.
pub(crate) fn key_json(key: &Key) -> Json {
    let usual = Some(key.usual).filter(|text| !text.is_empty());
    json!({ "name": key.name, "kind": key.takes.to_string(), "type": key.takes.kind_name(), "choices": key.takes.allowed_words(), "default": usual, "doc": key.doc })
}
