//! Cores in virtual time over a wire that loses, repeats and reorders, and over one with an attacker.

use crate::wire;

use headway_host::core::Purpose;
use headway_host::{Admission, Config, Count, SendError};
use headway_packet::session::Session;
use headway_packet::{Envelope, HostId, Packet, PacketKind, PacketView, Stamps, WIRE_HEADER};
use headway_transport::registry;
use headway_units::Time;
use proptest::prelude::*;
use std::collections::BTreeMap;
use wire::{
    Datagram, Faults, World, host_address, identify_message, message_content, prefix_admission, shared_key,
    world_config,
};

/// Messages by (time in us, whether from the second host, bytes).
type Plan = Vec<(u64, bool, usize)>;

fn any_plan() -> impl Strategy<Value = Plan> {
    // Less than a packet, a few packets, and more than a first window.
    let bytes = prop_oneof![0usize..100, 1000usize..6000, 20_000usize..120_000];
    proptest::collection::vec((0u64..20_000, any::<bool>(), bytes), 1..8)
}

fn any_faults() -> impl Strategy<Value = Faults> {
    let some = (0u8..=20, 0u8..=20, 0u8..=30, 0u64..5000).prop_map(|(loss, duplicate, late, us)| Faults {
        loss,
        duplicate,
        late,
        lateness: Time::us(us),
    });
    prop_oneof![1 => Just(Faults::default()), 4 => some]
}

fn any_transport() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(registry::NAMES)
}

fn any_admission() -> impl Strategy<Value = Admission> {
    prop_oneof![Just(prefix_admission()), Just(shared_key())]
}

fn planned_world(transport: &str, admission: Admission, plan: &Plan, faults: Faults, seed: u64) -> World {
    let mut world = World::new(&world_config(transport, admission), 2, faults, seed);
    for (ticket, &(at, back, bytes)) in plan.iter().enumerate() {
        let (from, to) = if back { (1, 0) } else { (0, 1) };
        world.schedule_send(Time::us(at), from, to, ticket as u64, message_content(ticket as u64, bytes));
    }
    world
}

/// Number of arrivals of each message, every one of them intact.
fn count_arrivals(world: &World) -> BTreeMap<u64, u32> {
    let mut times = BTreeMap::new();
    world.got.iter().for_each(|got| *times.entry(identify_message(&got.bytes)).or_default() += 1);
    times
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 300, ..headway_testing::cases!(128) })]

    #[test]
    fn every_message_arrives_intact_and_once(
        name in any_transport(), admission in any_admission(), plan in any_plan(), faults in any_faults(), seed: u64,
    ) {
        let mut world = planned_world(name, admission, &plan, faults, seed);
        // Longer than any transport takes over the worst of these wires: time-outs double while packets are
        // lost.
        world.run_until(Time::s(250));
        let all: BTreeMap<u64, u32> = (0..plan.len() as u64).map(|ticket| (ticket, 1)).collect();
        prop_assert_eq!(count_arrivals(&world), all);
        prop_assert!(world.outcomes.len() == plan.len() && world.outcomes.values().all(Result::is_ok));
        // Messages that the application holds are charged, so they go before the memory is compared.
        world.got.clear();
        for host in &world.hosts {
            prop_assert_eq!(host.core.live_messages(), 0);
            prop_assert_eq!(host.memory.used(), 0);
        }
    }

    #[test]
    fn a_restart_in_the_middle_loses_nothing_silently(
        name in any_transport(), admission in any_admission(), plan in any_plan(), faults in any_faults(), seed: u64,
        restart in 0u64..30_000,
    ) {
        let mut world = planned_world(name, admission, &plan, faults, seed);
        world.schedule_restart(Time::us(restart), 1);
        // After the restart both talk again.
        let (there, back) = (100, 101);
        world.schedule_send(Time::ms(40), 1, 0, back, message_content(back, 5000));
        world.schedule_send(Time::ms(60), 0, 1, there, message_content(there, 5000));
        world.run_until(Time::s(700));
        let arrived = count_arrivals(&world);
        prop_assert!(arrived.values().all(|&times| times == 1), "{:?}", arrived);
        for (ticket, &(_, from_restarted, _)) in plan.iter().enumerate() {
            let ticket = ticket as u64;
            match world.outcomes.get(&ticket) {
                Some(Ok(())) => prop_assert!(arrived.contains_key(&ticket), "{} is lost", ticket),
                Some(Err(SendError::PeerRestarted)) => {}
                None => prop_assert!(from_restarted, "{} never ended", ticket),
                Some(Err(other)) => prop_assert!(false, "{}: {}", ticket, other),
            }
        }
        prop_assert_eq!(world.outcomes.get(&back), Some(&Ok(())));
        // The first message to a restarted peer may fail: the sender learns of the restart by it.
        prop_assert_eq!(world.outcomes.get(&there).is_some_and(|o| o.is_ok()), arrived.contains_key(&there));
        world.got.clear();
        for host in &world.hosts {
            prop_assert_eq!(host.core.live_messages(), 0);
            prop_assert_eq!(host.memory.used(), 0);
        }
    }

    /// Datagrams that are replayed, changed or cut change nothing that an application sees.
    #[test]
    fn meddling_does_no_harm_where_a_key_is_shared(
        plan in any_plan(), seed: u64,
        meddled in proptest::collection::vec((any::<u16>(), any::<u16>(), any::<u8>(), 0u64..30_000), 1..60),
    ) {
        let mut second = planned_world("amrt", shared_key(), &plan, Faults::default(), seed);
        second.keep_sent = true;
        let mut meddled = meddled;
        meddled.sort_by_key(|step| step.3);
        for (which, place, change, at) in meddled {
            second.run_until(Time::us(at));
            let Some(mut copy) = second.sent.get(usize::from(which) % second.sent.len().max(1)).cloned() else {
                continue;
            };
            let place = usize::from(place) % copy.bytes.len();
            match change % 3 {
                0 => copy.bytes.truncate(place),
                // `| 1`, so that at least one bit changes.
                1 => copy.bytes[place] ^= change | 1,
                _ => {}
            }
            second.inject_datagram(Time::us(at), copy);
        }
        second.run_until(Time::s(250));
        let all: BTreeMap<u64, u32> = (0..plan.len() as u64).map(|ticket| (ticket, 1)).collect();
        prop_assert_eq!(count_arrivals(&second), all);
        prop_assert!(second.outcomes.values().all(Result::is_ok));
    }
}

