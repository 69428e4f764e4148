//! The fuzz targets of the lab over their committed corpora.

#![allow(clippy::disallowed_methods, reason = "the corpora are files")]

#[path = "../../../../fuzz/src/cm.rs"]
#[allow(unreachable_pub, reason = "it is public to the fuzz target")]
mod cm;
#[path = "../../../../fuzz/src/flow_table.rs"]
#[allow(unreachable_pub, reason = "it is public to the fuzz target")]
mod flow_table;
#[path = "../../../../fuzz/src/graph.rs"]
#[allow(unreachable_pub, reason = "it is public to the fuzz target")]
mod graph;
#[path = "../../../../fuzz/src/scenario.rs"]
#[allow(unreachable_pub, reason = "it is public to the fuzz target")]
mod scenario;
#[path = "../../../../fuzz/src/trace.rs"]
#[allow(unreachable_pub, reason = "it is public to the fuzz target")]
mod trace;

/// Runs `check` over every seed of a corpus; returns their number.
fn replay(name: &str, check: fn(&[u8])) -> usize {
    let folder = format!("{}/../../fuzz/corpus/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut seeds = 0;
    for entry in std::fs::read_dir(folder).expect("the corpus is committed") {
        let path = entry.expect("an entry").path();
        println!("{}", path.display());
        check(&std::fs::read(path).expect("a seed"));
        seeds += 1;
    }
    seeds
}

#[test]
fn scenarios_are_read_or_refused() {
    // The number is asserted because an empty folder would pass.
    assert!(replay("scenario", scenario::check) >= 20);
}

#[test]
fn connection_matrices_are_read_or_refused() {
    assert!(replay("cm", cm::check) >= 15);
}

#[test]
fn flow_tables_are_read_or_refused() {
    assert!(replay("flow_table", flow_table::check) >= 20);
}

#[test]
fn topology_files_are_read_or_refused() {
    assert!(replay("graph", graph::check) >= 20);
}

#[test]
fn traces_are_read_or_refused() {
    assert!(replay("trace", trace::check) >= 20);
}
