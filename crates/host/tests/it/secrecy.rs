//! Sessions with a key: the hosts with which keys are exchanged, and how keys are renewed while messages are under way.

use crate::wire;

use headway_host::{Admission, Config, Count, PreSharedKey, Renewal, SendError};
use headway_packet::session::{Handshake, HandshakeKind, Terms};
use headway_packet::{Envelope, PacketFlags, PacketKind, PacketView, WIRE_HEADER};
use headway_transport::registry;
use headway_units::Time;
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use proptest::prelude::*;
use sha2::Sha256;
use wire::{
    Datagram, Faults, World, host_address, identify_message, message_content, prefix_admission, shared_key,
    world_config,
};

/// The key of [`shared_key`].
const KEY: [u8; 32] = [7; 32];
/// First message of a host of the version before, with the key of [`shared_key`] and with none.
const BEFORE: &str = "8001020205dc616d72740000000000000000000000000000000000000000000000000000000003e8\
                      00000000000000000000000000000000ac081638fa240ade68d2b8f90d6d78668106524c74cb9190";
const WITHOUT: &str = "8001020005dc616d72740000000000000000000000000000000000000000000000000000000003e8\
                       00000000000000000000000000000000ac081638fa240ade00000000000000000000000000000000";

fn hex_bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("digits")).collect()
}

fn host_count(world: &World, host: usize, what: Count) -> u64 {
    world.hosts[host].counters.get(what)
}

/// A counter of all hosts.
fn total_count(world: &World, what: Count) -> u64 {
    world.hosts.iter().map(|host| host.counters.get(what)).sum()
}

/// Tickets of the messages that arrived, in order; every one intact.
fn arrived_tickets(world: &World) -> Vec<u64> {
    let mut tickets: Vec<u64> = world.got.iter().map(|got| identify_message(&got.bytes)).collect();
    tickets.sort_unstable();
    tickets
}

/// A handshake with the authentication of a holder of the key.
fn sign_handshake(mut said: Handshake) -> Vec<u8> {
    said.mac = [0; 16];
    let bytes = said.to_bytes();
    let mut key = [0; 32];
    Hkdf::<Sha256>::new(Some(b"headway host 2"), &KEY).expand(b"handshake", &mut key).expect("32 bytes");
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("any length will do");
    let (covered, _) = Handshake::covered_bytes(&bytes).expect("a handshake");
    covered.into_iter().for_each(|piece| mac.update(piece));
    said.mac.copy_from_slice(&mac.finalize().into_bytes()[..16]);
    said.to_bytes().to_vec()
}

/// Hosts with a key of which the first two have exchanged a message each way, with every datagram kept.
fn met_world(hosts: usize) -> World {
    let mut world = World::new(&world_config("amrt", shared_key()), hosts, Faults::default(), 1);
    world.keep_sent = true;
    world.schedule_send(Time::ZERO, 0, 1, 0, message_content(0, 3000));
    world.schedule_send(Time::ms(5), 1, 0, 1, message_content(1, 3000));
    world.run_until(Time::ms(50));
    assert_eq!(arrived_tickets(&world), [0, 1]);
    world
}

fn find_handshake(world: &World, from: usize, kind: HandshakeKind) -> Handshake {
    let said = world.sent.iter().filter(|d| d.from == host_address(from) && d.is_handshake());
    let said = said.map(|d| Handshake::parse(&d.bytes).expect("a handshake"));
    said.into_iter().find(|said| said.kind == kind).expect("it was said")
}

