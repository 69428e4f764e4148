//! Base round trips that endpoints measure, in virtual time: the wire here takes 20 us each way.

use crate::wire;

use headway_host::{Config, Count, RoundTrip, handshake_wire, sizes};
use headway_transport::Path;
use headway_units::{Rate, Time};
use std::sync::Arc;
use wire::{Faults, World, host_address, message_content, prefix_admission, shared_key, world_config};

/// A turn of a thread, in which it handles a batch of packets.
const TURN: Time = Time::us(25);
/// Out and back.
const WIRE: Time = Time::us(40);

/// Extra time of a full packet over a handshake: on two links of 10 Gb/s, and for a turn of each end.
fn extra_time(config: &Config) -> Time {
    let handshake = u64::from(handshake_wire());
    let full = u64::from(sizes(config.mtu, &config.admission).full_wire());
    Rate::gbps(10).time_of(full - handshake) * 2 + TURN * 2
}

/// Two hosts of which the first has sent the other a message.
fn met_world(config: &Config, faults: Faults, seed: u64) -> World {
    let mut world = World::new(config, 2, faults, seed);
    world.schedule_send(Time::ZERO, 0, 1, 0, message_content(0, 3000));
    world.run_until(Time::ms(50));
    world
}

fn path_to_peer(world: &World, host: usize) -> Path {
    world.hosts[host].core.path(host_address(1 - host)).expect("a peer")
}

#[test]
fn both_ends_measure_the_round_trip_and_their_transports_are_told() {
    for admission in [prefix_admission(), shared_key()] {
        let config = world_config("amrt", admission);
        let world = met_world(&config, Faults::default(), 1);
        let expected = Path {
            longest_timeout: Time::s(1),
            base_rtt: WIRE + extra_time(&config),
            max_rtt: WIRE + extra_time(&config) + (config.path.max_rtt - config.path.base_rtt),
            bottleneck: Rate::gbps(10),
            paths: 0,
            hops: 0,
        };
        for host in [0, 1] {
            assert_eq!(path_to_peer(&world, host), expected, "host {host}");
            assert_eq!(world.hosts[host].core.handshake_round_trip(host_address(1 - host)), Some(WIRE));
            assert_eq!(world.hosts[host].counters.get(Count::dropped_handshake), 0, "all were wanted");
        }
    }
}

#[test]
fn nothing_is_measured_where_the_path_is_given() {
    let given = Config { round_trip: RoundTrip::Given, ..world_config("amrt", prefix_admission()) };
    let [mut few, mut many] = [&given, &world_config("amrt", prefix_admission())].map(|config| {
        let mut world = World::new(config, 2, Faults::default(), 1);
        world.keep_sent = true;
        world.schedule_send(Time::ZERO, 0, 1, 0, message_content(0, 3000));
        world
    });
    [&mut few, &mut many].into_iter().for_each(|world| world.run_until(Time::ms(50)));
    assert_eq!(path_to_peer(&few, 0), Path { bottleneck: Rate::gbps(10), ..given.path });
    assert_eq!(few.hosts[0].core.handshake_round_trip(host_address(1)), None);
    let hellos = |world: &World| world.sent.iter().filter(|d| d.is_handshake()).count();
    // A meeting takes four handshakes, measured or not.
    assert_eq!((hellos(&few), hellos(&many)), (4, 4 + 2 * 2 * 8), "eight questions and answers each way");
}

#[test]
fn what_is_known_of_one_path_is_the_least() {
    for (known, expected) in
        [(200, Time::us(200)), (10, WIRE + extra_time(&world_config("amrt", prefix_admission())))]
    {
        let base = world_config("amrt", prefix_admission());
        let known = Path { base_rtt: Time::us(known), max_rtt: Time::us(known + 77), ..base.path };
        let config = Config { path_to: Some(Arc::new(move |_| Some(known))), ..base };
        let path = path_to_peer(&met_world(&config, Faults::default(), 1), 0);
        assert_eq!((path.base_rtt, path.max_rtt), (expected, expected + Time::us(77)));
    }
}

