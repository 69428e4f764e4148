//! Properties of the switch's core, whatever frames come from hosts. The fuzz target and the test that replays the
//! corpus run this same function.
//!
//! The input chooses a discipline of the registry and small buffers, then is a row of steps: a good frame with any
//! Headway header, any bytes, and time. Buffers are so small that frames are displaced, cut and returned.

use headway_fabric::{Buffer, Limit, registry};
use headway_network::topology::Dumbbell;
use headway_network::{FabricSpec, LinkSpec, Network, Routing, TopologySpec};
use headway_packet::{Envelope, HostId, PacketKind, PacketView, Sizes, WIRE_HEADER, WIRE_VERSION};
use headway_switch::{Addresses, Core, CoreConfig, inspect, parse};
use headway_units::{Rate, Time};
use std::sync::Arc;

const HOSTS: u32 = 4;
const SIZES: Sizes = Sizes { payload: 1388, header: 112, framing: 38, control: 150 };
/// Steps of one input at most.
const MOST_STEPS: usize = 400;

/// Reads an input from the front; zeros beyond its end.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (front, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        front
    }

    fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }
}

/// Panics when the switch breaks its contract.
pub fn check(bytes: &[u8]) {
    let mut input = Input(bytes);
    let mut core = core(input.byte(), input.byte(), input.byte());
    let mut now = Time::ZERO;
    let (mut taken, mut left) = (0, 0);
    for _ in 0..MOST_STEPS {
        if input.0.is_empty() {
            break;
        }
        let host = u32::from(input.byte()) % HOSTS;
        match input.byte() % 8 {
            0 => {
                let length = usize::from(input.byte()) * 8;
                taken += u64::from(core.receive(now, host, input.take(length)).is_ok());
            }
            1 => now += Time::us(u64::from(input.byte()) * 40),
            _ => {
                let frame = good(&mut input, host);
                assert!(inspect(&frame, host, &Addresses::new(HOSTS)).is_ok(), "a good frame is refused");
                taken += u64::from(core.receive(now, host, &frame).is_ok());
            }
        }
        core.advance(now);
        left += drain(&mut core);
    }
    while let Some(at) = core.next_event() {
        core.advance(at);
        left += drain(&mut core);
    }
    assert_eq!(core.held(), 0, "every frame is freed, once");
    // This checks the identities of every port.
    let dropped: u64 =
        core.links(now).expect("counters add up").iter().map(|link| link.counters.drops()).sum();
    assert_eq!(taken, left + dropped + core.counters().unroutable, "frames are lost, or double");
}

fn drain(core: &mut Core) -> u64 {
    let mut frames = 0;
    while let Some(bytes) = core.poll_frame(|_, _, bytes| bytes.to_vec()) {
        let hosts = Addresses::new(HOSTS);
        let source = (0..HOSTS).find(|&host| parse(&bytes, host, &hosts).is_ok());
        assert!(source.is_some(), "what leaves the switch is a frame that it would take");
        frames += 1;
    }
    frames
}

fn core(name: u8, data: u8, control: u8) -> Core {
    let names = registry::NAMES;
    let link = |mbps: u64| LinkSpec {
        rate: Rate::new(mbps * 1_000_000).unwrap_or(Rate::gbps(1)),
        delay: Time::us(3),
    };
    let topology = TopologySpec::Dumbbell(Dumbbell {
        senders: 2,
        receivers: 2,
        access: link(100),
        bottleneck: link(10),
    });
    let limit = |n: u8| Limit::Packets(1 + u32::from(n % 8));
    let fabric = FabricSpec {
        discipline: names[usize::from(name) % names.len()].into(),
        params: Vec::new(),
        buffer: Buffer { data: limit(data), control: limit(control) },
        routing: Routing::Ecmp,
        sizes: SIZES,
        switch_latency: Time::ZERO,
        at: Vec::new(),
        forwarding: headway_network::Forwarding::StoreAndForward,
        host_queue: None,
        bonded: false,
        altered: Vec::new(),
        pfc: None,
        memory: None,
    };
    let network = Arc::new(Network::build(&topology, &fabric).expect("a network"));
    let addresses = Addresses::new(HOSTS);
    Core::new(CoreConfig { network, seed: 1, addresses, sample: None, faults: Vec::new() }).expect("a core")
}

/// A frame from `host` to another, with any header that parses behind correct IP and UDP headers.
fn good(input: &mut Input<'_>, host: u32) -> Vec<u8> {
    let to = (host + 1 + u32::from(input.byte()) % (HOSTS - 1)) % HOSTS;
    let mut header = [0; WIRE_HEADER];
    let given = input.take(10);
    header[..given.len()].copy_from_slice(given);
    header[0] = WIRE_VERSION;
    header[1] %= PacketKind::ALL.len() as u8;
    (header[3], header[5]) = (header[3] & 3, header[5] % Envelope::ALL.len() as u8);
    let payload = if header[1] == 0 { usize::from(header[6]) * 4 } else { 0 };
    header[6..8].fill(0);
    header[8..10].copy_from_slice(&1538u16.to_be_bytes());
    header[10..12].copy_from_slice(&(payload as u16).to_be_bytes());
    let rate = header[2];
    header[32..40].fill(rate);
    let around = PacketView::parse_header(&header).map_or(0, |view| {
        let kind = view.to_packet().kind;
        view.envelope().bytes_before(kind) + view.envelope().bytes_after(kind)
    });
    let datagram = [&header[..], &vec![header[4]; around + payload]].concat();
    framed(HostId(host), HostId(to), &datagram)
}

/// Ethernet, IPv4 and UDP headers, without a UDP checksum, before a datagram.
fn framed(from: HostId, to: HostId, datagram: &[u8]) -> Vec<u8> {
    let length = |more: usize| ((datagram.len() + more) as u16).to_be_bytes();
    let mut ip = [0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    ip[2..4].copy_from_slice(&length(28));
    ip[12..16].copy_from_slice(&from.ipv4_address());
    ip[16..20].copy_from_slice(&to.ipv4_address());
    let words = ip.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
    let sum = words.sum::<u32>();
    let sum = !(((sum & 0xffff) + (sum >> 16)) as u16);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let ethernet = [2, 0, 0, 0, 0, to.0 as u8, 2, 0, 0, 0, 0, from.0 as u8, 8, 0];
    let ports = [0x48, 0x57, 0x48, 0x57];
    [&ethernet[..], &ip, &ports, &length(8), &[0, 0], datagram].concat()
}
