//! A run directory: what is in it, what it says, and that it says it again.

#![allow(clippy::disallowed_methods, reason = "tests write temporary directories")]

use crate::common;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, LargeStringArray, RecordBatch, StringArray, StringViewArray,
    UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::{Field, Schema};
use common::{LEAF_SPINE, SMALL, good, run};
use headway_fabric::{DropReason, PortCounters};
use headway_lab::results::manifest::RunInfo;
use headway_lab::results::{Column, Table, schema};
use headway_lab::{Directory, Options, RunOutput, run_scenario, write_results};
use headway_network::Outcome;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value as Json;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn sampled() -> String {
    format!("{SMALL}\n[sample]\nevery = \"20 us\"\nflows = [\"f1\"]\nlinks = \"bottlenecks\"\n")
}

fn floats<'a>(table: &'a Table, name: &str) -> impl Iterator<Item = Option<f64>> + 'a {
    table.numbers(name).expect("the column").iter()
}

fn texts<'a>(table: &'a Table, name: &str) -> Vec<&'a str> {
    table.text(name).expect("the column").iter().flatten().collect()
}

fn counts(table: &Table, name: &str) -> Vec<u64> {
    table.numbers(name).expect("the column").values().to_vec()
}

#[test]
fn every_column_of_the_dictionary_is_there_with_its_unit() {
    let output = run(&good(&sampled(), &[]));
    let dictionary =
        [(&output.flows, schema::FLOWS), (&output.links, schema::LINKS), (&output.series, schema::SERIES)];
    for (table, declared) in dictionary {
        let columns: Vec<(&str, &str)> = declared.iter().map(|field| (field.name, field.unit)).collect();
        let written = table.schema();
        let found: Vec<(&str, &str)> =
            written.fields().iter().map(|f| (f.name().as_str(), f.metadata()["unit"].as_str())).collect();
        assert_eq!(found, columns);
        assert!(written.fields().iter().all(|f| !f.metadata()["doc"].is_empty()));
    }
}

#[test]
fn one_flow_alone_has_slowdown_one_and_its_formula() {
    let alone = "flows = [{ name = \"only\", src = 0, dst = 2, bytes = \"1 MB\" }]";
    let start = SMALL.find("flows = [").unwrap_or_default();
    let output = run(&good(&format!("{}{alone}\n", &SMALL[..start]), &[]));
    assert_eq!(floats(&output.flows, "slowdown").collect::<Vec<_>>(), [Some(1.0)]);
    // Three links of 10 Gb/s and 10 us: 685 packets, the last of 1360 B payload, and two more hops of a full one.
    let wire = 684 * 1538 + (1_000_000 - 684 * 1460 + 78) + 2 * 1538;
    let expected = (wire * 800 + 3 * 10_000_000) as f64 / 1e12;
    assert_eq!(floats(&output.flows, "ideal_s").collect::<Vec<_>>(), [Some(expected)]);
    assert_eq!(output.summary["slowdown_mean"], 1.0);
    assert!(output.manifest["ideal_fct_formula"].as_str().is_some_and(|f| f.contains("E[h][i]")));
}

#[test]
fn the_summary_counts_what_the_tables_hold() {
    let text = LEAF_SPINE.replace("LOAD", "flows = 300");
    let output = run(&good(&text, &["stop=50 ms", "warmup=2 ms"]));
    let (flows, links, summary) = (&output.flows, &output.links, &output.summary);
    let states = texts(flows, "state");
    let done = states.iter().filter(|s| **s == "done").count();
    assert_eq!(summary["flows_done"], done);
    assert_eq!(summary["flows_unfinished"], states.iter().filter(|s| **s == "unfinished").count());
    let starts: Vec<f64> = floats(flows, "start_s").flatten().collect();
    let mut fct: Vec<f64> = floats(flows, "fct_s")
        .zip(&starts)
        .filter(|(_, start)| **start >= 0.002)
        .filter_map(|(fct, _)| fct)
        .collect();
    assert!(fct.len() < done, "the warm-up leaves some out");
    let open: Vec<f64> = floats(flows, "at_least_s").flatten().collect();
    assert_eq!(summary["flows_open"], open.len());
    fct.extend(open);
    assert_eq!(summary["flows_measured"], fct.len());
    fct.sort_by(f64::total_cmp);
    assert_eq!(summary["fct_p99_s"], fct[(0.99 * fct.len() as f64).ceil() as usize - 1]);
    let mean = fct.iter().sum::<f64>() / fct.len() as f64;
    assert!((summary["fct_mean_s"].as_f64().unwrap_or(0.0) / mean - 1.0).abs() < 1e-12);
    let bins = summary["by_size"]["equal_count"].as_array().expect("bins");
    let binned: u64 = bins.iter().filter_map(|b| b["count"].as_u64()).sum();
    assert_eq!(binned, fct.len() as u64);
    let bands = summary["by_size"]["bands"].as_object().expect("bands");
    assert_eq!(bands.values().filter_map(|b| b["count"].as_u64()).sum::<u64>(), fct.len() as u64);
    assert_eq!(summary["drops"], counts(links, "drops").iter().sum::<u64>());
    let of_data = [counts(links, "drops_buffer_full"), counts(links, "drops_unscheduled")].concat();
    assert_eq!(summary["data_drops"], of_data.iter().sum::<u64>());
    assert_eq!(summary["marks"], counts(flows, "marks").iter().sum::<u64>());
    for i in 0..links.rows() {
        let count = |name: &str| counts(links, name)[i];
        assert_eq!(count("received"), count("drops") + count("enqueued"));
        let by_reason = DropReason::ALL.iter().map(|r| count(&format!("drops_{}", r.name())));
        assert_eq!(count("drops"), by_reason.sum::<u64>());
    }
}

