//! Packets and parameters at random, for tests over the registry of disciplines.
#![allow(dead_code, unreachable_pub, reason = "every test file uses its own part of this")]

use headway_fabric::Packets;
use headway_packet::{Ecn, HostId, Packet, PacketFlags, PacketKind};
use headway_params::{ParamKind, ParamSpec, ParamValue};
use headway_units::Time;

/// Packets by number, and where a handle is: the driver's half of a port's contract.
pub struct Pool(pub Vec<Packet>);

impl Packets<u32> for Pool {
    fn packet(&mut self, handle: u32) -> &mut Packet {
        &mut self.0[handle as usize]
    }
}

/// A random value within a range: small ones are likely, because they are where rules change their mind.
pub fn within(spec: &ParamSpec, lot: u64) -> ParamValue {
    match spec.kind {
        ParamKind::Bool => ParamValue::Bool(lot & 1 == 1),
        ParamKind::Rate { min, max } => ParamValue::Rate(if lot & 1 == 1 { max } else { min }),
        ParamKind::Int { min, max } | ParamKind::Bytes { min, max } | ParamKind::Length { min, max } => {
            ParamValue::Int(min + (lot >> 8) % (max - min).saturating_add(1).min(1 + lot % 12))
        }
        ParamKind::Float { min, max } => ParamValue::Float(min + (max - min) * (lot % 1001) as f64 / 1000.0),
        ParamKind::Time { min, max } => {
            let time = min + Time::ns((lot >> 8) % [1, 2_000, 200_000][(lot % 3) as usize]);
            ParamValue::Time(if lot.is_multiple_of(16) { max } else { time })
        }
        ParamKind::Choice(words) => ParamValue::Choice(words[lot as usize % words.len()].into()),
    }
}

/// A random packet of one of six flows, as transports make them and as they never would.
pub fn packet(number: u32, lot: u64) -> Packet {
    let bits = |from: u32, count: u32| (lot >> from) & ((1 << count) - 1);
    let kind = match bits(0, 2) {
        0 => PacketKind::ALL[bits(2, 8) as usize % PacketKind::ALL.len()],
        1 => PacketKind::Credit,
        _ => PacketKind::Data,
    };
    let mut packet = Packet::new(kind, HostId(1), HostId(2), (lot >> 16) as u32 % 3);
    (packet.index, packet.entropy) = (number, (lot >> 40) as u32 % 2);
    packet.payload = if packet.is_data() { [1460, 1, 700, 1460][bits(10, 2) as usize] } else { 0 };
    packet.wire = (packet.payload + 78).max(84);
    packet.priority = [0, 1, 2, bits(12, 8) as u8][bits(20, 2) as usize];
    packet.ecn = Ecn::from_bits(bits(22, 2) as u8);
    packet.flags = PacketFlags(bits(24, 8) as u8);
    (packet.token, packet.remaining) = (bits(32, 16) as u32 * 1000 + 1, bits(48, 16) as u32);
    packet
}
