//! Meeting of two cores: the versions that they must have in common, new incarnations, and a peer that takes nothing.

use crate::wire;

use headway_host::{Admission, Cipher, Config, Count, Limits, PreSharedKey, STALL_FACTOR, SendError};
use headway_packet::PacketView;
use headway_packet::session::{HANDSHAKE_BYTES, Handshake, HandshakeKind, Terms};
use headway_transport::registry;
use headway_units::Time;
use proptest::prelude::*;
use wire::{
    Datagram, Faults, World, host_address, identify_message, message_content, prefix_admission, shared_key,
    world_config,
};

fn host_count(world: &World, host: usize, what: Count) -> u64 {
    world.hosts[host].counters.get(what)
}

/// Tickets of the messages that arrived, in order; every one intact.
fn arrived_tickets(world: &World) -> Vec<u64> {
    let mut tickets: Vec<u64> = world.got.iter().map(|got| identify_message(&got.bytes)).collect();
    tickets.sort_unstable();
    tickets
}

/// Two hosts that begin to talk, the first with `caller`.
fn called_world(caller: &Config, callee: &Config) -> World {
    let mut world = World::from_configs(&[caller.clone(), callee.clone()], Faults::default(), 1);
    world.keep_sent = true;
    world.schedule_send(Time::ZERO, 0, 1, 0, message_content(0, 3000));
    world.run_until(Time::ms(100));
    world
}

fn refusal_text(world: &World) -> String {
    match world.outcomes.get(&0) {
        Some(Err(error @ SendError::Refused(_))) => error.to_string(),
        other => panic!("not refused: {other:?}"),
    }
}

/// Keys of hosts while a key is changed, step by step: the key that they use, and another one.
const STEPS: [([u8; 32], Option<[u8; 32]>); 4] =
    [([1; 32], None), ([1; 32], Some([2; 32])), ([2; 32], Some([1; 32])), ([2; 32], None)];

fn at_step(step: usize) -> Config {
    let (key, other) = STEPS[step];
    Config {
        other_key: other.map(PreSharedKey),
        ..world_config("amrt", Admission::PreSharedKey(PreSharedKey(key)))
    }
}

#[test]
fn hosts_meet_when_they_have_one_key_in_common_and_only_then() {
    for (one, other) in (0..STEPS.len()).flat_map(|one| (0..STEPS.len()).map(move |other| (one, other))) {
        let mut world = World::from_configs(&[at_step(one), at_step(other)], Faults::default(), 1);
        world.schedule_send(Time::ZERO, 0, 1, 0, message_content(0, 3000));
        world.schedule_send(Time::ms(200), 1, 0, 1, message_content(1, 30_000));
        world.run_until(Time::ms(500));
        let keys = |step: usize| [Some(STEPS[step].0), STEPS[step].1].into_iter().flatten();
        let common = keys(one).any(|key| keys(other).any(|other| other == key));
        let expected: &[u64] = if common { &[0, 1] } else { &[] };
        assert_eq!(arrived_tickets(&world), expected, "steps {one} and {other}");
        let forged = world.hosts.iter().map(|host| host.counters.get(Count::dropped_forged)).sum::<u64>();
        assert_eq!(forged, 0, "what one seals the other opens");
        if common {
            // The peer has forgotten the caller, and does not know which of its keys that one has.
            world.schedule_restart(Time::s(1), 1);
            world.schedule_send(Time::s(2), 0, 1, 2, message_content(2, 3000));
            world.schedule_send(Time::s(4), 0, 1, 3, message_content(3, 3000));
            world.run_until(Time::s(6));
            assert!(arrived_tickets(&world).contains(&3), "steps {one} and {other}: {:?}", world.outcomes);
        }
    }
}

/// Three hosts that talk, each of which restarts in turn with what `step` says, once a step: what arrived, and how it ended.
fn restart_rounds(step: impl Fn(usize) -> Config) -> (Vec<u64>, Vec<String>) {
    let mut world = World::new(&step(0), 3, Faults::default(), 1);
    let (mut ticket, mut at) = (0, Time::ZERO);
    let mut talk = |world: &mut World, at: Time| {
        for (from, to) in [(0, 1), (1, 2), (2, 0), (1, 0), (2, 1), (0, 2)] {
            world.schedule_send(at, from, to, ticket, message_content(ticket, 5000));
            ticket += 1;
        }
    };
    for (round, host) in (1..STEPS.len()).flat_map(|round| (0..3).map(move |host| (round, host))) {
        talk(&mut world, at);
        world.run_until(at + Time::s(2));
        world.hosts[host].config = step(round);
        world.schedule_restart(at + Time::s(3), host);
        // Its peers hear of it by the first of two messages.
        talk(&mut world, at + Time::s(4));
        world.run_until(at + Time::s(6));
        at += Time::s(8);
    }
    let outcomes = world.outcomes.iter().map(|outcome| format!("{outcome:?}"));
    (arrived_tickets(&world), outcomes.collect())
}