#[test]
fn a_meeting_is_one_exchange_and_its_halves_are_new_each_time() {
    let (one, other) = (met_world(2), met_world(2));
    for host in [0, 1] {
        assert_eq!(host_count(&one, host, Count::key_exchanges), 1);
        assert_eq!(host_count(&one, host, Count::keys_renewed), 0);
    }
    let shares = |world: &World| {
        [(0, HandshakeKind::Confirm), (1, HandshakeKind::Accept)]
            .map(|(host, kind)| find_handshake(world, host, kind).share.expect("with a key"))
    };
    let all = [shares(&one), shares(&other)].concat();
    assert!((0..4).all(|a| (0..a).all(|b| all[a] != all[b])), "no half is used twice: {all:?}");
    let unsealed = {
        let mut world = World::new(&world_config("amrt", prefix_admission()), 2, Faults::default(), 1);
        world.keep_sent = true;
        world.schedule_send(Time::ZERO, 0, 1, 0, message_content(0, 3000));
        world.run_until(Time::ms(50));
        world
    };
    assert_eq!(total_count(&unsealed, Count::key_exchanges), 0);
    assert!(unsealed.sent.iter().filter(|d| d.is_handshake()).all(|d| d.bytes.len() == 80));
    assert_eq!(unsealed.sent[0].bytes, hex_bytes(WITHOUT), "not a byte has changed");
}

/// Two worlds that are alike in all that lives longer than a session: shared key, secrets, epochs, cookies and numbers.
/// Only the private halves differ, which no longer exist.
#[test]
fn what_was_recorded_is_not_opened_by_all_that_outlives_a_session() {
    let (recorded, before) = {
        let mut world = met_world(2);
        world.sent.retain(|d| !d.is_handshake() && d.to == host_address(1));
        let accepted = host_count(&world, 1, Count::packets_accepted);
        (world.sent, accepted)
    };
    assert!(recorded.len() as u64 >= before && before > 3);
    for same_session in [false, true] {
        let mut world = World::new(&world_config("amrt", shared_key()), 2, Faults::default(), 1);
        world.keep_sent = true;
        // They meet, and nothing else gets through, so that no number is known.
        world.swallows = Some(Box::new(|d, _| !d.is_handshake()));
        world.schedule_send(Time::ZERO, 0, 1, 0, message_content(0, 3000));
        world.run_until(Time::ms(50));
        let own = world.sent.iter().filter(|d| !d.is_handshake() && d.to == host_address(1));
        let replayed = if same_session { own.cloned().collect() } else { recorded.clone() };
        let session = |d: &Datagram| d.bytes[WIRE_HEADER..WIRE_HEADER + 16].to_vec();
        assert!(
            replayed.iter().all(|d| session(d) == session(&recorded[0])),
            "epochs and cookies are the same"
        );
        let number = replayed.len() as u64;
        replayed.into_iter().for_each(|d| world.inject_datagram(Time::ms(51), d));
        world.run_until(Time::ms(52));
        let outcome =
            [Count::packets_accepted, Count::dropped_forged].map(|what| host_count(&world, 1, what));
        if same_session {
            assert!(outcome[0] >= 3 && outcome[1] == 0, "{outcome:?}: the way is the right one");
        } else {
            assert_eq!(outcome, [0, number]);
        }
    }
}

