//! Proof that the judge can find fault: runs that are right, each with one thing made wrong.

use crate::judge::{Bottleneck, Pair, check_restraint, compare_marks, find_faults};
use crate::ports::{Echoes, Prices, find_misprices, find_unstamped, port_changes};
use headway_gauges::RoundTrips;
use headway_network::{FlowState, Outcome};

/// Change to a good run: its name, and the function that makes it.
type Doctor = (&'static str, fn(&mut Pair));

const DOCTORS: [Doctor; 9] = [
    ("an unfinished flow", |p| p.real.flows[0].state = FlowState::Unfinished),
    ("a byte twice", |p| p.real.flows[1].delivered += 1),
    ("a wrong byte", |p| p.corrupted.push(0)),
    ("a packet that a port lost", |p| p.real.links[0].counters.received += 1),
    ("a packet out of nothing", |p| p.real.links[0].counters.dequeued += 1),
    ("a counter that wrapped", |p| p.real.links[0].counters.queue_max_packets = u32::MAX),
    ("a packet that no port sent", |p| {
        let link = p.real.links.iter_mut().find(|l| l.from_switch).expect("a switch");
        // More than all packets that faults could have doubled; enqueued as well, so that the port itself
        // agrees.
        link.counters.received += 10_000;
        link.counters.enqueued += 10_000;
    }),
    ("lost gauges", |p| p.real.host_gauges.clear()),
    ("round trips of the slowed network", |p| {
        let (bins, sum, longest) = p.real.round_trips.as_ref().expect("measured").to_parts();
        // As if the times had not been divided by the slowdown.
        let slow: Vec<(u64, u64)> = bins.iter().map(|(ns, count)| (ns * 100, *count)).collect();
        p.real.round_trips = Some(RoundTrips::from_parts(&slow, sum * 100, longest * 100));
    }),
];

/// `outcome` is a simulated run of a machine that measures gauges and round trips, of flows of these bytes.
pub fn check_judge(outcome: &Outcome, bytes: &[u64]) {
    let pair = || Pair {
        real: outcome.clone(),
        simulated: outcome.clone(),
        bytes: bytes.to_vec(),
        corrupted: Vec::new(),
        late_ns: 0,
    };
    assert_eq!(find_faults(&pair()), [] as [String; 0], "a good run");
    for (what, doctor) in DOCTORS {
        let mut pair = pair();
        doctor(&mut pair);
        assert!(!find_faults(&pair).is_empty(), "nothing was found wrong with {what}");
    }
    let some = |marked: f64, dropped: f64| Bottleneck { packets: 1000.0, marked, dropped };
    let none = some(0.0, 0.0);
    assert!(compare_marks(&[none, none], &[some(300.0, 0.0), some(400.0, 0.0)]).1.is_none());
    assert!(
        compare_marks(&[none, none], &[none, some(400.0, 0.0)]).1.is_some(),
        "marks that a host or a switch lost"
    );
    assert!(compare_marks(&[some(900.0, 0.0); 2], &[some(900.0, 0.0), none]).1.is_some(), "marks everywhere");
    assert!(check_restraint(&[some(0.0, 400.0), none]).is_some(), "a price that did not arrive");
    assert!(check_restraint(&[some(0.0, 400.0), some(0.0, 300.0)]).is_none());
    let mut unchanged = pair();
    unchanged.simulated.links[0].counters.trimmed = 50;
    assert!(port_changes(&unchanged).1.is_some(), "packets that no port cut");
    unchanged.real.links[1].counters.trimmed = 1;
    assert!(port_changes(&unchanged).1.is_none());
    let good =
        Echoes { answers: 900, whole: 900, impossible: 0, alone: 1500, shared: 90_000, settled: 3000.0 };
    assert!(find_unstamped(&good).is_none());
    for wrong in [
        Echoes { answers: 0, whole: 0, ..good },
        Echoes { whole: 899, ..good },
        Echoes { impossible: 1, ..good },
        Echoes { shared: 0, ..good },
        Echoes { alone: 80_000, ..good },
        Echoes { settled: 80_000.0, ..good },
    ] {
        assert!(find_unstamped(&wrong).is_some(), "{wrong:?}");
    }
    let told = |less_than_asked, less_than_the_link| Prices {
        asked: 500,
        answers: 500,
        less_than_asked,
        less_than_the_link,
    };
    assert!(find_misprices(&told(500, 300), &told(0, 0)).is_none());
    assert!(find_misprices(&told(500, 0), &told(0, 0)).is_some(), "a price that nobody lowered");
    assert!(find_misprices(&told(500, 300), &told(1, 0)).is_some(), "a price out of nothing");
    assert!(find_misprices(&told(500, 300), &Prices::default()).is_some(), "a control that says nothing");
}
