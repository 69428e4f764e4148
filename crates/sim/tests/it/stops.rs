//! Flows that are over before they are complete, and runs that wait for senders.

use crate::common::{flow, link, outcome, param, spec};
use headway_network::topology::SingleSwitch;
use headway_network::{FlowSpec, FlowState, Outcome, RunSpec, Until};
use headway_params::ParamValue;
use headway_transport::registry;
use headway_units::Time;

fn star(transport: &str, flows: Vec<FlowSpec>) -> RunSpec {
    let hosts = SingleSwitch { hosts: 4, link: link(10, Time::us(1)) };
    spec(hosts.into(), transport, flows, Time::ms(100))
}

fn stopped(flow: FlowSpec, at: Time) -> FlowSpec {
    FlowSpec { stop: Some(at), ..flow }
}

#[test]
fn a_flow_is_over_at_its_time_and_leaves_no_trace_under_every_transport() {
    for transport in registry::NAMES {
        let long = stopped(flow(0, 2, 4_000_000, Time::ZERO), Time::us(400));
        let flows = vec![long, flow(1, 2, 100_000, Time::ZERO), flow(3, 2, 100_000, Time::ms(1))];
        let found = outcome(&star(transport, flows));
        let [over, beside, after] = &found.flows[..] else { panic!("three flows") };
        assert_eq!((over.state, over.finish, over.known), (FlowState::Stopped, None, None), "{transport}");
        // The link carries 500 kB until then.
        assert!(over.delivered > 0 && over.delivered < 600_000, "{transport}: {}", over.delivered);
        assert_eq!((beside.state, after.state), (FlowState::Done, FlowState::Done), "{transport}");
        // Nothing is left of it that others wait for.
        let alone = outcome(&star(transport, vec![flow(3, 2, 100_000, Time::ms(1))]));
        let takes = |found: &Outcome, number: usize| found.flows[number].finish.expect("done") - Time::ms(1);
        assert!(takes(&found, 2) < takes(&alone, 0) * 2, "{transport}: {}", takes(&found, 2));
    }
}

#[test]
fn a_run_ends_when_its_last_flow_is_over() {
    for transport in registry::NAMES {
        let found =
            outcome(&star(transport, vec![stopped(flow(0, 2, 1_000_000_000, Time::ZERO), Time::ms(1))]));
        assert_eq!((found.end, found.flows[0].state), (Time::ms(1), FlowState::Stopped), "{transport}");
        assert!(found.warnings.is_empty(), "{transport}: {:?}", found.warnings);
        // One that is complete before is done.
        let found = outcome(&star(transport, vec![stopped(flow(0, 2, 10_000, Time::ZERO), Time::ms(90))]));
        assert_eq!(found.flows[0].state, FlowState::Done, "{transport}");
        assert!(found.end < Time::ms(90), "{transport}");
    }
}

#[test]
fn messages_of_a_pair_are_told_apart() {
    for transport in registry::NAMES {
        let at = |n: u64| Time::us(10 * n);
        let flows = (0..4).map(|n| flow(0, 1, 400_000, at(n)));
        let flows = flows.enumerate().map(|(n, f)| if n % 2 == 0 { stopped(f, Time::us(200)) } else { f });
        let found = outcome(&star(transport, flows.collect()));
        let states: Vec<_> = found.flows.iter().map(|f| f.state).collect();
        assert_eq!(states[1], FlowState::Done, "{transport}");
        assert_eq!(states[3], FlowState::Done, "{transport}");
        assert!(
            states[0] == FlowState::Stopped || states[2] == FlowState::Stopped,
            "{transport}: {states:?}"
        );
    }
}

#[test]
fn a_run_may_wait_until_senders_know_under_every_transport() {
    for transport in registry::NAMES {
        let flows = vec![flow(0, 2, 50_000, Time::ZERO), flow(1, 2, 1_000, Time::us(3))];
        let usual = star(transport, flows);
        let waits = outcome(&RunSpec { until: Until::Known, ..usual.clone() });
        for record in &waits.flows {
            let (finish, known) = (record.finish.expect("done"), record.known.expect("known"));
            // A control packet comes back over two links.
            assert!(known >= finish + Time::us(2), "{transport}: {finish}, {known}");
        }
        assert_eq!(Some(waits.end), waits.flows.iter().filter_map(|f| f.known).max(), "{transport}");
        let usual = outcome(&usual);
        assert!(usual.end < waits.end, "{transport}");
        assert!(usual.flows.iter().zip(&waits.flows).all(|(a, b)| a.finish == b.finish), "{transport}");
    }
}

#[test]
fn jitter_of_credits_may_follow_the_seed() {
    let ends = |seed: u64, from: &str| {
        let flows = (0..3).map(|host| flow(host, 3, 300_000, Time::ZERO)).collect();
        let run = param(star("expresspass", flows), "jitter_from", ParamValue::Choice(from.into()));
        outcome(&RunSpec { seed, ..run }).flows.iter().map(|f| f.finish).collect::<Vec<_>>()
    };
    assert_eq!(ends(1, "seed"), ends(1, "seed"));
    assert_ne!(ends(1, "seed"), ends(2, "seed"));
    assert_eq!(ends(1, "numbers"), ends(2, "numbers"), "one path: nothing else comes from the seed");
}
