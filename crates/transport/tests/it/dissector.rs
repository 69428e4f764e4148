//! `docs/wireshark/headway.lua` is written from the tables of fields; this test keeps it true.
//! `HEADWAY_BLESS=1 cargo test -p headway-transport --test it dissector::` writes it again. Its reading of packets is
//! tested with tshark, in `tests/python/test_wireshark.py`.
#![allow(clippy::disallowed_methods, reason = "reads and writes documentation")]

use headway_packet::paths::{ADDRESS_FIELDS, MOST_ADDRESSES, PATH_FIELDS, PathKind};
use headway_packet::session::{
    HANDSHAKE_BASE, HANDSHAKE_FIELDS, HandshakeKind, SEALED_SESSION_VERSION, SESSION_FIELDS, SHARE_FIELDS,
};
use headway_packet::{
    CHECK_FIELDS, CROSSED_FIELDS, Envelope, Family, HOP_FIELDS, Mutable, PacketFlags, PacketKind, SEAL_TAG,
    STAMPS_BYTES, Stamps, UDP_PORT, WIRE_FIELDS, WIRE_VERSION, WireField,
};
use std::fmt::Write;
use std::path::Path;

/// The code that goes by the tables.
const DISSECT: &str = include_str!("dissector/dissect.lua");

/// Fields, and the values that each must have one of.
type When = &'static [(&'static str, &'static [u64])];

/// Consecutive fields of a datagram.
#[derive(Clone, Copy)]
struct Part {
    title: &'static str,
    /// Prefix of its fields' names in filters.
    filter: &'static str,
    fields: &'static [WireField],
    /// Fields of parts before it, and the values of each with which this part follows.
    when: When,
    /// A field of parts before it, and the value that it needs for this part to be filled; otherwise it is empty room.
    filled: Option<(&'static str, u64)>,
}

/// A kind of datagram, told by its first byte. With a field `kind`, the first part makes the info column.
struct Form {
    first: u8,
    name: &'static str,
    parts: &'static [Part],
    /// Part that follows the payload.
    tail: Option<Tail>,
}

/// Bytes behind the payload.
#[derive(Clone, Copy)]
struct Tail {
    title: &'static str,
    filter: &'static str,
    bytes: usize,
    /// As for a part.
    when: When,
}

/// Envelopes in which the fields of a session follow the header.
const WITH_SESSION: &[u64] = &[1, 2, 3, 4];
/// Those in which stamps follow the session, and those with a seal.
const WITH_STAMPS: &[u64] = &[Envelope::Stamped as u64, Envelope::StampedSealed as u64];
const WITH_SEAL: &[u64] = &[Envelope::Sealed as u64, Envelope::StampedSealed as u64];
const HEADER: Part = Part::always_part("Header", "headway", WIRE_FIELDS);
const SESSION: Part = Part {
    when: &[("envelope", WITH_SESSION)],
    ..Part::always_part("Session", "headway.session", SESSION_FIELDS)
};
const CROSSED: Part = Part {
    when: &[("envelope", WITH_STAMPS)],
    ..Part::always_part("Stamps", "headway.stamps", CROSSED_FIELDS)
};
const HOP: Part =
    Part { when: &[("envelope", WITH_STAMPS)], ..Part::always_part("Stamp", "headway.stamp", HOP_FIELDS) };

impl Part {
    const fn always_part(title: &'static str, filter: &'static str, fields: &'static [WireField]) -> Part {
        Part { title, filter, fields, when: &[], filled: None }
    }

