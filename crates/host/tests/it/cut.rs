//! Changes of switches to packets, made by hand on the way between two hosts, with a key and without: what is left of
//! a data packet, a header that came back and a lowered rate are believed, once; with a key, nothing else is.

use headway_host::{Admission, Count};
use headway_packet::{MUTABLE_BITS, Packet, PacketFlags, PacketKind, PacketView, WIRE_FRONT, WIRE_HEADER};
use headway_units::Time;
use wire::{
    Datagram, Faults, World, host_address, identify_message, message_content, prefix_admission, shared_key,
    world_config,
};

use crate::wire;

/// Time at which the message is sent that the tests are about, and time at which its packets are on their way.
const SENT: Time = Time::ms(10);
const ON_THE_WAY: Time = Time::us(10_010);
/// Data packets of that message.
const PACKETS: u64 = 3;

/// Hosts 0 and 1 have met, and a message of three packets is on its way from 0 to 1; its data packets.
fn under_way(transport: &str, admission: Admission) -> (World, Vec<Datagram>) {
    let mut world = World::new(&world_config(transport, admission), 2, Faults::default(), 1);
    world.keep_sent = true;
    world.schedule_send(Time::ZERO, 0, 1, 0, message_content(0, 100));
    world.schedule_send(Time::ZERO, 1, 0, 1, message_content(1, 100));
    world.schedule_send(SENT, 0, 1, 2, message_content(2, 4000));
    world.run_until(Time::ms(9));
    assert_eq!(world.got.len(), 2, "they have met");
    world.sent.clear();
    world.run_until(ON_THE_WAY);
    let data: Vec<Datagram> = world.sent.iter().filter(|d| parse_packet(d).is_data()).cloned().collect();
    assert_eq!(data.len() as u64, PACKETS);
    (world, data)
}

fn parse_packet(datagram: &Datagram) -> Packet {
    PacketView::parse(&datagram.bytes).expect("a packet").to_packet()
}

/// A datagram with another header before the same session.
fn with_header(datagram: &Datagram, packet: &Packet) -> Datagram {
    let envelope = PacketView::parse(&datagram.bytes).expect("a packet").envelope();
    let mut out = datagram.clone();
    out.bytes[..WIRE_HEADER].copy_from_slice(&packet.header_bytes_in(envelope));
    out
}

/// Header that a switch leaves of a data packet.
fn cut_header(datagram: &Datagram) -> Datagram {
    let left = PacketView::parse(&datagram.bytes).expect("a packet").cut_length().expect("data");
    let mut header = parse_packet(datagram);
    header.trim_payload(left as u16 + 66);
    let mut out = with_header(datagram, &header);
    out.bytes.truncate(left);
    out
}

/// That, on its way back.
fn returned_header(datagram: &Datagram) -> Datagram {
    let mut out = cut_header(datagram);
    out.bytes[2] |= PacketFlags::BOUNCED.0;
    (out.from, out.to) = (out.to, out.from);
    out
}

fn host_count(world: &World, host: usize, what: Count) -> u64 {
    world.hosts[host].counters.get(what)
}

fn count_sent(world: &World, host: usize, of: impl Fn(&Packet) -> bool) -> u64 {
    let mine = world.sent.iter().filter(|d| d.from == host_address(host));
    mine.filter(|d| PacketView::parse(&d.bytes).is_ok_and(|view| of(&view.to_packet()))).count() as u64
}

/// The message arrives, once and whole.
fn ends_well(world: &mut World) {
    world.run_until(Time::s(2));
    let got: Vec<u64> =
        world.got.iter().filter(|got| got.host == 1).map(|got| identify_message(&got.bytes)).collect();
    assert_eq!(got, [0, 2]);
    assert_eq!(world.outcomes.get(&2), Some(&Ok(())));
}

