//! docs/scenario-format.md holds what each kind of topology declares, between two markers; this test keeps it true.
//! `HEADWAY_BLESS=1 cargo test -p headway-network --test it pages::` writes it anew.
#![allow(clippy::disallowed_methods, reason = "reads documentation")]

use headway_network::topology::{KINDS, Key, Kind};
use std::fmt::Write;
use std::path::Path;

const BEGIN: &str = "<!-- topologies: written from what they declare, do not edit -->\n";
const END: &str = "<!-- end of topologies -->";

fn key(key: &Key) -> String {
    let kind = match key.kind {
        Kind::EvenCount => " (even)",
        Kind::Count | Kind::Rate | Kind::Duration | Kind::Graph => "",
    };
    match key.usual.text() {
        "" => format!("`{}`{kind}", key.name),
        usual => format!("`{}`{kind} (`{usual}`)", key.name),
    }
}

#[test]
fn the_page_lists_every_kind_with_its_keys() {
    let mut table = String::from("| kind | keys (default) | what it is |\n|---|---|---|\n");
    for (info, _) in KINDS {
        let keys: Vec<String> = info.keys.iter().map(key).collect();
        let _ = writeln!(table, "| `{}` | {} | {} |", info.name, keys.join(", "), info.summary);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenario-format.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let (from, to) = (page.find(BEGIN).expect("its marker"), page.find(END).expect("its end"));
    let fresh = format!("{}{BEGIN}{table}{}", &page[..from], &page[to..]);
    let bless = std::env::var_os("HEADWAY_BLESS").is_some();
    if bless {
        std::fs::write(&path, &fresh).expect("the page can be written");
    }
    assert!(bless || page == fresh, "{} is out of date: run with HEADWAY_BLESS=1", path.display());
}
