//! What ports wrote into frames, with a key: how many they marked, cut and priced, beside the simulator, and beside ports
//! that do not price.

use crate::judge::Pair;
use headway_capture::FRAME_HEADERS;
use headway_fabric::{Rewrite, registry};
use headway_packet::{PacketFlags, PacketKind, PacketView, WIRE_HEADER};
use headway_transport::registry::Entry;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::fs::File;
use std::path::Path;

/// Bytes of a frame before its datagram.
const FRONT: usize = FRAME_HEADERS - WIRE_HEADER;
/// Packets of the simulator from which on the real switch must have changed some.
const FEW: u64 = 10;

/// Whether the ports that a transport is meant for write this into packets.
pub fn write(entry: &Entry, what: Rewrite) -> bool {
    let own = registry::all().into_iter().find(|(info, _)| info.name == entry.info.discipline);
    own.is_some_and(|(info, _)| info.rewrites.contains(&what))
}

/// Rates that came back to senders, from a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prices {
    /// Packets at the bottleneck that ask for a rate.
    pub asked: u64,
    /// Answers on their way back from it.
    pub answers: u64,
    /// Answers with less than the sender asked for.
    pub less_than_asked: u64,
    /// Answers with less than the whole link.
    pub less_than_the_link: u64,
}

impl Prices {
    /// Those in a capture, of a bottleneck with these numbers there and back, that carries so many kilobits a second.
    pub fn read(capture: &Path, [there, back]: [u32; 2], link: u32) -> Prices {
        let mut reader = PcapNgReader::new(File::open(capture).expect("a capture")).expect("pcapng");
        let mut prices = Prices::default();
        while let Some(block) = reader.next_block() {
            let Block::EnhancedPacket(frame) = block.expect("whole blocks") else { continue };
            let datagram = frame.data.get(FRONT..).unwrap_or_default();
            let Ok(packet) = PacketView::parse_header(datagram).map(|view| view.packet()) else { continue };
            let asks = packet.kind == PacketKind::Data && packet.flags.has(PacketFlags::RATE);
            prices.asked += u64::from(asks && frame.interface_id == there);
            if packet.kind == PacketKind::Ack && frame.interface_id == back {
                prices.answers += 1;
                prices.less_than_asked += u64::from(packet.remaining < u32::MAX);
                prices.less_than_the_link += u64::from(packet.remaining < link);
            }
        }
        prices
    }
}

/// What is wrong with the prices of crowded ports, and of others that do not price.
pub fn misprices(priced: &Prices, control: &Prices) -> Option<String> {
    let wrong = priced.less_than_the_link < FEW || priced.asked < FEW;
    if wrong {
        return Some(format!("two flows on one link were hardly told to send slower: {priced:?}"));
    }
    let wrong = control.less_than_asked > 0 || control.answers < FEW;
    wrong.then(|| format!("prices from ports that do not price: {control:?}"))
}

/// What ports did to sealed packets, as text, and what is missing of it.
pub fn changes(pair: &Pair) -> (String, Option<String>) {
    let count = |of: fn(&headway_fabric::PortCounters) -> u64| {
        [&pair.real, &pair.simulated].map(|o| o.links.iter().map(|l| of(&l.counters)).sum::<u64>())
    };
    let kinds =
        [("marked", count(|c| c.marked)), ("cut", count(|c| c.trimmed)), ("returned", count(|c| c.returned))];
    let seen =
        kinds.iter().filter(|(_, [real, _])| *real > 0).map(|(what, [real, _])| format!("{real} {what}"));
    let missing = kinds.iter().find(|(_, [real, simulated])| *real == 0 && *simulated >= FEW);
    let text = seen.collect::<Vec<_>>().join(", ");
    (text, missing.map(|(what, [_, simulated])| format!("none {what}, {simulated} in the simulator")))
}
