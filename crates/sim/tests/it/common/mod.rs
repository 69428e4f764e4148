//! Small runs for tests.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use headway_fabric::{Buffer, Limit};
use headway_network::{
    FabricSpec, FlowChoice, FlowSpec, LinkChoice, LinkSpec, Metric, Network, Outcome, ProbeChoice, Routing,
    RunSpec, SampleSpec, TopologySpec, TransportSpec,
};
use headway_packet::Sizes;
use headway_params::ParamValue;
use headway_sim::run;
use headway_transport::InitialWindow;
use headway_transport::endpoint::Traffic;
use headway_units::{Rate, Time};

/// A link of this rate and delay.
pub fn link(gbps: u64, delay: Time) -> LinkSpec {
    LinkSpec { rate: Rate::gbps(gbps), delay }
}

/// A message at line rate.
pub fn flow(src: u32, dst: u32, bytes: u64, start: Time) -> FlowSpec {
    FlowSpec {
        src,
        dst,
        bytes,
        start,
        class: 0,
        deadline: None,
        initial_window: InitialWindow::default(),
        responsive: true,
        transport: 0,
        path: None,
        connection: None,
        stop: None,
    }
}

/// The flow, starting as place `slot` of `share` fair sharers.
pub fn fair(mut flow: FlowSpec, share: u32, slot: u32) -> FlowSpec {
    flow.initial_window = InitialWindow { share, phase: slot, ..InitialWindow::default() };
    flow
}

/// A run of one transport over its own discipline, with buffers of 128 packets.
pub fn spec(topology: TopologySpec, transport: &str, flows: Vec<FlowSpec>, stop: Time) -> RunSpec {
    let entry = headway_transport::registry::find_entry(transport).expect("a registered transport");
    let mut run = RunSpec {
        topology,
        fabric: FabricSpec {
            discipline: entry.info.discipline.into(),
            params: Vec::new(),
            buffer: Buffer { data: Limit::Packets(128), control: Limit::Packets(128) },
            routing: Routing::Ecmp,
            sizes: Sizes::default(),
            switch_latency: Time::ZERO,
            at: Vec::new(),
            forwarding: headway_network::Forwarding::StoreAndForward,
            host_queue: None,
            bonded: false,
            altered: Vec::new(),
            pfc: None,
            memory: None,
        },
        transports: vec![TransportSpec::new(transport, Vec::new())],
        flows,
        seed: 1,
        stop,
        sample: None,
        faults: Vec::new(),
        jitter: Time::ZERO,
        costs: headway_network::HostCosts::default(),
        until: headway_network::Until::Received,
        graph: None,
    };
    if entry.capabilities.shared_clock {
        // Hosts that count rounds together get the longest path, as in scenarios.
        let network = Network::build(&run.topology, &run.fabric).expect("a network");
        let traffic = Traffic {
            sizes: Vec::new(),
            mean: 0.0,
            path: network.path(0, network.hosts() - 1),
            nic: network.links()[0].spec.rate,
            packet: run.fabric.sizes,
            oversubscription: network.oversubscription(),
        };
        let tuned =
            headway_transport::registry::tune_params(transport, &[], &traffic).expect("it has parameters");
        run.transports[0].params = tuned.expect("it takes its own");
    }
    run
}

/// Sets a word parameter of the discipline.
pub fn rule(mut spec: RunSpec, word: &str) -> RunSpec {
    spec.fabric.params.push(("rule".into(), ParamValue::Choice(word.into())));
    spec
}

/// Sets a parameter of the transport.
pub fn param(mut spec: RunSpec, name: &str, value: ParamValue) -> RunSpec {
    spec.transports[0].params.push((name.into(), value));
    spec
}

/// The same run with samples of everything.
pub fn sampled(mut spec: RunSpec, every: Time) -> RunSpec {
    spec.sample = Some(SampleSpec {
        every,
        flows: FlowChoice::All,
        links: LinkChoice::All,
        probes: headway_network::ProbeChoice::None,
        causes: false,
        volumes: Vec::new(),
        most: u64::MAX,
    });
    spec
}

/// Runs to the end.
pub fn outcome(spec: &RunSpec) -> Outcome {
    run(spec, &mut |_| true).expect("a valid run")
}

/// One metric of one link over time: (end of interval, value).
pub fn link_series(outcome: &Outcome, name: &str, metric: Metric) -> Vec<(Time, f64)> {
    let number = outcome.links.iter().position(|l| l.name == name).expect("a link of that name") as u32;
    let wanted = |s: &&headway_network::Sample| {
        s.metric == metric && s.entity == headway_network::Entity::Link(number)
    };
    outcome.samples.iter().filter(wanted).map(|s| (s.at, s.value)).collect()
}

/// Mean of a series over intervals that end in `(from, to]`.
pub fn mean(series: &[(Time, f64)], from: Time, to: Time) -> f64 {
    let inside: Vec<f64> = series.iter().filter(|(t, _)| *t > from && *t <= to).map(|(_, v)| *v).collect();
    assert!(!inside.is_empty(), "no sample between {from} and {to}");
    inside.iter().sum::<f64>() / inside.len() as f64
}

/// Says of each flow where its time went.
pub fn told_by_cause(mut run: RunSpec) -> RunSpec {
    let (flows, links, probes) = (FlowChoice::None, LinkChoice::None, ProbeChoice::None);
    run.sample = Some(SampleSpec {
        // Only times by cause are asked for.
        every: Time::MAX,
        flows,
        links,
        probes,
        most: u64::MAX,
        causes: true,
        volumes: Vec::new(),
    });
    run
}
