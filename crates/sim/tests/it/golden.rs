//! Values with known exact answers.

use crate::common;

use common::{flow, link, outcome, spec};
use headway_network::topology::{Dumbbell, Graph};
use headway_network::{Network, TopologySpec};
use headway_packet::Sizes;
use headway_units::{Rate, Time};

/// Hosts 0 and 1 joined by 1, 2 or 6 links.
fn line(links: u32, delay: Time) -> TopologySpec {
    let switches = links - 1;
    let node = |i: u32| {
        if i == 0 {
            0
        } else if i == links {
            1
        } else {
            1 + i
        }
    };
    let links = (0..links).map(|i| (node(i), node(i + 1), link(10, delay))).collect();
    TopologySpec::Graph(Graph { hosts: 2, switches, links, back: Vec::new() })
}

#[test]
fn ideal_time_of_thirty_9064_byte_packets_over_six_links_is_259_792_us() {
    // The NDP authors' published single-flow completion time: 10 Gb/s, six links of 1 us.
    let mut run = spec(line(6, Time::us(1)), "amrt", vec![], Time::s(1));
    run.fabric.sizes = Sizes { payload: 9000, header: 64, framing: 0, control: 64 };
    let network = Network::build(&run.topology, &run.fabric).expect("a network");
    // All packets on one link, one more on each of five others, and six delays.
    assert_eq!(network.ideal_fct(0, 1, 30 * 9000), Time::ns(259_792));
}

#[test]
fn a_lone_flow_takes_the_ideal_time_to_the_picosecond() {
    // pHost announces a message first: its data waits for one control packet at its own link.
    let announcement = Rate::gbps(10).time_of(84);
    for (transport, ahead) in [("amrt", Time::ZERO), ("phost", announcement)] {
        for links in [1, 2, 6] {
            for bytes in [1, 1460, 1461, 14_600, 100_000, 1_000_000, 10_000_001] {
                let run = spec(
                    line(links, Time::us(5)),
                    transport,
                    vec![flow(0, 1, bytes, Time::us(3))],
                    Time::s(1),
                );
                let out = outcome(&run);
                let fct = out.flows[0].finish.expect("it finishes") - Time::us(3);
                assert_eq!(fct, out.flows[0].ideal + ahead, "{transport}: {bytes} bytes over {links} links");
                assert_eq!(out.flows[0].retransmitted.expect("counted"), 0);
            }
        }
    }
}

#[test]
fn ideal_time_follows_the_recursion_packet_by_packet() {
    // E[h][i] = max(E[h-1][i] + d, E[h][i-1]) + w_i / C_h over links of different rates, with latency.
    let rates = [10u64, 40, 100, 25];
    let delays = [3u64, 1, 2, 7];
    let specs: Vec<_> = (0..4).map(|i| link(rates[i], Time::us(delays[i]))).collect();
    let node = |i: usize| [0, 2, 3, 4, 1][i];
    let links = (0..4).map(|i| (node(i), node(i + 1), specs[i])).collect();
    let topology = TopologySpec::Graph(Graph { hosts: 2, switches: 3, links, back: Vec::new() });
    let mut run = spec(topology, "amrt", vec![], Time::s(1));
    run.fabric.switch_latency = Time::ns(450);
    let network = Network::build(&run.topology, &run.fabric).expect("a network");
    let sizes = Sizes::default();
    for bytes in [1u64, 1460, 1500, 14_601, 123_456] {
        let n = sizes.packets_of(bytes);
        let mut ends = vec![Time::ZERO; n as usize];
        for (h, spec) in specs.iter().enumerate() {
            let mut previous = Time::ZERO;
            for (i, end) in ends.iter_mut().enumerate() {
                let before = if h == 0 { Time::ZERO } else { specs[h - 1].delay + Time::ns(450) };
                let wire = sizes.data_wire(sizes.payload_of(bytes, i as u64));
                *end = (*end + before).max(previous) + spec.rate.time_of(wire.into());
                previous = *end;
            }
        }
        let last = *ends.last().expect("a packet") + specs[3].delay;
        assert_eq!(network.ideal_fct(0, 1, bytes), last, "{bytes} bytes");
    }
}

#[test]
fn the_bandwidth_delay_product_counts_serialisation() {
    // 40 us of propagation over three links at 10 Gb/s: 43.9 us and 36 packets, not 33.
    let delay = Time(40_000_000 / 6);
    let topology = TopologySpec::Dumbbell(Dumbbell {
        senders: 1,
        receivers: 1,
        access: link(10, delay),
        bottleneck: link(10, delay),
    });
    let run = spec(topology, "amrt", vec![], Time::s(1));
    let network = Network::build(&run.topology, &run.fabric).expect("a network");
    let path = network.path(0, 1);
    assert_eq!(path.base_rtt.0 / 1_000_000, 43);
    assert_eq!(path.bdp_packets(Rate::gbps(10), &Sizes::default()), 36);
}
