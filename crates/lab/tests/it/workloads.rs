//! Generated traffic: sizes, rates, pairs, and that it depends on seeds and on nothing else.
#![allow(clippy::disallowed_methods, reason = "writes the table that an entry names")]

use crate::common;

use common::{LEAF_SPINE, SMALL, good, load as read};
use headway_lab::import::{cm, csv};
use headway_lab::scenario::{ExportFormat, Scenario};
use headway_lab::text::Source;
use headway_lab::traffic::load;
use headway_lab::workload::library;
use headway_lab::{Request, Resolved, ScenarioError};
use headway_network::FlowSpec;
use headway_packet::Sizes;
use headway_units::Time;
use std::io::Write;

fn flows(scenario: &Scenario) -> Vec<FlowSpec> {
    let setup = scenario.setup().expect("a network");
    setup.resolve(scenario.seed).expect("flows").spec.flows
}

fn poisson(keys: &str, sets: &[&str]) -> Scenario {
    good(&LEAF_SPINE.replace("LOAD", keys), sets)
}

/// The pattern of one `[[traffic]]` in place of the flows of [`SMALL`], on six hosts.
fn pattern(keys: &str) -> Vec<FlowSpec> {
    let head = &SMALL[..SMALL.find("[[traffic]]").unwrap_or_default()];
    let text = format!("{}\n[[traffic]]\n{keys}\n", head.replace("senders = 2", "senders = 4"));
    flows(&good(&text, &[]))
}

#[test]
fn the_first_flows_of_a_seed_never_change() {
    let shown: Vec<String> = flows(&poisson("flows = 5", &[]))
        .iter()
        .map(|f| format!("{} -> {}: {} B at {}", f.src, f.dst, f.bytes, f.start))
        .collect();
    insta::assert_snapshot!("first_flows", shown.join("\n"));
}

#[test]
fn flows_depend_on_the_seed_and_not_on_the_transport_or_the_network_behind() {
    let base = flows(&poisson("flows = 200", &[]));
    let same =
        ["transport.name=phost", "fabric.buffer=8 packets", "fabric.routing=spray", "fabric.control=90"];
    assert_eq!(flows(&poisson("flows = 200", &same[..3])), base);
    assert_ne!(flows(&poisson("flows = 200", &["seed=2"])), base);
    let other_load = flows(&poisson("flows = 200", &["traffic.0.load=0.25"]));
    for (a, b) in base.iter().zip(&other_load) {
        assert_eq!((a.src, a.dst, a.bytes), (b.src, b.dst, b.bytes), "another load keeps sizes and pairs");
        // Starts are whole picoseconds, so the ratio is not exact.
        assert!((b.start.0 as f64 / a.start.0 as f64 - 2.0).abs() < 1e-6, "half the load is twice the time");
    }
    let second = poisson("flows = 200\n[[traffic]]\nkind = \"permutation\"\nbytes = 1000", &[]);
    assert_eq!(flows(&second)[..200], base[..], "another entry shifts nothing");
}

/// Bytes offered over the time of the arrivals, in bits per second.
fn offered(flows: &[FlowSpec], bytes: impl Fn(u64) -> u64) -> f64 {
    let bits: f64 = flows.iter().map(|f| 8.0 * bytes(f.bytes) as f64).sum();
    let last = flows.iter().map(|f| f.start.0).max().unwrap_or(1);
    bits / (last as f64 / 1e12)
}

const HOSTS_BPS: f64 = 32.0 * 10e9;
// Four leaves with four uplinks each.
const CORE_BPS: f64 = 4.0 * 4.0 * 10e9;