/// Two hosts that have exchanged a message each way, with every datagram kept.
fn met_world(admission: Admission) -> World {
    let mut world = World::new(&world_config("amrt", admission), 2, Faults::default(), 1);
    world.keep_sent = true;
    world.schedule_send(Time::ZERO, 0, 1, 0, message_content(0, 3000));
    world.schedule_send(Time::ms(5), 1, 0, 1, message_content(1, 3000));
    world.run_until(Time::ms(50));
    assert_eq!(count_arrivals(&world).len(), 2);
    world
}

fn host_count(world: &World, host: usize, what: Count) -> u64 {
    world.hosts[host].counters.get(what)
}

/// A packet of `kind` in the session from host 0 to host 1, as host 0 would send it next.
fn forged_datagram(world: &World, counter: u64, packet: &Packet, payload: &[u8]) -> Datagram {
    let data = |d: &&Datagram| d.from == host_address(0) && !d.is_handshake();
    let sample = world.sent.iter().find(data).expect("data was sent");
    let view = PacketView::parse(&sample.bytes).expect("a packet");
    let session = Session { counter, ..view.session_fields().expect("with a session") };
    let mut bytes = vec![0; 2000];
    let front = packet
        .emit_session(&session, view.envelope(), &Stamps::default(), &mut bytes)
        .expect("a packet that can be");
    bytes[front..front + payload.len()].copy_from_slice(payload);
    bytes.truncate(front + payload.len());
    Datagram { from: host_address(0), to: host_address(1), tos: 0, bytes }
}

#[test]
fn the_header_can_be_read_without_the_session() {
    for admission in [prefix_admission(), shared_key()] {
        let world = met_world(admission);
        let packets = world.sent.iter().filter(|d| !d.is_handshake());
        let mut kinds = BTreeMap::new();
        for datagram in packets {
            let packet =
                PacketView::parse_header(&datagram.bytes[..WIRE_HEADER]).expect("a header").to_packet();
            *kinds.entry(packet.kind as u8).or_insert(0) += 1;
            assert_eq!(usize::from(packet.wire), datagram.bytes.len() + 28 + 38, "the size is the real one");
            let std::net::IpAddr::V4(to) = datagram.to.ip() else { panic!("{}", datagram.to) };
            assert_eq!(packet.dst, HostId(to.into()));
            let class = if packet.is_data() { 6 } else { 7 };
            assert_eq!(datagram.tos >> 5, class, "control is served first");
            assert_eq!(datagram.tos & 3, packet.ecn as u8);
        }
        assert_eq!(kinds[&(PacketKind::Data as u8)], 6);
    }
}

