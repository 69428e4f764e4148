//! Engine speed: packet-hops per second, instructions a packet-hop, memory, and growth with size.
//!
//! `cargo bench -p headway-sim --bench engine` prints these of all cases, with `-- CASE` at the end of one. Wall
//! times on shared machines vary: compare ratios within one run. Instruction counts need valgrind.
//!
//! `-- instructions` counts them for every transport and discipline, `-- instructions ndp` for some,
//! `-- instructions against FILE` next to a table that an earlier commit printed. `-- gate FILE` fails where the
//! flow lists cost more than the committed baseline says. `-- parts` divides them among queue, port, route, machine and
//! so on, `-- parts ndp_128` of some lists. `-- threads 2` times one run on two threads, and two runs at once. `-- growth` gives
//! the cost of a hop in networks of 128 to 65,536 hosts.
#![allow(clippy::disallowed_methods, reason = "a benchmark reads files, the wall clock and its arguments")]

mod gate;
mod growth;
mod instructions;
mod parts;
mod threads;

use headway_fabric::{Buffer, Limit};
use headway_network::topology::FatTree;
use headway_network::{
    FabricSpec, FlowSpec, FlowState, LinkSpec, Outcome, Routing, RunSpec, TopologySpec, TransportSpec,
};
use headway_packet::Sizes;
use headway_params::ParamValue;
use headway_sim::run;
use headway_transport::InitialWindow;
use headway_units::{Rate, Time};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// Allocator, the same as in the native module.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A permutation on a k-ary fat-tree: 100 Gb/s, 1 us links, 1500 B, spray, windows of 100 packets; AMRT,
/// NDP over the ports of csg-htsim, or TCP and multipath transports over drop-tail ports and hashed paths.
struct Case {
    name: &'static str,
    k: u32,
    /// Connection matrix in htsim's form, or `None` for a permutation drawn here.
    matrix: Option<&'static str>,
    /// Bytes a flow, where the permutation is drawn here.
    bytes: u64,
    transport: &'static str,
    /// Subflows of a message, for multipath transports.
    subflows: u64,
}

const CASES: &[Case] = &[
    Case {
        name: "perm_128n_128c_2MB",
        k: 8,
        matrix: Some("perm_128n_128c_2MB.cm"),
        bytes: 0,
        transport: "amrt",
        subflows: 0,
    },
    Case {
        name: "perm_432n_432c_2MB",
        k: 12,
        matrix: Some("perm_432n_432c_2MB.cm"),
        bytes: 0,
        transport: "amrt",
        subflows: 0,
    },
    Case {
        name: "perm_1024n_1024c_2MB",
        k: 16,
        matrix: Some("perm_1024n_1024c_2MB.cm"),
        bytes: 0,
        transport: "amrt",
        subflows: 0,
    },
    Case {
        name: "ndp_128n_128c_2MB",
        k: 8,
        matrix: Some("perm_128n_128c_2MB.cm"),
        bytes: 0,
        transport: "ndp",
        subflows: 0,
    },
    Case {
        name: "ndp_432n_432c_2MB",
        k: 12,
        matrix: Some("perm_432n_432c_2MB.cm"),
        bytes: 0,
        transport: "ndp",
        subflows: 0,
    },
    Case {
        name: "ndp_1024n_1024c_2MB",
        k: 16,
        matrix: Some("perm_1024n_1024c_2MB.cm"),
        bytes: 0,
        transport: "ndp",
        subflows: 0,
    },
    Case { name: "growth_128n", k: 8, matrix: None, bytes: 400_000, transport: "amrt", subflows: 0 },
    Case { name: "growth_1024n", k: 16, matrix: None, bytes: 400_000, transport: "amrt", subflows: 0 },
    Case { name: "growth_8192n", k: 32, matrix: None, bytes: 400_000, transport: "amrt", subflows: 0 },
    Case { name: "growth_65536n", k: 64, matrix: None, bytes: 100_000, transport: "amrt", subflows: 0 },
    Case { name: "tcp_128n", k: 8, matrix: None, bytes: 1_000_000, transport: "tcp", subflows: 0 },
    Case { name: "mptcp_1_128n", k: 8, matrix: None, bytes: 1_000_000, transport: "mptcp-lia", subflows: 1 },
    Case { name: "mptcp_4_128n", k: 8, matrix: None, bytes: 1_000_000, transport: "mptcp-lia", subflows: 4 },
];

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    match &wanted.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["instructions", "once", row, part] => instructions::once(row, *part == "whole"),
        ["instructions", ..] => instructions::table(&wanted[1..]),
        ["growth"] => growth::table(),
        ["threads"] => threads::table(2),
        ["threads", number] => threads::table(number.parse().expect("a number of threads")),
        ["parts", ..] => parts::table(&wanted[1..]),
        ["gate", "once", list, part] => gate::once(list, *part == "whole"),
        ["gate", file] => return gate::gate(file),
        _ => speeds(&wanted),
    }
    ExitCode::SUCCESS
}

