//! Runs of every transport, as scenarios.

use crate::ports;
use headway_fabric::Rewrite;
use headway_packet::PacketKind;
use headway_transport::registry::{self, Entry};
use std::ops::Deref;

/// A transport, as a row of the matrix has it.
pub struct Case {
    entry: Entry,
    /// Its name in the row.
    pub name: String,
    /// Parameters that differ from the defaults, as lines of a scenario.
    parameters: &'static str,
    /// True if only whole matrices have it.
    pub full: bool,
}

impl Deref for Case {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &self.entry
    }
}

/// Ways to run a transport that differ from its defaults in what is on the wire: its name, that of the row, parameters. The
/// scenarios of AMRT's figures have each of them as a variant.
const WAYS_TO_RUN: &[(&str, &str, &str)] = &[("ndp", "ndp-single", "spray = \"single\"")];

/// Every transport of the registry, each followed by the other ways to run it.
pub fn all_cases() -> Vec<Case> {
    let mut found = Vec::new();
    for entry in registry::all_entries() {
        let own = entry.info.name;
        let more = WAYS_TO_RUN.iter().filter(|(name, ..)| *name == own);
        let more = more.map(|(_, name, parameters)| (name.to_string(), *parameters, true));
        for (name, parameters, full) in [(own.to_string(), "", false)].into_iter().chain(more) {
            found.push(Case { entry: entry.clone(), name, parameters, full });
        }
    }
    found
}

/// Buffer of a port of the switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// More than two first windows.
    Ample,
    /// Less than one: packets meet full queues.
    Scant,
}

impl Room {
    fn buffer_packets(self) -> u32 {
        match self {
            Room::Ample => 128,
            Room::Scant => 8,
        }
    }
}

/// Data packet of a link that is lost in every run with losses.
const LOST: u64 = 3;

/// The bottleneck, there and back.
pub const WAYS: [&str; 2] = ["s0->s1", "s1->s0"];

/// A dumbbell of two pairs, 10 Gb/s and a round trip of 90 us, over the ports that the transport needs.
fn dumbbell_text(entry: &Case, room: Room, flows: &str, faults: &[String]) -> String {
    let name = entry.info.name;
    // A time-out of the usual 10 ms takes a second on a network that is 100 times slower.
    let timeout = if has_param(entry, "min_rto") { "min_rto = \"1 ms\"" } else { "" };
    // A packet that opens a connection can be lost as well.
    let handshake = if has_param(entry, "handshake") { "handshake = true" } else { "" };
    let (faults, buffer, parameters) = (faults.join("\n"), room.buffer_packets(), entry.parameters);
    format!(
        r#"
stop = "400 ms"
[topology]
kind = "dumbbell"
senders = 2
receivers = 2
rate = "10 Gbps"
delay = "15 us"
[fabric]
buffer = "{buffer} packets"
[transport]
name = "{name}"
{timeout}
{handshake}
{parameters}
[[traffic]]
kind = "flows"
flows = [{flows}]
{faults}
"#
    )
}

/// A flow that leaves three quarters of the path idle.
const IDLE: &str = r#"{ name = "f0", src = 0, dst = 2, bytes = "25 kB", start = "0 s", share = 4 }"#;

fn has_param(entry: &Case, parameter: &str) -> bool {
    entry.params.iter().any(|p| p.name == parameter)
}

/// One short flow that leaves three quarters of the path idle.
pub fn idle_text(entry: &Case) -> String {
    dumbbell_text(entry, Room::Ample, IDLE, &[])
}

/// Two long flows on one link, one byte next to them, and a flow the other way.
pub fn loaded_text(entry: &Case) -> String {
    let flows = r#"{ name = "f0", src = 0, dst = 2, bytes = "1.5 MB", start = "0 s" },
        { name = "f1", src = 1, dst = 3, bytes = "1.5 MB", start = "0 s" },
        { name = "f2", src = 0, dst = 3, bytes = 1, start = "200 us" },
        { name = "f3", src = 3, dst = 1, bytes = "200 kB", start = "100 us" }"#;
    dumbbell_text(entry, Room::Ample, flows, &[])
}

/// A flow on an idle link, then two that crowd it, so that ports mark, cut and price whatever they can. Over the ports that
/// the transport is meant for, or those that are named.
pub fn crowded_text(entry: &Case, discipline: Option<&str>) -> String {
    let flows = format!(
        r#"{IDLE}, {{ name = "f1", src = 0, dst = 2, bytes = "1 MB", start = "2 ms" }},
        {{ name = "f2", src = 1, dst = 3, bytes = "1 MB", start = "2 ms" }}"#
    );
    // Ports that cut do so when their queue is full.
    let room = if ports::ports_write(entry, Rewrite::Trim) { Room::Scant } else { Room::Ample };
    let text = dumbbell_text(entry, room, &flows, &[]);
    match discipline {
        Some(name) => text.replace("[fabric]", &format!("[fabric]\ndiscipline = \"{name}\"")),
        None => text,
    }
}

/// Two flows, of whose packets of these kinds the first on each way of the bottleneck is lost, and the third of data.
pub fn lossy_text(entry: &Case, room: Room, kinds: &[PacketKind]) -> String {
    let flows = r#"{ name = "f0", src = 0, dst = 2, bytes = "300 kB", start = "0 s" },
        { name = "f1", src = 1, dst = 3, bytes = "300 kB", start = "0 s" }"#;
    // Data is lost in every run, as many kinds of control packets are sent only to repair that.
    let control = kinds.iter().filter(|kind| **kind != PacketKind::Data).map(|kind| (kind.name(), 1));
    let faults: Vec<String> = control.chain([(PacketKind::Data.name(), LOST)]).map(loss_entry).collect();
    dumbbell_text(entry, room, flows, &faults)
}

fn loss_entry((kind, number): (&str, u64)) -> String {
    let [there, back] = WAYS;
    format!("[[fault]]\nlinks = [\"{there}\", \"{back}\"]\nkind = \"{kind}\"\ndrop = [{number}]")
}
