//! Meaning of `share = n` on a path that is slower than its hosts.

use crate::common;

use common::{fair, flow, link, link_series, mean, outcome, sampled, spec};
use headway_network::topology::Dumbbell;
use headway_network::{Metric, TopologySpec};
use headway_units::Time;

/// Samples in a round trip.
const SAMPLES: u64 = 16;
/// Propagation there and back, of three links.
const ROUND_TRIP: Time = Time::us(480);

/// The share of a link at `bottleneck` Gb/s that one of four fair sharers uses in the first `part` of a round trip of
/// data, from a host at 40 Gb/s.
fn first_use(transport: &str, bottleneck: u64, part: u64) -> f64 {
    let delay = Time(ROUND_TRIP.0 / 6);
    let topology = TopologySpec::Dumbbell(Dumbbell {
        senders: 1,
        receivers: 1,
        access: link(40, delay),
        bottleneck: link(bottleneck, delay),
    });
    let flows = vec![fair(flow(0, 1, 20_000_000, Time::ZERO), 4, 0)];
    let every = Time(ROUND_TRIP.0 / SAMPLES);
    let out = outcome(&sampled(spec(topology, transport, flows, ROUND_TRIP * 4), every));
    let series = link_series(&out, "s0->s1", Metric::Utilisation);
    // An announcement alone is a hundredth of a sample.
    let begins = series.iter().find(|(_, used)| *used > 0.05).expect("it sends").0;
    mean(&series, begins, begins + Time(ROUND_TRIP.0 / part))
}

#[test]
fn one_of_four_uses_a_quarter_of_the_path_whatever_its_hosts_could() {
    let (mut tried, mut wrong) = (0, Vec::new());
    for name in headway_transport::registry::NAMES {
        let part = match *name {
            // Its switches say the rate; it begins without a window; it paces by its measurements.
            "rcp" | "expresspass" | "bbr" | "bbr3" => continue,
            // Its first window is 64 packets, whatever the path holds. EQDS §5
            "eqds" => continue,
            // Its first window is for half a round trip. ProactMP §III-C1
            "proactmp" => 2,
            _ => 1,
        };
        for bottleneck in [10, 40] {
            let used = first_use(name, bottleneck, part);
            if (used - 0.25).abs() >= 0.02 {
                wrong.push((name, bottleneck, used));
            }
        }
        tried += 1;
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(tried > 15, "{tried}");
}
