//! EQDS packet by packet, where it differs from Ultra Ethernet's machine: the window in packets, and the order of a
//! receiver's pulls.
//!
//! Windows are 4 packets. A pull is 4096 bytes, 16 quanta of 256 bytes at 98.8 % of 10 Gb/s. Outputs are written as words: `data 3`,
//! `data 3 spec` (without credit), `ack`, `nack`, `pull 1: 4096` (message 1 may send so many bytes in all), `rts 4` (4 packets wait to be
//! sent again).

use crate::script;

use headway_packet::{Packet, PacketFlags, PacketKind, Sizes};
use headway_transport::endpoint::Checked;
use headway_transport::eqds::{Eqds, EqdsParams};
use headway_transport::uet::UetEndpoint;
use headway_transport::{EndpointEvent, Transport};
use headway_units::Time;
use script::{FULL, HERE, PEER, Steps, host_context, message_of, us};

const SLOT: Time = Time(1_230_400);
// 256 bytes at 98.8 % of 10 Gb/s take 207.287 ns.
const PULL: Time = Time(16 * 207_287);

struct Script {
    machine: Checked<UetEndpoint>,
}

fn new_script() -> Script {
    let params = EqdsParams { window: 4, ..EqdsParams::default() };
    Script { machine: Checked::new(Eqds::make_endpoint(&params, host_context(SLOT * 10, us(40), 0))) }
}

impl Steps for Script {
    type Machine = UetEndpoint;

    fn checked_machine(&mut self) -> &mut Checked<UetEndpoint> {
        &mut self.machine
    }

    fn packet_words(packet: &Packet) -> String {
        let spec = if packet.flags.has_all(PacketFlags::UNSCHEDULED) { " spec" } else { "" };
        match packet.kind {
            PacketKind::Data => format!("data {}{spec}", packet.index),
            PacketKind::Pull => format!("pull {}: {}", packet.message, packet.message_bytes),
            PacketKind::Rts => format!("rts {}", packet.index + 1),
            kind => kind.name().into(),
        }
    }

    fn event_words(_: &EndpointEvent) -> Option<String> {
        None
    }
}

/// Packet `index` of message `id` of `PEER`, of 20 packets, whose sender wants `target` quanta in all.
fn data_packet(id: u32, index: u32, target: u32) -> Packet {
    let mut packet = Packet::new(PacketKind::Data, PEER, HERE, id);
    (packet.index, packet.count, packet.message_bytes, packet.remaining) = (index, 4, 20 * FULL, target);
    (packet.payload, packet.wire, packet.tag) = (FULL as u16, Sizes::default().full_wire(), 70 + id);
    packet
}

#[test]
fn four_packets_leave_at_once_and_the_rest_by_pulls() {
    let mut script = new_script();
    assert_eq!(
        script.open_message(us(0), message_of(20)),
        ["data 0 spec", "data 1 spec", "data 2 spec", "data 3 spec"]
    );
    let mut pull = Packet::new(PacketKind::Pull, PEER, HERE, 0);
    (pull.message_bytes, pull.flags) = (4096, PacketFlags::PULL);
    assert_eq!(
        script.receive_and_send(us(13), pull),
        ["data 4", "data 5", "data 6"],
        "two packets and a part"
    );
}

#[test]
fn whose_packets_were_trimmed_is_pulled_first_and_beyond_what_it_asked_for() {
    let mut script = new_script();
    assert_eq!(script.receive_and_send(us(1), data_packet(0, 0, 100)), ["ack", "pull 0: 4096"]);
    assert_eq!(script.receive_and_send(us(2), data_packet(1, 0, 100)), ["ack"]);
    let mut header = data_packet(2, 0, 0);
    header.trim_payload(84);
    assert_eq!(script.receive_and_send(us(3), header), ["nack"]);
    let turns = script.effects_until(us(1) + PULL * 4);
    let at: Vec<Time> = turns.iter().map(|(at, _)| *at - us(1)).collect();
    assert_eq!(at, [PULL, PULL * 2, PULL * 3, PULL * 4]);
    let words: Vec<&str> = turns.iter().flat_map(|(_, words)| words).map(String::as_str).collect();
    assert_eq!(words, ["pull 2: 4096", "pull 0: 8192", "pull 1: 4096", "pull 0: 12288"]);
}

#[test]
fn a_request_says_how_many_packets_are_owed() {
    let mut script = new_script();
    let mut request = Packet::new(PacketKind::Rts, PEER, HERE, 0);
    (request.index, request.count, request.message_bytes, request.tag) = (4, 4, 20 * FULL, 70);
    assert_eq!(script.receive_and_send(us(1), request), ["ack", "pull 0: 4096"]);
    let words: Vec<String> =
        script.effects_until(us(1) + PULL).into_iter().flat_map(|(_, words)| words).collect();
    // Two pulls of 4096 pay for them, the second after one pull's time.
    assert_eq!(words, ["pull 0: 8192"], "four packets are 6152 bytes");
    let mut sender = self::new_script();
    assert_eq!(sender.open_message(us(0), message_of(4)).len(), 4);
    let silence: Vec<String> =
        sender.effects_until(us(80)).into_iter().flat_map(|(_, words)| words).collect();
    assert_eq!(silence, ["rts 4"], "two largest round trips; without credit nothing leaves again");
}
