//! `docs/wireshark/headway.lua` is written from the tables of fields; this test keeps it true.
//! `HEADWAY_BLESS=1 cargo test -p headway-packet --test dissector` writes it anew. What it makes of packets is
//! tested with tshark, in `tests/python/test_wireshark.py`.
#![allow(clippy::disallowed_methods, reason = "reads and writes documentation")]

use headway_packet::{UDP_PORT, WIRE_FIELDS, WIRE_VERSION, WireField};
use std::fmt::Write;
use std::path::Path;

/// The code that goes by the tables.
const DISSECT: &str = include_str!("dissector/dissect.lua");

/// Consecutive fields of a datagram.
#[derive(Clone, Copy)]
struct Part {
    title: &'static str,
    /// What its fields' names begin with in filters.
    filter: &'static str,
    fields: &'static [WireField],
    /// A field of a part before it, and the values of it with which this part follows; always, if `None`.
    when: Option<(&'static str, &'static [u64])>,
}

/// A kind of datagram, told by its first byte. With a field `kind`, the first part makes the info column.
struct Form {
    first: u8,
    name: &'static str,
    parts: &'static [Part],
}

const FORMS: &[Form] = &[Form {
    first: WIRE_VERSION,
    name: "packet",
    parts: &[Part { title: "Header", filter: "headway", fields: WIRE_FIELDS, when: None }],
}];

#[test]
fn the_dissector_is_made_from_the_tables_of_fields() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/wireshark/headway.lua");
    let fresh = script(FORMS);
    if std::env::var_os("HEADWAY_BLESS").is_some() {
        std::fs::write(&path, &fresh).expect("the script can be written");
    }
    let there = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert!(there == fresh, "{} is out of date: run with HEADWAY_BLESS=1", path.display());
}

#[test]
fn a_second_table_of_fields_has_its_own_offsets_and_condition() {
    const MORE: &[WireField] = &[
        WireField { name: "cookie", offset: 480, bits: 64, doc: "A \"token\"", values: &[] },
        WireField { name: "mode", offset: 544, bits: 8, doc: "", values: &[(0, "a"), (2, "b")] },
    ];
    const PARTS: &[Part] = &[
        Part { title: "Header", filter: "headway", fields: WIRE_FIELDS, when: None },
        Part { title: "More", filter: "headway.more", fields: MORE, when: Some(("priority", &[1, 2])) },
    ];
    let text = script(&[
        Form { first: 1, name: "packet", parts: PARTS },
        Form { first: 9, name: "hello", parts: &PARTS[1..] },
    ]);
    for line in [
        r#"{ title = "More", bytes = 9, when = { field = "priority", values = { 1, 2 } }, fields = {"#,
        r#"{ name = "cookie", filter = "headway.more.cookie", offset = 0, bytes = 8, doc = "A \"token\"" },"#,
        r#"{ name = "mode", filter = "headway.more.mode", offset = 8, bytes = 1, doc = "","#,
        r#"values = { [0] = "a", [2] = "b" } },"#,
        r#"[9] = { name = "hello", parts = {"#,
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

fn script(forms: &[Form]) -> String {
    let mut out = format!(
        "-- Headway for Wireshark: copy into the personal Lua plugins folder, or `tshark -X lua_script:headway.lua`.\n\
         -- Written from the tables of fields in crates/packet/src/wire.rs by `cargo test -p headway-packet`;\n\
         -- do not edit. How to use it: docs/wireshark.md.\n\n\
         local PORT = {UDP_PORT}\n\n\
         -- Datagrams by their first byte; offsets and sizes in bytes, numbers in network byte order.\n\
         local FORMS = {{\n"
    );
    for form in forms {
        let _ = writeln!(out, "    [{}] = {{ name = {}, parts = {{", form.first, quoted(form.name));
        form.parts.iter().for_each(|p| part(&mut out, p));
        out.push_str("    } },\n");
    }
    out.push_str("}\n");
    out + DISSECT
}

fn part(out: &mut String, part: &Part) {
    let start = part.fields[0].offset;
    let bits: usize = part.fields.iter().map(|f| f.bits).sum();
    let when = part.when.map_or(String::new(), |(field, values)| {
        let values: Vec<String> = values.iter().map(u64::to_string).collect();
        format!(" when = {{ field = {}, values = {{ {} }} }},", quoted(field), values.join(", "))
    });
    let _ = writeln!(
        out,
        "        {{ title = {}, bytes = {},{when} fields = {{",
        quoted(part.title),
        whole_bytes(bits)
    );
    for field in part.fields {
        let _ = write!(
            out,
            "            {{ name = {}, filter = {}, offset = {}, bytes = {}, doc = {}",
            quoted(field.name),
            quoted(&format!("{}.{}", part.filter, field.name)),
            whole_bytes(field.offset - start),
            whole_bytes(field.bits),
            quoted(field.doc)
        );
        let _ = writeln!(out, "{} }},", meaning(field));
    }
    out.push_str("        } },\n");
}

/// Names of values or of flags. A list that names no zero and only powers of two is a set of flags.
fn meaning(field: &WireField) -> String {
    let indent = ",\n              ";
    if field.name == "reserved" {
        ", zero = true".into()
    } else if field.values.is_empty() {
        String::new()
    } else if field.values.iter().all(|(v, _)| v.is_power_of_two()) {
        let one = |(v, n): &(u64, &str)| format!("{{ mask = {v}, name = {} }}", quoted(n));
        let flags: Vec<String> = field.values.iter().map(one).collect();
        format!("{indent}flags = {{ {} }}", flags.join(", "))
    } else {
        let one = |(v, n): &(u64, &str)| format!("[{v}] = {}", quoted(n));
        let values: Vec<String> = field.values.iter().map(one).collect();
        format!("{indent}values = {{ {} }}", values.join(", "))
    }
}

fn whole_bytes(bits: usize) -> usize {
    assert!(bits.is_multiple_of(8), "the dissector knows fields of whole bytes, not of {bits} bits");
    bits / 8
}

/// A string of Lua; field documentation holds no control characters.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