/// Prints the table of speeds, of cases whose name contains one of the words; `once CASE` only runs it.
fn speeds(wanted: &[String]) {
    if let [once, name] = wanted
        && once == "once"
    {
        let case = CASES.iter().find(|c| c.name == name).expect("a case of that name");
        let (out, seconds) = measure(case);
        let each = 1e9 * seconds / out.packet_hops as f64;
        println!("hops {} in {seconds:.3} s, {each:.1} ns each", out.packet_hops);
        return;
    }
    println!("| case | flows done | packet-hops | M hops/s | instructions a hop | peak MB |");
    println!("|---|---|---|---|---|---|");
    for case in
        CASES.iter().filter(|c| wanted.is_empty() || wanted.iter().any(|w| c.name.contains(w.as_str())))
    {
        // The best of three: on a shared machine the others measure the neighbours.
        let runs: Vec<_> = (0..3).map(|_| measure(case)).collect();
        let best = runs.iter().map(|(_, s)| *s).fold(f64::INFINITY, f64::min);
        let out = &runs[0].0;
        let done = out.flows.iter().filter(|f| f.state == FlowState::Done).count();
        let speed = out.packet_hops as f64 / best / 1e6;
        println!(
            "| {} | {done}/{} | {} | {speed:.2} | {} | {} |",
            case.name,
            out.flows.len(),
            out.packet_hops,
            // Larger networks take valgrind too long.
            if case.k <= 8 { instructions_a_hop(case, out.packet_hops) } else { "-".into() },
            peak_megabytes(case),
        );
    }
}

fn measure(case: &Case) -> (Outcome, f64) {
    let spec = specification(case);
    let start = Instant::now();
    let outcome = run(&spec, &mut |_| true).expect("a valid run");
    (outcome, start.elapsed().as_secs_f64())
}

/// Instructions of this program with these arguments in a fresh process; `None` without valgrind.
fn callgrind(arguments: &[&str]) -> Option<u64> {
    callgrind_into(arguments, None)
}

/// As [`callgrind`]; `out` is a file for the cost of each instruction.
fn callgrind_into(arguments: &[&str], out: Option<&Path>) -> Option<u64> {
    let me = std::env::current_exe().ok()?;
    let mut file = std::ffi::OsString::from("--callgrind-out-file=");
    file.push(out.unwrap_or(Path::new("/dev/null")));
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--dump-instr=yes"]).arg(file).arg(me).args(arguments);
    let output = command.output().ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines().find_map(|line| line.split("Collected :").nth(1)?.trim().parse().ok())
}

fn instructions_a_hop(case: &Case, hops: u64) -> String {
    let count = callgrind(&["once", case.name]);
    count.map_or("valgrind is missing".into(), |count| format!("{:.0}", count as f64 / hops as f64))
}

fn peak_megabytes(case: &Case) -> String {
    // The child reads its own peak from /proc, because not every machine has GNU time.
    let me = std::env::current_exe().expect("this program");
    let script = r#""$0" once "$1" >/dev/null & p=$!; m=0; while [ -r /proc/$p/status ]; do
        n=$(awk '/VmHWM/{print $2}' /proc/$p/status 2>/dev/null); [ -n "$n" ] && m=$n; sleep 0.02; done; echo $m"#;
    let output = Command::new("sh").arg("-c").arg(script).arg(me).arg(case.name).output();
    let text = output.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_string()).unwrap_or_default();
    text.parse::<u64>().map_or("-".into(), |kb| (kb / 1024).to_string())
}