#[test]
fn every_datagram_of_before_is_a_replay() {
    for admission in [prefix_admission(), shared_key()] {
        let mut world = met_world(admission);
        let before = world.sent.clone();
        let packets = before.iter().filter(|d| !d.is_handshake()).count() as u64;
        before.into_iter().for_each(|datagram| world.inject_datagram(Time::ms(60), datagram));
        world.run_until(Time::ms(100));
        let replayed =
            host_count(&world, 0, Count::dropped_replayed) + host_count(&world, 1, Count::dropped_replayed);
        assert_eq!(replayed, packets);
        assert_eq!(count_arrivals(&world).len(), 2);
    }
}

#[test]
fn datagrams_of_an_earlier_incarnation_are_dropped_after_its_restart() {
    let mut world = met_world(prefix_admission());
    let before = world.sent.clone();
    world.schedule_restart(Time::ms(60), 0);
    world.schedule_send(Time::ms(61), 0, 1, 2, message_content(2, 3000));
    before
        .into_iter()
        .filter(|d| d.to == host_address(1))
        .for_each(|d| world.inject_datagram(Time::ms(80), d));
    world.run_until(Time::ms(200));
    assert_eq!(world.outcomes[&2], Ok(()));
    assert_eq!(count_arrivals(&world).len(), 3);
    let old = host_count(&world, 1, Count::dropped_cookie);
    // The three data packets of the message, in any case.
    assert!(old >= 3, "{old}");
    assert_eq!(host_count(&world, 1, Count::peer_restarts), 1);
}

#[test]
fn a_stranger_gets_no_more_than_it_sends_and_leaves_nothing_behind() {
    for admission in [prefix_admission(), shared_key()] {
        let mut world = met_world(admission);
        let stranger = host_address(77);
        let copies: Vec<_> = world.sent.iter().filter(|d| d.to == host_address(1)).cloned().collect();
        let mut heard = 0;
        for (n, mut copy) in copies.into_iter().cycle().take(2000).enumerate() {
            copy.from = stranger;
            heard += copy.bytes.len();
            world.inject_datagram(Time::ms(60) + Time::us(n as u64), copy);
        }
        world.sent.clear();
        world.run_until(Time::s(2));
        let answered: usize = world.sent.iter().filter(|d| d.to == stranger).map(|d| d.bytes.len()).sum();
        assert!(answered <= heard, "{answered} bytes for {heard}");
        assert!(world.sent.iter().all(|d| d.to != stranger || d.is_handshake()));
        assert_eq!(world.hosts[1].core.peers(), 1, "only the one that was met");
        assert!(host_count(&world, 1, Count::answers_withheld) > 0, "the answers are limited in number");
    }
}

#[test]
fn hosts_with_another_key_or_none_are_not_met() {
    let mut world = met_world(shared_key());
    let mut other = world_config("amrt", shared_key());
    other.admission = Admission::PreSharedKey(headway_host::PreSharedKey([8; 32]));
    for config in [other, world_config("amrt", prefix_admission())] {
        let mut attacker = World::new(&config, 1, Faults::default(), 1);
        attacker.keep_sent = true;
        attacker.schedule_send(Time::ZERO, 0, 1, 9, message_content(9, 100));
        attacker.run_until(Time::s(1));
        assert!(!attacker.sent.is_empty());
        let before = host_count(&world, 1, Count::dropped_handshake);
        let injected = attacker.sent.len() as u64;
        world.sent.clear();
        attacker
            .sent
            .drain(..)
            .for_each(|d| world.inject_datagram(Time::s(2), Datagram { from: host_address(50), ..d }));
        world.run_until(world.now + Time::s(3));
        assert_eq!(host_count(&world, 1, Count::dropped_handshake), before + injected);
        assert!(world.sent.is_empty(), "not even an answer");
    }
}

