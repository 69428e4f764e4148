//! Declarations in pages of the documentation: tables of keys, columns, parameters, states and formats, as Markdown.
//!
//! A page has a line `<!-- declared: NAME -->` in the place of each. Programs that show a page put the text there.

use crate::catalogue::catalogue;
use crate::import::format::Format;
use crate::import::kinds::{KINDS, Kind, Reader};
use crate::model;
use crate::results::schema::{self, Field, Of};
use crate::text::key::Key;
use crate::traffic;
use headway_network::{Chip, ChipMemory, topology};
use headway_transport::deploy::NETWORKS;
use headway_transport::registry::{self, Entry};
use serde_json::Value as Json;
use std::fmt::Write;
use std::sync::LazyLock;

/// A page with the texts in their places. A line that names none of them stays.
pub fn filled(page: &str) -> String {
    // Once a program: declarations do not change while it runs.
    static TEXTS: LazyLock<Vec<(String, String)>> = LazyLock::new(all);
    let line = |line: &str| {
        let name = line.strip_prefix("<!-- declared: ").and_then(|rest| rest.strip_suffix(" -->"));
        let text = name.and_then(|name| TEXTS.iter().find(|(known, _)| known == name));
        text.map_or_else(|| format!("{line}\n"), |(_, text)| text.clone())
    };
    page.lines().map(line).collect()
}

/// The names of all texts, with the texts.
fn all() -> Vec<(String, String)> {
    let fixed = [
        ("topologies", topologies()),
        ("traffic of every kind", keys(traffic::COMMON)),
        ("kinds of traffic", kinds_of_traffic()),
        ("models", models()),
        ("formats", formats()),
        ("deployment", deployment()),
        ("networks", networks()),
        ("chips", chips()),
    ];
    let named = fixed.map(|(name, text)| (name.to_string(), text));
    let transports = registry::all_entries();
    let transports =
        transports.iter().map(|entry| (format!("transport {}", entry.info.name), transport(entry)));
    named.into_iter().chain(tables()).chain(results()).chain(transports).collect()
}

const KEYS: &str = "| key | takes | default | meaning |\n|---|---|---|---|\n";

fn keys(keys: &[Key]) -> String {
    if keys.is_empty() {
        return "It has no keys of its own.\n".into();
    }
    let row = |key: &Key| format!("| `{}` | {} | {} | {} |\n", key.name, key.takes, key.usual, key.doc);
    KEYS.to_string() + &keys.iter().map(row).collect::<String>()
}

fn topologies() -> String {
    let key = |key: &topology::Key| {
        let kind = if key.kind == topology::Kind::EvenCount { " (even)" } else { "" };
        match key.usual.text() {
            "" => format!("`{}`{kind}", key.name),
            usual => format!("`{}`{kind} (`{usual}`)", key.name),
        }
    };
    let mut table = String::from("| kind | keys (default) | what it is |\n|---|---|---|\n");
    for (info, _) in topology::KINDS {
        let keys: Vec<String> = info.keys.iter().map(key).collect();
        let _ = writeln!(table, "| `{}` | {} | {} |", info.name, keys.join(", "), info.summary);
    }
    table
}

/// Table of the needs of each transport in a real network.
fn deployment() -> String {
    let mut table = String::from(
        "| transport | switches | runs in | with Headway today | next to others |\n|---|---|---|---|---|\n",
    );
    for entry in registry::all_entries() {
        let needs = &entry.deployment;
        let joined = |words: Vec<String>| if words.is_empty() { "nothing".into() } else { words.join("; ") };
        let switches = joined(needs.switches.iter().map(|one| one.feature_words()).collect());
        let hosts = joined(needs.hosts.iter().map(|one| one.place_words()).collect());
        let here = joined(traffic::runs_here(entry.info.name));
        let name = entry.info.name;
        let _ = writeln!(table, "| `{name}` | {switches} | {hosts} | {here} | {} |", needs.neighbours);
    }
    table
}