#[test]
fn a_host_of_the_version_before_is_refused_by_name_on_both_sides() {
    let ours = Terms::new("amrt", 1500).expect("a name").with_seal();
    let mut world = met_world(2);
    let hello = Handshake::parse(&hex_bytes(BEFORE)).expect("a handshake");
    assert_eq!(sign_handshake(hello), hex_bytes(BEFORE), "its authentication has not changed");
    world.sent.clear();
    world.inject_datagram(
        Time::ms(60),
        Datagram { from: host_address(9), to: host_address(1), tos: 0, bytes: hex_bytes(BEFORE) },
    );
    world.run_until(Time::ms(61));
    let [answer] = &world.sent[..] else { panic!("one answer: {:?}", world.sent) };
    let said = Handshake::parse(&answer.bytes).expect("a handshake");
    assert_eq!((said.kind, said.terms, said.shown), (HandshakeKind::Refuse, ours, hello.offered));
    assert_eq!(
        (answer.bytes.len(), &answer.bytes),
        (80, &sign_handshake(said)),
        "as long as the question, and genuine"
    );

    // And that host's refusal of a hello of this version.
    let mut world = World::new(&world_config("amrt", shared_key()), 1, Faults::default(), 1);
    world.keep_sent = true;
    world.schedule_send(Time::ZERO, 0, 1, 0, message_content(0, 3000));
    world.run_until(Time::ms(1));
    let asked = Handshake::parse(&world.sent[0].bytes).expect("a hello");
    assert_eq!((asked.terms, world.sent[0].bytes.len()), (ours, 80), "which that host can read");
    let (kind, terms) = (HandshakeKind::Refuse, hello.terms);
    let refuse = Handshake { kind, terms, epoch: 8, peer_epoch: asked.epoch, shown: asked.offered, ..hello };
    let (from, to) = (host_address(1), host_address(0));
    world.inject_datagram(Time::ms(2), Datagram { from, to, tos: 0, bytes: sign_handshake(refuse) });
    world.run_until(Time::ms(3));
    let Some(Err(error @ SendError::Refused(_))) = world.outcomes.get(&0) else {
        panic!("{:?}", world.outcomes)
    };
    assert_eq!(error.to_string(), "the peer speaks version 1.2, this endpoint version 1.3");
}

/// A host that has not returned its cookie, or has no key, causes no exchange, no memory and no more bytes than it
/// sent.
#[test]
fn no_exchange_is_begun_before_address_and_key_are_shown() {
    let mut world = met_world(2);
    let genuine: Vec<Datagram> =
        world.sent.iter().filter(|d| d.to == host_address(1) && d.is_handshake()).cloned().collect();
    let confirm = find_handshake(&world, 0, HandshakeKind::Confirm);
    let stranger = host_address(77);
    let mut spent = 0;
    let mut at = Time::ms(60);
    let mut say = |world: &mut World, from, bytes: Vec<u8>| {
        if from == stranger {
            spent += bytes.len();
        }
        at += Time::us(3);
        world.inject_datagram(at, Datagram { from, to: host_address(1), tos: 0, bytes });
    };
    for round in 0..200u64 {
        // Copies of what a host with the key said, from its address and from another.
        for copy in &genuine {
            say(&mut world, copy.from, copy.bytes.clone());
            say(&mut world, stranger, copy.bytes.clone());
        }
        // Without the key: everything right but the authentication.
        let mut forged = sign_handshake(Handshake { epoch: round + 1, ..confirm });
        forged[64 + round as usize % 16] ^= 1;
        say(&mut world, stranger, forged);
        // With the key, and without having heard the answer: its cookie is guessed.
        let guessed = Handshake { shown: round, epoch: round + 1, ..confirm };
        say(&mut world, stranger, sign_handshake(guessed));
        // Without a share, and with one where none belongs.
        say(&mut world, stranger, sign_handshake(Handshake { share: None, ..confirm }));
        let mut longer = sign_handshake(Handshake { kind: HandshakeKind::Hello, ..confirm });
        longer.extend([9; 32]);
        say(&mut world, stranger, longer);
    }
    world.sent.clear();
    world.run_until(Time::s(1));
    assert_eq!(host_count(&world, 1, Count::key_exchanges), 1, "the one of the host that was met");
    assert_eq!((world.hosts[1].core.peers(), world.hosts[1].memory.used()), (1, 0));
    let earned: usize = world.sent.iter().filter(|d| d.to == stranger).map(|d| d.bytes.len()).sum();
    assert!(earned > 0 && earned <= spent, "{earned} bytes for {spent}");
    assert!(world.sent.iter().all(|d| d.to != stranger || d.bytes.len() == 80), "no half is told");
    // A host that shows both causes one.
    let at = world.now;
    let hello = Handshake { kind: HandshakeKind::Hello, epoch: 5, share: None, ..confirm };
    world.inject_datagram(
        at,
        Datagram { from: stranger, to: host_address(1), tos: 0, bytes: sign_handshake(hello) },
    );
    world.sent.clear();
    world.run_until(at + Time::us(1));
    let welcome = Handshake::parse(&world.sent[0].bytes).expect("a welcome");
    let shown = Handshake { shown: welcome.offered, peer_epoch: welcome.epoch, epoch: 5, ..confirm };
    world.inject_datagram(
        at + Time::us(2),
        Datagram { from: stranger, to: host_address(1), tos: 0, bytes: sign_handshake(shown) },
    );
    world.run_until(at + Time::us(3));
    assert_eq!((host_count(&world, 1, Count::key_exchanges), world.hosts[1].core.peers()), (2, 2));
}