#[test]
fn samples_are_of_what_was_asked_for_at_the_end_of_each_interval() {
    let output = run(&good(&sampled(), &[]));
    let entities = texts(&output.series, "entity");
    assert!(
        entities.contains(&"f1") && entities.contains(&"s0->s1") && !entities.contains(&"f0"),
        "{entities:?}"
    );
    let bits: f64 = texts(&output.series, "metric")
        .iter()
        .zip(&entities)
        .zip(floats(&output.series, "value"))
        .filter(|((metric, entity), _)| **metric == "throughput_bps" && **entity == "f1")
        .filter_map(|(_, value)| value)
        .map(|bps| bps * 20e-6)
        .sum();
    assert!((bits / 8.0 - 200_000.0).abs() < 1.0, "all of f1's bytes, not {}", bits / 8.0);
    let mut times: Vec<f64> = floats(&output.series, "t_s").flatten().collect();
    times.dedup();
    // The last interval is cut short by the end of the run.
    let end = output.manifest["virtual_s"].as_f64();
    assert_eq!(times.pop(), end);
    for t in times {
        let intervals = t / 20e-6;
        assert!((intervals - intervals.round()).abs() < 1e-6, "{t}");
    }
}

#[test]
fn the_same_scenario_gives_the_same_run_and_another_seed_another() {
    let text = LEAF_SPINE.replace("LOAD", "flows = 100");
    let without_clock = |output: &RunOutput| {
        let mut manifest = output.manifest.clone();
        for key in ["wall_s", "events_per_s", "packet_hops_per_s"] {
            manifest[key] = 0.into();
        }
        manifest.to_string()
    };
    let (first, second) = (run(&good(&text, &[])), run(&good(&text, &[])));
    assert_eq!(without_clock(&first), without_clock(&second));
    assert_eq!((&first.flows, &first.links), (&second.flows, &second.links));
    assert_eq!(first.summary, second.summary);
    let other = run(&good(&text, &["seed=2"]));
    assert_ne!(first.manifest["order_digest"], other.manifest["order_digest"]);
    assert_ne!(first.manifest["digest"], other.manifest["digest"]);
}

#[test]
fn titles_and_sweeps_do_not_change_what_a_run_is() {
    let base = good(SMALL, &[]).digest();
    let dressed = format!("title = \"A title\"\n{SMALL}\n[sweep]\nseeds = 3\n[report]\nfigure = \"cdf\"\n");
    assert_eq!(good(&dressed, &[]).digest(), base);
    assert_eq!(good(SMALL, &["memory_limit=1 GB"]).digest(), base, "a limit of the machine");
    assert_eq!(good(SMALL, &["fabric.buffer=128 packets"]).digest(), base, "what the default is anyway");
    for set in
        ["seed=2", "fabric.buffer=64 packets", "traffic.0.flows.0.bytes=5", "stop=1 s", "transport.window=3"]
    {
        assert_ne!(good(SMALL, &[set]).digest(), base, "{set}");
    }
}

fn read_parquet(path: &Path) -> RecordBatch {
    let file = std::fs::File::open(path).expect("the file");
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet");
    let schema = builder.schema().clone();
    let batches: Vec<RecordBatch> = builder.build().expect("Parquet").map(|b| b.expect("a batch")).collect();
    match &batches[..] {
        [] => RecordBatch::new_empty(schema),
        [only] => only.clone(),
        _ => panic!("more than one batch"),
    }
}

#[test]
fn a_run_directory_holds_what_is_in_memory() {
    let dir = tempfile::tempdir().expect("a directory");
    let out = dir.path().join("a/b");
    let options = Options {
        out: Some(Directory::parquet(&out)),
        csv: true,
        commit: Some("abc".into()),
        ..Options::default()
    };
    let output = run_scenario(&good(&sampled(), &[]), &options, &mut |_| true).expect("a run");
    let mut names: Vec<String> = std::fs::read_dir(&out)
        .expect("the directory")
        .map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let mut expected = vec![
        "flows.csv",
        "flows.parquet",
        "links.parquet",
        "manifest.json",
        "series.parquet",
        "summary.json",
    ];
    assert_eq!(names[1..], expected[..], "nothing half written is left");
    let sums = std::fs::read_to_string(out.join(&names[0])).expect("the checksums");
    let mut summed: Vec<&str> = sums.lines().filter_map(|line| line.split_once("  ").map(|l| l.1)).collect();
    summed.sort_unstable();
    expected.sort_unstable();
    assert_eq!((names[0].as_str(), summed), ("SHA256SUMS", expected), "every file has a checksum");
    for (name, table) in [("flows", &output.flows), ("links", &output.links), ("series", &output.series)] {
        let read = read_parquet(&out.join(format!("{name}.parquet")));
        assert_eq!(read.columns(), table.to_arrow().expect("a batch").columns(), "{name}");
        assert_eq!(Table::from_arrow(&read).expect("a table").columns(), table.columns(), "{name}");
        assert_eq!(read.schema().fields(), table.schema().fields(), "units are in the file");
    }
    for (name, document) in [("summary", &output.summary), ("manifest", &output.manifest)] {
        let written = std::fs::read_to_string(out.join(format!("{name}.json"))).expect("the file");
        assert_eq!(written, format!("{document:#}\n"));
    }
    assert_eq!(output.manifest["commit"], "abc");
    let csv = std::fs::read_to_string(out.join("flows.csv")).expect("the file");
    assert_eq!(csv.lines().count(), 3);
    assert!(csv.starts_with("flow,name,src,dst,entry,round,class,transport,bytes,start_s,"));
    let again = Options { out: Some(Directory::parquet(&out)), ..Options::default() };
    run_scenario(&good(&sampled(), &[]), &again, &mut |_| true).expect("a run");
    assert!(!out.join("flows.csv").exists(), "the table of an older run does not stay behind");
}

