//! Hosts with several interfaces, and interfaces of several ports: which wire a message takes, and what wires carry together.

use super::common::{flow, link, outcome, param, spec};
use headway_fabric::DropReason;
use headway_network::topology::{DualHomed, Graph, Rail};
use headway_network::{
    Down, Fault, FaultSpec, FlowState, LinkChoice, Outcome, PfcParams, Routing, RunSpec, TopologySpec,
};
use headway_params::ParamValue;
use headway_sim::{Around, run, run_within};
use headway_units::{Rate, Time};

fn dual() -> TopologySpec {
    let link = link(100, Time::us(1));
    DualHomed { racks: 2, hosts_per_rack: 4, spines: 4, host: link, spine: link }.into()
}

fn rail(planes: u32) -> TopologySpec {
    let (node, nic) = (link(900, Time::ns(100)), link(100, Time::ns(500)));
    Rail { groups: 1, nodes: 2, gpus: 4, planes, spines: 4, node, rail: nic, spine: nic }.into()
}

/// One message from the first host to another, of interfaces whose ports are driven together.
fn alone(topology: TopologySpec, transport: &str, routing: Routing, (dst, bytes): (u32, u64)) -> RunSpec {
    let mut run = spec(topology, transport, vec![flow(0, dst, bytes, Time::ZERO)], Time::s(1));
    (run.fabric.routing, run.fabric.bonded) = (routing, true);
    run
}

/// Payload that left a host, by link.
fn sent(outcome: &Outcome, host: &str) -> Vec<(String, u64)> {
    let own = outcome.links.iter().filter(|link| link.name.starts_with(host));
    own.map(|link| (link.name.clone(), link.counters.payload_bytes)).collect()
}

/// Application bits per second of the first flow.
fn goodput(outcome: &Outcome) -> f64 {
    let flow = &outcome.flows[0];
    assert_eq!(flow.state, FlowState::Done);
    8.0 * flow.delivered as f64 / flow.fct().expect("it is done").as_secs_f64()
}

#[test]
fn a_gpu_reaches_its_node_over_one_interface_and_the_rest_over_another() {
    let flows = vec![
        flow(0, 1, 100_000, Time::ZERO),
        flow(0, 4, 200_000, Time::ZERO),
        flow(0, 7, 50_000, Time::ZERO),
    ];
    let out = outcome(&spec(rail(1), "dctcp", flows, Time::s(1)));
    assert_eq!(sent(&out, "h0->"), [("h0->node0".into(), 100_000), ("h0->leaf0.0.0".into(), 250_000)]);
    let through =
        |name: &str| out.links.iter().find(|link| link.name == name).map(|l| l.counters.payload_bytes);
    assert_eq!([through("leaf0.0.0->h4"), through("leaf0.0.3->h7")], [Some(200_000), Some(50_000)]);
}

#[test]
fn transports_of_several_paths_fill_both_ports_of_a_host() {
    for (transport, routing) in [
        ("ndp", Routing::Ecmp),
        ("ndp", Routing::Spray),
        ("homa", Routing::Spray),
        ("mptcp-lia", Routing::Pinned),
        ("proactmp", Routing::Pinned),
    ] {
        for (topology, dst) in [(dual(), 5), (rail(2), 6)] {
            // On the rail a subflow of MPTCP loses packets in slow start, and LIA lets it grow slowly next to a large window.
            if transport.starts_with("mptcp") && dst == 6 {
                continue;
            }
            let mut run = alone(topology, transport, routing, (dst, 20_000_000));
            if transport.starts_with("mptcp") {
                // A subflow for each pair of addresses.
                run = param(run, "path_manager", ParamValue::Choice("full-mesh".into()));
            }
            let out = outcome(&run);
            let got = goodput(&out) / 1e9;
            // Coupled subflows take some time to open their windows.
            let least = if transport.starts_with("mptcp") { 105.0 } else { 150.0 };
            assert!(
                (least..200.0).contains(&got),
                "{transport}, {routing:?}: {got} Gb/s over two ports of 100"
            );
            let all: Vec<f64> = sent(&out, "h0->leaf").iter().map(|(_, bytes)| *bytes as f64).collect();
            let share = all[0] / all.iter().sum::<f64>();
            assert!((share - 0.5).abs() < 0.2, "{transport}: {all:?}");
        }
    }
}

#[test]
fn a_flow_that_takes_one_path_takes_one_port() {
    let mut run = alone(dual(), "dctcp", Routing::Ecmp, (5, 10_000_000));
    run.fabric.bonded = false;
    run.flows = (0..40).map(|i| flow(i % 4, 4 + i % 4, 300_000, Time::us(100) * u64::from(i))).collect();
    let out = outcome(&run);
    let loads: Vec<u64> = sent(&out, "h0->").into_iter().map(|(_, bytes)| bytes / 300_000).collect();
    // Every fourth of 40 messages leaves this host.
    assert_eq!(loads.iter().sum::<u64>(), 10, "whole messages: {loads:?}");
    assert!(loads.iter().all(|load| *load > 0), "some by either port: {loads:?}");
}

#[test]
fn a_lone_message_of_several_ports_is_measured_by_all_of_them() {
    let out = outcome(&alone(dual(), "ndp", Routing::Spray, (5, 10_000_000)));
    let slowdown = out.flows[0].slowdown().expect("it is done");
    // Switches spray at random over the receiver's two leaves.
    assert!((0.999..1.1).contains(&slowdown), "{slowdown}");
    let one = Rate::gbps(100).time_of(10_000_000 / 1460 * 1538);
    // About half of the time that one port takes.
    assert!(out.flows[0].ideal < one.saturating_mul(6) / 10, "{} of {one}", out.flows[0].ideal);
}

