//! The first event in which two runs differ.
//!
//! Both are run again, and only digests of their events are kept, one for each piece of the run; the first piece whose
//! digests differ is run once more on both sides, with its events. So the memory for it grows by eight bytes in four
//! thousand events.

use crate::run::run_witnessed;
use crate::scenario::{Resolved, Scenario};
use crate::text::LabError;
use headway_network::{Network, Owners, Place, Seen, Witness};
use headway_packet::{Family, Packet, PacketKind, View, WIRE_FIELDS};
use rustc_hash::FxHasher;
use serde_json::{Value as Json, json};
use std::hash::{Hash, Hasher};

/// Events of a piece.
const PIECE: u64 = 4096;
/// Events shown ahead of the first that differs.
const BEFORE: u64 = 4;

/// Common events of two runs, and the first difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// Number of events of the two runs.
    pub events: [u64; 2],
    /// The digest of the order of events of each, as a manifest has it.
    pub order_digests: [String; 2],
    /// First difference; `None` if there is none.
    pub difference: Option<Difference>,
}

/// The first event in which two runs differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Its number; the first event of a run has 0.
    pub number: u64,
    /// The events just before it, which both runs have.
    pub before: Vec<Json>,
    /// Event on the left; `None` where that run is over.
    pub left: Option<Json>,
    /// Event on the right.
    pub right: Option<Json>,
    /// Fields of the packet that differ, if both have one.
    pub differs: Vec<Differs>,
}

/// Something that two packets do not have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Differs {
    /// The field of the packet, as [`WIRE_FIELDS`] or the event's JSON calls it.
    pub field: &'static str,
    /// Name of the field in the protocol.
    pub name: &'static str,
    /// Meaning with its unit.
    pub meaning: &'static str,
    /// Its value on the left and on the right, in words where values have names.
    pub values: [String; 2],
}

/// A scenario that is about to be run, with the names in it.
struct Side<'a> {
    scenario: &'a Scenario,
    resolved: Resolved,
    links: Vec<String>,
    owners: Owners,
}

