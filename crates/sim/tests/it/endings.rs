//! Reasons for which a run ends, and the end of a run without a latest end.

use crate::common::{flow, link, outcome, spec};
use headway_network::topology::SingleSwitch;
use headway_network::{
    Down, Ending, Fault, FaultSpec, FlowState, LinkChoice, Outcome, RunSpec, TopologySpec,
};
use headway_sim::{Around, run_within};
use headway_units::Time;

fn star(transport: &str, starts: &[Time]) -> RunSpec {
    let topology = TopologySpec::SingleSwitch(SingleSwitch { hosts: 3, link: link(10, Time::us(1)) });
    let flows = starts.iter().enumerate().map(|(n, at)| flow(n as u32 % 2, 2, 20_000, *at)).collect();
    spec(topology, transport, flows, Time::MAX)
}

fn down(until: Time) -> FaultSpec {
    let what = Fault::Down(Down { switches: Vec::new(), at: Time::us(5), until, converge: Time::ZERO });
    FaultSpec { links: LinkChoice::Some(vec!["s0->h2".into()]), kind: None, what }
}

fn ended(run: &RunSpec) -> (Ending, Outcome) {
    let out = outcome(run);
    (out.ending, out)
}

#[test]
fn a_run_without_a_stop_goes_on_for_as_long_as_something_is_to_come() {
    for name in ["dctcp", "homa"] {
        // Later than the 400 s at which a run ends in which nothing can arrive.
        let (ending, out) = ended(&star(name, &[Time::ZERO, Time::s(450)]));
        assert_eq!(ending, Ending::Complete, "{name}");
        assert!(out.end > Time::s(450), "{name}: {}", out.end);
        // Nor does it end while the link is down that comes up again.
        let mut run = star(name, &[Time::ZERO]);
        run.faults = vec![down(Time::s(450))];
        let (ending, out) = ended(&run);
        assert_eq!((ending, out.flows[0].state), (Ending::Complete, FlowState::Done), "{name}");
        assert!(out.end > Time::s(450), "{name}: {}", out.end);
    }
}

#[test]
fn a_run_in_which_nothing_can_arrive_ends_and_says_so() {
    for name in ["dctcp", "homa", "sird"] {
        let mut run = star(name, &[Time::ZERO, Time::s(120)]);
        run.faults = vec![down(Time::MAX)];
        let (ending, out) = ended(&run);
        // Nothing but the second start happens after the first look.
        match ending {
            Ending::NoProgress => {
                assert_eq!(out.end, Time::s(400), "{name}");
                let said = |warning: &String| warning.contains("ended at 400 s: no byte had arrived");
                assert!(out.warnings.iter().any(said), "{name}: {:?}", out.warnings);
            }
            Ending::Quiet => assert!(out.warnings.iter().any(|w| w.contains("nothing was left to happen"))),
            other => panic!("{name}: {other:?}"),
        }
        let two = run_within(&run, Around { threads: 2, ..Around::default() }, &mut |_| true).expect("a run");
        assert_eq!((two.ending, two.end, two.digest), (ending, out.end, out.digest), "{name}");
    }
}

#[test]
fn what_ended_a_run_is_said() {
    let all = star("dctcp", &[Time::ZERO]);
    let stopped = RunSpec { stop: Time::us(10), ..all.clone() };
    assert_eq!(ended(&all).0, Ending::Complete);
    let (ending, out) = ended(&stopped);
    assert_eq!((ending, out.end), (Ending::Stop, Time::us(10)));
    let cut = headway_sim::run(&star("dctcp", &[Time::ZERO; 2000]), &mut |_| false).expect("a run");
    assert_eq!((cut.ending, cut.interrupted), (Ending::Outside, true));
}
