//! The kernel's TCP next to Headway's transports: real connections between the testbed's namespaces. Asserted is what
//! no noise changes: completion, every byte, and that every port's counters agree.
#![allow(clippy::disallowed_methods, reason = "the kernel says in files what it has")]

use crate::common::{broken_identities, find_link, note_absent, run_arms, scenario_file, testbed_available};
use headway_network::FlowState;
use headway_params::ParamValue;
use headway_testbed::{Job, JobArgs, TestbedError, kernel};
use headway_transport::registry;
use headway_units::Time;

/// Two pairs on one link of 100 Mb/s, without slowdown.
fn dumbbell_text(discipline: &str, traffic: &str) -> String {
    format!(
        r#"
stop = "8 s"
[topology]
kind = "dumbbell"
senders = 2
receivers = 2
rate = "100 Mbps"
delay = "300 us"
[fabric]
discipline = "{discipline}"
buffer = "100 packets"
[sample]
every = "10 ms"
flows = "all"
links = ["s0->s1"]
{traffic}
"#
    )
}

const BESIDE: &str = r#"
[[traffic]]
kind = "flows"
transport = "amrt"
flows = [{ name = "own", src = 0, dst = 2, bytes = "2 MB" }]
[[traffic]]
kind = "flows"
stack = "kernel"
congestion = "cubic"
flows = [
  { name = "long", src = 1, dst = 3, bytes = "2 MB" },
  { name = "back", src = 3, dst = 1, bytes = 300001, start = "20 ms" },
  { name = "same-hosts", src = 0, dst = 2, bytes = 1, start = "40 ms" },
]
"#;

#[test]
fn cubic_of_the_kernel_and_amrt_share_a_link_and_every_byte_of_both_arrives() {
    for run in run_arms(&dumbbell_text("anti-ecn", BESIDE)) {
        let states: Vec<_> = run.outcome.flows.iter().map(|f| f.state).collect();
        assert_eq!(states, [FlowState::Done; 4], "{}", run.arm);
        let delivered: Vec<u64> = run.outcome.flows.iter().map(|f| f.delivered).collect();
        assert_eq!(
            (&delivered[..], run.corrupted),
            (&[2_000_000, 2_000_000, 300_001, 1][..], 0),
            "{}",
            run.arm
        );
        assert_eq!(broken_identities(&run.outcome), [] as [String; 0], "{}", run.arm);
        // Both long flows crossed it: 4 MB of payload and no less.
        assert!(find_link(&run, "s0->s1").counters.wire_bytes > 4_000_000, "{}", run.arm);
        let kernel = &run.outcome.by_transport[1];
        let trips = kernel.round_trips.as_ref().expect("the kernel measures its round trips");
        // Three links of 300 us each way: nothing is faster.
        assert!(trips.count() > 0, "{}", run.arm);
        if run.arm == "testbed" {
            // Each of the three senders reports its own.
            let own = |name: &str| {
                kernel.gauges.iter().filter(|g| g.name == name).map(|g| g.value).collect::<Vec<_>>()
            };
            assert_eq!(own("kernel_connections"), [1; 3]);
            let least = own("kernel_min_rtt_ns");
            assert!(least.len() == 3 && least.iter().all(|ns| *ns >= 1_800_000), "{least:?}");
        }
    }
}

#[test]
fn reno_bbr_and_multipath_connections_arrive_whole() {
    let entries = [("reno", false), ("bbr", false), ("cubic", true), ("reno", true)].map(|(congestion, mptcp)| {
        format!(
            "[[traffic]]\nkind = \"flows\"\nstack = \"kernel\"\ncongestion = \"{congestion}\"\nmptcp = {mptcp}\n\
             flows = [{{ src = 0, dst = 2, bytes = \"500 kB\" }}, {{ src = 1, dst = 2, bytes = 70000 }}]\n"
        )
    });
    let text = dumbbell_text("drop-tail", &entries.concat());
    let (_file, args) = scenario_file(&text);
    let job = Job::load_job(&args, headway_testbed::scenario::packet_sizes(crate::common::MTU, false))
        .expect("a good scenario");
    if !testbed_available() {
        return;
    }
    match kernel::check_kernel(&job) {
        Err(TestbedError::Missing(what)) => return note_absent(&what),
        other => other.expect("a scenario for the testbed"),
    }
    for run in run_arms(&text) {
        assert_eq!((run.done_count(), run.corrupted), (8, 0), "{}: {:?}", run.arm, run.outcome.warnings);
        assert_eq!(broken_identities(&run.outcome), [] as [String; 0], "{}", run.arm);
    }
}

/// The kernel's timers are not slowed down either, because no factor reaches them.
#[test]
fn the_timers_of_the_machine_that_stands_for_the_kernel_are_not_slowed_down() {
    let (_file, args) = scenario_file(&dumbbell_text("anti-ecn", BESIDE));
    let args = JobArgs { slowdown: Some(100), ..args };
    let job = Job::load_job(&args, headway_testbed::scenario::packet_sizes(crate::common::MTU, false))
        .expect("a good scenario");
    assert_eq!(job.network.links()[0].spec.rate.bps(), 1_000_000);
    let machine = &job.slow.transports[1];
    let specs = registry::find_entry(&machine.name).expect("a transport").params;
    let values =
        registry::resolve_params(&machine.name, &machine.params).expect("a transport").expect("good values");
    let value = |name: &str| specs.iter().zip(&values).find(|(s, _)| s.name == name).map(|(_, v)| v.clone());
    // Linux: TCP_RTO_MIN is 200 ms, and TCP_DELACK_MIN 40 ms.
    assert_eq!(value("min_rto"), Some(ParamValue::Time(Time::ms(200))));
    assert_eq!(value("ack_delay"), Some(ParamValue::Time(Time::ms(40))));
}

#[test]
fn a_control_that_no_kernel_has_is_named_before_anything_is_started() {
    let text = dumbbell_text("drop-tail", &BESIDE.replace("\"cubic\"", "\"d2tcp\""));
    let (_file, args) = scenario_file(&text);
    let job = Job::load_job(&args, headway_testbed::scenario::packet_sizes(crate::common::MTU, false))
        .expect("a good scenario");
    let listed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    // `headway kernel load` may have loaded it on this machine.
    if listed.is_ok_and(|list| list.split_whitespace().any(|name| name == "d2tcp")) {
        headway_testing::absent("kernel without d2tcp");
        return;
    }
    let error = kernel::check_kernel(&job).expect_err("no kernel has it of itself").to_string();
    assert!(error.contains("`headway kernel load d2tcp` provides it"), "{error}");
}