fn flows(case: &Case) -> Vec<FlowSpec> {
    let Some(file) = case.matrix else { return drawn(case) };
    let path = format!("{}/../../workloads/matrices/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let line = |line: &str| -> Option<FlowSpec> {
        let (src, rest) = line.split_once("->")?;
        let mut words = rest.split_whitespace();
        let dst = words.next()?.parse().ok()?;
        let bytes = words.skip_while(|w| *w != "size").nth(1)?.parse().ok()?;
        Some(flow(src.trim().parse().ok()?, dst, bytes))
    };
    text.lines().filter_map(line).collect()
}

/// Host `i` sends to a host half the network and a stride away: a permutation that crosses the core.
fn drawn(case: &Case) -> Vec<FlowSpec> {
    let hosts = case.k * case.k * case.k / 4;
    // The stride of odd hosts is even, so that they share no receiver with even ones.
    (0..hosts).map(|i| flow(i, (i + hosts / 2 + 7 * (i % 2) * 2) % hosts, case.bytes)).collect()
}

fn flow(src: u32, dst: u32, bytes: u64) -> FlowSpec {
    FlowSpec {
        src,
        dst,
        bytes,
        start: Time::ZERO,
        class: 0,
        deadline: None,
        initial_window: InitialWindow { window: Some(100), ..InitialWindow::default() },
        responsive: true,
        transport: 0,
        path: None,
        connection: None,
        stop: None,
    }
}

fn specification(case: &Case) -> RunSpec {
    let link = LinkSpec { rate: Rate::gbps(100), delay: Time::us(1) };
    let k = case.k;
    let run = RunSpec {
        topology: TopologySpec::FatTree(FatTree { k, hosts_per_edge: k / 2, host: link, fabric: link }),
        fabric: FabricSpec {
            discipline: "anti-ecn".into(),
            params: Vec::new(),
            buffer: Buffer { data: Limit::Packets(128), control: Limit::Packets(1024) },
            routing: Routing::Spray,
            sizes: Sizes::default(),
            switch_latency: Time::ZERO,
            at: Vec::new(),
            forwarding: headway_network::Forwarding::StoreAndForward,
            host_queue: None,
            bonded: false,
            altered: Vec::new(),
            pfc: None,
            memory: None,
        },
        transports: vec![TransportSpec::new("amrt", Vec::new())],
        flows: flows(case),
        seed: 1,
        stop: Time::s(1),
        sample: None,
        faults: Vec::new(),
        jitter: Time::ZERO,
        costs: headway_network::HostCosts::default(),
        until: headway_network::Until::Received,
        graph: None,
    };
    match case.transport {
        "ndp" => ndp(run),
        "amrt" => run,
        _ => windowed(run, case),
    }
}

/// Slow start, hashed paths, buffers that overflow.
fn windowed(mut run: RunSpec, case: &Case) -> RunSpec {
    let subflows = (case.subflows > 0).then(|| ("subflows".into(), ParamValue::Int(case.subflows)));
    run.transports[0] = TransportSpec::new(case.transport, subflows.into_iter().collect());
    run.flows.iter_mut().for_each(|flow| flow.initial_window = InitialWindow::default());
    run.fabric.discipline = "drop-tail".into();
    run.fabric.routing = Routing::Ecmp;
    run
}

/// The run with the settings of `htsim_ndp -mtu 1500 -q 8 -cwnd 100 -strat perm`.
fn ndp(mut run: RunSpec) -> RunSpec {
    run.transports[0].name = "ndp".into();
    run.transports[0].params = vec![
        ("pull_rate".into(), ParamValue::Float(0.99)),
        ("window".into(), ParamValue::Int(100)),
        ("pull_duplicates".into(), ParamValue::Bool(true)),
        ("outliers".into(), ParamValue::Bool(false)),
    ];
    run.fabric.discipline = "trimming".into();
    run.fabric.params = vec![("variant".into(), ParamValue::Choice("csg-htsim".into()))];
    // `-q 8`: eight packets of 1500 B.
    run.fabric.buffer = Buffer { data: Limit::Bytes(12_000), control: Limit::Bytes(24_000) };
    run.fabric.routing = Routing::Pinned;
    run.fabric.sizes = Sizes { payload: 1500, header: 64, framing: 0, control: 64 };
    run
}