#[test]
fn a_key_is_changed_host_by_host_and_nothing_is_lost_by_it() {
    let (arrivals, outcomes) = restart_rounds(at_step);
    let (usual, expected) = restart_rounds(|_| at_step(0));
    assert_eq!(
        (&arrivals, outcomes.len()),
        (&usual, expected.len()),
        "as when hosts restart and keep their key"
    );
    assert!(arrivals.len() > outcomes.len() / 2);
    let failed = outcomes.iter().filter(|outcome| outcome.contains("Err")).collect::<Vec<_>>();
    assert!(failed.iter().all(|outcome| outcome.contains("PeerRestarted")), "{failed:?}");
    assert_eq!(arrivals.len() + failed.len(), outcomes.len(), "what did not arrive is known to have failed");
}

#[test]
fn another_key_without_one_is_refused() {
    let config = Config { other_key: Some(PreSharedKey([1; 32])), ..Config::default() };
    let error = headway_host::Endpoint::bind("127.0.0.1:0", config).expect_err("refused").to_string();
    assert!(error.contains("another key is said, and none that hosts share"), "{error}");
}

#[test]
fn a_key_of_zeros_is_refused_wherever_it_is_said() {
    let key = |byte| PreSharedKey([byte; 32]);
    for (first, other) in [(0, None), (1, Some(0)), (0, Some(1))] {
        let admission = Admission::PreSharedKey(key(first));
        let config = Config { admission, other_key: other.map(key), ..Config::default() };
        let error = headway_host::Endpoint::bind("127.0.0.1:0", config).expect_err("refused").to_string();
        assert!(error.contains("all zeros, which protects nothing"), "{error}");
    }
}

#[test]
fn every_transport_has_a_name_that_fits() {
    for name in registry::NAMES.iter().copied() {
        assert!(Terms::new(name, 1500).is_some(), "{name}");
    }
}

#[test]
fn another_transport_or_mtu_is_named_at_the_caller_at_once() {
    for admission in [prefix_admission(), shared_key()] {
        let ours = world_config("amrt", admission.clone());
        let homa = world_config("homa", admission);
        let jumbo = Config { mtu: 9000, ..ours.clone() };
        let both = Config { mtu: 9000, ..homa.clone() };
        for (theirs, expected) in [
            (homa, "the peer speaks `homa`, this endpoint `amrt`"),
            (jumbo, "the peer speaks packets of 9000 bytes (MTU), this endpoint of 1500"),
            (
                both,
                "the peer speaks `homa`, this endpoint `amrt`; it speaks packets of 9000 bytes (MTU), this \
                 endpoint of 1500",
            ),
        ] {
            let world = called_world(&ours, &theirs);
            assert_eq!(refusal_text(&world), expected);
            assert_eq!(host_count(&world, 1, Count::handshakes_refused), 1);
            let peers = [world.hosts[0].core.peers(), world.hosts[1].core.peers()];
            assert_eq!((peers, world.hosts[0].memory.used()), ([0, 0], 0), "nothing is left of it");
            let said = |n: usize| {
                world.sent.iter().filter(move |d| d.from == host_address(n)).map(|d| d.bytes.len())
            };
            assert!(said(1).sum::<usize>() <= said(0).sum(), "no answer is longer than its question");
        }
    }
}

/// Refusal of the caller's hello by a peer with `terms`.
fn refusal_datagram(world: &World, terms: Terms) -> Datagram {
    let hello = world.sent.iter().find(|d| d.from == host_address(0)).expect("a hello");
    let hello = Handshake::parse(&hello.bytes).expect("a handshake");
    let refuse = Handshake {
        kind: HandshakeKind::Refuse,
        terms,
        shown: hello.offered,
        peer_epoch: hello.epoch,
        offered: 7,
        epoch: 8,
        ..hello
    };
    Datagram { from: host_address(1), to: host_address(0), tos: 0, bytes: refuse.to_bytes().to_vec() }
}

/// A caller whose peer is silent, so that others can speak for it.
fn calling_world(admission: Admission) -> World {
    let mut world = World::new(&world_config("amrt", admission), 1, Faults::default(), 1);
    world.keep_sent = true;
    world.schedule_send(Time::ZERO, 0, 1, 0, message_content(0, 3000));
    world.run_until(Time::ms(1));
    world
}