#[test]
fn a_load_means_what_it_says() {
    let wire = |b: u64| Sizes::default().message_wire(b);
    let close = |measured: f64, wanted: f64| {
        assert!((measured / wanted - 1.0).abs() < 0.02, "{measured:e} is not {wanted:e}");
    };
    let count = "flows = 60000\nload_bytes = ";
    let cdf = ["traffic.0.cdf=homa_w3_google_all"];
    // Small messages, so that headers and padding matter: W3's mean on the wire is 14 % above its mean.
    let all = flows(&poisson(&format!("{count}\"payload\"\ncdf = \"x\"").replace("\ncdf = \"x\"", ""), &cdf));
    let exact = library::find("homa_w3_google_all").expect("W3").cdf().expect("W3");
    let sampled: f64 = all.iter().map(|f| f.bytes as f64).sum::<f64>() / all.len() as f64;
    // W3's sizes vary so much that a sample mean is a few percent off; the rate of arrivals is not.
    let arrivals = all.len() as f64 / (all.iter().map(|f| f.start.0).max().unwrap_or(1) as f64 / 1e12);
    close(arrivals * 8.0 * exact.mean(), 0.5 * HOSTS_BPS);
    close(offered(&all, |b| b), 0.5 * HOSTS_BPS * sampled / exact.mean());
    let on_wire = flows(&poisson(&format!("{count}\"wire\""), &cdf));
    let arrivals =
        on_wire.len() as f64 / (on_wire.iter().map(|f| f.start.0).max().unwrap_or(1) as f64 / 1e12);
    close(arrivals * 8.0 * load::mean_wire(&exact, &Sizes::default()), 0.5 * HOSTS_BPS);

    let websearch = flows(&poisson("flows = 60000\nload_bytes = \"wire\"", &[]));
    close(offered(&websearch, wire), 0.5 * HOSTS_BPS);
    let core = flows(&poisson("flows = 60000\nload_reference = \"core-links\"", &[]));
    let crossing: Vec<FlowSpec> = core.iter().filter(|f| f.src / 8 != f.dst / 8).copied().collect();
    // Of the 31 other hosts, 24 are in other racks.
    close(crossing.len() as f64 / core.len() as f64, 24.0 / 31.0);
    close(offered(&crossing, wire), 0.5 * CORE_BPS);
    let apart =
        flows(&poisson("flows = 60000\nload_reference = \"core-links\"\npairs = \"inter-rack\"", &[]));
    assert!(apart.iter().all(|f| f.src / 8 != f.dst / 8));
    close(offered(&apart, wire), 0.5 * CORE_BPS);
}

#[test]
fn a_published_mean_scales_the_arrivals_by_its_ratio_to_the_exact_one() {
    let sets = ["traffic.0.cdf=xpass_websearch"];
    let rate = |keys: &str| {
        let resolved = poisson(keys, &sets).resolved_json();
        resolved["traffic"][0]["arrivals_per_s"].as_f64().expect("a rate")
    };
    let ratio = rate("flows = 9\nmean = \"published\"") / rate("flows = 9\nmean = \"exact\"");
    assert!((ratio - 1_710_004.4 / 1_654_275.0).abs() < 1e-6, "{ratio}");
}

#[test]
fn sources_and_destinations_are_even_and_distinct() {
    let flows = flows(&poisson("flows = 32000", &[]));
    let mut sources = [0u32; 32];
    let mut destinations = [0u32; 32];
    for flow in &flows {
        assert_ne!(flow.src, flow.dst);
        sources[flow.src as usize] += 1;
        destinations[flow.dst as usize] += 1;
    }
    for count in sources.iter().chain(&destinations) {
        // 4.7 standard deviations of a mean of 1,000.
        assert!((850..1150).contains(count), "{count} of about 1000");
    }
}

#[test]
fn a_duration_ends_the_arrivals() {
    let flows = flows(&poisson("duration = \"20 ms\"\nstart = \"5 ms\"", &[]));
    let bounds = 5_000_000_000..25_000_000_000;
    assert!(flows.iter().all(|f| bounds.contains(&f.start.0)));
    let setup = poisson("duration = \"20 ms\"", &[]);
    let expected = setup.setup().expect("a network").traffic[0].expected_flows(32);
    assert!((flows.len() as f64 / expected - 1.0).abs() < 0.2, "{} of about {expected}", flows.len());
}

#[test]
fn sizes_follow_their_distribution() {
    for name in ["dctcp_websearch", "xpass_webserver", "homa_w4_fb_hadoop"] {
        let cdf = library::find(name).expect(name).cdf().expect(name);
        let flows = flows(&poisson("flows = 50000", &[&format!("traffic.0.cdf={name}")]));
        for bytes in [1_000, 10_000, 100_000, 1_000_000, 10_000_000] {
            let share = flows.iter().filter(|f| f.bytes <= bytes).count() as f64 / flows.len() as f64;
            // 3.6 standard deviations of a share of one half, the widest.
            assert!((share - cdf.share_up_to(bytes)).abs() < 0.008, "{name} up to {bytes}: {share}");
        }
    }
}

