//! Memory that the ports of a switch share.

use crate::common::{flow, link, outcome, spec};
use headway_fabric::{Buffer, DropReason, Limit};
use headway_network::topology::SingleSwitch;
use headway_network::{LinkRecord, MemoryParams, MemorySpec, Outcome, PortChoice, PortsAt, RunSpec};
use headway_units::Time;

const PACKET: u64 = 1538;

fn link_of<'a>(outcome: &'a Outcome, name: &str) -> &'a LinkRecord {
    outcome.links.iter().find(|link| link.name == name).expect("a link of that name")
}

/// Senders at hosts `receivers..`, in groups of two to each of the receivers, which all send at once.
fn pairs_to(receivers: u32, memory: MemoryParams) -> RunSpec {
    let flows =
        (0..2 * receivers).map(|one| flow(receivers + one, one % receivers, 3_000_000, Time::ZERO)).collect();
    let hosts = 3 * receivers;
    // Senders that do not slow down: their windows are larger than their messages.
    let mut run =
        spec(SingleSwitch { hosts, link: link(10, Time::us(1)) }.into(), "homa", flows, Time::ms(2));
    let unscheduled = headway_params::ParamValue::Int(10_000_000);
    run.transports[0].params = vec![("unscheduled_bytes".into(), unscheduled)];
    run.fabric.discipline = "drop-tail".into();
    run.fabric.buffer = Buffer { data: Limit::Bytes(memory.size), control: Limit::Packets(128) };
    run.fabric.memory = Some(MemorySpec { params: memory, alphas: Vec::new() });
    run
}

fn size_of(size: u64, alpha: f64) -> MemoryParams {
    MemoryParams { size, alpha, ..MemoryParams::default() }
}

#[test]
fn full_ports_hold_their_part_of_the_memory() {
    for (alpha, ports) in [(1.0, 1), (0.5, 1), (8.0, 1), (1.0, 2), (0.5, 8), (2.0, 8)] {
        let size = 600_000;
        let found = outcome(&pairs_to(ports, size_of(size, alpha)));
        let each = alpha * size as f64 / (1.0 + f64::from(ports) * alpha);
        for port in 0..ports {
            let counters = &link_of(&found, &format!("s0->h{port}")).counters;
            let most = counters.queue_max_bytes as f64;
            assert!(counters.dropped[DropReason::BufferFull as usize] > 0, "{alpha} {ports}");
            let off = PACKET as f64 * (1.0 + alpha);
            // The first to fill had less company: it may hold more, and never more than alone.
            let alone = alpha * size as f64 / (1.0 + alpha) + PACKET as f64;
            assert!(most >= each - off && most <= alone, "{alpha} {ports}: {most}, {each}");
        }
        let used = found.links.iter().map(|link| link.pauses.shared_max).max().expect("links");
        assert!(used <= size, "{used}");
    }
}

#[test]
fn a_port_may_have_an_alpha_of_its_own() {
    let mut run = pairs_to(2, size_of(600_000, 0.25));
    run.fabric.at = vec![PortsAt {
        ports: PortChoice::Links(vec!["s0->h1".into()]),
        discipline: "drop-tail".into(),
        params: Vec::new(),
        buffer: run.fabric.buffer,
        alpha: Some(2.0),
    }];
    let found = outcome(&run);
    let most = |name: &str| link_of(&found, name).counters.queue_max_bytes as f64;
    // 0.25 f and 2 f with f = B / (1 + 2.25).
    let free = 600_000.0 / 3.25;
    assert!((most("s0->h1") - 2.0 * free).abs() < 0.1 * 2.0 * free, "{}", most("s0->h1"));
    assert!(most("s0->h0") < 0.25 * 600_000.0 / 1.25, "{}", most("s0->h0"));
}

#[test]
fn memory_that_is_never_full_changes_no_time() {
    let mut apart = pairs_to(4, size_of(1 << 30, 64.0));
    let shared = outcome(&apart);
    apart.fabric.memory = None;
    apart.fabric.buffer = Buffer { data: Limit::Bytes(1 << 30), control: Limit::Packets(128) };
    let apart = outcome(&apart);
    assert_eq!(shared.flows, apart.flows);
}

#[test]
fn a_full_pool_marks_what_waits_at_a_port_that_is_nearly_empty() {
    let marks = |mark: u64| {
        let mut run = pairs_to(2, MemoryParams { mark, ..size_of(10_000_000, 8.0) });
        run.transports = vec![headway_network::TransportSpec::new("dctcp", Vec::new())];
        let found = outcome(&run);
        found.links.iter().map(|link| link.counters.marked).sum::<u64>()
    };
    assert_eq!(marks(0), 0, "drop-tail does not mark");
    assert!(marks(30_000) > 0);
}

#[test]
fn every_discipline_keeps_the_promises_of_memory() {
    for name in headway_fabric::registry::NAMES {
        for (classes, reserve) in [(1, 0), (3, 2_000)] {
            for transport in ["ndp", "homa", "dctcp", "expresspass"] {
                let params = MemoryParams { classes, reserve, ..size_of(300_000, 0.7) };
                let mut run = pairs_to(3, params);
                run.transports = vec![headway_network::TransportSpec::new(transport, Vec::new())];
                run.fabric.discipline = (*name).into();
                run.stop = Time::us(300);
                // The engine compares what is counted with what waits when a run ends, and debug builds each packet's room.
                let found = outcome(&run);
                assert!(
                    found.links.iter().all(|link| link.pauses.shared_max <= 300_000),
                    "{name} {transport}"
                );
            }
        }
    }
}
