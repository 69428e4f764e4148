//! Scenarios that broke an invariant once, as small as they were made: `found/NAME.toml` holds the scenario, the graph
//! and the flows that it names, and why it broke.
#![allow(clippy::disallowed_methods, reason = "reads the scenarios")]

use headway_soak::{Case, Verdict, invariants, judge};
use std::fs;
use std::path::Path;
use toml::{Table, Value};

fn tree(file: &mut Table, name: &str) -> Option<Table> {
    match file.remove(name)? {
        Value::Table(table) => Some(table),
        other => panic!("`{name}` is {other}"),
    }
}

#[test]
fn what_broke_once_holds() {
    let folder = tempfile::tempdir().expect("a directory");
    let files =
        fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/found")).expect("the folder");
    let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        let name = path.display();
        let text = fs::read_to_string(&path).expect("a text");
        let mut file: Table = text.parse().unwrap_or_else(|error| panic!("{name}: {error}"));
        let scenario = tree(&mut file, "scenario").unwrap_or_else(|| panic!("{name} has no `scenario`"));
        let case = Case { scenario, graph: tree(&mut file, "graph"), flows: tree(&mut file, "flows") };
        // Anything else in the file would be ignored.
        assert_eq!(file.keys().collect::<Vec<_>>(), ["why"], "{name}");
        let why = file["why"].as_str().expect("a reason");
        let again: Table = case.kept(why).parse().expect("as `headway-soak` writes them");
        assert_eq!(again, text.parse().expect("read above"), "{name}");
        let verdict = judge(&case, folder.path(), invariants::ALL);
        assert!(matches!(verdict, Verdict::Passed(_)), "{name}: {verdict:?}");
    }
}