#[test]
fn what_hosts_take_is_added_where_the_path_is_known() {
    for (ideal, longer) in
        // The wire takes 40 us: an ideal handshake of 15 leaves 25 for the hosts. One that is longer subtracts
        // nothing.
        [(Time::us(15), Time::us(25)), (Time::us(40), Time::ZERO), (Time::us(50), Time::ZERO)]
    {
        let base = world_config("amrt", prefix_admission());
        let known = Path { base_rtt: Time::us(33), max_rtt: Time::us(44), ..base.path };
        let config = Config {
            path_to: Some(Arc::new(move |_| Some(known))),
            handshake_to: Some(Arc::new(move |_| Some(ideal))),
            ..base
        };
        let path = path_to_peer(&met_world(&config, Faults::default(), 1), 1);
        assert_eq!((path.base_rtt, path.max_rtt), (Time::us(33) + longer, Time::us(44) + longer));
    }
}

#[test]
fn copies_and_late_answers_never_make_a_round_trip_shorter() {
    let faults = Faults { loss: 5, duplicate: 60, late: 60, lateness: Time::us(500) };
    let mut copies = 0;
    for seed in 0..40 {
        let mut world = met_world(&world_config("amrt", prefix_admission()), faults, seed);
        for n in 1..20 {
            world.schedule_send(
                Time::ms(50 + 40 * n),
                (n % 2) as usize,
                1 - (n % 2) as usize,
                n,
                message_content(n, 5000),
            );
        }
        world.run_until(Time::s(2));
        for host in [0, 1] {
            let shortest = world.hosts[host].core.handshake_round_trip(host_address(1 - host)).expect("some");
            assert!(
                (WIRE..=WIRE + Time::us(1000)).contains(&shortest),
                "seed {seed}, host {host}: {shortest}"
            );
            copies += world.hosts[host].counters.get(Count::dropped_handshake);
        }
    }
    assert!(copies > 100, "{copies} copies of answers arrived");
}

/// Packets that leave for a message before anything comes back.
fn first_window(config: &Config) -> usize {
    let mut world = met_world(config, Faults::default(), 1);
    world.keep_sent = true;
    // Without answers only the first window leaves.
    world.swallows = Some(Box::new(|datagram, _| datagram.from == host_address(1)));
    world.schedule_send(Time::ms(50), 0, 1, 1, message_content(1, 1_000_000));
    world.run_until(Time::ms(51));
    world.sent.iter().filter(|d| d.from == host_address(0) && d.bytes.len() > 1000).count()
}

#[test]
fn a_first_window_fills_the_round_trip_that_there_is() {
    let measured = world_config("amrt", prefix_admission());
    let given = Config { round_trip: RoundTrip::Given, ..measured.clone() };
    let slot = sizes(1500, &measured.admission).slot_time(Rate::gbps(10));
    let packets = |rtt: Time| rtt.0.div_ceil(slot.0) as usize;
    assert_eq!(first_window(&given), packets(given.path.base_rtt));
    assert_eq!(first_window(&measured), packets(WIRE + extra_time(&measured)));
}

#[test]
fn where_packets_go_one_by_one_nothing_is_added_for_turns() {
    let slow = Config { nic: Rate::new(1_000_000_000), ..world_config("amrt", prefix_admission()) };
    let handshake = u64::from(handshake_wire());
    let full = u64::from(sizes(slow.mtu, &slow.admission).full_wire());
    let longer = Rate::gbps(1).time_of(full - handshake) * 2;
    assert_eq!(path_to_peer(&met_world(&slow, Faults::default(), 1), 0).base_rtt, WIRE + longer);
}

#[test]
fn a_peer_that_restarts_is_measured_anew() {
    let mut world = met_world(&world_config("amrt", prefix_admission()), Faults::default(), 1);
    world.schedule_restart(Time::ms(60), 1);
    // This message goes to the old process and fails, and the hosts meet again because of it.
    world.schedule_send(Time::ms(70), 0, 1, 1, message_content(1, 3000));
    world.run_until(Time::ms(150));
    world.schedule_send(Time::ms(160), 0, 1, 2, message_content(2, 3000));
    world.run_until(Time::s(2));
    assert_eq!(world.outcomes.get(&2), Some(&Ok(())));
    for host in [0, 1] {
        assert_eq!(
            world.hosts[host].core.handshake_round_trip(host_address(1 - host)),
            Some(WIRE),
            "host {host}"
        );
    }
}
