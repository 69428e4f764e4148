//! Machines speak of their packets by the names that their protocol declares: no source of a protocol, but for its
//! declaration and its scripts, touches a field of `Packet` that views give names to.
//!
//! The scan goes by names: what a source declares as a packet, what it makes by the functions that make packets, and
//! whatever is called `packet`.

#![allow(clippy::disallowed_methods, reason = "the test reads the sources of machines")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The fields that views give names to.
const FIELDS: [&str; 6] = ["index", "count", "token", "remaining", "message_bytes", "lifetime"];
/// Calls that make a packet, in a `let`.
const MAKERS: [&str; 4] = [".data_packet(", ".control_packet(", ".control_view(", ".on("];

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The word that a text ends with, or begins with.
fn last_word(text: &str) -> &str {
    text.rsplit(|c| !is_word(c)).next().unwrap_or_default()
}

fn first_word(text: &str) -> &str {
    text.split(|c| !is_word(c)).next().unwrap_or_default()
}

/// The names of packets in a source.
fn packet_names(source: &str) -> BTreeSet<&str> {
    // By this name closures have packets without a type next to it.
    let mut names = BTreeSet::from(["packet"]);
    for typed in [": Packet", ": &Packet", ": &mut Packet", ": Option<&Packet>", ": Option<Packet>"] {
        // Other types have names that begin with these.
        let ends = |at: usize| !source[at + typed.len()..].starts_with(is_word);
        names.extend(
            source.match_indices(typed).filter(|(at, _)| ends(*at)).map(|(at, _)| last_word(&source[..at])),
        );
    }
    for statement in source.split(';') {
        let Some((_, made)) = statement.rsplit_once("let ") else { continue };
        let made = made.strip_prefix("mut ").unwrap_or(made);
        if let Some((name, value)) = made.split_once(" = ")
            && MAKERS.iter().any(|maker| value.contains(maker))
            // The value of a block need not be the packet made inside it.
            && !value.contains('{')
        {
            names.insert(name);
        }
    }
    names
}

/// Uses of raw fields in a source, without its tests.
fn raw_fields(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = Vec::new();
    for name in packet_names(source) {
        for (at, _) in source.match_indices(&format!("{name}.")) {
            let field = first_word(&source[at + name.len() + 1..]);
            // Neither the end of a longer word nor a field of another value.
            let whole = last_word(&source[..at + name.len()]) == name && !source[..at].ends_with('.');
            // A method may be called like a field.
            let call = source[at + name.len() + 1 + field.len()..].starts_with('(');
            if whole && !call && FIELDS.contains(&field) {
                found.push(format!("line {}: {name}.{field}", source[..at].lines().count()));
            }
        }
    }
    for (at, literal) in source.match_indices("Packet {") {
        let body = source[at + literal.len()..].split(['}', ';']).next().unwrap_or_default();
        // The rest after `..` comes from another value and names no field.
        let body = body.split("..").next().unwrap_or_default();
        let names = body.split(',').map(|entry| first_word(entry.trim()));
        // A signature and the body after it look alike, and so does a type whose name ends in the same word.
        if !source[..at].ends_with("-> ") && last_word(&source[..at]).is_empty() {
            found.extend(
                names
                    .filter(|name| FIELDS.contains(name))
                    .map(|field| format!("line {}: Packet {{ {field} .. }}", source[..at].lines().count())),
            );
        }
    }
    found
}

/// The machines' sources in a folder: those of protocols have a `packets.rs` next to them, or above.
fn machine_sources(folder: &Path, protocol: bool, into: &mut Vec<PathBuf>) {
    let protocol = protocol || folder.join("packets.rs").exists();
    for entry in fs::read_dir(folder).expect("the sources are there") {
        let path = entry.expect("the sources can be listed").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            machine_sources(&path, protocol, into);
        // Aeolus is a part of several protocols, and lies outside of their folders.
        } else if (protocol && !["packets.rs", "script.rs"].contains(&name)) || name == "aeolus.rs" {
            into.push(path);
        }
    }
}

#[test]
fn machines_go_by_the_names_of_their_views() {
    let mut sources = Vec::new();
    machine_sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), false, &mut sources);
    assert!(sources.len() > 60, "{} sources are too few: has the layout changed?", sources.len());
    // File systems list folders in any order.
    sources.sort();
    let mut wrong = Vec::new();
    for path in sources {
        let source = fs::read_to_string(&path).expect("a source can be read");
        wrong.extend(raw_fields(&source).into_iter().map(|found| format!("{}, {found}", path.display())));
    }
    let how =
        "read them with `View::read(&packet)`, and write them with `View { .. }.on(packet)` (packets.rs)";
    assert!(wrong.is_empty(), "raw fields of packets where views have names; {how}:\n{}", wrong.join("\n"));
}

#[test]
fn the_scan_finds_raw_fields_and_nothing_else() {
    let source = "
        fn hear(grant: &Packet, run: Run) {
            let mut ask = shared.control_packet(PacketKind::Resend, peer);
            ask.remaining = 3;
            let n = grant.token + run.count + grant.lifetime();
            send(Packet { index: 3, count, flags, ..make(ask, token) });
            let Packet { tag, src, .. } = *grant;
            self.packet.index = packets.index;
        }
        fn make(&self) -> Packet { index }
        #[cfg(test)]
        fn test(packet: Packet) { packet.index }";
    let found: Vec<String> =
        raw_fields(source).iter().map(|found| found.split_once(": ").expect("a line").1.to_owned()).collect();
    assert_eq!(found, ["ask.remaining", "grant.token", "Packet { index .. }", "Packet { count .. }"]);
}
