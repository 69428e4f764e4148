//! The declared packets of every transport are true: views come back as they were, and nothing else is in the
//! packets that it sends.

use crate::harness::build_mesh;
use crate::harness::mutant::Fault;
use crate::harness::plan::{self, Plan};
use headway_packet::{Packet, PacketKind};
use headway_transport::registry;
use headway_units::Time;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeSet;

/// The fields of a packet that a view may speak of, as numbers.
fn packet_fields(packet: &Packet) -> [(&'static str, u64); 6] {
    [
        ("index", packet.index.into()),
        ("count", packet.count.into()),
        ("token", packet.token.into()),
        ("remaining", packet.remaining.into()),
        ("message_bytes", packet.message_bytes),
        ("lifetime", packet.lifetime.0),
    ]
}

/// A packet of a kind, with anything in its fields.
fn any_packet(kind: PacketKind) -> impl Strategy<Value = Packet> {
    let numbers = (any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>(), any::<u64>(), any::<u64>());
    numbers.prop_map(move |(index, count, token, remaining, message_bytes, lifetime)| Packet {
        index,
        count,
        token,
        remaining,
        message_bytes,
        lifetime: Time(lifetime),
        ..Packet::new(kind, headway_packet::HostId(1), headway_packet::HostId(0), 7)
    })
}

proptest! {
    #![proptest_config(headway_testing::cases!(200))]

    #[test]
    fn every_view_comes_back_as_it_was(seeds in proptest::collection::vec(any_packet(PacketKind::Data), 1..4)) {
        for entry in registry::all_entries() {
            for view in entry.packets.views {
                for seed in &seeds {
                    // Only the fields of the seed were drawn: each view fills in its kind.
                    let packet = Packet { kind: view.kind, ..*seed };
                    prop_assert!((view.comes_back)(&packet), "{} {:?}", entry.info.name, view.kind);
                    let rewritten = (view.rewritten)(&packet);
                    for (field, held) in packet_fields(&rewritten) {
                        let declared = view.fields.iter().any(|one| one.field == field);
                        let was = packet_fields(&packet).into_iter().find(|(name, _)| *name == field).map(|(_, n)| n);
                        // Rewriting starts from an empty packet.
                        let expected = if declared { was } else { Some(0) };
                        prop_assert_eq!(Some(held), expected, "{} {:?} {}", entry.info.name, view.kind, field);
                    }
                }
            }
        }
    }
}

/// Sends a plan's messages, and looks at every packet that leaves a host.
fn sent_packets(name: &str, plan: &Plan) -> Vec<Packet> {
    let mut mesh = build_mesh(name, plan, Fault::None, false).expect("registered");
    mesh.keep_sent();
    mesh.run_plan().expect("the promises are kept");
    mesh.into_sent()
}

#[test]
fn nothing_leaves_a_host_that_is_not_declared() {
    // The plans are the same each time: luck must not decide which packets are seen.
    let mut runner = TestRunner::deterministic();
    let plans: Vec<Plan> =
        (0..60).map(|_| plan::any_plan().new_tree(&mut runner).expect("a plan").current()).collect();
    for entry in registry::all_entries() {
        let mut seen = BTreeSet::new();
        for plan in &plans {
            for packet in sent_packets(entry.info.name, plan) {
                let name = entry.info.name;
                let view = entry.packets.view_of(packet.kind);
                let view = view
                    .unwrap_or_else(|| panic!("{name} sends a {:?} that it does not declare", packet.kind));
                assert!(packet.flags.has_all(view.flags), "{name} {:?} without its flags", packet.kind);
                let declared = |field: &str| view.fields.iter().any(|one| one.field == field);
                for (field, held) in packet_fields(&packet) {
                    assert!(held == 0 || declared(field), "{name} {:?} has {held} in {field}", packet.kind);
                    if held > 0 {
                        seen.insert((packet.kind as u8, field));
                    }
                }
            }
        }
        assert!(seen.len() > 3, "{}: hardly anything was sent", entry.info.name);
    }
}

#[test]
fn every_declaration_says_what_each_field_is_once() {
    for entry in registry::all_entries() {
        let name = entry.info.name;
        let mut kinds = BTreeSet::new();
        for view in entry.packets.views {
            assert!(kinds.insert(view.kind as u8), "{name} declares {:?} twice", view.kind);
            let fields: BTreeSet<&str> = view.fields.iter().map(|one| one.field).collect();
            assert_eq!(fields.len(), view.fields.len(), "{name} {:?} names a field twice", view.kind);
            for one in view.fields {
                assert!(one.doc.trim().ends_with('.'), "{name} {:?} {}: {}", view.kind, one.name, one.doc);
            }
        }
        assert!(entry.packets.view_of(PacketKind::Data).is_some(), "{name} sends no data");
    }
}