#[test]
fn what_lost_its_payload_is_asked_for_again() {
    for admission in [prefix_admission(), shared_key()] {
        let (mut world, data) = under_way("ndp", admission);
        let before = host_count(&world, 1, Count::packets_accepted);
        // A picosecond after the packets have left, so that the headers arrive before them.
        data.iter().for_each(|d| world.inject_datagram(ON_THE_WAY + Time(1), cut_header(d)));
        world.run_until(ON_THE_WAY + Time(2));
        assert_eq!(host_count(&world, 1, Count::packets_accepted) - before, PACKETS);
        // The packets themselves come later than their headers, and are dropped as repeated.
        ends_well(&mut world);
        assert_eq!(host_count(&world, 1, Count::dropped_replayed), PACKETS);
        assert_eq!(count_sent(&world, 1, |p| p.kind == PacketKind::Nack), PACKETS);
        assert_eq!(count_sent(&world, 0, |p| p.is_data() && p.flags.has_all(PacketFlags::AGAIN)), PACKETS);
    }
}

#[test]
fn what_came_back_is_sent_again_once() {
    for admission in [prefix_admission(), shared_key()] {
        let (mut world, data) = under_way("ndp", admission);
        let before = host_count(&world, 0, Count::packets_accepted);
        for _ in 0..3 {
            data.iter().for_each(|d| world.inject_datagram(ON_THE_WAY + Time(1), returned_header(d)));
        }
        world.run_until(ON_THE_WAY + Time(2));
        assert_eq!(host_count(&world, 0, Count::packets_accepted) - before, PACKETS);
        assert_eq!(
            host_count(&world, 0, Count::dropped_replayed),
            2 * PACKETS,
            "each datagram comes back once"
        );
        ends_well(&mut world);
        // Packets that arrived meanwhile need not go again.
        assert!(count_sent(&world, 0, |p| p.is_data() && p.flags.has_all(PacketFlags::AGAIN)) <= PACKETS);
    }
}

#[test]
fn a_datagram_that_was_never_sent_cannot_come_back() {
    let (mut world, data) = under_way("ndp", prefix_admission());
    let mut forged = returned_header(&data[0]);
    // The last field of the front is the number of the datagram.
    forged.bytes[WIRE_FRONT - 8..WIRE_FRONT].copy_from_slice(&1_000_000u64.to_be_bytes());
    world.inject_datagram(ON_THE_WAY + Time(1), forged);
    let mut stale = returned_header(&data[0]);
    // The first byte behind the header is the sender's epoch.
    stale.bytes[WIRE_HEADER] ^= 1;
    world.inject_datagram(ON_THE_WAY + Time(1), stale);
    let before = host_count(&world, 0, Count::packets_accepted);
    let (forgeries, late) =
        (host_count(&world, 0, Count::dropped_forged), host_count(&world, 0, Count::dropped_late));
    world.run_until(ON_THE_WAY + Time(2));
    assert_eq!(host_count(&world, 0, Count::dropped_forged), forgeries + 1);
    assert_eq!(host_count(&world, 0, Count::dropped_late), late + 1);
    assert_eq!(host_count(&world, 0, Count::packets_accepted), before);
    ends_well(&mut world);
}

/// Every copy of a datagram with one bit changed that no switch may change.
fn changed_bits(datagram: &Datagram) -> Vec<Datagram> {
    let bits = (0..datagram.bytes.len()).flat_map(|at| (0..8).map(move |bit| (at, 1u8 << bit)));
    let covered = bits.filter(|(at, bit)| *at >= WIRE_HEADER || MUTABLE_BITS[*at] & bit == 0);
    let flip = |(at, bit): (usize, u8)| {
        let mut copy = datagram.clone();
        copy.bytes[at] ^= bit;
        copy
    };
    covered.map(flip).collect()
}

#[test]
fn with_a_key_no_other_bit_of_what_is_left_can_be_changed() {
    for (way, host) in [(cut_header as fn(&Datagram) -> Datagram, 1), (returned_header, 0)] {
        let (mut world, data) = under_way("ndp", shared_key());
        let before = host_count(&world, host, Count::packets_accepted);
        let copies = changed_bits(&way(&data[1]));
        // Eight for each byte that is covered: far fewer would mean that the mask covers nothing.
        assert!(copies.len() > 600);
        copies.into_iter().for_each(|copy| world.inject_datagram(ON_THE_WAY + Time(1), copy));
        world.run_until(ON_THE_WAY + Time(2));
        assert_eq!(host_count(&world, host, Count::packets_accepted), before, "not one is believed");
        // The true one still counts: false copies have not used its number up.
        world.inject_datagram(ON_THE_WAY + Time(3), way(&data[1]));
        world.run_until(ON_THE_WAY + Time(4));
        assert_eq!(host_count(&world, host, Count::packets_accepted), before + 1);
        ends_well(&mut world);
    }
}

