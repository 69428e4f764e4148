//! Every transport over a slow link that loses, repeats and reorders, in virtual time: many messages at once come to
//! their end, and what is sent for them stays in proportion.

use crate::wire;

use headway_host::{Config, Count, sizes};
use headway_transport::{Path, registry};
use headway_units::{Rate, Time};
use wire::{Faults, World, identify_message, message_content, prefix_admission, world_config};

const FAULTS: Faults = Faults { loss: 5, duplicate: 10, late: 30, lateness: Time::ms(3) };

/// Messages, long and short by turns.
const MESSAGES: u64 = 40;

/// Seeds of each transport.
fn transport_seeds() -> std::ops::Range<u64> {
    0..headway_testing::times().into()
}

/// Datagrams of both hosts for each packet of data. Without losses they are two, with the answer; most transports
/// need less than three here, and the greediest eleven.
const DATAGRAMS_A_PACKET: u64 = 20;

/// Half of [`Config::progress_timeout`], so that nothing has ended by that.
const END: Time = Time::s(30);

fn message_bytes(message: u64) -> usize {
    if message.is_multiple_of(2) { 60_000 } else { 100 }
}

/// Runs until every message has come to its end, and no longer than [`END`] or than too much was sent, on hosts whose
/// clocks show `begin` at first.
fn all_arrive(name: &str, max_rtt: Time, (begin, every): (Time, Time), seed: u64) {
    let base = world_config(name, prefix_admission());
    let path = Path { max_rtt, ..base.path };
    let config = Config { nic: Rate::new(100_000_000), path, ..base };
    assert!(config.progress_timeout >= END * 2);
    let mut world = World::new(&config, 2, FAULTS, seed);
    world.run_until(begin);
    (0..MESSAGES)
        .for_each(|n| world.schedule_send(begin + every * n, 0, 1, n, message_content(n, message_bytes(n))));
    let sizes = sizes(config.mtu, &config.admission);
    let most =
        DATAGRAMS_A_PACKET * (0..MESSAGES).map(|n| sizes.packets_of(message_bytes(n) as u64)).sum::<u64>();
    let what = format!("{name}, max_rtt {max_rtt}, from {begin} one each {every}, seed {seed}");
    while world.outcomes.len() < MESSAGES as usize {
        world.run_until(world.now + Time::ms(10));
        let sent: u64 = world.hosts.iter().map(|host| host.counters.get(Count::datagrams_sent)).sum();
        let ended = world.outcomes.len();
        assert!(sent <= most, "{what}: {sent} datagrams by {}, {ended} of {MESSAGES} over", world.now);
        assert!(world.now < begin + END, "{what}: {ended} of {MESSAGES} over");
    }
    let failed: Vec<_> = world.outcomes.iter().filter(|(_, outcome)| outcome.is_err()).collect();
    assert!(failed.is_empty(), "{what}: {failed:?}");
    let mut arrived: Vec<u64> = world.got.iter().map(|got| identify_message(&got.bytes)).collect();
    arrived.sort_unstable();
    assert_eq!(arrived, (0..MESSAGES).collect::<Vec<u64>>(), "{what}");
}

/// Six tenths of the link.
#[test]
fn messages_in_a_row_arrive_over_every_transport() {
    for name in registry::NAMES.iter().copied() {
        // Datagrams are up to 3 ms late: with the first value a late one looks lost, with the second it does
        // not.
        for max_rtt in [Time::ms(2), Time::ms(20)] {
            transport_seeds().for_each(|seed| all_arrive(name, max_rtt, (Time::ZERO, Time::ms(4)), seed));
        }
    }
}

/// More than the link carries in the first round trips, which lengthens these.
#[test]
fn messages_at_once_arrive_over_every_transport() {
    for name in registry::NAMES.iter().copied() {
        for max_rtt in [Time::ms(2), Time::ms(20)] {
            transport_seeds().for_each(|seed| all_arrive(name, max_rtt, (Time::ZERO, Time::ZERO), seed));
        }
    }
}

/// Packets bring back times of their sender's clock, however late it is.
#[test]
fn messages_arrive_at_hosts_whose_clocks_began_long_ago() {
    for name in registry::NAMES.iter().copied() {
        // Beyond the 100 s to which a host cuts the validity of permissions: a time that is echoed must not be
        // cut.
        for begin in [Time::s(1000), Time::DAY * 100] {
            all_arrive(name, Time::ms(20), (begin, Time::ms(4)), 1);
        }
    }
}
