//! Every parameter of every discipline at both ends of its declared range makes a port, and packets pass it.

use crate::common;

use common::{Pool, packet};
use headway_fabric::registry::{self, AnyDiscipline};
use headway_fabric::{Buffer, Limit, Port, PortContext, Space};
use headway_packet::Sizes;
use headway_params::ParamValue;
use headway_primitives::mix;
use headway_units::{Rate, Time};

fn context() -> PortContext {
    let buffer = Buffer { data: Limit::Packets(16), control: Limit::Bytes(1000) };
    let round_trip = Some(Time::us(40));
    PortContext { rate: Rate::gbps(10), sizes: Sizes::default(), buffer, seed: 3, round_trip, to_host: false }
}

/// Offers packets, and lets one leave after every third.
fn pass(rules: AnyDiscipline) -> Result<(), String> {
    let mut port = Port::new(rules, context().into());
    let mut pool = Pool((0..400).map(|n| packet(n, mix(n.into()))).collect());
    let mut now = Time::ZERO;
    for handle in 0..400 {
        let _ = port.offer(now, handle, &mut pool);
        if handle % 3 == 0
            && let Some(start) = port.next_start().filter(|start| *start < Time::s(100))
        {
            now = now.max(start);
            port.next(now, &mut pool);
        }
    }
    port.gauges(now);
    port.check().map_err(|broken| broken.to_string())
}

#[test]
fn both_ends_of_every_range_make_a_port_that_works() {
    let mut tried = 0;
    for (info, specs) in registry::all() {
        for spec in &specs {
            for value in spec.kind.range_ends() {
                let what = format!("{} with {} = {value}", info.name, spec.name);
                let params = [(spec.name.to_string(), value)];
                let made = AnyDiscipline::make(info.name, &params, &context()).expect("known");
                let rules = made.unwrap_or_else(|e| panic!("{what}: {e}"));
                let space = registry::buffer(info.name, &params, &Sizes::default(), Space::default());
                space.expect("known").expect("valid");
                pass(rules).unwrap_or_else(|e| panic!("{what}: {e}"));
                tried += 1;
            }
        }
    }
    assert!(tried > 60, "only {tried} values");
}

#[test]
fn more_levels_than_queues_are_refused_by_their_range() {
    for name in ["strict-priority", "selective-drop"] {
        let levels = |n| [("levels".to_string(), ParamValue::Int(n))];
        let refused =
            AnyDiscipline::make(name, &levels(32), &context()).expect("known").expect_err("too many");
        assert_eq!(refused.to_string(), "`levels` takes a whole number from 1 to 31");
    }
}