    /// The stamp of a port, by its number from 1.
    const fn hop_part(number: u64) -> Part {
        Part { filled: Some(("crossed", number)), ..HOP }
    }
}
/// Kinds with a payload that a switch may cut off, and the header that is left then.
const CUTTABLE: &[u64] = &[PacketKind::Data as u64, PacketKind::Header as u64];
const CHECK: Part = Part {
    when: &[("envelope", WITH_SEAL), ("kind", CUTTABLE)],
    ..Part::always_part("Check", "headway.check", CHECK_FIELDS)
};
/// Kinds that keep their seal.
// All but 6, a header, whose seal was cut off with the payload.
const WHOLE: &[u64] = &[0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13];
const SEAL: Tail = Tail {
    title: "Seal",
    filter: "headway.seal",
    bytes: SEAL_TAG,
    when: &[("envelope", WITH_SEAL), ("kind", WHOLE)],
};
const HANDSHAKE: Part = Part::always_part("Handshake", "headway.handshake", HANDSHAKE_FIELDS);
const SHARE: Part = Part {
    when: &[("session", &[SEALED_SESSION_VERSION as u64])],
    ..Part::always_part("Share", "headway.handshake", SHARE_FIELDS)
};
const PATH: Part = Part::always_part("Path", "headway.path", PATH_FIELDS);
/// Numbers of addresses that a list may have.
const COUNTS: &[u64; MOST_ADDRESSES] = &[1, 2, 3, 4, 5, 6, 7, 8];

/// The address with a number, from 0, of a list: there where it has as many.
const fn listed_address(number: usize) -> Part {
    // Written out: slices made in a loop would not live as long as a `When`.
    const FROM: [When; MOST_ADDRESSES] = [
        &[("count", COUNTS)],
        &[("count", COUNTS.split_at(1).1)],
        &[("count", COUNTS.split_at(2).1)],
        &[("count", COUNTS.split_at(3).1)],
        &[("count", COUNTS.split_at(4).1)],
        &[("count", COUNTS.split_at(5).1)],
        &[("count", COUNTS.split_at(6).1)],
        &[("count", COUNTS.split_at(7).1)],
    ];
    Part { when: FROM[number], ..Part::always_part("Address", "headway.path", ADDRESS_FIELDS) }
}

/// A list of addresses, in order.
const LIST: &[Part] = &[
    HANDSHAKE,
    PATH,
    listed_address(0),
    listed_address(1),
    listed_address(2),
    listed_address(3),
    listed_address(4),
    listed_address(5),
    listed_address(6),
    listed_address(7),
];
/// Parts of a packet, in order.
const PACKET: &[Part] = &[
    HEADER,
    SESSION,
    CROSSED,
    Part::hop_part(1),
    Part::hop_part(2),
    Part::hop_part(3),
    Part::hop_part(4),
    Part::hop_part(5),
    CHECK,
];

/// The packet, and every datagram of the handshake.
fn datagram_forms() -> Vec<Form> {
    let packet = Form { first: WIRE_VERSION, name: "packet", parts: PACKET, tail: Some(SEAL) };
    let names = HANDSHAKE_FIELDS[0].values;
    let handshake = HandshakeKind::ALL.map(|kind| {
        let first = HANDSHAKE_BASE + kind as u8;
        let (_, name) = names.iter().find(|(n, _)| *n == u64::from(first)).expect("every kind has a name");
        let parts: &[Part] = if kind.has_share() { &[HANDSHAKE, SHARE] } else { &[HANDSHAKE] };
        Form { first, name, parts, tail: None }
    });
    let paths = PathKind::ALL.map(|kind| {
        let first = HANDSHAKE_BASE + kind as u8;
        let (_, name) = names.iter().find(|(n, _)| *n == u64::from(first)).expect("every kind has a name");
        let parts: &[Part] = if kind == PathKind::Addresses { LIST } else { &[HANDSHAKE, PATH] };
        Form { first, name, parts, tail: None }
    });
    std::iter::once(packet).chain(handshake).chain(paths).collect()
}

#[test]
fn the_dissector_is_made_from_the_tables_of_fields() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/wireshark/headway.lua");
    let fresh = lua_script(&datagram_forms());
    if std::env::var_os("HEADWAY_BLESS").is_some() {
        std::fs::write(&path, &fresh).expect("the script can be written");
    }
    let there = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    // `assert_eq` would print both files.
    assert!(there == fresh, "{} is out of date: run with HEADWAY_BLESS=1", path.display());
}