/// A host with the key whose share would decide alone is not met, and nothing is sent to it in the clear or otherwise.
#[test]
fn a_share_that_decides_alone_ends_no_handshake() {
    let mut world = met_world(2);
    world.meddles = Some(Box::new(|d, now| {
        let said = Handshake::parse(&d.bytes).filter(|said| now > Time::ms(55) && said.share.is_some());
        if let Some(said) = said {
            d.bytes = sign_handshake(Handshake { share: Some([0; 32]), ..said });
        }
    }));
    world.schedule_restart(Time::ms(56), 0);
    world.schedule_send(Time::ms(60), 0, 1, 2, message_content(2, 3000));
    world.schedule_send(Time::ms(60), 1, 0, 3, message_content(3, 3000));
    world.sent.clear();
    world.run_until(Time::ms(500));
    assert_eq!(arrived_tickets(&world), [0, 1]);
    // The old session of host 1 is over with the first confirmation of the new host 0.
    assert!(world.sent.iter().all(|d| d.is_handshake() || d.from == host_address(1)));
    world.meddles = None;
    // Later than `peer_timeout` (300 s), by which both hosts have given the failed meeting up.
    world.schedule_send(Time::s(400), 0, 1, 4, message_content(4, 3000));
    world.schedule_send(Time::s(401), 0, 1, 5, message_content(5, 3000));
    world.run_until(Time::s(402));
    assert!(arrived_tickets(&world).contains(&5), "{:?}", world.outcomes);
}

fn any_faults() -> impl Strategy<Value = Faults> {
    (0u8..=40, 0u8..=40, 0u8..=60, 0u64..3000).prop_map(|(loss, duplicate, late, us)| Faults {
        loss,
        duplicate,
        late,
        lateness: Time::us(us),
    })
}

/// Each of two hosts begins a message to the other, so far apart, and one of them a third when they have met.
fn both_call(world: &mut World, (first, second): (usize, usize), apart: Time) {
    world.schedule_send(Time::ZERO, first, second, 0, message_content(0, 3000));
    world.schedule_send(apart, second, first, 1, message_content(1, 3000));
    world.schedule_send(Time::ms(30), first, second, 2, message_content(2, 3000));
    world.run_until(Time::s(100));
}

/// Hosts of which each tries a key first that the other tries second.
fn with_different_keys(faults: Faults, seed: u64) -> World {
    let with = |key: u8, other: u8| Config {
        other_key: Some(PreSharedKey([other; 32])),
        ..world_config("amrt", Admission::PreSharedKey(PreSharedKey([key; 32])))
    };
    World::from_configs(&[with(1, 2), with(2, 1)], faults, seed)
}

/// All messages of [`both_call`] arrive, each once, and their senders know it.
fn all_arrive(world: &World) -> Result<(), TestCaseError> {
    prop_assert_eq!(arrived_tickets(world), [0, 1, 2]);
    for ticket in 0..3 {
        prop_assert_eq!(world.outcomes.get(&ticket), Some(&Ok(())), "{}", ticket);
    }
    prop_assert_eq!(total_count(world, Count::dropped_forged), 0);
    Ok(())
}

