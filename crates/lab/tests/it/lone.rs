//! A lone message of one packet arrives over every transport, whatever the rates, the delays and the sizes of packets; or its scenario
//! is refused before it runs, in words.

use crate::common::repository;
use headway_lab::Request;
use headway_network::{Ending, FlowState};
use headway_transport::registry;
use proptest::prelude::*;

/// Events of a run at most; the longest that were seen have some thousands.
const EVENTS: u64 = 1 << 20;

/// Control packets that fill the longest path at most.
const CREDITS: u64 = 50_000;

/// A number of which every order of magnitude is as likely as any other.
fn scaled(most: f64) -> impl Strategy<Value = u64> {
    (0.0..libm::log2(most)).prop_map(|power| libm::exp2(power) as u64)
}

fn scenario() -> impl Strategy<Value = (&'static str, String)> {
    // From 1 kb/s to 10 Tb/s, from 1 ps to 1 s, and from 1 B to 9000 B. One link has up to 10,000 times the rate of the other: where
    // credits leave at the one and are answered over the other, as many are sent before the first answer.
    let rates = (scaled(1e10), scaled(1e4), any::<bool>()).prop_map(|(rate, times, wider)| {
        let other = if wider { rate.saturating_mul(times).min(10_000_000_000) } else { rate / times };
        [rate, other.max(1)]
    });
    let sizes = (scaled(9000.0), scaled(9000.0), 1u64..200);
    (proptest::sample::select(registry::NAMES), rates, scaled(1e12), sizes).prop_map(
        |(name, [access, bottleneck], delay, (payload, bytes, control))| {
            let bytes = bytes.min(payload);
            // Credits leave for a round trip before the first answer: not too many of them.
            // Three links there and three back.
            let longest = u128::from(CREDITS * control) * 8_000_000_000 / (6 * u128::from(access.max(bottleneck)));
            let delay = delay.min(u64::try_from(longest).unwrap_or(u64::MAX)).max(1);
            let text = format!(
                "[topology]\nkind = \"dumbbell\"\nsenders = 2\nreceivers = 2\nrate = \"{access} kbps\"\n\
                 bottleneck_rate = \"{bottleneck} kbps\"\ndelay = \"{delay} ps\"\n[fabric]\npayload = {payload}\n\
                 control = {control}\n[transport]\nname = \"{name}\"\n[[traffic]]\nkind = \"flows\"\nflows = [\n    \
                 {{ src = 0, dst = 2, bytes = {bytes} }},\n]\n"
            );
            (name, text)
        },
    )
}

proptest! {
    #![proptest_config(headway_testing::cases!(400))]

    #[test]
    fn a_lone_packet_arrives_or_its_scenario_is_refused((name, text) in scenario()) {
        let request = Request::text(&text, "lone", &repository(), &[], None);
        let Ok(scenario) = request.load() else { return Ok(()) };
        let resolved = scenario.setup().expect("a network").resolve(1).expect("a run");
        let Ok(outcome) = headway_sim::run(&resolved.spec, &mut |at| at.events < EVENTS) else { return Ok(()) };
        let found = (outcome.ending, outcome.flows[0].state);
        prop_assert_eq!(found, (Ending::Complete, FlowState::Done), "{} at {}: {}", name, outcome.end, text);
    }
}

/// The property is about what runs.
#[test]
fn few_of_these_scenarios_are_refused() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::new(headway_testing::cases!(1));
    let refused = (0..200).filter(|_| {
        let (_, text) = scenario().new_tree(&mut runner).expect("a scenario").current();
        Request::text(&text, "lone", &repository(), &[], None).load().is_err()
    });
    let refused = refused.count();
    assert!(refused < 60, "{refused} of 200");
}

/// Two planes of a rail: subflows that take turns fill both ports of the NIC, each on a path of its own.
#[test]
fn subflows_in_turn_fill_both_planes_of_a_rail() {
    let text = "[topology]\nkind = \"rail\"\nnodes = 4\ngpus = 4\nspines = 4\nplanes = 2\nnode_rate = \"3600 Gbps\"\n\
        rail_rate = \"100 Gbps\"\nnode_delay = \"50 ns\"\nrail_delay = \"500 ns\"\n[fabric]\npayload = \"4096 B\"\n\
        routing = \"pinned\"\n[transport]\nname = \"TRANSPORT\"\nsubflows = 2\npath_manager = \"full-mesh\"\n\
        scheduler = \"round-robin\"\n[[traffic]]\nkind = \"flows\"\nflows = [{ src = 0, dst = 5, bytes = \"20 MB\" }]\n";
    for transport in ["mptcp-lia", "mptcp-olia", "mptcp-balia", "mptcp-reno"] {
        let text = text.replace("TRANSPORT", transport);
        let loaded = Request::text(&text, "planes", &repository(), &[], None).load();
        let scenario = loaded.unwrap_or_else(|error| panic!("{}", error.render()));
        let resolved = scenario.setup().expect("a network").resolve(1).expect("a run");
        let outcome = headway_sim::run(&resolved.spec, &mut |_| true).expect("it runs");
        let slowdown = outcome.flows[0].slowdown().expect("it is done");
        assert!(slowdown < 1.05, "{transport}: {slowdown}");
        let ports = outcome.links.iter().filter(|link| link.name.starts_with("h0->leaf"));
        let carried: Vec<u64> = ports.map(|link| link.counters.payload_bytes).collect();
        assert!(
            carried.len() == 2 && carried.iter().all(|bytes| *bytes > 9_000_000),
            "{transport}: {carried:?}"
        );
    }
}
