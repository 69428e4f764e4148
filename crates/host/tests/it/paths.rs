//! Endpoints with several addresses: paths that are proven, used, watched and left, in virtual time.

use crate::wire;

use headway_host::{Config, PathState};
use headway_packet::PacketView;
use headway_units::Time;
use std::net::{Ipv4Addr, SocketAddr};
use wire::{Datagram, Faults, World, address, config, content, identify, prefixes, shared_key};

/// Transports whose messages have subflows.
const MULTIPATH: [&str; 7] =
    ["proactmp", "mptcp-reno", "mptcp-cubic", "mptcp-lia", "mptcp-olia", "mptcp-balia", "mptcp-wvegas"];

/// Address `number` of a host; 0 is the one that it is bound to.
fn at(host: usize, number: u8) -> SocketAddr {
    match number {
        0 => address(host),
        _ => SocketAddr::new(Ipv4Addr::new(10, number, 0, 1 + host as u8).into(), 4000),
    }
}

/// Two hosts with so many addresses. A network joins the addresses of one number only.
fn world(config: &Config, counts: [u8; 2], seed: u64) -> World {
    let mut world = World::new(config, 2, Faults::default(), seed);
    for (host, count) in counts.into_iter().enumerate() {
        (1..count).for_each(|number| world.add_address(Time::ZERO, host, at(host, number)));
    }
    world
}

/// The network that a datagram goes through; `None` where its addresses are in different ones.
fn network(datagram: &Datagram) -> Option<u8> {
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
        if PacketView::parse(&datagram.bytes).is_ok_and(|view| view.packet().is_data()) {
            counts[usize::from(network(datagram).expect("one network"))] += 1;
        }
    }
    counts
}

fn delivered(world: &World, count: usize) {
    let mut tickets: Vec<u64> = world.got.iter().map(|got| identify(&got.bytes)).collect();
    tickets.sort_unstable();
    assert_eq!(tickets, (0..count as u64).collect::<Vec<_>>(), "each once, unaltered");
    assert!(world.outcomes.values().all(Result::is_ok), "{:?}", world.outcomes);
}

#[test]
fn a_message_takes_both_paths_over_every_transport_with_subflows() {
    for transport in MULTIPATH {
        for admission in [prefixes(), shared_key()] {
            let mut world = world(&config(transport, admission), [2, 2], 1);
            world.keep_sent = true;
            // Different networks: what has addresses of two is lost.
            world.swallows = Some(Box::new(|datagram, _| network(datagram).is_none()));
            world.send(Time::us(1), 0, 1, 0, content(0, 900_000));
            world.send(Time::ms(50), 1, 0, 1, content(1, 900_000));
            world.run(Time::s(2));
            delivered(&world, 2);
            let [first, second, _] = data_by_network(&world);
            assert!(first > 20 && second > 20, "{transport}: {first} and {second}");
            for host in &world.hosts {
                let states: Vec<PathState> = host.core.path_list().iter().map(|path| path.state).collect();
                assert_eq!(states, [PathState::Open; 2], "{transport}");
            }
        }
    }
}