#[test]
fn claims_of_huge_messages_take_no_memory() {
    for name in registry::NAMES.iter().copied() {
        let mut world = World::new(&world_config(name, prefix_admission()), 2, Faults::default(), 1);
        world.keep_sent = true;
        world.schedule_send(Time::ZERO, 0, 1, 0, message_content(0, 3000));
        world.run_until(Time::ms(50));
        world.got.clear();
        let full = world_config(name, prefix_admission()).sizes().payload;
        let mut at = Time::ms(60);
        let mut counter = 1000;
        for kind in PacketKind::ALL {
            // Just above the limit of these hosts, beyond 32 bits, and where sums of lengths would overflow.
            for bytes in [1u64 << 21, 1 << 32, 1 << 40, u64::MAX / 2, u64::MAX] {
                for count in [0, 1, 1000, u32::MAX] {
                    let mut packet = Packet::new(kind, HostId(0), HostId(0), 1);
                    (packet.message_bytes, packet.count, packet.index) = (bytes, count, count / 2);
                    (packet.token, packet.remaining, packet.lifetime) = (u32::MAX - 1, u32::MAX, Time::MAX);
                    packet.payload = if packet.is_data() { full } else { 0 };
                    packet.wire = packet.payload + 150;
                    let payload = vec![1; usize::from(packet.payload)];
                    let datagram = forged_datagram(&world, counter, &packet, &payload);
                    world.inject_datagram(at, datagram);
                    counter += 1;
                    at += Time::us(10);
                }
            }
        }
        world.run_until(at + Time::s(1));
        assert_eq!((world.hosts[1].core.live_messages(), world.hosts[1].memory.used()), (0, 0), "{name}");
        let oversized = host_count(&world, 1, Count::dropped_oversized);
        let inconsistent = host_count(&world, 1, Count::dropped_inconsistent);
        // Two kinds at least open a message at every transport: 20 datagrams each.
        assert!(oversized + inconsistent >= 40, "{name}: {oversized} {inconsistent}");
    }
}

#[test]
fn a_peer_takes_no_more_memory_than_its_share() {
    for name in headway_testing::one_in!(4, registry::NAMES) {
        // Receivers that give out credits or tokens do so for as long as they wait.
        let config = Config { peer_timeout: Time::s(30), ..world_config(name, prefix_admission()) };
        let mut world = World::new(&config, 2, Faults::default(), 1);
        world.keep_sent = true;
        world.schedule_send(Time::ZERO, 0, 1, 0, message_content(0, 3000));
        world.run_until(Time::ms(50));
        world.got.clear();
        let full = config.sizes().payload;
        for n in 1..2000u32 {
            // Some machines hear of a message from its first data, others from its announcement.
            for (kind, payload) in [(PacketKind::Rts, 0), (PacketKind::Data, full)] {
                let mut packet = Packet::new(kind, HostId(0), HostId(0), n);
                (packet.message_bytes, packet.payload, packet.wire, packet.count) =
                    (1 << 20, payload, payload + 150, 1);
                // Far above the numbers that host 0 has used, and each its own.
                let number = 1000 + 2 * u64::from(n) + u64::from(packet.is_data());
                let datagram = forged_datagram(&world, number, &packet, &vec![3; payload.into()]);
                world.inject_datagram(Time::ms(60) + Time::us(n.into()), datagram);
            }
        }
        world.run_until(Time::ms(70));
        let used = world.hosts[1].memory.used();
        // 4 MB is the share of a peer in `wire::config`; with messages of 1 MB it is used up to less than one.
        assert!(used <= 4 << 20 && used > 3 << 20, "{name}: {used}");
        assert!(host_count(&world, 1, Count::dropped_no_memory) > 1900);
        // The peer is silent from now on: after a while all memory is freed.
        world.run_until(Time::s(70));
        assert_eq!((world.hosts[1].core.live_messages(), world.hosts[1].memory.used()), (0, 0), "{name}");
        assert_eq!(host_count(&world, 1, Count::peers_lost), 1);
    }
}

#[test]
fn an_application_that_sends_too_much_is_told_so() {
    let mut world = World::new(&world_config("amrt", prefix_admission()), 2, Faults::default(), 1);
    world.schedule_send(Time::ZERO, 0, 1, 0, message_content(0, (1 << 20) + 1));
    (1..20)
        .for_each(|ticket| world.schedule_send(Time::us(1), 0, 1, ticket, message_content(ticket, 1 << 20)));
    world.run_until(Time::s(5));
    assert!(matches!(world.outcomes[&0], Err(SendError::TooLong { .. })));
    let of = |scope| world.outcomes.values().filter(|o| **o == Err(SendError::Full { scope })).count();
    assert_eq!(of("to this peer") + of("of this endpoint"), 16);
    assert_eq!(world.outcomes.values().filter(|o| o.is_ok()).count(), 3);
    world.schedule_send(Time::s(6), 0, 1, 30, message_content(30, 1 << 20));
    world.run_until(Time::s(7));
    assert_eq!(world.outcomes[&30], Ok(()), "there is room again");
}

