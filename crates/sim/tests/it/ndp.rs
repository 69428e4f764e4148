//! NDP over trimming ports: the authors' published values, and what the protocol promises in a network.

use crate::common;

use common::{flow, link, outcome, param, spec};
use headway_fabric::{Buffer, Limit};
use headway_network::topology::FatTree;
use headway_network::{FlowState, Outcome, Routing, RunSpec, TopologySpec};
use headway_packet::Sizes;
use headway_params::ParamValue;
use headway_units::Time;

/// The authors' simulator: 9 kB packets with a header of 64 B, 64 B of control.
const SIZES: Sizes = Sizes { payload: 9000, header: 64, framing: 0, control: 64 };

/// NDP with its own ports: eight packets of data, as many bytes of headers, paths chosen by senders.
fn ndp(topology: TopologySpec, flows: Vec<headway_network::FlowSpec>, window: u64) -> RunSpec {
    let mut run = spec(topology, "ndp", flows, Time::s(1));
    run.fabric.sizes = SIZES;
    run.fabric.buffer = Buffer { data: Limit::Packets(8), control: Limit::Bytes(8 * 9064) };
    run.fabric.routing = Routing::Pinned;
    param(run, "window", ParamValue::Int(window))
}

/// `k`-ary fat-tree, 10 Gb/s, 1 us a link.
fn fat_tree(k: u32) -> TopologySpec {
    let link = link(10, Time::us(1));
    TopologySpec::FatTree(FatTree { k, hosts_per_edge: k / 2, host: link, fabric: link })
}

fn last(out: &Outcome) -> Time {
    assert!(out.flows.iter().all(|f| f.state == FlowState::Done), "every flow finishes");
    out.flows.iter().filter_map(|f| f.finish).max().expect("a flow")
}

#[test]
fn a_lone_flow_of_thirty_9000_byte_packets_takes_259_792_us() {
    // The authors' shipped results for one sender, with windows of 23 and of 10 packets.
    for window in [30, 23, 10] {
        let out = outcome(&ndp(fat_tree(4), vec![flow(0, 15, 270_000, Time::ZERO)], window));
        assert_eq!(last(&out), Time::ns(259_792), "window {window}");
        assert_eq!(out.flows[0].retransmitted.expect("counted"), 0);
    }
}

#[test]
fn stop_and_wait_takes_1668_125_us() {
    // 29 round trips of 49.5072 us out and 6.3072 us back, and one way more: 1668.1248 us, which the authors
    // publish to the nanosecond.
    let out = outcome(&ndp(fat_tree(4), vec![flow(0, 15, 270_000, Time::ZERO)], 1));
    assert_eq!(last(&out), Time(1_668_124_800));
}

/// `n` hosts spread over all other pods send `bytes` to host 0 at once.
fn incast(k: u32, n: u32, bytes: u64, window: u64) -> RunSpec {
    let (pod, hosts) = (k * k / 4, k * k * k / 4);
    let senders = (0..n).map(|i| pod + i * (hosts - pod) / n);
    ndp(fat_tree(k), senders.map(|s| flow(s, 0, bytes, Time::ZERO)).collect(), window)
}

/// Time of the last flow over the optimum that the authors' scripts use: all packets one after the other on
/// the receiver's link, and one packet's way there.
fn overhead(n: u32, out: &Outcome) -> f64 {
    // 30 packets with their headers.
    let optimum = Time(271_920 * 800) * u64::from(n) + Time::ns(42_256);
    100.0 * (last(out).0 as f64 / optimum.0 as f64 - 1.0)
}

/// The ports of the authors' simulator: 72 kB of data, the packet on the wire included.
fn authors(mut run: RunSpec) -> RunSpec {
    run.fabric.params.push(("count_wire".into(), ParamValue::Choice("on".into())));
    run.fabric.buffer = Buffer { data: Limit::Bytes(72_000), control: Limit::Bytes(72_000) };
    run
}