/// Networks that somebody may have, with what can be deployed there.
fn networks() -> String {
    let mut table = String::from("| `--deploy` | network | transports |\n|---|---|---|\n");
    for network in NETWORKS {
        let all = registry::all_entries();
        let fit = all.iter().filter(|entry| network.lacking_features(&entry.deployment).is_empty());
        let names: Vec<String> = fit.map(|entry| format!("`{}`", entry.info.name)).collect();
        let _ = writeln!(table, "| `{}` | {} | {} |", network.name, network.what, names.join(", "));
    }
    table
}

fn kinds_of_traffic() -> String {
    let mut kinds = String::new();
    for traffic::Kind { info, form, .. } in traffic::KINDS {
        let form = match *form {
            "" => String::new(),
            form => format!("Alone in the network it takes: {form}.\n\n"),
        };
        let _ = writeln!(kinds, "**`{}`**: {}.\n\n{form}{}", info.name, info.summary, keys(info.keys));
    }
    kinds
}

fn models() -> String {
    let mut models = String::new();
    for model::Kind { info, .. } in model::KINDS {
        let _ = writeln!(
            models,
            "**`{}`**: {} ({}).\n\n{}",
            info.name,
            info.summary,
            info.paper,
            keys(info.keys)
        );
    }
    models
}

/// Switch chips with their memories and the sources.
fn chips() -> String {
    let mut rows = String::from(
        "| `chip` | `size` | `alpha` | `reserve` | fastest port | ports together | source |\n|---|---|---|---|---|---|---|\n",
    );
    for chip in Chip::ALL {
        let Some(memory) = chip.memory() else { continue };
        let ChipMemory { size, alpha, reserve, capacity, port, source } = memory;
        let _ = writeln!(
            rows,
            "| `{}` | {size} B | {alpha} | {reserve} B | {port} Gb/s | {capacity} Gb/s | {source} |",
            chip.word()
        );
    }
    rows
}

/// The tables of a scenario that have one form, and each form of those that have several.
fn tables() -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let Ok(Some(Json::Array(tables))) = catalogue("tables") else { return found };
    let text = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_string);
    for table in &tables {
        for key in table["params"].as_array().into_iter().flatten() {
            // A table with several forms, such as `[[fault]]`, has a heading for each.
            let name = text(if key["form"].is_null() { &table["name"] } else { &key["form"] });
            let takes = text(if key["expected"].is_null() { &key["kind"] } else { &key["expected"] });
            let usual = if key["default"].is_null() { String::new() } else { text(&key["default"]) };
            let doc = text(&key["doc"]);
            let row =
                format!("| `{}` | {takes} | {usual} | {} |\n", text(&key["name"]), doc.trim_end_matches('.'));
            match found.iter_mut().find(|(known, _)| *known == name) {
                Some((_, rows)) => rows.push_str(&row),
                None => found.push((name, KEYS.to_string() + &row)),
            }
        }
        if let Some(modes) = table["routing"].as_array() {
            let mut rows = String::from("| `routing` | how a packet's path is chosen |\n|---|---|\n");
            for mode in modes {
                let _ = writeln!(rows, "| `{}` | {} |", text(&mode["name"]), text(&mode["doc"]));
            }
            found.push(("routing".into(), rows));
        }
    }
    found
}

