//! Wires that lose up to six datagrams of ten, a different share each way: every sender of a message hears what has become of it.

use crate::wire;

use headway_host::{Config, STALL_FACTOR, SendError};
use headway_transport::registry;
use headway_units::Time;
use proptest::prelude::*;
use wire::{Faults, World, identify_message, message_content, prefix_admission, shared_key, world_config};

/// Longest time, as in docs/real-hosts.md, that a sender waits for the outcome of a message to a host that does not
/// restart.
fn longest_wait(config: &Config) -> Time {
    config.peer_timeout + config.progress_timeout * STALL_FACTOR
}

/// Messages both ways at once, and more when hosts have met, or not: each is delivered once and its sender knows it, or its sender
/// hears why not, and in time.
fn everyone_hears(world: &mut World, bytes: usize) -> Result<u64, TestCaseError> {
    for ticket in 0..6 {
        let (from, at) = ((ticket % 2) as usize, Time::ms(ticket / 2 * 300));
        world.schedule_send(at, from, 1 - from, ticket, message_content(ticket, bytes));
    }
    let end = world.hosts.iter().map(|host| longest_wait(&host.config)).max().unwrap_or_default();
    world.run_until(end + Time::ms(600));
    let arrived: Vec<u64> = world.got.iter().map(|got| identify_message(&got.bytes)).collect();
    let mut good = 0;
    for ticket in 0..6 {
        let copies = arrived.iter().filter(|one| **one == ticket).count();
        match world.outcomes.get(&ticket) {
            Some(Ok(())) => {
                good += 1;
                prop_assert_eq!(copies, 1, "message {}", ticket);
            }
            // It may have arrived all the same, and the word of that not.
            Some(Err(SendError::Stalled | SendError::Unreachable | SendError::PeerRestarted)) => {
                prop_assert!(copies <= 1, "message {} arrived {} times", ticket, copies);
            }
            other => prop_assert!(false, "message {}: {:?} after {}", ticket, other, world.now),
        }
    }
    Ok(good)
}

fn any_faults() -> impl Strategy<Value = (Faults, [u8; 2])> {
    let faults = (0u8..=40, 0u8..=60, 0u64..30_000).prop_map(|(duplicate, late, us)| Faults {
        loss: 0,
        duplicate,
        late,
        lateness: Time::us(us),
    });
    // Up to 60 % each way: at the worst a question and its answer both arrive 16 times of 100.
    (faults, [0u8..=60, 0u8..=60])
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 200, ..headway_testing::cases!(120) })]

    #[test]
    fn every_sender_hears_what_became_of_its_message(
        (faults, losses) in any_faults(), seed: u64, sealed: bool, bytes in 1usize..40_000,
        name in proptest::sample::select(registry::NAMES),
    ) {
        let admission = if sealed { shared_key() } else { prefix_admission() };
        // Short enough that a test of 120 cases ends, and long enough for a handshake that loses most of its
        // tries.
        let config = Config { peer_timeout: Time::s(30), ..world_config(name, admission) };
        let mut world = World::new(&config, 2, faults, seed);
        world.losses = losses.to_vec();
        everyone_hears(&mut world, bytes)?;
    }
}

/// A change of a timer must not make it fewer. Seeds are fixed, so that the count is one of this code alone.
#[test]
fn nearly_all_messages_arrive_where_half_is_lost_each_way() {
    let mut good = 0;
    for (seed, name) in (0..).zip(registry::NAMES.iter().copied()) {
        let config = Config { peer_timeout: Time::s(30), ..world_config(name, shared_key()) };
        let mut world = World::new(&config, 2, Faults { loss: 50, ..Faults::default() }, seed);
        good += everyone_hears(&mut world, 3000).expect("in time");
    }
    let all = 6 * registry::NAMES.len() as u64;
    assert!(good * 100 >= all * 95, "{good} of {all}");
}