/// Runs two scenarios and finds the first difference. `go_on` is called for each piece of a run; if it returns false,
/// the result is `None`.
pub fn diff(
    left: &Scenario,
    right: &Scenario,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<Compared>, LabError> {
    let (left, right) = (Side::new(left)?, Side::new(right)?);
    let Some(ours) = left.digests(go_on)? else { return Ok(None) };
    let Some(theirs) = right.digests(go_on)? else { return Ok(None) };
    let events = [ours.events, theirs.events];
    let order_digests = [ours.order, theirs.order].map(|digest| format!("{digest:016x}"));
    if ours == theirs {
        return Ok(Some(Compared { events, order_digests, difference: None }));
    }
    let shorter = ours.pieces.len().min(theirs.pieces.len());
    let parted = ours.pieces.iter().zip(&theirs.pieces).position(|(a, b)| a != b);
    // If all whole pieces agree, the difference is behind the shorter list of them.
    let piece = parted.unwrap_or(shorter) as u64;
    // With the events just before it, in case that its first one differs.
    let from = (piece * PIECE).saturating_sub(BEFORE);
    let window = |side: &Side<'_>| side.events(from, (piece + 1) * PIECE);
    let (ours, theirs) = (window(&left)?, window(&right)?);
    let same = ours.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
    let before = &ours[same.saturating_sub(BEFORE as usize)..same];
    let (ours, theirs) = (ours.get(same), theirs.get(same));
    let difference = Difference {
        number: from + same as u64,
        before: before.iter().map(|seen| left.told(seen)).collect(),
        left: ours.map(|seen| left.told(seen)),
        right: theirs.map(|seen| right.told(seen)),
        differs: match (ours.and_then(|seen| seen.packet), theirs.and_then(|seen| seen.packet)) {
            (Some(ours), Some(theirs)) => differs((&left, &ours), (&right, &theirs)),
            _ => Vec::new(),
        },
    };
    Ok(Some(Compared { events, order_digests, difference: Some(difference) }))
}

impl<'a> Side<'a> {
    fn new(scenario: &'a Scenario) -> Result<Side<'a>, LabError> {
        let setup = scenario.setup()?;
        setup.check_memory()?;
        let resolved = setup.resolve(scenario.seed)?;
        let spec = &resolved.spec;
        let network =
            Network::build(&spec.topology, &spec.fabric).map_err(|error| LabError::Run(error.into()))?;
        Ok(Side { scenario, links: network.link_names(), owners: network.owners().clone(), resolved })
    }

    /// Runs it; `None` if `go_on` stopped it.
    fn digests(&self, go_on: &mut dyn FnMut() -> bool) -> Result<Option<Digests>, LabError> {
        let mut reader =
            Reader { pieces: Vec::new(), state: FxHasher::default(), events: 0, go_on, stopped: false };
        let outcome = run_witnessed(self.scenario, &self.resolved, &mut reader)?;
        let Reader { pieces, state, events, stopped, .. } = reader;
        let found = Digests { pieces, last: state.finish(), events, order: outcome.digest };
        Ok((!stopped).then_some(found))
    }

    /// Its events from one number to another.
    fn events(&self, from: u64, to: u64) -> Result<Vec<Seen>, LabError> {
        let mut window = Window { next: 0, from, to, seen: Vec::new() };
        run_witnessed(self.scenario, &self.resolved, &mut window)?;
        Ok(window.seen)
    }

    /// An event with the names of this run.
    fn told(&self, seen: &Seen) -> Json {
        let place = match seen.place {
            Place::Port(link) => self.links[link as usize].clone(),
            Place::Host(interface) => self.host(interface),
            Place::Network => "network".into(),
        };
        json!({ "at_ps": seen.at.0, "at": seen.at.to_string(), "kind": seen.kind.to_string(), "place": place,
            "packet": seen.packet.map(|packet| self.packet(&packet)) })
    }

    /// The host of an interface.
    fn host(&self, interface: u32) -> String {
        format!("h{}", self.owners.host_of(interface))
    }

    fn packet(&self, p: &Packet) -> Json {
        json!({ "flow": self.resolved.names.get(p.tag as usize), "kind": format!("{:?}", p.kind).to_lowercase(),
            "src": self.host(p.src.0), "dst": self.host(p.dst.0), "message": p.message, "index": p.index,
            "count": p.count, "token": p.token, "remaining": p.remaining, "entropy": p.entropy,
            "message_bytes": p.message_bytes, "lifetime_ps": p.lifetime.0, "wire_bytes": p.wire,
            "payload_bytes": p.payload, "priority": p.priority, "ecn": format!("{:?}", p.ecn).to_lowercase(),
            "flags": p.flags.0, "says": self.says(p) })
    }

    /// Meaning of the packet in its protocol: the fields of its declared view.
    fn says(&self, packet: &Packet) -> Vec<Json> {
        let fields = self.view(packet).map_or(&[][..], |view| view.fields);
        let one = |field: &headway_packet::ViewField| {
            json!({ "name": field.name, "field": field.field, "meaning": sentence(field.doc),
                "value": words(packet, field.field) })
        };
        fields.iter().map(one).collect()
    }

    fn family(&self, packet: &Packet) -> Option<Family> {
        let flow = self.resolved.spec.flows.get(packet.tag as usize)?;
        let transport = self.resolved.spec.transports.get(usize::from(flow.transport))?;
        Some(headway_transport::registry::find_entry(&transport.name)?.packets)
    }

    /// View of its protocol for packets like this one. The header of a data packet that a port cut has the fields of
    /// the data packet.
    fn view(&self, packet: &Packet) -> Option<&'static View> {
        let family = self.family(packet)?;
        let cut = || family.view_of(PacketKind::Data).filter(|_| packet.kind == PacketKind::Header);
        family.view_of(packet.kind).or_else(cut)
    }

    /// Name of a field in the packet's protocol, and its meaning.
    fn called(&self, packet: &Packet, field: &'static str) -> (&'static str, &'static str) {
        let declared = self.view(packet).and_then(|view| view.fields.iter().find(|one| one.field == field));
        match (declared, WIRE_FIELDS.iter().find(|one| one.name == field)) {
            (Some(declared), _) => (declared.name, sentence(declared.doc)),
            (None, Some(wire)) => (field, wire.doc),
            (None, None) => (field, ""),
        }
    }
}

/// A doc comment without the space before it and the stop behind it.
fn sentence(doc: &'static str) -> &'static str {
    doc.trim().trim_end_matches('.')
}

/// The value of a field of a packet, by the name that its declaration and the header have for it.
fn value(packet: &Packet, field: &str) -> Option<u64> {
    Some(match field {
        "kind" => packet.kind as u64,
        "flags" => packet.flags.0.into(),
        "ecn" => packet.ecn as u64,
        "priority" => packet.priority.into(),
        "wire" => packet.wire.into(),
        "payload" => packet.payload.into(),
        "src" => packet.src.0.into(),
        "dst" => packet.dst.0.into(),
        "message" => packet.message.into(),
        "index" => packet.index.into(),
        "count" => packet.count.into(),
        "token" => packet.token.into(),
        "remaining" => packet.remaining.into(),
        "entropy" => packet.entropy.into(),
        "message_bytes" => packet.message_bytes,
        "lifetime" => packet.lifetime.0,
        _ => return None,
    })
}

/// A field of a packet as text: the names of values and of flags, and durations with their unit next to the number.
fn words(packet: &Packet, field: &str) -> String {
    let Some(value) = value(packet, field) else { return String::new() };
    let names = WIRE_FIELDS.iter().find(|one| one.name == field).map_or(&[][..], |one| one.values);
    match field {
        "src" | "dst" => format!("h{value}"),
        "lifetime" => format!("{value} ({})", packet.lifetime),
        "flags" => {
            let set: Vec<&str> =
                names.iter().filter(|(bit, _)| value & bit != 0).map(|(_, name)| *name).collect();
            if set.is_empty() { "none".into() } else { set.join(" and ") }
        }
        _ => names
            .iter()
            .find(|(number, _)| *number == value)
            .map_or_else(|| value.to_string(), |(_, name)| (*name).into()),
    }
}

/// Differences of two packets. A field has the name that the protocol of the left one gives it, unless only
/// the right one declares it.
fn differs((left, a): (&Side<'_>, &Packet), (right, b): (&Side<'_>, &Packet)) -> Vec<Differs> {
    let mut found = Vec::new();
    let flows = [left.resolved.names.get(a.tag as usize), right.resolved.names.get(b.tag as usize)];
    if a.tag != b.tag {
        let values = flows.map(|name| name.map_or_else(String::new, ToString::to_string));
        found.push(Differs {
            field: "flow",
            name: "flow",
            meaning: "Flow that the packet belongs to",
            values,
        });
    }
    for field in WIRE_FIELDS.iter().map(|field| field.name) {
        if value(a, field) != value(b, field) {
            let (ours, theirs) = (left.called(a, field), right.called(b, field));
            let (name, meaning) = if ours.0 == field { theirs } else { ours };
            found.push(Differs { field, name, meaning, values: [words(a, field), words(b, field)] });
        }
    }
    found
}

/// Digests of a run.
#[derive(PartialEq)]
struct Digests {
    /// Digest of all events up to the end of each whole piece.
    pieces: Vec<u64>,
    /// Digest of all events.
    last: u64,
    events: u64,
    /// Digest of the order of events in the engine.
    order: u64,
}

/// Makes the digests of a run while it lasts.
struct Reader<'a> {
    pieces: Vec<u64>,
    state: FxHasher,
    events: u64,
    go_on: &'a mut dyn FnMut() -> bool,
    stopped: bool,
}

impl Witness for Reader<'_> {
    fn event(&mut self, event: &Seen) -> bool {
        event.hash(&mut self.state);
        self.events += 1;
        if self.events.is_multiple_of(PIECE) {
            self.pieces.push(self.state.finish());
            // Asked once a piece: for each event it would cost more than the digest.
            self.stopped = !(self.go_on)();
        }
        !self.stopped
    }
}

/// Keeps the events of one part of a run.
struct Window {
    next: u64,
    from: u64,
    to: u64,
    seen: Vec<Seen>,
}

impl Witness for Window {
    fn event(&mut self, event: &Seen) -> bool {
        if self.next >= self.from {
            self.seen.push(*event);
        }
        self.next += 1;
        // The run need not go on behind the part.
        self.next < self.to
    }
}

impl Compared {
    /// The comparison as JSON, for other languages.
    pub fn to_json(&self) -> Json {
        let difference = self.difference.as_ref().map(|d| {
            let differs: Vec<Json> = d.differs.iter().map(Differs::to_json).collect();
            json!({ "number": d.number, "before": d.before, "left": d.left, "right": d.right, "differs": differs })
        });
        json!({ "events": self.events, "order_digests": self.order_digests, "difference": difference })
    }
}

impl Differs {
    fn to_json(&self) -> Json {
        let [left, right] = &self.values;
        json!({ "field": self.field, "name": self.name, "meaning": self.meaning, "left": left, "right": right })
    }
}
