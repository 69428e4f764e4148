//! Endpoints with one address each say what they said before there were several: every byte of a meeting, of a message and of
//! its answers. The files in `tests/golden` were written by the last version whose endpoints had one address only;
//! `HEADWAY_BLESS=1` writes them again.
#![allow(clippy::disallowed_methods, reason = "reads and writes its own files")]

use crate::wire::{Faults, World, message_content, prefix_admission, world_config};
use headway_units::Time;
use std::fmt::Write;
use std::path::Path;

/// Every datagram of a message each way, a line each: sender, type-of-service byte, bytes in hexadecimal digits.
fn datagram_lines(transport: &str) -> String {
    let mut world = World::new(&world_config(transport, prefix_admission()), 2, Faults::default(), 1);
    world.keep_sent = true;
    world.schedule_send(Time::ZERO, 0, 1, 0, message_content(0, 3000));
    world.schedule_send(Time::ms(5), 1, 0, 1, message_content(1, 200));
    world.run_until(Time::ms(400));
    assert_eq!(world.got.len(), 2, "{transport}");
    let mut text = String::new();
    for datagram in &world.sent {
        // The payload is the message's, and would make the file long; what goes before it is 88 bytes.
        let front = &datagram.bytes[..datagram.bytes.len().min(88)];
        let hex: String = front.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(text, "{} {:02x} {} {hex}", datagram.from, datagram.tos, datagram.bytes.len())
            .expect("memory");
    }
    text
}

#[test]
fn one_address_says_what_it_said_before() {
    for transport in ["amrt", "proactmp", "mptcp-olia"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{transport}.txt"));
        let said = datagram_lines(transport);
        if std::env::var_os("HEADWAY_BLESS").is_some() {
            std::fs::write(&path, &said).expect("the file can be written");
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        assert!(said == golden, "{transport} says something else than {}:\n{said}", path.display());
    }
}
