//! Threads that wake up late: what paces by deadlines keeps its rate.

use crate::wire;

use headway_host::Config;
use headway_transport::registry;
use headway_units::{Rate, Time};
use wire::{Faults, World, message_content, prefix_admission, world_config};

/// Time at which a message of a megabyte is acknowledged, over a link that carries it in 90 us, where threads are so
/// `late`.
fn completion_time(transport: &str, late: Time) -> Time {
    let config = Config { nic: Some(Rate::gbps(100)), ..world_config(transport, prefix_admission()) };
    let mut world = World::new(&config, 2, Faults::default(), 1);
    world.late = late;
    // The hosts meet first, so that the measured time has no handshake in it.
    world.schedule_send(Time::ZERO, 0, 1, 0, message_content(0, 1000));
    world.run_until(Time::ms(100));
    assert_eq!(world.outcomes.get(&0), Some(&Ok(())), "{transport}");
    let (begin, mut end) = (world.now, world.now);
    world.schedule_send(begin, 0, 1, 1, message_content(1, 1_000_000));
    while !world.outcomes.contains_key(&1) {
        end += Time::us(20);
        world.run_until(end);
        assert!(end < begin + Time::s(2), "{transport}, {late} late, does not end");
    }
    assert_eq!(world.outcomes.get(&1), Some(&Ok(())), "{transport}");
    end - begin
}

/// A packet takes 0.12 us on this link. Were each step of a pacer as late as the thread, the 721 packets of the message would
/// take 7 ms for lateness of 10 us, and 36 ms for 50.
#[test]
fn lateness_does_not_add_up_over_the_packets_of_a_message() {
    let mut slow = Vec::new();
    for name in registry::NAMES.iter().copied() {
        let exact = completion_time(name, Time::ZERO);
        for late in [Time::us(10), Time::us(50)] {
            let time = completion_time(name, late);
            // A window that grows takes some round trips, of which each waits for threads.
            let allowed = exact * 2 + late * 40;
            if time > allowed {
                slow.push(format!("{name}: {time} where {late} late, {exact} in time"));
            }
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
}
