//! NDP over trimming ports: the authors' published values, and what the protocol promises in a network.

mod common;

use common::{flow, link, outcome, param, spec};
use headway_fabric::{Buffer, Limit};
use headway_packet::Sizes;
use headway_sim::{FlowState, Outcome, Routing, RunSpec, TopologySpec};
use headway_units::{ParamValue, Time};

/// The authors' simulator: 9 kB packets with a header of 64 B, 64 B of control.
const SIZES: Sizes = Sizes { payload: 9000, header: 64, framing: 0, control: 64 };

/// NDP with its own ports: eight packets of data, as many bytes of headers, paths chosen by senders.
fn ndp(topology: TopologySpec, flows: Vec<headway_sim::FlowSpec>, window: u64) -> RunSpec {
    let mut run = spec(topology, "ndp", flows, Time::s(1));
    run.fabric.sizes = SIZES;
    run.fabric.buffer = Buffer { data: Limit::Packets(8), control: Limit::Bytes(8 * 9064) };
    run.fabric.routing = Routing::Pinned;
    param(run, "window", ParamValue::Int(window))
}

/// `k`-ary fat-tree, 10 Gb/s, 1 us a link.
fn fat_tree(k: u32) -> TopologySpec {
    let link = link(10, Time::us(1));
    TopologySpec::FatTree { k, hosts_per_edge: k / 2, host: link, fabric: link }
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
        assert_eq!(out.flows[0].retransmitted, 0);
    }
}

#[test]
fn stop_and_wait_takes_1668_125_us() {
    // 29 round trips of 49.5072 us out and 6.3072 us back, and one way more: 1668.1248 us, which the authors
    // publish to the nanosecond.
    let out = outcome(&ndp(fat_tree(4), vec![flow(0, 15, 270_000, Time::ZERO)], 1));
    assert_eq!(last(&out), Time(1_668_124_800));
}