/// Meaning of one field in some packets.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Meaning {
    field: &'static str,
    /// Kinds of packets that have it.
    kinds: Vec<PacketKind>,
    /// Flags that all of them have.
    flags: PacketFlags,
    /// Protocol of the packets, by its number from 1; `None` where all that send such packets mean the same.
    family: Option<usize>,
    doc: &'static str,
}

/// The protocols, each once, in the order of the registry.
fn distinct_families() -> Vec<Family> {
    let mut found: Vec<Family> = Vec::new();
    for entry in headway_transport::registry::all_entries() {
        if found.iter().all(|family| family.name != entry.packets.name) {
            found.push(entry.packets);
        }
    }
    found
}

/// Meaning of every field, as the protocols declare it; of those that fit a packet the first counts. Flags tell
/// more than kinds alone, so views that have flags come first.
fn all_meanings() -> Vec<Meaning> {
    let families = distinct_families();
    let mut found: Vec<Meaning> = Vec::new();
    for (place, family) in families.iter().enumerate() {
        for view in family.views {
            let rivals = || {
                // Any data packet may become a header, in a network whose ports cut.
                let data = |other: &Family| {
                    other.view_of(PacketKind::Data).filter(|_| view.kind == PacketKind::Header)
                };
                let views =
                    families.iter().filter_map(move |other| other.view_of(view.kind).or_else(|| data(other)));
                views.filter(|other| other.flags == view.flags)
            };
            for one in view.fields {
                let same = |other: &headway_packet::View| {
                    other.fields.iter().any(|field| field.field == one.field && field.doc == one.doc)
                };
                let family = (!rivals().all(same)).then_some(place + 1);
                let (field, flags, doc) = (one.field, view.flags, one.doc.trim().trim_end_matches('.'));
                let alike = |other: &&mut Meaning| {
                    (other.field, other.flags, other.family, other.doc) == (field, flags, family, doc)
                };
                match found.iter_mut().find(alike) {
                    Some(known) if known.kinds.contains(&view.kind) => {}
                    // Kinds with one meaning share a line of the page.
                    Some(known) => known.kinds.push(view.kind),
                    None => found.push(Meaning { field, kinds: vec![view.kind], flags, family, doc }),
                }
            }
        }
    }
    // Stable, so that equals stay in the order of the registry, and the files written from them the same.
    found.sort_by_key(|one| {
        (one.flags == PacketFlags(0), FIELD_ORDER.iter().position(|name| *name == one.field))
    });
    found
}

/// Fields whose meaning protocols declare, in the order of the page.
const FIELD_ORDER: &[&str] = &["index", "count", "token", "remaining", "message_bytes", "lifetime"];

#[test]
fn every_meaning_is_of_a_field_and_can_count() {
    let all = all_meanings();
    for (place, one) in all.iter().enumerate() {
        assert!(WIRE_FIELDS.iter().any(|field| field.name == one.field), "{one:?}");
        let hides = |before: &&Meaning| {
            let same = before.field == one.field && one.flags.has_all(before.flags);
            same && before.family.is_none_or(|family| Some(family) == one.family)
                && before.kinds.iter().any(|kind| one.kinds.contains(kind))
        };
        assert_eq!(all[..place].iter().find(hides), None, "{one:?} can never count");
    }
}

const FIELDS: (&str, &str) = (
    "<!-- fields: written by `HEADWAY_BLESS=1 cargo test -p headway-transport --test it dissector::` -->\n",
    "<!-- end of fields -->",
);

