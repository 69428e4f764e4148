//! Long messages to one peer take turns, in virtual time.

use crate::wire;

use headway_host::{Config, Count, SendError};
use headway_packet::PacketView;
use headway_units::Time;
use wire::{Datagram, Faults, World, message_content, prefix_admission, world_config};

const LONG: usize = 900_000;

/// The packet of a datagram with data: its message's bytes, the number of that, its own, and whether it left before.
fn data_packet(datagram: &Datagram) -> Option<(u64, u32, u32)> {
    let packet = PacketView::parse(&datagram.bytes).ok()?.to_packet();
    packet.is_data().then_some((packet.message_bytes, packet.message, packet.index))
}

/// Four long messages, one half as long, one of 20 kB and one of 100 bytes, all handed over at once.
fn crowded_world(transport: &str, turns: bool) -> World {
    let mut world =
        World::new(&Config { turns, ..world_config(transport, prefix_admission()) }, 2, Faults::default(), 1);
    world.keep_sent = true;
    // Turns are taken among messages of the same power of two of bytes; half of `LONG` is in another one.
    for (ticket, length) in (0..).zip([LONG, LONG, LONG, LONG, LONG / 2, 20_000, 100]) {
        world.schedule_send(Time::us(ticket), 0, 1, ticket, message_content(ticket, length));
    }
    world.run_until(Time::s(3));
    assert!(
        (0..7).all(|ticket| world.outcomes.get(&ticket) == Some(&Ok(()))),
        "{transport}: {:?}",
        world.outcomes
    );
    world
}

/// Pairs of messages of one length of which the second began before the first had sent everything.
fn count_overlaps(world: &World) -> usize {
    let sent: Vec<_> = world.sent.iter().filter_map(data_packet).collect();
    let mut long: Vec<u32> = sent.iter().filter(|data| data.0 == LONG as u64).map(|data| data.1).collect();
    long.sort_unstable();
    long.dedup();
    assert_eq!(long.len(), 4);
    let first = |message: u32| sent.iter().position(|data| data.1 == message).expect("sent");
    let all_sent = |message: u32| {
        let mut seen = std::collections::BTreeMap::new();
        for (place, data) in sent.iter().enumerate().filter(|(_, data)| data.1 == message) {
            // The first time that each packet leaves; what is sent again does not keep the turn.
            seen.entry(data.2).or_insert(place);
        }
        seen.into_values().max().expect("sent")
    };
    long.windows(2).filter(|pair| first(pair[1]) < all_sent(pair[0])).count()
}

#[test]
fn long_messages_of_about_one_length_are_sent_one_after_the_other_and_others_pass() {
    let mut together = 0;
    let names = headway_testing::one_in!(4, headway_transport::registry::NAMES);
    for &transport in &names {
        // Some transports order messages themselves.
        together += usize::from(count_overlaps(&crowded_world(transport, false)) > 0);
        let world = crowded_world(transport, true);
        assert_eq!(count_overlaps(&world), 0, "{transport}");
        let place = |bytes: u64| {
            world.sent.iter().filter_map(data_packet).position(|data| data.0 == bytes).expect("sent")
        };
        let last =
            world.sent.iter().filter_map(data_packet).enumerate().filter(|(_, data)| data.0 == LONG as u64);
        let last = last.map(|(place, _)| place).max().expect("sent");
        for bytes in [100, 20_000, LONG as u64 / 2] {
            assert!(place(bytes) < last / 2, "{transport}: {bytes} bytes wait for longer messages");
        }
    }
    assert!(together * 2 > names.len(), "most begin all at once without turns, {together} did");
}

#[test]
fn a_message_that_makes_no_progress_gives_its_turn_away() {
    let mut world = World::new(&world_config("amrt", prefix_admission()), 2, Faults::default(), 1);
    // Nothing of the first message arrives.
    world.swallows = Some(Box::new(|datagram, _| data_packet(datagram).is_some_and(|data| data.1 == 0)));
    for ticket in 0..3 {
        world.schedule_send(Time::us(ticket), 0, 1, ticket, message_content(ticket, LONG));
    }
    // Just before the second without progress after which a message gives its turn away.
    world.run_until(Time::ms(900));
    assert!(world.outcomes.is_empty(), "the others wait: {:?}", world.outcomes);
    world.run_until(Time::s(4));
    assert_eq!((world.outcomes.get(&1), world.outcomes.get(&2)), (Some(&Ok(())), Some(&Ok(()))));
    world.run_until(Time::s(1000));
    assert_eq!(world.outcomes.get(&0), Some(&Err(SendError::Stalled)));
    assert_eq!(world.hosts[0].counters.get(Count::messages_failed), 1);
    assert_eq!(world.hosts[0].memory.used(), 0);
}
