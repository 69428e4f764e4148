//! Stamps of ports in packets between two hosts, and forged ones: they come back to the sender, set its
//! rate, and have no other effect.

use headway_host::{Config, ConfigError, Count, Endpoint};
use headway_packet::{Hop, HostId, Packet, PacketKind, PacketView, STAMPS_BYTES, Stamps, WIRE_FRONT};
use headway_transport::registry;
use headway_units::{Rate, Time};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::cell::RefCell;
use std::rc::Rc;
use wire::{
    Datagram, Faults, Meddles, World, host_address, identify_message, message_content, prefix_admission,
    shared_key, world_config,
};

use crate::wire;

/// Transports whose packets have room for stamps.
fn stamped_transports() -> Vec<&'static str> {
    let all = registry::all_entries().into_iter();
    all.filter(|entry| entry.capabilities.telemetry > 0).map(|entry| entry.info.name).collect()
}

fn parse_view(datagram: &Datagram) -> Option<PacketView<'_>> {
    PacketView::parse(&datagram.bytes).ok()
}

fn stamps_room(datagram: &mut Datagram) -> Option<&mut [u8; STAMPS_BYTES]> {
    parse_view(datagram).filter(|view| view.envelope().is_stamped())?;
    datagram.bytes.get_mut(WIRE_FRONT..)?.first_chunk_mut()
}

/// A port of 10 Gb/s through which all data goes, with so many bytes that wait.
fn stamping_port(queue: u64) -> Meddles {
    let mut sent = 0;
    Box::new(move |datagram, now| {
        if parse_view(datagram).is_some_and(|view| view.takes_stamps()) {
            let bytes = datagram.bytes.len() as u64;
            let hop = Hop { at: now, sent, queue, rate: Rate::gbps(10) };
            sent += bytes;
            let room = stamps_room(datagram).expect("it has room");
            // `sent` does not include this packet, as at a switch.
            *room = Stamps::with_next(room, &hop);
        }
    })
}

/// Time at which a message of a megabyte is acknowledged that begins at 10 ms.
fn completion_time(transport: &str, meddles: Option<Meddles>) -> Time {
    let mut world = World::new(&world_config(transport, shared_key()), 2, Faults::default(), 1);
    world.meddles = meddles;
    world.schedule_send(Time::ms(10), 0, 1, 0, message_content(0, 1_000_000));
    let mut now = Time::ms(10);
    while !world.outcomes.contains_key(&0) {
        now += Time::us(100);
        assert!(now < Time::s(20), "{transport} goes on for ever");
        world.run_until(now);
    }
    assert_eq!(world.outcomes.get(&0), Some(&Ok(())));
    assert_eq!(world.got.iter().map(|got| identify_message(&got.bytes)).collect::<Vec<_>>(), [0]);
    now - Time::ms(10)
}

#[test]
fn stamps_of_data_come_back_with_its_answers() {
    for (transport, admission) in
        stamped_transports().into_iter().flat_map(|t| [(t, prefix_admission()), (t, shared_key())])
    {
        let mut world = World::new(&world_config(transport, admission), 2, Faults::default(), 1);
        world.keep_sent = true;
        let brought = Rc::new(RefCell::new(Vec::new()));
        let (seen, mut stamp) = (Rc::clone(&brought), stamping_port(1000));
        world.meddles = Some(Box::new(move |datagram, now| {
            stamp(datagram, now);
            if parse_view(datagram).is_some_and(|view| view.takes_stamps()) {
                seen.borrow_mut()
                    .push(parse_view(datagram).and_then(|view| view.port_stamps()).expect("stamps"));
            }
        }));
        world.schedule_send(Time::ZERO, 0, 1, 0, message_content(0, 50_000));
        world.run_until(Time::ms(50));
        assert_eq!(world.outcomes.get(&0), Some(&Ok(())));
        let of = |kind| {
            let packets =
                world.sent.iter().filter_map(parse_view).filter(move |v| v.to_packet().kind == kind);
            packets.map(|v| v.port_stamps().expect("they have room")).collect::<Vec<Stamps>>()
        };
        assert!(of(PacketKind::Data).iter().all(|stamps| *stamps == Stamps::default()), "as it left");
        assert_eq!(of(PacketKind::Ack), *brought.borrow(), "{transport}");
        assert!(
            brought.borrow().len() > 30
                && brought.borrow().iter().all(|stamps| stamps.filled_hops().len() == 1)
        );
    }
}

