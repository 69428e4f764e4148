//! Looking ahead is a matter of speed alone, and so is the number of threads.

use super::*;
use headway_fabric::{Buffer, Limit};
use headway_network::topology::FatTree;
use headway_network::{
    FabricSpec, FlowChoice, FlowSpec, LinkChoice, LinkSpec, Outcome, Routing, SampleSpec, TopologySpec,
    TransportSpec,
};
use headway_packet::Sizes;
use headway_transport::endpoint::{HostContext, Transport};
use headway_transport::{InitialWindow, amrt::Amrt, expresspass::ExpressPass, ndp::Ndp, phost::Phost};
use headway_units::Rate;

/// A fat-tree whose hosts all send, two to one, through buffers too small for them.
fn crowded(transport: &str, discipline: &str) -> RunSpec {
    let link = LinkSpec { rate: Rate::gbps(10), delay: Time::us(1) };
    let flow = |i: u32| FlowSpec {
        src: i % 16,
        // The offset is 1 to 15, so that no host sends to itself.
        dst: (i % 16 + 1 + i / 3 % 15) % 16,
        // Multiples of a prime spread the sizes without a generator of random numbers.
        bytes: 1 + u64::from(i) * 7919 % 300_000,
        start: Time::us(u64::from(i % 5)),
        class: 0,
        deadline: None,
        initial_window: InitialWindow::default(),
        responsive: true,
        transport: 0,
        path: None,
        connection: None,
        stop: None,
    };
    RunSpec {
        topology: TopologySpec::FatTree(FatTree { k: 4, hosts_per_edge: 2, host: link, fabric: link }),
        fabric: FabricSpec {
            discipline: discipline.into(),
            params: Vec::new(),
            // Too few for two senders at one receiver: the ports have to drop or trim, which the test asserts.
            buffer: Buffer { data: Limit::Packets(12), control: Limit::Packets(128) },
            routing: Routing::Spray,
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
        flows: (0..48).map(flow).collect(),
        seed: 3,
        stop: Time::s(1),
        sample: Some(SampleSpec {
            probes: headway_network::ProbeChoice::None,
            causes: false,
            volumes: Vec::new(),
            every: Time::us(50),
            flows: FlowChoice::All,
            links: LinkChoice::All,
            most: u64::MAX,
        }),
        faults: Vec::new(),
        jitter: Time::ZERO,
        costs: headway_network::HostCosts::default(),
        until: headway_network::Until::Received,
        graph: None,
    }
}

fn machine<T: Transport>(context: HostContext) -> Machine {
    Box::new(T::make_endpoint(&T::Params::default(), context))
}

fn outcome(spec: &RunSpec, machine: fn(HostContext) -> Machine, look_ahead: bool, threads: usize) -> Outcome {
    let network = Arc::new(Network::build(&spec.topology, &spec.fabric).expect("a network"));
    let endpoints = (0..network.interfaces()).map(|host| machine(network.host_context(host, 1))).collect();
    let mut progress = |_: &Progress| true;
    let mut watch = Watch {
        progress: &mut progress,
        tap: None,
        witness: None,
        source: None,
        room: u64::MAX,
        threads,
        trial: None,
    };
    let mut conductor = Conductor::new(spec, Arc::clone(&network), endpoints, &watch).expect("a run");
    conductor.force_look_ahead(look_ahead);
    assert!(conductor.run(&mut watch));
    conductor.finish(false)
}

fn assert_same<T: Transport>() {
    let spec = crowded(T::INFO.name, T::INFO.discipline);
    let outcome = |look_ahead, threads| outcome(&spec, machine::<T>, look_ahead, threads);
    let (with, without) = (outcome(true, 1), outcome(false, 1));
    assert!(
        with.links.iter().any(|link| link.counters.drops() + link.counters.trimmed > 0),
        "nothing was crowded"
    );
    assert_eq!(with.digest, without.digest, "{}", T::INFO.name);
    assert_eq!(with, without, "{}", T::INFO.name);
    for threads in [2, 3, 4, 8] {
        // Both kinds on several threads, since each shard looks ahead by itself.
        let shared = outcome(threads % 2 == 0, threads);
        assert_eq!(shared.digest, with.digest, "{} on {threads} threads", T::INFO.name);
        assert_eq!(shared, with, "{} on {threads} threads", T::INFO.name);
    }
}

#[test]
fn a_run_that_looks_ahead_or_has_several_threads_is_the_run_that_does_not() {
    assert_same::<Amrt>();
    assert_same::<Phost>();
    assert_same::<Ndp>();
    assert_same::<ExpressPass>();
}