/// Values of every type, with gaps and without them, in a table that does not come from a run.
fn every_type() -> Vec<Column> {
    vec![
        Column::of([1u16, u16::MAX]),
        Column::with_gaps([None, Some(u32::MAX)]),
        Column::with_gaps([Some(u64::MAX), None]),
        Column::of([-0.0, f64::INFINITY]),
        Column::text_with_gaps([Some("größer, \"so\""), None]),
        Column::text(["", "a"]),
    ]
}

fn schema_of(columns: &[Column], nullable: bool) -> Arc<Schema> {
    let field = |(number, column): (usize, &Column)| {
        Field::new(number.to_string(), column.data_type(), nullable || column.valid().is_some())
    };
    Arc::new(Schema::new(columns.iter().enumerate().map(field).collect::<Vec<_>>()))
}

#[test]
fn a_table_is_a_record_batch_and_the_other_way_round() {
    let columns = every_type();
    let table = Table::new(schema_of(&columns, true), columns).expect("a table");
    let batch = table.to_arrow().expect("a batch");
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(UInt16Array::from(vec![1, u16::MAX])),
        Arc::new(UInt32Array::from(vec![None, Some(u32::MAX)])),
        Arc::new(UInt64Array::from(vec![Some(u64::MAX), None])),
        Arc::new(Float64Array::from(vec![-0.0, f64::INFINITY])),
        Arc::new(StringArray::from(vec![Some("größer, \"so\""), None])),
        Arc::new(StringArray::from(vec!["", "a"])),
    ];
    assert_eq!(batch.columns(), arrays);
    assert_eq!(Table::from_arrow(&batch).expect("a table"), table);
    // As polars writes text.
    let large: ArrayRef = Arc::new(LargeStringArray::from(vec![Some("x"), None]));
    let view: ArrayRef = Arc::new(StringViewArray::from(vec![Some("x"), None]));
    let batch = RecordBatch::try_from_iter([("large", large), ("view", view)]).expect("a batch");
    let read = Table::from_arrow(&batch).expect("a table");
    for name in ["large", "view"] {
        assert_eq!(read.column(name), Some(&Column::text_with_gaps([Some("x"), None])));
    }
    let other: ArrayRef = Arc::new(BooleanArray::from(vec![true]));
    let error = Table::from_arrow(&RecordBatch::try_from_iter([("odd", other)]).expect("a batch"));
    assert!(error.expect_err("no type of a table").to_string().contains("the column odd holds Boolean"));
}

#[test]
fn a_table_is_as_its_schema_declares() {
    let of = every_type;
    let refused = |schema: Arc<Schema>, columns: Vec<Column>| {
        Table::new(schema, columns).expect_err("no table").to_string()
    };
    let few = refused(schema_of(&of()[1..], false), of());
    assert!(few.contains("5 columns are declared, not 6"), "{few}");
    let mut other = of();
    other.swap(0, 1);
    let other = refused(schema_of(&of(), true), other);
    assert!(other.contains("0 holds UInt32, not UInt16"), "{other}");
    let mut short = of();
    short[4] = Column::text(["only"]);
    let short = refused(schema_of(&of(), true), short);
    assert!(short.contains("4 has 1 rows, and the first column 2"), "{short}");
    let mut gaps = of();
    gaps[0] = Column::with_gaps([Some(1u16), None]);
    let gaps = refused(schema_of(&of(), false), gaps);
    assert!(gaps.contains("0 lacks values"), "{gaps}");
}

#[test]
fn what_is_empty_says_why() {
    let warnings = |text: &str, sets: &[&str]| run(&good(text, sets)).manifest["warnings"].to_string();
    assert!(warnings(SMALL, &[]).contains("series.parquet is empty: the scenario has no [sample] table"));
    let causes = warnings(&format!("{SMALL}\n[sample]\ncauses = true\n"), &[]);
    assert!(!causes.contains("series.parquet"), "no series is asked for: {causes}");
    let early = warnings(&sampled(), &["stop=10 us"]);
    assert!(early.contains("completion times are empty: no flow finished"), "{early}");
    assert!(early.contains("1 of 2 flows had not started"), "{early}");
    let unseen = sampled().replace("links = \"bottlenecks\"\n", "");
    let unseen = warnings(&unseen, &["stop=10 us"]);
    assert!(unseen.contains("series.parquet is empty: nothing that is sampled happened"), "{unseen}");
    let warm = warnings(SMALL, &["warmup=1 s"]);
    assert!(warm.contains("every finished flow started in the warm-up"), "{warm}");
    let text = LEAF_SPINE.replace("LOAD", "flows = 3").replace("spines = 4", "spines = 1");
    assert!(warnings(&text, &[]).contains("times what the core links carry"), "five to one");
    let room =
        |buffer: &str| warnings(SMALL, &[buffer]).contains("has no room for a full packet, 1538 bytes");
    assert!(room("fabric.buffer=1 kB") && room("fabric.buffer=1537 B") && !room("fabric.buffer=1538 B"));
}