#[test]
fn the_parts_of_a_packet_are_those_that_its_envelope_says() {
    let bytes = |parts: &[Part]| {
        whole_bytes(parts.iter().flat_map(|part| part.fields).map(|field| field.bits).sum::<usize>())
    };
    let hops: Vec<_> = PACKET.iter().filter_map(|part| part.filled).collect();
    assert_eq!(hops.len(), Stamps::ROOM, "{hops:?}");
    for envelope in Envelope::ALL {
        for kind in PacketKind::ALL {
            let holds = |part: &&Part| {
                part.when.iter().all(|(field, values)| match *field {
                    "envelope" => values.contains(&(envelope as u64)),
                    // Parts of a packet depend on these two fields alone.
                    _ => values.contains(&(kind as u64)),
                })
            };
            let here: Vec<Part> = PACKET.iter().filter(holds).copied().collect();
            assert_eq!(bytes(&here), bytes(&[HEADER]) + envelope.bytes_before(kind), "{envelope:?} {kind:?}");
        }
    }
    assert_eq!(bytes(&[CROSSED]) + Stamps::ROOM * bytes(&[HOP]), STAMPS_BYTES);
}

#[test]
fn only_a_header_has_lost_its_seal() {
    let sealed = |kind: &PacketKind| Envelope::Sealed.bytes_after(*kind) == SEAL_TAG;
    let kinds: Vec<u64> = PacketKind::ALL.into_iter().filter(sealed).map(|kind| kind as u64).collect();
    assert_eq!(kinds, WHOLE);
    let checked =
        |kind: &PacketKind| Envelope::Sealed.bytes_before(*kind) > Envelope::Session.bytes_before(*kind);
    let kinds: Vec<u64> = PacketKind::ALL.into_iter().filter(checked).map(|kind| kind as u64).collect();
    assert_eq!(kinds, CUTTABLE);
}

#[test]
fn the_page_lists_every_field() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/wireshark.md");
    let there = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let (before, rest) = there.split_once(FIELDS.0).expect("the page has a place for the fields");
    let (_, after) = rest.split_once(FIELDS.1).expect("the place for the fields has an end");
    let tables = [HEADER, SESSION, CROSSED, HOP, CHECK, HANDSHAKE, SHARE, PATH, listed_address(0)]
        .map(fields_table)
        .concat()
        + &table_of_meanings();
    let fresh = format!("{before}{}{tables}{}{after}", FIELDS.0, FIELDS.1);
    if std::env::var_os("HEADWAY_BLESS").is_some() {
        std::fs::write(&path, &fresh).expect("the page can be written");
    } else {
        assert!(there == fresh, "{} is out of date: run with HEADWAY_BLESS=1", path.display());
    }
}

/// Fields as a table of Markdown.
fn fields_table(part: Part) -> String {
    let mut out = format!(
        "\n### {}\n\n| offset | bytes | filter | meaning | a switch may |\n|---|---|---|---|---|\n",
        part.title
    );
    for field in part.fields {
        let names: Vec<String> = field.values.iter().map(|(v, n)| format!("{v} `{n}`")).collect();
        let values = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
        let (offset, bytes) = (whole_bytes(field.offset), whole_bytes(field.bits));
        let may = match field.mutable {
            Mutable::Never => "",
            Mutable::Rate => "lower it where the flag `rate` is set",
            Mutable::Cut => "write it as it cuts the payload off",
            Mutable::Stamp => "count itself and fill in the next stamp, in data",
            Mutable::Flags => "set `bounced` as it returns a header, and `last-hop` in front of its receiver",
        };
        let name = filter_name(&part, field);
        let _ = writeln!(out, "| {offset} | {bytes} | `{name}` | {}{values} | {may} |", field.doc);
    }
    out + "\n"
}

