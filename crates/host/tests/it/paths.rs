//! Endpoints with several addresses: paths that are proven, used, watched and left, in virtual time.

use crate::wire;

use headway_host::{Config, Count, PathEventKind, PathState};
use headway_packet::PacketView;
use headway_packet::paths::{CHALLENGE_BYTES, PathKind, PathSaid, is_about_paths};
use headway_units::Time;
use std::net::{Ipv4Addr, SocketAddr};
use wire::{
    Datagram, Faults, World, host_address, identify_message, message_content, prefix_admission, shared_key,
    world_config,
};

/// Transports whose messages have subflows.
const MULTIPATH: [&str; 7] =
    ["proactmp", "mptcp-reno", "mptcp-cubic", "mptcp-lia", "mptcp-olia", "mptcp-balia", "mptcp-wvegas"];

/// Address `number` of a host; 0 is the one that it is bound to.
fn numbered_address(host: usize, number: u8) -> SocketAddr {
    match number {
        0 => host_address(host),
        _ => SocketAddr::new(Ipv4Addr::new(10, number, 0, 1 + host as u8).into(), 4000),
    }
}

/// Two hosts with so many addresses. A network joins the addresses of one number only.
fn addressed_world(config: &Config, counts: [u8; 2], seed: u64) -> World {
    let mut world = World::new(config, 2, Faults::default(), seed);
    for (host, count) in counts.into_iter().enumerate() {
        // Before the hosts meet, so that the first list that each announces is the whole one.
        (1..count).for_each(|number| world.add_address(Time::ZERO, host, numbered_address(host, number)));
    }
    world
}

/// The network that a datagram goes through; `None` where its addresses are in different ones.
fn network_of(datagram: &Datagram) -> Option<u8> {
    let number = |address: SocketAddr| match address.ip() {
        std::net::IpAddr::V4(ip) => ip.octets()[1],
        std::net::IpAddr::V6(_) => unreachable!("IPv4 alone"),
    };
    (number(datagram.from) == number(datagram.to)).then(|| number(datagram.from))
}

/// Data packets that left by each network.
fn data_by_network(world: &World) -> [usize; 3] {
    let mut counts = [0; 3];
    for datagram in world.sent.iter().filter(|datagram| !datagram.is_handshake()) {
        if PacketView::parse(&datagram.bytes).is_ok_and(|view| view.to_packet().is_data()) {
            counts[usize::from(network_of(datagram).expect("one network"))] += 1;
        }
    }
    counts
}

fn assert_delivered(world: &World, count: usize) {
    let mut tickets: Vec<u64> = world.got.iter().map(|got| identify_message(&got.bytes)).collect();
    tickets.sort_unstable();
    assert_eq!(tickets, (0..count as u64).collect::<Vec<_>>(), "each once, unaltered");
    assert!(world.outcomes.values().all(Result::is_ok), "{:?}", world.outcomes);
}

#[test]
fn a_message_takes_both_paths_over_every_transport_with_subflows() {
    for transport in MULTIPATH {
        for admission in [prefix_admission(), shared_key()] {
            let mut world = addressed_world(&world_config(transport, admission), [2, 2], 1);
            world.keep_sent = true;
            // Different networks: what has addresses of two is lost.
            world.swallows = Some(Box::new(|datagram, _| network_of(datagram).is_none()));
            world.schedule_send(Time::us(1), 0, 1, 0, message_content(0, 900_000));
            world.schedule_send(Time::ms(50), 1, 0, 1, message_content(1, 900_000));
            world.run_until(Time::s(2));
            assert_delivered(&world, 2);
            let [first, second, _] = data_by_network(&world);
            // A message of 900 kB has about 650 packets: few of them are enough to prove that a path is used at
            // all.
            assert!(first > 20 && second > 20, "{transport}: {first} and {second}");
            for host in &world.hosts {
                let states: Vec<PathState> = host.core.path_list().iter().map(|path| path.state).collect();
                assert_eq!(states, [PathState::Open; 2], "{transport}");
            }
        }
    }
}