/// A transport that does not slow down to the slowest link may send for ever what that link's buffer cannot hold.
#[test]
fn a_lowest_rate_above_the_slowest_link_is_told() {
    let slow = SMALL.replace("amrt", "hpcc");
    assert!(slow.contains("\"hpcc\""), "{slow}");
    let told = |sets: &[&str]| good(&slow, sets).setup().expect("a setup").warnings().join("\n");
    let slower = told(&["topology.rate=50 Mbps"]);
    assert!(slower.contains("`hpcc` sends at 1 Gbps at the least (`min_rate`)"), "{slower}");
    assert!(slower.contains("carries 50 Mbps"), "{slower}");
    for sets in [
        &["topology.rate=1 Gbps"][..],
        &["topology.rate=50 Mbps", "transport.min_rate=50 Mbps"],
        &["topology.rate=50 Mbps", "fabric.pfc.buffer=2 MB"],
    ] {
        assert!(!told(sets).contains("at the least"), "{sets:?}: {}", told(sets));
    }
}

#[test]
fn deadlines_are_missed_by_flows_that_are_late_or_never_done() {
    let text = SMALL.replace("bytes = \"1 MB\"", "bytes = \"1 MB\", deadline = \"100 us\"");
    let text = text.replace("start = \"50 us\"", "start = \"50 us\", deadline = \"10 ms\"");
    assert_eq!(run(&good(&text, &[])).summary["deadline_missed_fraction"], 0.5);
    assert_eq!(run(&good(SMALL, &[])).summary["deadline_missed_fraction"], serde_json::Value::Null);
}

#[test]
fn stopping_leaves_partial_results() {
    let dir = tempfile::tempdir().expect("a directory");
    let text = SMALL.replace("\"1 MB\"", "\"1 GB\"");
    let options = Options { out: Some(Directory::parquet(dir.path())), ..Options::default() };
    let output = run_scenario(&good(&text, &[]), &options, &mut |_| false).expect("a run");
    assert_eq!(output.manifest["interrupted"], true);
    assert_eq!(output.summary["flows_unfinished"], 1);
    assert_eq!(read_parquet(&dir.path().join("flows.parquet")).num_rows(), 2);
}

#[test]
fn policies_that_switches_do_not_look_at_are_named() {
    let text = "[topology]\nkind = \"leaf-spine\"\nracks = 2\nhosts_per_rack = 2\nspines = 2\nhost_rate = \"10 Gbps\"\n\
        spine_rate = \"10 Gbps\"\nhost_delay = \"1 us\"\nspine_delay = \"1 us\"\n[fabric]\nrouting = \"spray\"\n\
        [transport]\nname = \"uet-nscc\"\n[[traffic]]\nkind = \"permutation\"\nbytes = 1000\n";
    for routing in ["spray", "least-queue", "flowlet"] {
        let set = format!("fabric.routing={routing}");
        let said = good(text, &[&set]).setup().expect("a setup").warnings().join("\n");
        let part = format!("`spraying` of `uet-nscc` has no effect with `fabric.routing = \"{routing}\"`");
        assert!(said.contains(&part), "{said}");
    }
    for (set, other) in
        [("fabric.routing=ecmp", "transport.name=uet-nscc"), ("fabric.routing=spray", "transport.name=ndp")]
    {
        let said = good(text, &[set, other]).setup().expect("a setup").warnings().join("\n");
        assert!(!said.contains("has no effect"), "{said}");
    }
}

#[test]
fn several_transports_share_a_network() {
    let text = SMALL.replace("[[traffic]]\nkind = \"flows\"\nflows = [", "[[traffic]]\nkind = \"flows\"\ntransport = \"phost\"\nflows = [{ name = \"p\", src = 1, dst = 3, bytes = \"50 kB\" }]\n\n[[traffic]]\nkind = \"flows\"\nflows = [");
    let text =
        text.replace("  { name = \"f1\", src = 1, dst = 3, bytes = \"200 kB\", start = \"50 us\" },\n", "");
    let error = common::load(&text, &[]).expect_err("two disciplines");
    assert!(error.to_string().contains("is meant to run over"), "{error}");
    let output = run(&good(&text, &["fabric.discipline=anti-ecn"]));
    assert_eq!(texts(&output.flows, "transport"), ["phost", "amrt"]);
    assert_eq!(texts(&output.flows, "state"), ["done", "done"]);
}

/// Two senders of each of two transports, and one receiver for all.
const SHARED: &str = r#"
[topology]
kind = "single-switch"
hosts = 5
rate = "10 Gbps"
delay = "5 us"

[fabric]
discipline = "ecn-threshold"

[[traffic]]
kind = "incast"
transport = "dctcp"
senders = [0, 1]
receiver = 4
bytes = "300 kB"
repeat = 3
period = "200 us"

[[traffic]]
kind = "incast"
transport = "cubic"
senders = [1, 2, 3]
receiver = 4
bytes = "100 kB"
repeat = 4
period = "150 us"
"#;

