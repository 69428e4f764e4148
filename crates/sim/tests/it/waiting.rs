//! Flows that wait for others.

use crate::common::{flow, link, outcome, spec};
use headway_network::topology::{FatTree, SingleSwitch};
use headway_network::{
    Cause, FlowSpec, FlowState, Graph, GraphStep, Node, Outcome, RunError, RunSpec, StepRecord, Until,
};
use headway_sim::{Around, run, run_within};
use headway_transport::registry;
use headway_units::Time;
use std::sync::Arc;

fn star(transport: &str, flows: Vec<FlowSpec>) -> RunSpec {
    let hosts = SingleSwitch { hosts: 6, link: link(10, Time::us(1)) };
    spec(hosts.into(), transport, flows, Time::ms(100))
}

fn waiting(mut run: RunSpec, steps: Vec<GraphStep>, edges: &[(Node, Cause)]) -> RunSpec {
    run.graph = Some(Arc::new(Graph::new(&run.flows, steps, edges).expect("a graph")));
    run
}

fn step(host: u32, takes: Time) -> GraphStep {
    GraphStep { host: Some(host), takes, ..GraphStep::default() }
}

/// Time at which something that others wait for was over.
fn over(found: &Outcome, cause: Cause) -> Option<Time> {
    match cause {
        Cause::Flow(flow, Until::Received) => found.flows[flow as usize].finish,
        Cause::Flow(flow, Until::Known) => found.flows[flow as usize].known,
        Cause::Step(step) => found.steps[step as usize].finish,
    }
}

/// Every node begins when the last thing is over that it waits for, and a flow its own start later.
fn assert_in_order(run: &RunSpec, found: &Outcome) {
    let edges: Vec<(Cause, Node)> = run.graph.iter().flat_map(|graph| graph.all_edges()).collect();
    let begins = |node: Node| {
        let causes = edges.iter().filter(|(_, other)| *other == node).map(|(cause, _)| over(found, *cause));
        causes.collect::<Option<Vec<Time>>>().and_then(|all| all.into_iter().max())
    };
    for (number, (flow, record)) in run.flows.iter().zip(&found.flows).enumerate() {
        let node = Node::Flow(number as u32);
        if edges.iter().any(|(_, other)| *other == node) {
            assert_eq!(record.start, begins(node).map(|at| at + flow.start), "flow {number}");
        } else {
            assert_eq!(record.start, Some(flow.start), "flow {number}");
        }
    }
    for (number, record) in found.steps.iter().enumerate() {
        let node = Node::Step(number as u32);
        let waits = edges.iter().any(|(_, other)| *other == node);
        assert_eq!(record.start, if waits { begins(node) } else { Some(Time::ZERO) }, "step {number}");
        let takes = run.graph.as_ref().expect("a graph").steps()[number].takes;
        assert_eq!(record.finish, record.start.map(|start| start + takes), "step {number}");
    }
}

#[test]
fn a_flow_begins_when_all_is_over_that_it_waits_for_under_every_transport() {
    for transport in registry::NAMES {
        let flows = vec![
            flow(0, 1, 50_000, Time::ZERO),
            flow(2, 1, 90_000, Time::ZERO),
            // A reply to both, after 3 us.
            flow(1, 0, 10_000, Time::us(3)),
            // After a computation at host 0.
            flow(0, 3, 20_000, Time::ZERO),
            // Begins when the sender of the first knows.
            flow(0, 4, 1_000, Time::ZERO),
        ];
        let edges = [
            (Node::Flow(2), Cause::Flow(0, Until::Received)),
            (Node::Flow(2), Cause::Flow(1, Until::Received)),
            (Node::Step(0), Cause::Flow(2, Until::Received)),
            (Node::Flow(3), Cause::Step(0)),
            (Node::Flow(4), Cause::Flow(0, Until::Known)),
        ];
        let run = waiting(star(transport, flows), vec![step(0, Time::us(20)), step(5, Time::us(7))], &edges);
        let found = outcome(&run);
        assert!(found.flows.iter().all(|f| f.state == FlowState::Done), "{transport}");
        assert_in_order(&run, &found);
        assert!(found.warnings.is_empty(), "{transport}: {:?}", found.warnings);
        let last = found.flows.iter().filter_map(|f| f.finish).max();
        assert_eq!(Some(found.end), last, "{transport}: the run ends with its last flow");
    }
}