/// Open paths at a host.
fn open_paths(world: &World, host: usize) -> usize {
    world.hosts[host].core.path_list().iter().filter(|path| path.state == PathState::Open).count()
}

fn host_count(world: &World, host: usize, what: Count) -> u64 {
    world.hosts[host].counters.get(what)
}

/// Events of paths at a host by what happened, with their times.
fn path_events(world: &World, host: usize, what: PathEventKind) -> Vec<Time> {
    let events = world.hosts[host].path_events.iter();
    events.filter(|event| event.what == what).map(|event| event.at).collect()
}

#[test]
fn a_peer_with_one_address_is_reached_from_two() {
    for transport in ["proactmp", "mptcp-balia"] {
        let mut world = addressed_world(&world_config(transport, prefix_admission()), [2, 1], 1);
        world.keep_sent = true;
        world.schedule_send(Time::us(1), 0, 1, 0, message_content(0, 500_000));
        world.schedule_send(Time::ms(20), 1, 0, 1, message_content(1, 500_000));
        world.run_until(Time::s(1));
        assert_delivered(&world, 2);
        assert_eq!((open_paths(&world, 0), open_paths(&world, 1)), (2, 2), "{transport}");
        let from = |host: usize, number: u8| {
            let data = world
                .sent
                .iter()
                .filter(|d| PacketView::parse(&d.bytes).is_ok_and(|v| v.to_packet().is_data()));
            data.filter(|d| d.from == numbered_address(host, number)).count()
        };
        assert!(from(0, 0) > 20 && from(0, 1) > 20, "{transport}");
    }
}

#[test]
fn every_transport_delivers_over_two_paths_that_lose_repeat_and_reorder() {
    for transport in headway_transport::registry::NAMES.iter().copied() {
        let faults = Faults { loss: 2, duplicate: 1, late: 10, lateness: Time::us(200) };
        let mut world = World::new(&world_config(transport, shared_key()), 2, faults, 7);
        for host in 0..2 {
            world.add_address(Time::ZERO, host, numbered_address(host, 1));
        }
        for ticket in 0..12 {
            let (host, length) = (ticket as usize % 2, 3000 + 20_000 * ticket as usize);
            world.schedule_send(
                Time::ms(10 * ticket),
                host,
                1 - host,
                ticket,
                message_content(ticket, length),
            );
        }
        world.run_until(Time::s(60));
        assert_delivered(&world, 12);
    }
}

#[test]
fn a_path_that_falls_silent_is_dead_a_named_time_later_and_returns() {
    for transport in MULTIPATH {
        let timeout = Time::ms(40);
        let config = Config { path_timeout: timeout, ..world_config(transport, prefix_admission()) };
        let mut world = addressed_world(&config, [2, 2], 3);
        world.keep_sent = true;
        let (down, up) = (Time::ms(100), Time::ms(600));
        world.swallows = Some(Box::new(move |datagram, now| {
            network_of(datagram).is_none_or(|network| network == 1 && (down..up).contains(&now))
        }));
        // Something is under way all the time.
        for ticket in 0..200 {
            world.schedule_send(
                Time::ms(5 * ticket) + Time::us(1),
                0,
                1,
                ticket,
                message_content(ticket, 100_000),
            );
        }
        world.run_until(Time::s(20));
        assert_delivered(&world, 200);
        for host in 0..2 {
            let died = path_events(&world, host, PathEventKind::Died);
            assert_eq!(died.len(), 1, "{transport}: {died:?}");
            // Silence counts from the last datagram that arrived, and it is checked a few times within a
            // time-out.
            let slack = timeout / 2 + Time::ms(20);
            assert!(died[0] <= down + timeout + slack, "{transport}: {}", died[0]);
            let opened = path_events(&world, host, PathEventKind::Opened);
            assert_eq!(opened.len(), 2, "{transport}: {opened:?}");
            assert!(opened[1] >= up && opened[1] <= up + Time::s(2), "{transport}: {}", opened[1]);
            assert_eq!(open_paths(&world, host), 2, "{transport}");
            let home = &world.hosts[host].core.path_list()[0];
            assert_eq!((home.counts.deaths, home.counts.returns), (0, 0), "{transport}");
        }
        // While it was dead nothing but challenges went there.
        let died = path_events(&world, 0, PathEventKind::Died)[0];
        assert!(died >= down + timeout - timeout / 4, "{transport}: {died}");
    }
}

