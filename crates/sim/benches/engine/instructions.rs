//! Instructions an event and a packet-hop, transport by transport, counted by valgrind: the same number on a busy
//! machine as on a quiet one, so that two trees can be compared.
//!
//! Every transport of the registry runs the same messages over its own discipline, and every discipline that is no
//! transport's own runs below one that any discipline serves. The work before the first event is counted apart.

use super::{callgrind, flow};
use headway_fabric::{Buffer, Limit};
use headway_network::topology::FatTree;
use headway_network::{
    FabricSpec, FlowChoice, FlowSpec, LinkChoice, LinkSpec, Outcome, Routing, RunSpec, SampleSpec,
    TopologySpec, TransportSpec,
};
use headway_network::{Fault, FaultSpec};
use headway_packet::Sizes;
use headway_sim::run;
use headway_transport::{InitialWindow, registry};
use headway_units::{Rate, Time};

/// Before this nothing is sent.
const START: Time = Time::us(1);
/// Ports a switch of the fat-tree.
const K: u32 = 4;
/// Bytes of a message that crosses the core.
const LONG: u64 = 300_000;
/// Bytes of a message to the host that all send to.
const SHORT: u64 = 30_000;

/// Measurement of one row.
struct Row {
    name: String,
    /// More than one shares the hosts among them.
    transports: Vec<&'static str>,
    discipline: &'static str,
    /// Extra work of the engine on the way of a packet.
    extra: Extra,
}

#[derive(PartialEq)]
enum Extra {
    Nothing,
    /// Every flow and link is sampled every 10 us.
    Samples,
    /// One packet of a thousand is lost on each link, which takes packets the long way.
    Losses,
}

/// Cost of a row: instructions in all, those of them before the first event, and the work that was done.
struct Cost {
    setup: f64,
    event: f64,
    hop: f64,
    events: u64,
    hops: u64,
}

/// Prints the table, of rows whose name contains one of the words; `against FILE` adds the numbers of a former table.
pub(crate) fn table(words: &[String]) {
    let place = words.iter().position(|word| word == "against");
    let (wanted, file) = words.split_at(place.unwrap_or(words.len()));
    let former = file.get(1).map(|path| std::fs::read_to_string(path).expect("the former table"));
    println!(
        "| row | discipline | events | packet-hops | setup | instructions an event | a hop | former, an event | ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for row in rows() {
        if !wanted.is_empty() && !wanted.iter().any(|word| row.name.contains(word.as_str())) {
            continue;
        }
        let Some(cost) = cost(&row) else { return println!("valgrind is missing") };
        let before = former.as_deref().and_then(|table| in_table(table, &row.name));
        let compared = before.map_or("- | -".into(), |b| format!("{b:.1} | {:.3}", cost.event / b));
        println!(
            "| {} | {} | {} | {} | {:.0} | {:.1} | {:.1} | {compared} |",
            row.name, row.discipline, cost.events, cost.hops, cost.setup, cost.event, cost.hop
        );
    }
}

/// Instructions an event of a row in a former table.
fn in_table(table: &str, name: &str) -> Option<f64> {
    let cells = |line: &'_ str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let row = table.lines().map(cells).find(|cells| cells.get(1).is_some_and(|cell| cell == name))?;
    row.get(6)?.parse().ok()
}

/// Runs a row in this process: to its end, or only until everything is made.
pub(crate) fn once(name: &str, whole: bool) {
    let row = rows().into_iter().find(|row| row.name == name).expect("a row of that name");
    outcome(&row, whole);
}

fn cost(row: &Row) -> Option<Cost> {
    let count = |part| callgrind(&["instructions", "once", &row.name, part]).map(|count| count as f64);
    let (setup, all) = (count("setup")?, count("whole")?);
    let out = outcome(row, true);
    let event = (all - setup) / out.events as f64;
    let hop = (all - setup) / out.packet_hops as f64;
    Some(Cost { setup, event, hop, events: out.events, hops: out.packet_hops })
}