#[test]
fn a_second_table_of_fields_has_its_own_offsets_and_condition() {
    const MORE: &[WireField] = &[
        WireField {
            name: "cookie",
            offset: 480,
            bits: 64,
            // Lua has to read the quotes as part of the string.
            doc: "A \"token\"",
            values: &[],
            mutable: Mutable::Never,
        },
        WireField {
            name: "mode",
            offset: 544,
            bits: 8,
            doc: "",
            values: &[(0, "a"), (2, "b")],
            mutable: Mutable::Never,
        },
    ];
    const PARTS: &[Part] = &[
        HEADER,
        Part {
            when: &[("priority", &[1, 2])],
            filled: Some(("count", 3)),
            ..Part::always_part("More", "headway.more", MORE)
        },
    ];
    let text = lua_script(&[
        Form { first: 1, name: "packet", parts: PARTS, tail: Some(SEAL) },
        Form { first: 9, name: "hello", parts: &PARTS[1..], tail: None },
    ]);
    for line in [
        r#"{ title = "More", bytes = 9, when = { { field = "priority", values = { 1, 2 } } }, filled = { field = "count", least = 3 }, fields = {"#,
        r#"{ name = "cookie", filter = "headway.more.cookie", offset = 0, bytes = 8, doc = "A \"token\"" },"#,
        r#"{ name = "mode", filter = "headway.more.mode", offset = 8, bytes = 1, doc = "","#,
        r#"values = { [0] = "a", [2] = "b" } },"#,
        r#"}, tail = { title = "Seal", filter = "headway.seal", bytes = 16,"#,
        r#"[9] = { name = "hello", parts = {"#,
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
}

fn lua_script(forms: &[Form]) -> String {
    let mut out = format!(
        "-- Headway for Wireshark: copy into the personal Lua plugins folder, or `tshark -X lua_script:headway.lua`.\n\
         -- Written from the tables of fields in crates/packet/src and what each transport declares of its packets, by\n\
         -- `cargo test -p headway-transport`; do not edit. How to use it: docs/wireshark.md.\n\n\
         local PORT = {UDP_PORT}\n\n\
         -- Datagrams by their first byte; offsets and sizes in bytes, numbers in network byte order.\n\
         local FORMS = {{\n"
    );
    for form in forms {
        let _ = writeln!(out, "    [{}] = {{ name = {}, parts = {{", form.first, lua_quoted(form.name));
        form.parts.iter().for_each(|p| write_part(&mut out, p));
        let _ = writeln!(out, "    }}{} }},", form.tail.map_or(String::new(), tail_table));
    }
    out.push_str("}\n\n");
    write_meanings(&mut out);
    out + DISSECT
}

/// Meaning of a field by kind, flags and family of transports.
fn write_meanings(out: &mut String) {
    let families: Vec<String> = distinct_families().iter().map(|family| lua_quoted(family.name)).collect();
    let _ = writeln!(out, "-- The header does not say its transport: a preference does.");
    let _ = writeln!(out, "local FAMILIES = {{ {} }}", families.join(", "));
    let _ = writeln!(
        out,
        "-- What fields hold; of those that fit a packet the first counts.\nlocal MEANINGS = {{"
    );
    for one in all_meanings() {
        let kinds: Vec<String> = one.kinds.iter().map(|kind| format!("[{}] = true", *kind as u8)).collect();
        let family = one.family.map_or(String::new(), |place| format!(" family = {place},"));
        let (field, doc) = (lua_quoted(one.field), lua_quoted(one.doc));
        let (kinds, flags) = (kinds.join(", "), one.flags.0);
        let _ = writeln!(
            out,
            "    {{ field = {field}, kinds = {{ {kinds} }}, flags = {flags},{family}\n      doc = {doc} }},"
        );
    }
    out.push_str("}\n");
}

/// The meanings of fields, as a table in Markdown.
fn table_of_meanings() -> String {
    let mut out =
        "\n### What fields hold\n\n| field | kinds | flags | transports | holds |\n|---|---|---|---|---|\n"
            .to_string();
    let families = distinct_families();
    for one in all_meanings() {
        let kinds: Vec<String> = one.kinds.iter().map(|kind| format!("`{}`", kind.name())).collect();
        let flags = WIRE_FIELDS.iter().find(|field| field.name == "flags").expect("it has flags");
        let names = flags.values.iter().filter(|(bit, _)| u64::from(one.flags.0) & bit != 0);
        let names: Vec<String> = names.map(|(_, name)| format!("`{name}`")).collect();
        let (kinds, names, family) =
            (kinds.join(", "), names.join(", "), one.family.map_or("all", |place| families[place - 1].name));
        let _ = writeln!(out, "| `{}` | {kinds} | {names} | {family} | {} |", one.field, one.doc);
    }
    out + "\n"
}

fn tail_table(tail: Tail) -> String {
    format!(
        ", tail = {{ title = {}, filter = {}, bytes = {},\n       {} }}",
        lua_quoted(tail.title),
        lua_quoted(tail.filter),
        tail.bytes,
        condition_table(tail.when)
    )
}

fn condition_table(when: When) -> String {
    let one = |(field, values): &(&str, &[u64])| {
        let values: Vec<String> = values.iter().map(u64::to_string).collect();
        format!("{{ field = {}, values = {{ {} }} }}", lua_quoted(field), values.join(", "))
    };
    format!(" when = {{ {} }}", when.iter().map(one).collect::<Vec<_>>().join(", "))
}

fn write_part(out: &mut String, part: &Part) {
    let start = part.fields[0].offset;
    let bits: usize = part.fields.iter().map(|f| f.bits).sum();
    let when = if part.when.is_empty() { String::new() } else { condition_table(part.when) + "," };
    let filled = part.filled.map_or(String::new(), |(field, least)| {
        format!(" filled = {{ field = {}, least = {least} }},", lua_quoted(field))
    });
    let _ = writeln!(
        out,
        "        {{ title = {}, bytes = {},{when}{filled} fields = {{",
        lua_quoted(part.title),
        whole_bytes(bits)
    );
    for field in part.fields {
        let _ = write!(
            out,
            "            {{ name = {}, filter = {}, offset = {}, bytes = {}, doc = {}",
            lua_quoted(field.name),
            lua_quoted(&filter_name(part, field)),
            whole_bytes(field.offset - start),
            whole_bytes(field.bits),
            lua_quoted(field.doc)
        );
        let _ = writeln!(out, "{} }},", values_table(field));
    }
    out.push_str("        } },\n");
}

/// A field that is called like its part has the part's own name.
fn filter_name(part: &Part, field: &WireField) -> String {
    match part.filter.rsplit_once('.') {
        Some((_, last)) if last == field.name => part.filter.into(),
        _ => format!("{}.{}", part.filter, field.name),
    }
}

/// Names of values or of flags. A list that names no zero and only powers of two is a set of flags.
fn values_table(field: &WireField) -> String {
    let indent = ",\n              ";
    if field.doc == "Zero" {
        ", zero = true".into()
    } else if field.values.is_empty() {
        String::new()
    } else if field.values.iter().all(|(v, _)| v.is_power_of_two()) {
        let one = |(v, n): &(u64, &str)| format!("{{ mask = {v}, name = {} }}", lua_quoted(n));
        let flags: Vec<String> = field.values.iter().map(one).collect();
        format!("{indent}flags = {{ {} }}", flags.join(", "))
    } else {
        let one = |(v, n): &(u64, &str)| format!("[{v}] = {}", lua_quoted(n));
        let values: Vec<String> = field.values.iter().map(one).collect();
        format!("{indent}values = {{ {} }}", values.join(", "))
    }
}

fn whole_bytes(bits: usize) -> usize {
    assert!(bits.is_multiple_of(8), "the dissector knows fields of whole bytes, not of {bits} bits");
    bits / 8
}

/// A string of Lua; field documentation holds no control characters.
fn lua_quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