#[test]
fn messages_go_on_a_few_round_trips_after_their_path_has_died() {
    for transport in MULTIPATH {
        let config = Config { path_timeout: Time::ms(40), ..world_config(transport, prefix_admission()) };
        let mut world = addressed_world(&config, [2, 2], 5);
        // A round trip of a millisecond, so that one message takes many of them.
        world.delay = Some(Box::new(|_| Time::us(500)));
        let down = Time::ms(60);
        world.swallows = Some(Box::new(move |datagram, now| {
            network_of(datagram).is_none_or(|network| network == 1 && now >= down)
        }));
        world.schedule_send(Time::us(1), 0, 1, 0, message_content(0, 1000));
        for ticket in 1..60 {
            world.schedule_send(Time::ms(2 * ticket), 0, 1, ticket, message_content(ticket, 60_000));
        }
        world.run_until(Time::s(10));
        assert_delivered(&world, 60);
        assert_eq!(path_events(&world, 0, PathEventKind::Died).len(), 1, "{transport}");
    }
}

#[test]
fn the_address_where_two_met_may_go_and_come_back() {
    for transport in ["proactmp", "mptcp-lia", "amrt"] {
        let mut world = addressed_world(&world_config(transport, shared_key()), [2, 2], 9);
        world.swallows = Some(Box::new(|datagram, _| network_of(datagram).is_none()));
        for ticket in 0..100 {
            let host = ticket as usize % 2;
            world.schedule_send(
                Time::ms(5 * ticket) + Time::us(1),
                host,
                1 - host,
                ticket,
                message_content(ticket, 50_000),
            );
        }
        world.remove_address(Time::ms(151), 0, numbered_address(0, 0));
        world.add_address(Time::ms(351), 0, numbered_address(0, 0));
        world.run_until(Time::ms(300));
        for host in 0..2 {
            let paths = world.hosts[host].core.path_list();
            let ends: Vec<_> = paths.iter().map(|path| (path.local, path.remote)).collect();
            assert_eq!(ends, [(numbered_address(host, 1), numbered_address(1 - host, 1))], "{transport}");
        }
        world.run_until(Time::s(20));
        assert_delivered(&world, 100);
        assert_eq!((open_paths(&world, 0), open_paths(&world, 1)), (2, 2), "{transport}");
    }
}

#[test]
fn a_path_whose_packets_must_be_shorter_carries_none_and_its_length_is_found() {
    for transport in ["proactmp", "mptcp-olia"] {
        let mut world = addressed_world(&world_config(transport, prefix_admission()), [2, 2], 11);
        world.keep_sent = true;
        // 28 bytes of IP and UDP: packets of 900 bytes.
        world.swallows = Some(Box::new(|datagram, _| {
            network_of(datagram).is_none_or(|network| network == 1 && datagram.bytes.len() > 872)
        }));
        for ticket in 0..100 {
            world.schedule_send(
                Time::ms(20 * ticket) + Time::us(1),
                0,
                1,
                ticket,
                message_content(ticket, 100_000),
            );
        }
        world.run_until(Time::s(10));
        assert_delivered(&world, 100);
        let narrow = world.hosts[0].core.path_list()[1];
        assert_eq!(narrow.state, PathState::Narrow, "{transport}");
        assert!((900 - 16..=900).contains(&narrow.mtu), "{transport}: {}", narrow.mtu);
        assert_eq!(data_by_network(&world)[1], 0, "{transport}");
    }
}

#[test]
fn a_path_that_becomes_narrow_is_left() {
    let mut world = addressed_world(&world_config("proactmp", prefix_admission()), [2, 2], 13);
    world.swallows = Some(Box::new(|datagram, now| {
        let long = now > Time::ms(200) && datagram.bytes.len() > 872;
        network_of(datagram).is_none_or(|network| network == 1 && long)
    }));
    for ticket in 0..200 {
        world.schedule_send(
            Time::ms(10 * ticket) + Time::us(1),
            0,
            1,
            ticket,
            message_content(ticket, 30_000),
        );
    }
    world.run_until(Time::s(20));
    assert_delivered(&world, 200);
    assert_eq!(world.hosts[0].core.path_list()[1].state, PathState::Narrow);
}