#[test]
fn another_version_is_named_on_both_sides() {
    let ours = Terms::new("amrt", 1500).expect("a name");
    let theirs = Terms { session: 9, wire: 3, ..ours };
    let mut world = calling_world(prefix_admission());
    let datagram = refusal_datagram(&world, theirs);
    world.inject_datagram(Time::ms(2), datagram);
    world.run_until(Time::ms(3));
    let version = format!("version {}.{}", ours.wire, ours.session);
    assert_eq!(refusal_text(&world), format!("the peer speaks version 3.9, this endpoint {version}"));

    // A host of that version that asks is refused, by a datagram as long as its own, and leaves nothing.
    let mut world =
        called_world(&world_config("amrt", prefix_admission()), &world_config("amrt", prefix_admission()));
    let mut hello = world.sent[0].clone();
    // Bytes 1 and 2 are the versions of packets and of sessions.
    (hello.from, hello.bytes[1], hello.bytes[2]) = (host_address(9), 3, 9);
    world.sent.clear();
    world.inject_datagram(Time::ms(101), hello);
    world.run_until(Time::ms(200));
    let [answer] = &world.sent[..] else { panic!("one answer: {:?}", world.sent) };
    let said = Handshake::parse(&answer.bytes).expect("a handshake");
    assert_eq!((said.kind, said.terms, answer.bytes.len()), (HandshakeKind::Refuse, ours, HANDSHAKE_BYTES));
    assert_eq!(world.hosts[1].core.peers(), 1);
}

#[test]
fn a_refusal_by_who_has_not_heard_the_question_or_has_no_key_is_not_believed() {
    let theirs = Terms::new("homa", 1500).expect("a name");
    for (admission, guessed) in [(prefix_admission(), true), (shared_key(), false)] {
        let mut world = calling_world(admission);
        let mut datagram = refusal_datagram(&world, theirs);
        if guessed {
            // The first byte of the cookie that answers the hello's.
            datagram.bytes[48] ^= 1;
        }
        world.inject_datagram(Time::ms(2), datagram);
        world.run_until(Time::ms(50));
        assert_eq!(world.outcomes.get(&0), None);
        assert_eq!(host_count(&world, 0, Count::dropped_handshake), 1);
    }
    // Nor is one of a host that runs the same, or of one that was met.
    let mut world =
        called_world(&world_config("amrt", prefix_admission()), &world_config("amrt", prefix_admission()));
    let datagram = refusal_datagram(&world, theirs);
    world.inject_datagram(Time::ms(101), datagram);
    world.schedule_send(Time::ms(102), 0, 1, 1, message_content(1, 3000));
    world.run_until(Time::ms(200));
    assert_eq!(arrived_tickets(&world), [0, 1]);
}

#[test]
fn processors_of_different_kinds_talk() {
    let with = |cipher| Config { cipher, ..world_config("amrt", shared_key()) };
    for (a, b) in [
        (Cipher::Aes128Gcm, Cipher::Aes128Gcm),
        (Cipher::Aes128Gcm, Cipher::ChaCha20Poly1305),
        (Cipher::ChaCha20Poly1305, Cipher::Aes128Gcm),
        (Cipher::ChaCha20Poly1305, Cipher::ChaCha20Poly1305),
    ] {
        let mut world = called_world(&with(a), &with(b));
        world.schedule_send(Time::ms(101), 1, 0, 1, message_content(1, 30_000));
        world.run_until(Time::ms(200));
        assert_eq!(arrived_tickets(&world), [0, 1], "{a:?} and {b:?}");
        assert_eq!(
            host_count(&world, 0, Count::dropped_forged) + host_count(&world, 1, Count::dropped_forged),
            0
        );
    }
}

/// A clock that was set back, or stands still, or was never right.
#[test]
fn a_restarted_host_is_met_whatever_its_epoch() {
    for admission in [prefix_admission(), shared_key()] {
        // The hosts begin with epochs 1000 and 1001: below, equal, just above, and the largest that there is.
        for epoch in [1, 999, 1000, 1001, 1002, u64::MAX] {
            for host in [0, 1] {
                let both = world_config("amrt", admission.clone());
                let mut world = called_world(&both, &both);
                world.restart_as(Time::ms(110), host, epoch);
                // From the new process, and to it: what is sent first may fail, and says so.
                world.schedule_send(Time::ms(120), host, 1 - host, 1, message_content(1, 9000));
                world.schedule_send(Time::ms(200), 1 - host, host, 2, message_content(2, 9000));
                world.run_until(Time::s(2));
                assert_eq!(arrived_tickets(&world), [0, 1, 2], "epoch {epoch} of host {host}");
                world.restart_as(Time::s(3), host, epoch);
                world.schedule_send(Time::s(4), 1 - host, host, 3, message_content(3, 9000));
                world.schedule_send(Time::s(5), 1 - host, host, 4, message_content(4, 9000));
                world.run_until(Time::s(8));
                assert_eq!(world.outcomes[&3], Err(SendError::PeerRestarted), "epoch {epoch}");
                assert_eq!(arrived_tickets(&world), [0, 1, 2, 4], "epoch {epoch} of host {host}");
            }
        }
    }
}

