//! The tables of `[fabric]` in docs/scenario-format.md say what disciplines and transports declare;
//! `HEADWAY_BLESS=1 cargo test -p headway-lab --test it fabric::` writes them anew.
#![allow(clippy::disallowed_methods, reason = "reads and writes documentation")]

use crate::common::{self, good};
use headway_fabric::{Buffer, Limit, Space, registry as disciplines};
use headway_lab::fabric::param_json;
use headway_lab::fabric::{AT_KEYS, KEYS, MODES};
use headway_network::{PfcParams, Routing};
use headway_packet::Sizes;
use headway_params::{ParamKind, ParamSpec, ParamValue, Params};
use headway_transport::registry as transports;
use std::collections::BTreeMap;
use std::fmt::Write;

const BEGIN: &str = "<!-- fabric: written from what disciplines and transports declare, do not edit -->\n";
const END: &str = "<!-- end of fabric -->";
/// Keys that a resolved scenario has only where they are set.
const SAID: [&str; 4] = ["flowlet_gap", "forwarding", "at", "pfc"];

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
        Limit::Bytes(n) => {
            let payload = u64::from(Sizes::default().payload);
            assert!(n.is_multiple_of(payload), "{name}: the table knows multiples of the payload, not {n} B");
            format!("{} times `payload`", n / payload)
        }
    }
}

/// How the space of control packets follows from that of data, seen at two sizes of it.
fn control(name: &str, set: &Set) -> String {
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
                    bytes / (u64::from(n) * full)
                }
                other => panic!("{name}: the table has no words for {other:?} beside {n} packets of data"),
            };
            let [one, other] = pairs.map(times);
            assert_eq!(one, other, "{name}: the table has no words for it");
            if one == 1 {
                "the bytes of `buffer`".into()
            } else {
                format!("{one} times the bytes of `buffer`")
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
    let symmetric = transports::all().into_iter().filter(|entry| entry.capabilities.symmetric);
    let names: Vec<String> = symmetric.map(|entry| format!("`{}`", entry.info.name)).collect();
    format!("`ecmp`; `symmetric` with {}", and(&names))
}

/// What is said of the transports that choose paths themselves.
fn own_paths() -> String {
    let ways = |entry: &transports::Entry| {
        let mut needs = settings(&entry.params);
        needs.retain(|(_, set)| transports::needs_pinned_paths(entry.info.name, set));
        // Where the default is enough, no value of another parameter is a condition.
        needs.first().map(|(words, _)| words.clone())
    };
    let (mut own, mut subflows): (Vec<String>, Vec<(String, Vec<String>)>) = (Vec::new(), Vec::new());
    for entry in transports::all().into_iter().filter(|entry| entry.capabilities.multipath) {
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

#[test]
fn the_page_says_what_is_declared() {
    let mut text = String::from("| key | takes | default | meaning |\n|---|---|---|---|\n");
    for key in KEYS {
        let usual = match key.name {
            "buffer" => by_discipline(data),
            "control_buffer" => by_discipline(control),
            "routing" => routing(),
            _ => key.usual.into(),
        };
        let _ = writeln!(text, "| `{}` | {} | {usual} | {} |", key.name, key.takes, key.doc);
    }
    text.push_str("\n| `routing` | how a packet's path is chosen |\n|---|---|\n");
    for (mode, name, doc) in MODES {
        let more = if mode == Routing::Pinned { own_paths() } else { String::new() };
        let _ = writeln!(text, "| `{name}` | {doc}{more} |");
    }
    text.push_str("\n| key of `[[fabric.at]]` | takes | default | meaning |\n|---|---|---|---|\n");
    for key in AT_KEYS {
        let _ = writeln!(text, "| `{}` | {} | {} | {} |", key.name, key.takes, key.usual, key.doc);
    }
    text.push_str("\n| key of `[fabric.pfc]` | takes | default | meaning |\n|---|---|---|---|\n");
    for spec in PfcParams::specs() {
        let usual = param_json(&spec.default).to_string();
        let doc = spec.doc.trim_end_matches('.');
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {doc} |",
            spec.name,
            spec.kind.expected(),
            usual.replace('"', "")
        );
    }
    let path = common::repository().join("docs/scenario-format.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let (from, to) = (page.find(BEGIN).expect("its marker"), page.find(END).expect("its end"));
    let fresh = format!("{}{BEGIN}{text}{}", &page[..from], &page[to..]);
    let bless = std::env::var_os("HEADWAY_BLESS").is_some();
    if bless {
        std::fs::write(&path, &fresh).expect("the page can be written");
    }
    assert!(bless || page == fresh, "{} is out of date: run with HEADWAY_BLESS=1", path.display());
}

/// The keys of the list are those that a scenario has, and a default that is written there is the one that counts.
#[test]
fn the_keys_are_those_of_a_scenario() {
    let resolved = good(common::SMALL, &["fabric.discipline=drop-tail"]).resolved_json();
    let fabric = resolved["fabric"].as_object().expect("a table");
    let own = disciplines::find("drop-tail").expect("it is listed").1;
    let there: Vec<&str> =
        fabric.keys().map(String::as_str).filter(|key| own.iter().all(|spec| spec.name != *key)).collect();
    // These two are only there where a scenario has them: they are part of what tells runs apart.
    let said: Vec<&str> = KEYS.iter().map(|key| key.name).filter(|name| !SAID.contains(name)).collect();
    assert_eq!(there, said);
    let at =
        good(common::SMALL, &["fabric.forwarding=cut-through", "fabric.at=[{links='hosts', buffer='9 B'}]"]);
    let fabric = &at.resolved_json()["fabric"];
    assert_eq!(fabric["forwarding"], "cut-through");
    assert_eq!((&fabric["at"][0]["links"], &fabric["at"][0]["buffer"]), (&"hosts".into(), &"9 B".into()));
    for key in KEYS.iter().filter(|key| key.takes == "bytes") {
        assert_eq!(fabric[key.name].to_string(), key.usual, "{}", key.name);
    }
    let takes: Vec<String> = MODES.iter().map(|(_, name, _)| format!("`{name}`")).collect();
    let routing = KEYS.iter().find(|key| key.name == "routing").expect("it is a key");
    assert_eq!(routing.takes, takes.join(", "));
}