/// The hosts need 8 s to meet, and one of them thinks earlier that they have: time-outs of its message have doubled ten times by then.
#[test]
fn a_message_that_began_before_its_peer_had_met_arrives_soon_after() {
    // A case that the property test below once found.
    let faults = Faults { loss: 37, duplicate: 0, late: 38, lateness: Time::ZERO };
    let mut world = with_different_keys(faults, 6_878_818_151_299_763_409);
    both_call(&mut world, (0, 1), Time::ZERO);
    all_arrive(&world).expect("as it should be");
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 300, ..headway_testing::cases!(64) })]

    /// Both call at once, or nearly: they end with the same keys, whatever becomes of the datagrams of the handshake.
    #[test]
    fn both_may_call_at_once(apart in 0u64..120, second: bool, faults in any_faults(), lossless: bool, seed: u64) {
        let faults = if lossless { Faults { loss: 0, ..faults } } else { faults };
        let mut world = World::new(&world_config("amrt", shared_key()), 2, faults, seed);
        let (first, second) = if second { (1, 0) } else { (0, 1) };
        both_call(&mut world, (first, second), Time::us(apart));
        all_arrive(&world)?;
        for host in [0, 1] {
            prop_assert_eq!(host_count(&world, host, Count::key_exchanges), 1, "host {}", host);
            prop_assert_eq!(world.hosts[host].core.peers(), 1);
        }
    }

    /// Two hosts call each other at once while keys change: each tries another key first.
    #[test]
    fn both_may_call_at_once_with_different_keys(apart in 0u64..120, faults in any_faults(), swap: bool, seed: u64) {
        let mut world = with_different_keys(faults, seed);
        let (first, second) = if swap { (1, 0) } else { (0, 1) };
        both_call(&mut world, (first, second), Time::us(apart));
        all_arrive(&world)?;
        prop_assert_eq!(total_count(&world, Count::key_exchanges), 2);
    }

    /// Restarts in the middle of handshakes and after them: hosts meet again, and stay with the keys that they have then.
    #[test]
    fn restarts_in_the_middle_of_an_exchange_leave_no_wrong_keys(
        restarts in proptest::collection::vec((0u64..400, 0usize..2), 1..6), faults in any_faults(), seed: u64,
    ) {
        // At most 10 %: this test is about restarts, and others are about loss.
        let faults = Faults { loss: faults.loss / 4, ..faults };
        let mut world = World::new(&world_config("amrt", shared_key()), 2, faults, seed);
        // Both send a message in each round, with numbers of their own.
        let talk = |world: &mut World, at: Time, round: u64| {
            for from in [0, 1] {
                let ticket = 2 * round + from as u64;
                world.schedule_send(at, from, 1 - from, ticket, message_content(ticket, 4000));
            }
        };
        let (mut at, mut rounds) = (Time::ZERO, 0..);
        let mut next = || rounds.next().expect("there is no end");
        for (us, host) in restarts {
            talk(&mut world, at, next());
            at += Time::us(us);
            world.schedule_restart(at, host);
        }
        for n in 0..4 {
            talk(&mut world, at + Time::s(n), next());
        }
        world.run_until(at + Time::s(400));
        prop_assert!(arrived_tickets(&world).windows(2).all(|pair| pair[0] < pair[1]), "each once");
        // With that they are done: earlier messages have no effect on their present ones.
        let exchanges = total_count(&world, Count::key_exchanges);
        let (round, now) = (next(), world.now);
        talk(&mut world, now, round);
        world.run_until(now + Time::s(100));
        for last in 2 * round - 2..2 * round + 2 {
            prop_assert!(world.outcomes.get(&last) == Some(&Ok(())), "{}: {:?}", last, world.outcomes);
        }
        prop_assert_eq!(total_count(&world, Count::key_exchanges), exchanges);
        prop_assert!(arrived_tickets(&world).ends_with(&[2 * round, 2 * round + 1]));
    }

    /// Messages over many renewals, on a wire that reorders and repeats: nothing is dropped but copies, and so nothing is
    /// sent a second time because of a renewal.
    #[test]
    fn no_packet_is_lost_over_a_renewal(
        duplicate in 0u8..30, late in 0u8..60, us in 0u64..4900, seed: u64, datagrams in 1u32..60,
        messages in proptest::collection::vec((0u64..100, any::<bool>(), 1usize..100_000), 8..24),
    ) {
        let faults = Faults { loss: 0, duplicate, late, lateness: Time::us(us) };
        // Datagrams are at most 4.9 ms late and old keys are kept for 5 ms: none may arrive without a key that
        // opens it.
        let renewal = Renewal { datagrams, time: Time::ms(40), late: Time::ms(5) };
        let mut world = World::new(&Config { renewal, ..world_config("amrt", shared_key()) }, 2, faults, seed);
        let number = messages.len() as u64;
        for (ticket, (at, back, length)) in (0..).zip(messages) {
            let (from, to) = if back { (1, 0) } else { (0, 1) };
            world.schedule_send(Time::ms(at), from, to, ticket, message_content(ticket, length));
        }
        world.run_until(Time::s(60));
        prop_assert_eq!(arrived_tickets(&world), (0..number).collect::<Vec<u64>>());
        prop_assert_eq!(total_count(&world, Count::dropped_forged), 0);
        if duplicate == 0 {
            prop_assert_eq!(total_count(&world, Count::dropped_replayed), 0);
        }
        prop_assert!(total_count(&world, Count::keys_renewed) >= 2, "{:?}", total_count(&world, Count::keys_renewed));
    }

    /// Messages arrive while keys change, on a wire that loses and delays for longer than keys are kept: drops are sent again.
    #[test]
    fn messages_arrive_over_renewals_on_a_bad_wire(
        faults in any_faults(), seed: u64, datagrams in 1u32..60, late_us in 1u64..5000,
        name in proptest::sample::select(registry::NAMES),
    ) {
        let faults = Faults { loss: faults.loss / 2, ..faults };
        let renewal = Renewal { datagrams, time: Time::ms(5), late: Time::us(late_us) };
        let mut world = World::new(&Config { renewal, ..world_config(name, shared_key()) }, 2, faults, seed);
        for ticket in 0..6 {
            let from = (ticket % 2) as usize;
            world.schedule_send(Time::ms(ticket * 7), from, 1 - from, ticket, message_content(ticket, 60_000));
        }
        world.run_until(Time::s(250));
        prop_assert_eq!(arrived_tickets(&world), (0..6).collect::<Vec<u64>>());
        prop_assert!(world.outcomes.values().all(Result::is_ok), "{:?}", world.outcomes);
        prop_assert_eq!(total_count(&world, Count::dropped_forged), 0);
        prop_assert!(total_count(&world, Count::keys_renewed) >= 2);
    }
}