#[test]
fn a_run_waits_for_its_last_step() {
    let run = waiting(
        star("dctcp", vec![flow(0, 1, 1_000, Time::ZERO)]),
        vec![step(1, Time::ms(2))],
        &[(Node::Step(0), Cause::Flow(0, Until::Received))],
    );
    let found = outcome(&run);
    assert_in_order(&run, &found);
    assert_eq!(Some(found.end), found.steps[0].finish);
}

#[test]
fn steps_that_take_no_time_join_in_one_instant() {
    let flows = vec![flow(0, 1, 1_000, Time::ZERO), flow(1, 2, 1_000, Time::ZERO)];
    let joins = vec![step(1, Time::ZERO); 3];
    let edges = [
        (Node::Step(0), Cause::Flow(0, Until::Received)),
        (Node::Step(1), Cause::Step(0)),
        (Node::Step(2), Cause::Step(1)),
        (Node::Flow(1), Cause::Step(2)),
    ];
    let run = waiting(star("ndp", flows), joins, &edges);
    let found = outcome(&run);
    assert_in_order(&run, &found);
    assert_eq!(found.flows[1].start, found.flows[0].finish);
}

#[test]
fn what_waits_for_a_flow_that_its_stop_ends_begins_then() {
    let flows = vec![
        FlowSpec { stop: Some(Time::us(50)), ..flow(0, 1, 10_000_000, Time::ZERO) },
        flow(1, 2, 1_000, Time::ZERO),
        flow(0, 3, 1_000, Time::ZERO),
    ];
    let edges =
        [(Node::Flow(1), Cause::Flow(0, Until::Received)), (Node::Flow(2), Cause::Flow(0, Until::Known))];
    let found = outcome(&waiting(star("amrt", flows), Vec::new(), &edges));
    assert_eq!(found.flows[1].start, Some(Time::us(50)));
    assert_eq!(found.flows[2].start, Some(Time::us(50)));
    assert!(found.flows[1..].iter().all(|f| f.state == FlowState::Done));
}

#[test]
fn deadlines_count_from_when_a_flow_begins() {
    // D2TCP is one of those that use deadlines.
    let with = |deadline: Option<Time>| {
        let flows = vec![
            flow(0, 1, 2_000_000, Time::ZERO),
            FlowSpec { deadline, ..flow(1, 2, 3_000_000, Time::ZERO) },
            flow(3, 2, 3_000_000, Time::ms(1)),
        ];
        let edges = [(Node::Flow(1), Cause::Flow(0, Until::Received))];
        outcome(&waiting(star("d2tcp", flows), Vec::new(), &edges)).flows[1].finish
    };
    assert_ne!(with(Some(Time::us(2600))), with(None), "a deadline that is near changes the window");
}

#[test]
fn steps_of_one_processor_take_turns_in_the_order_in_which_they_could_begin() {
    let of = |processor| GraphStep { processor, ..step(1, Time::us(10)) };
    // The second and third could begin with the run, the first when the flow has arrived; the last needs no processor, and the
    // one before it another.
    let steps = vec![of(Some(0)), of(Some(0)), of(Some(0)), of(Some(1)), of(None)];
    let flows = vec![flow(0, 1, 1_000, Time::ZERO), flow(1, 2, 1_000, Time::ZERO)];
    let edges = [(Node::Step(0), Cause::Flow(0, Until::Received)), (Node::Flow(1), Cause::Step(0))];
    let run = waiting(star("ndp", flows), steps, &edges);
    let found = outcome(&run);
    let at = |step: usize| (found.steps[step].start, found.steps[step].finish);
    let span = |from, to| (Some(Time::us(from)), Some(Time::us(to)));
    assert!(found.flows[0].finish < Some(Time::us(10)), "it could begin before the second is over");
    assert_eq!(
        (0..5).map(at).collect::<Vec<_>>(),
        [span(20, 30), span(0, 10), span(10, 20), span(0, 10), span(0, 10)]
    );
    assert_eq!(found.flows[1].start, Some(Time::us(30)));
    let cut = outcome(&RunSpec { stop: Time::us(15), ..run });
    assert_eq!(cut.steps[0], StepRecord { start: None, finish: None }, "it has not had its turn");
}

