//! pHost beside YAPS, the simulator of pHost's authors.
mod common;

use common::{flow, link, param, spec};
use headway_fabric::{Buffer, Limit};
use headway_packet::Sizes;
use headway_sim::{FlowSpec, FlowState, Network, Outcome, Routing, RunSpec, TopologySpec};
use headway_units::{ParamValue, Time};

const SLOT: Time = Time::ns(300);

/// 144 hosts at 40 Gb/s in 9 racks, 4 spines at 160 Gb/s, 200 ns a link, 1460 + 40 bytes and 40 of control.
fn yaps(flows: Vec<FlowSpec>) -> RunSpec {
    let (host, spine) = (link(40, Time::ns(200)), link(160, Time::ns(200)));
    let topology = TopologySpec::LeafSpine { racks: 9, hosts_per_rack: 16, spines: 4, host, spine };
    let mut run = spec(topology, "phost", flows, Time::s(1));
    run.fabric.sizes = Sizes { payload: 1460, header: 40, framing: 0, control: 40 };
    run.fabric.buffer = Buffer { data: Limit::Bytes(36_864), control: Limit::Bytes(36_864) };
    run.fabric.routing = Routing::Spray;
    let run = param(run, "free_rule", ParamValue::Choice("yaps".into()));
    let run = param(run, "free_tokens", ParamValue::Int(8));
    let run = param(run, "outstanding_limit", ParamValue::Int(8));
    let run = param(run, "resend_wait", ParamValue::Int(9));
    let run = param(run, "downgrade_time", ParamValue::Float(7.5 / 2.41));
    param(run, "priorities", ParamValue::Bool(false))
}

fn outcome(run: &RunSpec) -> Outcome {
    headway_sim::run(run, &mut |_| true).expect("a valid run")
}

fn packets(src: u32, dst: u32, n: u64, start: Time) -> FlowSpec {
    flow(src, dst, n * 1460, start)
}

/// Completion times in us until the sender knows, in the order of the flows.
fn times(run: &RunSpec) -> Vec<f64> {
    let out = outcome(run);
    let network = Network::build(&run.topology, &run.fabric).expect("a network");
    let way_back = |src: u32, dst: u32| {
        let links = network.links_between(dst, src).expect("a way");
        let link = |number: &u32| {
            let link = &network.links()[*number as usize];
            network.hop_delay(link) + link.spec.rate.time_of(40)
        };
        links.iter().map(link).fold(Time::ZERO, |a, b| a + b)
    };
    let both = run.flows.iter().zip(&out.flows);
    both.map(|(flow, record)| {
        assert_eq!(record.state, FlowState::Done);
        (record.finish.expect("it is done") + way_back(flow.src, flow.dst) - flow.start).0 as f64 / 1e6
    })
    .collect()
}

fn single() -> Vec<FlowSpec> {
    let far = [1, 2, 8, 9, 30, 100, 1000].into_iter().map(|n| (n, 143));
    let near = [1, 8, 9, 100].into_iter().map(|n| (n, 5));
    far.chain(near).zip(0..).map(|((n, dst), i)| packets(0, dst, n, Time::ms(1) * i)).collect()
}

fn spread(n: u64, apart: Time, into: bool) -> Vec<FlowSpec> {
    (0..16u32)
        .map(|i| {
            let (src, dst) = if into { (16 + 7 * i, 0) } else { (0, 16 + 7 * i) };
            packets(src, dst, n, apart * u64::from(i))
        })
        .collect()
}

/// A fixed random list: both simulators read the same.
fn load(n: u32) -> Vec<FlowSpec> {
    let mut state = 1u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let sizes = [(500, 1), (700, 3), (800, 7), (900, 20), (960, 70), (990, 300), (1000, 1000)];
    let mut now = Time::ZERO;
    (0..n)
        .map(|_| {
            now += Time(random(187_500));
            let place = random(1000);
            let size = sizes.iter().find(|(end, _)| place < *end).map_or(1, |s| s.1);
            let src = random(144) as u32;
            let dst = random(143) as u32;
            packets(src, dst + u32::from(dst >= src), size, now)
        })
        .collect()
}

#[test]
fn show() {
    let _ = SLOT;
    for (name, flows) in [
        ("single", single()),
        ("incast", spread(100, Time::us(2), true)),
        ("outcast", spread(100, Time::us(2), false)),
        ("burst", spread(8, Time::ZERO, true)),
    ] {
        println!("{name} {:.4?}", times(&yaps(flows)));
    }
    let run = yaps(load(10_000));
    let t = times(&run);
    let show = |name: &str, mut v: Vec<f64>| {
        v.sort_by(f64::total_cmp);
        let n = v.len();
        println!("{name} {n} mean {:.4} p99 {:.4}", v.iter().sum::<f64>() / n as f64, v[(0.99 * n as f64) as usize]);
    };
    show("load", t.clone());
    for size in [1, 3, 7, 20, 70, 300, 1000] {
        let of = |(f, t): (&FlowSpec, &f64)| (f.bytes == size * 1460).then_some(*t);
        show(&format!("  {size}"), run.flows.iter().zip(&t).filter_map(of).collect());
    }
}