fn outcome(row: &Row, whole: bool) -> Outcome {
    let mut spec = specification(row);
    if !whole {
        // Messages begin at `START`, so that no event happens.
        spec.stop = Time::ZERO;
    }
    run(&spec, &mut |_| true).expect("a valid run")
}

fn rows() -> Vec<Row> {
    let own = |name: &str| registry::find_entry(name).expect("a registered transport").info.discipline;
    let row = |name: &str, transports: &[&'static str], discipline, extra| Row {
        name: name.into(),
        transports: transports.to_vec(),
        discipline,
        extra,
    };
    let mut rows: Vec<Row> =
        registry::NAMES.iter().map(|name| row(name, &[name], own(name), Extra::Nothing)).collect();
    for discipline in headway_fabric::registry::NAMES {
        if !rows.iter().any(|row| row.discipline == *discipline) {
            rows.push(row(&format!("tcp/{discipline}"), &["tcp"], discipline, Extra::Nothing));
        }
    }
    rows.push(row("amrt+dctcp", &["amrt", "dctcp"], "anti-ecn", Extra::Nothing));
    rows.push(row("amrt, sampled", &["amrt"], own("amrt"), Extra::Samples));
    rows.push(row("amrt, with losses", &["amrt"], own("amrt"), Extra::Losses));
    rows
}

fn specification(row: &Row) -> RunSpec {
    let link = LinkSpec { rate: Rate::gbps(10), delay: Time::us(1) };
    let symmetric = row
        .transports
        .iter()
        .any(|name| registry::find_entry(name).is_some_and(|e| e.capabilities.symmetric));
    let transport = |name: &&str| TransportSpec::new(*name, Vec::new());
    let loss = Fault::Random { loss: 0.001, duplicate: 0.0, reorder: 0.0, reorder_by: Time::ZERO };
    RunSpec {
        topology: TopologySpec::FatTree(FatTree { k: K, hosts_per_edge: K / 2, host: link, fabric: link }),
        fabric: FabricSpec {
            discipline: row.discipline.into(),
            params: Vec::new(),
            buffer: Buffer { data: Limit::Packets(64), control: Limit::Packets(512) },
            routing: if symmetric { Routing::Symmetric } else { Routing::Ecmp },
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
        transports: row.transports.iter().map(transport).collect(),
        flows: messages(row.transports.len() as u32),
        seed: 1,
        stop: Time::ms(20),
        sample: (row.extra == Extra::Samples).then(|| SampleSpec {
            probes: headway_network::ProbeChoice::None,
            causes: false,
            volumes: Vec::new(),
            every: Time::us(10),
            flows: FlowChoice::All,
            links: LinkChoice::All,
            most: 1_000_000,
        }),
        faults: (row.extra == Extra::Losses)
            .then_some(FaultSpec { links: LinkChoice::All, kind: None, what: loss })
            .into_iter()
            .collect(),
        jitter: Time::ZERO,
        costs: headway_network::HostCosts::default(),
        until: headway_network::Until::Received,
        graph: None,
    }
}

/// A permutation of messages across the core, twice over, and between them one short message from each host to
/// host 0. Of several transports each has the hosts of a remainder.
fn messages(transports: u32) -> Vec<FlowSpec> {
    let hosts = K * K * K / 4;
    let message = |src: u32, dst: u32, bytes, start| FlowSpec {
        start,
        transport: (src % transports) as u8,
        initial_window: InitialWindow::default(),
        ..flow(src, dst, bytes)
    };
    let across = |wave: u32| {
        let start = START + Time::us(500) * u64::from(wave);
        (0..hosts).map(move |host| message(host, (host + hosts / 2 + 2 * wave) % hosts, LONG, start))
    };
    let to_one = (1..hosts)
        .filter(|host| host % transports == 0)
        .map(|host| message(host, 0, SHORT, START + Time::us(250)));
    across(0).chain(to_one).chain(across(1)).collect()
}