proptest! {
    #![proptest_config(headway_testing::cases!(32))]

    /// Everything that two hosts ever said, again and again over several restarts of both: no message arrives a
    /// second time, and the hosts find back to each other.
    #[test]
    fn what_was_said_to_earlier_incarnations_revives_none(
        seed: u64, sealed: bool, restarts in proptest::collection::vec((1u64..50, 0usize..2), 1..6),
    ) {
        let admission = if sealed { shared_key() } else { prefix_admission() };
        let mut world = World::new(&world_config("amrt", admission), 2, Faults::default(), seed);
        world.keep_sent = true;
        let mut ticket = 0;
        let mut talk = |world: &mut World| {
            for from in [0, 1] {
                world.schedule_send(world.now, from, 1 - from, ticket, message_content(ticket, 4000));
                ticket += 1;
            }
            world.run_until(world.now + Time::ms(20));
        };
        talk(&mut world);
        for (us, host) in restarts {
            world.schedule_restart(world.now, host);
            talk(&mut world);
            // A copy, because the replayed datagrams make the hosts send more.
            let said = world.sent.clone();
            for (n, datagram) in (0u64..).zip(said) {
                world.inject_datagram(world.now + Time::us(us * n), datagram);
            }
            talk(&mut world);
        }
        let end = world.now + Time::s(2);
        world.keep_sent = false;
        world.run_until(end);
        let before = world.got.len();
        world.schedule_send(end, 0, 1, 1000, message_content(1000, 4000));
        world.schedule_send(end + Time::ms(100), 0, 1, 1001, message_content(1001, 4000));
        world.schedule_send(end + Time::ms(200), 1, 0, 1002, message_content(1002, 4000));
        world.schedule_send(end + Time::ms(300), 1, 0, 1003, message_content(1003, 4000));
        world.run_until(end + Time::s(5));
        prop_assert!(world.got.len() > before + 1);
        let tickets = arrived_tickets(&world);
        prop_assert!(tickets.windows(2).all(|pair| pair[0] < pair[1]), "twice: {:?}", tickets);
        prop_assert!(world.outcomes[&1001].is_ok() && world.outcomes[&1003].is_ok());
    }
}

/// True if a datagram is data of a message, and not its first packet.
fn is_rest(datagram: &Datagram, message: u32) -> bool {
    let packet = PacketView::parse(&datagram.bytes).map(|view| view.to_packet());
    packet.is_ok_and(|p| p.is_data() && p.message == message && p.index > 0)
}

const WAIT: Time = Time::s(5);

/// A host whose second message loses all but its first packet until `heals`.
fn stalling_world(name: &str, heals: Time) -> World {
    stalling_for(name, WAIT, heals)
}

/// A host as above, where messages may be without progress for `wait`.
fn stalling_for(name: &str, wait: Time, heals: Time) -> World {
    let config = Config { progress_timeout: wait, ..world_config(name, prefix_admission()) };
    let mut world = World::new(&config, 2, Faults::default(), 1);
    let from = host_address(0);
    world.swallows = Some(Box::new(move |d, now| now < heals && d.from == from && is_rest(d, 1)));
    world.schedule_send(Time::ZERO, 0, 1, 0, message_content(0, 3000));
    world.schedule_send(Time::ms(50), 0, 1, 1, message_content(1, 200_000));
    world
}

#[test]
fn a_message_without_progress_fails_in_bounded_time_over_every_transport() {
    for name in headway_testing::one_in!(4, registry::NAMES) {
        let mut world = stalling_world(name, Time::MAX);
        world.run_until(WAIT);
        assert_eq!(world.outcomes.get(&1), None, "{name}: not before its time");
        world.run_until(WAIT * 2 + Time::s(1));
        assert_eq!(world.outcomes.get(&1), Some(&Err(SendError::Stalled)), "{name}");
        assert_eq!(host_count(&world, 0, Count::peers_stalled), 1);
        assert_eq!((world.hosts[0].core.live_messages(), world.hosts[0].memory.used()), (0, 0), "{name}");
        // The peer still works afterwards.
        world.swallows = None;
        world.schedule_send(Time::s(12), 0, 1, 2, message_content(2, 200_000));
        world.run_until(Time::s(30));
        assert_eq!(world.outcomes.get(&2), Some(&Ok(())), "{name}");
        assert_eq!(arrived_tickets(&world), [0, 2], "{name}");
    }
}