#[test]
fn a_receiver_is_shared_and_every_number_is_split_by_transport() {
    let output = run(&good(SHARED, &[]));
    assert_eq!(output.summary["flows_done"], 18);
    let parts = output.summary["by_transport"].as_object().expect("an object");
    assert_eq!(parts.keys().collect::<Vec<_>>(), ["dctcp", "cubic"]);
    assert_eq!((&parts["dctcp"]["flows_done"], &parts["cubic"]["flows_done"]), (&6.into(), &12.into()));
    let sums = ["flows_done", "flows_unfinished", "flows_failed", "flows_measured", "drops", "data_drops"];
    for key in [&sums[..], &["trims", "marks", "retransmitted_bytes"]].concat() {
        let sum: u64 = parts.values().map(|part| part[key].as_u64().expect(key)).sum();
        assert_eq!(output.summary[key], sum, "{key}");
    }
    let trips =
        |numbers: &serde_json::Value| numbers["round_trips"]["samples"].as_u64().expect("round trips");
    assert_eq!(parts.values().map(trips).sum::<u64>(), trips(&output.summary));
    let shares: f64 = parts.values().map(|part| part["goodput_share"].as_f64().expect("a share")).sum();
    assert!((shares - 1.0).abs() < 1e-12, "{shares}");
    assert_eq!(parts["dctcp"]["delivered_bytes"], 1_800_000);
    let own = |name: &str| {
        let of: Vec<bool> = texts(&output.flows, "transport").iter().map(|t| *t == name).collect();
        let fct: Vec<f64> =
            floats(&output.flows, "fct_s").zip(of).filter(|(_, own)| *own).filter_map(|f| f.0).collect();
        fct.iter().sum::<f64>() / fct.len() as f64
    };
    for name in ["dctcp", "cubic"] {
        let mean = parts[name]["fct_mean_s"].as_f64().expect("a mean");
        assert!((mean - own(name)).abs() < 1e-12, "{name}: {mean} and {}", own(name));
    }
    assert!(parts["dctcp"]["marks"].as_u64() > Some(0), "DCTCP is marked");
    assert_eq!(parts["cubic"]["marks"], 0, "CUBIC is not");
    assert!(run(&good(SMALL, &[])).summary.get("by_transport").is_none(), "one transport has no parts");
}

#[test]
fn one_transport_with_two_settings_at_one_host_is_two() {
    let text = SHARED.replace("\"cubic\"", "{ name = \"dctcp\", g = 0.5 }");
    let output = run(&good(&text, &[]));
    let parts = output.summary["by_transport"].as_object().expect("an object");
    assert_eq!(parts.keys().collect::<Vec<_>>(), ["dctcp", "dctcp(g=0.5)"]);
    assert_eq!(texts(&output.flows, "transport")[17], "dctcp(g=0.5)");
    let point = &good(&text, &[]).points().expect("points")[0];
    assert_eq!(point.variant, "dctcp");
    assert_eq!(good(SHARED, &[]).points().expect("points")[0].variant, "dctcp+cubic");
}

#[test]
fn each_transport_that_the_ports_do_not_suit_is_named_once() {
    let text = SHARED.replace("\"cubic\"", "{ name = \"ndp\", backoff = 3 }");
    let more = text + "\n[[traffic]]\nkind = \"permutation\"\nbytes = \"1 kB\"\ntransport = \"ndp\"\n";
    let scenario = good(&more, &["fabric.discipline=drop-tail"]);
    let said = scenario.setup().expect("a network").warnings();
    let named = |name: &str| said.iter().filter(|w| w.starts_with(&format!("`{name}` is meant"))).count();
    assert_eq!((named("dctcp"), named("ndp")), (1, 1), "{said:?}");
}

#[test]
fn faults_of_a_scenario_are_in_its_results_and_every_flow_still_completes() {
    for transport in ["amrt", "phost"] {
        let fault = "loss = 0.01\nduplicate = 0.01\nreorder = 0.01\nreorder_by = \"100 us\"";
        let text = format!("{SMALL}\n[[fault]]\n{fault}\n");
        let output = run(&good(&text, &[&format!("transport.name={transport}")]));
        assert_eq!(output.summary["flows_done"], 2, "{transport}");
        let faults = output.manifest["faults"].as_array().expect("a list");
        let sum = |key: &str| faults.iter().filter_map(|f| f[key].as_u64()).sum::<u64>();
        assert!(sum("dropped_at_random") > 0 && sum("duplicated") > 0 && sum("delayed") > 0, "{faults:?}");
        assert_eq!(sum("dropped_by_number"), 0);
        assert!(counts(&output.links, "drops").iter().all(|n| *n == 0), "{transport}: ports dropped nothing");
    }
}

#[test]
fn a_link_may_be_a_black_hole_for_a_while() {
    let fault = "links = [\"s0->s1\"]\ndark_from = \"20 us\"\ndark_until = \"90 us\"";
    let output = run(&good(&format!("{SMALL}\n[[fault]]\n{fault}\n"), &[]));
    assert_eq!(output.summary["flows_done"], 2);
    let faults = output.manifest["faults"].as_array().expect("a list");
    assert!(faults[0]["dropped_in_blackhole"].as_u64() > Some(0), "{faults:?}");
    assert_eq!(output.manifest["scenario"]["fault"][0]["dark_until"], "90 us");
}