/// Columns of tables, and keys of a summary.
fn results() -> Vec<(String, String)> {
    let rows = |first: &str, fields: &mut dyn Iterator<Item = (&Field, String)>| {
        let mut table = format!("| {first} | unit | meaning |\n|---|---|---|\n");
        for (field, doc) in fields {
            let _ = writeln!(table, "| `{}` | {} | {doc} |", field.name, field.unit);
        }
        table
    };
    let table = |first: &str, fields: &mut dyn Iterator<Item = &'static Field>| {
        rows(first, &mut fields.map(|field| (field, field.doc.to_string())))
    };
    let numbers = |of: fn(Of) -> bool| schema::SUMMARY.iter().filter(move |n| of(n.of)).map(|n| &n.field);
    let (gauges, probes) = (schema::gauges(), schema::probes());
    let tables = [
        ("flows", table("column", &mut schema::FLOWS.iter())),
        ("links", table("column", &mut schema::LINKS.iter())),
        ("series", table("column", &mut schema::SERIES.iter())),
        ("steps", table("column", &mut schema::STEPS.iter())),
        ("edges", table("column", &mut schema::EDGES.iter())),
        ("metrics", table("metric", &mut schema::METRICS.iter())),
        ("probes", rows("probe", &mut probes.iter().map(|probe| (&probe.field, probe.doc())))),
        ("summary", table("key", &mut numbers(Of::is_of_run))),
        ("round trips", table("key of `round_trips`", &mut schema::ROUND_TRIPS.iter().map(|n| &n.field))),
        ("gauges", rows("key of `gauges`", &mut gauges.iter().map(|gauge| (&gauge.field, gauge.doc())))),
        ("parts of gauges", table("of each gauge", &mut schema::GAUGE_PARTS.iter().map(|n| &n.field))),
        ("transports", table("key", &mut numbers(|of| !of.is_of_run()))),
        ("jobs", table("key", &mut schema::JOBS.iter().map(|n| &n.field))),
        ("rounds", table("key of `rounds`", &mut schema::ROUNDS.iter().map(|n| &n.field))),
    ];
    tables.map(|(name, text)| (format!("results: {name}"), text)).into()
}

/// The last sections of a transport's page.
fn transport(entry: &Entry) -> String {
    let mut out = format!("## Declared\n\n### Parameters\n\n{KEYS}");
    for p in &entry.params {
        let _ = writeln!(out, "| `{}` | {} | `{}` | {} |", p.name, p.kind.expected_form(), p.default, p.doc);
    }
    out.push_str("\n### States\n");
    for table in entry.info.states {
        let _ = write!(out, "\n{}\n```mermaid\n{}```\n", table.to_markdown(), table.to_mermaid());
    }
    out.push_str("\n### Different from the paper\n\n");
    for deviation in entry.info.deviations {
        let _ = writeln!(out, "- {deviation}");
    }
    out
}

/// The section of each kind of file.
fn formats() -> String {
    let mut page = String::new();
    let by = |kind: &Kind| match kind.reader {
        Reader::Trace(Format::Matrix) => {
            "`headway import`; [[traffic]] `kind = \"trace\"` or `kind = \"file\"`".to_string()
        }
        Reader::Trace(format) => {
            format!("`headway import`; [[traffic]] `kind = \"trace\"`, `format = \"{}\"`", format.name())
        }
        Reader::Table => "`headway import`; [[traffic]] `kind = \"file\"`".into(),
        Reader::Topology(_) => {
            "`headway import` beside a file of traffic; [topology] `kind = \"graph\"`, `file`".into()
        }
        Reader::Log(_) => "`headway import`".into(),
        Reader::Sizes => "`cdf` of [[traffic]] `kind = \"poisson\"` and others".into(),
        Reader::Nothing(_) => String::new(),
    };
    let mut known = String::from("\n## Known and not read\n\n| file | from | instead |\n|---|---|---|\n");
    for kind in &KINDS {
        // The name without its article, with a capital letter.
        let Some(first) = kind.what.chars().nth(kind.what.find(' ').map_or(0, |at| at + 1)) else { continue };
        let name = &kind.what[kind.what.find(' ').map_or(0, |at| at + 1)..];
        let title = format!("{}{}", first.to_uppercase(), &name[first.len_utf8()..]);
        if let Reader::Nothing(instead) = kind.reader {
            let _ = writeln!(known, "| {name} | {} | {instead} |", kind.by);
            continue;
        }
        let left_out = if kind.left_out.is_empty() { "nothing" } else { kind.left_out };
        let _ = write!(
            page,
            "\n## {title}\n\n| | |\n|---|---|\n| written by | {} |\n| read by | {} |\n| forms | {} |\n| left out | {left_out} |\n",
            kind.by,
            by(kind),
            kind.forms
        );
        match kind.sample {
            "" => page += "\nIt is no text. `workloads/traces/loggopsim/binary_tree_32.bin` is one.\n",
            text => {
                let _ = write!(page, "\n```text\n{}\n```\n", text.trim_end());
            }
        }
    }
    page + &known
}