#[test]
fn keys_are_renewed_over_every_transport_and_by_time_alone() {
    for name in registry::NAMES.iter().copied() {
        let mut world = World::new(&world_config(name, shared_key()), 2, Faults::default(), 1);
        for n in 0..12u64 {
            let from = (n % 2) as usize;
            // The last one begins at 143 s, so that two renewals of a minute each are due.
            world.schedule_send(Time::s(13 * n), from, 1 - from, n, message_content(n, 9000));
        }
        world.run_until(Time::s(200));
        assert_eq!(arrived_tickets(&world), (0..12).collect::<Vec<u64>>(), "{name}");
        for host in [0, 1] {
            assert_eq!(
                host_count(&world, host, Count::keys_renewed),
                2,
                "{name}: after one minute, and after two"
            );
            assert_eq!(host_count(&world, host, Count::key_exchanges), 1, "{name}");
        }
        let dropped = [Count::dropped_forged, Count::dropped_replayed].map(|what| total_count(&world, what));
        assert_eq!(dropped, [0, 0], "{name}");
    }
}

/// Header that a switch leaves of a data packet, sent on or back.
fn cut_datagram(datagram: &Datagram, back: bool) -> Datagram {
    let view = PacketView::parse(&datagram.bytes).expect("a packet");
    let left = view.cut_length().expect("data");
    let mut header = view.to_packet();
    // 66 bytes: Ethernet with preamble, check sequence and gap (38), IPv4 (20) and UDP (8).
    header.trim_payload(left as u16 + 66);
    let mut out = datagram.clone();
    out.bytes[..WIRE_HEADER].copy_from_slice(&header.header_bytes_in(Envelope::Sealed));
    out.bytes.truncate(left);
    if back {
        out.bytes[2] |= PacketFlags::BOUNCED.0;
        (out.from, out.to) = (out.to, out.from);
    }
    out
}

