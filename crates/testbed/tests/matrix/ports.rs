//! Changes that ports made to frames, with a key: how many they marked, cut and priced, in comparison with the
//! simulator and with ports that do not price.

use crate::judge::Pair;
use headway_capture::FRAME_HEADERS;
use headway_fabric::{Rewrite, registry};
use headway_packet::{Hop, PacketFlags, PacketKind, PacketView, WIRE_HEADER};
use headway_transport::registry::Entry;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::fs::File;
use std::path::Path;

/// Bytes of a frame before its datagram.
const FRONT: usize = FRAME_HEADERS - WIRE_HEADER;
/// Bytes of the longest packet on the wire.
const MOST_BYTES: u64 = 1538;
/// Packets of the simulator from which on the real switch must have changed some.
const FEW: u64 = 10;

/// True if the ports that a transport is meant for write this into packets.
pub fn ports_write(entry: &Entry, what: Rewrite) -> bool {
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
    pub fn from_capture(capture: &Path, [there, back]: [u32; 2], link: u32) -> Prices {
        let mut reader = PcapNgReader::new(File::open(capture).expect("a capture")).expect("pcapng");
        let mut prices = Prices::default();
        while let Some(block) = reader.next_block() {
            let Block::EnhancedPacket(frame) = block.expect("whole blocks") else { continue };
            let datagram = frame.data.get(FRONT..).unwrap_or_default();
            // The capture has headers only; a whole packet would not parse.
            let Ok(packet) = PacketView::parse_header(datagram).map(|view| view.to_packet()) else {
                continue;
            };
            let asks = packet.kind == PacketKind::Data && packet.flags.has_all(PacketFlags::RATE);
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

/// Failures in the prices of crowded ports, and of others that do not price.
pub fn find_misprices(priced: &Prices, control: &Prices) -> Option<String> {
    let wrong = priced.less_than_the_link < FEW || priced.asked < FEW;
    if wrong {
        return Some(format!("two flows on one link were hardly told to send slower: {priced:?}"));
    }
    let wrong = control.less_than_asked > 0 || control.answers < FEW;
    wrong.then(|| format!("prices from ports that do not price: {control:?}"))
}

/// Stamps that answers brought back to senders, which ports had written into their data, from a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Echoes {
    /// Answers on their way back over the bottleneck.
    pub answers: u64,
    /// Those with a stamp of each of the two switches, the first of a port with the bottleneck's rate.
    pub whole: u64,
    /// Those whose stamp of the bottleneck contradicts one before it: less sent, or more than the link carries.
    pub impossible: u64,
    /// Bytes that waited at the bottleneck: the most while one flow had it, and while several had.
    pub alone: u64,
    pub shared: u64,
    /// Mean of the waiting bytes over the last third of the answers.
    pub settled: f64,
}

impl Echoes {
    /// Those in a capture, that come back over a link of this number, of a bottleneck of so many bits a second. The flow
    /// that begins with message `alone` has the link to itself.
    pub fn from_capture(capture: &Path, back: u32, bps: u64) -> Echoes {
        let mut reader = PcapNgReader::new(File::open(capture).expect("a capture")).expect("pcapng");
        let mut echoes = Echoes::default();
        let mut queues = Vec::new();
        let mut before: Option<Hop> = None;
        let mut flows = std::collections::BTreeSet::new();
        while let Some(block) = reader.next_block() {
            let Block::EnhancedPacket(frame) = block.expect("whole blocks") else { continue };
            let datagram = frame.data.get(FRONT..).unwrap_or_default();
            let Ok(view) = PacketView::parse_header(datagram) else { continue };
            let packet = view.to_packet();
            // The first message of a pair only says that they have met.
            let answers = matches!(packet.kind, PacketKind::Ack | PacketKind::Nack) && packet.message > 0;
            if !answers || frame.interface_id != back {
                continue;
            }
            echoes.answers += 1;
            flows.insert((packet.dst, packet.message));
            let Some([hop, _]) = view.port_stamps().and_then(|s| <[Hop; 2]>::try_from(s.filled_hops()).ok())
            else {
                continue;
            };
            // Stamps carry rates in kb/s.
            echoes.whole += u64::from(hop.rate.bps() / 1000 == bps / 1000);
            // Two packets more than the rate allows: those that were being sent at the two instants.
            let most = |one: &Hop| hop.rate.bytes_in(hop.at.saturating_sub(one.at)) + 2 * MOST_BYTES;
            let follows =
                // An earlier stamp after a later one is a reordered answer, and says nothing.
                |one: &Hop| hop.at < one.at || (hop.sent >= one.sent && hop.sent - one.sent <= most(one));
            echoes.impossible += u64::from(!before.as_ref().is_none_or(follows));
            before = Some(hop);
            let largest = if flows.len() == 1 { &mut echoes.alone } else { &mut echoes.shared };
            *largest = hop.queue.max(*largest);
            queues.push(hop.queue as f64);
        }
        let last = &queues[queues.len() - queues.len() / 3..];
        echoes.settled = last.iter().sum::<f64>() / last.len().max(1) as f64;
        echoes
    }
}

/// Failures in the stamps that came back over a crowded port. Two flows that begin at the rate of their link build a
/// queue there; a sender that hears of it sends less, and it goes.
pub fn find_unstamped(echoes: &Echoes) -> Option<String> {
    let wrong = echoes.answers < FEW
        || echoes.whole < echoes.answers
        || echoes.impossible > 0
        || echoes.shared < 10 * MOST_BYTES
        || echoes.shared < 2 * echoes.alone
        || echoes.settled * 2.0 > echoes.shared as f64;
    wrong.then(|| format!("stamps: {echoes:?}"))
}

/// Changes that ports made to sealed packets, as text, and those that are missing.
pub fn port_changes(pair: &Pair) -> (String, Option<String>) {
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