#[test]
fn a_lost_packet_counts_for_its_flow_and_a_fault_that_never_comes_is_said() {
    let fault =
        |drop: u32| format!("{SMALL}\n[[fault]]\nlinks = [\"s0->s1\"]\nkind = \"data\"\ndrop = [{drop}]\n");
    let output = run(&good(&fault(3), &[]));
    assert_eq!(counts(&output.flows, "drops"), [1, 0]);
    assert_eq!(output.manifest["faults"][0]["link"], "s0->s1");
    let never = run(&good(&fault(1_000_000), &[]));
    let warnings = never.manifest["warnings"].as_array().expect("a list");
    assert!(warnings.iter().any(|w| w.as_str().is_some_and(|w| w.contains("[[fault]]"))), "{warnings:?}");
}

/// One flow from rack to rack, over two spines.
const RACK_TO_RACK: &str = "[topology]\nkind = \"leaf-spine\"\nracks = 2\nhosts_per_rack = 2\nspines = 2\nhost_rate = \"10 Gbps\"\nspine_rate = \"10 Gbps\"\nhost_delay = \"1 us\"\nspine_delay = \"1 us\"\n\n[transport]\nname = \"proactmp\"\n\n[[traffic]]\nkind = \"flows\"\nflows = [{ src = 0, dst = 2, bytes = \"10 kB\" }]\n";

#[test]
fn subflows_that_switches_hash_although_they_want_paths_of_their_own_are_warned_about() {
    for (set, warned) in [
        ("fabric.routing=ecmp", true),
        ("fabric.routing=spray", true),
        ("fabric.routing=pinned", false),
        ("transport.path_manager=ndiffports", false),
        ("transport.subflows=1", false),
        ("topology.spines=1", false),
        ("transport.name=mptcp-olia", false),
    ] {
        let output = run(&good(RACK_TO_RACK, &[set]));
        let warnings = output.manifest["warnings"].to_string();
        assert_eq!(warnings.contains("switches choose the paths"), warned, "{set}: {warnings}");
    }
}

#[test]
fn credits_that_take_another_way_than_data_are_warned_about() {
    for (sets, warned) in [
        (&["transport.name=expresspass", "fabric.routing=ecmp"][..], true),
        (&["transport.name=expresspass-aeolus", "fabric.routing=spray"], true),
        (&["transport.name=expresspass", "fabric.routing=symmetric"], false),
        (&["transport.name=expresspass"], false),
        (&["transport.name=expresspass", "fabric.routing=ecmp", "topology.spines=1"], false),
        (&["transport.name=amrt", "fabric.routing=ecmp"], false),
    ] {
        let output = run(&good(RACK_TO_RACK, sets));
        let warnings = output.manifest["warnings"].to_string();
        assert_eq!(warnings.contains("on other links than its data"), warned, "{sets:?}: {warnings}");
    }
}

/// Two long flows to one receiver over links of one rate.
const LOCKED: &str = r#"
[topology]
kind = "single-switch"
hosts = 3
rate = "1 Gbps"
delay = "1 us"

[transport]
name = "cubic"

[[traffic]]
kind = "incast"
senders = 2
receiver = 2
bytes = "2 MB"
"#;

#[test]
fn flows_that_would_lock_each_other_out_are_warned_of() {
    let warned = |sets: &[&str], text: &str| {
        let setup = good(LOCKED, sets).setup.expect("a network");
        setup.warnings().iter().any(|w| w.contains(text))
    };
    let locked = |sets: &[&str]| warned(sets, "share `s0->h2`, which is as fast as their hosts' own links");
    assert!(locked(&[]));
    assert!(!locked(&["hosts.jitter=9 us"]), "there is noise");
    assert!(!locked(&["traffic.0.bytes=1 MB"]), "flows are short");
    assert!(!locked(&["traffic.0.senders=1"]), "nobody to lock out");
    assert!(!locked(&["transport.name=homa"]), "the receiver gives the pace");
    let faster = "topology={kind = \"dumbbell\", senders = 2, receivers = 1, rate = \"10 Gbps\", \
                  delay = \"1 us\", bottleneck_rate = \"1 Gbps\"}";
    assert!(!locked(&[faster]), "hosts are faster than the link that they share");
    let long =
        |jitter: &str| warned(&[&format!("hosts.jitter={jitter}")], "no less than a full packet's 12.304 us");
    // 12.304 us are 1538 bytes at 1 Gb/s.
    assert!(!long("12 us") && long("13 us"));
}

/// Sixteen senders to one receiver.
const CROWD: &str = r#"stop = "100 ms"
[topology]
kind = "single-switch"
hosts = 17
rate = "10 Gbps"
delay = "1 us"

[transport]
name = "dctcp"

[[traffic]]
kind = "incast"
senders = 16
receiver = 16
bytes = "300 kB"
"#;

/// Warnings of a run about full ports, and the packets that these dropped.
fn shallow(text: &str, sets: &[&str]) -> (Vec<String>, u64) {
    let output = run(&good(text, sets));
    let said =
        |warning: &Json| warning.as_str().filter(|w| w.contains("may tell of the buffer")).map(str::to_owned);
    let warnings = output.manifest["warnings"].as_array().expect("a list").iter().filter_map(said).collect();
    let full = ["drops_buffer_full", "drops_headroom_full"];
    (warnings, full.iter().map(|column| counts(&output.links, column).iter().sum::<u64>()).sum())
}