#[test]
fn headers_without_payload_are_believed_over_renewals_both_ways() {
    let renewal = Renewal { datagrams: 10, time: Time::s(60), late: Time::ms(1) };
    let mut world =
        World::new(&Config { renewal, ..world_config("ndp", shared_key()) }, 2, Faults::default(), 1);
    world.keep_sent = true;
    // Every third data packet loses its payload; what is left of it goes on, or back.
    let lost = |d: &Datagram| {
        let view = PacketView::parse(&d.bytes).ok().filter(|view| view.to_packet().kind == PacketKind::Data);
        view.and_then(|view| view.session_fields()).is_some_and(|session| session.counter % 3 == 0)
    };
    world.swallows = Some(Box::new(move |d, _| lost(d)));
    for n in 0..10 {
        world.schedule_send(Time::ms(2 * n), 0, 1, n, message_content(n, 40_000));
    }
    let (mut seen, mut left) = (0, 0);
    for step in 1..4000u64 {
        // In steps of the wire's delay, so that the rest of a packet arrives about when the packet would have.
        world.run_until(Time::us(20 * step));
        let fresh: Vec<Datagram> = world.sent[seen..].iter().filter(|d| lost(d)).cloned().collect();
        seen = world.sent.len();
        for datagram in fresh {
            left += 1;
            world.inject_datagram(world.now + Time::us(1), cut_datagram(&datagram, left % 2 == 0));
        }
    }
    assert_eq!(arrived_tickets(&world), (0..10).collect::<Vec<u64>>());
    let dropped = [Count::dropped_forged, Count::dropped_replayed].map(|what| total_count(&world, what));
    assert_eq!((dropped, left > 100), ([0, 0], true), "{left} were cut");
    assert!(
        host_count(&world, 0, Count::keys_renewed) >= 5 && host_count(&world, 1, Count::keys_renewed) >= 5
    );
}

#[test]
fn peers_with_either_of_two_keys_renew_and_restart() {
    let with = |key: u8, other: Option<u8>| Config {
        other_key: other.map(|other| PreSharedKey([other; 32])),
        ..world_config("amrt", Admission::PreSharedKey(PreSharedKey([key; 32])))
    };
    let mut world =
        World::from_configs(&[with(1, None), with(2, Some(1)), with(2, None)], Faults::default(), 1);
    let mut at = Time::ZERO;
    for round in 0..10u64 {
        for (n, (from, to)) in (0..).zip([(0, 1), (1, 0), (1, 2), (2, 1)]) {
            world.schedule_send(at, from, to, 10 * round + n, message_content(10 * round + n, 9000));
        }
        at += Time::s(25);
        if round == 5 {
            world.schedule_restart(at - Time::s(1), 1);
        }
    }
    world.run_until(at);
    assert_eq!(arrived_tickets(&world).len() + world.outcomes.values().filter(|o| o.is_err()).count(), 40);
    assert!(arrived_tickets(&world).len() >= 38, "only the first ones after the restart may fail");
    assert_eq!(total_count(&world, Count::dropped_forged), 0);
    assert!([0, 2].iter().all(|&host| host_count(&world, host, Count::keys_renewed) >= 2));
}