#[test]
fn an_incast_is_many_to_one_in_every_round() {
    let flows = pattern(
        "kind = \"incast\"\nsenders = 4\nreceiver = 1\nbytes = \"20 kB\"\nrepeat = 3\nperiod = \"1 ms\"",
    );
    let rows: Vec<_> = flows.iter().map(|f| (f.src, f.dst, f.start.0 / 1_000_000_000)).collect();
    // The receiver is left out of the first hosts.
    let senders = [0, 2, 3, 4];
    let expected: Vec<_> = (0..3).flat_map(|round| senders.map(|s| (s, 1, round))).collect();
    assert_eq!(rows, expected);
}

#[test]
fn a_permutation_gives_every_host_one_other() {
    for seed in 1..20 {
        let text = LEAF_SPINE.replace("LOAD", "").replace(
            "kind = \"poisson\"\ncdf = \"dctcp_websearch\"\nload = 0.5",
            "kind = \"permutation\"\nbytes = 1000",
        );
        let flows = flows(&good(&text, &[&format!("seed={seed}")]));
        let mut receivers: Vec<u32> = flows.iter().map(|f| f.dst).collect();
        assert!(flows.iter().enumerate().all(|(i, f)| f.src == i as u32 && f.dst != f.src));
        receivers.sort_unstable();
        assert_eq!(receivers, (0..32).collect::<Vec<_>>());
    }
}

#[test]
fn many_to_many_rotates_and_silences_the_share_that_is_asked_for() {
    let keys = "kind = \"many-to-many\"\nsenders = 4\nreceivers = 2\nfan_out = 1\nbytes = 1000\nresponsive_ratio = 0.5";
    let flows = pattern(keys);
    assert_eq!(flows.iter().map(|f| (f.src, f.dst)).collect::<Vec<_>>(), [(0, 4), (1, 5), (2, 4), (3, 5)]);
    assert_eq!(flows.iter().filter(|f| f.responsive).count(), 2);
    let all = pattern("kind = \"many-to-many\"\nsenders = [0, 1, 2]\nreceivers = [0, 1, 2]\nbytes = 1000");
    assert_eq!(all.len(), 6, "every pair but a host with itself");
}

#[test]
fn on_off_sends_one_message_an_on_period() {
    let keys = "kind = \"on-off\"\nsrc = 0\ndst = 5\nrate = \"4 Gbps\"\non = \"100 us\"\noff = \"300 us\"\nuntil = \"1 ms\"";
    let flows = pattern(keys);
    let starts: Vec<u64> = flows.iter().map(|f| f.start.0 / 1_000_000).collect();
    assert_eq!(starts, [0, 400, 800]);
    // 4 Gb/s for 100 us.
    assert!(flows.iter().all(|f| f.bytes == 50_000));
}

#[test]
fn flows_that_share_take_turns_unless_they_start_at_line_rate() {
    let keys = "kind = \"flows\"\nshare = 2\nclump = 3\nflows = [{src = 0, dst = 4, bytes = 1}, {src = 1, dst = 5, bytes = 1}, {src = 2, dst = 5, bytes = 1, share = 1}]";
    let openings: Vec<_> = pattern(keys)
        .iter()
        .map(|f| (f.initial_window.share, f.initial_window.phase, f.initial_window.burst))
        .collect();
    // A flow that shares with no other has no turns, and so no clump.
    assert_eq!(openings, [(2, 0, 3), (2, 1, 3), (1, 0, 1)]);
    let at_line_rate = pattern(&format!("{keys}\n[start]\nmode = \"line-rate\""));
    assert!(at_line_rate.iter().all(|f| f.initial_window.share == 1));
}

#[test]
fn flows_from_files_keep_their_names_classes_and_deadlines() {
    let head = &SMALL[..SMALL.find("[[traffic]]").unwrap_or_default()];
    let text = format!(
        "{head}[[traffic]]\nkind = \"file\"\npath = \"flows.csv\"\n[[traffic]]\nkind = \"file\"\npath = \"two.cm\"\nstart_unit = \"us\"\n"
    );
    let scenario = good(&text, &[]);
    let resolved = scenario.setup().expect("a network").resolve(1).expect("flows");
    assert_eq!(resolved.names, ["a", "b", "1", "2"]);
    let flows = &resolved.spec.flows;
    assert_eq!((flows[0].class, flows[0].deadline.map(|d| d.0)), (1, Some(10_000_000_000)));
    assert_eq!((flows[1].class, flows[1].deadline), (0, None));
    assert_eq!(flows[3].start.0, 50_000_000);
}