/// A host of the version before, which knows nothing of paths.
#[test]
fn an_older_peer_has_one_path() {
    for transport in ["proactmp", "mptcp-reno"] {
        for admission in [prefix_admission(), shared_key()] {
            let mut world = addressed_world(&world_config(transport, admission), [3, 1], 15);
            world.keep_sent = true;
            world.swallows = Some(Box::new(|datagram, _| {
                datagram.to == numbered_address(1, 0) && is_about_paths(&datagram.bytes)
            }));
            for ticket in 0..20 {
                let host = ticket as usize % 2;
                world.schedule_send(
                    Time::ms(20 * ticket) + Time::us(1),
                    host,
                    1 - host,
                    ticket,
                    message_content(ticket, 80_000),
                );
            }
            world.run_until(Time::s(5));
            assert_delivered(&world, 20);
            let said = world.sent.iter().filter(|d| is_about_paths(&d.bytes)).count();
            assert!(said <= 6, "{said} datagrams that the peer does not know");
            assert!(
                world
                    .sent
                    .iter()
                    .all(|d| d.from == numbered_address(0, 0) || d.from == numbered_address(1, 0))
            );
        }
    }
}

/// A list of a peer's addresses, forged or not, in the bytes that its own core would send.
fn address_list(world: &World, number: u64, addresses: Vec<SocketAddr>) -> Datagram {
    let said = world
        .sent
        .iter()
        .find(|d| d.from == numbered_address(1, 0) && is_about_paths(&d.bytes))
        .expect("a list");
    let mut said = PathSaid::parse(&said.bytes).expect("a list");
    // A higher number than the last one, as an older list would be ignored whatever it says.
    (said.kind, said.number, said.asks, said.addresses) = (PathKind::Addresses, number, false, addresses);
    Datagram { from: numbered_address(1, 0), to: numbered_address(0, 0), tos: 0, bytes: said.to_bytes(0) }
}

/// Two hosts without a key, where a list of the second may be forged by who sees the traffic, or by the second itself.
fn met_world() -> World {
    let mut world = addressed_world(&world_config("proactmp", prefix_admission()), [2, 2], 17);
    world.keep_sent = true;
    world.schedule_send(Time::us(1), 0, 1, 0, message_content(0, 20_000));
    world.run_until(Time::ms(200));
    assert_delivered(&world, 1);
    assert_eq!(open_paths(&world, 0), 2);
    world
}

/// Datagrams and bytes that host 0 sends to addresses that are none of host 1's.
fn to_strangers(world: &World) -> (usize, usize) {
    let strangers = world.sent.iter().filter(|d| {
        d.from.port() == 4000
            && ![
                numbered_address(0, 0),
                numbered_address(0, 1),
                numbered_address(1, 0),
                numbered_address(1, 1),
            ]
            .contains(&d.to)
    });
    strangers.fold((0, 0), |(count, bytes), datagram| {
        assert!(is_about_paths(&datagram.bytes), "data goes to nobody who has not answered");
        assert_eq!(datagram.bytes.len(), CHALLENGE_BYTES);
        (count + 1, bytes + datagram.bytes.len())
    })
}