#[test]
fn a_step_begins_when_as_many_are_over_as_it_needs() {
    for (needs, last) in [(1, 0), (2, 1), (3, 2)] {
        let sizes = [1_000, 200_000, 3_000_000];
        let mut flows: Vec<FlowSpec> =
            (0..3).map(|n| flow(0, n + 1, sizes[n as usize], Time::ZERO)).collect();
        flows.push(flow(0, 5, 1_000, Time::ZERO));
        let join = vec![GraphStep { needs: Some(needs), ..step(0, Time::ZERO) }];
        let mut edges: Vec<_> = (0..3).map(|n| (Node::Step(0), Cause::Flow(n, Until::Known))).collect();
        edges.push((Node::Flow(3), Cause::Step(0)));
        let run = waiting(star("dctcp", flows), join, &edges);
        assert!(run.graph.as_ref().is_some_and(|graph| graph.local()));
        let found = outcome(&run);
        assert_eq!(found.flows[3].start, found.flows[last].known, "{needs} of 3");
        assert!(found.flows.iter().all(|f| f.state == FlowState::Done));
    }
}

#[test]
fn a_run_whose_flows_wait_is_the_same_on_any_number_of_threads() {
    let links = link(10, Time::us(1));
    let tree = FatTree { k: 4, hosts_per_edge: 2, host: links, fabric: links };
    for transport in ["ndp", "dctcp", "homa", "amrt"] {
        // Rings in which every host passes on what it receives, after a computation every other time.
        let (rounds, hosts) = (12u32, 16u32);
        let of = |round: u32, host: u32| round * hosts + host;
        let flows: Vec<FlowSpec> = (0..rounds * hosts)
            .map(|n| {
                flow(
                    n % hosts,
                    (n % hosts + 5) % hosts,
                    1 + u64::from(n) * 7919 % 90_000,
                    Time::ns(u64::from(n % 3)),
                )
            })
            .collect();
        let mut edges = Vec::new();
        let mut steps = Vec::new();
        for round in 1..rounds {
            for host in 0..hosts {
                // From the host five places before, which sends to this one.
                let before = Cause::Flow(of(round - 1, (host + hosts - 5) % hosts), Until::Received);
                let own = Cause::Flow(of(round - 1, host), Until::Known);
                if round % 2 == 0 {
                    let join = Node::Step(steps.len() as u32);
                    edges.extend([(join, before), (join, own)]);
                    edges.push((Node::Flow(of(round, host)), Cause::Step(steps.len() as u32)));
                    steps.push(step(host, Time::us(u64::from(host % 4))));
                } else {
                    edges.extend([(Node::Flow(of(round, host)), before), (Node::Flow(of(round, host)), own)]);
                }
            }
        }
        let run = waiting(spec(tree.clone().into(), transport, flows, Time::ms(100)), steps, &edges);
        assert!(run.graph.as_ref().is_some_and(|graph| graph.local()));
        let alone = outcome(&run);
        assert!(alone.flows.iter().all(|f| f.state == FlowState::Done), "{transport}");
        assert_in_order(&run, &alone);
        for threads in [2, 3, 8] {
            let around = Around { threads, ..Around::default() };
            let found = run_within(&run, around, &mut |_| true).expect("a run");
            assert_eq!(found.digest, alone.digest, "{transport} on {threads} threads");
            assert_eq!(found, alone, "{transport} on {threads} threads");
        }
    }
}