/// The peer's answers do not come through, from before a renewal on: for so long that nothing is lost, or for longer than
/// peers wait.
#[test]
fn a_path_may_die_in_the_middle_of_a_renewal() {
    for (heals, lives) in [(Time::s(62), true), (Time::s(120), false)] {
        for both_ways in [false, true] {
            let config = Config { peer_timeout: Time::s(10), ..world_config("amrt", shared_key()) };
            let mut world = World::new(&config, 2, Faults::default(), 1);
            let caller = host_address(0);
            world.swallows = Some(Box::new(move |d, now| {
                (Time::ms(59_500)..heals).contains(&now) && (both_ways || d.to == caller)
            }));
            world.schedule_send(Time::ZERO, 0, 1, 0, message_content(0, 30_000));
            world.schedule_send(Time::s(59), 0, 1, 1, message_content(1, 30_000));
            // Its first datagram renews the keys.
            world.schedule_send(Time::s(60) + Time::ms(500), 0, 1, 2, message_content(2, 30_000));
            world.schedule_send(Time::s(61), 1, 0, 3, message_content(3, 30_000));
            world.schedule_send(Time::s(130), 1, 0, 4, message_content(4, 30_000));
            world.schedule_send(Time::s(132), 0, 1, 5, message_content(5, 30_000));
            world.run_until(Time::s(200));
            assert_eq!(world.outcomes.len(), 6, "{heals} {both_ways}");
            assert!(world.outcomes[&5].is_ok(), "{heals} {both_ways}: {:?}", world.outcomes);
            assert_eq!(total_count(&world, Count::dropped_forged), 0, "{heals} {both_ways}");
            if lives {
                assert_eq!(arrived_tickets(&world), (0..6).collect::<Vec<u64>>());
                assert_eq!(total_count(&world, Count::key_exchanges), 2);
                assert!(total_count(&world, Count::keys_renewed) >= 4);
            } else {
                assert!(total_count(&world, Count::key_exchanges) > 2, "they have met anew");
            }
        }
    }
}

/// Its datagrams come from another address from some time on, as behind a router that has restarted.
#[test]
fn a_host_whose_address_changes_is_met_anew_with_other_keys() {
    let (before, after) = (host_address(0), host_address(9));
    let mut world = met_world(2);
    world.meddles = Some(Box::new(move |d, now| {
        if now >= Time::ms(60) && d.from == before {
            d.from = after;
        } else if d.to == after {
            d.to = before;
        }
    }));
    world.sent.clear();
    for n in 2..6 {
        world.schedule_send(Time::ms(100 * n), 0, 1, n, message_content(n, 5000));
    }
    world.schedule_send(Time::s(1), 1, 9, 6, message_content(6, 5000));
    world.run_until(Time::s(20));
    assert_eq!(world.outcomes[&2], Err(SendError::PeerRestarted), "and says so");
    assert_eq!(arrived_tickets(&world), [0, 1, 3, 4, 5, 6]);
    for host in [0, 1] {
        assert_eq!(host_count(&world, host, Count::key_exchanges), 2, "host {host}");
        assert_eq!(host_count(&world, host, Count::dropped_forged), 0, "host {host}");
    }
}

#[test]
fn a_renewal_that_cannot_be_is_refused() {
    let usual = Renewal::default();
    for (renewal, what) in [
        (Renewal { datagrams: 0, ..usual }, "renewal.datagrams is 0, and must be from 1 to 2^31"),
        (Renewal { datagrams: u32::MAX, ..usual }, "renewal.datagrams is 4294967295"),
        (Renewal { late: Time::ZERO, ..usual }, "renewal.late is 0"),
        (Renewal { time: Time::ms(999), ..usual }, "must be at least `renewal.late`"),
    ] {
        let config = Config { renewal, ..Config::default() };
        let error = headway_host::Endpoint::bind("127.0.0.1:0", config).expect_err("refused").to_string();
        assert!(error.contains(what), "{error}");
    }
}