#[test]
fn a_third_party_gets_no_data_and_no_more_than_three_bytes_for_each_that_a_liar_sent() {
    let mut world = met_world();
    let victims: Vec<SocketAddr> =
        (1..=8).map(|n| SocketAddr::new(Ipv4Addr::new(10, 99, 0, n).into(), 53)).collect();
    let mut said = 0;
    for number in 0..100u64 {
        let mut named = victims.clone();
        // In another order each time, so that no list is a copy of the one before.
        named.rotate_left(number as usize % 8);
        let lie = address_list(&world, 2 + number, named);
        said += lie.bytes.len();
        let at = world.now + Time::ms(1 + number);
        world.inject_datagram(at, lie);
    }
    for ticket in 1..50 {
        let at = world.now + Time::ms(10 * ticket);
        world.schedule_send(at, 0, 1, ticket, message_content(ticket, 20_000));
    }
    world.run_until(Time::s(30));
    let (count, bytes) = to_strangers(&world);
    assert!(count > 0, "the lie was heard");
    assert!(bytes <= 3 * said, "{bytes} bytes for {said}");
    // A list is believed 16 times at once and then ten times a second.
    assert!(count as u64 <= 3 * 8 * 30, "{count}");
    assert!(count_of(&world, Count::address_lists_withheld) > 50);
    assert_delivered(&world, 50);
}

fn count_of(world: &World, what: Count) -> u64 {
    host_count(world, 0, what)
}

#[test]
fn who_does_not_see_the_traffic_neither_adds_nor_removes_an_address() {
    let mut world = met_world();
    let before = world.hosts[0].core.path_list().len();
    let mut rng = 1u64;
    for number in 0..2000u64 {
        let mut forged = address_list(&world, 1000 + number, Vec::new());
        // Everything is right except the cookies (bytes 48 to 63), which only the two hosts know.
        for byte in &mut forged.bytes[48..64] {
            rng = rng.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (rng >> 56) as u8;
        }
        let when = world.now + Time::us(number);
        world.inject_datagram(when, forged);
    }
    let end = world.now + Time::s(1);
    world.run_until(end);
    assert_eq!(count_of(&world, Count::dropped_handshake), 2000);
    assert_eq!((world.hosts[0].core.path_list().len(), open_paths(&world, 0)), (before, 2));
}

#[test]
fn where_a_key_is_shared_nobody_without_it_says_addresses() {
    let mut world = addressed_world(&world_config("proactmp", shared_key()), [2, 2], 19);
    world.keep_sent = true;
    world.schedule_send(Time::us(1), 0, 1, 0, message_content(0, 20_000));
    world.run_until(Time::ms(200));
    let dropped = count_of(&world, Count::dropped_handshake);
    // Right in all but the authentication; and a copy of what was said before, which is no news.
    let when = world.now;
    world.inject_datagram(when, address_list(&world, 7, Vec::new()));
    let copy = world
        .sent
        .iter()
        .find(|d| d.from == numbered_address(1, 0) && is_about_paths(&d.bytes))
        .cloned()
        .expect("a list");
    world.inject_datagram(when, copy);
    world.run_until(when + Time::s(1));
    assert_eq!(count_of(&world, Count::dropped_handshake), dropped + 1);
    assert_eq!(open_paths(&world, 0), 2);
}

/// 10^6 addresses, eight in a list, and challenges from each: what is kept of it is bounded, and the honest path works.
#[test]
fn a_peer_that_claims_a_million_addresses_takes_bounded_memory() {
    let mut world = met_world();
    // Keeping 125,000 lists' worth of datagrams is not what this test is about.
    world.keep_sent = false;
    // A million addresses from 10.64.0.0 on: inside the prefix that is admitted, and away from the hosts' own.
    let name = |n: u64| SocketAddr::new(Ipv4Addr::from(0x0a40_0000 + n as u32).into(), 4000);
    for number in 0..125_000u64 {
        let named = (0..8).map(|k| name(8 * number + k)).collect();
        let lie = address_list(&world, 2 + number, named);
        let when = world.now + Time::us(10 * number);
        world.inject_datagram(when, lie);
        if number % 1000 == 0 {
            world.run_until(when);
            assert!(world.hosts[0].core.path_list().len() <= 16);
        }
    }
    let when = world.now;
    world.schedule_send(when, 0, 1, 1, message_content(1, 100_000));
    world.schedule_send(when, 1, 0, 2, message_content(2, 100_000));
    world.run_until(when + Time::s(30));
    assert_delivered(&world, 3);
    assert!(world.hosts[0].core.path_list().len() <= 16);
    assert!(count_of(&world, Count::address_lists_withheld) > 100_000);
}
