//! NDP in the setting of csg-htsim on a flow list that csg-htsim never finishes. The lists that it finishes are in
//! `scenarios/peers/csg-htsim`.

use crate::common;

use common::{flow, link, param, spec};
use headway_fabric::{Buffer, Limit};
use headway_network::topology::FatTree;
use headway_network::{FlowState, Network, Outcome, Routing, RunSpec, TopologySpec};
use headway_packet::Sizes;
use headway_params::ParamValue;
use headway_units::Time;

/// Flows of a connection matrix in `workloads/matrices`.
#[allow(clippy::disallowed_methods, reason = "reads a flow list")]
fn matrix(file: &str) -> Vec<headway_network::FlowSpec> {
    let path = format!("{}/../../workloads/matrices/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let line = |line: &str| {
        let (src, rest) = line.split_once("->")?;
        let mut words = rest.split_whitespace();
        let dst = words.next()?.parse().ok()?;
        let bytes = words.skip_while(|w| *w != "size").nth(1)?.parse().ok()?;
        Some(flow(src.trim().parse().ok()?, dst, bytes, Time::ZERO))
    };
    text.lines().filter_map(line).collect()
}

/// Setting of htsim with `-q 8 -strat perm`: its switch, its sizes, pulls at 0.99 of the link's rate, packets
/// over all paths and none of them left out.
fn csg(k: u32, file: &str, mtu: u16, window: u64) -> RunSpec {
    let link = link(100, Time::us(1));
    let topology = TopologySpec::FatTree(FatTree { k, hosts_per_edge: k / 2, host: link, fabric: link });
    let mut run = spec(topology, "ndp", matrix(file), Time::s(10));
    run.fabric.sizes = Sizes { payload: mtu, header: 64, framing: 0, control: 64 };
    run.fabric.params = vec![("variant".into(), ParamValue::Choice("csg-htsim".into()))];
    let bytes = 8 * u64::from(mtu);
    run.fabric.buffer = Buffer { data: Limit::Bytes(bytes), control: Limit::Bytes(2 * bytes) };
    run.fabric.routing = Routing::Pinned;
    let run = param(run, "window", ParamValue::Int(window));
    let run = param(run, "pull_rate", ParamValue::Float(0.99));
    let run = param(run, "pull_duplicates", ParamValue::Bool(true));
    param(run, "outliers", ParamValue::Bool(false))
}

fn outcome(run: &RunSpec) -> Outcome {
    headway_sim::run(run, &mut |_| true).expect("a valid run")
}

/// Completion times in us until the sender knows, ascending.
fn times(run: &RunSpec, out: &Outcome) -> Vec<f64> {
    let network = Network::build(&run.topology, &run.fabric).expect("a network");
    let way_back = |src: u32, dst: u32| {
        let links = network.links_between(dst, src).expect("a way");
        let link = |number: &u32| {
            let link = &network.links()[*number as usize];
            network.hop_delay(link) + link.spec.rate.time_of(64)
        };
        links.iter().map(link).fold(Time::ZERO, |a, b| a + b)
    };
    let both = run.flows.iter().zip(&out.flows);
    let mut times: Vec<f64> = both
        .map(|(flow, record)| {
            assert_eq!(record.state, FlowState::Done);
            (record.finish.expect("it is done") + way_back(flow.src, flow.dst)).0 as f64 / 1e6
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times
}

/// The header queue overflows, nothing comes back, and htsim is built without retransmission time-outs: it
/// never finishes this one.
#[test]
fn an_incast_that_loses_headers_finishes() {
    let run = csg(12, "incast_432n_100c_1MB.cm", 1500, 100);
    let out = outcome(&run);
    let drops: u64 = out.links.iter().map(|l| l.counters.drops()).sum();
    let times = times(&run, &out);
    println!("{drops} headers lost, last flow after {:.1} us", times[times.len() - 1]);
    assert!(drops > 0, "headers are lost");
    // 100 MB take 8.34 ms at the receiver's link.
    assert!(times[times.len() - 1] < 9_500.0, "last flow after {:.1} us", times[times.len() - 1]);
}