#[test]
fn a_peer_that_never_answers_is_unreachable() {
    let mut world = World::new(&world_config("amrt", prefix_admission()), 1, Faults::default(), 1);
    world.schedule_send(Time::ZERO, 0, 5, 0, message_content(0, 100));
    // `wire::config` has 300 s for `peer_timeout`.
    world.run_until(Time::s(299));
    assert_eq!(world.outcomes.get(&0), None);
    world.run_until(Time::s(310));
    assert_eq!(world.outcomes[&0], Err(SendError::Unreachable));
    assert_eq!((world.hosts[0].core.peers(), world.hosts[0].memory.used()), (0, 0));
}

#[test]
fn the_table_of_peers_is_bounded_and_idle_ones_make_room() {
    let mut small = world_config("amrt", prefix_admission());
    // Four clients take turns for two places.
    small.limits.peers = 2;
    let mut world = World::new(&small, 5, Faults::default(), 1);
    for round in 0..3u64 {
        for from in 1..5usize {
            let ticket = round * 10 + from as u64;
            world.schedule_send(Time::ms(ticket * 100), from, 0, ticket, message_content(ticket, 5000));
        }
    }
    world.run_until(Time::s(20));
    assert!(world.hosts[0].core.peers() <= 2);
    let arrived = count_arrivals(&world);
    assert!(arrived.values().all(|&times| times == 1), "{arrived:?}");
    // A host that was forgotten learns of it by its next message, which may fail; the one after does not.
    for (ticket, outcome) in &world.outcomes {
        assert_eq!(outcome.is_ok(), arrived.contains_key(ticket), "{ticket}: {outcome:?}");
        assert!(matches!(outcome, Ok(()) | Err(SendError::PeerRestarted)));
    }
    assert_eq!(world.outcomes.len(), 12);
    assert!((1..5).all(|first| world.outcomes[&first].is_ok()));
}

#[test]
fn requests_replies_and_plain_messages_keep_apart() {
    let mut world = World::new(&world_config("phost", shared_key()), 2, Faults::default(), 1);
    let purposes = [Purpose::Plain, Purpose::Request(7), Purpose::Reply(7), Purpose::Plain];
    for (ticket, purpose) in purposes.into_iter().enumerate() {
        let bytes = message_content(ticket as u64, 4000 * ticket);
        world.send_as(Time::us(ticket as u64), 0, 1, ticket as u64, purpose, bytes);
    }
    world.run_until(Time::s(1));
    let mut seen: Vec<_> = world.got.iter().map(|got| (identify_message(&got.bytes), got.purpose)).collect();
    seen.sort_by_key(|(ticket, _)| *ticket);
    let expected: Vec<_> = (0u64..).zip(purposes).collect();
    assert_eq!(seen, expected);
}

/// Changes a datagram of host 0 to host 1, and asserts the counter of host 1 that it must be found in.
fn assert_dropped(admission: Admission, change: impl Fn(&mut Vec<u8>), counter: Count) {
    let mut world = met_world(admission);
    let data = |d: &&Datagram| d.from == host_address(0) && d.bytes.len() > 1000;
    let mut copy = world.sent.iter().find(data).expect("data was sent").clone();
    // A number of its own, so that it is not taken for a repetition.
    copy.bytes[WIRE_HEADER + 16..WIRE_HEADER + 24].copy_from_slice(&5000u64.to_be_bytes());
    change(&mut copy.bytes);
    world.sent.clear();
    world.inject_datagram(Time::ms(60), copy);
    world.run_until(Time::ms(61));
    assert_eq!(host_count(&world, 1, counter), 1, "{counter:?}");
    assert!(world.sent.is_empty() && count_arrivals(&world).len() == 2);
}

#[test]
fn what_is_cut_or_of_another_version_is_malformed() {
    for admission in [prefix_admission(), shared_key()] {
        for cut in [0, 1, WIRE_HEADER - 1, WIRE_HEADER + 23, 500] {
            assert_dropped(admission.clone(), |bytes| bytes.truncate(cut), Count::dropped_malformed);
        }
        assert_dropped(admission.clone(), |bytes| bytes[0] += 1, Count::dropped_malformed);
        assert_dropped(admission.clone(), |bytes| bytes[0] = 0xff, Count::dropped_malformed);
        assert_dropped(admission, |bytes| bytes.push(0), Count::dropped_malformed);
    }
}