#[test]
fn drops_of_what_needs_room_are_told_with_the_key_to_raise() {
    let (mut needy, mut others) = (0, 0);
    for entry in headway_transport::registry::all_entries() {
        let name = entry.info.name;
        let (warnings, dropped) =
            shallow(CROWD, &[&format!("transport.name={name}"), "fabric.buffer=4 packets"]);
        let Some(needs) = entry.capabilities.room.describe_need() else {
            // Losses are a part of it, up to one of a thousand: of 16 messages of 206 packets, three.
            assert_eq!(warnings.len(), usize::from(dropped > 3), "{name}: {dropped} dropped, {warnings:?}");
            let much = format!("`{name}` lost more than 0.1 % of its data packets at full ports: ");
            assert!(warnings.iter().all(|warning| warning.starts_with(&much)), "{warnings:?}");
            others += usize::from(dropped > 3);
            continue;
        };
        let dropped = dropped > 0;
        assert_eq!(warnings.len(), usize::from(dropped), "{name}: {warnings:?}");
        needy += usize::from(dropped);
        if let Some(warning) = warnings.first() {
            assert!(warning.starts_with(&format!("`{name}` needs {needs}, ")), "{warning}");
            assert!(warning.contains("raise `fabric.buffer`, 4 packets here"), "{warning}");
            let lossless = entry.capabilities.room == headway_transport::Room::Lossless;
            assert_eq!(warning.contains("[fabric.pfc]"), lossless, "{warning}");
        }
        let (warnings, dropped) =
            shallow(CROWD, &[&format!("transport.name={name}"), "fabric.buffer=100 MB"]);
        assert!(dropped == 0 && warnings.is_empty(), "{name}: {warnings:?}");
    }
    assert!(others >= 5, "only {others} of those that live with losses lost much");
    assert!(needy >= 8, "only {needy} of those that need room lost anything");
}

#[test]
fn of_several_transports_those_that_lost_nothing_are_not_told_of() {
    let crowd = CROWD.replace(
        "[[traffic]]",
        "[fabric]\ndiscipline = \"strict-priority\"\nbuffer = \"4 packets\"\n[[traffic]]",
    );
    let alone =
        "[[traffic]]\nkind = \"flows\"\nflows = [{ src = 0, dst = 1, bytes = 1000, start = \"50 ms\" }]\n";
    let (warnings, dropped) = shallow(&format!("{crowd}{alone}transport = \"homa\"\n"), &[]);
    let of_homa = |warnings: &[String]| warnings.iter().filter(|told| told.starts_with("`homa`")).count();
    assert!(dropped > 0 && of_homa(&warnings) == 0, "only dctcp lost packets: {warnings:?}");
    let (warnings, _) = shallow(&format!("{crowd}transport = \"homa\"\n{alone}"), &[]);
    assert_eq!(of_homa(&warnings), 1, "homa lost some: {warnings:?}");
}

#[test]
fn hosts_that_are_slower_than_their_links_are_warned_of() {
    let warned = |sets: &[&str], text: &str| {
        let setup = good(LOCKED, sets).setup.expect("a network");
        setup.warnings().iter().any(|w| w.contains(text))
    };
    let slow = |sets: &[&str]| warned(sets, "hosts are slower than their links");
    assert!(!slow(&["hosts.packet_cost=12 us"]) && slow(&["hosts.packet_cost=13 us"]));
    assert!(!slow(&["hosts.packet_cost=13 us", "hosts.burst=64 kB"]), "a burst pays once");
    // The wire takes about 540 us for a burst of 64 kB.
    assert!(slow(&["hosts.packet_cost=600 us", "hosts.burst=64 kB"]));
    let bound = |sets: &[&str]| warned(sets, "`hosts.coalesce_packets` has no effect");
    assert!(bound(&["hosts.coalesce_packets=4"]));
    assert!(!bound(&["hosts.coalesce_packets=4", "hosts.coalesce=9 us"]));
}

#[test]
fn costs_of_hosts_reach_the_run_and_its_identity() {
    let all = [
        ("packet_cost", "500 ns", "500 ns".into()),
        ("message_cost", "2 us", "2 us".into()),
        ("coalesce", "30 us", "30 us".into()),
        ("coalesce_packets", "4", Json::from(4)),
        ("burst", "9 kB", Json::from(9000)),
    ];
    let plain = good(LOCKED, &[]);
    let order = |scenario| run(&scenario).manifest["order_digest"].clone();
    let undisturbed = order(plain.clone());
    for (key, value, shown) in all {
        let off = format!("hosts.{key}={}", if shown.is_number() { "0" } else { "0 s" });
        assert_eq!(good(LOCKED, &[&off]).resolved_json(), plain.resolved_json());
        // A bound is of a window.
        let base = ["hosts.coalesce=100 us", "traffic.0.bytes=90 kB"];
        let sets = [base[0], base[1], &format!("hosts.{key}={value}")];
        let costly = good(LOCKED, &sets);
        assert_eq!(costly.resolved_json()["hosts"][key], shown);
        assert_ne!(costly.digest(), good(LOCKED, &base).digest());
        assert_ne!(order(costly.clone()), order(good(LOCKED, &base)), "{key}");
        assert_eq!(order(costly.clone()), order(costly), "{key}");
    }
    assert_eq!(order(plain), undisturbed);
}