/// Overheads in per cent of one incast under several seeds, which decide coins and paths.
fn overheads(mut run: RunSpec, n: u32, seeds: std::ops::RangeInclusive<u64>) -> Vec<f64> {
    let one = |seed| {
        run.seed = seed;
        overhead(n, &outcome(&run))
    };
    seeds.map(one).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn incasts_of_270_kb_are_as_far_above_the_optimum_as_published() {
    let published = [
        (1u64, vec![(1u32, 542.1), (2, 250.991), (4, 85.212), (7, 9.369), (10, 0.005), (100, 0.026)]),
        (10, vec![(2, 0.075), (10, 0.853), (50, 0.235), (100, 0.278), (400, 0.087)]),
        (23, vec![(2, 0.354), (50, 0.542), (100, 0.344), (400, 0.096)]),
    ];
    for (window, list) in published {
        for (n, theirs) in list {
            let seeds = if n < 50 { 1..=10 } else { 1..=2 };
            let all = overheads(authors(incast(16, n, 270_000, window)), n, seeds);
            // A published number is of one run: where coins and paths decide, it is one of those that seeds give.
            let least = all.iter().copied().fold(f64::MAX, f64::min);
            let most = all.iter().copied().fold(0.0, f64::max);
            let one_of_ours = (least - 0.05..=most + 0.05).contains(&theirs);
            assert!(
                (mean(&all) - theirs).abs() < 0.3 || one_of_ours,
                "window {window}, {n} senders: {all:.3?} %, theirs {theirs} %"
            );
        }
    }
}

#[test]
fn where_the_coin_decides_the_overhead_is_as_published_on_average() {
    // A window of 23 and 8 to 20 senders: the authors' fourteen runs lie between 0.50 and 1.69 %, twenty
    // senders at 0.53 and 1.56 %.
    for (n, theirs) in [(10, 1.502), (20, 1.556)] {
        let ours = overheads(authors(incast(16, n, 270_000, 23)), n, 1..=10);
        assert!((mean(&ours) - 1.175).abs() < 0.3, "{n} senders: {ours:?}");
        assert!(ours.iter().any(|o| (o - theirs).abs() < 0.3), "{n} senders: {ours:?}");
    }
}

#[test]
fn the_papers_own_ports_do_as_well() {
    for (n, theirs) in [(2, 0.354), (50, 0.542), (100, 0.344), (400, 0.096)] {
        let seeds = if n < 50 { 1..=10 } else { 1..=2 };
        let ours = mean(&overheads(incast(16, n, 270_000, 23), n, seeds));
        assert!((ours - theirs).abs() < 0.3, "{n} senders: {ours:.3} %, theirs {theirs} %");
    }
}

#[test]
fn data_is_never_dropped_and_queues_hold_eight_packets() {
    let out = outcome(&incast(16, 400, 270_000, 30));
    let counters = || out.links.iter().map(|l| &l.counters);
    assert_eq!(counters().map(|c| c.drops()).sum::<u64>(), 0);
    assert!(
        counters().map(|c| c.returned).sum::<u64>() > 0 && counters().map(|c| c.trimmed).sum::<u64>() > 0
    );
    assert_eq!(counters().map(|c| c.queue_max_packets).max(), Some(8));
    let trims: u64 = out.flows.iter().map(|f| u64::from(f.trims.expect("counted"))).sum();
    assert_eq!(trims, counters().map(|c| c.trimmed).sum::<u64>(), "trims are counted where they belong");
}

#[test]
fn an_incast_of_100_senders_of_135_kb_ends_within_two_per_cent_of_the_optimum() {
    // NDP Figure 4: the last packet after 11,055 us, which is within 2 %.
    let out = outcome(&incast(12, 100, 135_000, 30));
    let took = last(&out).0 as f64 / 1e6;
    // 100 times 15 packets.
    let optimum = 1500.0 * 7.2512 + 42.256;
    println!("last after {took:.1} us, optimum {optimum:.1} us");
    assert!(took < optimum * 1.02);
}

#[test]
fn a_permutation_fills_the_network() {
    // NDP §6.2: 92 to 95 % with eight-packet queues, 9 kB packets and windows of 30.
    let hosts = 128;
    let flows = (0..hosts).map(|h| flow(h, (h + 35) % hosts, 9_000_000, Time::ZERO)).collect();
    let out = outcome(&ndp(fat_tree(8), flows, 30));
    let alone = Time(1000 * 7_251_200);
    let share = |f: &headway_network::FlowRecord| alone.0 as f64 / f.finish.expect("done").0 as f64;
    let shares: Vec<f64> = out.flows.iter().map(share).collect();
    let slowest = shares.iter().copied().fold(1.0, f64::min);
    println!("mean {:.3}, slowest {slowest:.3}", mean(&shares));
    assert!(mean(&shares) > 0.92 && slowest > 0.85);
}

/// 200 kB to a host that receives six long flows as well.
fn crowded(class: u16, order: &str) -> Time {
    let long = |i: u16| headway_network::FlowSpec {
        class: 1,
        ..flow(32 + 9 * u32::from(i), 0, 3_600_000, Time::ZERO)
    };
    let mut flows: Vec<_> = (0..6).map(long).collect();
    flows.push(headway_network::FlowSpec { class, ..flow(120, 0, 200_000, Time::us(500)) });
    let run = param(ndp(fat_tree(8), flows, 30), "pull_order", ParamValue::Choice(order.into()));
    outcome(&run).flows[6].finish.expect("done") - Time::us(500)
}

#[test]
fn a_receiver_prefers_a_class_if_it_is_told_to() {
    // NDP §5.1, on Linux hosts: 50 us more than alone with priority, 500 us without. Here the first window
    // meets a link that the others have pulled full for a round trip to come.
    let alone = outcome(&ndp(fat_tree(8), vec![flow(120, 0, 200_000, Time::ZERO)], 30));
    let alone = last(&alone);
    let [first, fair, same] = [(0, "classes"), (0, "fair"), (1, "classes")].map(|(c, o)| crowded(c, o));
    println!("alone {alone}, first {first}, fair {fair}, same class {same}");
    assert!(first < alone + Time::us(150), "{first} against {alone}");
    assert!(fair > first + Time::us(300) && same > first + Time::us(300), "{fair}, {same} against {first}");
}