#[test]
fn what_does_not_bear_the_right_seal_is_forged() {
    // Its number is new: the seal, which covers it, is not right any more.
    assert_dropped(shared_key(), |_| {}, Count::dropped_forged);
    assert_dropped(shared_key(), |bytes| *bytes.last_mut().expect("a tag") ^= 1, Count::dropped_forged);
    assert_dropped(shared_key(), |bytes| bytes[20] ^= 1, Count::dropped_forged);
    // Without the seal, as a host without the key would send it.
    let bare = |bytes: &mut Vec<u8>| {
        bytes[5] = 1;
        bytes.truncate(bytes.len() - 16);
        bytes.drain(WIRE_HEADER + 24..WIRE_HEADER + 32);
    };
    assert_dropped(shared_key(), bare, Count::dropped_forged);
}

#[test]
fn a_host_outside_the_prefixes_is_not_heard() {
    let mut world = met_world(prefix_admission());
    let mut copies: Vec<_> = world.sent.iter().filter(|d| d.to == host_address(1)).cloned().collect();
    let sent = copies.len() as u64;
    copies.iter_mut().for_each(|copy| copy.from.set_ip([11, 0, 0, 1].into()));
    world.sent.clear();
    copies.into_iter().for_each(|copy| world.inject_datagram(Time::ms(60), copy));
    world.run_until(Time::s(1));
    assert_eq!(host_count(&world, 1, Count::dropped_not_admitted), sent);
    assert!(world.sent.is_empty(), "not even an answer");
}

#[test]
fn all_peers_together_take_no_more_memory_than_there_is() {
    let mut small = world_config("amrt", prefix_admission());
    (small.limits.total_bytes, small.limits.peer_bytes) = (3 << 20, 2 << 20);
    let mut world = World::new(&small, 5, Faults::default(), 1);
    world.keep_sent = true;
    (1..5u64).for_each(|host| {
        world.schedule_send(Time::ZERO, host as usize, 0, host, message_content(host, 3000))
    });
    world.run_until(Time::ms(50));
    world.got.clear();
    // Each announces two messages of a megabyte, of which it sends one packet: eight megabytes in all.
    for host in 1..5usize {
        let data = |d: &&Datagram| d.from == host_address(host) && !d.is_handshake();
        let sample = world.sent.iter().find(data).expect("data was sent");
        let seen =
            PacketView::parse(&sample.bytes).expect("a packet").session_fields().expect("with a session");
        for number in 1..3 {
            let mut packet = Packet::new(PacketKind::Data, HostId(0), HostId(0), number);
            (packet.message_bytes, packet.payload, packet.wire, packet.count) = (900_000, 1388, 1538, 1);
            let session = Session { counter: 1000 + u64::from(number), ..seen };
            let mut bytes = vec![3; 2000];
            let front = packet
                .emit_session(&session, Envelope::Session, &Stamps::default(), &mut bytes)
                .expect("a packet that can be");
            bytes.truncate(front + 1388);
            world.inject_datagram(
                Time::ms(60),
                Datagram { from: host_address(host), to: host_address(0), tos: 0, bytes },
            );
        }
    }
    world.run_until(Time::ms(61));
    let used = world.hosts[0].memory.used();
    assert!(used <= 3 << 20 && used > 2 << 20, "{used}");
    assert_eq!(host_count(&world, 0, Count::dropped_no_memory), 5, "three of eight have room");
}

#[test]
fn no_transport_says_what_its_peer_finds_inconsistent() {
    for transport in registry::NAMES.iter().copied() {
        let faults = Faults { loss: 10, ..Faults::default() };
        let mut world = World::new(&world_config(transport, prefix_admission()), 2, faults, 3);
        for n in 0..6 {
            world.schedule_send(
                Time::ms(n),
                (n % 2) as usize,
                1 - (n % 2) as usize,
                n,
                message_content(n, 200_000),
            );
        }
        world.run_until(Time::s(20));
        for host in [0, 1] {
            let wrong = world.hosts[host].counters.get(Count::dropped_inconsistent);
            assert_eq!(wrong, 0, "{transport}, host {host}");
        }
    }
}