#[test]
fn noise_and_connections_enter_the_identity_where_they_are_and_nowhere_else() {
    let plain = good(LOCKED, &[]);
    assert_eq!(good(LOCKED, &["hosts.jitter=0 s"]).digest(), plain.digest());
    assert_eq!(good(LOCKED, &["hosts={}"]).resolved_json(), plain.resolved_json());
    let noisy = good(LOCKED, &["hosts.jitter=9 us"]);
    assert_ne!(noisy.digest(), plain.digest());
    assert_eq!(noisy.resolved_json()["hosts"]["jitter"], "9 us");
    assert!(plain.resolved_json().get("hosts").is_none());
    assert_ne!(run(&noisy).manifest["order_digest"], run(&plain).manifest["order_digest"]);
    let flows = |more: &str| {
        let reply = format!(
            "[{{ name = \"q\", src = 0, dst = 2, bytes = 100 }}, {{ src = 2, dst = 0, bytes = 100, start = \"1 ms\"{more} }}]"
        );
        format!("traffic=[{{ kind = \"flows\", flows = {reply} }}]")
    };
    let pair = |more: &str| good(LOCKED, &[&flows(more), "transport.preset=linux-4.19"]);
    let (two, one) = (pair(""), pair(", connection = \"q\""));
    assert!(!two.resolved_json().to_string().contains("connection"));
    assert_eq!(one.resolved_json()["traffic"][0]["flows"][1]["connection"], "q");
    assert_ne!(one.digest(), two.digest());
}

#[test]
fn the_links_of_a_load_are_used_as_much_as_it_says() {
    let even = "cdf = { kind = \"uniform\", mean = \"20 kB\", spread = 0.5 }";
    let base = LEAF_SPINE.replace("cdf = \"dctcp_websearch\"", even).replace("load = 0.5\n", "");
    let between = "load = 0.4\nflows = 2000\nsenders = 16\nreceivers = 4";
    let dumbbell = ["topology={kind=\"dumbbell\",senders=8,receivers=8,rate=\"10 Gbps\",delay=\"1 us\"}"];
    let tree = ["topology={kind=\"fat-tree\",k=4,host_rate=\"10 Gbps\",host_delay=\"1 us\"}"];
    let cases: [(&str, &[&str], &str); 5] = [
        ("load = 0.3\nflows = 4000\nload_reference = \"host-links\"", &[], "host_link_load"),
        ("load = 0.5\nflows = 4000\nload_reference = \"core-links\"", &[], "core_link_load"),
        ("load = 0.5\nflows = 2000\nload_reference = \"core-links\"", &dumbbell, "core_link_load"),
        ("load = 0.5\nflows = 4000\nload_reference = \"core-links\"", &tree, "core_link_load"),
        (between, &[], "receiver_link_load"),
    ];
    for (load, sets, resolved) in cases {
        let scenario = good(&base.replace("LOAD", load), sets);
        let summary = run(&scenario).summary;
        let number = |name: &str| summary[name].as_f64().unwrap_or_else(|| panic!("{name} for {load}"));
        let nominal = number("nominal_link_use");
        let said = scenario.resolved_json()["traffic"][0][resolved].as_f64().expect("a number");
        assert!((nominal / said - 1.0).abs() < 1e-9, "{load}: {nominal} and {said}");
        let reached = number("reached_link_use");
        // Grants go one for each data packet, on the same links.
        assert!((0.9..1.2).contains(&(reached / nominal)), "{load}: {reached} of {nominal}");
        assert!(number("arrivals_end_s") > 0.0);
    }
}

#[test]
fn the_use_of_links_is_null_where_no_load_is_named() {
    let summary = run(&good(SMALL, &[])).summary;
    assert_eq!((&summary["nominal_link_use"], &summary["reached_link_use"]), (&Json::Null, &Json::Null));
    assert_eq!(summary["arrivals_end_s"], 50e-6, "the start of the second flow");
}

/// Counters of the simulator and of switches are written by the same function.
#[test]
fn counters_that_cannot_be_true_are_an_error_and_no_file() {
    let scenario = good(SMALL, &[]);
    let resolved = scenario.setup().and_then(|setup| setup.resolve(scenario.seed)).expect("a run");
    let whole = headway_sim::run(&resolved.spec, &mut |_| true).expect("an outcome");
    let write = |outcome: &Outcome, dir: &Path| {
        let around = RunInfo {
            wall: Duration::ZERO,
            commit: None,
            memory_bytes: 0,
            warnings: Vec::new(),
            testbed: None,
        };
        let options = Options { out: Some(Directory::parquet(dir)), ..Options::default() };
        write_results(&scenario, &resolved, outcome, around, &options).map(|_| ())
    };
    let dir = tempfile::tempdir().expect("a directory");
    write(&whole, dir.path()).expect("counters that add up");
    type Doctor = fn(&mut PortCounters);
    let doctors: [(Doctor, &str); 4] = [
        // As a counter that was taken below zero.
        (|c| c.queue_max_packets = 0u32.wrapping_sub(1), "4294967295 packets"),
        (|c| c.queue_max_packets = c.received as u32 + 1, "waited at once"),
        (|c| c.queue_max_bytes = 0u64.wrapping_sub(1538), "waited at once"),
        (|c| c.dequeued += 1, "is not dequeued"),
    ];
    for (doctor, words) in doctors {
        let mut outcome = whole.clone();
        let link = outcome.links.iter_mut().find(|l| l.from_switch).expect("a switch");
        doctor(&mut link.counters);
        let name = link.name.clone();
        let dir = tempfile::tempdir().expect("a directory");
        let error = write(&outcome, dir.path()).expect_err("a number that cannot be").to_string();
        assert!(error.contains(words) && error.contains(&name), "{error}");
        assert_eq!(std::fs::read_dir(dir.path()).expect("a directory").count(), 0, "nothing is written");
    }
}