#[test]
fn a_header_is_no_way_around_the_seal_of_other_kinds() {
    let (mut world, data) = under_way("ndp", shared_key());
    let control = world.sent.iter().find(|d| !parse_packet(d).is_data() && d.from == host_address(0));
    let (whole, control) = (data[0].clone(), control.cloned());
    // A whole data packet that says it lost its payload, and one that says it did not.
    let mut said = parse_packet(&whole);
    said.trim_payload(200);
    let mut out = with_header(&whole, &said);
    let before = host_count(&world, 1, Count::packets_accepted);
    world.inject_datagram(ON_THE_WAY + Time(1), out.clone());
    let left = cut_header(&whole);
    out = with_header(&left, &Packet { kind: PacketKind::Data, ..parse_packet(&left) });
    world.inject_datagram(ON_THE_WAY + Time(1), out);
    if let Some(control) = control {
        let mut header = parse_packet(&control);
        header.kind = PacketKind::Header;
        world.inject_datagram(ON_THE_WAY + Time(1), with_header(&control, &header));
    }
    world.run_until(ON_THE_WAY + Time(2));
    assert_eq!(host_count(&world, 1, Count::packets_accepted), before);
    ends_well(&mut world);
}

/// Host 0 sends to host 1, and a data packet that asks for a rate is on its way.
fn asking_world(admission: Admission) -> (World, Datagram) {
    let mut world = World::new(&world_config("rcp", admission), 2, Faults::default(), 1);
    world.keep_sent = true;
    world.schedule_send(Time::ZERO, 0, 1, 2, message_content(2, 100_000));
    let asks = |d: &&Datagram| {
        let view = PacketView::parse(&d.bytes).map(|view| view.to_packet());
        view.is_ok_and(|p| p.is_data() && p.flags.has_all(PacketFlags::RATE))
    };
    for step in 1..200 {
        // Less than a datagram is on its way.
        world.run_until(Time::us(5 * step));
        if let Some(last) = world.sent.iter().rfind(asks).cloned() {
            return (world, last);
        }
    }
    panic!("no packet asked for a rate");
}

#[test]
fn a_rate_may_be_lowered_on_the_way_but_not_to_nothing() {
    for admission in [prefix_admission(), shared_key()] {
        let told = |last: &Datagram, rate| with_header(last, &Packet { token: rate, ..parse_packet(last) });
        let (mut world, last) = asking_world(admission.clone());
        assert!(parse_packet(&last).token > 5_000);
        let (now, before) = (world.now, host_count(&world, 1, Count::packets_accepted));
        world.inject_datagram(now + Time(1), told(&last, 5_000));
        world.run_until(now + Time(2));
        assert_eq!(host_count(&world, 1, Count::packets_accepted), before + 1, "a lower rate is believed");
        world.inject_datagram(now + Time(3), told(&last, 4_000));
        world.run_until(now + Time(4));
        assert_eq!(host_count(&world, 1, Count::packets_accepted), before + 1, "once");
        world.run_until(Time::s(2));
        assert_eq!(world.outcomes.get(&2), Some(&Ok(())));

        let (mut world, last) = asking_world(admission);
        let before = host_count(&world, 1, Count::dropped_inconsistent);
        world.inject_datagram(world.now + Time(1), told(&last, 0));
        world.run_until(world.now + Time(2));
        assert_eq!(host_count(&world, 1, Count::dropped_inconsistent), before + 1);
        world.run_until(Time::s(2));
        assert_eq!(world.outcomes.get(&2), Some(&Ok(())));
    }
}
