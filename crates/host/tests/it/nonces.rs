//! No two datagrams carry one nonce under one key, over restarts, renewals and clocks set back. (Forks: `fork.rs`.)
//!
//! Every message is of zeros, so that what stands in a datagram in place of its payload is the stream of its key and nonce: equal
//! streams are equal keys and nonces, whatever the library thinks of them. Datagrams without payload differ by their
//! numbers.

use crate::wire;

use headway_host::{Config, Renewal};
use headway_packet::{PacketView, SEAL_TAG};
use headway_units::Time;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::rc::Rc;
use wire::{Faults, World, shared_key, world_config};

/// Bytes of a stream that are compared: two of ten million are alike by chance once in 300,000 tests.
const STREAM: usize = 8;

/// Datagrams that were sealed, as an eavesdropper sees them.
#[derive(Default)]
pub(crate) struct Sealed {
    streams: BTreeSet<[u8; STREAM]>,
    /// Sender, epoch, cookie and number: all of one session.
    numbers: BTreeSet<(SocketAddr, u64, u64, u64)>,
    pub(crate) datagrams: u64,
}

impl Sealed {
    /// Looks at a datagram that leaves.
    ///
    /// # Panics
    /// If its key and nonce were used before.
    pub(crate) fn check_datagram(&mut self, from: SocketAddr, bytes: &[u8]) {
        let Ok(view) = PacketView::parse(bytes) else { return };
        let Some(session) = view.session_fields() else { return };
        self.datagrams += 1;
        // Epoch and cookie name a session: the same number in two sessions is sealed with different keys.
        let number = (from, session.src_epoch, session.cookie, session.counter);
        assert!(self.numbers.insert(number), "{number:?} leaves twice");
        let payload = usize::from(view.to_packet().payload);
        let start = bytes.len().checked_sub(SEAL_TAG + payload).expect("payload and seal");
        if let Some(stream) = bytes[start..].first_chunk::<STREAM>().filter(|_| payload >= STREAM) {
            assert!(
                self.streams.insert(*stream),
                "datagram {} has the stream of an earlier one",
                self.datagrams
            );
        }
    }

    /// Sessions with other keys may count the same numbers.
    pub(crate) fn other_keys(&mut self) {
        self.numbers.clear();
    }

    pub(crate) fn stream_count(&self) -> usize {
        self.streams.len()
    }
}

/// Hosts with the secrets, epochs and clock of all worlds before: machines that were started again with their clocks set back.
fn restarted_world(seen: &Rc<RefCell<Sealed>>, seed: u64) -> World {
    let renewal = Renewal { datagrams: 200, time: Time::ms(40), late: Time::ms(2) };
    let faults = Faults { loss: 5, duplicate: 10, late: 20, lateness: Time::ms(3) };
    let mut world = World::new(&Config { renewal, ..world_config("amrt", shared_key()) }, 2, faults, seed);
    seen.borrow_mut().other_keys();
    let seen = Rc::clone(seen);
    world.meddles = Some(Box::new(move |datagram, _| {
        if !datagram.is_handshake() {
            seen.borrow_mut().check_datagram(datagram.from, &datagram.bytes);
        }
    }));
    world
}

#[test]
fn no_two_datagrams_carry_one_nonce_under_one_key() {
    // All of `make test-long`, and a part that takes a second or two of `make test`.
    let wanted = if headway_testing::times() > 1 { 10_000_000 } else { 20_000 };
    let seen = Rc::new(RefCell::new(Sealed::default()));
    for seed in 0.. {
        let mut world = restarted_world(&seen, seed);
        for round in 0..6u64 {
            let at = Time::ms(round * 60);
            for ticket in 0..4 {
                let (from, bytes) = ((ticket % 2) as usize, vec![0; 60_000 >> (ticket * 2)]);
                world.schedule_send(at, from, 1 - from, round * 4 + ticket, bytes);
            }
            if round % 2 == 1 {
                // While messages are under way, with the epoch that it had before.
                let host = (seed + round / 2) as usize % 2;
                // The delay varies with the seed, so that restarts hit different steps of an exchange.
                world.restart_as(at + Time::us(50 * (seed % 7)), host, 1000 + host as u64);
                world.run_until(at + Time::us(50 * (seed % 7)));
                // A host that had not been met before begins its numbers again under the same names, and with other
                // keys.
                seen.borrow_mut().other_keys();
            }
        }
        world.run_until(Time::s(20));
        if seen.borrow().datagrams >= wanted {
            break;
        }
    }
    let seen = seen.borrow();
    assert!(
        seen.stream_count() as u64 * 4 > seen.datagrams,
        "most of them have payload: {}",
        seen.stream_count()
    );
}