#[test]
fn turns_at_processors_are_the_same_on_any_number_of_threads() {
    let links = link(10, Time::us(1));
    let tree = FatTree { k: 4, hosts_per_edge: 2, host: links, fabric: links };
    // Each host gets three messages at nearly the same time, works on one after the other, and answers each.
    let mut flows: Vec<FlowSpec> =
        (0..48).map(|n| flow(n % 16, (n + 1 + n / 16 * 4) % 16, 20_000, Time::ZERO)).collect();
    flows.extend_from_within(..);
    flows[48..].iter_mut().for_each(|flow| (flow.src, flow.dst) = (flow.dst, flow.src));
    let steps =
        (0..48).map(|n| GraphStep { processor: Some(0), ..step(flows[n].dst, Time::us(40)) }).collect();
    let edges: Vec<_> = (0..48)
        .flat_map(|n| {
            [(Node::Step(n), Cause::Flow(n, Until::Received)), (Node::Flow(48 + n), Cause::Step(n))]
        })
        .collect();
    let run = waiting(spec(tree.into(), "ndp", flows, Time::ms(100)), steps, &edges);
    let alone = outcome(&run);
    let waited = (0..48).filter(|n| alone.steps[*n].start > alone.flows[*n].finish).count();
    // Of three that come to each host, one at least.
    assert!(waited >= 16, "{waited} steps waited for their turn");
    let found = run_within(&run, Around { threads: 4, ..Around::default() }, &mut |_| true).expect("a run");
    assert_eq!(found, alone);
}

#[test]
fn a_barrier_between_hosts_is_the_same_on_any_number_of_threads() {
    let links = link(10, Time::us(1));
    let tree = FatTree { k: 4, hosts_per_edge: 2, host: links, fabric: links };
    let flows: Vec<FlowSpec> = (0..32).map(|n| flow(n % 16, (n + 3) % 16, 30_000, Time::ZERO)).collect();
    let barrier = vec![GraphStep { takes: Time::us(2), ..GraphStep::default() }];
    let first = (0..16).map(|n| (Node::Step(0), Cause::Flow(n, Until::Received)));
    let second = (16..32).map(|n| (Node::Flow(n), Cause::Step(0)));
    let edges: Vec<_> = first.chain(second).collect();
    let run = waiting(spec(tree.into(), "dctcp", flows, Time::ms(100)), barrier, &edges);
    let alone = outcome(&run);
    assert_in_order(&run, &alone);
    let found = run_within(&run, Around { threads: 4, ..Around::default() }, &mut |_| true).expect("a run");
    assert_eq!(found, alone);
}

#[test]
fn a_flow_that_waits_and_has_a_stop_is_refused() {
    let flows = vec![
        flow(0, 1, 1_000, Time::ZERO),
        FlowSpec { stop: Some(Time::ms(1)), ..flow(1, 2, 1_000, Time::ZERO) },
    ];
    let run_spec =
        waiting(star("ndp", flows), Vec::new(), &[(Node::Flow(1), Cause::Flow(0, Until::Received))]);
    let refused = run(&run_spec, &mut |_| true);
    assert!(matches!(refused, Err(RunError::Flow { flow: 1, .. })), "{refused:?}");
}

#[test]
fn what_waits_for_a_flow_that_fails_never_begins() {
    use headway_network::{Fault, FaultSpec, LinkChoice};
    let flows = vec![flow(0, 1, 1_000, Time::ZERO), flow(1, 2, 1_000, Time::ZERO)];
    let mut run =
        waiting(star("tcp", flows), Vec::new(), &[(Node::Flow(1), Cause::Flow(0, Until::Received))]);
    run.faults = vec![FaultSpec {
        links: LinkChoice::All,
        kind: None,
        what: Fault::Blackhole { from: Time::ZERO, until: Time::MAX },
    }];
    let found = outcome(&run);
    assert_eq!((found.flows[1].state, found.flows[1].start), (FlowState::Pending, None));
}