#[test]
fn a_port_whose_link_is_down_leaves_the_work_to_the_other() {
    for both in [
        vec!["h0->leaf0.0".to_string(), "leaf0.0->h0".into()],
        vec!["leaf1.1->h5".into(), "h5->leaf1.1".into()],
    ] {
        let mut run = alone(dual(), "ndp", Routing::Ecmp, (5, 10_000_000));
        let down = Down { switches: Vec::new(), at: Time::us(100), until: Time::MAX, converge: Time::us(10) };
        run.faults =
            vec![FaultSpec { links: LinkChoice::Some(both.clone()), kind: None, what: Fault::Down(down) }];
        let got = goodput(&outcome(&run)) / 1e9;
        assert!(
            (70.0..150.0).contains(&got),
            "{both:?}: {got} Gb/s, of two ports for a while and then of one"
        );
    }
}

#[test]
fn runs_are_the_same_on_any_number_of_threads() {
    let pairs = (0..32)
        .map(|i| flow(i % 8, (i * 3 + 1) % 8, 60_000 + 999 * u64::from(i), Time::us(u64::from(i) % 5)));
    let flows: Vec<_> = pairs.filter(|flow| flow.src != flow.dst).collect();
    for topology in [dual(), rail(1), rail(2)] {
        for (transport, routing, bonded) in
            [("ndp", Routing::Spray, true), ("ndp", Routing::Ecmp, true), ("dctcp", Routing::Ecmp, false)]
        {
            let mut run = spec(topology.clone(), transport, flows.clone(), Time::s(1));
            (run.fabric.routing, run.fabric.bonded) = (routing, bonded);
            let one = outcome(&run);
            assert!(one.flows.iter().all(|flow| flow.state == FlowState::Done), "{transport} {routing:?}");
            for threads in [2, 3] {
                let around = Around { threads, ..Around::default() };
                let several = run_within(&run, around, &mut |_| true).expect("a run");
                assert_eq!(one, several, "{transport} {routing:?} on {threads}");
            }
        }
    }
}

#[test]
fn a_host_of_a_graph_sends_by_the_link_that_leads_there() {
    // h1 is between two switches that nothing else joins.
    let (slow, fast) = (link(10, Time::us(1)), link(40, Time::us(1)));
    let links = vec![(0, 3, slow), (1, 3, slow), (1, 4, fast), (2, 4, fast)];
    let graph = |links| Graph { hosts: 3, switches: 2, links, back: Vec::new() };
    let flows = vec![flow(1, 0, 100_000, Time::ZERO), flow(1, 2, 100_000, Time::ZERO)];
    let out = outcome(&spec(graph(links.clone()).into(), "ndp", flows, Time::s(1)));
    assert_eq!(sent(&out, "h1->"), [("h1->s0".into(), 100_000), ("h1->s1".into(), 100_000)]);
    assert!(
        out.flows.iter().all(|flow| flow.slowdown().is_some_and(|slowdown| slowdown < 1.01)),
        "{:?}",
        out.flows
    );
    let apart = spec(graph(links).into(), "ndp", vec![flow(0, 2, 1000, Time::ZERO)], Time::s(1));
    let error = run(&apart, &mut |_| true).expect_err("nothing goes through a host").to_string();
    assert_eq!(error, "flow 0: host 2 cannot be reached from host 0");
}

#[test]
fn ports_of_one_interface_refuse_what_they_do_not_go_with() {
    let refused = |change: &dyn Fn(&mut RunSpec)| {
        let mut run = alone(dual(), "ndp", Routing::Spray, (5, 1000));
        change(&mut run);
        headway_sim::run(&run, &mut |_| true).expect_err("it is refused").to_string()
    };
    let slow = refused(&|run| run.costs.packet = Time::us(1));
    assert!(slow.contains("hosts whose processors take time"), "{slow}");
}

#[test]
fn lossless_switches_stop_each_port_of_an_interface_by_itself() {
    for (transport, routing) in [("dcqcn", Routing::Ecmp), ("ndp", Routing::Spray), ("homa", Routing::Spray)]
    {
        let flows = (1..8).map(|host| flow(host, 0, 2_000_000, Time::ZERO)).collect();
        let mut run = spec(dual(), transport, flows, Time::s(1));
        (run.fabric.routing, run.fabric.bonded) = (routing, true);
        run.fabric.discipline = "drop-tail".into();
        run.fabric.pfc = Some(PfcParams { buffer: 2_000_000, alpha: 0.0625, ..PfcParams::default() });
        let out = outcome(&run);
        assert!(out.flows.iter().all(|flow| flow.state == FlowState::Done), "{transport}");
        let full = DropReason::HeadroomFull as usize;
        assert!(
            out.links.iter().all(|link| link.counters.dropped[full] == 0),
            "{transport}: nothing is lost"
        );
        if transport == "dcqcn" {
            // Seven senders at line rate into two links, and each message on one port.
            let stopped = |name: &str| {
                out.links.iter().filter(|l| l.name.contains(name)).map(|l| l.pauses.received).sum::<u64>()
            };
            assert!(
                stopped("->leaf0.") + stopped("->leaf1.") > 0,
                "{:?}",
                out.links.iter().map(|l| (&l.name, l.pauses.received)).collect::<Vec<_>>()
            );
        }
        let several =
            run_within(&run, Around { threads: 3, ..Around::default() }, &mut |_| true).expect("it runs");
        assert_eq!(out, several, "{transport}");
    }
}