/// A scenario with an entry of this table of flows, in a folder of its own.
fn table_of_flows(name: &str, table: &[u8], fabric: &str) -> Result<Resolved, ScenarioError> {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join(name), table).expect("a table");
    let text = format!(
        "[topology]\nkind = \"leaf-spine\"\nracks = 2\nhosts_per_rack = 2\nspines = 2\n\
         host_rate = \"10 Gbps\"\nspine_rate = \"10 Gbps\"\nhost_delay = \"1 us\"\n[fabric]\n{fabric}\n\
         [transport]\nname = \"tcp\"\npreset = \"linux-4.19\"\n\
         [[traffic]]\nkind = \"file\"\npath = \"{name}\"\n"
    );
    let scenario = Request::text(&text, "scenario.toml", folder.path(), &[], None).load()?;
    scenario.setup()?.resolve(1)
}

#[test]
fn a_compressed_table_may_say_path_share_and_transport_of_a_flow() {
    let table = "id,src,dst,bytes,start_s,path,share,transport,fct_s\n\
                 a,0,2,1000,0,1,2,tcp,0.5\nb,0,3,1000,0,,,cubic,\nc,1,2,1000,0,0,,,\n";
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    zipped.write_all(table.as_bytes()).expect("it takes text");
    let zipped = zipped.finish().expect("it ends");
    let resolved = table_of_flows("flows.csv.gz", &zipped, "routing = \"pinned\"").expect("flows");
    let flows = &resolved.spec.flows;
    assert_eq!(flows.iter().map(|f| f.path).collect::<Vec<_>>(), [Some(1), None, Some(0)]);
    assert_eq!(flows.iter().map(|f| f.initial_window.share).collect::<Vec<_>>(), [2, 1, 1]);
    let transport = |number: usize| &resolved.spec.transports[usize::from(flows[number].transport)];
    assert_eq!(transport(0), transport(2));
    assert!(!transport(0).params.is_empty(), "the scenario's own, with its parameters");
    assert_eq!((transport(1).name.as_str(), transport(1).params.len()), ("cubic", 0));
}

#[test]
fn what_a_flow_of_a_table_cannot_have_is_shown_in_its_file() {
    let header = "id,src,dst,bytes,start_s";
    let cases = [
        ("transport", "cubik", "", "there is no transport `cubik`"),
        ("path", "0", "", "key `path` has no effect"),
        ("path", "2", "routing = \"pinned\"", "there is no path 2"),
    ];
    for (column, value, fabric, message) in cases {
        let table = format!("{header},{column}\na,0,2,1000,0,{value}\n");
        let error = table_of_flows("flows.csv", table.as_bytes(), fabric).expect_err(message);
        assert!(error.to_string().starts_with(message), "{error}");
        let at = error.origin().expect("a place");
        assert!(at.source.name.ends_with("flows.csv"), "{}", at.source.name);
        assert_eq!((at.source.line_column(at.span.start).0, &at.source.text[at.span.clone()]), (2, value));
    }
}

#[test]
fn generated_flows_do_not_take_the_name_of_another() {
    let keys = "kind = \"flows\"\nflows = [{name = \"2\", src = 0, dst = 4, bytes = 1}]\n[[traffic]]\nkind = \"incast\"\nsenders = 2\nreceiver = 0\nbytes = 1";
    let head = &SMALL[..SMALL.find("[[traffic]]").unwrap_or_default()];
    let text = format!("{}\n[[traffic]]\n{keys}\n", head.replace("senders = 2", "senders = 4"));
    let resolved = good(&text, &[]).setup().expect("a network").resolve(1).expect("flows");
    assert_eq!(resolved.names, ["2", "1", "#2"]);
}

#[test]
fn a_name_with_commas_and_quotes_survives_in_a_table() {
    let keys = "kind = \"flows\"\nflows = [{name = ' a, \"b\"', src = 0, dst = 2, bytes = 1}]";
    let head = &SMALL[..SMALL.find("[[traffic]]").unwrap_or_default()];
    let written = good(&format!("{head}[[traffic]]\n{keys}\n"), &[]).export_flows(ExportFormat::Csv);
    let read = csv::parse(&Source::new("out.csv", written.expect("flows"))).expect("a table").flows;
    assert_eq!(read[0].id, " a, \"b\"");
}