#[test]
fn a_queue_that_stamps_tell_of_slows_the_sender_down() {
    assert_eq!(stamped_transports(), ["hpcc", "powertcp"]);
    for transport in stamped_transports() {
        let [idle, crowded] =
            [0, 500_000].map(|queue| completion_time(transport, Some(stamping_port(queue))));
        assert!(crowded > idle * 3, "{transport}: {idle} without a queue, {crowded} behind one");
        let unstamped = completion_time(transport, None);
        assert!(unstamped < idle * 2, "{transport}: {unstamped} where no port says anything");
    }
}

#[test]
fn whatever_is_written_into_stamps_messages_arrive() {
    for (transport, seed) in stamped_transports().into_iter().flat_map(|t| (0..8).map(move |seed| (t, seed)))
    {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let meddles: Meddles = Box::new(move |datagram, _| {
            let Some(room) = stamps_room(datagram) else { return };
            rng.fill_bytes(room);
            // Of so many ports that the stamps are looked at, of which some have the rate 0; or extremes.
            room[..2].copy_from_slice(&[0, 1 + rng.next_u32() as u8 % 5]);
            match rng.next_u32() % 4 {
                0 => room[2..].fill(0xff),
                1 => room[2..22].fill(0),
                2 => room[22..26].copy_from_slice(&[0, 0, 0, rng.next_u32() as u8 % 2]),
                _ => {}
            }
        });
        completion_time(transport, Some(meddles));
    }
}

#[test]
fn a_port_without_a_rate_is_not_believed() {
    let mut world = World::new(&world_config("hpcc", prefix_admission()), 2, Faults::default(), 1);
    let mut before = 0;
    world.meddles = Some(Box::new(move |datagram, _| {
        // Only the first five: the message has to arrive with the copies of them that are sent again.
        if parse_view(datagram).is_some_and(|view| view.takes_stamps()) && before < 5 {
            before += 1;
            stamps_room(datagram).expect("it has room")[1] = 1;
        }
    }));
    world.schedule_send(Time::ZERO, 0, 1, 0, message_content(0, 50_000));
    world.run_until(Time::s(2));
    assert_eq!(world.outcomes.get(&0), Some(&Ok(())));
    assert_eq!(world.hosts[1].counters.get(Count::dropped_inconsistent), 5);
}

#[test]
fn a_packet_in_the_envelope_of_another_transport_is_malformed() {
    for (transport, stamped) in [("hpcc", false), ("dcqcn", true)] {
        let mut world = World::new(&world_config(transport, prefix_admission()), 2, Faults::default(), 1);
        world.keep_sent = true;
        world.schedule_send(Time::ZERO, 0, 1, 0, message_content(0, 100));
        world.run_until(Time::ms(20));
        let sample =
            world.sent.iter().filter(|d| d.from == host_address(0)).filter_map(parse_view).next_back();
        let session = sample.and_then(|view| view.session_fields()).expect("it has sent something");
        let mut packet = Packet::new(PacketKind::Finished, HostId(0), HostId(1), 0);
        packet.wire = 300;
        let mut bytes = vec![0; 1000];
        // A number that the receiver has not seen, or the packet would be dropped as a replay.
        let session = headway_packet::session::Session { counter: 1_000_000, ..session };
        let envelope = headway_packet::Envelope::between_hosts(false, stamped);
        let length = packet.emit_session(&session, envelope, &Stamps::default(), &mut bytes).expect("room");
        bytes.truncate(length);
        let malformed = |world: &World| world.hosts[1].counters.get(Count::dropped_malformed);
        assert_eq!(malformed(&world), 0);
        world.inject_datagram(
            Time::ms(20),
            Datagram { from: host_address(0), to: host_address(1), tos: 0, bytes },
        );
        world.run_until(Time::ms(21));
        assert_eq!(malformed(&world), 1, "{transport}");
    }
}

#[test]
fn who_sets_its_rate_by_stamps_asks_for_switches_that_write_them() {
    for transport in stamped_transports() {
        let bind = |telemetry, mtu| {
            let config = Config { transport: transport.into(), telemetry, mtu, ..Config::default() };
            Endpoint::bind("127.0.0.1:0", config).map(|_| ())
        };
        let refused = bind(false, 1500).expect_err("nothing says that there are such switches");
        assert!(refused.to_string().contains("say `telemetry`"), "{refused}");
        assert!(bind(true, 1500).is_ok());
        let refused = bind(true, 300).expect_err("too short for stamps and payload");
        let range = ConfigError::Range {
            what: "mtu",
            value: 300,
            range: "from 378 to 9216 with a transport that needs telemetry",
        };
        assert!(refused.to_string().contains(&range.to_string()), "{refused}");
        assert!(bind(true, 378).is_ok());
    }
}
