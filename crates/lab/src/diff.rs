//! The first event in which two runs differ.
//!
//! Both are run again, and only digests of their events are kept, one for each piece of the run; the first piece whose
//! digests differ is run once more on both sides, with its events. So the memory for it grows by eight bytes in four
//! thousand events.

use crate::run::run_witnessed;
use crate::scenario::{Resolved, Scenario};
use crate::text::LabError;
use headway_network::{Network, Place, Seen, Witness};
use headway_packet::Packet;
use rustc_hash::FxHasher;
use serde_json::{Value as Json, json};
use std::hash::{Hash, Hasher};

/// Events of a piece.
const PIECE: u64 = 4096;
/// Events shown ahead of the first that differs.
const BEFORE: u64 = 4;

/// What two runs have in common, and where that ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Compared {
    /// How many events the two runs had.
    pub events: [u64; 2],
    /// The digest of the order of events of each, as a manifest has it.
    pub order_digests: [String; 2],
    /// Where they part; `None` if they do not.
    pub difference: Option<Difference>,
}

/// The first event in which two runs differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Its number; the first event of a run has 0.
    pub number: u64,
    /// The events just before it, which both runs have.
    pub before: Vec<Json>,
    /// What happens on the left; `None` where that run is over.
    pub left: Option<Json>,
    /// What happens on the right.
    pub right: Option<Json>,
    /// Fields of the packet that are not the same, where both have one.
    pub fields: Vec<&'static str>,
}

/// A scenario that is about to be run, with the names in it.
struct Side<'a> {
    scenario: &'a Scenario,
    resolved: Resolved,
    links: Vec<String>,
}

/// Runs two scenarios and says where they part. `go_on` is asked for each piece of a run; when it says no, the answer
/// is `None`.
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
    let piece = parted.unwrap_or(shorter) as u64;
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
        fields: fields(ours.and_then(|s| s.packet), theirs.and_then(|s| s.packet)),
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
        Ok(Side { scenario, links: network.link_names(), resolved })
    }

    /// Runs it; `None` if somebody did not want it to go on.
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
            Place::Host(host) => format!("h{host}"),
            Place::Network => "network".into(),
        };
        json!({ "at_ps": seen.at.0, "at": seen.at.to_string(), "kind": seen.kind.to_string(), "place": place,
            "packet": seen.packet.map(|packet| self.packet(&packet)) })
    }

    fn packet(&self, p: &Packet) -> Json {
        json!({ "flow": self.resolved.names.get(p.tag as usize), "kind": format!("{:?}", p.kind).to_lowercase(),
            "src": format!("h{}", p.src.0), "dst": format!("h{}", p.dst.0), "message": p.message, "index": p.index,
            "count": p.count, "token": p.token, "remaining": p.remaining, "entropy": p.entropy,
            "message_bytes": p.message_bytes, "lifetime_ps": p.lifetime.0, "wire_bytes": p.wire,
            "payload_bytes": p.payload, "priority": p.priority, "ecn": format!("{:?}", p.ecn).to_lowercase(),
            "flags": p.flags.0 })
    }
}

/// Names of the fields that two packets differ in.
fn fields(left: Option<Packet>, right: Option<Packet>) -> Vec<&'static str> {
    let (Some(a), Some(b)) = (left, right) else { return Vec::new() };
    let pairs = [
        ("flow", a.tag != b.tag),
        ("kind", a.kind != b.kind),
        ("src", a.src != b.src),
        ("dst", a.dst != b.dst),
        ("message", a.message != b.message),
        ("index", a.index != b.index),
        ("count", a.count != b.count),
        ("token", a.token != b.token),
        ("remaining", a.remaining != b.remaining),
        ("entropy", a.entropy != b.entropy),
        ("message_bytes", a.message_bytes != b.message_bytes),
        ("lifetime_ps", a.lifetime != b.lifetime),
        ("wire_bytes", a.wire != b.wire),
        ("payload_bytes", a.payload != b.payload),
        ("priority", a.priority != b.priority),
        ("ecn", a.ecn != b.ecn),
        ("flags", a.flags != b.flags),
    ];
    pairs.into_iter().filter(|(_, differ)| *differ).map(|(name, _)| name).collect()
}

/// Digests of a run.
#[derive(PartialEq)]
struct Digests {
    /// Digest of all events up to the end of each whole piece.
    pieces: Vec<u64>,
    /// Digest of all events.
    last: u64,
    events: u64,
    /// What the engine has of the order of events.
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
        self.next < self.to
    }
}

impl Compared {
    /// The same for another language.
    pub fn to_json(&self) -> Json {
        let difference = self.difference.as_ref().map(|d| {
            json!({ "number": d.number, "before": d.before, "left": d.left, "right": d.right, "fields": d.fields })
        });
        json!({ "events": self.events, "order_digests": self.order_digests, "difference": difference })
    }
}