#[test]
fn exported_flows_are_the_same_flows_when_they_are_read_again() {
    let scenario = poisson("flows = 100\nclass = 3\ndeadline = \"2 ms\"", &[]);
    let written = scenario.export_flows(ExportFormat::Csv).expect("flows");
    let read = csv::parse(&Source::new("out.csv", written)).expect("a table").flows;
    let matrix = scenario.export_flows(ExportFormat::ConnectionMatrix).expect("flows");
    let matrix = cm::parse(&Source::new("out.cm", matrix), Time::ps(1)).expect("a matrix").flows;
    let flows = flows(&scenario);
    assert_eq!((read.len(), matrix.len()), (100, 100));
    for ((flow, row), line) in flows.iter().zip(&read).zip(&matrix) {
        let key = (u64::from(flow.src), u64::from(flow.dst), flow.bytes, flow.start);
        assert_eq!((row.src, row.dst, row.bytes, row.start), key);
        assert_eq!((line.src, line.dst, line.bytes, line.start), key);
        assert_eq!((row.class, row.deadline), (Some(3), Some(Time::ms(2))));
    }
}

#[test]
fn a_name_that_a_table_cannot_hold_is_refused_where_it_is_written() {
    let scenario = good(&SMALL.replace("\"f1\"", "\"f\\n1\""), &[]);
    let error = scenario.export_flows(ExportFormat::Csv).expect_err("a name of two lines");
    assert_eq!(error.to_string(), "a table cannot hold the name `f\n1`");
    let at = error.origin().expect("a place");
    assert_eq!(at.source.line_column(at.span.start).0, 17);
    assert!(scenario.export_flows(ExportFormat::ConnectionMatrix).is_ok(), "a matrix has no names");
}

#[test]
fn a_table_in_another_form_is_read_with_a_note_that_says_how() {
    let scenario = poisson("flows = 10", &["traffic.0.cdf=hpcc.txt"]);
    let note = "`hpcc.txt` is read as sizes in bytes and cumulative percentages from 0 to 100; a table with the header \
        `bytes,cdf` and numbers alone says so itself";
    assert_eq!(scenario.setup().expect("a network").warnings(), [note]);
    assert!(flows(&scenario).iter().all(|flow| flow.bytes <= 30_000_000));
}

#[test]
fn a_table_that_begins_late_is_read_by_steps_and_its_mean_is_said() {
    let scenario = poisson("flows = 10", &["traffic.0.cdf=begins-late.csv"]);
    let setup = scenario.setup().expect("a network");
    let notes = setup.warnings().join("\n");
    assert!(
        notes.contains("`begins-late.csv` is read by steps, since its first probability is 0.25"),
        "{notes}"
    );
    assert!(
        notes.contains("nothing says that these are bytes") == setup.facts[0].contains("packets"),
        "{notes}"
    );
    assert!(
        setup.facts[0].starts_with("sizes of `begins-late.csv`: mean ")
            && setup.facts[0].contains(" by steps")
    );
    // Both means where they are apart.
    let percent = poisson("flows = 10", &["traffic.0.cdf=hpcc.txt"]);
    let facts = &percent.setup().expect("a network").facts;
    assert!(facts[0].contains(" by straight lines; by steps it would be "), "{facts:?}");
}

#[test]
fn a_name_of_another_kind_is_answered_with_its_place_in_a_scenario() {
    for (set, help) in [
        ("traffic.0.cdf=websearch", "did you mean one of xpass_websearch, yaps_websearch, "),
        ("traffic.0.cdf=incast", "`incast` is a pattern of traffic: [[traffic]] kind = \"incast\""),
        (
            "traffic.0.kind=websearch",
            "`xpass_websearch` is a flow-size distribution: [[traffic]] kind = \"poisson\"",
        ),
        ("topology.kind=incast", "`incast` is a pattern of traffic"),
        ("transport.name=drop-tail", "`drop-tail` is a port discipline: [fabric] discipline = \"drop-tail\""),
        ("fabric.discipline=dctcp", "`dctcp` is a transport: [transport] name = \"dctcp\""),
    ] {
        let error = read(&LEAF_SPINE.replace("LOAD", "flows = 10"), &[set]).expect_err(set);
        assert!(error.render().contains(&format!("help: {help}")), "{}", error.render());
    }
}