#[test]
fn a_message_that_is_held_up_for_less_arrives_over_every_transport() {
    for name in headway_testing::one_in!(4, registry::NAMES) {
        let mut world = stalling_world(name, Time::s(2));
        world.run_until(Time::s(60));
        assert_eq!(world.outcomes.get(&1), Some(&Ok(())), "{name}");
        assert_eq!(host_count(&world, 0, Count::peers_stalled), 0, "{name}");
    }
}

#[test]
fn a_message_that_stalls_while_others_progress_fails_late_and_alone_over_every_transport() {
    let wait = Time::ms(200);
    for name in headway_testing::one_in!(4, registry::NAMES) {
        // The wire heals long after the message has failed, which takes `STALL_FACTOR` times the wait.
        let mut world = stalling_for(name, wait, wait * 22);
        for n in 0..100u64 {
            world.schedule_send(Time::ms(60 + 40 * n), 0, 1, 10 + n, message_content(10 + n, 3000));
        }
        world.run_until(wait * (STALL_FACTOR - 1));
        assert_eq!(world.outcomes.get(&1), None, "{name}: others buy it time");
        world.run_until(wait * (STALL_FACTOR + 2));
        assert_eq!(world.outcomes.get(&1), Some(&Err(SendError::Stalled)), "{name}: but not for ever");
        world.run_until(wait * 21);
        let others: Vec<u64> = (10..110).filter(|n| world.outcomes.get(n) != Some(&Ok(()))).collect();
        assert!(others.is_empty(), "{name}: {others:?} failed with it");
        assert_eq!(host_count(&world, 0, Count::messages_stalled), 1, "{name}");
        assert_eq!(host_count(&world, 0, Count::peers_stalled), 0, "{name}");
        // The machines' state of it is freed when nothing else is under way, and the next message brings the news.
        world.run_until(wait * 25);
        assert_eq!((world.hosts[0].core.live_messages(), world.hosts[0].memory.used()), (0, 0), "{name}");
        world.schedule_send(wait * 25, 0, 1, 2, message_content(2, 200_000));
        world.run_until(wait * 30);
        assert_eq!(world.outcomes.get(&2), Some(&Ok(())), "{name}");
        assert_eq!(
            arrived_tickets(&world),
            [&[0, 2][..], &(10..110).collect::<Vec<u64>>()].concat(),
            "{name}"
        );
        assert_eq!(world.hosts[1].core.live_messages(), 0, "{name}");
        world.got.clear();
        assert_eq!(world.hosts[1].memory.used(), 0, "{name}");
    }
}

#[test]
fn messages_that_wait_behind_one_that_failed_alone_begin_anew() {
    let limits = Limits { peer_messages: 2, ..world_config("amrt", prefix_admission()).limits };
    let config = Config { progress_timeout: WAIT, limits, ..world_config("amrt", prefix_admission()) };
    let mut world = World::new(&config, 2, Faults::default(), 1);
    let from = host_address(0);
    // Two places: one for each of two messages that stall a while apart, the second behind others that progress.
    world.swallows = Some(Box::new(move |d, now| {
        now < Time::s(90) && d.from == from && (is_rest(d, 1) || is_rest(d, 30))
    }));
    world.schedule_send(Time::ZERO, 0, 1, 0, message_content(0, 3000));
    world.schedule_send(Time::ms(50), 0, 1, 1, message_content(1, 200_000));
    for n in 0..60u64 {
        let bytes = if n == 28 { 200_000 } else { 3000 };
        world.schedule_send(Time::s(1 + n), 0, 1, 10 + n, message_content(10 + n, bytes));
    }
    world.run_until(Time::s(130));
    assert_eq!(world.outcomes.len(), 62, "every message came to its end");
    assert!(world.outcomes.values().all(|o| matches!(o, Ok(()) | Err(SendError::Stalled))));
    assert_eq!(world.outcomes[&1], Err(SendError::Stalled));
    world.schedule_send(Time::s(131), 0, 1, 100, message_content(100, 200_000));
    world.run_until(Time::s(150));
    assert_eq!(world.outcomes.get(&100), Some(&Ok(())));
    assert_eq!((world.hosts[0].core.live_messages(), world.hosts[0].memory.used()), (0, 0));
}
