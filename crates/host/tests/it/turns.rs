//! Long messages to one peer take turns, in virtual time.

use crate::wire;

use headway_host::{Config, Count, SendError};
use headway_packet::PacketView;
use headway_units::Time;
use wire::{Datagram, Faults, World, config, content, prefixes};

const LONG: usize = 900_000;

/// The packet of a datagram with data: its message's bytes, the number of that, its own, and whether it left before.
fn data(datagram: &Datagram) -> Option<(u64, u32, u32)> {
    let packet = PacketView::parse(&datagram.bytes).ok()?.packet();
    packet.is_data().then_some((packet.message_bytes, packet.message, packet.index))
}

/// Four long messages, one half as long, one of 20 kB and one of 100 bytes, all handed over at once.
fn crowd(transport: &str, turns: bool) -> World {
    let mut world = World::new(&Config { turns, ..config(transport, prefixes()) }, 2, Faults::default(), 1);
    world.keep_sent = true;
    // Turns are taken among messages of the same power of two of bytes; half of `LONG` is in another one.
    for (ticket, length) in (0..).zip([LONG, LONG, LONG, LONG, LONG / 2, 20_000, 100]) {
        world.send(Time::us(ticket), 0, 1, ticket, content(ticket, length));
    }
    world.run(Time::s(3));
    assert!(
        (0..7).all(|ticket| world.outcomes.get(&ticket) == Some(&Ok(()))),
        "{transport}: {:?}",
        world.outcomes
    );
    world
}

/// Pairs of messages of one length of which the second began before the first had sent everything.
fn overlaps(world: &World) -> usize {
    let sent: Vec<_> = world.sent.iter().filter_map(data).collect();
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
        together += usize::from(overlaps(&crowd(transport, false)) > 0);
        let world = crowd(transport, true);
        assert_eq!(overlaps(&world), 0, "{transport}");
        let place =
            |bytes: u64| world.sent.iter().filter_map(data).position(|data| data.0 == bytes).expect("sent");
        let last = world.sent.iter().filter_map(data).enumerate().filter(|(_, data)| data.0 == LONG as u64);
        let last = last.map(|(place, _)| place).max().expect("sent");
        for bytes in [100, 20_000, LONG as u64 / 2] {
            assert!(place(bytes) < last / 2, "{transport}: {bytes} bytes wait for longer messages");
        }
    }
    assert!(together * 2 > names.len(), "most begin all at once without turns, {together} did");
}

#[test]
fn a_message_that_makes_no_progress_gives_its_turn_away() {
    let mut world = World::new(&config("amrt", prefixes()), 2, Faults::default(), 1);
    // Nothing of the first message arrives.
    world.swallows = Some(Box::new(|datagram, _| data(datagram).is_some_and(|data| data.1 == 0)));
    for ticket in 0..3 {
        world.send(Time::us(ticket), 0, 1, ticket, content(ticket, LONG));
    }
    // Just before the second without progress after which a message gives its turn away.
    world.run(Time::ms(900));
    assert!(world.outcomes.is_empty(), "the others wait: {:?}", world.outcomes);
    world.run(Time::s(4));
    assert_eq!((world.outcomes.get(&1), world.outcomes.get(&2)), (Some(&Ok(())), Some(&Ok(()))));
    world.run(Time::s(1000));
    assert_eq!(world.outcomes.get(&0), Some(&Err(SendError::Stalled)));
    assert_eq!(world.hosts[0].counters.get(Count::messages_failed), 1);
    assert_eq!(world.hosts[0].memory.used(), 0);
}
