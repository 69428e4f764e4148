//! The AMRT paper's motivation figures on their own networks, at a fair start.

use crate::common;

use common::{fair, flow, link, link_series, mean, outcome, param, sampled, spec};
use headway_network::topology::ParkingLot;
use headway_network::{Metric, Outcome, RunSpec, TopologySpec};
use headway_params::ParamValue;
use headway_units::Time;

/// AMRT Fig. 1: f0 over both links, f1 over the first, f2 (1 ms) and f3 (2.5 ms) over the second.
fn two_bottlenecks(transport: &str, shared_start: bool) -> RunSpec {
    let topology = TopologySpec::ParkingLot(ParkingLot {
        bottlenecks: 2,
        hosts_per_switch: 4,
        access: link(10, Time::us(10)),
        bottleneck: link(10, Time::ZERO),
    });
    let share = if shared_start { 2 } else { 1 };
    let flows = vec![
        fair(flow(0, 8, 10_000_000, Time::ZERO), share, 0),
        fair(flow(1, 4, 10_000_000, Time::ZERO), share, share - 1),
        flow(5, 9, 4_000_000, Time::ms(1)),
        flow(6, 10, 4_000_000, Time::us(2500)),
    ];
    sampled(spec(topology, transport, flows, Time::us(4500)), Time::us(50))
}

fn arrival(run: RunSpec) -> RunSpec {
    param(run, "mode", ParamValue::Choice("arrival".into()))
}

fn used(out: &Outcome, name: &str, from: Time, to: Time) -> f64 {
    mean(&link_series(out, name, Metric::Utilisation), from, to)
}

#[test]
fn phost_by_arrival_leaves_a_sixth_then_thirty_percent_of_the_first_link_idle() {
    let out = outcome(&arrival(two_bottlenecks("phost", true)));
    let before = used(&out, "s0->s1", Time::us(200), Time::ms(1));
    assert!(before > 0.99, "before f2: {before}");
    // f0 and f2 hold 18 and 36 packets of the second link: f0 keeps a third of it, 5 + 3.33 Gb/s.
    let after_f2 = used(&out, "s0->s1", Time::us(1500), Time::us(2500));
    assert!((0.82..0.845).contains(&after_f2), "after f2: {after_f2}");
    // With f3's 36 more, f0 keeps 18 of 90: 5 + 2 Gb/s.
    let after_f3 = used(&out, "s0->s1", Time::ms(3), Time::us(4500));
    assert!((0.69..0.715).contains(&after_f3), "after f3: {after_f3}");
}

#[test]
fn amrt_refills_the_first_link_between_the_models_bounds() {
    let out = outcome(&two_bottlenecks("amrt", true));
    // 40 us of delay, and a data packet and a grant on each of four links.
    let rtt = 45.2;
    for (change, from, to) in [(1000.0, 1500, 2500), (2500.0, 3500, 4500)] {
        let after = used(&out, "s0->s1", Time::us(from), Time::us(to));
        assert!(after > 0.99, "from {from} us: {after}");
        let refilled = link_series(&out, "s0->s1", Metric::Utilisation)
            .into_iter()
            .skip_while(|(t, _)| t.as_secs_f64() * 1e6 <= change + 100.0)
            .find(|(_, u)| *u >= 0.99)
            .map(|(t, _)| (t.as_secs_f64() * 1e6 - change) / rtt)
            .expect("the link refills");
        // One round trip at the least, as many as there are vacancies in a round trip at the most.
        assert!((1.0..=13.0).contains(&refilled), "{refilled} round trips");
    }
}

#[test]
fn at_line_rate_start_neither_loses_anything() {
    for run in [two_bottlenecks("amrt", false), arrival(two_bottlenecks("phost", false))] {
        let out = outcome(&run);
        let after_f2 = used(&out, "s0->s1", Time::us(1500), Time::us(2500));
        assert!(after_f2 > 0.99, "{}: {after_f2}", run.transports[0].name);
        assert_eq!(out.links.iter().map(|l| l.counters.drops()).sum::<u64>(), 0);
    }
}
